"""OpenDocument: texts, sheets, presentations and drawings, in an archive or as one flat file of XML (.fodt, .fods)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from zipfile import ZipFile

from preflight_rag.ingest.loaders.equations import mathml_line
from preflight_rag.ingest.loaders.fields import (
    clean,
    file_document,
    is_page_number,
    iso_date,
    link_lines,
    one_line,
    people,
    title_like,
    whole_number,
)
from preflight_rag.ingest.loaders.files import open_archive, read_bytes
from preflight_rag.ingest.loaders.nested_lists import OpenItems
from preflight_rag.ingest.loaders.numbering import Counter, OdfNumbering
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.sheets import add_sheet
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, parse_xml
from preflight_rag.state.errors import EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import parted, with_typed_boxes, words_for
from preflight_rag.text.legends import raised_behind, with_note
from preflight_rag.text.tables import expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _TEXT, _DRAW = f"{_NAMESPACE}table:1.0}}", f"{_NAMESPACE}text:1.0}}", f"{_NAMESPACE}drawing:1.0}}"
_OFFICE, _STYLE = f"{_NAMESPACE}office:1.0}}", f"{_NAMESPACE}style:1.0}}"
_FORM = f"{_NAMESPACE}form:1.0}}"
_PRESENTATION = f"{_NAMESPACE}presentation:1.0}}"
_BREAKS = {f"{_TEXT}tab": " ", f"{_TEXT}line-break": "\n", f"{_TEXT}s": " "}
"""The text that an element without text stands for."""
_SKIPPED = ("annotation", "tracked-changes", "forms", "note-citation", "sequence-decls", "settings")
"""Local names of elements whose content is no part of the text around them."""
_SVG = f"{_NAMESPACE}svg-compatible:1.0}}"
_READ_BEHIND = (f"{_TEXT}note", f"{_DRAW}text-box", f"{_SVG}title", f"{_SVG}desc", f"{_PRESENTATION}notes")
"""Elements inside a paragraph whose content is read after the paragraph."""
_SUPERSCRIPT = re.compile(r"super|[1-9]\d?%")
"""The beginning of a `text-position` that raises characters above the line: "super 58%", "33% 58%"."""
_PICTURE = re.compile(rb"<office:binary-data(?=[\s/>])|<!\[CDATA\[|<!--")
"""The beginning of a picture's bytes in a flat document, or of a text in which no element begins."""
_END_OF_LITERAL = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
"""The end of a text in which no element begins, by its beginning."""
_RAISED_CONTEXT = 4
"""Number of characters before a superscript by which `raised_behind` decides whether it is a mark of a note."""
_LONGEST_LABEL = 60
"""Maximum number of characters of a row's label that is written with a note; a guess."""
_MOST_CELLS = 99_999_999
"""Maximum number of cells or rows that one may stand for; programs repeat a sheet's last row a million times."""
_MOST_REPEATED = 100
"""Maximum number of times that a cell or row is repeated: blank ones repeat up to a sheet's end, filled ones rarely do.
A guess."""


def load_odf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield an OpenDocument file as one document; each sheet, slide or page of a drawing is a page.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: It is no OpenDocument.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    try:
        if path.suffix.lower().startswith(".f"):
            content, styles, meta = _parse_flat(path, max_bytes)
        else:
            content, styles, meta = _parse_archive(path, max_bytes)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is no readable OpenDocument: {error}") from error
    _replace_check_boxes(content)
    struck = _empty_styled_spans(content, "text-line-through-style")
    hidden = _empty_styled_spans(content, "display")
    body = next((element for element in content.iter() if local(element) == "body"), content)
    numbering = OdfNumbering([content, styles] if styles is not None else [content])
    parts, reader = Parts(), _Reader(_hidden_table_styles(content), numbering)
    reader.report.leave_out_struck(struck)
    reader.report.leave_out_hidden(hidden)
    kind = path.suffix.lower()[-1]  # of ".odt", of a template ".ott" and of a flat file ".fodt" alike
    if kind == "s":
        reader.add_sheets(parts, body)
        reader.add_links(parts, body)
    elif kind in ("p", "g"):
        reader.add_slides(parts, body)
        reader.add_links(parts, body)
    else:
        reader.add_text(parts, body, styles)
    properties = {local(element): element.text for element in meta.iter() if element.text} if meta is not None else {}
    text = parts.joined()
    # Page headers are written before the text's own first line.
    first_line = next((line for line in text.split("\n") if line and not line.startswith("Header: ")), "")
    first_title = first_line if title_like(first_line) or parts.sections else ""
    yield file_document(
        path,
        text,
        title=properties.get("title", "") or reader.unnumbered.get(first_line) or first_title,
        saved=iso_date((properties.get("date") or properties.get("creation-date") or "")[:10]),
        authors=people(properties.get("initial-creator") or properties.get("creator") or ""),
        pages=tuple(parts.pages),
        metadata={
            **parts.metadata(),
            **{key: properties[key] for key in ("subject", "keyword", "description") if properties.get(key)},
        },
        report=reader.report,
        find_headings=kind == "t",
    )


_Trees: TypeAlias = "tuple[_Element, _Element | None, _Element | None]"
"""The root elements of a document's content, its styles and its properties; None for a missing part."""


def _parse_archive(path: Path, max_bytes: int) -> _Trees:
    """Return the trees of a document that is an archive of several files, with equations written as text."""
    with open_archive(path, max_bytes, "OpenDocument") as archive:
        names = set(archive.namelist())
        if "content.xml" not in names:
            raise UnreadableDocument(f"{path} is no OpenDocument: it has no content.xml")
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise EncryptedDocument(f"{path} is protected by a password", help="Save a copy without one")
        content = parse_xml(archive.read("content.xml"))
        _write_equations(content, archive)
        styles = parse_xml(archive.read("styles.xml")) if "styles.xml" in names else None
        meta = parse_xml(archive.read("meta.xml")) if "meta.xml" in names else None
    return content, styles, meta


def _parse_flat(path: Path, max_bytes: int) -> _Trees:
    """Return the trees of a document that is one file of XML, with equations written as text and without pictures."""
    root = parse_xml(_without_pictures(read_bytes(path, max_bytes)))
    if local(root) != "document" or not root.tag.startswith(_OFFICE):
        raise UnreadableDocument(f"{path} is no flat OpenDocument: its first element is {local(root)!r}")
    for frame in list(root.iter(f"{_DRAW}frame")):
        for embedded in frame.iterchildren(f"{_DRAW}object"):
            if len(embedded) and local(embedded[0]) == "math" and (line := mathml_line(embedded[0])):
                _replace_by_text(frame, f" {line} ")
                break
    return root, root, root.find(f"{_OFFICE}meta")


def _without_pictures(data: bytes) -> bytes:
    """Return a flat document without the bytes of its pictures: one picture may be longer than what lxml reads.

    The text of comments and CDATA sections stays, whatever is in it.
    """
    pieces, position = [], 0
    while match := _PICTURE.search(data, position):
        is_picture = match[0] not in _END_OF_LITERAL
        closing = b">" if is_picture else _END_OF_LITERAL[match[0]]
        end = data.find(closing, match.end())
        if end < 0:
            break
        end += len(closing)
        pieces.append(data[position:end])
        position = end
        is_empty_element = data.endswith(b"/>", match.end(), end)
        if is_picture and not is_empty_element:
            position = data.find(b"</", end)
            if position < 0:
                return b"".join(pieces) + data[end:]
    return b"".join(pieces) + data[position:]


def _replace_check_boxes(content: _Element) -> None:
    """Replace check boxes of all kinds by words, and superscripts by raised characters, in the content."""
    text_of_control: dict[str, str] = {}
    for box in content.iter(f"{_FORM}checkbox", f"{_FORM}radio"):
        state = str(box.get(f"{_FORM}current-state") or box.get(f"{_FORM}state") or "unchecked")
        is_on = state == "checked" or box.get(f"{_FORM}current-selected") == "true"
        text = f"{words_for(is_on)} {box.get(f'{_FORM}label', '')} "
        for key, name in box.attrib.items():
            if str(key).rsplit("}", 1)[-1] == "id":  # form:id and xml:id
                text_of_control[str(name)] = text
    for control in list(content.iter(f"{_DRAW}control")):
        if words := text_of_control.get(str(control.get(f"{_DRAW}control"))):
            _replace_by_text(control, words)
    _raise_superscripts(content)
    for element in list(content.iter()):
        name = local(element) if isinstance(element.tag, str) else ""
        if name == "content-control" and _attribute(element, "checkbox") == "true":
            _replace_by_text(element, f"{words_for(_attribute(element, 'checked') == 'true')} ")
        elif name in ("fieldmark", "fieldmark-start") and _attribute(element, "type").endswith("FORMCHECKBOX"):
            values = {_attribute(param, "name"): _attribute(param, "value") for param in element}
            _replace_by_text(element, f"{words_for(values.get('Checkbox_Checked') in ('true', '1'))} ")


def _text_styles(content: _Element, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each style that has text properties, and the value of one of them; "" if it is not set."""
    for style in content.iter(f"{_STYLE}style"):
        for properties in style.iterchildren(f"{_STYLE}text-properties"):
            yield str(style.get(f"{_STYLE}name")), _attribute(properties, name)


def _raise_superscripts(content: _Element) -> None:
    """Write superscripts after figures and words as raised characters: "640¹" instead of "6401"."""
    styles = {style for style, position in _text_styles(content, "text-position") if _SUPERSCRIPT.match(position)}
    for span in content.iter(f"{_TEXT}span") if styles else ():
        if span.get(f"{_TEXT}style-name") in styles and span.text and not len(span):
            before, parent = span.getprevious(), span.getparent()
            if before is not None:
                text_before = before.tail or "".join(before.itertext())
            else:
                text_before = (parent.text or "") if parent is not None else ""
            span.text = raised_behind(text_before[-_RAISED_CONTEXT:], span.text)


def _empty_styled_spans(content: _Element, name: str) -> int:
    """Empty the spans of text that are struck out or hidden; return how many there are.

    Args:
        content: The root of content.xml.
        name: The text property: "text-line-through-style" for struck-out text, "display" for hidden text.
    """
    normal_values = ("", "true", "" if name == "display" else "none")
    styles = {style for style, value in _text_styles(content, name) if value not in normal_values}
    if not styles:
        return 0
    spans = [span for span in content.iter(f"{_TEXT}span") if span.get(f"{_TEXT}style-name") in styles]
    for span in spans:
        for child in list(span):
            span.remove(child)
        span.text = ""
    return len(spans)


def _write_equations(content: _Element, archive: ZipFile) -> None:
    """Replace each equation by a line of text; an equation is a file of its own in the archive."""
    names = set(archive.namelist())
    for frame in list(content.iter(f"{_DRAW}frame")):
        for embedded in frame.iterchildren(f"{_DRAW}object"):
            name = f"{_attribute(embedded, 'href').removeprefix('./').rstrip('/')}/content.xml"
            root = parse_xml(archive.read(name)) if name in names else None
            if root is not None and local(root) == "math" and (line := mathml_line(root)):
                _replace_by_text(frame, f" {line} ")
                break


def _continues_items(outer: _Element, depth: int) -> bool:
    """Return whether a list begins with an inner item, so that it continues the items of the list before it.

    LibreOffice writes an inner list with its own numbering as a new list whose first item is nested.

    Args:
        outer: The list.
        depth: The depth of the last item before it: the first item may be one level deeper at most.
    """
    first, item_depth = outer, 0
    while len(first) and local(first[0]) in ("list-item", "list", "list-header"):
        first = first[0]
        if local(first) == "list-item":
            item_depth += 1
    return 1 < item_depth <= depth + 1


def _attribute(element: _Element, name: str) -> str:
    """Return an attribute by its name without namespace; "" if it is missing."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rsplit("}", 1)[-1] == name), "")


def _replace_by_text(element: _Element, text: str) -> None:
    """Make an element a span with a text; the text after the element stays."""
    for child in list(element):
        element.remove(child)
    element.tag, element.text = f"{_TEXT}span", text


def _hidden_table_styles(content: _Element) -> set[str]:
    """Return the names of table styles that hide their tables."""
    found = set()
    for style in content.iter(f"{_STYLE}style"):
        properties = style.find(f"{_STYLE}table-properties")
        if properties is not None and properties.get(f"{_TABLE}display") == "false":
            found.add(str(style.get(f"{_STYLE}name")))
    return found


class _ListState:
    """The state of reading lists: the items that enclose the current position, and the number of the current item.

    Args:
        numbering: Counts the document's lists and headings.

    Attributes:
        items: The enclosing items.
    """

    def __init__(self, numbering: OdfNumbering) -> None:
        self.items = OpenItems()
        self._numbering = numbering
        self._counter = Counter({})
        self._label = ""
        self._last_depth = 0

    def enter(self, node: _Element, depth: int) -> None:
        """Update the state for an element that begins, inside `depth` list items, if it is a list or a list item."""
        if node.tag == f"{_TEXT}list" and not depth:
            previous, self._counter = self._counter, self._numbering.counter(node)
            if self._counter is not previous and not _continues_items(node, self._last_depth):
                self.items.leave()
        elif node.tag == f"{_TEXT}list-item":
            self._last_depth = depth + 1
            if any(local(child) in ("p", "h") for child in node):
                start = whole_number(str(node.get(f"{_TEXT}start-value", "")), -1)
                self._label = self._counter.next(depth, start if start >= 0 else None)

    def take_label(self, node: _Element) -> str:
        """Return the number of a paragraph or heading; "" if it has none, as a further paragraph of the same item."""
        label, self._label = self._label, ""
        return label or (self._numbering.heading(node) if node.tag == f"{_TEXT}h" else "")


class _Reader:
    """Appends the blocks of a document to its parts, each paragraph followed by its notes, comments and text boxes.

    Args:
        hidden_styles: Names of table styles that hide their tables.
        numbering: Counts the document's lists and headings.

    Attributes:
        report: What was read and left out.
    """

    def __init__(self, hidden_styles: set[str], numbering: OdfNumbering) -> None:
        self.report = ReadReport()
        self._numbering = numbering
        self.unnumbered: dict[str, str] = {}
        """The text of each heading without its automatic number, by the heading as it is written."""
        self._hidden_styles = hidden_styles
        self._notes = 0
        self._formulas_without_value = 0

    def add_sheets(self, parts: Parts, body: _Element) -> None:
        """Append the sheets of a workbook with their comments; report hidden sheets and formulas without a value."""
        hidden = []
        for number, sheet in enumerate(body.iter(f"{_TABLE}table"), 1):
            name = str(sheet.get(f"{_TABLE}name", f"Sheet {number}"))
            if sheet.get(f"{_TABLE}style-name") in self._hidden_styles:
                hidden.append(name)
                continue
            add_sheet(parts, number, name, expand_spans(self._cells(sheet)))
            self.report.count("sheets")
            for cell in sheet.iter(f"{_TABLE}table-cell"):
                for comment in cell.iterchildren(f"{_OFFICE}annotation"):
                    cell_text = " ".join(_text(cell).split())
                    self._add_comment(parts, comment, f"{name} ({cell_text})" if cell_text else name)
        if hidden:
            self.report.leave_out(f"hidden sheets: {', '.join(hidden)}")
        if missing := self._formulas_without_value:
            counted = "1 formula has" if missing == 1 else f"{missing:,} formulas have"
            self.report.less.append(f"{counted} no stored value; open and save the file to have them")

    def add_slides(self, parts: Parts, body: _Element) -> None:
        """Append the slides of a presentation or the pages of a drawing, with the speaker's notes."""
        for number, page in enumerate(body.iter(f"{_DRAW}page"), 1):
            parts.page(number)
            self._add_blocks(parts, page)
            self.report.count("slides")
            for notes in page.iterchildren(f"{_PRESENTATION}notes"):
                paragraphs = [element for element in notes.iter(f"{_TEXT}p") if element.getparent() is not None]
                words = " ".join(" ".join(_text(paragraph).split()) for paragraph in paragraphs).strip()
                words = words.replace("<number>", "").strip()  # the placeholder of the page's number
                if any(char.isalnum() for char in words) and not is_page_number(words):
                    parts.add(f"Notes: {words}")
                    self.report.count("speaker_notes")

    def add_text(self, parts: Parts, body: _Element, styles: _Element | None) -> None:
        """Append a text after the headers and before the footers of its pages; report tracked changes.

        Args:
            parts: The document's parts.
            body: The element with the text.
            styles: The root of the styles, with headers and footers; None if there are none.
        """
        for text in self._headers_or_footers(styles, "header"):
            parts.add(f"Header: {text}")
        self._add_blocks(parts, body)
        self.add_links(parts, body)
        for text in self._headers_or_footers(styles, "footer"):
            parts.add(f"Footer: {text}")
        changes = [local(change) for region in body.iter(f"{_TEXT}changed-region") for change in region]
        self.report.count("insertions", changes.count("insertion"))
        if deleted := changes.count("deletion"):
            counted = "1 deletion" if deleted == 1 else f"{deleted} deletions"
            self.report.leave_out(f"{counted} of tracked changes", "deleted in the document")

    @staticmethod
    def add_links(parts: Parts, body: _Element) -> None:
        """Append a line for each link with its text and target."""
        links = [(_text(link), _attribute(link, "href")) for link in body.iter(f"{_TEXT}a")]
        for line in link_lines(links):
            parts.add(line, "list")

    def _headers_or_footers(self, styles: _Element | None, kind: str) -> list[str]:
        """Return the texts of the headers or footers, each once, without those that are only a page number."""
        found: dict[str, None] = {}
        for master in styles.iter(f"{_STYLE}master-page") if styles is not None else ():
            for element in master:
                if local(element) in (kind, f"{kind}-left", f"{kind}-first"):
                    lines = [" ".join(_text(line).split()) for line in element.iter(f"{_TEXT}p", f"{_TEXT}h")]
                    text = "\n".join(lines).strip()
                    if not is_page_number(text):
                        found[text] = None
        self.report.count("headers", len(found))
        return list(found)

    def _add_blocks(self, parts: Parts, element: _Element) -> None:
        """Append the blocks inside an element in reading order."""
        stack: list[tuple[Any, int]] = [(child, 0) for child in reversed(element)]
        lists = _ListState(self._numbering)
        while stack:
            node, depth = stack.pop()
            if not isinstance(node.tag, str) or local(node) in (*_SKIPPED, "notes", "note"):
                continue
            if node.tag == f"{_TABLE}table":
                self._add_table(parts, node)
            elif node.tag in (f"{_TEXT}h", f"{_TEXT}p"):
                self._add_paragraph(parts, node, depth, lists)
                self._add_notes_and_boxes(parts, node)
            else:
                if node.tag == f"{_DRAW}frame":
                    self._add_description(parts, node)
                lists.enter(node, depth)
                inner_depth = depth + 1 if node.tag == f"{_TEXT}list-item" else depth
                stack += [(child, inner_depth) for child in reversed(node)]

    def _add_table(self, parts: Parts, table: _Element) -> None:
        """Append the rows of a table, then their notes and text boxes, then the tables inside its cells."""
        for line in self.report.table(table_lines(expand_spans(self._cells(table)), header_rows=_header_rows(table))):
            parts.add(line, "row")
        for row in table.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table")) is table:
                self._add_notes_and_boxes(parts, row, _row_label(row))
        for inner in table.iterdescendants(f"{_TABLE}table"):
            if next(inner.iterancestors(f"{_TABLE}table")) is table:
                self._add_table(parts, inner)

    def _add_paragraph(self, parts: Parts, node: _Element, depth: int, lists: _ListState) -> None:
        """Append a heading, a paragraph, or a list item with its parent items; nothing if it has no letter or digit.

        Args:
            parts: The document's parts.
            node: The element of the paragraph or heading.
            depth: Number of list items around it.
            lists: The state of reading lists, which is updated.
        """
        label = lists.take_label(node)
        text = "\n".join(parted(" ".join(line.split())) for line in _text(node).split("\n")).strip()
        text = with_typed_boxes(text)
        if not any(character.isalnum() for character in text):
            return
        if node.tag == f"{_TEXT}h":
            lists.items.leave()
            heading = f"{label} {text}" if label else text
            self.unnumbered[heading] = text
            parts.add(heading, "heading")
        elif depth:
            parts.add(f"{label or '-'} {lists.items.add(depth, text)}", "list")
        else:
            lists.items.leave()
            parts.add(text)

    def _add_notes_and_boxes(self, parts: Parts, element: _Element, row_label: str = "") -> None:
        """Append the notes, comments, text boxes and descriptions of pictures inside a paragraph or a table's row.

        Args:
            parts: The document's parts.
            element: The paragraph or row.
            row_label: The row's label, which is written with a note: alone, a note does not say what it is about.
        """
        stack = list(reversed(element))
        while stack:
            node = stack.pop()
            if not isinstance(node.tag, str):
                continue
            if node.tag == f"{_TEXT}note":
                self._notes += 1
                kind = "Endnote" if node.get(f"{_TEXT}note-class") == "endnote" else "Footnote"
                words = _note_words(node)
                if words:
                    row = f" ({row_label})" if row_label else ""
                    parts.add(f"{kind} {self._notes}{row}: {words}")
                    self.report.count("footnotes")
            elif node.tag == f"{_OFFICE}annotation":
                self._add_comment(parts, node, "")
            elif node.tag == f"{_DRAW}text-box":
                self.report.count("text_boxes")
                self._add_blocks(parts, node)
            else:
                if node.tag == f"{_DRAW}frame":
                    self._add_description(parts, node)
                stack += list(reversed(node))

    def _add_description(self, parts: Parts, frame: _Element) -> None:
        """Append the title and description of a frame, if it has any; count its picture, if it has one."""
        texts = [one_line(child.text or "") for child in frame if local(child) in ("title", "desc")]
        description = ". ".join(dict.fromkeys(filter(None, texts)))
        has_picture = any(local(child) == "image" for child in frame)
        if description:
            parts.add(f"Picture: {description}" if has_picture else description)
        if has_picture:
            self.report.count("pictures_described" if description else "pictures_without_text")

    def _add_comment(self, parts: Parts, comment: _Element, subject: str) -> None:
        """Append a comment with its author and what it is about ("" if it follows that); nothing if it is empty."""
        author = next((one_line(child.text or "") for child in comment if local(child) == "creator"), "")
        words = " ".join(" ".join(_text(paragraph).split()) for paragraph in comment.iter(f"{_TEXT}p"))
        if words:
            label = f"Comment{f' by {author}' if author else ''}{f' on {subject}' if subject else ''}"
            parts.add(f"{label}: {words}")
            self.report.count("comments")

    def _cells(self, table: _Element) -> list[list[tuple[str, int, int]]]:
        """Return each row of a table up to its last filled cell, a cell as `(text, columns, rows)` that it spans.

        The text of a formula without a stored value is the formula.
        """
        rows: list[list[tuple[str, int, int]]] = []
        for row in table.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table")) is not table:
                continue  # a row of a table inside a cell
            cells: list[tuple[str, int, int]] = []
            for cell in row.iterchildren(f"{_TABLE}table-cell"):
                text = _cell_date(cell) or " ".join(_text(cell).split())
                for note in cell.iter(f"{_TEXT}note"):
                    text = with_note(text, _note_words(note))
                formula = str(cell.get(f"{_TABLE}formula", "")).removeprefix("of:")
                if formula and not text:
                    text = f"{one_line(formula)} (formula without a value)"
                    self._formulas_without_value += 1
                columns = _number(cell, "number-columns-spanned")
                for _ in range(min(_number(cell, "number-columns-repeated"), _MOST_REPEATED)):
                    cells.append((text, columns, _number(cell, "number-rows-spanned")))
            while cells:
                last_text, _, _ = cells[-1]
                if last_text:
                    break
                cells.pop()
            rows += [cells] * min(_number(row, "number-rows-repeated"), _MOST_REPEATED if cells else 1)
        return rows


def _cell_date(cell: _Element) -> str:
    """Return the date and time of a cell as "2024-07-19 14:30", however it is displayed; "" for a cell without a date.

    A time of midnight is left out.
    """
    value = str(cell.get(f"{_OFFICE}date-value", ""))
    if not value or not _text(cell).strip():
        return ""
    return value.replace("T00:00:00", "").replace("T", " ")[: len("2024-07-19 14:30")]


def _note_words(note: _Element) -> str:
    """Return the text of a note."""
    return " ".join(" ".join(_text(each).split()) for each in note.iterchildren(f"{_TEXT}note-body"))


def _row_label(row: _Element) -> str:
    """Return the label of a row: the text of its first filled cell, unless it is long."""
    texts = (" ".join(_text(cell).split()) for cell in row.iterchildren(f"{_TABLE}table-cell"))
    label = next(filter(None, texts), "")
    return label if len(label) <= _LONGEST_LABEL else ""


def _header_rows(table: _Element) -> int | None:
    """Return the number of marked header rows; None if none are marked."""
    marked = table.find(f"{_TABLE}table-header-rows")
    return len(marked.findall(f"{_TABLE}table-row")) if marked is not None else None


def _number(element: _Element, name: str) -> int:
    """Return the number in an attribute of a table's element; 1 if it is missing or too large."""
    return whole_number(str(element.get(f"{_TABLE}{name}", "1")), 1, _MOST_CELLS)


def _text(element: _Element) -> str:
    """Return all text inside an element, one line for each paragraph, without comments, notes, boxes, inner tables."""
    pieces: list[str] = []
    stack: list[Any] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif not isinstance(node.tag, str) or local(node) in _SKIPPED or node.tag in _READ_BEHIND:
            continue
        elif node.tag in _BREAKS:
            pieces.append(_BREAKS[node.tag])
        elif node.tag == f"{_TABLE}table" and node is not element:  # read after the outer table
            continue
        else:
            if node.tag == f"{_TEXT}p" and node is not element:
                stack.append("\n")
            for child in reversed(node):
                stack += [child.tail or "", child]
            stack.append(node.text or "")
    return clean("".join(pieces))

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
_SKIPPED = ("annotation", "tracked-changes", "forms", "note-citation", "sequence-decls", "settings")
_SVG = f"{_NAMESPACE}svg-compatible:1.0}}"
_BESIDE = (f"{_TEXT}note", f"{_DRAW}text-box", f"{_SVG}title", f"{_SVG}desc", f"{_PRESENTATION}notes")
"""Of what a paragraph holds, what is read behind it."""
_ABOVE = re.compile(r"super|[1-9]\d?%")
"""How a style's `text-position` begins that puts characters above the line: "super 58%", "33% 58%"."""
_PICTURE = re.compile(rb"<office:binary-data(?=[\s/>])|<!\[CDATA\[|<!--")
"""The element of a picture's bytes in a flat document, as all programs name it; or text in which it is no element."""
_BEHIND_TEXT = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
_LONGEST_LABEL = 60
"""Characters of a row's label beside a note; a guess."""
_MOST_CELLS = 99_999_999
"""Cells or rows that one may stand for; programs repeat the last row of a sheet up to its end, a million times."""
_MOST_REPEATED = 100
"""Blank rows and columns up to a sheet's end are written as one that is repeated; filled ones rarely are. A guess."""


def load_odf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield an OpenDocument file as one document; each sheet, slide or page of a drawing is a page.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: It is no OpenDocument.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    try:
        if path.suffix.lower().startswith(".f"):
            content, styles, meta = _flat(path, max_bytes)
        else:
            content, styles, meta = _unpacked(path, max_bytes)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is no readable OpenDocument: {error}") from error
    content = _with_words_for_boxes(content)
    struck = _drop_marked(content, "text-line-through-style")
    unseen = _drop_marked(content, "display")
    body = next((each for each in content.iter() if local(each) == "body"), content)
    numbering = OdfNumbering([content, styles] if styles is not None else [content])
    parts, reader = Parts(), _Reader(_invisible(content), numbering)
    reader.report.leave_out_struck(struck)
    reader.report.leave_out_hidden(unseen)
    kind = path.suffix.lower()[-1]  # the same of a template, and of a flat file
    if kind == "s":
        reader.add_sheets(parts, body)
        reader.add_links(parts, body)
    elif kind in ("p", "g"):
        reader.add_slides(parts, body)
        reader.add_links(parts, body)
    else:
        reader.add_text(parts, body, styles)
    properties = {local(each): each.text for each in meta.iter() if each.text} if meta is not None else {}
    text = parts.joined()
    # The lines at the head of each page stand before the text's own first line.
    first = next((line for line in text.split("\n") if line and not line.startswith("Header: ")), "")
    yield file_document(
        path,
        text,
        title=properties.get("title", "")
        or reader.unnumbered.get(first)
        or (first if title_like(first) or parts.sections else ""),
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
"""The content of a document, its styles and its properties."""


def _unpacked(path: Path, max_bytes: int) -> _Trees:
    """Return the trees of a document that is an archive of several files."""
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


def _flat(path: Path, max_bytes: int) -> _Trees:
    """Return the trees of a document that is one file of XML, whose pictures and equations stand in its text."""
    root = parse_xml(_without_pictures(read_bytes(path, max_bytes)))
    if local(root) != "document" or not root.tag.startswith(_OFFICE):
        raise UnreadableDocument(f"{path} is no flat OpenDocument: its first element is {local(root)!r}")
    for frame in list(root.iter(f"{_DRAW}frame")):
        for each in frame.iterchildren(f"{_DRAW}object"):
            if len(each) and local(each[0]) == "math" and (line := mathml_line(each[0])):
                _put_words(frame, f" {line} ")
                break
    return root, root, root.find(f"{_OFFICE}meta")


def _without_pictures(data: bytes) -> bytes:
    """Return a flat document without the bytes of its pictures, of which one may be longer than what lxml reads."""
    kept, at = [], 0
    while found := _PICTURE.search(data, at):
        is_picture = found[0] not in _BEHIND_TEXT
        closing = b">" if is_picture else _BEHIND_TEXT[found[0]]
        end = data.find(closing, found.end())
        if end < 0:
            break
        end += len(closing)
        kept.append(data[at:end])
        at = end
        if is_picture and not data.endswith(b"/>", found.end(), end):
            at = data.find(b"</", end)
            if at < 0:
                return b"".join(kept) + data[end:]
    return b"".join(kept) + data[at:]


def _with_words_for_boxes(content: _Element) -> _Element:
    """Return the content with words in place of check boxes of all kinds."""
    controls: dict[str, str] = {}
    for each in content.iter(f"{_FORM}checkbox", f"{_FORM}radio"):
        state = str(each.get(f"{_FORM}current-state") or each.get(f"{_FORM}state") or "unchecked")
        is_on = state == "checked" or each.get(f"{_FORM}current-selected") == "true"
        labelled = f"{words_for(is_on)} {each.get(f'{_FORM}label', '')} "
        controls |= {str(name): labelled for key, name in each.attrib.items() if str(key).rsplit("}", 1)[-1] == "id"}
    for each in list(content.iter(f"{_DRAW}control")):
        if words := controls.get(str(each.get(f"{_DRAW}control"))):
            _put_words(each, words)
    _raise_marks(content)
    for each in list(content.iter()):
        name = local(each) if isinstance(each.tag, str) else ""
        if name == "content-control" and _attribute(each, "checkbox") == "true":
            _put_words(each, f"{words_for(_attribute(each, 'checked') == 'true')} ")
        elif name in ("fieldmark", "fieldmark-start") and _attribute(each, "type").endswith("FORMCHECKBOX"):
            values = {_attribute(param, "name"): _attribute(param, "value") for param in each}
            _put_words(each, f"{words_for(values.get('Checkbox_Checked') in ('true', '1'))} ")
    return content


def _raise_marks(content: _Element) -> None:
    """Write superscripts after figures and words as raised characters: "640¹" instead of "6401"."""
    styles = {
        str(style.get(f"{_STYLE}name"))
        for style in content.iter(f"{_STYLE}style")
        for properties in style.iterchildren(f"{_STYLE}text-properties")
        if _ABOVE.match(_attribute(properties, "text-position"))
    }
    for span in content.iter(f"{_TEXT}span") if styles else ():
        if span.get(f"{_TEXT}style-name") in styles and span.text and not len(span):
            before, parent = span.getprevious(), span.getparent()
            outer = parent.text if parent is not None else ""
            left = outer if before is None else before.tail or "".join(before.itertext())
            span.text = raised_behind((left or "")[-4:], span.text)


def _drop_marked(content: _Element, name: str) -> int:
    """Empty the stretches of text that are struck out, which hold no longer, or hidden; return how many there are.

    Args:
        content: The root of content.xml.
        name: What a style says of text: "text-line-through-style", or "display", which is "none" of hidden text.
    """
    shown = "" if name == "display" else "none"
    styles = {
        str(style.get(f"{_STYLE}name"))
        for style in content.iter(f"{_STYLE}style")
        for properties in style.iterchildren(f"{_STYLE}text-properties")
        if _attribute(properties, name) not in ("", "true", shown)
    }
    marked = [each for each in content.iter(f"{_TEXT}span") if each.get(f"{_TEXT}style-name") in styles]
    for each in marked if styles else ():
        for child in list(each):
            each.remove(child)
        each.text = ""
    return len(marked) if styles else 0


def _write_equations(content: _Element, archive: ZipFile) -> None:
    """Put a line in the place of each equation, which is a file of its own in the archive."""
    names = set(archive.namelist())
    for frame in list(content.iter(f"{_DRAW}frame")):
        for each in frame.iterchildren(f"{_DRAW}object"):
            place = f"{_attribute(each, 'href').removeprefix('./').rstrip('/')}/content.xml"
            root = parse_xml(archive.read(place)) if place in names else None
            if root is not None and local(root) == "math" and (line := mathml_line(root)):
                _put_words(frame, f" {line} ")
                break


def _begins_inside(outer: _Element, depth: int) -> bool:
    """Return whether a list begins with an item of a deeper level than one, below a list that is not as deep.

    So LibreOffice writes an inner list that is numbered otherwise than the one around it.
    """
    first, inside = outer, 0
    while len(first) and local(first[0]) in ("list-item", "list", "list-header"):
        first = first[0]
        inside += local(first) == "list-item"
    return 1 < inside <= depth + 1


def _attribute(element: _Element, name: str) -> str:
    """Return an attribute by its name without namespace; "" if it is missing."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rsplit("}", 1)[-1] == name), "")


def _put_words(element: _Element, words: str) -> None:
    """Replace an element by words; the text after it stays."""
    for child in list(element):
        element.remove(child)
    element.tag, element.text = f"{_TEXT}span", words


def _invisible(content: _Element) -> set[str]:
    """Return the names of table styles that hide their tables."""
    found = set()
    for style in content.iter(f"{_STYLE}style"):
        properties = style.find(f"{_STYLE}table-properties")
        if properties is not None and properties.get(f"{_TABLE}display") == "false":
            found.add(str(style.get(f"{_STYLE}name")))
    return found


class _Lists:
    """The list that a reader is inside of: the items around its place, and the number of the one that it has come to.

    Args:
        numbering: How the document's lists and headings are numbered.
    """

    def __init__(self, numbering: OdfNumbering) -> None:
        self.items = OpenItems()
        self._numbering = numbering
        self._counter = Counter({})
        self._label = ""
        self._depth = 0

    def enter(self, node: _Element, depth: int) -> None:
        """Note an element that begins; those that are no list, and no item of one, change nothing."""
        if node.tag == f"{_TEXT}list" and not depth:
            before, self._counter = self._counter, self._numbering.counter(node)
            if self._counter is not before and not _begins_inside(node, self._depth):
                self.items.leave()
        elif node.tag == f"{_TEXT}list-item":
            self._depth = depth + 1
            if any(local(each) in ("p", "h") for each in node):
                start = whole_number(str(node.get(f"{_TEXT}start-value", "")), -1)
                self._label = self._counter.next(depth, start if start >= 0 else None)

    def label_of(self, node: _Element) -> str:
        """Return the number of a paragraph or heading, which the next paragraph of its item has not."""
        label, self._label = self._label, ""
        return label or (self._numbering.heading(node) if node.tag == f"{_TEXT}h" else "")


class _Reader:
    """Appends the blocks of a document, each paragraph followed by its notes, comments, boxes and descriptions."""

    def __init__(self, invisible: set[str], numbering: OdfNumbering) -> None:
        self.report = ReadReport()
        self._numbering = numbering
        self.unnumbered: dict[str, str] = {}
        """Headings without their automatic numbers, which no title has."""
        self._invisible = invisible
        self._notes = 0
        self._without_value = 0

    def add_sheets(self, parts: Parts, body: _Element) -> None:
        """Append the sheets of a workbook; hidden ones are reported."""
        hidden = []
        for number, sheet in enumerate(body.iter(f"{_TABLE}table"), 1):
            name = str(sheet.get(f"{_TABLE}name", f"Sheet {number}"))
            if sheet.get(f"{_TABLE}style-name") in self._invisible:
                hidden.append(name)
                continue
            add_sheet(parts, number, name, expand_spans(self._cells(sheet)))
            self.report.count("sheets")
            for cell in sheet.iter(f"{_TABLE}table-cell"):
                for comment in cell.iterchildren(f"{_OFFICE}annotation"):
                    about = " ".join(_text(cell).split())
                    self._comment(parts, comment, f"{name}{f' ({about})' if about else ''}")
        if hidden:
            self.report.leave_out(f"hidden sheets: {', '.join(hidden)}")
        if self._without_value:
            many = "1 formula has" if self._without_value == 1 else f"{self._without_value:,} formulas have"
            self.report.less.append(f"{many} no stored value; open and save the file to have them")

    def add_slides(self, parts: Parts, body: _Element) -> None:
        """Append the slides of a presentation, with the speaker's notes."""
        for number, page in enumerate(body.iter(f"{_DRAW}page"), 1):
            parts.page(number)
            self._add(parts, page)
            self.report.count("slides")
            for notes in page.iterchildren(f"{_PRESENTATION}notes"):
                frames = [each for each in notes.iter(f"{_TEXT}p") if each.getparent() is not None]
                words = " ".join(" ".join(_text(each).split()) for each in frames).strip()
                words = words.replace("<number>", "").strip()
                if any(char.isalnum() for char in words) and not is_page_number(words):
                    parts.add(f"Notes: {words}")
                    self.report.count("speaker_notes")

    def add_text(self, parts: Parts, body: _Element, styles: _Element | None) -> None:
        """Append a text, between the headers and the footers of its pages."""
        for text in self._running(styles, "header"):
            parts.add(f"Header: {text}")
        self._add(parts, body)
        self.add_links(parts, body)
        for text in self._running(styles, "footer"):
            parts.add(f"Footer: {text}")
        changes = [local(each) for region in body.iter(f"{_TEXT}changed-region") for each in region]
        self.report.count("insertions", changes.count("insertion"))
        if deleted := changes.count("deletion"):
            many = "1 deletion" if deleted == 1 else f"{deleted} deletions"
            self.report.leave_out(f"{many} of tracked changes", "deleted in the document")

    @staticmethod
    def add_links(parts: Parts, body: _Element) -> None:
        """Append where links lead."""
        links = [(_text(each), _attribute(each, "href")) for each in body.iter(f"{_TEXT}a")]
        for line in link_lines(links):
            parts.add(line, "list")

    def _running(self, styles: _Element | None, kind: str) -> list[str]:
        """Return the headers or footers, each once, without page numbers."""
        found: dict[str, None] = {}
        for master in styles.iter(f"{_STYLE}master-page") if styles is not None else ():
            for each in master:
                if local(each) in (kind, f"{kind}-left", f"{kind}-first"):
                    text = "\n".join(
                        " ".join(_text(line).split()) for line in each.iter(f"{_TEXT}p", f"{_TEXT}h")
                    ).strip()
                    if not is_page_number(text):
                        found[text] = None
        self.report.count("headers", len(found))
        return list(found)

    def _add(self, parts: Parts, element: _Element) -> None:
        """Append the blocks inside an element in reading order."""
        stack: list[tuple[Any, int]] = [(each, 0) for each in reversed(element)]
        lists = _Lists(self._numbering)
        while stack:
            node, depth = stack.pop()
            if not isinstance(node.tag, str) or local(node) in (*_SKIPPED, "notes", "note"):
                continue
            if node.tag == f"{_TABLE}table":
                self._add_table(parts, node)
            elif node.tag in (f"{_TEXT}h", f"{_TEXT}p"):
                self._add_paragraph(parts, node, depth, lists)
                self._add_beside(parts, node)
            else:
                if node.tag == f"{_DRAW}frame":
                    self._describe(parts, node)
                lists.enter(node, depth)
                inner = depth + (node.tag == f"{_TEXT}list-item")
                stack += [(each, inner) for each in reversed(node)]

    def _add_table(self, parts: Parts, table: _Element) -> None:
        """Append the rows of a table, then what stands beside them."""
        for line in self.report.table(table_lines(expand_spans(self._cells(table)), header_rows=_header_rows(table))):
            parts.add(line, "row")
        for row in table.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table")) is table:
                self._add_beside(parts, row, _row_label(row))
        for inner in table.iterdescendants(f"{_TABLE}table"):
            if next(inner.iterancestors(f"{_TABLE}table")) is table:
                self._add_table(parts, inner)

    def _add_paragraph(self, parts: Parts, node: _Element, depth: int, lists: _Lists) -> None:
        """Append a heading, a paragraph, or a list item with the items around it."""
        label = lists.label_of(node)
        text = "\n".join(parted(" ".join(line.split())) for line in _text(node).split("\n")).strip()
        text = with_typed_boxes(text)
        if not any(character.isalnum() for character in text):
            return
        if node.tag == f"{_TEXT}h":
            lists.items.leave()
            written = f"{label} {text}" if label else text
            self.unnumbered[written] = text
            parts.add(written, "heading")
        else:
            if not depth:
                lists.items.leave()
            parts.add(f"{label or '-'} {lists.items.add(depth, text)}" if depth else text, "list" if depth else "")

    def _add_beside(self, parts: Parts, element: _Element, about: str = "") -> None:
        """Append notes, comments, text boxes and descriptions of pictures inside a paragraph, or a row about something.

        Without the row that its mark stands in, a note says nothing of what it is about.
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
                    parts.add(f"{kind} {self._notes}{f' ({about})' if about else ''}: {words}")
                    self.report.count("footnotes")
            elif node.tag == f"{_OFFICE}annotation":
                self._comment(parts, node, "")
            elif node.tag == f"{_DRAW}text-box":
                self.report.count("text_boxes")
                self._add(parts, node)
            else:
                if node.tag == f"{_DRAW}frame":
                    self._describe(parts, node)
                stack += list(reversed(node))

    def _describe(self, parts: Parts, frame: _Element) -> None:
        """Append a picture's description."""
        words = [one_line(each.text or "") for each in frame if local(each) in ("title", "desc")]
        described = ". ".join(dict.fromkeys(word for word in words if word))
        has_picture = any(local(each) == "image" for each in frame)
        if described:
            parts.add(f"Picture: {described}" if has_picture else described)
        if has_picture:
            self.report.count("pictures_described" if described else "pictures_without_text")

    def _comment(self, parts: Parts, comment: _Element, about: str) -> None:
        """Append a comment with its author."""
        author = next((one_line(each.text or "") for each in comment if local(each) == "creator"), "")
        words = " ".join(" ".join(_text(each).split()) for each in comment.iter(f"{_TEXT}p"))
        if words:
            named = f"Comment{f' by {author}' if author else ''}{f' on {about}' if about else ''}"
            parts.add(f"{named}: {words}")
            self.report.count("comments")

    def _cells(self, table: _Element) -> list[list[tuple[str, int, int]]]:
        """Return the rows of a table as `(text, columns, rows)`, up to the last filled cell."""
        rows: list[list[tuple[str, int, int]]] = []
        for row in table.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table")) is not table:
                continue  # of a table inside of a cell
            cells: list[tuple[str, int, int]] = []
            for cell in row.iterchildren(f"{_TABLE}table-cell"):
                text = _date_of(cell) or " ".join(_text(cell).split())
                for note in cell.iter(f"{_TEXT}note"):
                    text = with_note(text, _note_words(note))
                formula = str(cell.get(f"{_TABLE}formula", "")).removeprefix("of:")
                if formula and not text:
                    text = f"{one_line(formula)} (formula without a value)"
                    self._without_value += 1
                columns = _number(cell, "number-columns-spanned")
                for _ in range(min(_number(cell, "number-columns-repeated"), _MOST_REPEATED)):
                    cells.append((text, columns, _number(cell, "number-rows-spanned")))
            while cells and not cells[-1][0]:
                cells.pop()
            rows += [cells] * min(_number(row, "number-rows-repeated"), _MOST_REPEATED if cells else 1)
        return rows


def _date_of(cell: _Element) -> str:
    """Return the day that a cell of a sheet holds, which it may show as "Jul 19" or "03/04/24"; "" of another cell."""
    value = str(cell.get(f"{_OFFICE}date-value", ""))
    return value.replace("T00:00:00", "").replace("T", " ")[:16] if value and _text(cell).strip() else ""


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
    """Return a number in an attribute of a table; 1 without one."""
    return whole_number(str(element.get(f"{_TABLE}{name}", "1")), 1, _MOST_CELLS)


def _text(element: _Element) -> str:
    """Return all text inside an element, one line for each paragraph, without comments and other attached texts."""
    pieces: list[str] = []
    stack: list[Any] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif not isinstance(node.tag, str) or local(node) in _SKIPPED or node.tag in _BESIDE:
            continue
        elif node.tag in _BREAKS:
            pieces.append(_BREAKS[node.tag])
        elif node.tag == f"{_TABLE}table" and node is not element:  # inside of a cell, and read behind the table
            continue
        else:
            if node.tag == f"{_TEXT}p" and node is not element:
                stack.append("\n")
            for child in reversed(node):
                stack += [child.tail or "", child]
            stack.append(node.text or "")
    return clean("".join(pieces))

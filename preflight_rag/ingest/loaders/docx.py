"""Word documents (.docx): all that a person sees of one, in reading order.

Paragraphs, headings, lists and tables; footnotes, endnotes, comments, text boxes and descriptions of pictures behind
the paragraph that they belong to, headers at the beginning and footers at the end. Of tracked changes what was inserted
is read, and what was deleted is not.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from preflight_rag.ingest.loaders.attachments import embedded_documents
from preflight_rag.ingest.loaders.drawings import chart_lines, diagram_text
from preflight_rag.ingest.loaders.equations import equation
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
from preflight_rag.ingest.loaders.files import open_archive
from preflight_rag.ingest.loaders.nested_lists import OpenItems
from preflight_rag.ingest.loaders.numbering import DEEPEST_LEVEL, WordNumbering
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, core_properties, local, parse_xml
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import font_box, parted, with_typed_boxes, words_for
from preflight_rag.text.legends import raised_behind, with_note
from preflight_rag.text.tables import expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_DOCUMENT_PART = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WORD_2010 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_VML = "{urn:schemas-microsoft-com:vml}"
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_LINK_FIELD = re.compile(r'HYPERLINK\s+"([^"]{1,500})"')
_CONTENTS_STYLE = re.compile(r"(?:toc|contents|verzeichnis|tm|tdc|sommario|inhopg)[1-9]")
"""Style names of entries of a table of contents in Word and LibreOffice, in several languages."""
_PAGE_NUMBER_AT_END = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,7})$")  # of an entry of a table of contents
_TABLE_CAPTION = re.compile(r"(?:table|tab\.|exhibit|schedule)\s+[\dIVX]", re.IGNORECASE)
_TEXT_OF_BREAKS = {f"{_WORD}tab": " ", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_WRAPPERS = tuple(f"{_WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml"))
"""Elements around paragraphs, rows and cells that change nothing in how these are read."""
_DELETED_ELEMENTS = (f"{_WORD}del", f"{_WORD}moveFrom")
_SKIPPED_ELEMENTS = (f"{_COMPATIBILITY}Fallback", f"{_WORD}pPr", f"{_WORD}rPr", f"{_WORD}sdtPr", *_DELETED_ELEMENTS)
_TEXT_BOX = f"{_WORD}txbxContent"
_MAXIMUM_DEPTH = 20
"""Maximum depth of nested text boxes and tables that are read; a guess."""
_CHARACTERS_BEFORE_MARK = 4
"""Characters before a superscript that decide whether it is a power or the mark of a note."""
_MAXIMUM_ANCHOR_LENGTH = 80
"""Maximum characters of the words that a comment is about, or of the label of the row that a note is about."""


def load_docx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the document, then the documents embedded in it; `metadata["sections"]` holds the headings.

    Raises:
        EncryptedDocument: The file is protected by a password, or an old `.doc` under a new name.
        UnreadableDocument: The file is no Word document.
        DocumentTooLarge: The file unpacks to more than `max_bytes`.
    """
    try:
        with open_archive(path, max_bytes, "Word document") as archive:
            names = set(archive.namelist())
            if _DOCUMENT_PART not in names:
                raise UnreadableDocument(f"{path} is no Word document: it has no {_DOCUMENT_PART}")
            root = parse_xml(archive.read(_DOCUMENT_PART))
            reader = _Reader(_ArchiveParts(archive))
            properties = core_properties(archive)
            blocks = list(reader.document(root))
            title = properties.get("title", "")
            embedded = embedded_documents(path, archive, "word", title, reader.report, max_bytes)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is no readable Word document: {error}") from error
    yield _build_document(path, blocks, reader, properties)
    yield from embedded


def _build_document(path: Path, blocks: list[tuple[str, str]], reader: _Reader, properties: dict[str, str]) -> Document:
    """Return the document of `(style, text)` blocks.

    Its title is that of the properties, else the first heading, else the first line if that looks like a title.
    """
    pieces: list[str] = []
    length, sections = 0, []
    title = previous = first_text = ""
    for style, block in blocks:
        is_next_line = style == previous and style in ("list", "row")
        separator = ("\n" if is_next_line else "\n\n") if pieces else ""
        previous = style
        start = length + len(separator)
        pieces += [separator, block]
        length += len(separator) + len(block)
        if style.startswith(("heading", "title")):
            sections.append([start, block])
            title = title or reader.text_without_number.get(block, block)
        if not first_text and style not in ("header", "aside", "row"):
            first_text = block
    first_line = first_text.split("\n", 1)[0]
    metadata: dict[str, Any] = {
        key: properties[key] for key in ("subject", "keywords", "description", "category") if key in properties
    }
    if sections:
        metadata["sections"] = sections
    return file_document(
        path,
        "".join(pieces),
        title=properties.get("title", "") or title or (first_line if title_like(first_line) else ""),
        saved=iso_date(properties.get("created") or properties.get("modified")),
        authors=people(properties.get("creator", "")),
        metadata=metadata,
        report=reader.report,
        find_headings=True,
    )


class _ArchiveParts:
    """The files ("parts") inside the archive of a Word document, besides the main document."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive, self.names = archive, set(archive.namelist())
        self.targets: dict[str, tuple[str, str]] = {}
        """Kind and name of the part that each relationship's id leads to."""
        self.links: dict[str, str] = {}
        """Web address that each relationship's id leads to."""
        for relationship in self.root("word/_rels/document.xml.rels", default=()):
            target = str(relationship.get("Target", ""))
            if relationship.get("TargetMode") == "External":
                self.links[str(relationship.get("Id"))] = target
                continue
            # A target that begins with a slash is absolute, any other one is relative to the main document.
            name = target if target.startswith("/") else posixpath.normpath(posixpath.join("word", target))
            kind = str(relationship.get("Type", "")).rsplit("/", 1)[-1]
            self.targets[str(relationship.get("Id"))] = (kind, name.lstrip("/"))

    def names_of_kind(self, kind: str) -> list[str]:
        """Return the names of the parts of a kind, such as "footnotes"."""
        return [name for part_kind, name in self.targets.values() if part_kind == kind and name in self.names]

    def root(self, name: str, default: Any = None) -> Any:
        """Return the root element of a part; `default` if there is no such part."""
        return parse_xml(self._archive.read(name)) if name in self.names else default


@dataclass
class _AttachedTexts:
    """Texts that are attached to a paragraph or cell, such as notes; they are read after it."""

    notes: list[tuple[str, str]] = field(default_factory=list)  # kind ("footnote") and id
    comments: list[str] = field(default_factory=list)  # ids
    boxes: list[Any] = field(default_factory=list)  # elements of text boxes
    pictures: list[str] = field(default_factory=list)  # descriptions
    lines: list[tuple[str, str]] = field(default_factory=list)  # style and text of lines of charts and diagrams
    tables: list[Any] = field(default_factory=list)  # elements of tables inside the paragraph or cell


class _Reader:
    """Reader of one Word document; `report` records what it read."""

    def __init__(self, parts: _ArchiveParts) -> None:
        self.report = ReadReport()
        self._parts = parts
        self._notes = {kind: self._elements_by_id(f"{kind}s", kind) for kind in ("footnote", "endnote")}
        self._note_counts = {"footnote": 0, "endnote": 0}
        self._comments = self._elements_by_id("comments", "comment")
        self._commented_words: dict[str, list[str]] = {}
        self._open_comments: set[str] = set()
        self._depth = 0
        self._caption = ""
        self._deletion_count = 0
        self._struck_out_runs = 0
        self._hidden_runs = 0
        self._links: list[tuple[str, str]] = []
        self._row_labels: dict[tuple[str, str], str] = {}
        self.text_without_number: dict[str, str] = {}
        """Each heading and paragraph, as it was yielded, without its automatic number; titles are taken from here."""
        self._numbering = WordNumbering(parts.root("word/numbering.xml"), parts.root("word/styles.xml"))

    def document(self, root: _Element) -> Iterator[tuple[str, str]]:
        """Yield `(style, text)` of each block of the document that has text; `root` is the main document's element."""
        for text in self._running_lines("header"):
            yield "header", f"Header: {text}"
        body = root.find(f"{_WORD}body")
        yield from self._blocks(body if body is not None else root)
        for kind, remaining_notes in self._notes.items():  # notes to which no reference in the text leads
            for note in list(remaining_notes.values()):
                yield from self._note_blocks(kind, note)
            remaining_notes.clear()
        for number in list(self._comments):
            yield from self._comment_blocks(number)
        for line in link_lines(self._links):
            yield "list", line
        for text in self._running_lines("footer"):
            yield "aside", f"Footer: {text}"
        self._report_left_out()

    def _report_left_out(self) -> None:
        """Add what is in the document, but was left out of its text, to the report."""
        self.report.leave_out_struck(self._struck_out_runs)
        self.report.leave_out_hidden(self._hidden_runs)
        if self._deletion_count:
            deletions = "1 deletion" if self._deletion_count == 1 else f"{self._deletion_count} deletions"
            self.report.leave_out(f"{deletions} of tracked changes", "deleted in the document")

    def _elements_by_id(self, part: str, tag: str) -> dict[str, _Element]:
        """Return the notes or comments of a kind of part by their ids, without the separators above footnotes."""
        elements = {}
        for name in self._parts.names_of_kind(part):
            for element in self._parts.root(name).iterchildren(f"{_WORD}{tag}"):
                if element.get(f"{_WORD}type") not in ("separator", "continuationSeparator", "continuationNotice"):
                    elements[str(element.get(f"{_WORD}id"))] = element
        return elements

    def _running_lines(self, kind: str) -> list[str]:
        """Return the texts of the headers or footers (`kind`), each once, without bare page numbers."""
        lines: dict[str, None] = {}
        for name in self._parts.names_of_kind(kind):
            blocks = [text for _, text in self._blocks(self._parts.root(name))]
            text = "\n".join(blocks).strip()
            if not is_page_number(text):
                lines[text] = None
        self.report.count("headers", len(lines))
        return list(lines)

    def _blocks(self, parent: _Element) -> Iterator[tuple[str, str]]:
        """Yield `(style, text)` of each paragraph, list item and table row in an element that has text.

        Each is followed by the texts attached to it. Entries of a table of contents are only counted.
        """
        items = OpenItems()
        for child in _children_with_tags(parent, f"{_WORD}p", f"{_WORD}tbl"):
            if child.tag == f"{_WORD}tbl":
                yield from self._table_blocks(child)
                self._caption = ""
                continue
            attached = _AttachedTexts()
            text = self._tidy_text(self._text_of(child, attached))
            label = self._numbering.label(child) if text else ""
            if any(char.isalnum() for char in text):
                style = _paragraph_style(child)
                if style == "tocheading" or (_CONTENTS_STYLE.fullmatch(style) and _PAGE_NUMBER_AT_END.search(text)):
                    self.report.count("contents_lines")
                    continue
                self._caption = text if style == "caption" or _TABLE_CAPTION.match(text) else ""
                if style == "list" or (label and not style.startswith(("heading", "title"))):
                    yield "list", f"{label or '-'} {items.add(_list_level(child), text)}"
                else:
                    items.leave()
                    numbered_text = f"{label} {text}" if label else text
                    self.text_without_number[numbered_text] = text
                    yield style, numbered_text
            yield from self._attached_blocks(attached)

    def _attached_blocks(self, attached: _AttachedTexts) -> Iterator[tuple[str, str]]:
        """Yield `(style, text)` of what is attached to a paragraph: pictures, charts, boxes, notes and comments."""
        for text in dict.fromkeys(attached.pictures):
            yield "aside", f"Picture: {text}"
        yield from attached.lines
        for box in attached.boxes:
            yield from self._text_box_blocks(box)
        for kind, number in attached.notes:
            if (note := self._notes[kind].pop(number, None)) is not None:
                yield from self._note_blocks(kind, note, self._row_labels.get((kind, number), ""))
        for number in attached.comments:
            yield from self._comment_blocks(number)

    def _text_box_blocks(self, box: _Element) -> Iterator[tuple[str, str]]:
        """Yield the blocks of a text box; nothing for one that is nested too deeply."""
        if self._depth >= _MAXIMUM_DEPTH:
            return
        self._depth += 1
        blocks = list(self._blocks(box))
        self._depth -= 1
        self.report.count("text_boxes", bool(blocks))
        yield from blocks

    def _note_blocks(self, kind: str, note: _Element, row: str = "") -> Iterator[tuple[str, str]]:
        """Yield the blocks of a note, the first one with its name and table row: "Footnote 2 (Oslo): closed in May"."""
        self._note_counts[kind] += 1
        name = f"{kind.capitalize()} {self._note_counts[kind]}{f' ({row})' if row else ''}"
        blocks = list(self._blocks(note))
        self.report.count("footnotes", bool(blocks))
        for index, (style, text) in enumerate(blocks):
            if style == "row":
                yield "row", text
            else:
                yield "aside", f"{name}: {text}" if index == 0 else text

    def _note_text(self, kind: str, number: str) -> str:
        """Return the text of a note on one line, to be put into the cell that refers to it; "" if there is no note."""
        note = self._notes[kind].get(number)
        return one_line("".join(run.text or "" for run in note.iter(f"{_WORD}t"))) if note is not None else ""

    def _comment_blocks(self, number: str) -> Iterator[tuple[str, str]]:
        """Yield the comment with an id, once: "Comment by Ann on “the price”: too high"; nothing for an empty one."""
        comment = self._comments.pop(number, None)
        if comment is None:
            return
        text = " ".join(text for _, text in self._blocks(comment))
        if not text.strip():
            return
        self.report.count("comments")
        author = one_line(comment.get(f"{_WORD}author", ""))
        anchor = " ".join("".join(self._commented_words.get(number, [])).split())
        if len(anchor) > _MAXIMUM_ANCHOR_LENGTH:
            anchor = anchor[:_MAXIMUM_ANCHOR_LENGTH].rsplit(" ", 1)[0] + " …"
        name = f"Comment{f' by {author}' if author else ''}{f' on “{anchor}”' if anchor else ''}"
        yield "aside", f"{name}: {text}"

    def _table_blocks(self, table: _Element) -> Iterator[tuple[str, str]]:
        """Yield the rows of a table, each with the caption and the columns' names, then the tables inside it.

        The texts attached to its cells follow. A note is also put into its cell. Rows deleted by tracked changes are
        left out.
        """
        caption, header_rows = self._caption, 0
        rows: list[list[tuple[str, int, int]]] = []
        attached = _AttachedTexts()
        for row in _children_with_tags(table, f"{_WORD}tr"):
            if row.find(f"{_WORD}trPr/{_WORD}del") is not None:
                self._deletion_count += 1
                continue
            cells: list[tuple[str, int, int]] = []
            notes_before_row = len(attached.notes)
            for cell in _children_with_tags(row, f"{_WORD}tc"):
                notes_before_cell = len(attached.notes)
                text = with_typed_boxes(parted(" ".join(self._text_of(cell, attached).split())))
                for kind, number in attached.notes[notes_before_cell:]:
                    text = with_note(text, self._note_text(kind, number))
                if not text and _continues_cell_above(cell):
                    text = _cell_text_above(rows, sum(columns for _, columns, _ in cells))
                cells.append((text, _column_span(cell), 1))
            label = next((text for text, _, _ in cells if text), "")
            if len(label) <= _MAXIMUM_ANCHOR_LENGTH:
                self._row_labels |= dict.fromkeys(attached.notes[notes_before_row:], label)
            rows.append(cells)
            # Only rows at the beginning of a table can be its header.
            if header_rows == len(rows) - 1 and row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
                header_rows += 1
        lines = table_lines(expand_spans(rows), caption=caption, header_rows=header_rows or None)
        for line in self.report.table(lines):
            yield "row", line
        self._caption = ""
        for inner in attached.tables if self._depth < _MAXIMUM_DEPTH else ():
            self._depth += 1
            yield from self._table_blocks(inner)
            self._depth -= 1
        yield from self._attached_blocks(attached)

    @staticmethod
    def _tidy_text(text: str) -> str:
        """Return the lines of a text with single spaces, and with check boxes (☐, [x]) in words."""
        return with_typed_boxes("\n".join(parted(" ".join(line.split())) for line in text.split("\n")).strip())

    def _text_of(self, element: _Element, attached: _AttachedTexts) -> str:
        """Return the text of an element, without deleted and hidden words; add what is attached to it to `attached`."""
        parts: list[str] = []
        stack: list[Any] = [element]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
            elif node.tag in _SKIPPED_ELEMENTS:
                self._deletion_count += node.tag in _DELETED_ELEMENTS and _has_text(node)
            elif node.tag in (f"{_WORD}t", f"{_MATH}t"):
                if not (text := self._visible_text(node)):
                    continue
                parts.append(raised_behind(_last_characters(parts), text) if _is_superscript(node) else text)
                for number in self._open_comments:
                    self._commented_words.setdefault(number, []).append(node.text or "")
            elif node.tag in _TEXT_OF_BREAKS:
                parts.append(_TEXT_OF_BREAKS[node.tag])
            elif (replacement := self._replacement(node, attached, is_outermost=node is element)) is not None:
                parts.append(replacement)
            else:
                if node.tag == f"{_WORD}p" and node is not element:
                    stack.append("\n")
                    label = self._numbering.label(node)
                    parts += [f"{label} "] if label else []
                stack.extend(reversed(node))
        return clean("".join(parts))

    def _visible_text(self, node: _Element) -> str:
        """Return the text of a run; "" if it is hidden or struck out, which is counted."""
        text = node.text or ""
        if _has_text_property(node, "strike", "dstrike"):
            self._struck_out_runs += bool(text.strip())
            return ""
        if _has_text_property(node, "vanish"):
            self._hidden_runs += bool(text.strip())
            return ""
        return text

    def _replacement(self, node: _Element, attached: _AttachedTexts, *, is_outermost: bool) -> str | None:
        """Return the text to write for a special element; None for one whose children are to be read."""
        if node.tag == _TEXT_BOX:
            attached.boxes.append(node)
            return ""
        if node.tag == f"{_WORD}tbl" and not is_outermost:
            attached.tables.append(node)
            return ""
        if isinstance(node.tag, str) and node.tag.startswith(_MATH):
            return equation(node)
        if isinstance(node.tag, str) and node.tag.startswith(_WORD):
            return self._replacement_of_word_element(node, node.tag.removeprefix(_WORD), attached)
        return self._record_drawing(node, attached)

    def _replacement_of_word_element(self, node: _Element, name: str, attached: _AttachedTexts) -> str | None:
        """Return the text to write for a Word element such as a check box; None if its children are to be read.

        Notes, comments, links and insertions are recorded.
        """
        number = str(node.get(f"{_WORD}id"))
        if name in ("footnoteReference", "endnoteReference"):
            attached.notes.append((name.removesuffix("Reference"), number))
        elif name in ("commentRangeStart", "commentRangeEnd"):
            if name.endswith("Start"):
                self._open_comments.add(number)
            else:
                self._open_comments.discard(number)
        elif name == "commentReference":
            attached.comments.append(number)
        elif name in ("ins", "moveTo"):
            self.report.count("insertions", _has_text(node))
        elif name == "sdt":
            return _content_control(node)
        elif name == "sym":
            return font_box(str(node.get(f"{_WORD}font")), str(node.get(f"{_WORD}char"))) or None
        elif name == "ffData":
            return _form_field(node)
        elif name in ("hyperlink", "instrText"):
            self._record_link(node, name)
        return None

    def _record_link(self, node: _Element, name: str) -> None:
        """Record the words and the address of a `hyperlink` element, or the address of a link's field."""
        if name == "hyperlink":
            words = "".join(run.text or "" for run in node.iter(f"{_WORD}t"))
            self._links.append((words, self._parts.links.get(str(node.get(f"{_RELATIONSHIPS}id")), "")))
        elif match := _LINK_FIELD.search(node.text or ""):
            self._links.append(("", match[1]))

    def _record_drawing(self, node: _Element, attached: _AttachedTexts) -> str | None:
        """Add the texts of a picture, chart or diagram to `attached`; return None, so that its children are read."""
        if node.tag == f"{_DRAWING}docPr":
            self._record_picture(node, one_line(node.get("descr") or ""), attached)
        elif node.tag in (f"{_VML}imagedata", f"{_VML}shape"):
            self._record_vml_picture(node, attached)
        elif local(node) == "chart" and (part := self._target_part(node, "id")):
            attached.lines += [("row", line) for line in self.report.table(chart_lines(self._parts.root(part)))]
        elif local(node) == "relIds" and (part := self._target_part(node, "dm")):
            text = diagram_text(self._parts.root(part))
            attached.lines += [("aside", f"Diagram: {text}")] if text else []
        return None

    def _record_vml_picture(self, node: _Element, attached: _AttachedTexts) -> None:
        """Add the description of a picture in the format before Word 2007 (VML) to `attached`; count the picture.

        A picture without a description is not counted if the shape around it has one.
        """
        parent = node.getparent()
        description = one_line(node.get("alt") or "")
        if description:
            attached.pictures.append(description)
            self.report.count("pictures_described")
        elif node.tag == f"{_VML}imagedata" and not (parent is not None and parent.get("alt")):
            self.report.count("pictures_without_text")

    def _record_picture(self, frame: _Element, description: str, attached: _AttachedTexts) -> None:
        """Add the description of a drawing to `attached`; count pictures, but no other drawings, without one."""
        parent = frame.getparent()
        has_picture = parent is not None and any(local(element) == "pic" for element in parent.iter())
        if description:
            attached.pictures.append(description)
            self.report.count("pictures_described")
        elif has_picture:
            self.report.count("pictures_without_text")

    def _target_part(self, node: _Element, name: str) -> str:
        """Return the name of the part to which an element's attribute refers; "" if the archive has no such part."""
        _, part = self._parts.targets.get(str(node.get(f"{_RELATIONSHIPS}{name}")), ("", ""))
        return part if part in self._parts.names else ""


def _last_characters(parts: list[str]) -> str:
    """Return the last characters of the joined parts, by which a superscript after them is judged."""
    end = ""
    for part in reversed(parts):
        end = part + end
        if len(end) >= _CHARACTERS_BEFORE_MARK:
            break
    return end[-_CHARACTERS_BEFORE_MARK:]


def _has_text(node: _Element) -> bool:
    """Return whether an element contains text that is not blank, deleted text included."""
    return any(run.text and run.text.strip() for run in node.iter(f"{_WORD}t", f"{_WORD}delText"))


def _has_text_property(node: _Element, *names: str) -> bool:
    """Return whether the run around a text has one of the named properties switched on, such as "strike"."""
    run = node.getparent()
    properties = run.find(f"{_WORD}rPr") if run is not None else None
    return properties is not None and any(_is_switched_on(properties.find(f"{_WORD}{name}"), _WORD) for name in names)


def _is_superscript(node: _Element) -> bool:
    """Return whether the run around a text is a superscript."""
    run = node.getparent()
    alignment = run.find(f"{_WORD}rPr/{_WORD}vertAlign") if run is not None else None
    return alignment is not None and alignment.get(f"{_WORD}val") == "superscript"


def _is_switched_on(mark: _Element | None, namespace: str) -> bool:
    """Return whether a Boolean property is set: its element exists, and its value does not switch it off."""
    return mark is not None and mark.get(f"{namespace}val", "1") not in ("0", "false", "off")


def _content_control(control: _Element) -> str | None:
    """Return a check box in words, or "" for a field that nobody has filled in; None for other content controls."""
    box = control.find(f"{_WORD}sdtPr/{_WORD_2010}checkbox")
    if box is not None:
        return f"{words_for(_is_switched_on(box.find(f'{_WORD_2010}checked'), _WORD_2010))} "
    is_placeholder = control.find(f"{_WORD}sdtPr/{_WORD}showingPlcHdr") is not None  # "Click here to enter text"
    return "" if is_placeholder else None


def _form_field(data: _Element) -> str:
    """Return the value of a legacy form field: a check box in words, or the selected entry of a list; else ""."""
    box = data.find(f"{_WORD}checkBox")
    if box is not None:
        mark = box.find(f"{_WORD}checked")
        mark = mark if mark is not None else box.find(f"{_WORD}default")
        return f"{words_for(_is_switched_on(mark, _WORD))} "
    choices = data.find(f"{_WORD}ddList")
    if choices is None:
        return ""
    entries = [str(entry.get(f"{_WORD}val", "")) for entry in choices.iterchildren(f"{_WORD}listEntry")]
    selection = choices.find(f"{_WORD}result")
    index = whole_number(str(selection.get(f"{_WORD}val", "0")) if selection is not None else "0", len(entries))
    return entries[index] if index < len(entries) else ""


def _continues_cell_above(cell: _Element) -> bool:
    """Return whether a cell is the continuation of the cell above it, which spans several rows."""
    merged = cell.find(f"{_WORD}tcPr/{_WORD}vMerge")
    return merged is not None and merged.get(f"{_WORD}val", "continue") != "restart"


def _cell_text_above(rows: list[list[tuple[str, int, int]]], column: int) -> str:
    """Return the text of the last row's cell that begins in a column, counted from 0; "" if there is none."""
    start = 0
    for text, column_span, _ in rows[-1] if rows else ():
        if start == column:
            return text
        start += column_span
    return ""


def _column_span(cell: _Element) -> int:
    """Return how many columns a cell spans; 1 if it does not tell."""
    span = cell.find(f"{_WORD}tcPr/{_WORD}gridSpan")
    text = str(span.get(f"{_WORD}val", "1")) if span is not None else "1"
    return whole_number(text, 1)


def _children_with_tags(parent: _Element, *tags: str) -> Iterator[_Element]:
    """Yield the children with one of the tags, also those in insertions and in content controls that are filled in."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag == f"{_WORD}sdt" and child.find(f"{_WORD}sdtPr/{_WORD}showingPlcHdr") is not None:
            continue
        elif child.tag in _WRAPPERS:
            yield from _children_with_tags(child, *tags)


def _list_level(paragraph: _Element) -> int:
    """Return the level of a list item, 0 for the outermost, by its numbering, else by a style like "List Bullet 2"."""
    level = paragraph.find(f"{_WORD}pPr/{_WORD}numPr/{_WORD}ilvl")
    number_level = whole_number(str(level.get(f"{_WORD}val", "")), -1, DEEPEST_LEVEL) if level is not None else -1
    if number_level >= 0:
        return number_level
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    number = re.search(r"[2-9]$", str(style.get(f"{_WORD}val", ""))) if style is not None else None
    return int(number[0]) - 1 if number else 0


def _paragraph_style(paragraph: _Element) -> str:
    """Return the style of a paragraph: "heading1", "title", "list", or another name in lower case; "" if none."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return ""
    style_element = properties.find(f"{_WORD}pStyle")
    style = str(style_element.get(f"{_WORD}val", "")).lower() if style_element is not None else ""
    if style.startswith(("heading", "title")):
        return style
    return "list" if style.startswith("list") or properties.find(f"{_WORD}numPr") is not None else style

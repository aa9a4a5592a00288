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

_DOCUMENT = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WORD_2010 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_VML = "{urn:schemas-microsoft-com:vml}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_LINK_FIELD = re.compile(r'HYPERLINK\s+"([^"]{1,500})"')
_OF_CONTENTS = re.compile(r"(?:toc|contents|verzeichnis|tm|tdc|sommario|inhopg)[1-9]")
"""Names that Word and LibreOffice give the style of an entry of a table of contents, in several languages."""
_PAGE_BEHIND = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,7})$")
_CAPTION = re.compile(r"(?:table|tab\.|exhibit|schedule)\s+[\dIVX]", re.IGNORECASE)
_BREAKS = {f"{_WORD}tab": " ", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_WRAPPERS = tuple(f"{_WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml"))
_DELETED = (f"{_WORD}del", f"{_WORD}moveFrom")
_SKIPPED = (f"{_COMPATIBILITY}Fallback", f"{_WORD}pPr", f"{_WORD}rPr", f"{_WORD}sdtPr", *_DELETED)
_BOX = f"{_WORD}txbxContent"
_DEEPEST = 20
"""Text boxes and tables within each other that are followed; a guess."""
_BEFORE_MARK = 4
"""Characters before a mark above the line that say whether it is a power or a note's."""
_LONGEST_ANCHOR = 80
"""Characters of the words that a comment is on, or of the label of the row that a note is on."""


def load_docx(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield the document as one, then the files inside of it; `metadata["sections"]` holds the headings.

    Raises:
        EncryptedDocument: It is protected by a password, or an old `.doc` under a new name.
        UnreadableDocument: It is no Word document.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    try:
        with open_archive(path, max_bytes, "Word document") as archive:
            names = set(archive.namelist())
            if _DOCUMENT not in names:
                raise UnreadableDocument(f"{path} is no Word document: it has no {_DOCUMENT}")
            root = parse_xml(archive.read(_DOCUMENT))
            reader = _Reader(_Parts(archive))
            properties = core_properties(archive)
            blocks = list(reader.document(root))
            about = properties.get("title", "")
            embedded = embedded_documents(path, archive, "word", about, reader.report, max_bytes)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is no readable Word document: {error}") from error
    yield _document(path, blocks, reader, properties)
    yield from embedded


def _document(path: Path, blocks: list[tuple[str, str]], reader: _Reader, properties: dict[str, str]) -> Document:
    """Return the document with the joined blocks as its text."""
    pieces: list[str] = []
    length, sections = 0, []
    title = previous = first = ""
    for style, block in blocks:
        separator = "" if not pieces else "\n" if style == previous and style in ("list", "row") else "\n\n"
        previous = style
        start = length + len(separator)
        pieces += [separator, block]
        length += len(separator) + len(block)
        if style.startswith(("heading", "title")):
            sections.append([start, block])
            title = title or reader.unnumbered.get(block, block)
        first = first or (block if style not in ("header", "aside", "row") else "")
    first = first.split("\n", 1)[0]
    extra: dict[str, Any] = {
        key: properties[key] for key in ("subject", "keywords", "description", "category") if key in properties
    }
    return file_document(
        path,
        "".join(pieces),
        title=properties.get("title", "") or title or (first if title_like(first) else ""),
        saved=iso_date(properties.get("created") or properties.get("modified")),
        authors=people(properties.get("creator", "")),
        metadata={**extra, **({"sections": sections} if sections else {})},
        report=reader.report,
        find_headings=True,
    )


class _Parts:
    """The files inside the archive besides the main document."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive, self.names = archive, set(archive.namelist())
        self.targets: dict[str, tuple[str, str]] = {}
        self.links: dict[str, str] = {}
        for each in self.root("word/_rels/document.xml.rels", default=()):
            if each.get("TargetMode") == "External":
                self.links[str(each.get("Id"))] = str(each.get("Target", ""))
            else:
                target = posixpath.normpath(posixpath.join("word", str(each.get("Target", "")))).lstrip("/")
                if str(each.get("Target", "")).startswith("/"):
                    target = str(each.get("Target")).lstrip("/")
                kind = str(each.get("Type", "")).rsplit("/", 1)[-1]
                self.targets[str(each.get("Id"))] = (kind, target)

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the parts of a kind, such as "footnotes"."""
        return [name for found, name in self.targets.values() if found == kind and name in self.names]

    def root(self, name: str, default: Any = None) -> Any:
        """Return the root element of a part; `default` if there is no such part."""
        return parse_xml(self._archive.read(name)) if name in self.names else default


@dataclass
class _Asides:
    """Texts that are attached to a paragraph, such as notes; they are read after it."""

    notes: list[tuple[str, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    tables: list[Any] = field(default_factory=list)


class _Reader:
    """Reads one document; `report` records what was read."""

    def __init__(self, parts: _Parts) -> None:
        self.report = ReadReport()
        self._parts = parts
        self._notes = {kind: self._by_id(f"{kind}s", kind) for kind in ("footnote", "endnote")}
        self._numbers = {"footnote": 0, "endnote": 0}
        self._comments = self._by_id("comments", "comment")
        self._anchors: dict[str, list[str]] = {}
        self._open_comments: set[str] = set()
        self._depth = 0
        self._caption = ""
        self._deletions = 0
        self._struck = 0
        self._unseen = 0
        self._links: list[tuple[str, str]] = []
        self._rows: dict[tuple[str, str], str] = {}
        self.unnumbered: dict[str, str] = {}
        """Headings and paragraphs without their automatic numbers, which no title has."""
        self._numbering = WordNumbering(parts.root("word/numbering.xml"), parts.root("word/styles.xml"))

    def document(self, root: _Element) -> Iterator[tuple[str, str]]:
        """Yield `(style, text)` of each block that has text."""
        for text in self._running("header"):
            yield "header", f"Header: {text}"
        body = root.find(f"{_WORD}body")
        yield from self._blocks(body if body is not None else root)
        for name, left in self._notes.items():  # that no reference in the text leads to
            for each in list(left.values()):
                yield from self._note(name, each)
            left.clear()
        for number in list(self._comments):
            yield from self._comment(number)
        for line in link_lines(self._links):
            yield "list", line
        for text in self._running("footer"):
            yield "aside", f"Footer: {text}"
        self._report_left_out()

    def _report_left_out(self) -> None:
        """Report what is in the document and not in its text."""
        self.report.leave_out_struck(self._struck)
        self.report.leave_out_hidden(self._unseen)
        if self._deletions:
            many = "1 deletion" if self._deletions == 1 else f"{self._deletions} deletions"
            self.report.leave_out(f"{many} of tracked changes", "deleted in the document")

    def _by_id(self, part: str, tag: str) -> dict[str, _Element]:
        """Return the notes or comments of a part by their ids."""
        found = {}
        for name in self._parts.of_kind(part):
            for each in self._parts.root(name).iterchildren(f"{_WORD}{tag}"):
                if each.get(f"{_WORD}type") not in ("separator", "continuationSeparator", "continuationNotice"):
                    found[str(each.get(f"{_WORD}id"))] = each
        return found

    def _running(self, kind: str) -> list[str]:
        """Return the headers or footers, each once, without page numbers."""
        found: dict[str, None] = {}
        for name in self._parts.of_kind(kind):
            blocks = [text for _, text in self._blocks(self._parts.root(name))]
            text = "\n".join(blocks).strip()
            if not is_page_number(text):
                found[text] = None
        self.report.count("headers", len(found))
        return list(found)

    def _blocks(self, parent: _Element) -> Iterator[tuple[str, str]]:
        """Yield `(style, text)` of each paragraph, list item and table row that has text."""
        items = OpenItems()
        for child in _unwrapped(parent, f"{_WORD}p", f"{_WORD}tbl"):
            if child.tag == f"{_WORD}tbl":
                yield from self._table(child)
                self._caption = ""
                continue
            asides = _Asides()
            text = self._tidy(self._text(child, asides))
            label = self._numbering.label(child) if text else ""
            if any(char.isalnum() for char in text):
                style = _style(child)
                if style == "tocheading" or (_OF_CONTENTS.fullmatch(style) and _PAGE_BEHIND.search(text)):
                    self.report.count("contents_lines")
                    continue
                self._caption = text if style == "caption" or _CAPTION.match(text) else ""
                if style == "list" or (label and not style.startswith(("heading", "title"))):
                    yield "list", f"{label or '-'} {items.add(_list_depth(child), text)}"
                else:
                    items.leave()
                    written = f"{label} {text}" if label else text
                    self.unnumbered[written] = text
                    yield style, written
            yield from self._beside(asides)

    def _beside(self, asides: _Asides) -> Iterator[tuple[str, str]]:
        """Yield the texts attached to a paragraph: pictures, boxes, notes and comments."""
        for text in dict.fromkeys(asides.pictures):
            yield "aside", f"Picture: {text}"
        yield from asides.lines
        for box in asides.boxes:
            yield from self._box(box)
        for kind, number in asides.notes:
            if (note := self._notes[kind].pop(number, None)) is not None:
                yield from self._note(kind, note, self._rows.get((kind, number), ""))
        for number in asides.comments:
            yield from self._comment(number)

    def _box(self, box: _Element) -> Iterator[tuple[str, str]]:
        """Yield the blocks of a text box."""
        if self._depth >= _DEEPEST:
            return
        self._depth += 1
        found = list(self._blocks(box))
        self._depth -= 1
        self.report.count("text_boxes", bool(found))
        yield from found

    def _note(self, kind: str, note: _Element, row: str = "") -> Iterator[tuple[str, str]]:
        """Yield a note; if its mark is in a table, with the label of the row that it explains."""
        self._numbers[kind] += 1
        name = f"{kind.capitalize()} {self._numbers[kind]}{f' ({row})' if row else ''}"
        found = list(self._blocks(note))
        self.report.count("footnotes", bool(found))
        for place, (style, text) in enumerate(found):
            named = f"{name}: {text}" if place == 0 and style != "row" else text
            yield style if style == "row" else "aside", named

    def _words_of_note(self, kind: str, number: str) -> str:
        """Return the text of a note for the cell that refers to it; the note also follows the table."""
        note = self._notes[kind].get(number)
        return one_line("".join(each.text or "" for each in note.iter(f"{_WORD}t"))) if note is not None else ""

    def _comment(self, number: str) -> Iterator[tuple[str, str]]:
        """Yield a comment as one line, with its author and the words that it is about."""
        comment = self._comments.pop(number, None)
        if comment is None:
            return
        text = " ".join(text for _, text in self._blocks(comment))
        if not text.strip():
            return
        self.report.count("comments")
        author = one_line(comment.get(f"{_WORD}author", ""))
        anchor = " ".join("".join(self._anchors.get(number, [])).split())
        anchor = anchor if len(anchor) <= _LONGEST_ANCHOR else anchor[:_LONGEST_ANCHOR].rsplit(" ", 1)[0] + " …"
        named = f"Comment{f' by {author}' if author else ''}{f' on “{anchor}”' if anchor else ''}"
        yield "aside", f"{named}: {text}"

    def _table(self, table: _Element) -> Iterator[tuple[str, str]]:
        """Yield the rows of a table, each with the caption and the columns' names, then the tables inside it."""
        caption, marked = self._caption, 0
        rows: list[list[tuple[str, int, int]]] = []
        asides = _Asides()
        for row in _unwrapped(table, f"{_WORD}tr"):
            if row.find(f"{_WORD}trPr/{_WORD}del") is not None:
                self._deletions += 1
                continue
            cells: list[tuple[str, int, int]] = []
            noted = len(asides.notes)
            for cell in _unwrapped(row, f"{_WORD}tc"):
                before = len(asides.notes)
                text = with_typed_boxes(parted(" ".join(self._text(cell, asides).split())))
                for each in asides.notes[before:]:
                    text = with_note(text, self._words_of_note(*each))
                if not text and _goes_on(cell):
                    text = _above(rows, sum(columns for _, columns, _ in cells))
                cells.append((text, _columns(cell), 1))
            label = next((text for text, _, _ in cells if text), "")
            if len(label) <= _LONGEST_ANCHOR:
                self._rows |= dict.fromkeys(asides.notes[noted:], label)
            rows.append(cells)
            if marked == len(rows) - 1 and row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
                marked += 1
        lines = table_lines(expand_spans(rows), caption=caption, header_rows=marked or None)
        for line in self.report.table(lines):
            yield "row", line
        self._caption = ""
        for inner in asides.tables if self._depth < _DEEPEST else ():
            self._depth += 1
            yield from self._table(inner)
            self._depth -= 1
        yield from self._beside(asides)

    @staticmethod
    def _tidy(text: str) -> str:
        """Return a text with single spaces, with its check boxes in words."""
        return with_typed_boxes("\n".join(parted(" ".join(line.split())) for line in text.split("\n")).strip())

    def _text(self, element: _Element, asides: _Asides) -> str:
        """Return all words inside an element, without deleted ones; texts attached to it are added to `asides`."""
        parts: list[str] = []
        stack: list[Any] = [element]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
            elif node.tag in _SKIPPED:
                self._deletions += node.tag in _DELETED and _has_text(node)
            elif node.tag in (f"{_WORD}t", f"{_MATH}t"):
                if not (text := self._shown(node)):
                    continue
                parts.append(raised_behind(_end(parts), text) if _is_superscript(node) else text)
                for number in self._open_comments:
                    self._anchors.setdefault(number, []).append(node.text or "")
            elif node.tag in _BREAKS:
                parts.append(_BREAKS[node.tag])
            elif (written := self._special(node, asides, is_whole=node is element)) is not None:
                parts.append(written)
            else:
                if node.tag == f"{_WORD}p" and node is not element:
                    stack.append("\n")
                    label = self._numbering.label(node)
                    parts += [f"{label} "] if label else []
                stack.extend(reversed(node))
        return clean("".join(parts))

    def _shown(self, node: _Element) -> str:
        """Return the words of an element; "" of one that is hidden, or struck out, so that it holds no longer."""
        text = node.text or ""
        if _has_mark(node, "strike", "dstrike"):
            self._struck += bool(text.strip())
            return ""
        if _has_mark(node, "vanish"):
            self._unseen += bool(text.strip())
            return ""
        return text

    def _special(self, node: _Element, asides: _Asides, *, is_whole: bool) -> str | None:
        """Return the replacement of an element without words; None for one whose children are to be read."""
        if node.tag == _BOX:
            asides.boxes.append(node)
            return ""
        if node.tag == f"{_WORD}tbl" and not is_whole:
            asides.tables.append(node)
            return ""
        if isinstance(node.tag, str) and node.tag.startswith(_MATH):
            return equation(node)
        if isinstance(node.tag, str) and node.tag.startswith(_WORD):
            return self._mark(node, node.tag.removeprefix(_WORD), asides)
        return self._drawn(node, asides)

    def _mark(self, node: _Element, name: str, asides: _Asides) -> str | None:
        """Return the words for a Word element such as a check box, and record notes, comments and insertions."""
        number = str(node.get(f"{_WORD}id"))
        if name in ("footnoteReference", "endnoteReference"):
            asides.notes.append((name.removesuffix("Reference"), number))
        elif name in ("commentRangeStart", "commentRangeEnd"):
            (self._open_comments.add if name.endswith("Start") else self._open_comments.discard)(number)
        elif name == "commentReference":
            asides.comments.append(number)
        elif name in ("ins", "moveTo"):
            self.report.count("insertions", _has_text(node))
        elif name == "sdt" and (ticked := node.find(f"{_WORD}sdtPr/{_WORD_2010}checkbox")) is not None:
            return f"{words_for(_is_on(ticked.find(f'{_WORD_2010}checked'), _WORD_2010))} "
        elif name == "sym":
            return font_box(str(node.get(f"{_WORD}font")), str(node.get(f"{_WORD}char"))) or None
        elif name == "sdt" and node.find(f"{_WORD}sdtPr/{_WORD}showingPlcHdr") is not None:
            return ""  # "Click here to enter text": nobody has
        elif name == "ffData":
            return _form_field(node)
        elif name in ("hyperlink", "instrText"):
            self._note_link(node, name)
        return None

    def _note_link(self, node: _Element, name: str) -> None:
        """Note where a link, or the field of one, leads."""
        if name == "hyperlink":
            words = "".join(each.text or "" for each in node.iter(f"{_WORD}t"))
            self._links.append((words, self._parts.links.get(str(node.get(f"{_RELATION}id")), "")))
        elif match := _LINK_FIELD.search(node.text or ""):
            self._links.append(("", match[1]))

    def _drawn(self, node: _Element, asides: _Asides) -> str | None:
        """Record the texts of a picture, chart or diagram beside the paragraph; always return None."""
        if node.tag == f"{_DRAWING}docPr":
            self._picture(node, one_line(node.get("descr") or ""), asides)
        elif node.tag in (f"{_VML}imagedata", f"{_VML}shape"):
            self._old_picture(node, asides)
        elif local(node) == "chart" and (place := self._target(node, "id")):
            asides.lines += [("row", line) for line in self.report.table(chart_lines(self._parts.root(place)))]
        elif local(node) == "relIds" and (place := self._target(node, "dm")):
            text = diagram_text(self._parts.root(place))
            asides.lines += [("aside", f"Diagram: {text}")] if text else []
        return None

    def _old_picture(self, node: _Element, asides: _Asides) -> None:
        """Record a picture in the format before Word 2007, which is described by its shape."""
        parent = node.getparent()
        described = one_line(node.get("alt") or "")
        if described:
            asides.pictures.append(described)
            self.report.count("pictures_described")
        elif node.tag == f"{_VML}imagedata" and not (parent is not None and parent.get("alt")):
            self.report.count("pictures_without_text")

    def _picture(self, frame: _Element, described: str, asides: _Asides) -> None:
        """Record a picture's description; frames of text boxes and charts are ignored."""
        parent = frame.getparent()
        has_picture = parent is not None and any(local(each) == "pic" for each in parent.iter())
        if described:
            asides.pictures.append(described)
            self.report.count("pictures_described")
        elif has_picture:
            self.report.count("pictures_without_text")

    def _target(self, node: _Element, name: str) -> str:
        """Return the name of the part to which an element refers; "" without one."""
        place = self._parts.targets.get(str(node.get(f"{_RELATION}{name}")), ("", ""))[1]
        return place if place in self._parts.names else ""


def _end(parts: list[str]) -> str:
    """Return the last characters of a text in parts, which a mark above the line stands behind."""
    found = ""
    for part in reversed(parts):
        found = part + found
        if len(found) >= _BEFORE_MARK:
            break
    return found[-_BEFORE_MARK:]


def _has_text(node: _Element) -> bool:
    """Return whether an element contains text."""
    return any(each.text and each.text.strip() for each in node.iter(f"{_WORD}t", f"{_WORD}delText"))


def _has_mark(node: _Element, *names: str) -> bool:
    """Return whether one of some properties of a text's run is on, such as that it is struck out."""
    run = node.getparent()
    properties = run.find(f"{_WORD}rPr") if run is not None else None
    return properties is not None and any(_is_on(properties.find(f"{_WORD}{name}"), _WORD) for name in names)


def _is_superscript(node: _Element) -> bool:
    """Return whether a run of text is a superscript."""
    run = node.getparent()
    place = run.find(f"{_WORD}rPr/{_WORD}vertAlign") if run is not None else None
    return place is not None and place.get(f"{_WORD}val") == "superscript"


def _is_on(mark: _Element | None, space: str) -> bool:
    """Return whether a Boolean property is set: present, without a value that turns it off."""
    return mark is not None and mark.get(f"{space}val", "1") not in ("0", "false", "off")


def _form_field(data: _Element) -> str:
    """Return the visible value of an old form field that has no text: a check box, or a list's entry."""
    box = data.find(f"{_WORD}checkBox")
    if box is not None:
        mark = box.find(f"{_WORD}checked")
        mark = mark if mark is not None else box.find(f"{_WORD}default")
        return f"{words_for(_is_on(mark, _WORD))} "
    choices = data.find(f"{_WORD}ddList")
    if choices is None:
        return ""
    entries = [str(each.get(f"{_WORD}val", "")) for each in choices.iterchildren(f"{_WORD}listEntry")]
    chosen = choices.find(f"{_WORD}result")
    place = str(chosen.get(f"{_WORD}val", "0")) if chosen is not None else "0"
    number = whole_number(place, len(entries))
    return entries[number] if number < len(entries) else ""


def _goes_on(cell: _Element) -> bool:
    """Return whether a cell continues the one above it, which spans several rows."""
    merged = cell.find(f"{_WORD}tcPr/{_WORD}vMerge")
    return merged is not None and merged.get(f"{_WORD}val", "continue") != "restart"


def _above(rows: list[list[tuple[str, int, int]]], place: int) -> str:
    """Return the text of the last row's cell that begins in a column."""
    start = 0
    for text, columns, _ in rows[-1] if rows else ():
        if start == place:
            return text
        start += columns
    return ""


def _columns(cell: _Element) -> int:
    """Return how many columns a cell spans."""
    span = cell.find(f"{_WORD}tcPr/{_WORD}gridSpan")
    text = str(span.get(f"{_WORD}val", "1")) if span is not None else "1"
    return whole_number(text, 1)


def _unwrapped(parent: _Element, *tags: str) -> Iterator[_Element]:
    """Yield the children with one of the tags, including those in content controls and insertions."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag == f"{_WORD}sdt" and child.find(f"{_WORD}sdtPr/{_WORD}showingPlcHdr") is not None:
            continue
        elif child.tag in _WRAPPERS:
            yield from _unwrapped(child, *tags)


def _list_depth(paragraph: _Element) -> int:
    """Return the level of a list item: by its numbering, else by a style such as "List Bullet 2"."""
    level = paragraph.find(f"{_WORD}pPr/{_WORD}numPr/{_WORD}ilvl")
    depth = whole_number(str(level.get(f"{_WORD}val", "")), -1, DEEPEST_LEVEL) if level is not None else -1
    if depth >= 0:
        return depth
    named = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
    number = re.search(r"[2-9]$", str(named.get(f"{_WORD}val", ""))) if named is not None else None
    return int(number[0]) - 1 if number else 0


def _style(paragraph: _Element) -> str:
    """Return the kind of a paragraph by its style: `heading…`, `title`, `list` or the style's name."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return ""
    named = properties.find(f"{_WORD}pStyle")
    style = str(named.get(f"{_WORD}val", "")).lower() if named is not None else ""
    if style.startswith(("heading", "title")):
        return style
    return "list" if style.startswith("list") or properties.find(f"{_WORD}numPr") is not None else style

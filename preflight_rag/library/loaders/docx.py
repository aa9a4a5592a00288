"""Word documents (.docx): paragraphs, headings, lists and tables in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.loaders.fields import clean, file_document, iso_date, people, title_like
from preflight_rag.library.loaders.files import open_archive
from preflight_rag.library.loaders.xml import XMLSyntaxError, core_properties, parse_xml
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_DOCUMENT = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_CAPTION = re.compile(r"(?:table|tab\.|exhibit|schedule)\s+[\dIVX]", re.IGNORECASE)
_BREAKS = {f"{_WORD}tab": " ", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_WRAPPERS = tuple(f"{_WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml"))
_SKIPPED = (f"{_COMPATIBILITY}Fallback", f"{_WORD}pPr", f"{_WORD}rPr", f"{_WORD}del", f"{_WORD}moveFrom")


def load_docx(path: Path, max_bytes: int) -> Iterator[Document]:
    """The document as one; `metadata["sections"]` holds the headings.

    Raises:
        EncryptedDocument: It is protected by a password, or an old `.doc` under a new name.
        UnreadableDocument: It is no Word document.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    try:
        with open_archive(path, max_bytes, "Word document") as archive:
            names = set(archive.namelist())
            root = parse_xml(archive.read(_DOCUMENT)) if _DOCUMENT in names else None
            properties = core_properties(archive)
    except XMLSyntaxError as error:
        raise UnreadableDocument(f"{path} is no readable Word document: {error}") from error
    if root is None:
        raise UnreadableDocument(f"{path} is no Word document: it has no {_DOCUMENT}")
    yield _document(path, root, properties)


def _document(path: Path, root: _Element, properties: dict[str, str]) -> Document:
    text, sections = "", []
    title = previous = ""
    for style, block in _blocks(root):
        separator = "" if not text else "\n" if style == previous and style in ("list", "row") else "\n\n"
        previous = style
        start = len(text) + len(separator)
        text += separator + block
        if style.startswith(("heading", "title")):
            sections.append([start, block])
            title = title or block
    first = text.split("\n", 1)[0]
    extra: dict[str, Any] = {
        key: properties[key] for key in ("subject", "keywords", "description", "category") if key in properties
    }
    return file_document(
        path,
        text,
        title=properties.get("title", "") or title or (first if title_like(first) else ""),
        date=iso_date(properties.get("created") or properties.get("modified")),
        authors=people(properties.get("creator", "")),
        metadata={**extra, **({"sections": sections} if sections else {})},
    )


def _blocks(root: _Element) -> Iterator[tuple[str, str]]:
    """`(style, text)` of each paragraph, list item and table row that has text."""
    body = root.find(f"{_WORD}body")
    caption = ""
    for child in _unwrapped(body if body is not None else root, f"{_WORD}p", f"{_WORD}tbl"):
        if child.tag == f"{_WORD}tbl":
            for line in _table(child, caption):
                yield "row", line
            caption = ""
        else:
            text = "\n".join(" ".join(line.split()) for line in _text(child).split("\n")).strip()
            if any(char.isalnum() for char in text):
                style = _style(child)
                caption = text if style == "caption" or _CAPTION.match(text) else ""
                yield style, f"- {text}" if style == "list" else text


def _table(table: _Element, caption: str) -> list[str]:
    """The rows of a table, each with the caption above it and its columns' names."""
    rows, marked = [], 0
    for row in _unwrapped(table, f"{_WORD}tr"):
        cells = [(" ".join(_text(cell).split()), _columns(cell), 1) for cell in _unwrapped(row, f"{_WORD}tc")]
        rows.append(cells)
        if marked == len(rows) - 1 and row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
            marked += 1
    return table_lines(expand_spans(rows), caption=caption, header_rows=marked or None)


def _columns(cell: _Element) -> int:
    span = cell.find(f"{_WORD}tcPr/{_WORD}gridSpan")
    text = str(span.get(f"{_WORD}val", "1")) if span is not None else "1"
    return int(text) if text.isdigit() else 1


def _unwrapped(parent: _Element, *tags: str) -> Iterator[_Element]:
    """Children with one of the tags, those inside content controls and insertions too."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _unwrapped(child, *tags)


def _style(paragraph: _Element) -> str:
    """`heading…`, `title`, `list` or another paragraph style's name in lower case."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return ""
    named = properties.find(f"{_WORD}pStyle")
    style = str(named.get(f"{_WORD}val", "")).lower() if named is not None else ""
    if style.startswith(("heading", "title")):
        return style
    return "list" if style.startswith("list") or properties.find(f"{_WORD}numPr") is not None else style


def _text(element: _Element) -> str:
    """All text inside, equations too, without deleted text and fallback copies."""
    parts: list[str] = []
    stack: list[Any] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.tag in (f"{_WORD}t", f"{_MATH}t"):
            parts.append(node.text or "")
        elif node.tag in _BREAKS:
            parts.append(_BREAKS[node.tag])
        elif node.tag not in _SKIPPED:
            if node.tag == f"{_WORD}p" and node is not element:
                stack.append("\n")
            stack.extend(reversed(node))
    return clean("".join(parts))

"""OpenDocument: texts (.odt), sheets (.ods) and presentations (.odp), out of their content.xml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.loaders.fields import clean, file_document, iso_date, people, title_like
from preflight_rag.library.loaders.files import open_archive
from preflight_rag.library.loaders.parts import Parts
from preflight_rag.library.loaders.sheets import add_sheet
from preflight_rag.library.loaders.xml import XMLSyntaxError, local, parse_xml
from preflight_rag.state.errors import EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import expand_spans, table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _TEXT, _DRAW = f"{_NAMESPACE}table:1.0}}", f"{_NAMESPACE}text:1.0}}", f"{_NAMESPACE}drawing:1.0}}"
_BREAKS = {f"{_TEXT}tab": " ", f"{_TEXT}line-break": "\n", f"{_TEXT}s": " "}
_SKIPPED = ("annotation", "tracked-changes", "forms", "note-citation", "sequence-decls", "settings")
_MOST_REPEATED = 100
"""Blank rows and columns up to a sheet's end are written as one that is repeated; filled ones rarely are. A guess."""


def load_odf(path: Path, max_bytes: int) -> Iterator[Document]:
    """The document as one; a sheet or slide is a page of it.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: It is no OpenDocument.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    with open_archive(path, max_bytes, "OpenDocument") as archive:
        names = set(archive.namelist())
        if "content.xml" not in names:
            raise UnreadableDocument(f"{path} is no OpenDocument: it has no content.xml")
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise EncryptedDocument(f"{path} is protected by a password", help="Save a copy without one")
        try:
            content = parse_xml(archive.read("content.xml"))
            meta = parse_xml(archive.read("meta.xml")) if "meta.xml" in names else None
        except XMLSyntaxError as error:
            raise UnreadableDocument(f"{path} is no readable OpenDocument: {error}") from error
    body = next((each for each in content.iter() if local(each) == "body"), content)
    parts = Parts()
    kind = path.suffix.lower()
    if kind == ".ods":
        for number, sheet in enumerate(body.iter(f"{_TABLE}table"), 1):
            add_sheet(parts, number, str(sheet.get(f"{_TABLE}name", f"Sheet {number}")), expand_spans(_cells(sheet)))
    elif kind == ".odp":
        for number, page in enumerate(body.iter(f"{_DRAW}page"), 1):
            parts.page(number)
            _add(parts, page)
    else:
        _add(parts, body)
    properties = {local(each): each.text for each in meta.iter() if each.text} if meta is not None else {}
    text = parts.joined()
    first = text.split("\n", 1)[0]
    yield file_document(
        path,
        text,
        title=properties.get("title", "") or (first if title_like(first) or parts.sections else ""),
        date=iso_date((properties.get("date") or properties.get("creation-date") or "")[:10]),
        authors=people(properties.get("initial-creator") or properties.get("creator") or ""),
        pages=tuple(parts.pages),
        metadata={
            **parts.metadata(),
            **{key: properties[key] for key in ("subject", "keyword", "description") if properties.get(key)},
        },
    )


def _add(parts: Parts, element: _Element) -> None:
    """Append the blocks inside an element in reading order."""
    stack: list[tuple[Any, bool]] = [(each, False) for each in reversed(element)]
    while stack:
        node, listed = stack.pop()
        if not isinstance(node.tag, str) or local(node) in _SKIPPED:
            continue
        if node.tag == f"{_TABLE}table":
            for line in table_lines(expand_spans(_cells(node)), header_rows=_header_rows(node)):
                parts.add(line, "row")
        elif node.tag in (f"{_TEXT}h", f"{_TEXT}p"):
            text = "\n".join(" ".join(line.split()) for line in _text(node).split("\n")).strip()
            if not any(character.isalnum() for character in text):
                continue
            if node.tag == f"{_TEXT}h":
                parts.add(text, "heading")
            else:
                parts.add(f"- {text}" if listed else text, "list" if listed else "")
        else:
            stack += [(each, listed or node.tag == f"{_TEXT}list-item") for each in reversed(node)]


def _header_rows(table: _Element) -> int | None:
    marked = table.find(f"{_TABLE}table-header-rows")
    return len(marked.findall(f"{_TABLE}table-row")) if marked is not None else None


def _cells(table: _Element) -> list[list[tuple[str, int, int]]]:
    """Rows of `(text, columns, rows)`, as far as they are filled."""
    rows: list[list[tuple[str, int, int]]] = []
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[tuple[str, int, int]] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell"):
            text = " ".join(_text(cell).split())
            columns = _number(cell, "number-columns-spanned")
            for _ in range(min(_number(cell, "number-columns-repeated"), _MOST_REPEATED)):
                cells.append((text, columns, _number(cell, "number-rows-spanned")))
        while cells and not cells[-1][0]:
            cells.pop()
        rows += [cells] * min(_number(row, "number-rows-repeated"), _MOST_REPEATED if cells else 1)
    return rows


def _number(element: _Element, name: str) -> int:
    text = str(element.get(f"{_TABLE}{name}", "1"))
    return int(text) if text.isdigit() else 1


def _text(element: _Element) -> str:
    """All text inside, without comments; paragraphs inside are lines."""
    pieces: list[str] = []
    stack: list[Any] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif not isinstance(node.tag, str) or local(node) in _SKIPPED:
            continue
        elif node.tag in _BREAKS:
            pieces.append(_BREAKS[node.tag])
        else:
            if node.tag == f"{_TEXT}p" and node is not element:
                stack.append("\n")
            for child in reversed(node):
                stack += [child.tail or "", child]
            stack.append(node.text or "")
    return clean("".join(pieces))

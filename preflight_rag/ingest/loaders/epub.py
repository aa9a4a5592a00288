"""Books (.epub): their chapters in the order of reading; each is an XHTML page."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zipfile import ZipFile

from preflight_rag.ingest.loaders.fields import file_document, iso_date, one_line
from preflight_rag.ingest.loaders.files import open_archive
from preflight_rag.ingest.loaders.html import read_chapter_blocks
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, parse_xml
from preflight_rag.state.errors import EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"


def load_epub(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a book as one document; `metadata["sections"]` lists the headings of its chapters.

    Raises:
        EncryptedDocument: It can be read by one program only (DRM).
        UnreadableDocument: It is no book.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    try:
        with open_archive(path, max_bytes, "book") as archive:
            if "META-INF/rights.xml" in archive.namelist():
                raise EncryptedDocument(f"{path} is protected against copying (DRM)", help="Take a copy without it")
            yield _book(path, archive)
    except (XMLSyntaxError, KeyError) as error:
        raise UnreadableDocument(f"{path} is no readable book: {error}") from error


def _book(path: Path, archive: ZipFile) -> Document:
    """Return the document of an opened book."""
    root = parse_xml(archive.read(_CONTAINER))
    place = next((str(each.get("full-path", "")) for each in root.iter() if local(each) == "rootfile"), "")
    if not place:
        raise UnreadableDocument(f"{path} is no book: its container names no content")
    package = parse_xml(archive.read(place))
    report = ReadReport()
    parts, missing, names = Parts(), 0, set(archive.namelist())
    for name in _chapters(package, posixpath.dirname(place)):
        if name not in names:
            missing += 1
            continue
        report.count("chapters")
        for style, block in read_chapter_blocks(archive.read(name), path, report):
            parts.add(block, style)
    if missing:
        report.leave_out(f"chapters that the file lacks: {missing}")
        report.less.append("chapters that the book names are not in it")
    properties = _properties(package)
    return file_document(
        path,
        parts.joined(),
        title=next(iter(properties.get("title", [])), ""),
        date=iso_date(next(iter(properties.get("date", [])), None)),
        authors=tuple(properties.get("creator", [])),
        metadata={
            **parts.metadata(),
            **{key: properties[key][0] for key in ("publisher", "language", "subject") if key in properties},
        },
        report=report,
    )


def _chapters(package: _Element, folder: str) -> Iterator[str]:
    """Yield the names of the pages in reading order."""
    items = {
        str(each.get("id")): str(each.get("href", ""))
        for each in package.iter()
        if local(each) == "item" and "html" in str(each.get("media-type", ""))
    }
    seen: set[str] = set()
    for each in package.iter():
        if local(each) == "itemref" and (href := items.get(str(each.get("idref")))):
            name = posixpath.normpath(posixpath.join(folder, unquote(href.split("#")[0])))
            if name not in seen:  # a book of a few kB could name a chapter a million times
                seen.add(name)
                yield name


def _properties(package: _Element) -> dict[str, list[str]]:
    """Return the book's Dublin Core metadata by field name."""
    found: dict[str, list[str]] = {}
    for each in package.iter():
        if "purl.org/dc/elements" in str(each.tag) and each.text and each.text.strip():
            found.setdefault(local(each), []).append(one_line(each.text))
    return found

"""Read books (.epub): their chapters, each an XHTML page, in reading order."""

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

_CONTAINER_FILE = "META-INF/container.xml"


def load_epub(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a book as one document; `metadata["sections"]` lists the headings of its chapters.

    Raises:
        EncryptedDocument: The book is protected against copying (DRM).
        UnreadableDocument: The file is no book.
        DocumentTooLarge: The file unpacks to more than `max_bytes`.
    """
    try:
        with open_archive(path, max_bytes, "book") as archive:
            if "META-INF/rights.xml" in archive.namelist():
                raise EncryptedDocument(f"{path} is protected against copying (DRM)", help="Take a copy without it")
            yield _read_book(path, archive)
    except (XMLSyntaxError, KeyError) as error:
        raise UnreadableDocument(f"{path} is no readable book: {error}") from error


def _read_book(path: Path, archive: ZipFile) -> Document:
    """Return the document of a book whose archive is open; chapters that it lacks are reported.

    Raises:
        UnreadableDocument: The book does not name its content.
    """
    root = parse_xml(archive.read(_CONTAINER_FILE))
    package_name = next((str(file.get("full-path", "")) for file in root.iter() if local(file) == "rootfile"), "")
    if not package_name:
        raise UnreadableDocument(f"{path} is no book: its container names no content")
    package = parse_xml(archive.read(package_name))
    report = ReadReport()
    parts, missing_chapters, names = Parts(), 0, set(archive.namelist())
    for name in _chapter_names(package, posixpath.dirname(package_name)):
        if name not in names:
            missing_chapters += 1
            continue
        report.count("chapters")
        for style, block in read_chapter_blocks(archive.read(name), path, report):
            parts.add(block, style)
    if missing_chapters:
        report.leave_out(f"chapters that the file lacks: {missing_chapters}")
        report.less.append("chapters that the book names are not in it")
    properties = _dublin_core_properties(package)
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


def _chapter_names(package: _Element, folder: str) -> Iterator[str]:
    """Yield the names of a book's pages in reading order, each once; links are relative to the package's folder."""
    pages: dict[str, str] = {}
    for item in package.iter():
        if local(item) == "item" and "html" in str(item.get("media-type", "")):
            pages[str(item.get("id"))] = str(item.get("href", ""))
    seen: set[str] = set()
    for reference in package.iter():
        if local(reference) == "itemref" and (href := pages.get(str(reference.get("idref")))):
            name = posixpath.normpath(posixpath.join(folder, unquote(href.split("#")[0])))
            if name not in seen:  # A hostile book of a few kB could name a chapter a million times.
                seen.add(name)
                yield name


def _dublin_core_properties(package: _Element) -> dict[str, list[str]]:
    """Return the values of a book's Dublin Core metadata ("title", "creator") by field name."""
    properties: dict[str, list[str]] = {}
    for element in package.iter():
        if "purl.org/dc/elements" in str(element.tag) and element.text and element.text.strip():
            properties.setdefault(local(element), []).append(one_line(element.text))
    return properties

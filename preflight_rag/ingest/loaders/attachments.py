"""Files inside of files: what is attached to a mail or to a PDF, as documents of their own under its name."""

from __future__ import annotations

import lzma
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from preflight_rag.ingest.loaders import load_bytes
from preflight_rag.ingest.loaders.fields import absolute
from preflight_rag.ingest.loaders.files import SUFFIXES, count_embedded, suffix_of
from preflight_rag.ingest.loaders.ole_objects import OLE, embedded_file
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from preflight_rag.ingest.loaders.read_report import ReadReport

MOST_ATTACHMENTS = 200
"""Of one file; a guess at what no person sends."""


def attached_documents(
    path: Path, place: Path, data: bytes, about: str, max_bytes: int, *, is_text: bool = False
) -> list[Document]:
    """Return the documents of an attachment, which name the document to which it was attached.

    Args:
        path: The file on disk.
        place: The attachment's name below the id of the document to which it is attached.
        data: The attachment's content.
        about: The title of the document to which it is attached.
        max_bytes: Largest size, after decompression, that is read.
        is_text: Whether files with an extension that no loader reads are read as plain text: a calendar, a
        script.

    Raises:
        DocumentError: It cannot be read, or contains no text.
    """
    file = place if not is_text or suffix_of(place) in SUFFIXES else place.with_name(f"{place.name}.txt")
    found = load_bytes(file, data, max_bytes=max_bytes)
    documents = [each for each in found if isinstance(each, Document)]
    if not documents:
        raise next((each for each in found if isinstance(each, DocumentError)), EmptyDocument(f"{place} holds no text"))
    named = []
    for each in documents:
        title = each.title if each.title != file.stem else f"{place.name}, attached to “{about}”"
        own = str(place) + each.id.removeprefix(str(file)) if each.id.startswith(str(file)) else each.id
        id = own if own.startswith(str(place)) else f"{place}#{own}"
        metadata = {**each.metadata, "attached_to": about, "path": absolute(path)}
        named.append(each.model_copy(update={"id": id, "title": title, "source": id, "metadata": metadata}))
    return named


def embedded_documents(
    path: Path, archive: ZipFile, folder: str, about: str, report: ReadReport, max_bytes: int
) -> list[Document]:
    """Return the documents of the files that an office document embeds; those of charts are read with their charts.

    Args:
        path: The office document.
        archive: Its archive.
        folder: Where its parts are: "word", "ppt" or "xl".
        about: Its title; "" for its name.
        report: What is read and left out is noted there.
        max_bytes: Largest size, after decompression, that is read.
    """
    names = archive.namelist()
    charts = b""
    for name in [each for each in names if each.startswith(f"{folder}/charts/_rels/")]:
        with suppress(DocumentError):
            charts += _part(archive, name)
    documents: list[Document] = []
    taken: set[str] = set()
    for name in sorted(names):
        file = PurePosixPath(name).name
        if not name.startswith(f"{folder}/embeddings/") or f"embeddings/{file}".encode() in charts:
            continue
        if count_embedded(Path(absolute(path)) / file) > MOST_ATTACHMENTS:
            report.leave_out("more embedded files", f"of one document {MOST_ATTACHMENTS} are read, at all depths")
            break
        try:
            data = _part(archive, name)
            if data.startswith(OLE) and suffix_of(Path(file)) not in SUFFIXES:
                file, data = embedded_file(file, data)
        except DocumentError as error:
            report.leave_out(f"embedded file {file}", error.message.removeprefix("is "))
            continue
        documents += read_embedded(path, own_name(file, taken), data, about or path.name, report, max_bytes)
    return documents


def read_embedded(path: Path, name: str, data: bytes, about: str, report: ReadReport, max_bytes: int) -> list[Document]:
    """Return the documents of one file inside of an office document; what cannot be read is noted in the report."""
    place = Path(absolute(path)) / name
    try:
        found = attached_documents(path, place, data, about, max_bytes)
    except DocumentError as error:
        report.leave_out(f"embedded file {place.name}", why_left_out(place, error))
        return []
    report.count("attachments")
    return found


def _part(archive: ZipFile, name: str) -> bytes:
    """Return a file of an archive.

    Raises:
        UnreadableDocument: It is damaged, encrypted, or packed in a way that Python does not know.
    """
    try:
        return archive.read(name)
    except (BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError) as error:
        raise UnreadableDocument(f"cannot be unpacked: {error}") from error


def why_left_out(place: Path, error: DocumentError) -> str:
    """Return why an attachment could not be read, without its path, which the report states before."""
    return error.message.removeprefix(str(place)).lstrip(" :").removeprefix("is ")


def own_name(name: str, taken: set[str]) -> str:
    """Return a unique name for an attachment within its file, without folders."""
    plain = PurePosixPath(name.replace("\\", "/")).name.strip() or "attachment"
    own, number = plain, 2
    while own.casefold() in taken:
        own, number = f"{PurePosixPath(plain).stem} ({number}){PurePosixPath(plain).suffix}", number + 1
    taken.add(own.casefold())
    return own

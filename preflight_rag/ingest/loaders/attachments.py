"""Read files inside of files, such as attachments of a mail or a PDF, as documents of their own under its name."""

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
"""Maximum number of attachments that are read of one file; a guess at what no person sends."""


def attached_documents(
    path: Path, place: Path, data: bytes, about: str, max_bytes: int, *, is_text: bool = False
) -> list[Document]:
    """Return the documents of an attachment; their titles and metadata name the document that it was attached to.

    Args:
        path: The file on disk.
        place: The attachment's name below the id of the document to which it is attached.
        data: The attachment's content.
        about: The title of the document to which it is attached.
        max_bytes: Largest size, after decompression, that is read.
        is_text: Whether a file with an extension that no loader reads, such as a script's, is read as plain text.

    Raises:
        DocumentError: The attachment cannot be read, or contains no text.
    """
    file = place if not is_text or suffix_of(place) in SUFFIXES else place.with_name(f"{place.name}.txt")
    results = load_bytes(file, data, max_bytes=max_bytes)
    documents = [result for result in results if isinstance(result, Document)]
    if not documents:
        errors = [result for result in results if isinstance(result, DocumentError)]
        raise errors[0] if errors else EmptyDocument(f"{place} holds no text")
    attached = []
    for document in documents:
        title = document.title if document.title != file.stem else f"{place.name}, attached to “{about}”"
        id = document.id
        if id.startswith(str(file)):  # The id must not have the extension ".txt" that was added above.
            id = str(place) + id.removeprefix(str(file))
        if not id.startswith(str(place)):  # The id of a record, such as "PMC123".
            id = f"{place}#{id}"
        metadata = {**document.metadata, "attached_to": about, "path": absolute(path)}
        attached.append(document.model_copy(update={"id": id, "title": title, "source": id, "metadata": metadata}))
    return attached


def embedded_documents(
    path: Path, archive: ZipFile, folder: str, about: str, report: ReadReport, max_bytes: int
) -> list[Document]:
    """Return the documents of the files that an office document embeds, without those that belong to charts.

    Args:
        path: The office document.
        archive: Its archive.
        folder: The folder of its parts in the archive: "word", "ppt" or "xl".
        about: Its title; "" for its file name.
        report: What is read and left out is recorded there.
        max_bytes: Largest size, after decompression, that is read.
    """
    names = archive.namelist()
    chart_relations = b""
    for name in names:
        if name.startswith(f"{folder}/charts/_rels/"):
            with suppress(DocumentError):
                chart_relations += _unpack_part(archive, name)
    documents: list[Document] = []
    used_names: set[str] = set()
    for name in sorted(names):
        file = PurePosixPath(name).name
        if not name.startswith(f"{folder}/embeddings/") or f"embeddings/{file}".encode() in chart_relations:
            continue
        if count_embedded(Path(absolute(path)) / file) > MOST_ATTACHMENTS:
            report.leave_out("more embedded files", f"of one document {MOST_ATTACHMENTS} are read, at all depths")
            break
        try:
            data = _unpack_part(archive, name)
            if data.startswith(OLE) and suffix_of(Path(file)) not in SUFFIXES:
                file, data = embedded_file(file, data)
        except DocumentError as error:
            report.leave_out(f"embedded file {file}", error.message.removeprefix("is "))
            continue
        documents += read_embedded(path, own_name(file, used_names), data, about or path.name, report, max_bytes)
    return documents


def read_embedded(path: Path, name: str, data: bytes, about: str, report: ReadReport, max_bytes: int) -> list[Document]:
    """Return the documents of a file, `name`, inside of the office document `path`, whose title is `about`.

    A file that cannot be read is recorded in the report and gives no documents.
    """
    place = Path(absolute(path)) / name
    try:
        documents = attached_documents(path, place, data, about, max_bytes)
    except DocumentError as error:
        report.leave_out(f"embedded file {place.name}", why_left_out(place, error))
        return []
    report.count("attachments")
    return documents


def _unpack_part(archive: ZipFile, name: str) -> bytes:
    """Return the content of a file in an archive.

    Raises:
        UnreadableDocument: The file is damaged, encrypted, or packed in a way that Python does not know.
    """
    try:
        return archive.read(name)
    except (BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError) as error:
        raise UnreadableDocument(f"cannot be unpacked: {error}") from error


def why_left_out(place: Path, error: DocumentError) -> str:
    """Return an error's message about an attachment without the path at its beginning, which a report names itself."""
    return error.message.removeprefix(str(place)).lstrip(" :").removeprefix("is ")


def own_name(name: str, used_names: set[str]) -> str:
    """Return a name for an attachment without folders, made unique ("plan (2).pdf"), and add it to the used names."""
    file = PurePosixPath(PurePosixPath(name.replace("\\", "/")).name.strip() or "attachment")
    unique_name, number = str(file), 2
    while unique_name.casefold() in used_names:
        unique_name, number = f"{file.stem} ({number}){file.suffix}", number + 1
    used_names.add(unique_name.casefold())
    return unique_name

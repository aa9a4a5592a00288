"""The library over HTTP: its documents, uploads, passages, search and statistics.

Uploads are written to disk under names that are safe, taken into the library, and removed again where that fails. A
file is kept as `LIBRARY/uploads/HASH/NAME`, where the hash is its content's: nobody's file replaces another's, and a
file that is sent twice is kept once.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from preflight_rag.library.collection import Collection
from preflight_rag.library.ingest import IngestEvent
from preflight_rag.library.library import own_library
from preflight_rag.library.loaders import SUFFIXES
from preflight_rag.library.loaders.files import suffix_of
from preflight_rag.library.names import DocumentNames
from preflight_rag.library.storage.catalogue import UPLOADS, CatalogueEntry
from preflight_rag.server.errors import Refused, describe, error_response
from preflight_rag.server.service import Service, ServiceOf, UserOf, WriterOf
from preflight_rag.server.turns import STILL_HERE, STREAM_HEADERS, checked_settings, event
from preflight_rag.state.errors import PreflightError

router = APIRouter(prefix="/api", tags=["library"])
AS_TEXT = (".htm", ".html", ".xhtml", ".md", ".markdown", ".txt", ".text")
SANDBOX = "default-src 'none'; sandbox"
INLINE_PDF = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
INCOMING = ".incoming"
NAME_BYTES = 120  # file systems allow 255; a path needs room for the folders above
MOST_SOURCES = 500  # tags, and folders, that are listed: a guess at what a person looks through
MOST_FILES = 1000  # of one request: a guess
# Of what is no file, which nobody reads, but Starlette's parser keeps in memory: guesses, far above what a page sends.
MOST_FIELDS, FIELD_BYTES = 100, 10_000
LEFT_SECONDS = 24 * 3600.0  # after which a file that was not received to its end is removed: longer than any upload
# Names that Windows keeps for devices: con, LPT1.txt; not console.txt.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[<>:"|?*]')


class Step(TypedDict):
    """How far the ingest of one file is."""

    name: str
    stage: str
    done: int
    total: int | None


class DocumentRow(BaseModel):
    """One document; `file` says whether its original can be opened, `gone` whether it was there and is not any more.

    `url` is where it can be read in the open web.
    """

    id: str
    title: str
    name: str
    source: str
    date: str | None
    passages: int
    tokens: int
    kind: str
    file: bool
    gone: bool
    url: str | None
    added: str
    tags: tuple[str, ...]


class DocumentPage(BaseModel):
    """A stretch of the list; `total` counts all that fit the query."""

    documents: list[DocumentRow]
    total: int | None


class SearchBody(BaseModel):
    """What to search for, and settings of this search."""

    model_config = ConfigDict(extra="forbid")

    query: str
    k: int | None = None
    where: list[str] | None = None
    since: str | None = None
    pubmed: bool | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


@router.get("/documents")
def documents(
    service: ServiceOf,
    query: str = "",
    id: str | None = None,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> DocumentPage:
    """Documents whose title, id or source holds the query, the latest first; or the one of an id."""
    if id is not None:
        entry = service.catalogue.document(service.names.document_id(id))
        found = [entry] if entry else []
        return DocumentPage(documents=[_row(each, service.names) for each in found], total=len(found))
    found, total = service.catalogue.documents(query, offset=offset, limit=limit)
    return DocumentPage(documents=[_row(each, service.names) for each in found], total=total)


@router.post("/documents", response_model=None)
async def upload(request: Request, service: ServiceOf, _user: WriterOf) -> Response:
    """Upload files (form field `files`, several): events `progress` and `report`, or the report as JSON."""
    folder = service.preflight.folder.absolute() / UPLOADS
    files = await receive(folder, request)
    if not files:
        raise Refused(400, "the form holds no file", help="Send files in the field `files`.")
    if "text/event-stream" in request.headers.get("accept", ""):
        steps = _upload_events(service, folder, files)
        return StreamingResponse(steps, media_type="text/event-stream", headers=STREAM_HEADERS)
    try:
        report = await _ingest(service, folder, files, asyncio.Queue())
    except PreflightError as error:
        return error_response(error, request.url.path)
    return JSONResponse(report.to_json())


class TagsBody(BaseModel):
    """A document's tags, in the place of those that it has."""

    model_config = ConfigDict(extra="forbid")

    tags: list[str]


class SourceCount(BaseModel):
    """A tag or a folder, as the filter fields `tags` and `folder` take it, and how many documents it has."""

    name: str
    documents: int


class Sources(BaseModel):
    """What a question can be narrowed to, besides single documents."""

    documents: int
    tags: list[SourceCount]
    folders: list[SourceCount]


@router.get("/sources")
def sources(service: ServiceOf) -> Sources:
    """Tags and folders of the documents, for conditions such as `tags in (a, b)` and `folder = papers/2021`."""

    def counted(found: dict[str, int]) -> list[SourceCount]:
        return [SourceCount(name=name, documents=count) for name, count in found.items()][:MOST_SOURCES]

    catalogue = service.catalogue
    documents = catalogue.counts()["documents"]
    return Sources(documents=documents, tags=counted(catalogue.tags()), folders=counted(catalogue.folders()))


@router.patch("/documents")
async def tag(id: str, body: TagsBody, service: ServiceOf, _user: WriterOf) -> DocumentRow:
    """Give a document tags in the place of those that it has; filters find it by them."""
    name = await asyncio.to_thread(service.names.document_id, id)
    async with service.changing:
        changed = await asyncio.to_thread(own_library(service.preflight.library).set_tags, name, body.tags)
    entry = await asyncio.to_thread(service.catalogue.document, name)
    if not changed or entry is None:
        raise Refused(404, f"there is no document {id[:100]!r}", help="GET /api/documents lists them.")
    return _row(entry, service.names)


@router.delete("/documents", status_code=204)
async def delete_document(id: str, service: ServiceOf, _user: WriterOf) -> None:
    """Delete a document with its passages and, if it was uploaded, its file."""
    entry = await asyncio.to_thread(lambda: service.catalogue.document(service.names.document_id(id)))
    async with service.changing:
        if entry is None or not await asyncio.to_thread(service.preflight.library.delete_document, entry.id):
            raise Refused(404, f"there is no document {id[:100]!r}", help="GET /api/documents lists them.")
        if entry.origin and not await asyncio.to_thread(service.catalogue.origin_is_used, entry.origin):
            forget(service.preflight.folder.absolute() / UPLOADS, Path(entry.origin))


@router.get("/documents/file", response_class=FileResponse)
def original(id: str, service: ServiceOf) -> FileResponse:
    """The file that a document was read from; HTML comes as plain text, so that nothing in it runs."""
    entry = service.catalogue.document(service.names.document_id(id))
    if entry is None or entry.file is None:
        message, help = _no_file(id, entry)
        raise Refused(404, message, help=help)
    suffix = entry.file.suffix.lower()
    inline = suffix == ".pdf" or suffix in AS_TEXT
    kind = "application/pdf" if suffix == ".pdf" else "text/plain; charset=utf-8"
    return FileResponse(
        entry.file,
        filename=entry.file.name,
        media_type=kind if inline else "application/octet-stream",
        content_disposition_type="inline" if inline else "attachment",
        headers={"Content-Security-Policy": INLINE_PDF if suffix == ".pdf" else SANDBOX, "Cache-Control": "no-store"},
    )


def _no_file(id: str, entry: CatalogueEntry | None) -> tuple[str, str]:
    """Why a document's original cannot be opened, and what helps."""
    if entry is None:
        return f"there is no document {id[:100]!r}", "It was deleted, or the address is wrong."
    if entry.gone:
        return (
            f"the file {Path(entry.origin).name!r} is no longer where it was read from",
            "Put it back, or add it anew.",
        )
    return f"there is no file of {id[:100]!r}", "Its text came from a record, or from a link that leads elsewhere."


@router.get("/passages/{passage_id:path}")
def passage(passage_id: str, service: ServiceOf) -> dict[str, Any]:
    """A passage, the text before and after it, and its document (null where that was deleted since)."""
    found = service.catalogue.passage(passage_id)
    if found is None:
        help = "Its document was changed or deleted; ask again."
        raise Refused(404, f"there is no passage {passage_id[:100]!r}", help=help)
    before, after = service.catalogue.around(found)
    entry = service.catalogue.document(found.document_id)
    document = _row(entry, service.names).model_dump(mode="json") if entry else None
    file = document is not None and document["file"]
    shown = service.names.shown(found.model_dump(mode="json"))
    return {"passage": shown, "before": before, "after": after, "file": file, "document": document}


@router.post("/search")
def search(body: SearchBody, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """Retrieval only: the rankings, what preflight would do, and the passages that would go on."""
    given = {"where": body.where, "since": body.since, "pubmed": body.pubmed, **body.settings}
    found = service.preflight.search(body.query, body.k, **checked_settings(given, service))
    ids = {hit.passage_id for hit in (*found.selected, *found.fused, *found.dense, *found.lexical)}
    passages = {each.id: each for each in service.preflight.library.passages(sorted(ids))}
    names = {"title", "text", "document_id", "source", "date", "page"}
    shown = {id: each.model_dump(include=names) for id, each in passages.items()}
    return cast("dict[str, Any]", service.names.shown({**found.model_dump(mode="json"), "passages": shown}))


@router.get("/stats")
def stats(service: ServiceOf) -> dict[str, Any]:
    """What the library holds and what it was made with."""
    numbers = service.preflight.library.stats()
    return {**numbers, "path": service.preflight.folder.absolute().name, "kinds": service.catalogue.kinds()}


async def _upload_events(service: Service, folder: Path, files: list[Received]) -> AsyncIterator[bytes]:
    """Progress of an ingest, at last its report or its error; it goes on when nobody listens any more."""
    steps: asyncio.Queue[Step | None] = asyncio.Queue()
    for received in files:
        yield event("progress", {"name": received.name, "stage": "received", "done": 1, "total": 1})
    work = asyncio.create_task(_ingest(service, folder, files, steps))
    service.working.add(work)
    work.add_done_callback(service.forget)
    while True:
        try:
            async with asyncio.timeout(service.options.heartbeat_seconds):
                step = await steps.get()
        except TimeoutError:
            yield STILL_HERE
            continue
        if step is None:
            break
        yield event("progress", step)
    await asyncio.wait([work])
    failure = work.exception()
    yield (
        event("error", describe(failure))
        if isinstance(failure, Exception)
        else event("report", work.result().to_json())
    )


async def _ingest(
    service: Service, folder: Path, files: list[Received], steps: asyncio.Queue[Step | None]
) -> UploadReport:
    """Take files into the library in a worker thread, one request at a time; None says that it has ended."""
    loop = asyncio.get_running_loop()

    def progress(name: str, step: IngestEvent) -> None:
        if service.closing:
            raise Refused(503, "the server is stopping", help="Send the files again.")
        shown = Step(name=name, stage=step.stage, done=step.done, total=step.total)
        loop.call_soon_threadsafe(steps.put_nowait, shown)

    try:
        async with service.changing:
            library = service.preflight.library
            return await asyncio.to_thread(take_in, library, folder, files, progress)
    finally:
        loop.call_soon(steps.put_nowait, None)


def _row(entry: CatalogueEntry, names: DocumentNames) -> DocumentRow:
    values = {name: value for name, value in asdict(entry).items() if name in DocumentRow.model_fields}
    shown = {"id": names.name(entry.id), "source": names.source(entry.source)}
    name = Path(entry.origin).name if entry.origin else shown["source"]
    return DocumentRow(**{**values, **shown, "file": entry.file is not None, "name": name})


@dataclass
class Received:
    """One file of a request, at `path` once it is whole; `problem` says why it is not taken."""

    name: str
    path: Path | None = None
    hash: str = ""
    problem: str = ""


@dataclass
class UploadReport:
    """What became of the files of a request; `failed` holds `(name, reason)`."""

    added: int = 0
    updated: int = 0
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        failed = [{"name": name, "reason": reason} for name, reason in self.failed]
        return {"added": self.added, "updated": self.updated, "skipped": self.skipped, "failed": failed}


def safe_name(given: str) -> str:
    """A file name without folders, control characters and what some systems reserve; its ending stays."""
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", given)[-1])
    name = "".join(each for each in name if unicodedata.category(each)[0] != "C")
    name = _FORBIDDEN.sub("_", name).strip().strip(".").strip() or "document"
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    suffix = suffix_of(Path(name))
    suffix = name[len(name) - len(suffix) :] if len(suffix) <= 16 else ""
    stem = name.removesuffix(suffix).encode()[: NAME_BYTES - len(suffix.encode())].decode("utf-8", "ignore")
    return stem.rstrip() + suffix


class _Form(MultiPartParser):
    """Starlette's parser, which by itself passes over a form that is cut off."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.headers, self._body(request), max_files=MOST_FILES, max_fields=MOST_FIELDS)
        self.max_part_size = FIELD_BYTES
        self._is_whole = False

    def on_end(self) -> None:
        """The form has been received to its end."""
        self._is_whole = True

    async def _body(self, request: Request) -> AsyncGenerator[bytes, None]:
        async for piece in request.stream():
            yield piece
        if not self._is_whole:
            raise Refused(400, "the form ends too early", help="Send it again.")


async def receive(folder: Path, request: Request) -> list[Received]:
    """Write the files of a form below a folder, each under its hash; of a request that ends in an error none stays.

    Args:
        folder: The library's `uploads`.
        request: What sends the form.

    Raises:
        Refused: It is no form, it ends too early, or it holds too many files.
    """
    if not parse_options_header(request.headers.get("content-type", ""))[1].get(b"boundary"):
        raise Refused(400, "the form names no boundary", help="Send multipart/form-data.")
    try:
        form = await _Form(request).parse()
    except (MultiPartException, MultipartParseError) as error:  # Older Starlettes let its parser's own through.
        if "Too many files" in str(getattr(error, "message", "")):
            help = "Send them in several requests."
            raise Refused(400, f"more than {MOST_FILES} files at once", help=help) from error
        raise Refused(400, "the form cannot be read", help="Send multipart/form-data.") from error
    incoming = folder / INCOMING
    incoming.mkdir(parents=True, exist_ok=True)
    try:
        sent = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        with tempfile.TemporaryDirectory(dir=incoming, ignore_cleanup_errors=True) as own:
            files = await asyncio.to_thread(_written, Path(own), sent)
            for received in files:
                if received.path is not None:
                    place = folder / received.hash
                    place.mkdir(exist_ok=True)
                    received.path = received.path.replace(place / received.name)
        return files
    finally:
        await form.close()


def _written(folder: Path, sent: Sequence[UploadFile]) -> list[Received]:
    """The files of a form, those that can be taken in copied into a folder under their numbers."""
    files = [Received(safe_name(each.filename or "")) for each in sent]
    for place, (received, upload) in enumerate(zip(files, sent, strict=True)):
        suffix = suffix_of(Path(received.name))
        if suffix not in SUFFIXES:
            kind = f"files that end in {suffix}" if suffix else "files without an ending"
            received.problem = f"{kind} cannot be read; use one of: {' '.join(SUFFIXES)}"
        elif not upload.size:
            received.problem = "the file is empty"
        else:
            received.path = folder / str(place)
            with received.path.open("w+b") as file:
                shutil.copyfileobj(upload.file, file)
                file.seek(0)
                received.hash = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return files


def take_in(
    library: Collection, folder: Path, files: list[Received], progress: Callable[[str, IngestEvent], None]
) -> UploadReport:
    """Ingest received files and report by their names; files of which no document came are removed.

    Args:
        library: Where they go.
        folder: The library's `uploads`.
        files: What `receive` gave.
        progress: Called with a name and the step.
    """
    report = UploadReport(failed=[(each.name, each.problem) for each in files if each.problem])
    names = {str(each.path): each.name for each in files if each.path}

    def step(event: IngestEvent) -> None:
        progress(names.get(event.name, event.name), event)

    try:
        if names:
            done = own_library(library).ingest([Path(path) for path in names], progress=step)
            report.added, report.updated, report.skipped = done.added, done.updated, done.skipped
            report.failed += [_named(source, reason, names) for source, reason in done.failed]
    finally:
        for path in names:
            if not library.catalogue.origin_is_used(path):
                forget(folder, Path(path))
    return report


def remove_incoming(folder: Path) -> None:
    """Remove what a killed server had not received to its end."""
    for path in (folder / INCOMING).glob("*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def forget(folder: Path, path: Path | None) -> None:
    """Remove an uploaded file and its folder; files from elsewhere are never touched."""
    if path is None or not path.is_relative_to(folder) or ".." in path.parts:
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
        if path.parent != folder and not any(path.parent.iterdir()):
            shutil.rmtree(path.parent)


def _named(source: str, reason: str, names: dict[str, str]) -> tuple[str, str]:
    """A failure with the file's own name in place of the path at which the server keeps it."""
    for path, name in names.items():
        source, reason = source.replace(path, name), reason.replace(path, name)
    return source, reason

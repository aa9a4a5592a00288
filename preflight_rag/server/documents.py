"""Routes of the library: its documents, uploads, passages, search, statistics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from preflight_rag.library.storage.catalogue import CatalogueEntry
from preflight_rag.library.storage.ingest import IngestEvent
from preflight_rag.server.asked import checked_settings
from preflight_rag.server.errors import Refused, response_of, told
from preflight_rag.server.service import Service, ServiceOf, UserOf, WriterOf
from preflight_rag.server.sse import HEADERS, event
from preflight_rag.server.uploads import FOLDER, Received, UploadReport, forget, receive, take_in
from preflight_rag.state.errors import PreflightError

router = APIRouter(prefix="/api", tags=["library"])
AS_TEXT = (".htm", ".html", ".xhtml", ".md", ".markdown", ".txt", ".text")
SANDBOX = "default-src 'none'; sandbox"
INLINE_PDF = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"


class DocumentRow(BaseModel):
    """One document; `file` says whether its original can be opened."""

    id: str
    title: str
    name: str
    source: str
    date: str | None
    passages: int
    tokens: int
    kind: str
    file: bool
    added: str


class DocumentPage(BaseModel):
    """A stretch of the list; `total` counts all that fit the query."""

    documents: list[DocumentRow]
    total: int


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
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> DocumentPage:
    """Documents whose title, id or source holds the query, the latest first."""
    found, total = service.catalogue.documents(query, offset=offset, limit=limit)
    return DocumentPage(documents=[_row(each) for each in found], total=total)


@router.post("/documents", response_model=None)
async def upload(request: Request, service: ServiceOf, _user: WriterOf) -> Response:
    """Upload files (form field `files`, several): events `progress` and `report`, or the report as JSON."""
    folder = service.preflight.folder.absolute() / FOLDER
    files = await receive(folder, request.headers.get("content-type", ""), request.stream())
    if not files:
        raise Refused(400, "the form holds no file", help="Send files in the field `files`.")
    if "text/event-stream" in request.headers.get("accept", ""):
        steps = _upload_events(service, folder, files)
        return StreamingResponse(steps, media_type="text/event-stream", headers=HEADERS)
    try:
        report = await _ingest(service, folder, files, asyncio.Queue())
    except PreflightError as error:
        return response_of(error, request.url.path)
    return JSONResponse(report.to_json())


@router.delete("/documents", status_code=204)
async def delete_document(id: str, service: ServiceOf, _user: WriterOf) -> None:
    """Delete a document with its passages and, if it was uploaded, its file."""
    entry = await asyncio.to_thread(service.catalogue.document, id)
    async with service.changing:
        if entry is None or not await asyncio.to_thread(service.preflight.library.delete_document, id):
            raise Refused(404, f"there is no document {id[:100]!r}", help="GET /api/documents lists them.")
        if entry.origin and not await asyncio.to_thread(service.catalogue.origin_is_used, entry.origin):
            forget(service.preflight.folder.absolute() / FOLDER, Path(entry.origin))


@router.get("/documents/file", response_class=FileResponse)
def original(id: str, service: ServiceOf) -> FileResponse:
    """The file that a document was read from; HTML comes as plain text, so that nothing in it runs."""
    entry = service.catalogue.document(id)
    if entry is None or entry.file is None:
        raise Refused(404, f"there is no file of {id[:100]!r}", help="GET /api/documents says which have one.")
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


@router.get("/passages/{passage_id:path}")
def passage(passage_id: str, service: ServiceOf) -> dict[str, Any]:
    """A passage, the text before and after it, and whether its document's file can be opened."""
    found = service.catalogue.passage(passage_id)
    if found is None:
        help = "Its document was changed or deleted; ask again."
        raise Refused(404, f"there is no passage {passage_id[:100]!r}", help=help)
    before, after = service.catalogue.around(found)
    entry = service.catalogue.document(found.document_id)
    file = entry is not None and entry.file is not None
    return {"passage": found.model_dump(mode="json"), "before": before, "after": after, "file": file}


@router.post("/search")
def search(body: SearchBody, service: ServiceOf, user: UserOf) -> dict[str, Any]:
    """Retrieval only: the rankings, what preflight would do, and the passages that would go on."""
    given = {"where": body.where, "since": body.since, "pubmed": body.pubmed, **body.settings}
    found = service.preflight.search(body.query, body.k, **checked_settings(given))
    ids = {hit.passage_id for hit in (*found.selected, *found.fused, *found.dense, *found.lexical)}
    passages = {each.id: each for each in service.preflight.library.passages(sorted(ids))}
    names = ("title", "text", "document_id", "source", "date", "page")
    told_of = {id: {name: getattr(each, name) for name in names} for id, each in passages.items()}
    return {**found.model_dump(mode="json"), "passages": told_of}


@router.get("/stats")
def stats(service: ServiceOf) -> dict[str, Any]:
    """What the library holds and what it was made with."""
    numbers = service.preflight.library.stats()
    return {**numbers, "path": service.preflight.folder.absolute().name, "kinds": service.catalogue.kinds()}


async def _upload_events(service: Service, folder: Path, files: list[Received]) -> AsyncIterator[bytes]:
    """Progress of an ingest, at last its report or its error; it goes on when nobody listens any more."""
    steps: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    for received in files:
        yield event("progress", {"name": received.name, "stage": "received", "done": 1, "total": 1})
    work = asyncio.create_task(_ingest(service, folder, files, steps))
    service.working.add(work)
    work.add_done_callback(service.left)
    while True:
        try:
            async with asyncio.timeout(service.options.heartbeat_seconds):
                step = await steps.get()
        except TimeoutError:
            yield b": still here\n\n"
            continue
        if step is None:
            break
        yield event("progress", step)
    failure = (await asyncio.wait([work])) and work.exception()
    yield event("error", told(failure)) if isinstance(failure, Exception) else event("report", work.result().to_json())


async def _ingest(
    service: Service, folder: Path, files: list[Received], steps: asyncio.Queue[dict[str, Any] | None]
) -> UploadReport:
    """Take files into the library in a worker thread, one request at a time; the end is told by None."""
    loop = asyncio.get_running_loop()

    def progress(name: str, step: IngestEvent) -> None:
        if service.closing:
            raise Refused(503, "the server is stopping", help="Send the files again.")
        told_of = {"name": name, "stage": step.stage, "done": step.done, "total": step.total}
        loop.call_soon_threadsafe(steps.put_nowait, told_of)

    try:
        async with service.changing:
            library = service.preflight.library
            return await asyncio.to_thread(take_in, library, folder, files, progress)
    finally:
        loop.call_soon(steps.put_nowait, None)


def _row(entry: CatalogueEntry) -> DocumentRow:
    values = {name: value for name, value in asdict(entry).items() if name in DocumentRow.model_fields}
    name = Path(entry.origin).name if entry.origin else entry.source
    return DocumentRow(**{**values, "file": entry.file is not None, "name": name})

"""The library over HTTP: its documents, tags, passages, search and statistics; uploads are in `uploads.py`."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from preflight_rag.ingest.loaders.read_report import counted
from preflight_rag.library.collection import own_collection
from preflight_rag.library.names import DocumentNames
from preflight_rag.library.search.hybrid import again_where_replaced
from preflight_rag.library.storage.catalogue import CatalogueEntry
from preflight_rag.server.dependencies import ServiceOf, UserOf, WriterOf
from preflight_rag.server.errors import Refused
from preflight_rag.server.turns import checked_settings
from preflight_rag.state.errors import PreflightError
from preflight_rag.state.values import Passage, SearchResult

router = APIRouter(prefix="/api", tags=["library"])
AS_TEXT = (".htm", ".html", ".xhtml", ".md", ".markdown", ".txt", ".text")
SANDBOX = "default-src 'none'; sandbox"
INLINE_PDF = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": {"*/*": {}}}}
MOST_SOURCES = 500  # most tags, and folders, that are listed: a guess at what a person looks through


class UnreadPart(BaseModel):
    """A part of a document that was not read, and why; `why` is empty if `what` says it."""

    what: str
    why: str


class ReadRow(BaseModel):
    """What the loaders read of a document, and what they left out.

    `summary` gives the counts in words; `less` says why less was read than one expects of such a file, and is empty if
    nothing is amiss.
    """

    counts: dict[str, int]
    summary: list[str]
    left_out: list[UnreadPart]
    less: list[str]


class DocumentRow(BaseModel):
    """One document; `file` says whether its original can be opened, `gone` whether it no longer exists.

    `url` is its address on the web; `copy_of` names the document with the same text that is searched instead.
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
    read: ReadRow | None
    saved: str | None
    copy_of: str = ""


class DocumentPage(BaseModel):
    """A page of the list; `total` counts all documents that match the query."""

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
    compare_answers: bool = False
    settings: dict[str, Any] = Field(default_factory=dict)


@router.get("/documents")
def documents(
    service: ServiceOf,
    query: str = "",
    id: str | None = None,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> DocumentPage:
    """Documents whose title, id or source contains the query, the latest first; or the one with the id."""
    if id is not None:
        entry = service.catalogue.document(service.names.document_id(id))
        found = [entry] if entry else []
        return DocumentPage(documents=[_row(each, service.names) for each in found], total=len(found))
    found, total = service.catalogue.documents(query, offset=offset, limit=limit)
    return DocumentPage(documents=[_row(each, service.names) for each in found], total=total)


class TagsBody(BaseModel):
    """A document's new tags, which replace its present ones."""

    model_config = ConfigDict(extra="forbid")

    tags: list[str]


class SourceCount(BaseModel):
    """A tag or a folder, as used in the filter fields `tags` and `folder`, with its number of documents."""

    name: str
    documents: int


class Sources(BaseModel):
    """Tags and folders to which a question can be limited."""

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
    """Replace a document's tags; filters can use them."""
    name = await asyncio.to_thread(service.names.document_id, id)
    async with service.changing:
        changed = await asyncio.to_thread(own_collection(service.preflight.library).set_tags, name, body.tags)
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
        if entry.origin:
            used = service.catalogue.origin_is_used
            await asyncio.to_thread(service.kept_files.remove_unused, Path(entry.origin), used)


class _OpenFile(FileResponse):
    """A response that sends an already open file, then closes it; its path may lead to another file by now."""

    def __init__(self, number: int, **how: Any) -> None:
        self._number = number
        super().__init__(f"/proc/self/fd/{number}", stat_result=os.fstat(number), **how)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._number)


@router.get("/documents/file", response_class=FileResponse, responses=FILE)
def original(id: str, service: ServiceOf) -> FileResponse:
    """The file from which a document was read; HTML is sent as plain text, so that nothing in it runs."""
    entry = service.catalogue.document(service.names.document_id(id))
    if entry is None or entry.file is None:
        message, help = _no_file(id, entry)
        raise Refused(404, message, help=help)
    suffix = entry.file.suffix.lower()
    inline = suffix == ".pdf" or suffix in AS_TEXT
    kind = "application/pdf" if suffix == ".pdf" else "text/plain; charset=utf-8"
    how: dict[str, Any] = {
        "filename": entry.file.name,
        "media_type": kind if inline else "application/octet-stream",
        "content_disposition_type": "inline" if inline else "attachment",
        "headers": {
            "Content-Security-Policy": INLINE_PDF if suffix == ".pdf" else SANDBOX,
            "Cache-Control": "no-store",
        },
    }
    try:
        number = service.catalogue.open_file(entry)
    except (PreflightError, OSError):
        message, help = _no_file(id, entry)
        raise Refused(404, message, help=help) from None
    if sys.platform == "linux":
        return _OpenFile(number, **how)
    os.close(number)  # other systems cannot reopen a file by its descriptor
    return FileResponse(entry.file, **how)


def _no_file(id: str, entry: CatalogueEntry | None) -> tuple[str, str]:
    """Return the error for a document without a readable original, with advice."""
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
    """A passage, the text before and after it, and its document (null if that was deleted since)."""
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
    """Retrieval only: the rankings, the route that would be chosen, and the passages that would be used."""
    given = {"where": body.where, "since": body.since, "pubmed": body.pubmed, **body.settings}
    settings = checked_settings(given, service)

    def found_with_passages() -> tuple[SearchResult, list[Passage]]:
        """Search, and read the passages that were found."""
        found = service.preflight.search(body.query, body.k, compare_answers=body.compare_answers, **settings)
        ids = {hit.passage_id for hit in (*found.selected, *found.fused, *found.dense, *found.lexical)}
        return found, service.preflight.library.passages(sorted(ids))

    found, read = again_where_replaced(found_with_passages)
    names = {"title", "text", "document_id", "source", "date", "page"}
    shown = {each.id: each.model_dump(include=names) for each in read}
    return cast("dict[str, Any]", service.names.shown({**found.model_dump(mode="json"), "passages": shown}))


@router.get("/stats")
def stats(service: ServiceOf) -> dict[str, Any]:
    """What the library contains, and the settings with which it was made."""
    numbers = service.preflight.library.stats()
    return {**numbers, "path": service.preflight.folder.absolute().name, "kinds": service.catalogue.kinds()}


def _row(entry: CatalogueEntry, names: DocumentNames) -> DocumentRow:
    """Return a document as the API describes it, with names instead of the server's paths."""
    values = {name: value for name, value in asdict(entry).items() if name in DocumentRow.model_fields}
    shown = {"id": names.name(entry.id), "source": names.source(entry.source), "copy_of": names.name(entry.copy_of)}
    name = Path(entry.origin).name if entry.origin else shown["source"]
    read = {**entry.read.to_json(), "summary": counted(entry.read.counts)} if entry.read else None
    return DocumentRow(**{**values, **shown, "file": entry.file is not None, "name": name, "read": read})

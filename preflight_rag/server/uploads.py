"""Uploads over HTTP: receiving files, adding them to the library, and reporting progress.

Files are written to disk under safe names, added to the library a few at a time, so that the first ones can be
searched while the last are still read, and removed again if that fails. A file is stored as
`LIBRARY/uploads/HASH/NAME`, where the hash is its content's: no file replaces another user's, and a file that is sent
twice is stored once. An upload continues when the client disconnects, and its progress can be requested later.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypedDict

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from preflight_rag.ingest.loaders import SUFFIXES
from preflight_rag.ingest.loaders.files import ONE_DOCUMENT, OTHER_KIND, suffix_of, why_not_read
from preflight_rag.ingest.report import IngestEvent, IngestReport
from preflight_rag.library.collection import Collection, own_collection
from preflight_rag.library.found import REBUILD_PASSAGES
from preflight_rag.library.names import names_of
from preflight_rag.library.storage.copies import copy_note
from preflight_rag.server.dependencies import ServiceOf, WriterOf
from preflight_rag.server.description import STREAMED
from preflight_rag.server.errors import Refused, describe, error_response
from preflight_rag.server.service import Service
from preflight_rag.server.turns import STILL_HERE, STREAM_HEADERS, event
from preflight_rag.server.upload_state import FileState, KeptFiles, Upload, UploadReport
from preflight_rag.state.errors import PreflightError

log = logging.getLogger("preflight.server")
router = APIRouter(prefix="/api", tags=["library"])
INCOMING = ".incoming"
FILES = {"type": "array", "items": {"type": "string", "format": "binary"}}
FORM = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": {"type": "object", "properties": {"files": FILES}}}},
    }
}
"""The body for OpenAPI; it is read in pieces, so FastAPI does not know it."""
RECEIVED: dict[int | str, dict[str, Any]] = {202: {"description": "Received; /api/uploads tells the rest."}}
NAME_BYTES = 120  # file systems allow 255; the full path needs room for the folders above
MOST_FILES = 1000  # most files of one request: a guess
# Limits of form fields that are not files, which are ignored, but kept in memory by Starlette's parser: guesses, far
# above what a page sends.
MOST_FIELDS, FIELD_BYTES = 100, 10_000
LEFT_SECONDS = 24 * 3600.0  # after this time a partly received file is removed: longer than any upload
MOST_TOGETHER = 64  # most files that are added before the index is rebuilt: a guess
# if files with their index took less, the next group is twice as large: a guess at what people wait
QUICK_SECONDS = 1.5
# Names that Windows reserves for devices: con, LPT1.txt; not console.txt.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# The message of an ingest for a document with the id of another file's document.
_OTHERS = re.compile(r"( belongs to a document of | was already read from )(/.*)$", re.DOTALL)
_FORBIDDEN = re.compile(r'[<>:"|?*]')


class UploadStep(TypedDict):
    """A progress step of one file's ingest."""

    name: str
    stage: str
    done: int
    total: int | None


@router.post("/documents", response_model=None, responses={**STREAMED, **RECEIVED}, openapi_extra=FORM)
async def upload(request: Request, service: ServiceOf, user: WriterOf) -> Response:
    """Upload files (form field `files`, several): events `progress` and `report`, or the report as JSON.

    With the header `Prefer: respond-async` the reply comes once the files are received; `/api/uploads` has the rest.
    """
    with service.uploads.receiving(user):
        await asyncio.to_thread(_check_room, service.kept_files, request, service.options.kept_bytes)
        files = await receive(service.kept_files, request)
    if not files:
        raise Refused(400, "the form holds no file", help="Send files in the field `files`.")
    begun = Upload(user.name, [FileState(each.name) for each in files])
    steps, work = start_taking_in(service, files, begun)
    if "respond-async" in request.headers.get("prefer", ""):
        return JSONResponse(begun.to_json(), 202)
    if "text/event-stream" in request.headers.get("accept", ""):
        events = _upload_events(service, files, steps, work)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAM_HEADERS)
    try:
        report = await asyncio.shield(work)
    except PreflightError as error:
        return error_response(error, request.url.path)
    return JSONResponse(report.to_json())


def start_taking_in(
    service: Service, files: Sequence[ReceivedFile], begun: Upload
) -> tuple[asyncio.Queue[UploadStep | None], asyncio.Task[UploadReport]]:
    """Start adding received files to the library; return a queue of progress steps, and the task."""
    service.uploads.add(begun)
    steps: asyncio.Queue[UploadStep | None] = asyncio.Queue()
    work = asyncio.create_task(_take_in(service, files, begun, steps))
    service.working.add(work)
    work.add_done_callback(service.forget)
    return steps, work


def _check_room(files: KeptFiles, request: Request, most: int) -> None:
    """Raise an error before an upload is received if there is no room for it.

    Raises:
        Refused: All uploads together would take more than `most` bytes, or more than the disk has.
    """
    length = request.headers.get("content-length", "0")
    coming = int(length) if length.isdigit() else 0
    kept, folder = files.size(), files.folder
    if kept + coming > most:
        help = "Delete documents that were uploaded, or start the server with a larger --kept-mb."
        raise Refused(507, f"uploads may take {most:,} bytes in all, and {kept:,} are taken", help=help)
    # Room for the received and the stored copy; the text and vectors made from it need room, too.
    if coming * 2 > shutil.disk_usage(folder if folder.exists() else folder.parent).free:
        raise _disk_full()


def _disk_full() -> Refused:
    """Return the error for an upload that the disk has no room for."""
    return Refused(507, "the server's disk is full", help="Make room on it, then send the files again.")


@router.get("/uploads")
def uploads(service: ServiceOf, user: WriterOf) -> dict[str, Any]:
    """The user's uploads in progress or recently ended: each file's stage, and the results so far."""
    return {"uploads": [each.to_json() for each in service.uploads.of(user)]}


@router.delete("/uploads/{id}", status_code=204)
def drop_upload(id: str, service: ServiceOf, user: WriterOf) -> None:
    """Stop an upload after its current files, or, once it has ended, forget its report; documents stay."""
    service.uploads.drop(user, id)


async def _upload_events(
    service: Service,
    files: Sequence[ReceivedFile],
    steps: asyncio.Queue[UploadStep | None],
    work: asyncio.Task[UploadReport],
) -> AsyncIterator[bytes]:
    """Yield an upload's progress and at last its report or error; the upload continues if the client disconnects."""
    for received in files:
        yield event("progress", {"name": received.name, "stage": "received", "done": 1, "total": 1})
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


async def _take_in(
    service: Service, files: Sequence[ReceivedFile], begun: Upload, steps: asyncio.Queue[UploadStep | None]
) -> UploadReport:
    """Add files to the library, a few at a time, in a worker thread; a last step of None marks the end."""
    loop = asyncio.get_running_loop()
    failure: Exception | None = None

    def on_step(step: UploadStep) -> None:
        """Report a step from the worker thread."""
        loop.call_soon_threadsafe(steps.put_nowait, step)

    try:
        taking = UploadIngest(service.preflight.library, files, begun, on_step, lambda: service.closing)
        while taking.left:
            async with service.changing:
                if service.closing:
                    raise Refused(503, "the server is stopping", help="Send the files again.")
                await asyncio.to_thread(taking.next)
        return begun.report
    except Exception as error:
        failure = error
        raise
    finally:
        await asyncio.to_thread(forget_unused, service, files)
        begun.end(failure)
        loop.call_soon(steps.put_nowait, None)


class UploadIngest:
    """Adds received files to the library: one first, then larger groups as long as that is quick.

    Args:
        library: The library.
        files: The files, from `receive`.
        upload: The upload whose states and report are updated.
        on_step: Called with each progress step.
        closing: Returns whether the server is stopping.
    """

    def __init__(
        self,
        library: Collection,
        files: Sequence[ReceivedFile],
        upload: Upload,
        on_step: Callable[[UploadStep], None],
        closing: Callable[[], bool],
    ) -> None:
        self._library, self._upload = library, upload
        self._on_step, self._closing = on_step, closing
        self._size, self._stored = 1, 0
        self._states: dict[str, FileState] = {}
        for received, state in zip(files, upload.files, strict=True):
            if received.path is None:
                state.move("failed", note=received.problem)
                upload.report.failed.append((received.name, received.problem))
            else:
                self._states.setdefault(str(received.path), state)
        self._twins = [
            (state, self._states[str(received.path)])
            for received, state in zip(files, upload.files, strict=True)
            if received.path is not None and self._states[str(received.path)] is not state
        ]
        self.left = list(self._states)
        one_each = all(suffix_of(Path(path)) in ONE_DOCUMENT for path in self.left)
        self._total = len(self.left) if one_each else None

    def next(self) -> None:
        """Add the next group of files, after which they can be searched."""
        if self._upload.stopping:
            self.left = []
            return
        if self._library.catalogue.counts()["passages"] > REBUILD_PASSAGES:
            self._size = len(self.left)
        now, self.left = self.left[: self._size], self.left[self._size :]
        for path in now:
            self._states[path].known = self._library.catalogue.origin_is_used(path)
        began = time.monotonic()
        done = own_collection(self._library).ingest([Path(path) for path in now], progress=self._step, stop=self._stops)
        quick = time.monotonic() - began < QUICK_SECONDS
        self._size = min(MOST_TOGETHER, 2 * self._size) if quick else max(1, self._size // 2)
        self._stored += done.added + done.updated + done.skipped + len(done.failed)
        self._count(done, now)

    def _stops(self) -> bool:
        """Return whether the upload is to stop: by the user, or since the server closes."""
        return self._upload.stopping or self._closing()

    def _step(self, event: IngestEvent) -> None:
        """Set the stage of the files that an event of the ingest is about, and report the step."""
        state = self._states.get(event.name)
        waiting = [each for each in self._states.values() if each.stage in ("reading", "splitting", "embedding")]
        if event.stage in ("reading", "splitting") and state is not None:
            state.move(event.stage, event.done, event.total)
        elif event.stage in ("embedding", "index"):
            for each in waiting:
                counted = (event.done, event.total) if event.stage == "embedding" else (0, None)
                each.move("indexing" if event.stage == "index" else event.stage, *counted)
        done, total = event.done, event.total
        if event.stage == "documents":
            done, total = done + self._stored, self._total
        self._on_step(UploadStep(name=state.name if state else event.name, stage=event.stage, done=done, total=total))

    def _count(self, done: IngestReport, now: Sequence[str]) -> None:
        """Add the report of one ingest to that of the upload, and set the last stage of each of its files."""
        report, names = self._upload.report, {path: state.name for path, state in self._states.items()}
        report.added += done.added
        report.updated += done.updated
        report.skipped += done.skipped
        for source, reason in done.failed:
            report.failed.append(_named(source, reason, names))
        found = [*done.notes, *self._notes_on_copies(done)]
        report.notes += [_named(source, note, names) for source, note in found]
        reasons = dict(done.failed)
        notes = dict(found)
        for path in now:
            state, is_in = self._states[path], self._library.catalogue.origin_is_used(path)
            if is_in:
                state.move("ready", note=notes.get(path, ""))
            elif path in reasons or not done.stopped:
                state.move("failed", note=_named(path, reasons.get(path, "no document could be read"), names)[1])
        for twin, state in self._twins:
            if state.is_over:
                twin.move(state.stage, note=state.note)

    def _notes_on_copies(self, done: IngestReport) -> list[tuple[str, str]]:
        """Return `(file, note)` for each file of the upload whose text is also that of another document."""
        name = names_of(self._library).name
        notes = []
        for copy in done.copies:
            for path in (copy.document_id, copy.of_document):
                if path in self._states:
                    notes.append((path, copy_note(copy, name)))
        return notes


def forget_unused(service: Service, files: Sequence[ReceivedFile]) -> None:
    """Remove those files of an ended upload from which no document was made."""
    for received in files:
        if received.path is not None:
            service.kept_files.release(received.path)
            service.kept_files.remove_unused(received.path, service.catalogue.origin_is_used)


@dataclass
class ReceivedFile:
    """One file of a request, at `path` once it is complete; `problem` says why it is not accepted."""

    name: str
    path: Path | None = None
    hash: str = ""
    problem: str = ""


def safe_name(given: str) -> str:
    """Return a file name without folders, control characters and reserved names; its extension stays."""
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
    """Starlette's parser, which by itself accepts a truncated form."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.headers, self._body(request), max_files=MOST_FILES, max_fields=MOST_FIELDS)
        self.max_part_size = FIELD_BYTES
        self._is_whole = False

    def on_end(self) -> None:
        """Record that the form has been received to its end."""
        self._is_whole = True

    async def _body(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the body, and raise an error if it stops before the form's end."""
        async for piece in request.stream():
            yield piece
        if not self._is_whole:
            raise Refused(400, "the form ends too early", help="Send it again.")


async def receive(kept: KeptFiles, request: Request) -> list[ReceivedFile]:
    """Write the files of a form below a folder, each under its hash; if the request fails, all are removed.

    Args:
        kept: The place for the files.
        request: The request with the form.

    Raises:
        Refused: It is not a form, ends too early, or contains too many files.
    """
    if not parse_options_header(request.headers.get("content-type", ""))[1].get(b"boundary"):
        raise Refused(400, "the form has no boundary", help="Send multipart/form-data.")
    try:
        form = await _Form(request).parse()
    # Older versions of Starlette do not convert their parser's own error.
    except (MultiPartException, MultipartParseError) as error:
        if "Too many files" in str(getattr(error, "message", "")):
            help = "Send them in several requests."
            raise Refused(400, f"more than {MOST_FILES} files at once", help=help) from error
        raise Refused(400, "the form cannot be read", help="Send multipart/form-data.") from error
    except OSError as error:
        raise _not_kept(error) from error
    folder, incoming = kept.folder, kept.folder / INCOMING
    placed: list[Path] = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        incoming.mkdir(mode=0o700, exist_ok=True)
        sent = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        with tempfile.TemporaryDirectory(dir=incoming, ignore_cleanup_errors=True) as own:
            files = await asyncio.to_thread(_written, Path(own), sent)
            for received in files:
                if received.path is not None:
                    received.path = kept.keep(received.path, folder / received.hash / received.name)
                    placed.append(received.path)
        return files
    except OSError as error:
        for path in placed:
            kept.release(path)
        raise _not_kept(error) from error
    finally:
        await form.close()


def _not_kept(error: OSError) -> Refused:
    """Return the error for files that could not be written; the server's paths are only in its log."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full()
    log.error("an upload could not be kept", exc_info=error)
    return Refused(507, f"the server cannot keep the files: {error.strerror or error}", help="Its log says why.")


def _written(folder: Path, sent: Sequence[UploadFile]) -> list[ReceivedFile]:
    """Return the files of a form; accepted ones are copied into a folder, named by their numbers."""
    files = [ReceivedFile(safe_name(each.filename or "")) for each in sent]
    for place, (received, upload) in enumerate(zip(files, sent, strict=True)):
        suffix = suffix_of(Path(received.name))
        if reason := why_not_read(Path(received.name)):
            kind = f"files that end in {suffix}" if suffix else "files without an ending"
            other = f"{kind} cannot be read; use one of: {' '.join(SUFFIXES)}"
            received.problem = other if reason == OTHER_KIND else reason
        elif not upload.size:
            received.problem = "the file is empty"
        else:
            received.path = folder / str(place)
            own = os.open(received.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(own, "w+b") as file:
                shutil.copyfileobj(upload.file, file)
                file.seek(0)
                received.hash = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return files


def remove_incoming(folder: Path) -> None:
    """Remove files that a killed server had received only in part."""
    for path in (folder / INCOMING).glob("*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _named(source: str, reason: str, names: dict[str, str]) -> tuple[str, str]:
    """Return a failure with the file's own name instead of its path on the server."""
    for path, name in names.items():
        source, reason = source.replace(path, name), reason.replace(path, name)
    return source, _OTHERS.sub(lambda match: match[1] + PurePath(match[2]).name, reason)

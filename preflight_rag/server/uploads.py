"""Uploads over HTTP: receiving files, taking them into the library, and how far that is.

Files are written to disk under names that are safe, taken into the library a few at a time, so that the first can be
asked about while the last are still read, and removed again where that fails. A file is kept as
`LIBRARY/uploads/HASH/NAME`, where the hash is its content's: nobody's file replaces another's, and a file that is sent
twice is kept once. What becomes of an upload goes on when nobody listens, and can be asked for again.
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
"""The body as OpenAPI describes it; it is read in pieces, so FastAPI does not know it."""
RECEIVED: dict[int | str, dict[str, Any]] = {202: {"description": "Received; /api/uploads tells the rest."}}
NAME_BYTES = 120  # file systems allow 255; a path needs room for the folders above
MOST_FILES = 1000  # of one request: a guess
# Of what is no file, which nobody reads, but Starlette's parser keeps in memory: guesses, far above what a page sends.
MOST_FIELDS, FIELD_BYTES = 100, 10_000
LEFT_SECONDS = 24 * 3600.0  # after which a file that was not received to its end is removed: longer than any upload
MOST_TOGETHER = 64  # files between two indexes: a guess
QUICK_SECONDS = 1.5  # files that took less with their index are followed by twice as many: a guess at what people wait
# Names that Windows keeps for devices: con, LPT1.txt; not console.txt.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# What an ingest says of a document that has the id of another file's.
_OTHERS = re.compile(r"( belongs to a document of | was already read from )(/.*)$", re.DOTALL)
_FORBIDDEN = re.compile(r'[<>:"|?*]')


class UploadStep(TypedDict):
    """How far the ingest of one file is."""

    name: str
    stage: str
    done: int
    total: int | None


@router.post("/documents", response_model=None, responses={**STREAMED, **RECEIVED}, openapi_extra=FORM)
async def upload(request: Request, service: ServiceOf, user: WriterOf) -> Response:
    """Upload files (form field `files`, several): events `progress` and `report`, or the report as JSON.

    With the header `Prefer: respond-async` the reply comes once the files are received; `/api/uploads` tells the rest.
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
    """Begin to take received files into the library; return its steps as they come, and the work itself."""
    service.uploads.add(begun)
    steps: asyncio.Queue[UploadStep | None] = asyncio.Queue()
    work = asyncio.create_task(_take_in(service, files, begun, steps))
    service.working.add(work)
    work.add_done_callback(service.forget)
    return steps, work


def _check_room(files: KeptFiles, request: Request, most: int) -> None:
    """Refuse an upload that there is no room for, before it is received.

    Raises:
        Refused: All uploads together would take more than `most` bytes, or more than the disk has.
    """
    length = request.headers.get("content-length", "0")
    coming = int(length) if length.isdigit() else 0
    kept, folder = files.size(), files.folder
    if kept + coming > most:
        help = "Delete documents that were uploaded, or start the server with a larger --kept-mb."
        raise Refused(507, f"uploads may take {most:,} bytes in all, and {kept:,} are taken", help=help)
    # Once as it is received, once as it is kept; what is read of it needs room, too.
    if coming * 2 > shutil.disk_usage(folder if folder.exists() else folder.parent).free:
        raise _disk_full()


def _disk_full() -> Refused:
    return Refused(507, "the server's disk is full", help="Make room on it, then send the files again.")


@router.get("/uploads")
def uploads(service: ServiceOf, user: WriterOf) -> dict[str, Any]:
    """The user's uploads that are going on or ended lately: each file's stage, and what has become of them by now."""
    return {"uploads": [each.to_json() for each in service.uploads.of(user)]}


@router.delete("/uploads/{id}", status_code=204)
def drop_upload(id: str, service: ServiceOf, user: WriterOf) -> None:
    """Stop an upload after what is in hand, or, once it has ended, forget what became of it; documents stay."""
    service.uploads.drop(user, id)


async def _upload_events(
    service: Service,
    files: Sequence[ReceivedFile],
    steps: asyncio.Queue[UploadStep | None],
    work: asyncio.Task[UploadReport],
) -> AsyncIterator[bytes]:
    """Yield an upload's progress and at last its report or its error; the upload goes on when nobody listens."""
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
    """Take files into the library, a few at a time, in a worker thread; None says that it has ended."""
    loop = asyncio.get_running_loop()
    failure: Exception | None = None

    def on_step(step: UploadStep) -> None:
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
    """Received files on their way into the library: one first, and as long as that is quick, more together.

    Args:
        library: Where they go.
        files: What `receive` gave.
        upload: Whose states and report are kept up to date.
        on_step: Called with each step.
        closing: Whether the server stops.
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
        """Take in the next files, after which they can be asked about."""
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
        return self._upload.stopping or self._closing()

    def _step(self, event: IngestEvent) -> None:
        """Move the files that an event of the ingest is about to their next stage, and report the step."""
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
        """Add the report of one ingest to that of the upload, and give each of its files its last stage."""
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
    """Remove those files of an upload that has ended from which no document was made."""
    for received in files:
        if received.path is not None:
            service.kept_files.release(received.path)
            service.kept_files.remove_unused(received.path, service.catalogue.origin_is_used)


@dataclass
class ReceivedFile:
    """One file of a request, at `path` once it is whole; `problem` says why it is not taken."""

    name: str
    path: Path | None = None
    hash: str = ""
    problem: str = ""


def safe_name(given: str) -> str:
    """Return a file name without folders, control characters and what some systems reserve; its ending stays."""
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
        """Note that the form has been received to its end."""
        self._is_whole = True

    async def _body(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the body, and refuse it where it stops before the form's end."""
        async for piece in request.stream():
            yield piece
        if not self._is_whole:
            raise Refused(400, "the form ends too early", help="Send it again.")


async def receive(kept: KeptFiles, request: Request) -> list[ReceivedFile]:
    """Write the files of a form below a folder, each under its hash; of a request that ends in an error none stays.

    Args:
        kept: Where they go.
        request: What sends the form.

    Raises:
        Refused: It is no form, it ends too early, or it holds too many files.
    """
    if not parse_options_header(request.headers.get("content-type", ""))[1].get(b"boundary"):
        raise Refused(400, "the form has no boundary", help="Send multipart/form-data.")
    try:
        form = await _Form(request).parse()
    except (MultiPartException, MultipartParseError) as error:  # Older Starlettes let its parser's own through.
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
    """Return the error for files that could not be written; the server's paths are in its log alone."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full()
    log.error("an upload could not be kept", exc_info=error)
    return Refused(507, f"the server cannot keep the files: {error.strerror or error}", help="Its log says why.")


def _written(folder: Path, sent: Sequence[UploadFile]) -> list[ReceivedFile]:
    """Return the files of a form, those that can be taken in copied into a folder under their numbers."""
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
    """Remove what a killed server had not received to its end."""
    for path in (folder / INCOMING).glob("*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _named(source: str, reason: str, names: dict[str, str]) -> tuple[str, str]:
    """Return a failure with the file's own name in place of the path at which the server keeps it."""
    for path, name in names.items():
        source, reason = source.replace(path, name), reason.replace(path, name)
    return source, _OTHERS.sub(lambda match: match[1] + PurePath(match[2]).name, reason)

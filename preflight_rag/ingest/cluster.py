"""An ingest with many workers, on one machine or several, through Ray (the extra `ray`).

The work item is one file. A worker reads, splits and embeds it, a part at a time (`file_worker.py`); this process,
which has the library, stores the parts, since a library has one writer. What was stored of a file stays stored, and a
file that was stored whole is recorded with its checksum, so a run that was killed goes on where it was. A worker that
ends in the middle of a file is replaced, and the file read again: the same documents are stored once, however often
they come. Ray Data is not used: it mixes the records of files, and which file is whole is what has to be known here.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from preflight_rag.ingest.document_store import DocumentStore, PreparedDocument
from preflight_rag.ingest.file_worker import FilePart, FileTask, FileWorker
from preflight_rag.ingest.given import GivenPaths, file_origin
from preflight_rag.ingest.loaders import find_files
from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES, SkippedFile
from preflight_rag.ingest.report import IngestEvent, IngestReport, Progress, Stop
from preflight_rag.ingest.splitting import SplitterName
from preflight_rag.ingest.work import text_size
from preflight_rag.state.errors import DocumentError, EmbedderMismatch, LibraryError, PreflightError, first_line
from preflight_rag.state.extras import require_extra
from preflight_rag.text.words import on_one_line

EXTRA = "ray"
ADDRESS = "RAY_ADDRESS"
"""Ray's own variable: the cluster to join. Without it a cluster is started on this machine, and ended with the run."""
ATTEMPTS = 3
"""Workers that a file may bring down before it is given up; a guess."""
LOOK_SECONDS = 0.5
"""Between two looks at whether to stop."""
STORE_BYTES = 256 << 20
"""Of the memory that Ray passes parts through; one of them takes one or two megabytes."""
MOST_ERRORS = 10_000
"""Records whose errors are reported one by one; of further ones only how many: a third of PubMed has no abstract."""


@dataclass(eq=False)
class _Running:
    """A worker with the file that it is reading."""

    worker: Any
    file: Path
    attempts: int = 1
    characters: int = 0


class _Files:
    """The files of the ingest, and the worker that reads each.

    Args:
        start: Starts a worker.
        task: Returns the description of a file for a worker.
        waiting: Files that no worker has begun.

    Attributes:
        busy: The busy workers, by the reference to their next result.
    """

    def __init__(self, start: Callable[[], Any], task: Callable[[Path], FileTask], waiting: deque[Path]) -> None:
        self._start, self._task, self._waiting = start, task, waiting
        self.busy: dict[Any, _Running] = {}

    def begin_next(self, worker: Any = None) -> None:
        """Assign the next file, if there is one, to a worker; a new worker is started if none is given."""
        if self._waiting:
            self._begin(_Running(worker or self._start(), self._waiting.popleft()))

    def begin_again(self, running: _Running) -> None:
        """Assign the file of a worker that has died to a new one."""
        self._begin(_Running(self._start(), running.file, running.attempts + 1))

    def go_on(self, running: _Running, *, is_last: bool) -> None:
        """Let a worker continue with its file, or with the next file after the last part."""
        if is_last:
            self.begin_next(running.worker)
        else:
            self.busy[running.worker.next_part.remote()] = running

    def _begin(self, running: _Running) -> None:
        """Send a worker its file, and remember the pending result."""
        self.busy[running.worker.begin.remote(self._task(running.file))] = running


class ClusterIngest:
    """One run; the caller holds the library's write lock, and builds the index afterwards.

    Args:
        store: Where documents go.
        splitter: How they are split.
        workers: How many; None for one for each GPU of the cluster, or each core where there is none.
        progress: Called after each document that is stored, skipped or failed.
        stop: Whether to end the run; what is stored by then is kept.

    Raises:
        UsageError: Ray is not installed.
        EmbedderMismatch: The library's embedder is an object that workers cannot open.
    """

    def __init__(
        self,
        store: DocumentStore,
        splitter: SplitterName,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> None:
        require_extra(EXTRA, "an ingest with Ray")
        self._recorded = store.meta("embedder")
        if self._recorded["spec"] is None:
            raise EmbedderMismatch(
                f"Workers cannot open {self._recorded['name']}, which is an object of this process",
                help="Ingest without Ray, or name an embedder (--embedder)",
            )
        self.report = IngestReport()
        self._store, self._splitter, self._workers = store, splitter, workers
        self._progress, self._stop = progress, stop or (lambda: False)
        self._done = self._finished_bytes = self._bytes_total = 0
        self._given = GivenPaths()
        self._more_errors = 0

    def add_files(self, given: Sequence[Path], max_bytes: int = DEFAULT_MAX_BYTES) -> IngestReport:
        """Store the documents of files and folders.

        Raises:
            LibraryError: The cluster cannot be started or joined, or its workers fail at once.
        """
        files = list(find_files(given))
        self._given = GivenPaths(given)
        self.report.passed_over = [
            (on_one_line(str(each.path)), each.reason) for each in files if isinstance(each, SkippedFile)
        ]
        for each in files:
            if isinstance(each, DocumentError):
                self._fail(each.source, str(each))
        paths = [each for each in files if isinstance(each, Path)]
        self._bytes_total = sum(map(text_size, paths))
        if paths:
            with _cluster(self._workers) as ray:
                self._run(ray, deque(paths), max_bytes)
        if self._more_errors:
            self.report.failed.append(("", f"{self._more_errors:,} further records cannot be read"))
        return self.report

    def _run(self, ray: Any, waiting: deque[Path], max_bytes: int) -> None:
        """Keep every worker busy until no file is left, and store their results."""
        files = _Files(self._starter(ray), lambda file: self._task(file, max_bytes), waiting)
        for _ in range(min(self._count(ray), len(waiting))):
            files.begin_next()
        while files.busy:
            if self._stop():
                self.report.stopped = True
                self.report.left = len(files.busy) + len(waiting)
                return
            for reference in ray.wait(list(files.busy), num_returns=1, timeout=LOOK_SECONDS)[0]:
                running, part = files.busy.pop(reference), self._part(ray, reference)
                if part is not None:
                    files.go_on(running, is_last=part.is_last)  # while this part is stored
                    self._take(part, running)
                elif running.attempts < ATTEMPTS:
                    self.report.notes.append((str(running.file), "its worker ended, and it was read again by another"))
                    files.begin_again(running)
                else:
                    self._give_up(running.file)
                    files.begin_next()

    def _part(self, ray: Any, reference: Any) -> FilePart | None:
        """Return a worker's result; None if the worker or its machine has died."""
        try:
            found: FilePart = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise _reason(error) from error
        except ray.exceptions.RayError:
            return None
        return found

    def _give_up(self, file: Path) -> None:
        """Report a file whose workers died repeatedly as failed."""
        self._fail(str(file), f"its worker ended {ATTEMPTS} times, as workers do that need more memory than there is")
        self._finished_bytes += text_size(file)

    def _starter(self, ray: Any) -> Any:
        """Return a function that starts a worker, with its share of a GPU if there are any."""
        gpus = ray.cluster_resources().get("GPU", 0)
        share = {"num_gpus": min(1.0, gpus / self._count(ray))} if gpus else {}
        worker = ray.remote(FileWorker).options(num_cpus=1, **share)
        recorded = self._recorded
        return lambda: worker.remote(recorded["spec"], recorded["revision"], self._splitter)

    def _count(self, ray: Any) -> int:
        """Return the number of workers to use."""
        resources = ray.cluster_resources()
        return self._workers or max(1, int(resources.get("GPU", 0) or resources.get("CPU", 1)))

    def _task(self, file: Path, max_bytes: int) -> FileTask:
        """Return the description of a file for a worker."""
        origin = file_origin(file)
        return FileTask(
            path=Path(origin),
            origin=origin,
            folder=self._given.folder_of(file),
            max_bytes=max_bytes,
            finished=self._store.meta(finished_key(origin)),
            known=self._store.contents_of(origin),
        )

    def _take(self, part: FilePart, running: _Running) -> None:
        """Store a part, and record the file as finished after its last part."""
        file = running.file
        wanted, is_new = [], dict[str, bool]()
        for document in part.documents:
            stored = self._store.document(document.document.id)
            if reason := _conflict(document, stored.origin if stored else ""):
                self._fail(document.document.source or document.document.id, reason)
                continue
            wanted.append(document)
            is_new[document.document.id] = stored is None
        if wanted:
            self._store.write_documents(wanted)
        running.characters += part.characters
        size = text_size(file)
        in_hand = 0 if part.is_last else min(size, running.characters)
        if part.is_last:
            self._finished_bytes += size
            if part.version is not None:
                origin = file_origin(file)
                stored_whole = [*part.version, len(self._store.contents_of(origin))]
                if self._store.meta(finished_key(origin)) != stored_whole:
                    self._store.set_meta(finished_key(origin), stored_whole)
                self._given.note_place(self._store, file)
        self.report.notes += part.notes
        self.report.read += part.read
        self.report.skipped += part.skipped
        self._done += part.skipped
        for source, reason in part.failed:
            self._fail(source, reason)
        for document in wanted:
            fresh = is_new[document.document.id]
            self.report.added += fresh
            self.report.updated += not fresh
            self._done += 1
            self._say(document.document.title or document.document.id, in_hand)
        if not wanted:
            self._say(str(file), in_hand)

    def _fail(self, source: str, reason: str) -> None:
        """Record that a document could not be ingested, up to a maximum number of messages."""
        self._done += 1
        if len(self.report.failed) < MOST_ERRORS:
            self.report.failed.append((on_one_line(source), on_one_line(reason)))
        else:
            self._more_errors += 1

    def _say(self, name: str, in_hand: int) -> None:
        """Report the progress, with the bytes of the files being read."""
        if self._progress:
            done = min(self._bytes_total, self._finished_bytes + in_hand)
            self._progress(IngestEvent("documents", self._done, None, on_one_line(name), done, self._bytes_total))


def finished_key(origin: str) -> str:
    """Return the name of the setting that records which version of a file was stored completely."""
    return f"finished:{origin}"


def _conflict(document: PreparedDocument, stored_origin: str) -> str | None:
    """Return why a document may not be stored under its id: it belongs to another file, which still exists."""
    if stored_origin in ("", document.origin) or not Path(stored_origin).exists():
        return None
    return f"The id {document.document.id!r} belongs to a document of {stored_origin}"


def _reason(error: Any) -> PreflightError:
    """Return the error that a worker raised if it is one of this package, else an error saying that it failed."""
    cause = error.cause
    if isinstance(cause, PreflightError):
        return cause
    return LibraryError(f"A worker failed: {first_line(cause)}", help="Check that its machine has the same packages.")


@contextmanager
def _cluster(workers: int | None) -> Iterator[Any]:
    """Connect to the Ray cluster at `RAY_ADDRESS`, or start one on this machine that ends with the run.

    Ray sends no usage statistics and starts no dashboard. Its ports on this machine require a token that only the
    cluster's own processes know, if Ray supports that.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not os.environ.get(ADDRESS):
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    if ray.is_initialized():  # the caller's own
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL", "configure_logging": True}
    folder = None
    try:
        if os.environ.get(ADDRESS):
            ray.init(**quiet)
        else:
            folder = tempfile.mkdtemp(prefix="ray-")
            ray.init(
                address="local",
                num_cpus=workers or cast("int", os.cpu_count()),
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                _temp_dir=folder,
                **quiet,
            )
    except Exception as error:
        where = f"joined ({os.environ[ADDRESS]})" if os.environ.get(ADDRESS) else "started"
        _forget(ray, folder)
        raise LibraryError(
            f"The Ray cluster cannot be {where}: {first_line(error)}",
            help=f"Check `ray status`, or {ADDRESS}; without it a cluster is started on this machine.",
        ) from error
    try:
        yield ray
    finally:
        _forget(ray, folder)


def _forget(ray: Any, folder: str | None) -> None:
    """Disconnect from the cluster, and delete its temporary folder."""
    with suppress(Exception):  # of a cluster that is gone
        ray.shutdown()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)

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
"""Number of workers that may die on a file before the file is given up; a guess."""
LOOK_SECONDS = 0.5
"""Seconds between two checks whether to stop."""
STORE_BYTES = 256 << 20
"""Size of the memory through which Ray passes the parts of files; a part takes one or two megabytes."""
MOST_ERRORS = 10_000
"""Maximum number of errors reported one by one; further ones are counted: a third of PubMed has no abstract."""


@dataclass(eq=False)
class _Job:
    """A worker with the file that it is reading.

    Attributes:
        worker: The Ray actor.
        file: The file.
        attempts: Number of workers that have begun this file.
        characters: Number of characters of the file's parts stored so far.
    """

    worker: Any
    file: Path
    attempts: int = 1
    characters: int = 0


class _Scheduler:
    """Assigns the files of the ingest to workers.

    Args:
        start: Starts a worker.
        task: Returns the description of a file for a worker.
        waiting: Files that no worker has begun.

    Attributes:
        busy: The busy workers, by the reference to their next result.
    """

    def __init__(self, start: Callable[[], Any], task: Callable[[Path], FileTask], waiting: deque[Path]) -> None:
        self._start, self._task, self._waiting = start, task, waiting
        self.busy: dict[Any, _Job] = {}

    def begin_next(self, worker: Any = None) -> None:
        """Assign the next file, if there is one, to a worker; a new worker is started if none is given."""
        if self._waiting:
            self._begin(_Job(worker or self._start(), self._waiting.popleft()))

    def begin_again(self, job: _Job) -> None:
        """Assign the file of a worker that has died to a new worker."""
        self._begin(_Job(self._start(), job.file, job.attempts + 1))

    def go_on(self, job: _Job, *, is_last: bool) -> None:
        """Let a worker continue with its file, or with the next file after the last part."""
        if is_last:
            self.begin_next(job.worker)
        else:
            self.busy[job.worker.next_part.remote()] = job

    def _begin(self, job: _Job) -> None:
        """Send a worker its file, and remember the pending result."""
        self.busy[job.worker.begin.remote(self._task(job.file))] = job


class ClusterIngest:
    """One ingest run on a Ray cluster; the caller holds the library's write lock, and builds the index afterwards.

    Args:
        store: Where documents are stored.
        splitter: The name of the splitter.
        workers: Number of workers; None for one for each GPU of the cluster, or for each core if it has no GPU.
        progress: Called after each document that is stored, skipped or failed.
        stop: Returns True when the run should end early; documents stored by then are kept.

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
        self._unlisted_errors = 0

    def add_files(self, given: Sequence[Path], max_bytes: int = DEFAULT_MAX_BYTES) -> IngestReport:
        """Store the documents of files and folders, and return the report.

        Raises:
            LibraryError: The cluster cannot be started or joined, or a worker fails for another reason than a file.
        """
        files = list(find_files(given))
        self._given = GivenPaths(given)
        skipped = [file for file in files if isinstance(file, SkippedFile)]
        self.report.passed_over = [(on_one_line(str(file.path)), file.reason) for file in skipped]
        for error in files:
            if isinstance(error, DocumentError):
                self._record_failure(error.source, str(error))
        paths = [file for file in files if isinstance(file, Path)]
        self._bytes_total = sum(map(text_size, paths))
        if paths:
            with _cluster(self._workers) as ray:
                self._run(ray, deque(paths), max_bytes)
        if self._unlisted_errors:
            self.report.failed.append(("", f"{self._unlisted_errors:,} further records cannot be read"))
        return self.report

    def _run(self, ray: Any, waiting: deque[Path], max_bytes: int) -> None:
        """Keep every worker busy until no file is left or the caller asks to stop, and store their results."""
        scheduler = _Scheduler(self._worker_starter(ray), lambda file: self._describe_task(file, max_bytes), waiting)
        for _ in range(min(self._count_workers(ray), len(waiting))):
            scheduler.begin_next()
        while scheduler.busy:
            if self._stop():
                self.report.stopped = True
                self.report.left = len(scheduler.busy) + len(waiting)
                return
            ready, _ = ray.wait(list(scheduler.busy), num_returns=1, timeout=LOOK_SECONDS)
            for reference in ready:
                job, part = scheduler.busy.pop(reference), self._fetch_part(ray, reference)
                if part is not None:
                    scheduler.go_on(job, is_last=part.is_last)  # the worker reads on while this part is stored
                    self._store_part(part, job)
                elif job.attempts < ATTEMPTS:
                    self.report.notes.append((str(job.file), "its worker ended, and it was read again by another"))
                    scheduler.begin_again(job)
                else:
                    self._give_up(job.file)
                    scheduler.begin_next()

    def _fetch_part(self, ray: Any, reference: Any) -> FilePart | None:
        """Return the result behind a Ray reference; None if the worker or its machine has died.

        Raises:
            PreflightError: The worker raised an error.
        """
        try:
            part: FilePart = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise _worker_error(error) from error
        except ray.exceptions.RayError:
            return None
        return part

    def _give_up(self, file: Path) -> None:
        """Report a file whose workers died repeatedly as failed."""
        reason = f"its worker ended {ATTEMPTS} times, as workers do that need more memory than there is"
        self._record_failure(str(file), reason)
        self._finished_bytes += text_size(file)

    def _worker_starter(self, ray: Any) -> Any:
        """Return a function that starts a worker, with its share of a GPU if the cluster has any."""
        gpus = ray.cluster_resources().get("GPU", 0)
        share = {"num_gpus": min(1.0, gpus / self._count_workers(ray))} if gpus else {}
        worker = ray.remote(FileWorker).options(num_cpus=1, **share)
        recorded = self._recorded
        return lambda: worker.remote(recorded["spec"], recorded["revision"], self._splitter)

    def _count_workers(self, ray: Any) -> int:
        """Return the number of workers to use: as the caller said, else one for each GPU, else one for each core."""
        resources = ray.cluster_resources()
        return self._workers or max(1, int(resources.get("GPU", 0) or resources.get("CPU", 1)))

    def _describe_task(self, file: Path, max_bytes: int) -> FileTask:
        """Return the description of a file for a worker, with what the store already has of it."""
        origin = file_origin(file)
        return FileTask(
            path=Path(origin),
            origin=origin,
            folder=self._given.folder_of(file),
            max_bytes=max_bytes,
            finished=self._store.meta(finished_key(origin)),
            known=self._store.contents_of(origin),
        )

    def _store_part(self, part: FilePart, job: _Job) -> None:
        """Store a part of a file, add it to the report, and record the file as finished after its last part."""
        file = job.file
        accepted, is_new = [], dict[str, bool]()
        for document in part.documents:
            stored = self._store.document(document.document.id)
            if reason := _id_conflict(document, stored.origin if stored else ""):
                self._record_failure(document.document.source or document.document.id, reason)
                continue
            accepted.append(document)
            is_new[document.document.id] = stored is None
        if accepted:
            self._store.write_documents(accepted)
        job.characters += part.characters
        size = text_size(file)
        bytes_in_progress = 0 if part.is_last else min(size, job.characters)
        if part.is_last:
            self._finished_bytes += size
            if part.version is not None:
                self._record_finished(file, part.version)
        self.report.notes += part.notes
        self.report.read += part.read
        self.report.skipped += part.skipped
        self._done += part.skipped
        for source, reason in part.failed:
            self._record_failure(source, reason)
        for document in accepted:
            if is_new[document.document.id]:
                self.report.added += 1
            else:
                self.report.updated += 1
            self._done += 1
            self._report_progress(document.document.title or document.document.id, bytes_in_progress)
        if not accepted:
            self._report_progress(str(file), bytes_in_progress)

    def _record_finished(self, file: Path, version: Sequence[Any]) -> None:
        """Record which version of a file is stored completely, so that the next run skips it, and its real path."""
        origin = file_origin(file)
        finished_version = [*version, len(self._store.contents_of(origin))]
        if self._store.meta(finished_key(origin)) != finished_version:
            self._store.set_meta(finished_key(origin), finished_version)
        self._given.record_real_path(self._store, file)

    def _record_failure(self, source: str, reason: str) -> None:
        """Record that a document could not be ingested; after `MOST_ERRORS` messages, only count further errors."""
        self._done += 1
        if len(self.report.failed) < MOST_ERRORS:
            self.report.failed.append((on_one_line(source), on_one_line(reason)))
        else:
            self._unlisted_errors += 1

    def _report_progress(self, name: str, bytes_in_progress: int) -> None:
        """Send a progress event with a document's or file's name to the caller, if it wants any."""
        if self._progress:
            done = min(self._bytes_total, self._finished_bytes + bytes_in_progress)
            self._progress(IngestEvent("documents", self._done, None, on_one_line(name), done, self._bytes_total))


def finished_key(origin: str) -> str:
    """Return the name of the setting that records which version of a file was stored completely."""
    return f"finished:{origin}"


def _id_conflict(document: PreparedDocument, stored_origin: str) -> str | None:
    """Return the reason why another file owns a document's id; None if the document may be stored under it.

    Args:
        document: The document to store.
        stored_origin: The file from which the stored document of this id came; "" if there is none. A file that no
            longer exists owns nothing.
    """
    if stored_origin in ("", document.origin) or not Path(stored_origin).exists():
        return None
    return f"The id {document.document.id!r} belongs to a document of {stored_origin}"


def _worker_error(error: Any) -> PreflightError:
    """Return the cause of a Ray error if it is an error of this package, else an error saying that a worker failed."""
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

    if ray.is_initialized():  # the caller has connected already, and ends the connection itself
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
        _disconnect(ray, folder)
        raise LibraryError(
            f"The Ray cluster cannot be {where}: {first_line(error)}",
            help=f"Check `ray status`, or {ADDRESS}; without it a cluster is started on this machine.",
        ) from error
    try:
        yield ray
    finally:
        _disconnect(ray, folder)


def _disconnect(ray: Any, folder: str | None) -> None:
    """Disconnect from the cluster, and delete its temporary folder if it has one on this machine."""
    with suppress(Exception):  # the cluster may be gone already
        ray.shutdown()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)

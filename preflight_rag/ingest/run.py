"""One ingest run over files or documents: new and changed documents are read, split, embedded in batches and stored."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.ingest.document_store import DocumentStore, SplitDocument
from preflight_rag.ingest.given import GivenPaths, file_origin
from preflight_rag.ingest.identity import content_hash
from preflight_rag.ingest.loaders import find_files, ocr
from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES, SkippedFile, open_regular
from preflight_rag.ingest.prepare import Splitter, embedded_groups, notes_on, read_of, split_document, storable
from preflight_rag.ingest.reading import AHEAD_FILES, PageRead, ReadAhead
from preflight_rag.ingest.report import IngestEvent, IngestReport, Progress, Stage, Stop
from preflight_rag.ingest.work import IngestProgress, count_documents, text_size
from preflight_rag.state.errors import DocumentError
from preflight_rag.state.values import Document
from preflight_rag.text.words import on_one_line

if TYPE_CHECKING:
    from preflight_rag.models.embedding.embedder import Embedder

BATCH_PASSAGES = BATCH_DOCUMENTS = 512
"""Passages, and documents, that are collected before they are embedded and stored together.

Passages of similar length are embedded together: with 512 abstracts, 4 % of the computation is padding, with 128 it is
13 %. A run that is killed loses at most one such batch of vectors.
"""


def ingest_files(
    store: DocumentStore,
    embedder: Embedder,
    splitter: Splitter,
    given: Sequence[Path],
    *,
    prune: bool = False,
    progress: Progress | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    stop: Stop | None = None,
) -> IngestReport:
    """Store the documents of files and folders.

    The caller holds the store's write lock, if it has one, and builds the index afterwards.

    Args:
        store: Where documents are stored.
        embedder: Embeds passages with their titles.
        splitter: Splits documents into passages.
        given: The files and folders to read.
        prune: Whether to remove documents whose file, one of `given` or under one of them, no longer exists; otherwise
            they are only counted.
        progress: Called for every document, and for pages and passages in between.
        max_bytes: Larger files are refused.
        stop: Returns True when the run should end early; documents read by then are stored.
    """
    files = list(find_files(given))
    run = Ingestion(store, embedder, splitter, progress, count_documents(files), stop)
    run.add_files(files, max_bytes, given)
    if not run.report.stopped:
        run.look_for_gone(given, remove=prune)
    return run.report


class _Stopped(BaseException):
    """Raised to end a loader in the middle of a file; not an `Exception`, which a loader would report as a bad file.

    Args:
        error: The error to raise at the end of the run; None if the caller only asked to stop.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error


class Ingestion:
    """One run over documents; the caller holds the library's write lock.

    Args:
        store: Where documents are stored.
        embedder: Embeds passages with their titles.
        splitter: Splits documents into passages.
        progress: Called for every document, and for pages and passages in between.
        total: Number of documents, if it is known.
        stop: Returns True when the run should end early; documents read by then are stored.
    """

    def __init__(
        self,
        store: DocumentStore,
        embedder: Embedder,
        splitter: Splitter,
        progress: Progress | None = None,
        total: int | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.report = IngestReport()
        self._store, self._embedder, self._splitter = store, embedder, splitter
        self._settings = splitter.settings()
        self._progress, self._total, self._done = progress, total, 0
        self._stop = stop or (lambda: False)
        self._work = IngestProgress()
        self._file = ""
        self._pending: list[SplitDocument] = []
        self._new: set[str] = set()
        self._owners: dict[str, str] = {}
        self._read_whole: set[str] = set()
        self._prefixed_ids_of, self._prefixed_ids = "", set[str]()
        self._given = GivenPaths()
        self._reading = ReadAhead()

    def add_files(
        self,
        files: Sequence[Path | DocumentError | SkippedFile],
        max_bytes: int = DEFAULT_MAX_BYTES,
        given: Sequence[Path] = (),
    ) -> None:
        """Store the documents of all files; for a file that cannot be read, the report records the reason.

        Args:
            files: What `find_files` yields: paths, skipped files, and errors of paths that cannot be read.
            max_bytes: Larger files are refused.
            given: The folders that were searched, outside of which nothing is read, and the files named themselves.
        """
        self._given = GivenPaths(given)
        paths = [file for file in files if isinstance(file, Path)]
        ahead = iter(paths)
        self._work = IngestProgress(sum(map(text_size, paths)))
        skipped = [file for file in files if isinstance(file, SkippedFile)]
        self.report.passed_over = [(on_one_line(str(file.path)), file.reason) for file in skipped]
        try:
            for first in islice(ahead, AHEAD_FILES):
                self._queue_unless_unchanged(first, max_bytes)
            for file in files:
                if isinstance(file, DocumentError):
                    self._record_failure(file.source, str(file))
                elif isinstance(file, Path):
                    self._check_for_stop()
                    self._add_file(file, max_bytes)
                    for following in islice(ahead, 1):
                        self._queue_unless_unchanged(following, max_bytes)
            self._flush()
            self._store.drop_kept_vectors()
        except _Stopped as stopped:
            if stopped.error is not None:
                raise stopped.error from None
            self._flush(closing=True)
            self.report.stopped = True
            self.report.left = sum(not self._work.is_finished(file_origin(path)) for path in paths)
        finally:
            self._reading.close()

    def _queue_unless_unchanged(self, file: Path, max_bytes: int) -> None:
        """Queue a file for reading, unless it is known to be unchanged."""
        if not self._is_unchanged_scan(file, file_origin(file)):
            self._reading.begin(file, max_bytes=max_bytes, folder=self._given.folder_of(file))

    def _add_file(self, file: Path, max_bytes: int) -> None:
        """Store the documents of one file; skip a scan that has not changed since its text was recognised."""
        origin = file_origin(file)
        self._file = str(file)
        self._work.open(origin, text_size(file))
        self._report_progress("reading", 0, None)
        must_read = self._reading.is_begun(file) or origin in self._owners
        if must_read or not self._is_unchanged_scan(file, origin):
            for document in self._load_documents(file, origin, max_bytes):
                self._check_for_stop()
                self._work.read_characters(len(document.text))
                self._split_and_queue(document, origin)
            if origin in self._read_whole:
                self._given.record_real_path(self._store, file)
        else:
            self._owners[origin] = origin
            self._read_whole.add(origin)
            self.report.skipped += 1
            self._advance_progress(str(file))
        self._work.close(waits=bool(self._pending))

    def _is_unchanged_scan(self, file: Path, origin: str) -> bool:
        """Return whether a file is a scan that has not changed since its text was recognised, which is slow to repeat.

        Return False for a file that cannot be opened: the loader then reports why.
        """
        recorded_version, stored = self._store.meta(_scan_key(origin)), self._store.document(origin)
        if recorded_version is None or stored is None or stored.origin != origin:
            return False
        try:
            return bool(recorded_version == self._scan_version(file))
        except (DocumentError, OSError):
            return False

    def _scan_version(self, file: Path) -> list[Any]:
        """Return, as JSON values, everything on which a scan's recognised text and its passages depend."""
        with os.fdopen(open_regular(file), "rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        version: list[Any] = json.loads(json.dumps([digest, ocr.languages(), self._settings]))
        return version

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Store documents that do not come from a file."""
        for document in documents:
            self._split_and_queue(document, "")
        self._flush()

    def look_for_gone(self, paths: Sequence[Path], *, remove: bool) -> None:
        """Remove, or only count, the stored documents from `paths` whose file is gone or no longer contains them.

        Args:
            paths: Files and folders of this run; documents from elsewhere are left alone.
            remove: Whether to remove the documents; otherwise they are counted in `report.gone`.
        """
        roots = [Path(os.path.abspath(path)) for path in paths]
        for document_id, origin in self._store.origins():
            was_read_in_this_run = document_id in self._owners
            if was_read_in_this_run or not any(Path(origin).is_relative_to(root) for root in roots):
                continue
            # A file that exists but was not read to its end may still contain the document.
            if origin not in self._read_whole and Path(origin).exists():
                continue
            if not remove:
                self.report.gone += 1
            elif self._store.retire_document(document_id):
                self.report.removed += 1

    def _load_documents(self, file: Path, origin: str, max_bytes: int) -> Iterator[Document]:
        """Yield the documents of a file; record its errors in the report, and whether it was read to its end."""
        if not self._reading.is_begun(file):  # it was taken for an unchanged scan when files were queued
            self._reading.begin(file, max_bytes=max_bytes, folder=self._given.folder_of(file), now=True)
        try:
            for item in self._reading.items(file, self._check_for_stop):
                if isinstance(item, PageRead):
                    self._report_page(item)
                elif isinstance(item, DocumentError):
                    self._record_failure(str(file), str(item))
                else:
                    yield item
            self._read_whole.add(origin)
        except DocumentError as error:
            self._record_failure(str(file), str(error))
        except Exception as error:
            self._record_failure(str(file), f"{type(error).__name__}: {error}")

    def _split_and_queue(self, document: Document, origin: str) -> None:
        """Split one document, and queue it to be embedded and stored; a full batch is stored at once.

        An unchanged document is counted as skipped, and a document that cannot be stored is reported as failed.
        """
        try:
            document = storable(document)
        except DocumentError as error:
            self._record_failure(document.source or document.id, str(error))
            return
        document = self._with_unique_id(document, origin)
        reason = self._find_id_conflict(document.id, origin)
        if reason:
            self._record_failure(document.source or document.id, reason)
            return
        self._owners[document.id] = origin
        self.report.notes += notes_on(document)
        if read := read_of(document):
            self.report.read.append(read)
        stored = self._store.document(document.id)
        digest = content_hash(document, self._settings)
        if stored and stored.content_hash == digest:
            if stored.origin != origin:
                self._store.set_origin(document.id, origin)
            self.report.skipped += 1
            self._count_done(document)
            return
        if self._file:
            self._report_progress("splitting", 0, None)
        try:
            split = split_document(document, self._splitter, origin=origin, content_hash=digest)
        except DocumentError as error:
            self._record_failure(document.source or document.id, str(error))
            return
        if stored is None:
            self._new.add(document.id)
        self._pending.append(split)
        passages = sum(len(waiting.passages) for waiting in self._pending)
        if len(self._pending) >= BATCH_DOCUMENTS or passages >= BATCH_PASSAGES:
            self._flush()

    def _with_unique_id(self, document: Document, origin: str) -> Document:
        """Return the document with an id that is unique among files: "rows.csv#1" if another file has a document "1".

        Many files number their rows from 1. The first file's rows keep their ids; a document whose id was once
        prefixed with its file keeps the prefix. Ids that are valid in every file, such as DOIs, are never changed.
        """
        if not origin or document.id.startswith(origin) or has_global_id(document):
            return document
        prefixed_id = f"{origin}#{document.id}"
        if self._prefixed_ids_of != origin:
            self._prefixed_ids_of = origin
            stored_ids = self._store.contents_of(origin)
            self._prefixed_ids = {stored_id for stored_id in stored_ids if stored_id.startswith(f"{origin}#")}
        is_taken = self._owners.get(document.id) != origin and self._find_id_conflict(document.id, origin)
        if prefixed_id not in self._prefixed_ids and not is_taken:
            return document
        note = (on_one_line(origin), "another file has documents of the same ids: those here are named by their file")
        if note not in self.report.notes[-1:]:
            self.report.notes.append(note)
        return document.model_copy(update={"id": prefixed_id, "metadata": {**document.metadata, "id": document.id}})

    def _find_id_conflict(self, document_id: str, origin: str) -> str | None:
        """Return the reason why another document owns the id; None if a document from `origin` may be stored under it.

        A stored document may be replaced if it came from the same file, from no file, from a file of this run that no
        longer contains it, or from a file that is gone.
        """
        if document_id in self._owners:
            return f"The id {document_id!r} was already read from {self._owners[document_id] or 'another document'}"
        stored = self._store.document(document_id)
        if not stored or not origin or not stored.origin or stored.origin in (origin, *self._read_whole):
            return None
        if Path(stored.origin).exists():
            return f"The id {document_id!r} belongs to a document of {stored.origin}"
        return None

    def _flush(self, *, closing: bool = False) -> None:
        """Embed the passages of the waiting documents, and store these documents in one transaction.

        Args:
            closing: Whether a run that was asked to stop is storing its last documents: they are embedded to the end.

        Raises:
            _Stopped: The caller asked to stop. The vectors computed so far are kept for the next run, and only the
                documents that have all their vectors still wait to be stored.
        """
        pending, self._pending = self._pending, []
        inputs: dict[str, tuple[str, str]] = {}
        for item in pending:
            inputs |= item.inputs()
        vectors = self._store.embedded(list(inputs))
        missing = {key: title_and_text for key, title_and_text in inputs.items() if key not in vectors}
        groups, computed = embedded_groups(self._embedder, missing), dict[str, bytes]()
        while len(computed) < len(missing):
            if self._stop() and not closing:
                self._store.keep_vectors(computed)
                vectors |= computed
                self._pending = [item for item in pending if all(key in vectors for key in item.keys)]
                self._work.lose(item.origin for item in pending if item not in self._pending)
                raise _Stopped
            self._work.embedded(len(computed) / len(missing))
            self._report_progress("embedding", len(computed), len(missing))
            computed |= next(groups)
        self._work.embedded(1.0)
        vectors |= computed
        if pending:
            self._store.write_documents([item.with_vectors(vectors) for item in pending])
        for item in pending:
            document = item.document
            if document.metadata.get("ocr_pages") and document.id == item.origin:
                # A scan that is gone, or whose name is not Unicode, has no version: the next run reads it again.
                with suppress(DocumentError, OSError):
                    self._store.set_meta(_scan_key(item.origin), self._scan_version(Path(item.origin)))
            is_new = document.id in self._new
            self.report.added += is_new
            self.report.updated += not is_new
            self._count_done(document)
        self._work.flushed()

    def _check_for_stop(self) -> None:
        """Raise `_Stopped` if the caller asks to end the run."""
        if self._stop():
            raise _Stopped

    def _report_page(self, page: PageRead) -> None:
        """Report the pages read of the current file."""
        self._check_for_stop()
        self._work.read_pages(page.done, page.total)
        try:
            self._report_progress("reading", page.done, page.total)
        except Exception as error:  # an error of the caller's progress function, not of the file
            raise _Stopped(error) from error

    def _record_failure(self, source: str, reason: str) -> None:
        """Record that a document or file could not be ingested."""
        self.report.failed.append((on_one_line(source), on_one_line(reason)))
        self._advance_progress(source)

    def _count_done(self, document: Document) -> None:
        """Count a document as done, and report the progress under its title."""
        self._advance_progress(document.title or document.source or document.id)

    def _advance_progress(self, name: str) -> None:
        """Count one more document, and report the progress."""
        self._done += 1
        if self._total is not None:  # more than expected: a file of one document may have others attached
            self._total = max(self._total, self._done)
        self._report_progress("documents", self._done, self._total, name)

    def _report_progress(
        self,
        stage: Stage,
        done: int,
        total: int | None,
        name: str = "",
    ) -> None:
        """Send a progress event to the caller, if it wants any; the current file's name stands for a missing `name`."""
        if self._progress:
            event = IngestEvent(stage, done, total, on_one_line(name or self._file), self._work.done, self._work.total)
            self._progress(event)


_GLOBAL_ID = re.compile(r"(?:PMID|PMCID|DOI)\b|PMC\d|10\.\d{4,9}/|https?://|urn:", re.IGNORECASE)
"""The beginning of an id that means the same in every file: "PMID 123", "PMC1", "10.1000/1", "https://x.example"."""
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def has_global_id(document: Document) -> bool:
    """Return whether a document's id means the same in every file: a PubMed id, a DOI, a URL or a UUID."""
    if document.id == str(document.metadata.get("pmid") or ""):
        return True
    return bool(_GLOBAL_ID.match(document.id) or _UUID.fullmatch(document.id))


def _scan_key(origin: str) -> str:
    """Return the name of the setting that records the version of a scan."""
    return f"scan:{origin}"

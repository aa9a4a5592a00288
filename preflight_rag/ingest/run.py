"""One run over files or documents: what is new is read, split, embedded in batches and stored."""

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
"""Documents wait for each other until so many passages, or documents, can be embedded at once.

Passages of like length are embedded together: of 512 abstracts 4 % of what is computed is padding, of 128 it is 13 %.
A run that is killed embeds as many again.
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
    """Store the documents of files and folders; with `prune`, remove those whose files under them are gone.

    The caller holds the store's write lock, if it has one, and builds the index afterwards.
    """
    files = list(find_files(given))
    run = Ingestion(store, embedder, splitter, progress, count_documents(files), stop)
    run.add_files(files, max_bytes, given)
    if not run.report.stopped:
        run.look_for_gone(given, remove=prune)
    return run.report


class _Stopped(BaseException):
    """Ends a loader in the middle of a file; no `Exception`, so that no loader treats it as a fault of the file."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error


class Ingestion:
    """One run over documents; the caller holds the library's write lock.

    Args:
        store: Where documents go.
        embedder: Embeds passages with their titles.
        splitter: Makes passages.
        progress: Called for every document, and for pages and passages in between.
        total: Number of documents, where it is known.
        stop: Whether to end the run; what is read by then is kept.
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
        self._renamed_of, self._renamed = "", set[str]()
        self._given = GivenPaths()
        self._reading = ReadAhead()

    def add_files(
        self,
        files: Sequence[Path | DocumentError | SkippedFile],
        max_bytes: int = DEFAULT_MAX_BYTES,
        given: Sequence[Path] = (),
    ) -> None:
        """Store the documents of all files; for a file that cannot be read, the report records the reason.

        `given` are the folders in which the files were found, outside of which nothing is read, and the files named
        themselves.
        """
        self._given = GivenPaths(given)
        paths = [file for file in files if isinstance(file, Path)]
        ahead = iter(paths)
        self._work = IngestProgress(sum(map(text_size, paths)))
        passed = [file for file in files if isinstance(file, SkippedFile)]
        self.report.passed_over = [(on_one_line(str(each.path)), each.reason) for each in passed]
        try:
            for first in islice(ahead, AHEAD_FILES):
                self._begin(first, max_bytes)
            for file in files:
                if isinstance(file, DocumentError):
                    self._fail(file.source, str(file))
                elif isinstance(file, Path):
                    self._go_on()
                    self._add_file(file, max_bytes)
                    for following in islice(ahead, 1):
                        self._begin(following, max_bytes)
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

    def _begin(self, file: Path, max_bytes: int) -> None:
        """Queue a file for reading, unless it is known to be unchanged."""
        if not self._is_unchanged_scan(file, file_origin(file)):
            self._reading.begin(file, max_bytes=max_bytes, folder=self._given.folder_of(file))

    def _add_file(self, file: Path, max_bytes: int) -> None:
        """Store the documents of one file."""
        origin = file_origin(file)
        self._file = str(file)
        self._work.open(origin, text_size(file))
        self._report_progress("reading", 0, None)
        if self._reading.is_begun(file) or origin in self._owners or not self._is_unchanged_scan(file, origin):
            for document in self._documents_of(file, origin, max_bytes):
                self._go_on()
                self._work.read_characters(len(document.text))
                self._add(document, origin)
            if origin in self._read_whole:
                self._given.note_place(self._store, file)
        else:
            self._owners[origin] = origin
            self._read_whole.add(origin)
            self.report.skipped += 1
            self._advance(str(file))
        self._work.close(waits=bool(self._pending))

    def _is_unchanged_scan(self, file: Path, origin: str) -> bool:
        """Return whether a file is a scan, unchanged since its text was recognised, which takes seconds a page."""
        known, stored = self._store.meta(_scan_key(origin)), self._store.document(origin)
        if known is None or stored is None or stored.origin != origin:
            return False
        try:
            return bool(known == self._scan_version(file))
        except (DocumentError, OSError):  # no file any more: reading it says so
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
            self._add(document, "")
        self._flush()

    def look_for_gone(self, paths: Sequence[Path], *, remove: bool) -> None:
        """Remove, or count, the documents from under `paths` whose file is gone or no longer contains them."""
        roots = [Path(os.path.abspath(path)) for path in paths]
        for document_id, origin in self._store.origins():
            if document_id in self._owners or not any(Path(origin).is_relative_to(root) for root in roots):
                continue
            if origin not in self._read_whole and Path(origin).exists():
                continue
            if not remove:
                self.report.gone += 1
            elif self._store.retire_document(document_id):
                self.report.removed += 1

    def _documents_of(self, file: Path, origin: str, max_bytes: int) -> Iterator[Document]:
        """Yield the documents of a file; errors are recorded."""
        if not self._reading.is_begun(file):  # it seemed not to be needed
            self._reading.begin(file, max_bytes=max_bytes, folder=self._given.folder_of(file), now=True)
        try:
            for item in self._reading.items(file, self._go_on):
                if isinstance(item, PageRead):
                    self._on_page(item)
                elif isinstance(item, DocumentError):
                    self._fail(str(file), str(item))
                else:
                    yield item
            self._read_whole.add(origin)
        except DocumentError as error:
            self._fail(str(file), str(error))
        except Exception as error:
            self._fail(str(file), f"{type(error).__name__}: {error}")

    def _add(self, document: Document, origin: str) -> None:
        """Store one document, unless it is unchanged or has an error."""
        try:
            document = storable(document)
        except DocumentError as error:
            self._fail(document.source or document.id, str(error))
            return
        document = self._named_within_file(document, origin)
        reason = self._conflict(document.id, origin)
        if reason:
            self._fail(document.source or document.id, reason)
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
            self._step(document)
            return
        if self._file:
            self._report_progress("splitting", 0, None)
        try:
            split = split_document(document, self._splitter, origin=origin, content_hash=digest)
        except DocumentError as error:
            self._fail(document.source or document.id, str(error))
            return
        if stored is None:
            self._new.add(document.id)
        self._pending.append(split)
        if len(self._pending) >= BATCH_DOCUMENTS or sum(len(item.passages) for item in self._pending) >= BATCH_PASSAGES:
            self._flush()

    def _named_within_file(self, document: Document, origin: str) -> Document:
        """Return the document; if another file has a document with its id, with its file's name added to the id.

        Many files number their rows from 1. The first file's rows keep their ids; a document once named by its file
        keeps that name.
        """
        if not origin or document.id.startswith(origin) or has_global_id(document):
            return document
        named = f"{origin}#{document.id}"
        if self._renamed_of != origin:
            self._renamed_of = origin
            self._renamed = {name for name in self._store.contents_of(origin) if name.startswith(f"{origin}#")}
        is_taken = self._owners.get(document.id) != origin and self._conflict(document.id, origin)
        if named not in self._renamed and not is_taken:
            return document
        note = (on_one_line(origin), "another file has documents of the same ids: those here are named by their file")
        if note not in self.report.notes[-1:]:
            self.report.notes.append(note)
        return document.model_copy(update={"id": named, "metadata": {**document.metadata, "id": document.id}})

    def _conflict(self, document_id: str, origin: str) -> str | None:
        """Return why a document may not be stored under its id: another document has it; else None."""
        if document_id in self._owners:
            return f"The id {document_id!r} was already read from {self._owners[document_id] or 'another document'}"
        stored = self._store.document(document_id)
        if not stored or not origin or not stored.origin or stored.origin in (origin, *self._read_whole):
            return None
        if Path(stored.origin).exists():
            return f"The id {document_id!r} belongs to a document of {stored.origin}"
        return None

    def _flush(self, *, closing: bool = False) -> None:
        """Embed the passages of the waiting documents, and store all of these in one transaction.

        A run that is asked to stop keeps the vectors computed so far for the next one, and stores the complete
        documents.
        """
        pending, self._pending = self._pending, []
        inputs: dict[str, tuple[str, str]] = {}
        for item in pending:
            inputs |= item.inputs()
        vectors = self._store.embedded(list(inputs))
        missing = {key: given for key, given in inputs.items() if key not in vectors}
        groups, made = embedded_groups(self._embedder, missing), dict[str, bytes]()
        while len(made) < len(missing):
            if self._stop() and not closing:
                self._store.keep_vectors(made)
                vectors |= made
                self._pending = [item for item in pending if all(key in vectors for key in item.keys)]
                self._work.lose(item.origin for item in pending if item not in self._pending)
                raise _Stopped
            self._work.embedded(len(made) / len(missing))
            self._report_progress("embedding", len(made), len(missing))
            made |= next(groups)
        self._work.embedded(1.0)
        vectors |= made
        if pending:
            self._store.write_documents([item.with_vectors(vectors) for item in pending])
        for item in pending:
            document = item.document
            if document.metadata.get("ocr_pages") and document.id == item.origin:
                with suppress(DocumentError, OSError):  # gone, or of a name that is no Unicode: it is read again
                    self._store.set_meta(_scan_key(item.origin), self._scan_version(Path(item.origin)))
            is_new = document.id in self._new
            self.report.added += is_new
            self.report.updated += not is_new
            self._step(document)
        self._work.flushed()

    def _go_on(self) -> None:
        """End the run if the caller asks for it."""
        if self._stop():
            raise _Stopped

    def _on_page(self, page: PageRead) -> None:
        """Report the pages read of the current file."""
        self._go_on()
        self._work.read_pages(page.done, page.total)
        try:
            self._report_progress("reading", page.done, page.total)
        except Exception as error:  # of who is shown the progress, and no fault of the file
            raise _Stopped(error) from error

    def _fail(self, source: str, reason: str) -> None:
        """Record that a document or file could not be ingested."""
        self.report.failed.append((on_one_line(source), on_one_line(reason)))
        self._advance(source)

    def _step(self, document: Document) -> None:
        """Count a document as done."""
        self._advance(document.title or document.source or document.id)

    def _advance(self, name: str) -> None:
        """Count one more document, and report the progress."""
        self._done += 1
        if self._total is not None:  # a file of one document may have others attached
            self._total = max(self._total, self._done)
        self._report_progress("documents", self._done, self._total, name)

    def _report_progress(
        self,
        stage: Stage,
        done: int,
        total: int | None,
        name: str = "",
    ) -> None:
        """Send a progress event to the caller."""
        if self._progress:
            event = IngestEvent(stage, done, total, on_one_line(name or self._file), self._work.done, self._work.total)
            self._progress(event)


_GLOBAL_ID = re.compile(r"(?:PMID|PMCID|DOI)\b|PMC\d|10\.\d{4,9}/|https?://|urn:", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def has_global_id(document: Document) -> bool:
    """Return whether a document's id means the same in every file: a PubMed id, a DOI, an address, a UUID."""
    if document.id == str(document.metadata.get("pmid") or ""):
        return True
    return bool(_GLOBAL_ID.match(document.id) or _UUID.fullmatch(document.id))


def _scan_key(origin: str) -> str:
    """Return the name of the setting that records the version of a scan."""
    return f"scan:{origin}"

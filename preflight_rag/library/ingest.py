"""Ingest: documents into the store, one transaction each, embedded in batches.

What does not change costs nothing: a document with the same content hash is skipped, and a passage whose text was
embedded before keeps its vector. One bad document never stops the run.

Documents that a turn found elsewhere (PubMed) are stored on the way, without an ingest, and become passages like any
other. One that the library has already, under its id or from a file under the same source (a PMID), is not stored
again. What cannot be stored never fails the caller: it is reported, and the passages that are there come back.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from preflight_rag.library.loaders import ocr
from preflight_rag.library.loaders.fields import absolute, json_values
from preflight_rag.library.loaders.files import (
    DEFAULT_MAX_BYTES,
    ONE_DOCUMENT,
    PassedOver,
    is_inside,
    open_regular,
    suffix_of,
)
from preflight_rag.library.loaders.isolated import IsolatedLoader
from preflight_rag.library.storage.identity import content_hash, place_key, vector_key
from preflight_rag.state.errors import DocumentError, EmptyDocument, PreflightError
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.dates import find_date
from preflight_rag.text.words import on_one_line

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store
    from preflight_rag.models.embedding.embedder import Embedder

BATCH_PASSAGES = 128
BATCH_DOCUMENTS = 512
"""Documents wait for each other until so many passages, or documents, can be embedded at once; both are guesses."""
GROUP_PASSAGES = 64
"""So many are embedded at once, which takes about two seconds, between two looks at whether to stop."""
READING = 0.2
"""Part of the work on a file that reading it is, beside embedding; a guess, for the time that is left."""
TEXT_SHARES = {".gz": 4.0, ".pdf": 0.1, ".docx": 0.3, ".epub": 0.3, ".pptx": 0.05, ".odp": 0.05, ".odt": 0.3}
"""Bytes of text in a byte of a file, by its ending, where pictures or compression matter; guesses, for the same."""
DEADLINE = 30.0
"""Seconds that a turn waits for documents found elsewhere to be stored, a guess at what a person waits."""
REBUILD_PASSAGES = 20_000
"""Up to so many passages the index is rebuilt within a turn, which takes about a second; a guess."""
MOST_AT_ONCE = 1 << 16
"""Bytes of a line that are read at once where lines are counted."""
GROUP_CHARACTERS = 12_000
"""Documents found elsewhere are embedded in groups of about so many characters, between two looks at the clock."""


class Splitter(Protocol):
    """What an ingest needs of a splitter."""

    def settings(self) -> dict[str, Any]:
        """What decides where passages begin and end."""

    def split(self, document: Document) -> list[Passage]:
        """The document's passages in order."""


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """One step of an ingest.

    Attributes:
        stage: "waiting" where another process writes the library, whose folder is the name; "reading" while a file is
            read, "splitting" when a document of it is, and "embedding" while passages are, as often as there is
            something new to say; "documents" after each document that is stored, skipped or failed; "index" at the end.
        done: Pages of the file in hand, passages of the batch in hand, documents so far, or steps of the index so far.
        total: How many there are, or None where that is not known before they are read.
        name: The file in hand (reading, embedding), the document, or the step.
        bytes_done: Work done in all files, in bytes of them: a file that is half read and embedded counts for half.
        bytes_total: Bytes of all files, known before the first is read; 0 where documents come from no file.
    """

    stage: Literal["waiting", "reading", "splitting", "embedding", "documents", "index"]
    done: int
    total: int | None
    name: str
    bytes_done: int = 0
    bytes_total: int = 0


Progress: TypeAlias = Callable[[IngestEvent], None]
Stop: TypeAlias = Callable[[], bool]
"""Asked between pages, documents and groups of passages; true ends the run after what is in hand."""


@dataclass
class IngestReport:
    """What an ingest did, in documents.

    Attributes:
        failed: `(source, reason)` of each file or record that could not be taken in.
        passed_over: `(path, reason)` of each file or folder, found in a folder, that is not read by its kind.
        notes: `(source, note)` on documents that were taken in, but not all of them: pages that are pictures.
        stopped: Whether the run was asked to stop before its end.
        left: Files that were not begun, or not read to their end, because of that.
    """

    added: int = 0
    updated: int = 0
    skipped: int = 0
    removed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    stopped: bool = False
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "added": self.added,
            "updated": self.updated,
            "skipped": self.skipped,
            "removed": self.removed,
            "failed": [{"source": source, "reason": reason} for source, reason in self.failed],
            "passed_over": [{"source": source, "reason": reason} for source, reason in self.passed_over],
            "notes": [{"source": source, "note": note} for source, note in self.notes],
            "stopped": self.stopped,
            "left": self.left,
        }


class _Stopped(BaseException):
    """Leaves a loader in the middle of a file; no `Exception`, so that no loader takes it for a fault of the file."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document that waits for its batch to be embedded."""

    document: Document
    origin: str
    content_hash: str
    passages: list[Passage]
    is_new: bool


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
        store: Store,
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
        self._work = _Work()
        self._file = ""
        self._pending: list[_Pending] = []
        self._owners: dict[str, str] = {}
        self._read_whole: set[str] = set()
        self._folders: dict[str, Path] = {}
        self._named: set[str] = set()
        self._loader = IsolatedLoader()

    def add_files(
        self,
        files: Sequence[Path | DocumentError | PassedOver],
        max_bytes: int = DEFAULT_MAX_BYTES,
        given: Sequence[Path] = (),
    ) -> None:
        """Store every document of the files; what stands in the place of a file is recorded.

        `given` are the folders in which they were found, which nothing is read outside of, and files by their names.
        """
        self._folders = {os.path.abspath(path): path.resolve() for path in given if path.is_dir()}
        self._named = {os.path.abspath(path) for path in given} - set(self._folders)
        paths = [file for file in files if isinstance(file, Path)]
        self._work = _Work(sum(map(_size, paths)))
        passed = [file for file in files if isinstance(file, PassedOver)]
        self.report.passed_over = [(on_one_line(str(each.path)), each.reason) for each in passed]
        try:
            for file in files:
                if isinstance(file, DocumentError):
                    self._fail(file.source, str(file))
                elif isinstance(file, Path):
                    self._go_on()
                    self._add_file(file, max_bytes)
            self._flush()
            self._store.drop_kept_vectors()
        except _Stopped as stopped:
            if stopped.error is not None:
                raise stopped.error from None
            self._flush(closing=True)
            self.report.stopped = True
            self.report.left = sum(not self._work.is_finished(file_origin(path)) for path in paths)
        finally:
            self._loader.close()

    def _add_file(self, file: Path, max_bytes: int) -> None:
        origin = file_origin(file)
        self._file = str(file)
        self._work.open(origin, _size(file))
        self._report_progress("reading", 0, None)
        if not self._is_read_scan(file, origin):
            for document in self._documents_of(file, origin, max_bytes):
                self._go_on()
                self._work.read_characters(len(document.text))
                self._add(document, origin)
            self._note_place(file, origin)
        self._work.close(waits=bool(self._pending))

    def _folder_of(self, file: Path) -> Path | None:
        """The folder that a file was found in, its links resolved; None where the file itself was named."""
        path = os.path.abspath(file)
        if path in self._named:
            return None
        return next((real for folder, real in self._folders.items() if Path(path).is_relative_to(folder)), None)

    def _note_place(self, file: Path, origin: str) -> None:
        """Record where a file lies whose path has links in it: it may be shown from there, and from nowhere else."""
        try:
            real, folder = os.path.realpath(file), self._folder_of(file)
        except OSError:  # it changes while it is asked
            return
        if origin not in self._read_whole or real == origin or not (folder is None or is_inside(Path(real), folder)):
            return
        if self._store.meta(place_key(origin)) != unicode_text(real):
            self._store.set_meta(place_key(origin), unicode_text(real))

    def _is_read_scan(self, file: Path, origin: str) -> bool:
        """Whether this is a scan that has not changed since its text was recognised, which takes seconds a page."""
        known, stored = self._store.meta(_scan_key(origin)), self._store.document(origin)
        if known is None or stored is None or stored.origin != origin or origin in self._owners:
            return False
        try:
            if known != self._scan_version(file):
                return False
        except (DocumentError, OSError):  # no file any more: reading it says so
            return False
        self._owners[origin] = origin
        self._read_whole.add(origin)
        self.report.skipped += 1
        self._advance(str(file))
        return True

    def _scan_version(self, file: Path) -> list[Any]:
        """What decides the text that is recognised in a file, and how it is split; as JSON gives it back."""
        with os.fdopen(open_regular(file), "rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        version: list[Any] = json.loads(json.dumps([digest, ocr.languages(), self._settings]))
        return version

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Store documents that come from no file."""
        for document in documents:
            self._add(document, "")
        self._flush()

    def prune(self, paths: Sequence[Path]) -> None:
        """Remove documents from under `paths` whose file has vanished or no longer holds them."""
        roots = [Path(os.path.abspath(path)) for path in paths]
        for document_id, origin in self._store.origins():
            if document_id in self._owners or not any(Path(origin).is_relative_to(root) for root in roots):
                continue
            if (origin in self._read_whole or not Path(origin).exists()) and self._store.retire_document(document_id):
                self.report.removed += 1

    def _documents_of(self, file: Path, origin: str, max_bytes: int) -> Iterator[Document]:
        try:
            folder = self._folder_of(file)
            for item in self._loader.load(file, max_bytes=max_bytes, on_page=self._on_page, folder=folder):
                if isinstance(item, DocumentError):
                    self._fail(str(file), str(item))
                else:
                    yield item
            self._read_whole.add(origin)
        except DocumentError as error:
            self._fail(str(file), str(error))
        except Exception as error:
            self._fail(str(file), f"{type(error).__name__}: {error}")

    def _add(self, document: Document, origin: str) -> None:
        try:
            document = storable(document)
        except DocumentError as error:
            self._fail(document.source or document.id, str(error))
            return
        reason = self._conflict(document.id, origin)
        if reason:
            self._fail(document.source or document.id, reason)
            return
        self._owners[document.id] = origin
        self._note(document)
        stored = self._store.document(document.id)
        digest = content_hash(document, self._settings)
        if stored and stored.content_hash == digest:
            if stored.origin != origin:
                self._store.set_origin(document.id, origin)
            self.report.skipped += 1
            self._step(document)
            return
        document = dated(document)
        if self._file:
            self._report_progress("splitting", 0, None)
        try:
            passages = self._split(document)
        except DocumentError as error:
            self._fail(document.source or document.id, str(error))
            return
        self._pending.append(_Pending(document, origin, digest, passages, is_new=stored is None))
        if len(self._pending) >= BATCH_DOCUMENTS or sum(len(item.passages) for item in self._pending) >= BATCH_PASSAGES:
            self._flush()

    def _note(self, document: Document) -> None:
        """Record what of a document was not read, or not surely."""
        source = on_one_line(document.source or document.id)
        if unread := document.metadata.get("unread"):
            self.report.notes.append((source, f"not read: {unread}"))
        if pages := document.metadata.get("ocr_pages"):
            many = f"{len(pages)} pages are pictures" if len(pages) > 1 else "1 page is a picture"
            self.report.notes.append((source, f"{many}; the text was recognised, and may hold misread letters"))

    def _split(self, document: Document) -> list[Passage]:
        try:
            passages = self._splitter.split(document)
        except PreflightError:
            raise
        except Exception as error:
            raise DocumentError(f"Cannot be split ({type(error).__name__}: {error})") from error
        if not passages:
            raise EmptyDocument(f"{document.source or document.id} holds no text")
        return passages

    def _conflict(self, document_id: str, origin: str) -> str | None:
        """Why a document may not be stored under its id: another one has it."""
        if document_id in self._owners:
            return f"The id {document_id!r} was already read from {self._owners[document_id] or 'another document'}"
        stored = self._store.document(document_id)
        if not stored or not origin or not stored.origin or stored.origin in (origin, *self._read_whole):
            return None
        if Path(stored.origin).exists():
            return f"The id {document_id!r} belongs to a document of {stored.origin}"
        return None

    def _flush(self, *, closing: bool = False) -> None:
        """Embed the waiting documents' passages and store each document in a transaction of its own.

        A run that is asked to stop keeps the vectors that it has for the next one, and the documents that are whole.
        """
        pending, self._pending = self._pending, []
        inputs = {vector_key(passage): (passage.title, passage.text) for item in pending for passage in item.passages}
        vectors = self._store.embedded(list(inputs))
        # Texts of like length are embedded together, which wastes least.
        missing = sorted((key for key in inputs if key not in vectors), key=lambda key: len(inputs[key][1]))
        embedder = self._embedder.for_many(len(missing))
        for start in range(0, len(missing), GROUP_PASSAGES):
            if self._stop() and not closing:
                self._store.keep_vectors({key: vectors[key] for key in missing[:start]})
                self._pending = [item for item in pending if all(vector_key(each) in vectors for each in item.passages)]
                self._work.lose(item.origin for item in pending if item not in self._pending)
                raise _Stopped
            self._work.embedded(start / len(missing))
            self._report_progress("embedding", start, len(missing))
            group = missing[start : start + GROUP_PASSAGES]
            encoded = embedder.encode_passages([inputs[key] for key in group])
            vectors |= {key: row.astype("<f4").tobytes() for key, row in zip(group, encoded, strict=True)}
        self._work.embedded(1.0)
        for item in pending:
            rows = [(passage, vector_key(passage), vectors[vector_key(passage)]) for passage in item.passages]
            self._store.write_document(item.document, origin=item.origin, content_hash=item.content_hash, passages=rows)
            if item.document.metadata.get("ocr_pages") and item.document.id == item.origin:
                with suppress(DocumentError, OSError):  # gone, or of a name that is no Unicode: it is read again
                    self._store.set_meta(_scan_key(item.origin), self._scan_version(Path(item.origin)))
            self.report.added += item.is_new
            self.report.updated += not item.is_new
            self._step(item.document)
        self._work.flushed()

    def _go_on(self) -> None:
        if self._stop():
            raise _Stopped

    def _on_page(self, done: int, total: int) -> None:
        self._go_on()
        self._work.read_pages(done, total)
        try:
            self._report_progress("reading", done, total)
        except Exception as error:
            raise _Stopped(error) from error

    def _fail(self, source: str, reason: str) -> None:
        self.report.failed.append((on_one_line(source), on_one_line(reason)))
        self._advance(source)

    def _step(self, document: Document) -> None:
        self._advance(document.title or document.source or document.id)

    def _advance(self, name: str) -> None:
        self._done += 1
        self._report_progress("documents", self._done, self._total, name)

    def _report_progress(
        self,
        stage: Literal["reading", "splitting", "embedding", "documents"],
        done: int,
        total: int | None,
        name: str = "",
    ) -> None:
        if self._progress:
            event = IngestEvent(stage, done, total, on_one_line(name or self._file), self._work.done, self._work.total)
            self._progress(event)


class _Work:
    """How much of all files is done, in bytes: reading a file is the part `READING` of the work on it."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self._finished: set[str] = set()
        self._lost: set[str] = set()
        self._finished_bytes = 0
        self._waiting: dict[str, int] = {}
        self._file, self._size, self._characters = "", 0, 0
        self._read = self._stored = self._embedded = 0.0

    @property
    def done(self) -> int:
        """Bytes that are done, at most `total`."""
        embedded = self._stored + (self._read - self._stored) * self._embedded
        in_hand = self._size * (READING * self._read + (1 - READING) * embedded)
        waiting = sum(self._waiting.values()) * (READING + (1 - READING) * self._embedded)
        return min(self.total, int(self._finished_bytes + waiting + in_hand))

    def open(self, file: str, size: int) -> None:
        """A file is begun."""
        self._file, self._size, self._characters = file, size, 0
        self._read = self._stored = self._embedded = 0.0

    def read_pages(self, done: int, total: int) -> None:
        """So many of its pages have been read."""
        self._read = min(1.0, done / max(1, total))

    def read_characters(self, count: int) -> None:
        """A document of it has been read."""
        self._characters += count
        self._read = max(self._read, min(0.99, self._characters / max(1, self._size)))

    def close(self, *, waits: bool) -> None:
        """The file has been read to its end; with `waits` some of it is to be embedded yet."""
        if waits:
            stored = int(self._size * self._stored)  # by earlier batches, of a file of many documents
            self._finished_bytes += stored
            self._waiting[self._file] = self._size - stored
        else:
            self._finish(self._file, self._size)
        self._size = 0

    def embedded(self, share: float) -> None:
        """Of what waits, so much is embedded."""
        self._embedded = share

    def flushed(self) -> None:
        """All that waited is stored."""
        for file, size in self._waiting.items():
            self._finish(file, size)
        self._waiting = {}
        self._stored, self._embedded = self._read, 0.0

    def lose(self, files: Iterable[str]) -> None:
        """Of these files, something is not stored in this run."""
        self._lost |= set(files)

    def is_finished(self, file: str) -> bool:
        """Whether a file was read to its end, and all of it stored."""
        return file in self._finished and file not in self._lost

    def _finish(self, file: str, size: int) -> None:
        self._finished.add(file)
        self._finished_bytes += size


def _size(file: Path) -> int:
    """Bytes of text that a file may hold, told by its size and kind."""
    try:
        size = file.stat().st_size
    except OSError:
        return 0
    return int(size * next((share for suffix, share in TEXT_SHARES.items() if file.name.lower().endswith(suffix)), 1.0))


def _scan_key(origin: str) -> str:
    return f"scan:{origin}"


def count_documents(files: Sequence[Path | DocumentError | PassedOver]) -> int | None:
    """How many documents, or failures, the files will give; None where only reading them can tell."""
    total = 0
    for file in files:
        if isinstance(file, PassedOver):
            continue
        if isinstance(file, DocumentError) or suffix_of(file) in ONE_DOCUMENT:
            total += 1
        elif suffix_of(file).startswith((".jsonl", ".ndjson")):
            try:
                total += _lines(file)
            except (DocumentError, OSError, EOFError, zlib.error):
                return None
        else:
            return None
    return total


def _lines(file: Path) -> int:
    """Lines of a file of records that are not blank, as far as the file may be read; none is held in memory whole."""
    count, begins, read = 0, True, 0
    with os.fdopen(open_regular(file), "rb") as data:
        unpacked = gzip.GzipFile(fileobj=data) if file.name.lower().endswith(".gz") else data
        while read < DEFAULT_MAX_BYTES and (piece := unpacked.readline(MOST_AT_ONCE)):
            count += begins and bool(piece.strip())
            begins, read = piece.endswith(b"\n"), read + len(piece)
    return count


def file_origin(path: Path) -> str:
    """The name under which a file's documents are remembered: its absolute path."""
    return absolute(path)


def storable(document: Document) -> Document:
    """The document as it is stored: a title stands for a missing text, U+FFFD for lone surrogates, null for NaN.

    Raises:
        UnreadableDocument: Its metadata has too many levels.
    """
    if not document.text.strip():
        document = document.model_copy(update={"text": document.title})
    names = ("id", "text", "source", "title", "date")
    values = {name: value for name in names if isinstance(value := getattr(document, name), str)}
    changed: dict[str, Any] = {name: text for name, value in values.items() if (text := unicode_text(value)) != value}
    try:
        json.dumps(document.metadata, allow_nan=False, default=str)
    except (ValueError, RecursionError):
        changed["metadata"] = json_values(document.metadata)
    return document.model_copy(update=changed) if changed else document


def dated(document: Document) -> Document:
    """The document with the date found inside it where it has none; `metadata["date_from"]` says where it is from."""
    if document.date:
        return document.model_copy(update={"metadata": {"date_from": "metadata"} | document.metadata})
    found = find_date(document.text, title=document.title, url=document.source)
    if found is None:
        return document
    metadata = {"date_from": "text"} | document.metadata
    return document.model_copy(update={"date": str(found.date), "metadata": metadata})


def unicode_text(text: str) -> str:
    """The text with U+FFFD for lone surrogates, at the same length."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True)
class InternReport:
    """What became of documents that were found elsewhere and were to be stored.

    Attributes:
        passages: Of all those documents that the library now has, in the order of the documents.
        problems: What could not be stored, one line each.
        new: Ids of those passages whose documents the library did not have before.
    """

    passages: tuple[Passage, ...] = ()
    problems: tuple[str, ...] = ()
    new: frozenset[str] = frozenset()


def known_documents(store: Store, documents: Sequence[Document]) -> dict[str, str]:
    """For each document that need not be stored, by its id: the id under which the library has the same."""
    settings = store.meta("splitter") or {}
    by_source = store.documents_from([document.source for document in documents])
    found = {}
    for document in documents:
        other = by_source.get(document.source)
        stored = store.document(document.id)
        if other is not None and other != document.id:
            found[document.id] = other
        elif stored is not None and stored.content_hash == content_hash(document, settings):
            found[document.id] = document.id
    return found


def add_until(run: Ingestion, documents: Sequence[Document], end: float) -> list[str]:
    """Split, embed and store documents until `end`, as `time.monotonic()` counts; returns what could not be stored."""
    done = 0
    for group in _groups(documents):
        if time.monotonic() > end:
            break
        run.add_documents(group)
        done += len(group)
    problems = [f"{source} could not be taken in: {reason}" for source, reason in run.report.failed]
    if done < len(documents):
        left = [document.source for document in documents[done:]]
        names = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
        problems.append(f"{len(left)} of {len(documents)} new documents could not be read in time: {names}")
    return problems


def passages_of(store: Store, document_ids: Sequence[str]) -> tuple[Passage, ...]:
    """All passages of documents, in the order of the documents and of their texts."""
    names = store.passage_ids(document_ids)
    found = store.passages([name for document in document_ids for name in names.get(document, [])])
    return tuple(found[name] for document in document_ids for name in names.get(document, []) if name in found)


def _groups(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Runs of documents that are embedded together, each of about as many characters."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group

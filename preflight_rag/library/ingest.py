"""Ingest: documents into the store, one transaction each, embedded in batches.

What does not change costs nothing: a document with the same content hash is skipped, and a passage whose text was
embedded before keeps its vector. One bad document never stops the run.

Documents that a turn found elsewhere (PubMed) are stored on the way, without an ingest, and become passages like any
other. One that the library has already, under its id or from a file under the same source (a PMID), is not stored
again. What cannot be stored never fails the caller: it is reported, and the passages that are there come back.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from preflight_rag.library.loaders import load
from preflight_rag.library.loaders.files import DEFAULT_MAX_BYTES, ONE_DOCUMENT, open_binary, suffix_of
from preflight_rag.library.storage.identity import content_hash, vector_key
from preflight_rag.state.errors import DocumentError, EmptyDocument, PreflightError
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.dates import find_date

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store
    from preflight_rag.models.embedding.embedder import Embedder

BATCH_PASSAGES = 128
BATCH_DOCUMENTS = 512
"""Documents wait for each other until so many passages, or documents, can be embedded at once; both are guesses."""
DEADLINE = 30.0
"""Seconds that a turn waits for documents found elsewhere to be stored, a guess at what a person waits."""
REBUILD_PASSAGES = 20_000
"""Up to so many passages the index is rebuilt within a turn, which takes about a second; a guess."""
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
        stage: "documents" while they are read, embedded and stored, then "index".
        done: Documents stored, skipped or failed so far; in the stage "index" its steps so far.
        total: How many there are, or None where that is not known before they are read.
        name: The document, or the step.
    """

    stage: Literal["documents", "index"]
    done: int
    total: int | None
    name: str


Progress: TypeAlias = Callable[[IngestEvent], None]


@dataclass
class IngestReport:
    """What an ingest did, in documents; `failed` holds `(source, reason)`."""

    added: int = 0
    updated: int = 0
    skipped: int = 0
    removed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        failed = [{"source": source, "reason": reason} for source, reason in self.failed]
        return {
            "added": self.added,
            "updated": self.updated,
            "skipped": self.skipped,
            "removed": self.removed,
            "failed": failed,
        }


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
        progress: Called for every document.
        total: Number of documents, where it is known.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        splitter: Splitter,
        progress: Progress | None = None,
        total: int | None = None,
    ) -> None:
        self.report = IngestReport()
        self._store, self._embedder, self._splitter = store, embedder, splitter
        self._settings = splitter.settings()
        self._progress, self._total, self._done = progress, total, 0
        self._pending: list[_Pending] = []
        self._owners: dict[str, str] = {}
        self._read_whole: set[str] = set()

    def add_files(self, files: Iterable[Path | DocumentError], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Store every document of the files; an error in the place of a file is recorded."""
        for file in files:
            if isinstance(file, DocumentError):
                self._fail(file.source, str(file))
                continue
            origin = file_origin(file)
            for document in self._documents_of(file, origin, max_bytes):
                self._add(storable(document), origin)
        self._flush()

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Store documents that come from no file."""
        for document in documents:
            self._add(storable(document), "")
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
            for item in load(file, max_bytes=max_bytes):
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
        reason = self._conflict(document.id, origin)
        if reason:
            self._fail(document.source or document.id, reason)
            return
        self._owners[document.id] = origin
        stored = self._store.document(document.id)
        digest = content_hash(document, self._settings)
        if stored and stored.content_hash == digest:
            if stored.origin != origin:
                self._store.set_origin(document.id, origin)
            self.report.skipped += 1
            self._step(document)
            return
        document = dated(document)
        try:
            passages = self._split(document)
        except DocumentError as error:
            self._fail(document.source or document.id, str(error))
            return
        self._pending.append(_Pending(document, origin, digest, passages, is_new=stored is None))
        if len(self._pending) >= BATCH_DOCUMENTS or sum(len(item.passages) for item in self._pending) >= BATCH_PASSAGES:
            self._flush()

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

    def _flush(self) -> None:
        """Embed the waiting documents' passages and store each document in a transaction of its own."""
        inputs = {
            vector_key(passage): (passage.title, passage.text) for item in self._pending for passage in item.passages
        }
        vectors = self._store.embedded(list(inputs))
        missing = [key for key in inputs if key not in vectors]
        encoded = self._embedder.encode_passages([inputs[key] for key in missing])
        vectors |= {key: row.astype("<f4").tobytes() for key, row in zip(missing, encoded, strict=True)}
        pending, self._pending = self._pending, []
        for item in pending:
            rows = [(passage, vector_key(passage), vectors[vector_key(passage)]) for passage in item.passages]
            self._store.write_document(item.document, origin=item.origin, content_hash=item.content_hash, passages=rows)
            self.report.added += item.is_new
            self.report.updated += not item.is_new
            self._step(item.document)

    def _fail(self, source: str, reason: str) -> None:
        self.report.failed.append((source, reason))
        self._advance(source)

    def _step(self, document: Document) -> None:
        self._advance(document.title or document.source or document.id)

    def _advance(self, name: str) -> None:
        self._done += 1
        if self._progress:
            self._progress(IngestEvent("documents", self._done, self._total, name))


def count_documents(files: Sequence[Path | DocumentError]) -> int | None:
    """How many documents, or failures, the files will give; None where only reading them can tell."""
    total = 0
    for file in files:
        if isinstance(file, DocumentError) or suffix_of(file) in ONE_DOCUMENT:
            total += 1
        elif suffix_of(file).startswith((".jsonl", ".ndjson")):
            try:
                with open_binary(file) as lines:
                    total += sum(1 for line in lines if line.strip())
            except (OSError, EOFError, zlib.error):
                return None
        else:
            return None
    return total


def file_origin(path: Path) -> str:
    """The name under which a file's documents are remembered: its absolute path."""
    return unicode_text(os.path.abspath(path))


def storable(document: Document) -> Document:
    """The document as it is stored: a title stands for a missing text, and U+FFFD for lone surrogates."""
    if not document.text.strip():
        document = document.model_copy(update={"text": document.title})
    names = ("id", "text", "source", "title", "date")
    values = {name: value for name in names if isinstance(value := getattr(document, name), str)}
    changed = {name: text for name, value in values.items() if (text := unicode_text(value)) != value}
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

"""Ingest: documents into the store, one transaction each, embedded in batches.

What does not change costs nothing: a document with the same content hash is skipped, and a passage whose text was
embedded before keeps its vector. One bad document never stops the run.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from preflight_rag.library.storage.identity import content_hash
from preflight_rag.state.errors import DocumentError, EmptyDocument, PreflightError
from preflight_rag.state.values import Document, Passage
from preflight_rag.text.dates import find_date

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store
    from preflight_rag.models.embedding.embedder import Embedder

BATCH_PASSAGES = 128
BATCH_DOCUMENTS = 512
MAX_BYTES = 200 * 1024 * 1024

ONE_DOCUMENT = (".docx", ".htm", ".html", ".markdown", ".md", ".pdf", ".text", ".txt", ".xhtml")


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

    def add_files(self, files: Iterable[Path | DocumentError], max_bytes: int = MAX_BYTES) -> None:
        """Take in every document of the files; an error in the place of a file is recorded."""
        for file in files:
            if isinstance(file, DocumentError):
                self._fail(file.source, str(file))
                continue
            origin = file_origin(file)
            for document in self._documents_of(file, origin, max_bytes):
                self._add(storable(document), origin)
        self._flush()

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Take in documents that come from no file."""
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
        from preflight_rag.library.loaders import load

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
    from preflight_rag.library.loaders.files import open_binary, suffix_of

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


def vector_key(passage: Passage) -> str:
    """Names what is embedded of a passage: equal keys have equal vectors."""
    return hashlib.sha256(f"{passage.title}\0{passage.text}".encode()).hexdigest()[:32]


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

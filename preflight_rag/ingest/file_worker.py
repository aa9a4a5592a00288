"""One file after the other: read, split and embedded, in a process that knows no library (`cluster.py` runs several).

What it gives back is ready to be stored. It may be asked for the same file again, after it was killed: what is stored
of the file by then is told by its content hash, and not embedded twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preflight_rag.ingest.document_store import PreparedDocument, SplitDocument
from preflight_rag.ingest.identity import content_hash
from preflight_rag.ingest.loaders.files import open_regular
from preflight_rag.ingest.loaders.isolated import IsolatedLoader
from preflight_rag.ingest.prepare import embedded_groups, notes_on, read_of, split_document, storable
from preflight_rag.ingest.report import ReadDocument
from preflight_rag.ingest.run import BATCH_DOCUMENTS, BATCH_PASSAGES
from preflight_rag.ingest.splitting import SplitterName, open_splitter
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.embedding.minilm import MiniLM
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import DocumentError, EmbedderMismatch, UnreadableDocument
from preflight_rag.state.values import Document


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file for a worker to read.

    Attributes:
        path: The file.
        origin: The name under which its documents are stored.
        folder: The folder in which it has to lie; None for a file that was named itself.
        max_bytes: Larger files are refused.
        finished: The version that was stored completely, and its number of documents; None if there is none.
        known: Content hashes of its stored documents, by id.
    """

    path: Path
    origin: str
    folder: Path | None
    max_bytes: int
    finished: list[Any] | None
    known: Mapping[str, str]


@dataclass
class FilePart:
    """Some of a file's documents, ready to be stored.

    Attributes:
        documents: New ones, and those that changed.
        skipped: How many are stored already.
        failed: `(source, reason)` of records that cannot be taken in.
        notes: `(source, note)` on documents that were not read whole.
        read: What was read of documents.
        characters: Of all documents, those that are skipped included.
        is_last: Whether there are no more.
        version: With the last: what says that the file has not changed since; None where it was not read to its end.
    """

    documents: list[PreparedDocument] = field(default_factory=list)
    skipped: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    read: list[ReadDocument] = field(default_factory=list)
    characters: int = 0
    is_last: bool = False
    version: list[Any] | None = None


class FileWorker:
    """Reads, splits and embeds files; nothing is opened before the first file.

    Args:
        embedder: An argument of `open_embedder`.
        revision: The revision of the library's embedder, which this one must have.
        splitter: The name of the splitter.
    """

    def __init__(self, embedder: str, revision: str, splitter: SplitterName) -> None:
        self._spec, self._revision, self._splitter_name = embedder, revision, splitter
        self._embedder: Embedder | None = None
        self._loader = IsolatedLoader()
        self._parts: Iterator[FilePart] = iter(())

    def process(self) -> int:
        """Return the number of its process."""
        return os.getpid()

    def begin(self, task: FileTask) -> FilePart:
        """Return the first part of a file.

        Raises:
            EmbedderMismatch: The embedder here has other weights than the library's.
        """
        if self._embedder is None:
            self._embedder = self._opened()
            self._splitter = open_splitter(self._splitter_name, self._embedder)
        self._parts = self._read(task, self._embedder)
        return next(self._parts)

    def next_part(self) -> FilePart:
        """Return the next part of the file that was begun."""
        return next(self._parts)

    def close(self) -> None:
        """End the process that reads files for this worker."""
        self._loader.close()

    def _opened(self) -> Embedder:
        """Return the embedder, checked to have the weights of the library's."""
        embedder = open_embedder(self._spec)
        if type(embedder) is MiniLM:
            embedder = MiniLM(threads=1)  # there are as many workers as cores
        if embedder.revision != self._revision:
            raise EmbedderMismatch(
                f"A worker has {embedder.name} of revision {embedder.revision}, the library {self._revision}",
                help="Install the same embedder on all machines.",
            )
        return embedder

    def _read(self, task: FileTask, embedder: Embedder) -> Iterator[FilePart]:
        """Yield the parts of a file, each with about as many documents as are embedded at once."""
        settings = self._splitter.settings()
        part, waiting = FilePart(), list[SplitDocument]()
        seen: set[str] = set()
        try:
            version = file_version(task.path, settings, self._revision)
            if task.finished == [*version, len(task.known)]:
                yield FilePart(skipped=len(task.known), is_last=True, version=version)
                return
            for item in self._loader.load(task.path, max_bytes=task.max_bytes, folder=task.folder):
                if isinstance(item, DocumentError):
                    part.failed.append((str(task.path), str(item)))
                    continue
                part.characters += len(item.text)
                try:
                    split = self._split(item, task, settings, seen)
                except DocumentError as error:
                    part.failed.append((item.source or item.id, str(error)))
                    continue
                if split is None:
                    part.skipped += 1
                    continue
                part.notes += notes_on(split.document)
                part.read += filter(None, [read_of(split.document)])
                waiting.append(split)
                if len(waiting) >= BATCH_DOCUMENTS or sum(len(each.passages) for each in waiting) >= BATCH_PASSAGES:
                    part.documents, waiting = _embedded(embedder, waiting), []
                    yield part
                    part = FilePart()
            part.version = version
        except (DocumentError, OSError) as error:
            part.failed.append((str(task.path), str(error)))
        part.documents, part.is_last = _embedded(embedder, waiting), True
        yield part

    def _split(
        self, document: Document, task: FileTask, settings: Mapping[str, Any], seen: set[str]
    ) -> SplitDocument | None:
        """Return the document with its passages; None if it is stored already and unchanged."""
        document = storable(document)
        if document.id in seen:
            raise UnreadableDocument(f"The id {document.id!r} was already read from {task.origin}")
        seen.add(document.id)
        digest = content_hash(document, settings)
        if task.known.get(document.id) == digest:
            return None
        return split_document(document, self._splitter, origin=task.origin, content_hash=digest)


def _embedded(embedder: Embedder, waiting: list[SplitDocument]) -> list[PreparedDocument]:
    """Return split documents with the vectors of their passages."""
    inputs: dict[str, tuple[str, str]] = {}
    for each in waiting:
        inputs |= each.inputs()
    vectors: dict[str, bytes] = {}
    for group in embedded_groups(embedder, inputs):
        vectors |= group
    return [each.with_vectors(vectors) for each in waiting]


def file_version(path: Path, settings: Mapping[str, Any], revision: str) -> list[Any]:
    """Return, as JSON values, everything on which the stored form of a file depends: bytes, splitter and embedder.

    Raises:
        DocumentError: It is no regular file.
        OSError: It cannot be opened.
    """
    with os.fdopen(open_regular(path), "rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    version: list[Any] = json.loads(json.dumps([digest, dict(settings), revision]))
    return version

"""A worker that reads, splits and embeds one file after the other in a process without a library (for `cluster.py`).

Its results are ready to be stored. A file whose worker was killed is given to another one: documents stored by then are
recognised by their content hash, and not embedded twice.
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
        folder: The folder that the file may not lead out of by links; None for a file that the user named itself.
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
        documents: Documents that are new or have changed.
        skipped: Number of documents that are stored already and unchanged.
        failed: `(source, reason)` of records that cannot be stored.
        notes: `(source, note)` on documents that were not read completely.
        read: The loader's reports on the documents.
        characters: Number of characters of all documents, including the skipped ones.
        is_last: Whether this is the last part of the file.
        version: In the last part, the file's version (`file_version`); None if it was not read to its end.
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
    """Reads, splits and embeds files; the embedder is opened when the first file comes.

    Args:
        embedder: The specification of the embedder, as `open_embedder` takes it.
        revision: The revision of the library's embedder, which this worker's embedder must have.
        splitter: The name of the splitter.
    """

    def __init__(self, embedder: str, revision: str, splitter: SplitterName) -> None:
        self._spec, self._revision, self._splitter_name = embedder, revision, splitter
        self._embedder: Embedder | None = None
        self._loader = IsolatedLoader()
        self._parts: Iterator[FilePart] = iter(())

    def process(self) -> int:
        """Return the id of the worker's process."""
        return os.getpid()

    def begin(self, task: FileTask) -> FilePart:
        """Begin a file, and return its first part.

        Raises:
            EmbedderMismatch: The embedder on this machine has other weights than the library's.
        """
        if self._embedder is None:
            self._embedder = self._open_checked_embedder()
            self._splitter = open_splitter(self._splitter_name, self._embedder)
        self._parts = self._prepare_parts(task, self._embedder)
        return next(self._parts)

    def next_part(self) -> FilePart:
        """Return the next part of the file that was begun; there is one until a part has `is_last`."""
        return next(self._parts)

    def close(self) -> None:
        """End the process that reads files for this worker."""
        self._loader.close()

    def _open_checked_embedder(self) -> Embedder:
        """Open the embedder, and check that it has the same weights as the library's.

        Raises:
            EmbedderMismatch: It has others.
        """
        embedder = open_embedder(self._spec)
        if type(embedder) is MiniLM:
            embedder = MiniLM(threads=1)  # there are as many workers as cores
        if embedder.revision != self._revision:
            raise EmbedderMismatch(
                f"A worker has {embedder.name} of revision {embedder.revision}, the library {self._revision}",
                help="Install the same embedder on all machines.",
            )
        return embedder

    def _prepare_parts(self, task: FileTask, embedder: Embedder) -> Iterator[FilePart]:
        """Yield the parts of a file, each with about as many documents as are embedded at once.

        A file that was stored completely and has not changed is one part, without documents.
        """
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
                passages = sum(len(document.passages) for document in waiting)
                if len(waiting) >= BATCH_DOCUMENTS or passages >= BATCH_PASSAGES:
                    part.documents, waiting = _embed(embedder, waiting), []
                    yield part
                    part = FilePart()
            part.version = version
        except (DocumentError, OSError) as error:
            part.failed.append((str(task.path), str(error)))
        part.documents, part.is_last = _embed(embedder, waiting), True
        yield part

    def _split(
        self, document: Document, task: FileTask, settings: Mapping[str, Any], seen: set[str]
    ) -> SplitDocument | None:
        """Return the document with its passages; None if it is stored already and unchanged.

        Args:
            document: A document of the file.
            task: The file.
            settings: The splitter's settings.
            seen: Ids of the documents read from the file so far, to which this document's id is added.

        Raises:
            DocumentError: Its id has come before, or it cannot be split.
        """
        document = storable(document)
        if document.id in seen:
            raise UnreadableDocument(f"The id {document.id!r} was already read from {task.origin}")
        seen.add(document.id)
        digest = content_hash(document, settings)
        if task.known.get(document.id) == digest:
            return None
        return split_document(document, self._splitter, origin=task.origin, content_hash=digest)


def _embed(embedder: Embedder, documents: list[SplitDocument]) -> list[PreparedDocument]:
    """Embed the passages of documents, and return the documents with their vectors."""
    inputs: dict[str, tuple[str, str]] = {}
    for document in documents:
        inputs |= document.inputs()
    vectors: dict[str, bytes] = {}
    for group in embedded_groups(embedder, inputs):
        vectors |= group
    return [document.with_vectors(vectors) for document in documents]


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

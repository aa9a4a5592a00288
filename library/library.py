"""The library: one folder that holds a collection, and everything that can be done with it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..state.errors import (
    EmbedderMismatch,
    LibraryCorrupt,
    LibraryEmpty,
    LibraryError,
    PreflightError,
    UsageError,
)
from ..state.values import Document, Passage
from .dense import FLAT_LIMIT
from .fusion import RRF_K
from .index import FOLDER, PURGE, STEPS, Index, build_index, index_problems, manifest_stamp, open_index, read_manifest
from .ingest import MAX_BYTES, IngestEvent, Ingestion, IngestReport, Progress, count_documents, unicode_text
from .search import CANDIDATES, TOP_K, Found, hybrid_search
from .store import BUSY_SECONDS, Store

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from ..models.embedder import Embedder

LOCK = ".write.lock"


class Library:
    """A collection of documents: ingest, hybrid search, passages by id. Open one with `Library.open`.

    `search` and `passages` may be called from several threads. Writers take turns, across processes.
    """

    def __init__(
        self, path: Path, store: Store, embedder: Embedder | None, *, flat_limit: int, lock_seconds: float
    ) -> None:
        self.path = path
        self._store = store
        self._embedder = embedder
        self._flat_limit = flat_limit
        self._lock_seconds = lock_seconds
        self._root = path / FOLDER
        self._index: Index | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._index_lock = threading.RLock()
        self._embedder_lock = threading.Lock()
        self._repairs: list[str] = []

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: str | Embeddings | None = None,
        create: bool = False,
        flat_limit: int = FLAT_LIMIT,
        lock_seconds: float = BUSY_SECONDS,
    ) -> Library:
        """Open the library in the folder `path`.

        Args:
            path: The folder.
            embedder: What `open_embedder` takes; None for the one that the library was made with, and the default one
                for a new library.
            create: Make the library where there is none.
            flat_limit: Up to how many passages the dense index is exhaustive.
            lock_seconds: How long to wait for another writer.

        Raises:
            LibraryMissing: There is none and `create` is false.
            EmbedderMismatch: The library's vectors were made by another embedder.
            LibraryCorrupt: Its database cannot be read.
            EmbedderError: The embedder cannot be opened.
        """
        folder = Path(path).expanduser()
        store = Store(folder, create=create)
        try:
            opened = None
            if embedder is not None or store.meta("embedder") is None:
                opened = _open_embedder(embedder)
                _check_embedder(store, opened)
        except BaseException:
            store.close()
            raise
        return cls(folder, store, opened, flat_limit=flat_limit, lock_seconds=lock_seconds)

    def close(self) -> None:
        """Close the database and drop the index from memory."""
        with self._index_lock:
            self._index = None
            self._store.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def embedder(self) -> Embedder:
        """The library's embedder, opened at the first use.

        Raises:
            EmbedderMismatch: It is an object that only the caller has, or its weights have changed.
        """
        with self._embedder_lock:
            if self._embedder is None:
                recorded = self._store.meta("embedder")
                if recorded["spec"] is None:
                    raise EmbedderMismatch(
                        f"The library at {self.path} was made with {recorded['name']}, which has to be given",
                        help="Pass the Embeddings object as embedder",
                    )
                opened = _open_embedder(recorded["spec"])
                _check_embedder(self._store, opened)
                self._embedder = opened
            return self._embedder

    @property
    def notes(self) -> list[str]:
        """What a user should know of the index: that it was rebuilt, or that documents wait for the next ingest."""
        notes = list(self._repairs)
        with self._index_lock:
            known = self._index.manifest.generation if self._index else None
        if known is not None and (waiting := self._store.pending(known)):
            notes.append(f"Documents that wait for the next ingest to bring them into the index: {waiting}")
        return notes

    def ingest(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        prune: bool = False,
        progress: Progress | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> IngestReport:
        """Add or update the documents of files and folders, then swap in a new index.

        A document is one file, or one record of a record file. Unchanged ones are skipped. An id that another file's
        document has is refused, unless that file is gone.

        Args:
            paths: Files and folders, or one of them.
            prune: Remove documents from under `paths` that are gone.
            progress: Called for each document, then for each step of the index.
            max_bytes: Larger files are refused.

        Raises:
            LibraryError: Another process holds the library, or it cannot be written.
        """
        from .loaders import find_files

        given = [Path(path).expanduser() for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
        with self._writing():
            files = list(find_files(given))
            run = self._ingestion(progress, count_documents(files))
            run.add_files(files, max_bytes)
            if prune:
                run.prune(given)
            self._refresh(progress)
        return run.report

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory, then swap in a new index."""
        with self._writing():
            run = self._ingestion(progress, len(documents) if isinstance(documents, Sequence) else None)
            run.add_documents(documents)
            self._refresh(progress)
        return run.report

    def delete_document(self, document_id: str) -> bool:
        """Delete a document, its passages and vectors; false where there is none."""
        with self._writing():
            found = self._store.retire_document(document_id)
            if found:
                self._build()
        return found

    def rebuild(self) -> None:
        """Rebuild the index from the database."""
        with self._writing():
            self._build()

    def warm(self) -> None:
        """Load the embedder and the index ahead of the first search; errors are left for the search to raise."""
        with suppress(PreflightError):
            self.embedder.encode_query("warm")
            self._current_index()

    def search(self, query: str, *, k: int = TOP_K, candidates: int = CANDIDATES, rrf_k: int = RRF_K) -> Found:
        """The `k` best passages for a query by vectors, by words, and by both.

        An index that is missing or damaged is rebuilt from the database first; `notes` then says so.

        Args:
            query: Any text; it has no syntax.
            k: Length of the rankings.
            candidates: How many passages of each ranking are fused, at least `k`.
            rrf_k: The constant of reciprocal rank fusion.

        Raises:
            UsageError: The query is empty, or `k` is below 1.
            LibraryEmpty: There is no passage to find.
        """
        query = unicode_text(query)
        if not query.strip():
            raise UsageError(f"The query is empty: {query!r}", help="Ask something")
        if k < 1 or rrf_k < 0:
            raise UsageError(f"k={k} and rrf_k={rrf_k} are out of range", help="Use k >= 1 and rrf_k >= 0")
        index = self._current_index()
        vector = self.embedder.encode_query(query)
        options = {"k": k, "candidates": candidates, "rrf_k": rrf_k}
        try:
            return hybrid_search(self._store, index, query, vector, **options)
        except LibraryCorrupt as error:
            if manifest_stamp(self._root) == self._stamp:
                self._repair(error)
            return hybrid_search(self._store, self._current_index(), query, vector, **options)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages in the order of `ids`.

        Raises:
            LibraryCorrupt: One of them is not in the library.
        """
        found = self._store.passages(ids)
        missing = [name for name in ids if name not in found]
        if missing:
            raise LibraryCorrupt(
                f"The library at {self.path} has no passage {missing[0]!r}",
                help="Its document was changed or deleted; ask again",
            )
        return [found[name] for name in ids]

    def documents(self) -> Iterator[dict[str, Any]]:
        """Rows of all documents, ordered by id."""
        return self._store.documents()

    def stats(self) -> dict[str, Any]:
        """Counts, sizes in bytes, and what the library was made with."""
        manifest = read_manifest(self._root)
        generation = self._store.generation()
        index = None
        if manifest:
            index = {
                "passages": manifest.passages,
                "dense": manifest.dense,
                "generation": manifest.generation,
                "bytes": sum(entry["size"] for entry in manifest.files.values()),
                "waiting_documents": self._store.pending(manifest.generation),
            }
        return {
            "path": str(self.path),
            **self._store.counts(),
            "generation": generation,
            "database_bytes": self._store.path.stat().st_size,
            "embedder": self._store.meta("embedder"),
            "splitter": self._store.meta("splitter"),
            "index": index,
        }

    def verify(self) -> list[str]:
        """Check the database and every index file; one line per problem, none for a sound library."""
        problems = self._store.problems(self._store.meta("embedder")["dimension"])
        found = index_problems(self._root)
        if found:
            return problems + found
        manifest = read_manifest(self._root)
        if manifest is None:
            return problems + ([] if not self._store.count_passages() else ["the library has no index yet"])
        if waiting := self._store.pending(manifest.generation):
            problems.append(f"documents that the index does not know: {waiting}")
        elif manifest.passages != self._store.count_passages():
            problems.append(
                f"the index holds {manifest.passages} passages, the database {self._store.count_passages()}"
            )
        return problems

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the library's write lock.

        Raises:
            LibraryError: Another writer did not finish in time, or the folder cannot be written.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / LOCK, timeout=self._lock_seconds)
        try:
            lock.acquire()
        except Timeout as error:
            raise LibraryError(
                f"The library at {self.path} is being written by another process", help="Try again when it has finished"
            ) from error
        except OSError as error:
            raise LibraryError(
                f"The library at {self.path} cannot be written: {error.strerror}", help="Check the folder's permissions"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _ingestion(self, progress: Progress | None, total: int | None) -> Ingestion:
        from .splitter import SentenceSplitter

        splitter = SentenceSplitter(self.embedder)
        if self._store.meta("splitter") != splitter.settings():
            self._store.set_meta("splitter", splitter.settings())
        return Ingestion(self._store, self.embedder, splitter, progress, total)

    def _refresh(self, progress: Progress | None) -> None:
        """Build a new index unless the current one is whole and up to date."""
        try:
            index = open_index(self._root)
        except LibraryCorrupt:
            index = None
        if index is None and not self._store.count_passages():
            return
        if index is None or index.manifest.generation != self._store.generation():
            self._build(progress)

    def _build(self, progress: Progress | None = None) -> None:
        """Build and swap in the index, then delete what only the old one needed."""

        def step(name: str) -> None:
            if progress:
                progress(IngestEvent("index", STEPS.index(name), len(STEPS) - 1, name))

        dimension = self._store.meta("embedder")["dimension"]
        manifest = build_index(self._store, self._root, dimension, flat_limit=self._flat_limit, step=step)
        step(PURGE)
        self._store.purge(manifest.generation)

    def _current_index(self) -> Index:
        """The index that the manifest names, rebuilt where it is missing, damaged or empty."""
        with self._index_lock:
            stamp = manifest_stamp(self._root)
            if self._index is None or stamp is None or stamp != self._stamp:
                try:
                    index = open_index(self._root)
                    damage = None
                except LibraryCorrupt as error:
                    index, damage = None, error
                if (index is None or not len(index.rows)) and self._store.count_passages():
                    self._repair(damage)
                    index, stamp = open_index(self._root), manifest_stamp(self._root)
                self._index, self._stamp = index, stamp
            if self._index is None or not len(self._index.rows):
                raise LibraryEmpty(f"The library at {self.path} is empty", help="Run: preflight ingest PATH")
            return self._index

    def _repair(self, damage: LibraryCorrupt | None) -> None:
        reason = damage.message if damage else "There was no index yet"
        try:
            self.rebuild()
        except LibraryError as error:
            raise type(error)(f"{reason}, and none can be built: {error.message}", help=error.help) from error
        self._repairs.append(f"{reason}; it was rebuilt from the database")


def _open_embedder(spec: str | Embeddings | None) -> Embedder:
    from ..models.embedder import open_embedder

    return open_embedder(spec)


def _check_embedder(store: Store, embedder: Embedder) -> None:
    """Record the embedder in a new library; refuse another one than the recorded one."""
    recorded = store.meta("embedder")
    given = {
        "name": embedder.name,
        "revision": embedder.revision,
        "dimension": embedder.dimension,
        "spec": embedder.spec,
    }
    if recorded is None:
        store.set_meta("embedder", given)
        return
    if (recorded["revision"], recorded["dimension"]) != (embedder.revision, embedder.dimension):
        label = "{name} (revision {revision}, {dimension} dimensions)"
        raise EmbedderMismatch(
            f"The library at {store.path.parent} was made with {label.format(**recorded)}, not {label.format(**given)}",
            help=f"Open it with {recorded['name']}, or ingest into a new library",
        )

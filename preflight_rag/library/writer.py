"""The writing side of a library: documents into the store, then a new index swapped in, under the write lock.

Modules that read and split files are imported on use, because a question opens a library, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES
from preflight_rag.ingest.report import IngestEvent, IngestReport, Progress, Stop
from preflight_rag.ingest.splitting import DEFAULT_SPLITTER, SplitterName, open_splitter
from preflight_rag.library.found import (
    DEADLINE,
    REBUILD_PASSAGES,
    InternReport,
    add_until,
    known_documents,
    passages_of,
)
from preflight_rag.library.index.building import build_index, remove_others
from preflight_rag.library.index.dense import FLAT_LIMIT, IndexKind, check_kind
from preflight_rag.library.index.generations import FOLDER, PURGE, STEPS, open_index, read_manifest
from preflight_rag.library.storage.store import BUSY_SECONDS, Store
from preflight_rag.library.tags import check_tags
from preflight_rag.library.write_lock import removed, write_lock
from preflight_rag.state.errors import LibraryCorrupt, LibraryError
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from preflight_rag.ingest.document_store import SettingsStore
    from preflight_rag.ingest.prepare import Splitter
    from preflight_rag.ingest.run import Ingestion
    from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
    from preflight_rag.models.embedding.embedder import Embedder


class Writer:
    """Writes one library; its methods are the library's. Writers take turns, across processes.

    Args:
        store: The library's database.
        embedder: Its embedder, opened when there is something to embed.
        splitter: How documents are split from now on, which a new library remembers; None for its own.
        flat_limit: Up to how many passages an `auto` index is exhaustive.
        lock_seconds: How long to wait for another writer.
    """

    def __init__(
        self,
        store: Store,
        embedder: RecordedEmbedder,
        *,
        splitter: SplitterName | None = None,
        flat_limit: int = FLAT_LIMIT,
        lock_seconds: float = BUSY_SECONDS,
    ) -> None:
        self._store, self._root, self._embedder = store, store.path.parent / FOLDER, embedder
        self._splitter = splitter
        self._flat_limit = flat_limit
        self._lock_seconds = lock_seconds
        # An existing library keeps its own until it is written next (`recorded_splitter`).
        if splitter is not None and store.meta("splitter") is None:
            store.set_meta("splitter", {"name": splitter})

    @property
    def index_kind(self) -> IndexKind:
        """The kind of dense index that was chosen."""
        kind: IndexKind = self._store.meta("index") or "auto"
        return kind

    def ingest(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        prune: bool = False,
        progress: Progress | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Add or update the documents of files and folders, then swap in a new index.

        A document is one file, or one record of a record file. Unchanged ones are skipped. A document with the id of
        another file's document is refused, unless that file is gone.

        Args:
            paths: Files and folders, or one of them.
            prune: Remove documents from under `paths` whose files are gone.
            progress: Called for each document, then for each step of the index.
            max_bytes: Larger files are refused.
            stop: Called again and again; once it returns true the run ends, and what was done by then is kept and
                indexed.

        Raises:
            LibraryError: Another process has the write lock, or the library cannot be written.
        """
        from preflight_rag.ingest.given import given_paths
        from preflight_rag.ingest.run import ingest_files

        given = given_paths(paths)
        with self.writing(progress=progress):
            report = ingest_files(
                self._store,
                self._embedder.get(),
                self._open_splitter(),
                given,
                prune=prune,
                progress=progress,
                max_bytes=max_bytes,
                stop=stop,
            )
            self._refresh(progress, report)
        return report

    def ingest_with_ray(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Ingest with many workers, on this machine or on a Ray cluster (`RAY_ADDRESS`), for very many files.

        A file that such a run has stored completely is skipped as long as it does not change, without reading it.

        Args:
            paths: Files and folders, or one of them; each worker must find them under the same path.
            workers: How many; None for one for each GPU of the cluster, or each core if it has none.
            progress: Called for each document, then for each step of the index.
            max_bytes: Larger files are refused.
            stop: Called again and again; once it returns true the run ends, and what was stored by then is kept and
                indexed.

        Raises:
            UsageError: Ray is not installed.
            EmbedderMismatch: The library's embedder is an object, or a worker has another one.
            LibraryError: Another process has the write lock, the library cannot be written, or there is no cluster.
        """
        from preflight_rag.ingest.cluster import ClusterIngest
        from preflight_rag.ingest.given import given_paths

        given = given_paths(paths)
        with self.writing(progress=progress):
            name = self._open_splitter().settings()["name"]
            run = ClusterIngest(self._store, name, workers=workers, progress=progress, stop=stop)
            report = run.add_files(given, max_bytes)
            self._refresh(progress, report)
        return report

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory, then swap in a new index."""
        with self.writing(progress=progress):
            run = self._ingestion(progress, len(documents) if isinstance(documents, Sequence) else None)
            run.add_documents(documents)
            self._refresh(progress, run.report)
        return run.report

    def intern(self, documents: Sequence[Document], *, deadline: float = DEADLINE, index: bool = True) -> InternReport:
        """Store documents that a turn found elsewhere; in a read-only library, use those that it already has.

        A small index is rebuilt at once; a large one includes them from the next ingest on (`Library.notes`). Until
        then their passages can be read by id only.

        Args:
            documents: Documents with permanent ids, such as "PMID 12345".
            deadline: Seconds after which no further document is embedded, waiting for other writers included.
            index: Whether there is an index to rebuild.
        """
        from preflight_rag.ingest.prepare import storable

        end = time.monotonic() + deadline
        last_by_id = {document.id: document for document in documents}
        documents = [storable(document) for document in last_by_id.values()]
        known = known_documents(self._store, documents)
        problems: list[str] = []
        if new := [document for document in documents if document.id not in known]:
            try:
                with self.writing(min(deadline, self._lock_seconds)):
                    problems = add_until(self._ingestion(None, len(new)), new, end)
                    if index and self._store.count_passages() <= REBUILD_PASSAGES:
                        self._refresh(None)
            except LibraryError as error:
                problems.append(f"What was found elsewhere could not be stored: {error}")
        places = [known.get(document.id, document.id) for document in documents]
        passages = passages_of(self._store, list(dict.fromkeys(places)))
        added = {document.id for document in new}
        fresh = frozenset(passage.id for passage in passages if passage.document_id in added)
        return InternReport(passages, tuple(problems), fresh)

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Delete documents, their passages and vectors, then rebuild the index once; return how many existed."""
        with self.writing():
            found = sum(self._store.retire_document(name) for name in document_ids)
            if found:
                # Before the build: what had the text of a deleted document is searched again from now on.
                self._link()
                self._build()
        return found

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags, which filters use; return False if there is no such document.

        They stay when the document is read again.

        Raises:
            UsageError: A tag is not allowed.
            LibraryError: Another process has the write lock, or the library cannot be written.
        """
        tags = check_tags(tags)
        with self.writing():
            return self._store.set_tags(document_id, tags)

    def rebuild(self, *, compact: bool = False) -> None:
        """Rebuild the index from the database; with `compact`, the database's file is rewritten, too."""
        with self.writing():
            self._link()
            self._build()
            if compact:
                self._store.vacuum()

    def set_index_kind(self, kind: IndexKind) -> None:
        """Choose another kind of dense index; the index is rebuilt if its kind changes, the vectors stay.

        Raises:
            UsageError: There is no such kind.
            LibraryError: Another process has the write lock, or the library cannot be written.
        """
        check_kind(kind)
        built = None
        with suppress(LibraryCorrupt):
            built = read_manifest(self._root)
        # The setting is stored before the index is built: after a kill in between they differ, and it is built now.
        if kind == self.index_kind and (built is None or built.kind == kind):
            return
        with self.writing():
            self._store.set_meta("index", kind)
            if self._store.count_passages():
                self._build()

    @contextmanager
    def writing(self, seconds: float | None = None, progress: Progress | None = None) -> Iterator[None]:
        """Hold the write lock, waiting for it at most `seconds`, or the writer's own time if None.

        Raises:
            LibraryBusy: Another writer did not finish in time.
            LibraryError: The folder cannot be written, or the library was removed since it was opened.
        """
        with write_lock(self._store.path.parent, self._lock_seconds if seconds is None else seconds, progress):
            # After the wait for the lock, in which another process may have removed the folder.
            if not self._store.is_there():
                raise removed(self._store.path.parent)
            self._count_on()
            yield
            # Until then, the write-ahead log still has the texts of deleted documents.
            self._store.flush()

    def _count_on(self) -> None:
        """Continue a database that is older than its index with a generation number that no index has.

        Otherwise the next writes would get the numbers of the lost ones, and the index would count as theirs.
        """
        with suppress(LibraryCorrupt):
            manifest = read_manifest(self._root)
            if manifest is not None and manifest.generation > self._store.generation():
                self._store.skip_to(manifest.generation + 1)

    def _ingestion(self, progress: Progress | None, total: int | None) -> Ingestion:
        """Return an ingestion with the library's embedder and splitter."""
        from preflight_rag.ingest.run import Ingestion

        return Ingestion(self._store, self._embedder.get(), self._open_splitter(), progress, total)

    def _open_splitter(self) -> Splitter:
        """Return the splitter, as recorded by the library."""
        return recorded_splitter(self._store, self._embedder.get(), self._splitter)

    def _link(self, report: IngestReport | None = None) -> None:
        """Find copies among the documents that are new since the last call."""
        from preflight_rag.library.copies import link_copies

        found = link_copies(self._store)
        if report is not None:
            report.copies += found

    def _refresh(self, progress: Progress | None, report: IngestReport | None = None) -> None:
        """Build a new index unless the current one is intact and up to date."""
        try:
            index = open_index(self._root)
        except LibraryCorrupt:
            index = None
        if index is None and not self._store.count_passages():
            return
        self._link(report)
        current = (self._store.generation(), self.index_kind)
        if index is None or (index.manifest.generation, index.manifest.kind) != current:
            self._build(progress, grows=True)
            return
        # A run that was killed after swapping in its index has not reached this.
        remove_others(self._root, index.manifest.folder)
        self._store.purge(index.manifest.generation)

    def _build(self, progress: Progress | None = None, *, grows: bool = False) -> None:
        """Build and swap in the index, then delete what only the old one needed; see `build_index`."""

        def step(name: str) -> None:
            if progress:
                progress(IngestEvent("index", STEPS.index(name), len(STEPS) - 1, name))

        dimension = self._store.meta("embedder")["dimension"]
        manifest = build_index(
            self._store,
            self._root,
            dimension,
            kind=self.index_kind,
            flat_limit=self._flat_limit,
            step=step,
            grows=grows,
        )
        step(PURGE)
        # After the swap: until then, the index in use pointed to these rows.
        self._store.purge(manifest.generation)


def recorded_splitter(store: SettingsStore, embedder: Embedder, given: SplitterName | None) -> Splitter:
    """Return the splitter: `given`, which the library records, or else the recorded one."""
    recorded = store.meta("splitter")
    splitter = open_splitter(given or (recorded or {"name": DEFAULT_SPLITTER})["name"], embedder)
    if recorded != splitter.settings():
        store.set_meta("splitter", splitter.settings())
    return splitter

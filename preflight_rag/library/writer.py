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
    add_documents_until,
    find_stored_documents,
    read_passages,
)
from preflight_rag.library.index.building import build_index, remove_other_generations
from preflight_rag.library.index.dense import FLAT_LIMIT, IndexKind, check_kind
from preflight_rag.library.index.generations import FOLDER, PURGE, STEPS, open_index, read_manifest
from preflight_rag.library.storage.store import BUSY_SECONDS, Store
from preflight_rag.library.tags import check_tags
from preflight_rag.library.write_lock import removed_error, write_lock
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
        # An existing library keeps its own until it is written next (`open_recorded_splitter`).
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

        path_list = given_paths(paths)
        with self.writing(progress=progress):
            report = ingest_files(
                self._store,
                self._embedder.get(),
                self._open_splitter(),
                path_list,
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

        path_list = given_paths(paths)
        with self.writing(progress=progress):
            name = self._open_splitter().settings()["name"]
            run = ClusterIngest(self._store, name, workers=workers, progress=progress, stop=stop)
            report = run.add_files(path_list, max_bytes)
            self._refresh(progress, report)
        return report

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory, then swap in a new index."""
        with self.writing(progress=progress):
            run = self._open_ingestion(progress, len(documents) if isinstance(documents, Sequence) else None)
            run.add_documents(documents)
            self._refresh(progress, run.report)
        return run.report

    def intern(self, documents: Sequence[Document], *, deadline: float = DEADLINE, index: bool = True) -> InternReport:
        """Store documents that a turn found elsewhere; in a read-only library, use those that it already has.

        A small index is rebuilt at once; a large one includes them from the next ingest on (`Library.notes`). Until
        then their passages can be read by id only. Documents that cannot be stored are named in the report's problems.

        Args:
            documents: Documents with permanent ids, such as "PMID 12345".
            deadline: Seconds after which no further document is embedded, waiting for other writers included.
            index: False for a collection without an index of its own, which an external retriever searches.
        """
        from preflight_rag.ingest.prepare import storable

        end_time = time.monotonic() + deadline
        last_by_id = {document.id: document for document in documents}
        documents = [storable(document) for document in last_by_id.values()]
        stored_id_by_id = find_stored_documents(self._store, documents)
        problems: list[str] = []
        if new_documents := [document for document in documents if document.id not in stored_id_by_id]:
            try:
                with self.writing(min(deadline, self._lock_seconds)):
                    problems = add_documents_until(
                        self._open_ingestion(None, len(new_documents)), new_documents, end_time
                    )
                    if index and self._store.count_passages() <= REBUILD_PASSAGES:
                        self._refresh(None)
            except LibraryError as error:
                problems.append(f"What was found elsewhere could not be stored: {error}")
        stored_ids = [stored_id_by_id.get(document.id, document.id) for document in documents]
        passages = read_passages(self._store, list(dict.fromkeys(stored_ids)))
        new_document_ids = {document.id for document in new_documents}
        new_passage_ids = frozenset(passage.id for passage in passages if passage.document_id in new_document_ids)
        return InternReport(passages, tuple(problems), new_passage_ids)

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Delete documents, their passages and vectors, then rebuild the index once; return how many existed."""
        with self.writing():
            deleted = sum(self._store.retire_document(document_id) for document_id in document_ids)
            if deleted:
                # Before the build: a copy of a deleted document, left out of searches so far, is searched from now on.
                self._link_copies()
                self._build()
        return deleted

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags, which filters use; return False if there is no such document.

        The tags stay when the document is read again.

        Raises:
            UsageError: A tag is not allowed.
            LibraryError: Another process has the write lock, or the library cannot be written.
        """
        tags = check_tags(tags)
        with self.writing():
            return self._store.set_tags(document_id, tags)

    def rebuild(self, *, compact: bool = False) -> None:
        """Find copies and rebuild the index from the database; with `compact`, shrink the database's file, too."""
        with self.writing():
            self._link_copies()
            self._build()
            if compact:
                self._store.vacuum()

    def set_index_kind(self, kind: IndexKind) -> None:
        """Choose another kind of dense index; rebuild the index if its kind changes and there are passages.

        The stored vectors stay as they are.

        Raises:
            UsageError: There is no such kind.
            LibraryError: Another process has the write lock, or the library cannot be written.
        """
        check_kind(kind)
        manifest = None
        with suppress(LibraryCorrupt):
            manifest = read_manifest(self._root)
        # The setting is stored before the index is built: after a kill in between they differ, and it is built now.
        if kind == self.index_kind and (manifest is None or manifest.kind == kind):
            return
        with self.writing():
            self._store.set_meta("index", kind)
            if self._store.count_passages():
                self._build()

    @contextmanager
    def writing(self, seconds: float | None = None, progress: Progress | None = None) -> Iterator[None]:
        """Hold the write lock during the block, then flush the database to disk.

        Args:
            seconds: How long to wait for the lock; None for the writer's own time.
            progress: Called once if another writer has to be waited for.

        Raises:
            LibraryBusy: Another writer did not finish in time.
            LibraryError: The folder cannot be written, or the library was removed since it was opened.
        """
        with write_lock(self._store.path.parent, self._lock_seconds if seconds is None else seconds, progress):
            # After the wait for the lock, in which another process may have removed the folder.
            if not self._store.is_there():
                raise removed_error(self._store.path.parent)
            self._skip_lost_generations()
            yield
            # Without this, the write-ahead log would still contain the texts of deleted documents.
            self._store.flush()

    def _skip_lost_generations(self) -> None:
        """Raise the generation number of a database that is older than its index above the index's number.

        Such a database, such as one restored from a backup, has lost writes. Without the gap, the next writes would
        reuse the lost writes' numbers, and the index would seem to include them.
        """
        with suppress(LibraryCorrupt):
            manifest = read_manifest(self._root)
            if manifest is not None and manifest.generation > self._store.generation():
                self._store.skip_to(manifest.generation + 1)

    def _open_ingestion(self, progress: Progress | None, total: int | None) -> Ingestion:
        """Return an ingestion of `total` documents, None if unknown, with the library's embedder and splitter."""
        from preflight_rag.ingest.run import Ingestion

        return Ingestion(self._store, self._embedder.get(), self._open_splitter(), progress, total)

    def _open_splitter(self) -> Splitter:
        """Return the splitter for the next documents, and record it in the library."""
        return open_recorded_splitter(self._store, self._embedder.get(), self._splitter)

    def _link_copies(self, report: IngestReport | None = None) -> None:
        """Find copies among the documents that are new since the last call, and add them to `report`, if given."""
        from preflight_rag.library.copies import link_copies

        copies = link_copies(self._store)
        if report is not None:
            report.copies += copies

    def _refresh(self, progress: Progress | None, report: IngestReport | None = None) -> None:
        """Find copies, then build a new index unless the current one is intact and up to date.

        Either way, older indexes and deleted passages, which only an older index needed, are removed from the disk.
        A library without an index and without passages is left as it is.
        """
        try:
            index = open_index(self._root)
        except LibraryCorrupt:
            index = None
        if index is None and not self._store.count_passages():
            return
        self._link_copies(report)
        wanted = (self._store.generation(), self.index_kind)
        if index is None or (index.manifest.generation, index.manifest.kind) != wanted:
            self._build(progress, may_extend=True)
            return
        # A previous run that was killed right after swapping in its index has not removed anything yet.
        remove_other_generations(self._root, index.manifest.folder)
        self._store.purge(index.manifest.generation)

    def _build(self, progress: Progress | None = None, *, may_extend: bool = False) -> None:
        """Build and swap in the index, then delete the passages that only the old index needed; see `build_index`."""

        def step(name: str) -> None:
            """Report that a step of the build begins."""
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
            may_extend=may_extend,
        )
        step(PURGE)
        # After the swap: until then, the index in use pointed to these rows.
        self._store.purge(manifest.generation)


def open_recorded_splitter(store: SettingsStore, embedder: Embedder, chosen: SplitterName | None) -> Splitter:
    """Return the splitter `chosen`, else the one that the library records, else the default; record its settings."""
    recorded = store.meta("splitter")
    recorded_name = recorded["name"] if recorded else DEFAULT_SPLITTER
    splitter = open_splitter(chosen or recorded_name, embedder)
    if recorded != splitter.settings():
        store.set_meta("splitter", splitter.settings())
    return splitter

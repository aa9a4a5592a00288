"""The writing side of a library in PostgreSQL, as `writer.Writer` is for a folder's; several may write at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.ingest.given import given_paths
from preflight_rag.ingest.loaders.files import DEFAULT_MAX_BYTES
from preflight_rag.ingest.prepare import storable
from preflight_rag.ingest.report import IngestEvent, IngestReport, Progress, Stop
from preflight_rag.ingest.run import Ingestion, ingest_files
from preflight_rag.ingest.splitting import SplitterName
from preflight_rag.library.found import (
    DEADLINE,
    InternReport,
    add_documents_until,
    find_stored_documents,
    read_passages,
)
from preflight_rag.library.postgres.writing import PURGE, STEPS, DocumentWriting, writing
from preflight_rag.library.tags import check_tags
from preflight_rag.library.writer import open_recorded_splitter
from preflight_rag.state.errors import LibraryError
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from preflight_rag.library.postgres.store import PostgresStore
    from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder

__all__ = ["PURGE", "PostgresWriter"]


class PostgresWriter:
    """The writer of one library, with the methods of `writer.Writer`.

    Args:
        store: The library.
        embedder: Its embedder, opened when there is something to embed.
        splitter: How documents are split from now on, which a new library remembers; None for its own.
        wait_seconds: How long to wait for another run that has written the same document.
    """

    def __init__(
        self, store: PostgresStore, embedder: RecordedEmbedder, splitter: SplitterName | None, wait_seconds: float
    ) -> None:
        self._store, self._embedder, self._splitter, self._wait = store, embedder, splitter, wait_seconds
        if splitter is not None and store.meta("splitter") is None:
            store.set_meta("splitter", {"name": splitter})

    def ingest(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        prune: bool = False,
        progress: Progress | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Add or update the documents of files and folders; all become visible together at the end."""
        path_list = given_paths(paths)
        with self._publish_after(progress) as run:
            splitter = open_recorded_splitter(run, self._embedder.get(), self._splitter)
            report = ingest_files(
                run,
                self._embedder.get(),
                splitter,
                path_list,
                prune=prune,
                progress=progress,
                max_bytes=max_bytes,
                stop=stop,
            )
        # Copies are found when the run is published, at the end of the block.
        report.copies += run.copies
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
        """Add or update the documents of files and folders with many workers; several such runs may write at once."""
        from preflight_rag.ingest.cluster import ClusterIngest

        path_list = given_paths(paths)
        with self._publish_after(progress) as run:
            name = open_recorded_splitter(run, self._embedder.get(), self._splitter).settings()["name"]
            cluster = ClusterIngest(run, name, workers=workers, progress=progress, stop=stop)
            report = cluster.add_files(path_list, max_bytes)
        report.copies += run.copies
        return report

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory."""
        with self._publish_after(progress) as run:
            ingestion = self._open_ingestion(run, progress, len(documents) if isinstance(documents, Sequence) else None)
            ingestion.add_documents(documents)
        ingestion.report.copies += run.copies
        return ingestion.report

    def intern(self, documents: Sequence[Document], *, deadline: float = DEADLINE) -> InternReport:
        """Store documents that a turn found elsewhere; searches find them at once.

        Documents that cannot be stored, or not before the deadline in seconds, are named in the report's problems.
        """
        end_time = time.monotonic() + deadline
        last_by_id = {document.id: document for document in documents}
        documents = [storable(document) for document in last_by_id.values()]
        stored_id_by_id: dict[str, str] = {}
        new_documents: list[Document] = []
        problems: list[str] = []
        try:
            with writing(self._store, min(deadline, self._wait)) as run:
                stored_id_by_id = find_stored_documents(run, documents)
                if new_documents := [document for document in documents if document.id not in stored_id_by_id]:
                    problems = add_documents_until(
                        self._open_ingestion(run, None, len(new_documents)), new_documents, end_time
                    )
                    run.publish()
        except LibraryError as error:
            problems.append(f"What was found elsewhere could not be stored: {error}")
        stored_ids = [stored_id_by_id.get(document.id, document.id) for document in documents]
        passages = read_passages(self._store, list(dict.fromkeys(stored_ids)))
        new_document_ids = {document.id for document in new_documents}
        new_passage_ids = frozenset(passage.id for passage in passages if passage.document_id in new_document_ids)
        return InternReport(passages, tuple(problems), new_passage_ids)

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Delete documents, their passages, vectors and words; return how many existed."""
        with self._publish_after(None) as run:
            return run.retire_documents(document_ids)

    def set_tags(self, document_id: str, tags: Sequence[str]) -> bool:
        """Replace a document's tags; return False if there is no such document."""
        tags = check_tags(tags)
        with self._publish_after(None) as run:
            return run.set_tags(document_id, tags)

    def rebuild(self) -> None:
        """Rebuild all words and the vector index, and make the space of deleted rows usable again."""
        with writing(self._store, self._wait) as run:
            run.publish()
            run.rebuild()

    def _open_ingestion(self, run: DocumentWriting, progress: Progress | None, total: int | None) -> Ingestion:
        """Return an ingestion of `total` documents, None if unknown, with the library's embedder and splitter."""
        splitter = open_recorded_splitter(run, self._embedder.get(), self._splitter)
        return Ingestion(run, self._embedder.get(), splitter, progress, total)

    @contextmanager
    def _publish_after(self, progress: Progress | None) -> Iterator[DocumentWriting]:
        """Yield a new run, and publish it at the end of the block; if the block fails, the next run publishes it."""

        def step(name: str) -> None:
            """Report that a step of publishing begins."""
            if progress:
                progress(IngestEvent("index", STEPS.index(name), len(STEPS) - 1, name))

        with writing(self._store, self._wait) as run:
            yield run
            run.publish(step)

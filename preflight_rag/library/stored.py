"""Methods shared by all collections whose passages this package stores: reading by id, filters, counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from preflight_rag.ingest.document_store import PassageReader
from preflight_rag.library.found import read_passages
from preflight_rag.library.index.generations import FOLDER, index_problems, read_manifest
from preflight_rag.library.search.hybrid import again_where_replaced
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.damage import database_problems
from preflight_rag.library.storage.recorded_embedder import EmbedderStore
from preflight_rag.library.writer import Writer
from preflight_rag.state.errors import PassageGone

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from preflight_rag.library.search.filter_index import FilterIndex
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.library.search.hybrid import Rankings
    from preflight_rag.library.search.mentions import Mention
    from preflight_rag.library.storage.catalogue import Catalogue
    from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
    from preflight_rag.library.storage.store import Store
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.state.retrieval import Candidate
    from preflight_rag.state.values import CopyPlace, Passage


class ReadStore(EmbedderStore, PassageReader, Protocol):
    """The reading methods of a store that a collection uses."""

    def close(self) -> None:
        """Close the store's files and connections."""

    def documents(self) -> Iterator[dict[str, Any]]:
        """Return the rows of all documents, ordered by id."""

    def all_passage_ids(self) -> list[str]:
        """Return the ids of all passages, ordered by id."""

    def rows(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row of each passage that exists."""

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the vectors of those passages that exist, by id."""

    def passages_like(self, pattern: str) -> Iterator[tuple[str, str, str]]:
        """Yield `(id, document id, text)` of the passages whose text is LIKE a pattern, by document."""

    def titles(self) -> list[tuple[str, str]]:
        """Return `(id, title)` of all documents."""


class DocumentRemover(Protocol):
    """The interface for removing documents."""

    def delete_documents(self, document_ids: Sequence[str]) -> int:
        """Delete documents, their passages and vectors; return how many existed."""


class StoredCollection(ABC):
    """A collection over a store; subclasses define how it is searched and written.

    Args:
        store: The store to read.
        embedder: The embedder that made the vectors.
        writer: The writer, which removes documents.
        open_filters: Function that opens the index of filters; most questions have none.
        path: The folder for the files that belong to the collection.
        name: The collection's name in messages.
    """

    def __init__(
        self,
        store: ReadStore,
        embedder: RecordedEmbedder,
        writer: DocumentRemover,
        open_filters: Callable[[], FilterIndex],
        path: Path,
        name: str,
    ) -> None:
        self.path, self.name = path, name
        self._store, self._embedder, self._writer = store, embedder, writer
        self._open_filters = open_filters
        self.delete_documents = writer.delete_documents

    @cached_property
    def _filters(self) -> FilterIndex:
        """The index of metadata for filters, opened at its first use."""
        return self._open_filters()

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def search(self, query: SearchQuery | str) -> Rankings:
        """Return the `k` best passages for a query by vectors, by words, and by both."""

    @property
    def embedder(self) -> Embedder:
        """The library's embedder, opened at the first use.

        Raises:
            EmbedderMismatch: It is an object that the caller must pass again, or its weights have changed.
        """
        return self._embedder.get()

    @property
    def embedder_revision(self) -> str:
        """Checksum of the weights of the embedder that the library was made with."""
        return str(self._store.meta("embedder")["revision"])

    def delete_document(self, document_id: str) -> bool:
        """Delete a document, its passages and vectors; return False if there is none."""
        return self.delete_documents([document_id]) > 0

    def candidates(self, query: SearchQuery | str) -> list[Candidate]:
        """Return the first `query.candidates` passages of the fused ranking, with their ranks in the other rankings.

        With a filter, only passages that pass it are returned; `filter_note` explains an empty result.

        Raises:
            UsageError, LibraryEmpty: As `search`.
        """
        query = SearchQuery.of(query)
        full_query = replace(query, k=query.candidates)

        def search_and_read() -> list[Candidate]:
            """Search, and read the passages that were found."""
            rankings = self.search(full_query)
            return rankings.candidates(self.passages([hit.passage_id for hit in rankings.fused]))

        return again_where_replaced(search_and_read)

    def fitting(self, ids: Sequence[str], where: Filter) -> list[str]:
        """Return the ids of those passages that pass a filter, in the order of `ids`.

        Passages count that are stored but not in the index yet; ids of no passage are left out.

        Raises:
            UsageError: No document has a field of the filter.
        """
        passing_rows = set(self._filters.rows(where).tolist())
        row_by_id = self._store.rows(ids)
        return [id for id in ids if row_by_id.get(id) in passing_rows]

    def filter_note(self, where: Filter) -> str:
        """Return a sentence on how many passages pass a filter, and how many documents lack a date for it.

        Raises:
            UsageError: No document has a field of the filter.
        """
        count = len(self._filters.rows(where))
        note = f"{count} passages fit the filter: {where}" if count else f"No passage fits the filter: {where}"
        undated_count = self._filters.undated() if where.needs_date else 0
        return f"{note}; documents without a date are left out: {undated_count}" if undated_count else note

    @property
    def fields(self) -> list[str]:
        """Names of the fields that a filter may name."""
        return self._filters.fields()

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Return stored vectors (n, d) float32 of passages, in the order of `ids`.

        Raises:
            PassageGone: One of them is not in the library.
        """
        import numpy as np

        vectors = self._store.vectors(ids)
        missing = [id for id in ids if id not in vectors]
        if missing:
            raise PassageGone(
                f"The library {self._store.place} has no vector of the passage {missing[0]!r}",
                help="Its document was changed or deleted; ask again",
            )
        return np.stack([vectors[id] for id in ids]) if ids else np.empty((0, self.embedder.dimension), np.float32)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Return passages in the order of `ids`.

        Raises:
            PassageGone: One of them is not in the library.
        """
        passages = self._store.passages(ids)
        missing = [id for id in ids if id not in passages]
        if missing:
            raise PassageGone(
                f"The library {self._store.place} has no passage {missing[0]!r}",
                help="Its document was changed or deleted; ask again",
            )
        return [passages[id] for id in ids]

    def document_passages(self, document_id: str) -> list[Passage]:
        """Return a document's passages in the order of its text; none where there is no such document."""
        return list(read_passages(self._store, [document_id]))

    def all_passage_ids(self) -> list[str]:
        """Return the ids of all passages, ordered by id."""
        return self._store.all_passage_ids()

    def documents(self) -> Iterator[dict[str, Any]]:
        """Return the rows of all documents, ordered by id."""
        return self._store.documents()

    def mentions(self, phrase: str) -> dict[str, Mention]:
        """Return the documents whose text or title contains a phrase, by id; see `search/mentions.py`."""
        from preflight_rag.library.search.mentions import find_mentions

        return find_mentions(phrase, self._store.passages_like, self._store.titles())


class FolderCollection(StoredCollection):
    """A collection whose passages are stored in a folder.

    Args:
        store: Its database.
        embedder: The embedder that made the vectors.
        writer: The writer of the database.
        name: The name shown to users; None for the folder's name.
    """

    _store: Store
    _writer: Writer

    def __init__(self, store: Store, embedder: RecordedEmbedder, writer: Writer, name: str | None = None) -> None:
        path = store.path.parent

        def open_filters() -> FilterIndex:
            """Return the index of the database's metadata for filters."""
            from preflight_rag.library.search.filter_index import FilterIndex, SqliteValues

            return FilterIndex(SqliteValues(store))

        super().__init__(store, embedder, writer, open_filters, path, name or path.absolute().name)
        self._root = path / FOLDER

    @property
    def catalogue(self) -> Catalogue:
        """The documents and passages of the library for display."""
        from preflight_rag.library.storage.catalogue import Catalogue

        return Catalogue(self._store, self.path)

    def also_in(self, quotes: Mapping[str, str]) -> dict[str, list[CopyPlace]]:
        """Return, for each passage, the other documents with the same quote that are left out of searches.

        Args:
            quotes: The quoted text of each passage, by passage id.
        """
        from preflight_rag.library.copies import also_in

        return also_in(self._store, quotes)

    def stats(self) -> dict[str, Any]:
        """Return counts, sizes in bytes, and the settings that the library was made with."""
        store = self._store
        manifest = read_manifest(self._root)
        index = None
        if manifest:
            index = {
                "passages": manifest.passages,
                "kind": manifest.kind,
                "dense": manifest.dense,
                **manifest.settings,
                "note": manifest.note,
                "generation": manifest.generation,
                "bytes": sum(entry["size"] for entry in manifest.files.values()),
                "waiting_documents": store.count_changed_since(manifest.generation),
            }
        return {
            "path": str(self.path),
            **store.counts(),
            "generation": store.generation(),
            "database_bytes": store.path.stat().st_size,
            "embedder": store.meta("embedder"),
            "splitter": store.meta("splitter"),
            "index": index,
        }

    def lost_documents(self) -> list[str]:
        """Return the documents from which the index was built but which the database lacks, one line each."""
        from preflight_rag.library.recovery import lost_documents

        return lost_documents(self._store, self._root)

    def verify(self) -> list[str]:
        """Check the database and every index file, and return the problems, one line each; none for a sound library."""
        from preflight_rag.library.recovery import lost_documents

        store = self._store
        problems = database_problems(store, store.dimension()) + lost_documents(store, self._root)
        # If files differ from the manifest, its numbers say nothing.
        if damage := index_problems(self._root):
            return problems + damage
        manifest, passages = read_manifest(self._root), store.count_passages()
        if manifest is None:
            return [*problems, "the library has no index yet"] if passages else problems
        if waiting_count := store.count_changed_since(manifest.generation):
            problems.append(f"documents that the index does not know: {waiting_count}")
        # Both have to agree only if no document waits for the index.
        elif manifest.passages != passages:
            problems.append(f"the index holds {manifest.passages} passages, the database {passages}")
        return problems

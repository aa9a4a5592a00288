"""The library in a PostgreSQL database: what a folder's `Library` does, for many processes on many machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.databases.postgres import Address
from preflight_rag.ingest.splitting import SplitterName, check_splitter
from preflight_rag.library.copies import also_in
from preflight_rag.library.index.terms import analysed_probe
from preflight_rag.library.postgres.copies import LINKED
from preflight_rag.library.postgres.filter_values import PostgresValues
from preflight_rag.library.postgres.hashed_terms import HashedTerms
from preflight_rag.library.postgres.problems import library_problems
from preflight_rag.library.postgres.search import copies_of, hybrid_search
from preflight_rag.library.postgres.store import CHUNK, PostgresStore
from preflight_rag.library.postgres.vocabulary import PostgresVocabulary
from preflight_rag.library.postgres.writer import PostgresWriter
from preflight_rag.library.postgres.writing import ANALYSER
from preflight_rag.library.search.filter_index import FilterIndex
from preflight_rag.library.search.filters import Filter
from preflight_rag.library.search.hybrid import Rankings, again_where_replaced
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.catalogue import Catalogue
from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
from preflight_rag.library.storage.store import BUSY_SECONDS
from preflight_rag.library.stored import StoredCollection
from preflight_rag.pubmed.ladder import ENOUGH
from preflight_rag.state.errors import PreflightError, UsageError
from preflight_rag.state.values import CopyPlace
from preflight_rag.text.boolean import Operation, SearchTerm, parse
from preflight_rag.text.words import unicode_text

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.library.index.vocabulary import Vocabulary
    from preflight_rag.state.retrieval import PassageTerms


class PostgresLibrary(StoredCollection):
    """A collection in PostgreSQL. Open one with `PostgresLibrary.open`, or by its address with `open_library`.

    It may be used from several threads, and be written by several processes at once.
    """

    is_complete = True
    _store: PostgresStore
    _writer: PostgresWriter

    def __init__(self, store: PostgresStore, embedder: RecordedEmbedder, writer: PostgresWriter, folder: Path) -> None:

        def open_filters() -> FilterIndex:
            """Return the index of the database's metadata for filters."""
            return FilterIndex(PostgresValues(store))

        super().__init__(store, embedder, writer, open_filters, folder, store.address.database)
        # The methods for writing are the writer's own, without a wrapper for each.
        self.ingest, self.ingest_with_ray, self.add = writer.ingest, writer.ingest_with_ray, writer.add
        self.intern, self.set_tags = writer.intern, writer.set_tags

    @classmethod
    def open(
        cls,
        url: str,
        folder: Path,
        *,
        embedder: str | Embeddings | None = None,
        create: bool = False,
        splitter: SplitterName | None = None,
        lock_seconds: float = BUSY_SECONDS,
    ) -> PostgresLibrary:
        """Open the library in a database.

        Args:
            url: The address of the database.
            folder: A folder on this machine for files that belong to the library but are not in it; created when
                needed.
            embedder: An argument of `open_embedder`; None for the one that the library was made with.
            create: Make the library if there is none.
            splitter: How documents are split, which the library remembers; None for its own.
            lock_seconds: How long to wait for another writer of the same document.

        Raises:
            UsageError: The text is not the address of a PostgreSQL database, or there is no such splitter.
            LibraryMissing: There is no library, and `create` is false.
            LibraryUnavailable: No server answers.
            EmbedderMismatch: The library's vectors were made by another embedder.
            LibraryError: The server refuses the login or lacks pgvector, or a newer version has written the tables.
        """
        if splitter is not None:
            check_splitter(splitter)
        store = PostgresStore(Address.read(url, "--library"), create=create)
        try:
            recorded = RecordedEmbedder(store, embedder)
            if create and store.meta(ANALYSER) is None:
                store.set_meta(ANALYSER, analysed_probe())
            return cls(store, recorded, PostgresWriter(store, recorded, splitter, lock_seconds), folder)
        except BaseException:
            store.close()
            raise

    @property
    def notes(self) -> list[str]:
        """Return notes for the user, such as that an older version counted the words."""
        if self._has_current_terms:
            return []
        return [
            f"The words of {self._store.name} are those of an older version; `preflight library rebuild` makes new ones"
        ]

    @cached_property
    def _has_current_terms(self) -> bool:
        """Whether the analyser of this version made the stored terms."""
        return bool(self._store.meta(ANALYSER) == analysed_probe())

    @property
    def catalogue(self) -> Catalogue:
        """The documents and passages of the library for display."""
        return Catalogue(self._store, self.path)

    def rebuild(self) -> None:
        """Rebuild the posting lists, the word counts and the vector index from the stored passages."""
        self._writer.rebuild()
        # The cached property is computed anew.
        self.__dict__.pop("_has_current_terms", None)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the library."""
        return PostgresVocabulary(self._store)

    def warm(self) -> None:
        """Load the embedder and connect before the first search; errors are left for the search to raise."""
        with suppress(PreflightError):
            self.embedder.encode_query("warm")
            self._store.has_dense_index()

    def search(self, query: SearchQuery | str) -> Rankings:
        """Return the `k` best passages for a query by vectors, by words, and by both, as `Library.search` finds them.

        Raises:
            UsageError: The query cannot be searched for, or no document has a field of its filter.
            LibraryEmpty: There is no passage to find.
            LibraryUnavailable: Nobody answers.
        """
        query = SearchQuery.of(query)
        among = None if query.where is None else self._filters.rows(query.where)
        vector = self.embedder.encode_query(query.text)

        def search_once() -> Rankings:
            """Return the rankings, unless a passage is replaced in between."""
            has_index, with_terms = self._store.has_dense_index(), self._has_current_terms
            return hybrid_search(self._store, query, vector, among, has_index=has_index, with_terms=with_terms)

        rankings = again_where_replaced(search_once)
        return rankings if query.where is None else replace(rankings, note=self.filter_note(query.where))

    def match(self, expression: str, limit: int = ENOUGH) -> tuple[list[str], int]:
        """Return the ids of documents that match a Boolean expression, and how many passages match, as `Library.match`.

        If more than 20,000 passages have all words of a phrase, these words need not be adjacent.

        Raises:
            UsageError: The expression cannot be read, or `limit` is below 1.
            LibraryEmpty: There is no passage to find.
            LibraryUnavailable: No server answers.
        """
        from preflight_rag.library.postgres.boolean import matching_passages

        tree = parse(unicode_text(expression))
        if limit < 1:
            raise UsageError(f"limit={limit} is out of range", help="Use limit >= 1")
        rows = matching_passages(self._store, tree).keys
        document_ids: dict[str, None] = {}
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK].tolist()
            document_by_row = self._store.documents_of(chunk)
            # A row that was found a moment ago may have been purged.
            document_ids |= dict.fromkeys(document_by_row[row] for row in chunk if row in document_by_row)
            if len(document_ids) >= limit:
                break
        return list(document_ids)[:limit], len(rows)

    def passages_with(self, phrases: Sequence[str], limit: int = ENOUGH) -> list[str]:
        """Return ids of passages that contain one of the phrases, best first by BM25; see `Library.passages_with`.

        Raises:
            LibraryEmpty: There is no passage to find.
            LibraryUnavailable: Nobody answers.
        """
        from preflight_rag.library.postgres.boolean import matching_passages

        tree = Operation("OR", tuple(SearchTerm(unicode_text(phrase), phrase=True) for phrase in phrases))
        rows = matching_passages(self._store, tree).keys[:limit].tolist()
        id_by_row = self._store.passages_at(rows)
        return [id_by_row[row] for row in rows if row in id_by_row]

    def without_copies(self, ids: Sequence[str], where: Filter | None = None) -> list[str]:
        """Return the ids of the passages, except copies: those whose text other passages within the filter have.

        Raises:
            UsageError: No document has a field of the filter.
            LibraryUnavailable: Nobody answers.
        """
        linked = self._store.meta(LINKED)
        if not self._store.passage_copies(linked):
            return list(ids)
        row_by_id = self._store.rows(ids)
        filtered_rows = None if where is None else self._filters.rows(where)
        copies = copies_of(self._store, linked, filtered_rows)
        is_copy = dict(zip(row_by_id, copies.are_left_out(list(row_by_id.values())), strict=True))
        return [id for id in ids if not is_copy.get(id, False)]

    def also_in(self, quotes: Mapping[str, str]) -> dict[str, list[CopyPlace]]:
        """Return, for each passage, the other documents with the same quote that are left out of searches.

        Args:
            quotes: The quoted text of each passage, by passage id.
        """
        return also_in(self._store.copies, quotes)

    def indexed_terms(self, ids: Sequence[str]) -> list[PassageTerms] | None:
        """Return the terms of passages in the order of `ids`; None if one lacks them or an older analyser made them."""
        if not self._has_current_terms:
            return None
        encoded = self._store.terms(ids)
        if any(id not in encoded for id in ids):
            return None
        terms = HashedTerms([encoded[id] for id in ids])
        return [terms.of(position) for position in range(len(ids))]

    def stats(self) -> dict[str, Any]:
        """Return counts, sizes in bytes, and the settings that the library was made with."""
        store = self._store
        return {
            "path": store.name,
            **store.counts(),
            "generation": store.generation(),
            "database_bytes": store.size(),
            "embedder": store.meta("embedder"),
            "splitter": store.meta("splitter"),
            "index": store.index_summary(),
        }

    def lost_documents(self) -> list[str]:
        """Return an empty list: PostgreSQL keeps its indices consistent with their rows."""
        return []

    def verify(self) -> list[str]:
        """Return the problems of the stored data, one line each; none for a sound library."""
        return library_problems(self._store)

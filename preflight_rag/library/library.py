"""The library in a folder: its documents, and everything that can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from preflight_rag.ingest.splitting import SplitterName, check_splitter
from preflight_rag.library.index.dense import FLAT_LIMIT, IndexKind, check_kind
from preflight_rag.library.index.generations import CurrentIndex, Index
from preflight_rag.library.search.hybrid import Rankings, copies_of, hybrid_search, require_all
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
from preflight_rag.library.storage.store import BUSY_SECONDS, Store
from preflight_rag.library.stored import FolderCollection
from preflight_rag.library.writer import Writer
from preflight_rag.pubmed.ladder import ENOUGH
from preflight_rag.state.errors import DatabaseCorrupt, LibraryCorrupt, LibraryEmpty, PreflightError, UsageError
from preflight_rag.state.memory import LEAST_MEGABYTES, need_memory
from preflight_rag.text.boolean import Expression, Operation, SearchTerm, parse
from preflight_rag.text.languages import UNKNOWN, language_of
from preflight_rag.text.words import unicode_text

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.library.index.vocabulary import Vocabulary
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.state.retrieval import PassageTerms

Result = TypeVar("Result")


class Library(FolderCollection):
    """A collection of documents: ingest, hybrid search, passages by id. Open one with `Library.open`.

    `search` and `passages` may be called from several threads. Writers take turns, across processes.
    """

    is_complete = True

    def __init__(
        self,
        store: Store,
        embedder: RecordedEmbedder,
        *,
        splitter: SplitterName | None,
        flat_limit: int,
        lock_seconds: float,
    ) -> None:
        writer = Writer(store, embedder, splitter=splitter, flat_limit=flat_limit, lock_seconds=lock_seconds)
        super().__init__(store, embedder, writer)
        self._index = CurrentIndex(store, self._root, writer.rebuild)
        # The methods for writing are the writer's own, without a wrapper for each.
        self.ingest, self.ingest_with_ray, self.add = writer.ingest, writer.ingest_with_ray, writer.add
        self.intern, self.set_tags, self.set_index_kind = writer.intern, writer.set_tags, writer.set_index_kind

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: str | Embeddings | None = None,
        create: bool = False,
        index: IndexKind | None = None,
        splitter: SplitterName | None = None,
        flat_limit: int = FLAT_LIMIT,
        lock_seconds: float = BUSY_SECONDS,
    ) -> Library:
        """Open the library in the folder `path`.

        Args:
            path: The folder.
            embedder: A spec or object as `open_embedder` takes it; None for the embedder with which the library was
                made, and the default one for a new library.
            create: Make the library if there is none.
            index: Kind of dense index (see `index/dense.py`), which the library remembers; a change rebuilds the index.
                None for the library's own, `auto` in a new one.
            splitter: How documents are split, which the library remembers. It holds from the next ingest on: documents
                that are read again are split anew, the others keep their passages. None for the library's own,
                `sentence` in a new one.
            flat_limit: Up to how many passages an `auto` index is exhaustive.
            lock_seconds: How long to wait for another writer.

        Raises:
            LibraryMissing: There is none and `create` is false.
            EmbedderMismatch: The library's vectors were made by another embedder.
            LibraryCorrupt: Its database cannot be read.
            EmbedderError: The embedder cannot be opened.
            UsageError: There is no such kind of index, or no such splitter.
        """
        if index is not None:
            check_kind(index)
        if splitter is not None:
            check_splitter(splitter)
        # Before NumPy and FAISS are loaded, whose libraries end the process where address space is lacking.
        need_memory(LEAST_MEGABYTES, "to open the library")
        store = Store(Path(path).expanduser(), create=create)
        try:
            recorded = RecordedEmbedder(store, embedder)
            library = cls(store, recorded, splitter=splitter, flat_limit=flat_limit, lock_seconds=lock_seconds)
            if index is not None:
                library.set_index_kind(index)
        except BaseException:
            store.close()
            raise
        return library

    def close(self) -> None:
        """Close the database and drop the index from memory."""
        self._index.close()
        super().close()

    @property
    def notes(self) -> list[str]:
        """Return notes on the index: that it was rebuilt, or that documents wait for the next ingest."""
        return [*self._index.notes(), *self._store.notes()]

    def rebuild(self) -> None:
        """Rebuild the index from the database, and shrink the database by the space of deleted rows."""
        self._writer.rebuild(compact=True)

    @property
    def index_kind(self) -> IndexKind:
        """The kind of dense index that the library is set to; a small library may have a flat one all the same."""
        return self._writer.index_kind

    def warm(self) -> None:
        """Load the embedder and the index before the first search; errors are left for the search to raise."""
        with suppress(PreflightError):
            self.embedder.encode_query("warm")
            self._index.get()

    def search(self, query: SearchQuery | str) -> Rankings:
        """Return the `k` best passages for a query by vectors, by words, and by both.

        An index that is missing or damaged is rebuilt from the database first; `notes` then says so.

        Raises:
            UsageError: The query cannot be searched for, or no document has a field of its filter.
            LibraryEmpty: There is no passage to find.
        """
        query = SearchQuery.of(query)
        index = self._index.get()
        vector = self.embedder.encode_query(query.text)
        rows = None if query.where is None else self._filters.rows(query.where)
        # Vectors of a model for one language say nothing of passages in another, so they cannot judge these alone.
        language = language_of(query.text) if self.embedder.multilingual else UNKNOWN

        def search_index(index: Index) -> Rankings:
            """Return the rankings that an index gives."""
            return hybrid_search(self._store, index, query, vector, rows, language)

        rankings = self._search_repaired(index, search_index)
        return rankings if query.where is None else replace(rankings, note=self.filter_note(query.where))

    def _search_repaired(self, index: Index, search: Callable[[Index], Result]) -> Result:
        """Return the result of a search in an index; if the index turns out damaged, search the rebuilt one instead."""
        try:
            return search(index)
        # A kind of `LibraryCorrupt` too, but a new index of a damaged database would not help.
        except DatabaseCorrupt:
            raise
        except LibraryCorrupt as error:
            return search(self._index.replace_damaged(index, error))

    def indexed_terms(self, ids: Sequence[str]) -> list[PassageTerms] | None:
        """Return the terms of passages in the order of `ids`; None if the index lacks the terms of one of them.

        The index lacks them if an older version built it, or if the passage was stored since.
        """
        try:
            index = self._index.get()
        except LibraryEmpty:
            return None
        if index.terms is None:
            return None
        # Mostly these are the passages of the previous search, whose positions are cached: no query is needed.
        positions = None if index.places is None else index.places.cached_positions(ids)
        if positions is None:
            rows = self._store.rows(ids)
            stored_positions = index.positions_of_all([rows[id] for id in ids if id in rows])
            if stored_positions is None or len(stored_positions) != len(ids):
                return None
            positions = stored_positions.tolist()
        return [index.terms.of(position) for position in positions]

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of the library; None if an older version built the index, until it is rebuilt.

        Raises:
            LibraryEmpty: There is no passage.
        """
        return self._index.get().vocabulary

    def match(self, expression: str, limit: int = ENOUGH) -> tuple[list[str], int]:
        """Return the documents that match a Boolean expression, and how many passages match.

        Args:
            expression: An expression in PubMed's syntax, as `text.boolean.parse` takes it; field tags are ignored.
            limit: Most documents, at least 1.

        Returns:
            Ids of documents by the BM25 of their best passage, best first; the number of matching passages.

        Raises:
            UsageError: The expression cannot be read, or `limit` is below 1.
            LibraryEmpty: There is no passage to find.
        """
        tree = parse(unicode_text(expression))
        if limit < 1:
            raise UsageError(f"limit={limit} is out of range", help="Use limit >= 1")
        return self._search_repaired(self._index.get(), lambda index: self._match_documents(index, tree, limit))

    def passages_with(self, phrases: Sequence[str], limit: int = ENOUGH) -> list[str]:
        """Return the ids of up to `limit` passages that contain one of the phrases, best first by BM25.

        In an index of an older version, a passage with all words of a phrase counts too.

        Raises:
            LibraryEmpty: There is no passage to find.
        """
        tree = Operation("OR", tuple(SearchTerm(unicode_text(phrase), phrase=True) for phrase in phrases))

        def match_passages(index: Index) -> list[str]:
            """Return the ids of the passages that match in an index."""
            hits, _ = index.lexical.match(tree, limit)
            return [passage_id for passage_id, _ in self._identities(hits)]

        return self._search_repaired(self._index.get(), match_passages)

    def _identities(self, hits: Sequence[tuple[int, float]]) -> list[tuple[str, str]]:
        """Return `(passage id, document id)` of each `(row, score)`.

        Raises:
            LibraryCorrupt: The database lacks one of the rows, so the index is not up to date.
        """
        rows = [row for row, _ in hits]
        identities = require_all(self._store, rows, self._store.identities(rows))
        return [identities[row] for row in rows]

    def without_copies(self, ids: Sequence[str], where: Filter | None = None) -> list[str]:
        """Return the ids of the passages, except copies: those whose text other passages within the filter have.

        Raises:
            LibraryEmpty: There is no passage to find.
            UsageError: No document has a field of the filter.
        """
        # Most libraries have no copies; their index need not be opened for this.
        if not self._store.passage_copies():
            return list(ids)
        row_by_id = self._store.rows(ids)
        filtered_rows = None if where is None else self._filters.rows(where)
        copies = copies_of(self._store, self._index.get(), filtered_rows)
        is_copy = dict(zip(row_by_id, copies.are_left_out(list(row_by_id.values())), strict=True))
        return [id for id in ids if not is_copy.get(id, False)]

    def _match_documents(self, index: Index, tree: Expression, limit: int) -> tuple[list[str], int]:
        """Return the ids of up to `limit` documents that match an expression, and the number of matching passages."""
        # A document may match with several passages, so more passages are read than documents are wanted.
        depth = 4 * limit
        while True:
            hits, passage_count = index.lexical.match(tree, depth)
            document_ids = list(dict.fromkeys(document_id for _, document_id in self._identities(hits)))
            if len(document_ids) >= limit or depth >= passage_count:
                return document_ids[:limit], passage_count
            depth *= 4

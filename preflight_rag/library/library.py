"""The library: one folder that holds a collection, and everything that can be done with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.current import CurrentIndex
from preflight_rag.library.index.dense import FLAT_LIMIT, IndexKind
from preflight_rag.library.index.dense_kinds import check_kind
from preflight_rag.library.index.generations import FOLDER
from preflight_rag.library.query.ladder import ENOUGH, parse
from preflight_rag.library.search.fitting import Fitting
from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.library.search.hybrid import CANDIDATES, TOP_K, Found, hybrid_search
from preflight_rag.library.splitting.by_name import SplitterName, check_splitter
from preflight_rag.library.storage import health
from preflight_rag.library.storage.catalogue import Catalogue
from preflight_rag.library.storage.ingest import MAX_BYTES, IngestReport, Progress, unicode_text
from preflight_rag.library.storage.interning import DEADLINE, Interned, passages_of
from preflight_rag.library.storage.recorded_embedder import RecordedEmbedder
from preflight_rag.library.storage.store import BUSY_SECONDS, Store
from preflight_rag.library.storage.writer import Writer
from preflight_rag.state.errors import LibraryCorrupt, PreflightError, UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Document, Passage

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.embeddings import Embeddings

    from preflight_rag.library.index.vocabulary import Vocabulary
    from preflight_rag.library.search.filters import Filter
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.routing.risk import RiskModel


class Library:
    """A collection of documents: ingest, hybrid search, passages by id. Open one with `Library.open`.

    `search` and `passages` may be called from several threads. Writers take turns, across processes.
    """

    def __init__(
        self,
        store: Store,
        embedder: RecordedEmbedder,
        *,
        splitter: SplitterName | None,
        flat_limit: int,
        lock_seconds: float,
    ) -> None:
        self.path = store.path.parent
        self._root = self.path / FOLDER
        self._store = store
        self._embedder = embedder
        self._writer = Writer(
            store, self._root, embedder, splitter=splitter, flat_limit=flat_limit, lock_seconds=lock_seconds
        )
        self._index = CurrentIndex(store, self._root, self._writer.rebuild)
        self._fitting = Fitting(store)

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
            embedder: What `open_embedder` takes; None for the one that the library was made with, and the default one
                for a new library.
            create: Make the library where there is none.
            index: Kind of dense index (see `dense_kinds.py`), which the library remembers; another one than before
                rebuilds the index. None for the library's own, `auto` in a new one.
            splitter: How documents are split, which the library remembers. From the next ingest on; documents that
                are read again are split anew, the others keep their passages. None for the library's own, `sentence`
                in a new one.
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
        return self._embedder.get()

    @property
    def notes(self) -> list[str]:
        """What a user should know of the index: that it was rebuilt, or that documents wait for the next ingest."""
        return self._index.notes()

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
        return self._writer.ingest(paths, prune=prune, progress=progress, max_bytes=max_bytes)

    def add(self, documents: Iterable[Document], *, progress: Progress | None = None) -> IngestReport:
        """Add or update documents that are in memory, then swap in a new index."""
        return self._writer.add(documents, progress)

    def intern(self, documents: Sequence[Document], *, deadline: float = DEADLINE) -> Interned:
        """Take in documents that a turn found elsewhere; a library that cannot be written still gives what it holds.

        The index is rebuilt at once while it is small; a large one learns of them at the next ingest (`notes`). Until
        then their passages are found by id only.

        Args:
            documents: Their ids name them for good, such as "PMID 12345".
            deadline: Seconds after which no further document is embedded, waiting for other writers included.
        """
        return self._writer.intern(documents, deadline)

    def delete_document(self, document_id: str) -> bool:
        """Delete a document, its passages and vectors; false where there is none."""
        return self._writer.delete_document(document_id)

    def rebuild(self) -> None:
        """Rebuild the index from the database."""
        self._writer.rebuild()

    @property
    def index_kind(self) -> IndexKind:
        """The kind of dense index that the library has chosen; small libraries may have a flat one all the same."""
        return self._writer.index_kind

    def set_index_kind(self, kind: IndexKind) -> None:
        """Choose another kind of dense index; the index is rebuilt, the vectors stay.

        Raises:
            UsageError: There is no such kind.
            LibraryError: Another process holds the library, or it cannot be written.
        """
        self._writer.set_index_kind(kind)

    def warm(self) -> None:
        """Load the embedder and the index ahead of the first search; errors are left for the search to raise."""
        with suppress(PreflightError):
            self.embedder.encode_query("warm")
            self._index.get()

    def search(
        self,
        query: str,
        *,
        k: int = TOP_K,
        candidates: int = CANDIDATES,
        rrf_k: int = RRF_K,
        where: Filter | None = None,
    ) -> Found:
        """The `k` best passages for a query by vectors, by words, and by both.

        An index that is missing or damaged is rebuilt from the database first; `notes` then says so.

        Args:
            query: Any text; it has no syntax.
            k: Length of the rankings.
            candidates: How many passages of each ranking are fused, at least `k`.
            rrf_k: The constant of reciprocal rank fusion.
            where: Only passages that fit this filter are ranked. Where none does, the rankings are empty; what the
                filter left out is in the result's `note`.

        Raises:
            UsageError: The query is empty, `k` is below 1, or no document has a field of the filter.
            LibraryEmpty: There is no passage to find.
        """
        query = unicode_text(query)
        if not query.strip():
            raise UsageError(f"The query is empty: {query!r}", help="Ask something")
        if k < 1 or rrf_k < 0:
            raise UsageError(f"k={k} and rrf_k={rrf_k} are out of range", help="Use k >= 1 and rrf_k >= 0")
        index = self._index.get()
        vector = self.embedder.encode_query(query)
        options: dict[str, Any] = {"k": k, "candidates": candidates, "rrf_k": rrf_k}
        if where is not None:
            options["rows"] = self._fitting.rows(where)
        try:
            found = hybrid_search(self._store, index, query, vector, **options)
        except LibraryCorrupt as error:
            found = hybrid_search(self._store, self._index.after(error), query, vector, **options)
        return found if where is None else replace(found, note=self.filter_note(where))

    def candidates(
        self, query: str, *, depth: int = CANDIDATES, rrf_k: int = RRF_K, where: Filter | None = None
    ) -> list[Candidate]:
        """The first `depth` passages of the fused ranking, best first, with their places in the other rankings.

        With a filter, of the passages that fit it: none where none does, which `filter_note` then says.

        Raises:
            UsageError, LibraryEmpty: As `search`.
        """
        found = self.search(query, k=depth, candidates=depth, rrf_k=rrf_k, where=where)
        return found.candidates(self.passages([hit.passage_id for hit in found.fused]))

    def fitting(self, ids: Sequence[str], where: Filter) -> list[str]:
        """Those of the passages that fit a filter, in the order of `ids`; they need not be in the index yet.

        Raises:
            UsageError: No document has a field of the filter.
        """
        rows = set(self._fitting.rows(where).tolist())
        found = self._store.rows(ids)
        return [name for name in ids if found.get(name) in rows]

    def filter_note(self, where: Filter) -> str:
        """How many passages fit a filter, and how many documents it leaves out for want of a date.

        Raises:
            UsageError: No document has a field of the filter.
        """
        count = len(self._fitting.rows(where))
        note = f"{count} passages fit the filter: {where}" if count else f"No passage fits the filter: {where}"
        undated = self._fitting.undated() if where.needs_date else 0
        return f"{note}; documents without a date are left out: {undated}" if undated else note

    @property
    def fields(self) -> list[str]:
        """Names of the fields that a filter may name."""
        return self._fitting.fields()

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of the library; None where an older version built the index, until it is built again.

        Raises:
            LibraryEmpty: There is no passage.
        """
        return self._index.get().vocabulary

    def match(self, expression: str, limit: int = ENOUGH) -> tuple[list[str], int]:
        """Documents that fit a Boolean expression, and how many passages fit.

        Args:
            expression: In PubMed's syntax, as `ladder.parse` takes it; field tags count for nothing.
            limit: Most documents, at least 1.

        Returns:
            Ids of documents by the BM25 of their best passage, best first; the number of passages that fit.

        Raises:
            UsageError: The expression cannot be read, or `limit` is below 1.
            LibraryEmpty: There is no passage to find.
        """
        tree = parse(unicode_text(expression))
        if limit < 1:
            raise UsageError(f"limit={limit} is out of range", help="Use limit >= 1")
        lexical, depth = self._index.get().lexical, 4 * limit
        while True:
            rows, hits = lexical.match(tree, depth)
            names = self._store.identities([row for row, _ in rows])
            found = list(dict.fromkeys(names[row][1] for row, _ in rows if row in names))
            if len(found) >= limit or depth >= hits:
                return found[:limit], hits
            depth *= 4

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Stored vectors (n, d) float32 of passages, in the order of `ids`.

        Raises:
            LibraryCorrupt: One of them is not in the library.
        """
        import numpy as np

        found = self._store.vectors(ids)
        missing = [name for name in ids if name not in found]
        if missing:
            raise LibraryCorrupt(f"The library at {self.path} has no vector of the passage {missing[0]!r}")
        return np.stack([found[name] for name in ids]) if ids else np.empty((0, self.embedder.dimension), np.float32)

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

    def document_passages(self, document_id: str) -> list[Passage]:
        """A document's passages in the order of its text; none where there is no such document."""
        return list(passages_of(self._store, [document_id]))

    def all_passage_ids(self) -> list[str]:
        """Ids of all passages, ordered by id."""
        return self._store.all_passage_ids()

    def risk_model(self) -> RiskModel | None:
        """What foretells that a key passage would be lost: the library's own calibration, else the shipped one.

        None where nothing was calibrated for its embedder.

        Raises:
            LibraryCorrupt: Its own calibration cannot be read.
        """
        from preflight_rag.routing.library_risk import risk_model

        return risk_model(self.path, self._store.meta("embedder")["revision"])

    def documents(self) -> Iterator[dict[str, Any]]:
        """Rows of all documents, ordered by id."""
        return self._store.documents()

    @property
    def catalogue(self) -> Catalogue:
        """Its documents and passages as people look at them."""
        return Catalogue(self._store)

    def stats(self) -> dict[str, Any]:
        """Counts, sizes in bytes, and what the library was made with."""
        return health.stats(self._store, self._root)

    def verify(self) -> list[str]:
        """Check the database and every index file; one line per problem, none for a sound library."""
        return health.problems(self._store, self._root)

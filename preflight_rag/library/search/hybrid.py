"""Hybrid search: dense and lexical candidates over the whole corpus, fused by reciprocal rank or by their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

from preflight_rag.library.copies import Copies
from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.library.search.fusion import comb_sum, fuse_ranks
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.search.two_at_once import two_at_once
from preflight_rag.state.errors import LibraryCorrupt, PassageGone
from preflight_rag.state.retrieval import Candidate, Columns, Pool
from preflight_rag.state.values import Hit, Passage, UnreadPassage
from preflight_rag.text.languages import UNKNOWN, language_of

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.index.generations import Index
    from preflight_rag.library.storage.store import Store

COUNTED_UP_TO = 200_000
"""Up to this many passages, all are counted after each write to the database, in a few milliseconds; with more, each
search checks those that it found. A guess."""
LANGUAGE_CHECKED_HITS = 5
"""Number of best fused passages: if one of them is in another language than the question, words must not reorder them.
A guess."""
LANGUAGE_SAMPLE = 300
"""Characters of a passage from which its language is detected; a guess."""
MOST_ATTEMPTS = 5
"""Number of attempts of a search when an ingest replaces found passages before they are read; a guess: an ingest takes
much longer than a search, so the second attempt nearly always succeeds."""

K = TypeVar("K")
V = TypeVar("V")
Identities = dict[int, tuple[str, str]]
"""Passage id and document id by row."""
LookUpNames = Callable[[Sequence[int]], list[tuple[str, str]]]
"""Function that returns `(passage id, document id)` of rows."""


class LazyRanking(Sequence[Hit]):
    """A ranking whose hits are created when they are accessed: a turn needs only the first ones.

    Args:
        ranking: The ranked rows, best first.
        look_up_names: Function that returns `(passage id, document id)` of rows.
    """

    def __init__(self, ranking: ScoredRanking, look_up_names: LookUpNames) -> None:
        self._ranking, self._look_up_names = ranking, look_up_names

    def __len__(self) -> int:
        return len(self._ranking)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        if isinstance(index, int):
            # `range` takes a negative index, and raises IndexError, as a list does.
            position = range(len(self))[index]
            (hit,) = self[position : position + 1]
            return hit
        ranks = range(1, len(self) + 1)[index]
        rows, scores = self._ranking.keys[index].tolist(), self._ranking.scores[index].tolist()
        return tuple(
            Hit(passage_id=passage_id, document_id=document_id, rank=rank, score=score)
            for rank, (passage_id, document_id), score in zip(ranks, self._look_up_names(rows), scores, strict=True)
        )

    def __iter__(self) -> Iterator[Hit]:
        # `Sequence` would read the hits one by one, with a look-up of the names for each.
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self[:] == tuple(other)

    def __hash__(self) -> int:
        return hash(self[:])

    def __repr__(self) -> str:
        return repr(self[:])


class ScoresByName(Mapping[str, float]):
    """Scores of passages by their ids, which are looked up on first access.

    Args:
        ranking: The ranked rows.
        look_up_names: Function that returns `(passage id, document id)` of rows.
    """

    def __init__(self, ranking: ScoredRanking, look_up_names: LookUpNames) -> None:
        self._ranking, self._look_up_names = ranking, look_up_names

    @cached_property
    def _scores(self) -> dict[str, float]:
        """The score of each passage, by its id."""
        names = self._look_up_names(self._ranking.keys.tolist())
        return {id: score for (id, _), score in zip(names, self._ranking.scores.tolist(), strict=True)}

    def __getitem__(self, passage_id: str) -> float:
        return self._scores[passage_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._ranking)


@dataclass(frozen=True, slots=True)
class Rankings:
    """The rankings of passages for one query, each at most `k` long.

    Attributes:
        dense: By inner product of vectors, which for the default embedder is the cosine.
        lexical: By BM25.
        fused: By reciprocal rank, or by both scores, over the candidates of both, with the fused score.
        dense_scores: Cosine of query and passage for every passage of `fused`, from the stored vectors.
        note: What the filter left out; empty without one.
        problems: Failures that left something out, one line each.
        across: Whether one of the first fused passages is in another language than the question, so that words should
            not reorder them.
        unread: The candidates of `fused` without their texts, if the index contains all other data for ranking them;
            mostly a `Pool`.
    """

    dense: Sequence[Hit]
    lexical: Sequence[Hit]
    fused: Sequence[Hit]
    dense_scores: Mapping[str, float]
    note: str = ""
    problems: tuple[str, ...] = ()
    across: bool = False
    unread: Sequence[Candidate[UnreadPassage]] | None = field(default=None, compare=False, repr=False)

    def candidates(self, passages: Sequence[Passage]) -> list[Candidate]:
        """Return the candidates of the fused ranking, with their ranks in all rankings.

        Args:
            passages: The passages of the fused ranking, in its order.
        """
        if self.unread is not None:
            return [candidate.read(passage) for candidate, passage in zip(self.unread, passages, strict=True)]
        dense_ranks = {hit.passage_id: hit.rank for hit in self.dense}
        lexical_hits = {hit.passage_id: hit for hit in self.lexical}
        candidates = []
        for hit, passage in zip(self.fused, passages, strict=True):
            lexical_hit = lexical_hits.get(hit.passage_id)
            candidates.append(
                Candidate(
                    passage=passage,
                    rank=hit.rank,
                    score=hit.score,
                    cosine=self.dense_scores[hit.passage_id],
                    dense_rank=dense_ranks.get(hit.passage_id),
                    lexical_rank=lexical_hit.rank if lexical_hit else None,
                    bm25=lexical_hit.score if lexical_hit else None,
                )
            )
        return candidates


def again_where_replaced(search: Callable[[], V]) -> V:
    """Return the result of `search`, which is called again if it raises `PassageGone`.

    A search finds passages in the index and then reads them; an ingest may replace them in between. The result is thus
    complete, and of one generation of the index.

    Raises:
        PassageGone: A passage is missing after every attempt, so it is not only being replaced.
    """
    # The last attempt is outside the loop, so that its error reaches the caller.
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return search()
        except PassageGone:
            continue
    return search()


def hybrid_search(
    store: Store,
    index: Index,
    query: SearchQuery,
    vector: np.ndarray,
    rows: np.ndarray | None = None,
    language: str = UNKNOWN,
) -> Rankings:
    """Search both indices for a query and its vector, and fuse the results, over all passages or `rows`.

    A passage in another language than the query's is judged by its vector alone: except for names it cannot contain the
    query's words, and common words of the query's language mean something else in it.

    For the fusion of scores, a passage that only BM25 found gets its cosine from the stored vector; one that only the
    vectors found gets the lowest BM25 score found.

    Args:
        store: The database.
        index: Both indices.
        query: The query.
        vector: The vector of its text.
        rows: The rows to search; None for all.
        language: The query's language if the embedder is multilingual; else unknown.

    Raises:
        LibraryCorrupt: The index points to passages that the database does not hold.
    """
    import numpy as np

    k, depth = query.k, query.depth
    positions = None if rows is None else index.positions(rows)
    copies = copies_of(store, index, rows)

    def rank_by_vector(n: int) -> ScoredRanking:
        """Return the `n` nearest passages by vector, copies included."""
        if positions is None:
            return index.search_dense(vector, n)
        return _nearest(store, index, vector, n, positions)

    def search_dense() -> ScoredRanking:
        """Return the nearest passages by vector, without copies."""
        return copies.search(rank_by_vector, depth)

    def search_lexical() -> ScoredRanking:
        """Return the best passages by BM25, without copies."""
        return copies.search(lambda n: index.search_lexical(query.text, n, among=positions), depth)

    # In a large library each search takes a millisecond or more, much longer than starting a thread.
    is_large = positions is None and not index.dense.is_exact
    dense, lexical = two_at_once(search_dense, search_lexical) if is_large else (search_dense(), search_lexical())
    foreign_rows = _find_foreign_rows(store, language, dense, lexical)
    fusion = _fuse(store, index, query, vector, dense, lexical, foreign_rows)
    dense, lexical, fused = dense.best(k), lexical.best(k), fusion.ranking
    names = _PassageNames(store, index)
    names.check([dense.keys, lexical.keys, fused.keys])
    cosines = row_cosines(vector, stored_vectors(store, index, fused.keys))
    return Rankings(
        dense=LazyRanking(dense, names),
        lexical=LazyRanking(lexical, names),
        fused=LazyRanking(fused, names),
        dense_scores=ScoresByName(ScoredRanking(fused.keys, cosines), names),
        across=foreign_rows is not None and bool(np.isin(fused.keys[:LANGUAGE_CHECKED_HITS], foreign_rows).any()),
        unread=_unread_pool(index, fusion, lexical, cosines),
    )


class _Fusion(NamedTuple):
    """The first `k` passages of the fused ranking.

    Attributes:
        ranking: Their rows and fused scores.
        dense_ranks: The rank of each in the dense ranking, from 1; 0 if it is not among the first `k` there.
        lexical_ranks: The same for the lexical ranking.
    """

    ranking: ScoredRanking
    dense_ranks: np.ndarray
    lexical_ranks: np.ndarray


def _fuse(
    store: Store,
    index: Index,
    query: SearchQuery,
    vector: np.ndarray,
    dense: ScoredRanking,
    lexical: ScoredRanking,
    foreign_rows: np.ndarray | None,
) -> _Fusion:
    """Fuse both rankings as the query demands; passages at `foreign_rows` are judged by the dense ranking alone."""
    import numpy as np

    k = query.k
    if query.fusion == "rrf":
        keys, scores, ranks = fuse_ranks([dense.keys, lexical.keys], k=query.rrf_k, by_first=foreign_rows)
        fused = ScoredRanking(keys, scores).best(k)
        dense_ranks, lexical_ranks = ranks[:, :k]
    else:
        by_dense = () if foreign_rows is None else foreign_rows.tolist()
        cosines = _candidate_cosines(store, index, vector, dense, lexical)
        fused = ScoredRanking.of(comb_sum(cosines, dict(lexical.pairs()), by_dense=by_dense)).best(k)
        dense_ranks, lexical_ranks = (_ranks(ranking.keys, fused.keys) for ranking in (dense, lexical))
    # Ranks behind the k-th are not part of the returned rankings.
    return _Fusion(fused, np.where(dense_ranks <= k, dense_ranks, 0), np.where(lexical_ranks <= k, lexical_ranks, 0))


def _unread_pool(index: Index, fusion: _Fusion, lexical: ScoredRanking, cosines: np.ndarray) -> Pool | None:
    """Return the fused passages as candidates whose texts are not read; None if an older version built the index.

    Such an index has no places or terms, so its candidates are read from the database.
    """
    import numpy as np

    fused, lexical_ranks = fusion.ranking, fusion.lexical_ranks
    positions = index.positions_of_all(fused.keys)
    if index.places is None or index.terms is None or positions is None:
        return None
    bm25 = np.full(len(fused), np.nan)
    bm25[lexical_ranks > 0] = lexical.scores[lexical_ranks[lexical_ranks > 0] - 1]
    ranks = np.arange(1, len(fused) + 1)
    columns = Columns(ranks, fused.scores, cosines, fusion.dense_ranks, lexical_ranks, bm25)
    return Pool(columns, positions, index.terms, index.places)


def _find_foreign_rows(store: Store, language: str, dense: ScoredRanking, lexical: ScoredRanking) -> np.ndarray | None:
    """Return the rows of found passages that are in another known language than `language`.

    None if there are none, or if `language` is unknown. Detection takes a tenth of a millisecond per passage, so only
    searches by multilingual models do it.
    """
    import numpy as np

    if language == UNKNOWN:
        return None
    rows = np.union1d(dense.keys, lexical.keys)
    beginnings = store.beginnings(rows.tolist(), LANGUAGE_SAMPLE)
    foreign_rows = [row for row, text in beginnings.items() if language_of(text) not in (language, UNKNOWN)]
    return np.array(foreign_rows, np.int64) if foreign_rows else None


def copies_of(store: Store, index: Index, rows: np.ndarray | None = None) -> Copies:
    """Return the copies that a search of an index leaves out; with a filter, `rows` are those that pass it."""
    import numpy as np

    def is_searched(candidates: np.ndarray) -> np.ndarray:
        """Return, for each row, whether it is in the index and passes the filter, if any."""
        is_there = np.isin(candidates, index.rows)
        return is_there if rows is None else is_there & np.isin(candidates, rows)

    return Copies(store.passage_copies(), is_searched)


def _ranks(ranking: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the rank of each of some keys in a ranking, from 1; 0 if the ranking lacks it."""
    import numpy as np

    rank_by_key = {key: rank for rank, key in enumerate(ranking.tolist(), 1)}
    return np.array([rank_by_key.get(key, 0) for key in keys.tolist()], np.int64)


class _PassageNames:
    """Looks up the ids of passages and of their documents by row, when a ranking is read.

    They are taken from the index; if an older version built it, from the database.
    """

    def __init__(self, store: Store, index: Index) -> None:
        self._store, self._index = store, index
        self._identities: Identities = {}

    def check(self, rankings: Sequence[np.ndarray]) -> None:
        """Raise an error unless the database has all passages at the rows that the rankings contain.

        The check is skipped while nobody has written to the database since all passages were seen to be there.

        Raises:
            LibraryCorrupt: The database lacks some.
        """
        index, store = self._index, self._store
        # Only in a small library is counting all rows cheaper than looking up each one.
        if index.places is not None and len(index.rows) <= COUNTED_UP_TO:
            # Read before the rows are counted: a write in between then has another state.
            state = store.state()
            if index.complete_at_state == state:
                return
            is_complete = index.manifest.generation == store.generation() and store.count_rows() == len(index.rows)
            index.complete_at_state = state if is_complete else None
            if is_complete:
                return
        rows = sorted(set(chain.from_iterable(ranking.tolist() for ranking in rankings)))
        if self._index.places is None:
            self._identities = require_all(self._store, rows, self._store.identities(rows))
        elif not self._store.has_all_rows(rows):
            raise _missing_passages_error(self._store)

    def __call__(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """Return `(passage id, document id)` of rows that were checked."""
        places, positions = self._index.places, self._index.positions_of_all(rows)
        if places is None or positions is None:
            return [self._identities[row] for row in rows]
        return places.names(positions)


def stored_vectors(store: Store, index: Index, rows: np.ndarray) -> np.ndarray:
    """Return vectors (n, d) float32 of passages by row: the index's if these are exact, else the database's."""
    import numpy as np

    # An index of codes cannot return the vectors themselves.
    if index.dense.is_exact and (positions := index.positions_of_all(rows)) is not None:
        return index.dense.vectors(positions)
    if not len(rows):
        return np.empty((0, 0), np.float32)
    keys, vectors = store.row_vectors(rows.tolist())
    if len(keys) != len(rows):
        raise _missing_passages_error(store)
    return vectors[np.searchsorted(keys, rows)]


def _candidate_cosines(
    store: Store, index: Index, vector: np.ndarray, dense: ScoredRanking, lexical: ScoredRanking
) -> dict[int, float]:
    """Return the cosine with the query of each passage in either ranking, by row."""
    import numpy as np

    only_lexical = lexical.keys[~np.isin(lexical.keys, dense.keys)]
    vectors = stored_vectors(store, index, only_lexical)
    computed = {row: float(vector @ stored) for row, stored in zip(only_lexical.tolist(), vectors, strict=True)}
    return dict(dense.pairs()) | computed


def require_all(store: Store, requested: Sized, found: dict[K, V]) -> dict[K, V]:
    """Return `found` if the database had everything that was `requested`, so that no ranking lacks a passage.

    Raises:
        LibraryCorrupt: Some are missing: the index is not this database's, or was replaced during the search.
    """
    if len(found) != len(requested):
        raise _missing_passages_error(store)
    return found


def _missing_passages_error(store: Store) -> LibraryCorrupt:
    """Return the error for an index with passages that the database lacks."""
    return LibraryCorrupt(f"The index of {store.path.parent} points to passages that are not in the database")


def _nearest(store: Store, index: Index, vector: np.ndarray, n: int, among: np.ndarray) -> ScoredRanking:
    """Return the rows and inner products of the `n` nearest passages at the positions `among` of the index.

    An index of codes only estimates inner products: of twice as many passages, they are computed from the vectors.
    """
    if index.dense.is_exact:
        return index.search_dense(vector, n, among=among)
    rows = index.search_dense(vector, 2 * n, among=among).keys
    products = [float(vector @ stored) for stored in stored_vectors(store, index, rows)]
    scored = zip(rows.tolist(), products, strict=True)
    return ScoredRanking.of(sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:n])


def cosines(query: np.ndarray, vectors: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the cosine of `query` with each vector, by the vector's name; 0 for a vector of zeros."""
    import numpy as np

    if not vectors:
        return {}
    matrix = np.stack(list(vectors.values()))
    return dict(zip(vectors, row_cosines(query, matrix).tolist(), strict=True))


def row_cosines(query: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return cosines (n,) float64 of `query` (d,) with each row of `matrix` (n, d); 0 for a row of zeros."""
    import numpy as np

    if not len(matrix):
        return np.zeros(0)
    scales = np.sqrt(query @ query) * np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    # Unlike a matrix product, each row's sum does not depend on its position, so equal passages get equal cosines.
    products = np.einsum("ij,j->i", matrix, query)
    quotients: np.ndarray = np.divide(products, scales, out=np.zeros(len(matrix)), where=scales > 0)
    return quotients

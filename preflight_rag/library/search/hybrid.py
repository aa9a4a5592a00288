"""Hybrid search: dense and lexical candidates over the whole corpus, fused by reciprocal rank or by their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, overload

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
FIRST = 5
"""Number of best fused passages: if one of them is in another language than the question, words must not reorder them.
A guess."""
LANGUAGE_SAMPLE = 300
"""Characters of a passage from which its language is detected; a guess."""
TRIES = 5
"""Number of attempts of a search when an ingest replaces found passages before they are read; a guess: an ingest takes
much longer than a search, so the second attempt nearly always succeeds."""

K = TypeVar("K")
V = TypeVar("V")
Identities = dict[int, tuple[str, str]]


class LazyRanking(Sequence[Hit]):
    """A ranking whose hits are created when they are accessed: a turn needs only the first ones.

    Args:
        ranking: The ranked rows, best first.
        names: Returns `(passage id, document id)` of rows.
    """

    def __init__(self, ranking: ScoredRanking, names: Callable[[Sequence[int]], list[tuple[str, str]]]) -> None:
        self._ranking, self._names = ranking, names

    def __len__(self) -> int:
        return len(self._ranking)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        # `range` counts from the end and raises IndexError as a list does.
        if isinstance(place, int):
            return self[range(len(self))[place] : range(len(self))[place] + 1][0]
        ranks = range(1, len(self) + 1)[place]
        keys, scores = self._ranking.keys[place].tolist(), self._ranking.scores[place].tolist()
        return tuple(
            Hit(passage_id=id, document_id=document, rank=rank, score=score)
            for rank, (id, document), score in zip(ranks, self._names(keys), scores, strict=True)
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
        names: Returns `(passage id, document id)` of rows.
    """

    def __init__(self, ranking: ScoredRanking, names: Callable[[Sequence[int]], list[tuple[str, str]]]) -> None:
        self._ranking, self._names = ranking, names

    @cached_property
    def _scores(self) -> dict[str, float]:
        """Return the scores of a ranking by the passage's id."""
        named = zip(self._names(self._ranking.keys.tolist()), self._ranking.scores.tolist(), strict=True)
        return {id: score for (id, _), score in named}

    def __getitem__(self, name: str) -> float:
        return self._scores[name]

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
        """Return candidates for passages, given in the fused ranking's order, with their ranks in all rankings."""
        if self.unread is not None:
            return [candidate.read(passage) for candidate, passage in zip(self.unread, passages, strict=True)]
        dense = {hit.passage_id: hit.rank for hit in self.dense}
        lexical = {hit.passage_id: hit for hit in self.lexical}
        return [
            Candidate(
                passage=passage,
                rank=hit.rank,
                score=hit.score,
                cosine=self.dense_scores[hit.passage_id],
                dense_rank=dense.get(hit.passage_id),
                lexical_rank=lexical[hit.passage_id].rank if hit.passage_id in lexical else None,
                bm25=lexical[hit.passage_id].score if hit.passage_id in lexical else None,
            )
            for hit, passage in zip(self.fused, passages, strict=True)
        ]


def again_where_replaced(search: Callable[[], V]) -> V:
    """Return the result of a search that also reads passages, repeated if an ingest deletes one in between.

    A result is thus complete, and of one generation of the index.

    Raises:
        PassageGone: A passage is missing after every attempt, so it is not only being replaced.
    """
    # The last attempt is outside the loop, so that its error reaches the caller.
    for _ in range(TRIES - 1):
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
    among = None if rows is None else index.positions(rows)
    copies = copies_of(store, index, rows)

    def near() -> ScoredRanking:
        """Return the nearest passages by vector, without copies."""
        return copies.search(
            lambda n: index.search_dense(vector, n) if among is None else _nearest(store, index, vector, n, among),
            depth,
        )

    def worded() -> ScoredRanking:
        """Return the best passages by BM25, without copies."""
        return copies.search(lambda n: index.search_lexical(query.text, n, among=among), depth)

    # in a large library, where each search takes a millisecond or more
    at_once = among is None and not index.dense.is_exact
    dense, lexical = two_at_once(near, worded) if at_once else (near(), worded())
    foreign = _in_other_languages(store, language, dense, lexical)
    if query.fusion == "rrf":
        found, scores, ranks = fuse_ranks([dense.keys, lexical.keys], k=query.rrf_k, by_first=foreign)
        fused, (dense_rank, lexical_rank) = ScoredRanking(found, scores).best(k), ranks[:, :k]
    else:
        by_dense = () if foreign is None else foreign.tolist()
        cosines_ = _cosines_of(store, index, vector, dense, lexical)
        fused = ScoredRanking.of(comb_sum(cosines_, dict(lexical.pairs()), by_dense=by_dense)).best(k)
        dense_rank, lexical_rank = (_ranks(part.keys, fused.keys) for part in (dense, lexical))
    # Ranks behind the k-th are not part of the returned ranking.
    dense_rank, lexical_rank = (np.where(part <= k, part, 0) for part in (dense_rank, lexical_rank))
    dense, lexical, names = dense.best(k), lexical.best(k), _Names(store, index)
    names.check([dense.keys, lexical.keys, fused.keys])
    cosines = row_cosines(vector, stored_vectors(store, index, fused.keys))
    # An index of an older version has no places or terms; its candidates are read from the database.
    unread, positions = None, index.positions_of_all(fused.keys)
    if index.places is not None and index.terms is not None and positions is not None:
        bm25 = np.full(len(fused), np.nan)
        bm25[lexical_rank > 0] = lexical.scores[lexical_rank[lexical_rank > 0] - 1]
        columns = Columns(np.arange(1, len(fused) + 1), fused.scores, cosines, dense_rank, lexical_rank, bm25)
        unread = Pool(columns, positions, index.terms, index.places)
    by_name = ScoresByName(ScoredRanking(fused.keys, cosines), names)
    ranked = LazyRanking(dense, names), LazyRanking(lexical, names), LazyRanking(fused, names)
    across = foreign is not None and bool(np.isin(fused.keys[:FIRST], foreign).any())
    return Rankings(*ranked, by_name, across=across, unread=unread)


def _in_other_languages(store: Store, language: str, dense: ScoredRanking, lexical: ScoredRanking) -> np.ndarray | None:
    """Return the rows of passages that are in another known language; None if there are none, or `language` is unknown.

    Detection takes a tenth of a millisecond per passage, so only searches by multilingual models do it.
    """
    import numpy as np

    if language == UNKNOWN:
        return None
    rows = np.union1d(dense.keys, lexical.keys)
    begins = store.beginnings(rows.tolist(), LANGUAGE_SAMPLE)
    foreign = [row for row, text in begins.items() if language_of(text) not in (language, UNKNOWN)]
    return np.array(foreign, np.int64) if foreign else None


def copies_of(store: Store, index: Index, rows: np.ndarray | None = None) -> Copies:
    """Return the passages, of an index or of those rows, that searches leave out because others have their text."""
    import numpy as np

    def searched(wanted: np.ndarray) -> np.ndarray:
        """Return which rows are in the index and among those searched."""
        is_there = np.isin(wanted, index.rows)
        return is_there if rows is None else is_there & np.isin(wanted, rows)

    return Copies(store.passage_copies(), searched)


def _ranks(ranking: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rank of each wanted key in a ranking, from 1; 0 if it is not in it."""
    import numpy as np

    places = {key: rank for rank, key in enumerate(ranking.tolist(), 1)}
    return np.array([places.get(key, 0) for key in wanted.tolist()], np.int64)


class _Names:
    """Names of passages by row: those of the index if it has them, else the database's.

    They are looked up only when a ranking is read.
    """

    def __init__(self, store: Store, index: Index) -> None:
        self._store, self._index = store, index
        self._read: Identities = {}

    def check(self, rankings: Sequence[np.ndarray]) -> None:
        """Raise an error unless the database has all passages that the rankings contain.

        The check is skipped while nobody has written to the database since all passages were seen to be there.

        Raises:
            LibraryCorrupt: It lacks some.
        """
        index, store = self._index, self._store
        # Only in a small library is counting all rows cheaper than looking up each one.
        if index.places is not None and len(index.rows) <= COUNTED_UP_TO:
            # Read before the rows are counted: a write in between then has another state.
            state = store.state()
            if index.complete_at_state == state:
                return
            is_same = index.manifest.generation == store.generation() and store.count_rows() == len(index.rows)
            index.complete_at_state = state if is_same else None
            if is_same:
                return
        rows = sorted(set(chain.from_iterable(ranking.tolist() for ranking in rankings)))
        if self._index.places is None:
            self._read = require_all(self._store, rows, self._store.identities(rows))
        elif not self._store.holds(rows):
            raise _missing_passages_error(self._store)

    def __call__(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """Return `(passage id, document id)` of rows that were checked."""
        places, positions = self._index.places, self._index.positions_of_all(rows)
        if places is None or positions is None:
            return [self._read[row] for row in rows]
        return places.names(positions)


def stored_vectors(store: Store, index: Index, rows: np.ndarray) -> np.ndarray:
    """Return vectors (n, d) float32 of passages by row: the index's if these are exact, else the database's."""
    import numpy as np

    if index.dense.is_exact and (positions := index.positions_of_all(rows)) is not None:
        return index.dense.vectors(positions)
    if not len(rows):
        return np.empty((0, 0), np.float32)
    keys, vectors = store.row_vectors(rows.tolist())
    if len(keys) != len(rows):
        raise _missing_passages_error(store)
    return vectors[np.searchsorted(keys, rows)]


def _cosines_of(
    store: Store, index: Index, vector: np.ndarray, dense: ScoredRanking, lexical: ScoredRanking
) -> dict[int, float]:
    """Return the cosine with the query of each passage in either ranking."""
    import numpy as np

    missing = lexical.keys[~np.isin(lexical.keys, dense.keys)]
    stored = stored_vectors(store, index, missing)
    return dict(dense.pairs()) | {row: float(vector @ each) for row, each in zip(missing.tolist(), stored, strict=True)}


def require_all(store: Store, wanted: Sized, found: dict[K, V]) -> dict[K, V]:
    """Return the passages found in the database if all of the wanted ones are there, so that no ranking lacks some.

    Raises:
        LibraryCorrupt: Some are missing: the index is not this database's, or was replaced during the search.
    """
    if len(found) != len(wanted):
        raise _missing_passages_error(store)
    return found


def _missing_passages_error(store: Store) -> LibraryCorrupt:
    """Return the error for an index with passages that the database lacks."""
    return LibraryCorrupt(f"The index of {store.path.parent} points to passages that are not in the database")


def _nearest(store: Store, index: Index, vector: np.ndarray, n: int, among: np.ndarray) -> ScoredRanking:
    """Return the rows and inner products of the nearest `n` at positions `among`.

    An index of codes returns twice as many, which are then ranked by their stored vectors.
    """
    if index.dense.is_exact:
        return index.search_dense(vector, n, among=among)
    rows = index.search_dense(vector, 2 * n, among=among).keys
    scored = zip(rows.tolist(), [float(vector @ each) for each in stored_vectors(store, index, rows)], strict=True)
    return ScoredRanking.of(sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:n])


def cosines(query: np.ndarray, vectors: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the cosine of `query` with each vector; 0 for a vector of zeros."""
    import numpy as np

    if not vectors:
        return {}
    return dict(zip(vectors, row_cosines(query, np.stack(list(vectors.values()))).tolist(), strict=True))


def row_cosines(query: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return cosines (n,) float64 of `query` (d,) with each row of `matrix` (n, d); 0 for a row of zeros."""
    import numpy as np

    if not len(matrix):
        return np.zeros(0)
    scales = np.sqrt(query @ query) * np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    # Unlike a matrix product, each row's sum does not depend on its position, so equal passages get equal cosines.
    products = np.einsum("ij,j->i", matrix, query)
    found: np.ndarray = np.divide(products, scales, out=np.zeros(len(matrix)), where=scales > 0)
    return found

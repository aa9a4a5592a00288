"""Hybrid search: dense and lexical candidates over the whole corpus, fused by reciprocal rank or by their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from preflight_rag.library.search.fusion import RRF_K, comb_sum, reciprocal_rank_fusion
from preflight_rag.state.context import Fusion
from preflight_rag.state.errors import LibraryCorrupt, PassageGone, UsageError
from preflight_rag.state.retrieval import Candidate, PassageTerms
from preflight_rag.state.values import Hit, Passage, Ranking

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.index.generations import Index
    from preflight_rag.library.storage.store import Store

TOP_K = 16
"""Passages that a turn reads; the figures of docs/RESULTS.md are of so many."""
CANDIDATES = 100
"""Passages of each ranking that are fused; every figure of docs/RESULTS.md is of this depth."""

FUSION: Fusion = "rrf"
"""How the rankings are fused; see docs/RESULTS.md, `reranking`."""
TRIES = 5
"""How often a search is made where an ingest replaces what it found before that is read; a guess: an ingest takes much
longer than a search, so the second try is nearly always the last."""

K = TypeVar("K")
V = TypeVar("V")
Scored = Sequence[tuple[int, float]]
Identities = dict[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Rankings:
    """The rankings of passages for one query, each at most `k` long.

    Attributes:
        dense: By inner product of vectors, which for the default embedder is the cosine.
        lexical: By BM25.
        fused: By reciprocal rank, or by both scores, over the candidates of both; the score is the fused one.
        dense_scores: Cosine of query and passage for every passage of `fused`, from the stored vectors.
        note: What the filter left out; empty without one.
        problems: What went wrong on the way and left something out, one line each.
        terms: Of the passages of `fused`, by id, where the index holds them.
    """

    dense: Ranking
    lexical: Ranking
    fused: Ranking
    dense_scores: dict[str, float]
    note: str = ""
    problems: tuple[str, ...] = ()
    terms: dict[str, PassageTerms] = field(default_factory=dict, compare=False, repr=False)

    def candidates(self, passages: Sequence[Passage]) -> list[Candidate]:
        """The fused ranking's passages, which are given in its order, with their places in all rankings."""
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
                terms=self.terms.get(hit.passage_id),
            )
            for hit, passage in zip(self.fused, passages, strict=True)
        ]


def again_where_replaced(search: Callable[[], V]) -> V:
    """What a search gives that also reads the passages: made anew where an ingest deletes one of them in between.

    So that a result is whole, and of one generation of the index.

    Raises:
        PassageGone: One is missing again and again: it is not only being replaced.
    """
    for _ in range(TRIES - 1):
        try:
            return search()
        except PassageGone:
            continue
    return search()


def check_query(query: str, k: int, rrf_k: int) -> None:
    """Refuse a query that cannot be searched for.

    Raises:
        UsageError: It is empty, `k` is below 1, or `rrf_k` is negative.
    """
    if not query.strip():
        raise UsageError(f"The query is empty: {query!r}", help="Ask something")
    if k < 1 or rrf_k < 0:
        raise UsageError(f"k={k} and rrf_k={rrf_k} are out of range", help="Use k >= 1 and rrf_k >= 0")


def hybrid_search(
    store: Store,
    index: Index,
    query: str,
    vector: np.ndarray,
    *,
    k: int = TOP_K,
    candidates: int = CANDIDATES,
    rrf_k: int = RRF_K,
    fusion: Fusion = FUSION,
    rows: np.ndarray | None = None,
) -> Rankings:
    """Search both indices and fuse their first `candidates` passages, of all or of those in `rows`.

    For the fusion of scores, what only BM25 found has its cosine from the stored vector; what only the vectors found
    counts as the least of what BM25 found.

    Raises:
        LibraryCorrupt: The index points to passages that the database does not hold.
    """
    depth = max(k, candidates)
    among = None if rows is None else index.positions(rows)
    dense = index.search_dense(vector, depth) if among is None else _nearest(store, index, vector, depth, among)
    lexical = index.search_lexical(query, depth, among=among)
    if fusion == "rrf":
        fused = reciprocal_rank_fusion([[row for row, _ in dense], [row for row, _ in lexical]], k=rrf_k)[:k]
    else:
        fused = comb_sum(_cosines_of(store, vector, dense, lexical), dict(lexical))[:k]
    shown = {row for scored in (dense[:k], lexical[:k], fused) for row, _ in scored}
    names = whole(store, shown, store.identities(sorted(shown)))
    wanted = [row for row, _ in fused]
    vectors = whole(store, wanted, store.row_vectors(sorted(wanted)))
    scores = cosines(vector, {names[row][0]: vectors[row] for row in wanted})
    terms = {names[row][0]: found for row, found in index.passage_terms([row for row, _ in fused]).items()}
    near, worded, together = (_ranking(scored, names) for scored in (dense[:k], lexical[:k], fused))
    return Rankings(near, worded, together, scores, terms=terms)


def _cosines_of(store: Store, vector: np.ndarray, dense: Scored, lexical: Scored) -> dict[int, float]:
    """Cosine with the query of each passage that either ranking holds."""
    near = dict(dense)
    missing = [row for row, _ in lexical if row not in near]
    stored = whole(store, missing, store.row_vectors(missing))
    return near | {row: float(vector @ each) for row, each in stored.items()}


def whole(store: Store, wanted: Sized, found: dict[K, V]) -> dict[K, V]:
    """What the database has of what an index points to: all of it, or the ranking would lack some in silence.

    Raises:
        LibraryCorrupt: It lacks some: the index is not this database's, or was replaced during the search.
    """
    if len(found) != len(wanted):
        raise LibraryCorrupt(f"The index of {store.path.parent} points to passages that are not in the database")
    return found


def _nearest(store: Store, index: Index, vector: np.ndarray, n: int, among: np.ndarray) -> list[tuple[int, float]]:
    """`(row, inner product)` of the nearest `n` at the positions `among`; of codes, twice as many by stored vectors."""
    if index.dense.is_exact:
        return index.search_dense(vector, n, among=among)
    rows = [row for row, _ in index.search_dense(vector, 2 * n, among=among)]
    vectors = whole(store, rows, store.row_vectors(rows))
    scored = [(row, float(vector @ stored)) for row, stored in vectors.items()]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[:n]


def cosines(query: np.ndarray, vectors: dict[str, np.ndarray]) -> dict[str, float]:
    """Cosine of `query` with each vector; 0 for a vector of zeros."""
    import numpy as np

    if not vectors:
        return {}
    matrix = np.stack(list(vectors.values()))
    scales = np.linalg.norm(query) * np.linalg.norm(matrix, axis=1)
    # Unlike a product of matrices, the same sum wherever a vector stands among others: equal passages have equal ones.
    products = np.einsum("ij,j->i", matrix, query)
    found = np.divide(products, scales, out=np.zeros(len(matrix)), where=scales > 0)
    return dict(zip(vectors, found.astype(float).tolist(), strict=True))


def _ranking(scored: Scored, names: Identities) -> Ranking:
    return tuple(
        Hit(passage_id=names[row][0], document_id=names[row][1], rank=rank, score=score)
        for rank, (row, score) in enumerate(scored, start=1)
    )

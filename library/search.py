"""Hybrid search: dense and lexical candidates over the whole corpus, fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..state.errors import LibraryCorrupt
from ..state.values import Hit, Ranking
from .fusion import RRF_K, reciprocal_rank_fusion

if TYPE_CHECKING:
    import numpy as np

    from .index import Index
    from .store import Store

TOP_K = 16
CANDIDATES = 100

Scored = Sequence[tuple[int, float]]
Identities = dict[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Found:
    """Rankings for one query, each at most `k` long.

    Attributes:
        dense: By inner product of vectors, which for the default embedder is the cosine.
        lexical: By BM25.
        fused: By reciprocal rank over the candidates of both; the score is the fused one.
        dense_scores: Cosine of query and passage for every passage of `fused`, from the stored vectors.
    """

    dense: Ranking
    lexical: Ranking
    fused: Ranking
    dense_scores: dict[str, float]


def hybrid_search(
    store: Store,
    index: Index,
    query: str,
    vector: np.ndarray,
    *,
    k: int = TOP_K,
    candidates: int = CANDIDATES,
    rrf_k: int = RRF_K,
) -> Found:
    """Search both indices and fuse their first `candidates` passages.

    Raises:
        LibraryCorrupt: The index points to passages that the database does not hold.
    """
    depth = max(k, candidates)
    dense = index.search_dense(vector, depth)
    lexical = index.search_lexical(query, depth)
    fused = reciprocal_rank_fusion([[row for row, _ in dense], [row for row, _ in lexical]], k=rrf_k)[:k]
    shown = {row for scored in (dense[:k], lexical[:k], fused) for row, _ in scored}
    names = store.identities(sorted(shown))
    if len(names) != len(shown):
        raise LibraryCorrupt(f"The index of {store.path.parent} points to passages that are not in the database")
    ranking = _ranking(fused, names)
    scores = cosines(vector, store.vectors([hit.passage_id for hit in ranking]))
    return Found(_ranking(dense[:k], names), _ranking(lexical[:k], names), ranking, scores)


def cosines(query: np.ndarray, vectors: dict[str, np.ndarray]) -> dict[str, float]:
    """Cosine of `query` with each vector; 0 for a vector of zeros."""
    import numpy as np

    length = float(np.linalg.norm(query))
    scales = {name: length * float(np.linalg.norm(vector)) for name, vector in vectors.items()}
    return {name: float(query @ vector) / scales[name] if scales[name] else 0.0 for name, vector in vectors.items()}


def _ranking(scored: Scored, names: Identities) -> Ranking:
    return tuple(
        Hit(passage_id=names[row][0], document_id=names[row][1], rank=rank, score=score)
        for rank, (row, score) in enumerate(scored, start=1)
    )

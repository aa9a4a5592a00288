"""One ranking of the passages found in the library and those found at NCBI (CPQA, section III.B)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

from preflight_rag.library.search.fusion import RRF_K, reciprocal_rank_fusion
from preflight_rag.library.search.hybrid import cosines
from preflight_rag.library.search.query import CANDIDATES
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import Passage
from preflight_rag.text.bm25 import pool_bm25
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection

SEMANTIC, TERM, BOTH = "semantic", "term", "both"


def merge(
    library: Collection,
    question: str,
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    *,
    new: Set[str] = frozenset(),
    depth: int = CANDIDATES,
    rrf_k: int = RRF_K,
) -> list[Candidate]:
    """Rank the library's candidates together with passages that a Boolean search found, best first.

    All are compared anew with the question, by cosine and by BM25 within the pool, and both rankings are fused; without
    such passages the candidates stay as they are. Each result records how it was found: "semantic" by the library alone
    (E1), "term" by NCBI alone (E2), "both" (E3).

    Args:
        library: The collection that has the passages and their vectors.
        question: The question.
        candidates: The results of the library's search, best first.
        passages: Passages of the documents found at NCBI, as returned by `Library.intern`.
        new: Ids of passages that were added to the library just now (`InternReport.new`): even if the library's search,
            made after that, found them too, they count as found by NCBI.
        depth: Most candidates that are returned.
        rrf_k: The constant of reciprocal rank fusion.
    """
    if not passages:
        return list(candidates[:depth])
    ids = [candidate.passage.id for candidate in candidates] + [passage.id for passage in passages]
    ids = list(dict.fromkeys(ids))
    vectors = dict(zip(ids, library.vectors(ids), strict=True))
    cosine = cosines(library.embedder.encode_query(question), vectors)
    return rank_pool(question, candidates, passages, cosine, new=new, rrf_k=rrf_k)[:depth]


def rank_pool(
    question: str,
    candidates: Sequence[Candidate],
    passages: Sequence[Passage],
    cosine: Mapping[str, float],
    *,
    new: Set[str] = frozenset(),
    rrf_k: int = RRF_K,
) -> list[Candidate]:
    """Rank as `merge` does, with the cosine of every passage given by its id.

    BM25 within the pool orders the pool. The field `bm25` of a candidate keeps the library's score; other passages get
    the pool's score, converted to the library's scale by the ratio of both scores' sums over the passages that have
    both.
    """
    candidate_by_id = {candidate.passage.id: candidate for candidate in candidates}
    ids_from_ncbi = {passage.id for passage in passages}
    pool = {id: candidate.passage for id, candidate in candidate_by_id.items()}
    pool |= {passage.id: passage for passage in passages if passage.id not in pool}
    dense = sorted(pool, key=lambda id: (-cosine[id], id))
    texts = [f"{passage.title} {passage.text}" for passage in pool.values()]
    pool_scores = pool_bm25(words(question), texts, positive_idf=True)
    scores = {id: score for id, score in zip(pool, pool_scores, strict=True) if score is not None}
    lexical = sorted(scores, key=lambda id: (-scores[id], id))
    dense_rank = {id: rank for rank, id in enumerate(dense, 1)}
    lexical_rank = {id: rank for rank, id in enumerate(lexical, 1)}
    scale = _scale(scores, {id: candidate.bm25 for id, candidate in candidate_by_id.items()})

    def bm25(id: str) -> float | None:
        """Return a passage's BM25 score on the library's scale; None if no word of the question is in it."""
        library_score = candidate_by_id[id].bm25 if id in candidate_by_id else None
        if library_score is not None:
            return library_score
        return scores[id] * scale if id in scores else None

    def found_by(id: str) -> str:
        """Return how a passage was found."""
        if id not in candidate_by_id or id in new:
            return TERM
        return BOTH if id in ids_from_ncbi else SEMANTIC

    return [
        Candidate(
            passage=pool[id],
            rank=rank,
            score=score,
            cosine=cosine[id],
            dense_rank=dense_rank[id],
            lexical_rank=lexical_rank.get(id),
            bm25=bm25(id),
            found_by=found_by(id),
        )
        for rank, (id, score) in enumerate(reciprocal_rank_fusion([dense, lexical], k=rrf_k), 1)
    ]


def _scale(pool: Mapping[str, float], library: Mapping[str, float | None]) -> float:
    """Return the factor that converts the pool's BM25 scores to the library's scale; 1 if no passage has both."""
    pairs = [(pool[id], score) for id, score in library.items() if score is not None and id in pool]
    pool_sum = sum(pool_score for pool_score, _ in pairs)
    library_sum = sum(library_score for _, library_score in pairs)
    return library_sum / pool_sum if pool_sum > 0 and library_sum > 0 else 1.0

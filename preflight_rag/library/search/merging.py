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
    ids = []
    for passage in (*(each.passage for each in candidates), *passages):
        ids.append(passage.id)
    names = list(dict.fromkeys(ids))
    vectors = dict(zip(names, library.vectors(names), strict=True))
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
    before = {candidate.passage.id: candidate for candidate in candidates}
    termed = {passage.id for passage in passages}
    pool = {name: candidate.passage for name, candidate in before.items()}
    pool |= {passage.id: passage for passage in passages if passage.id not in pool}
    dense = sorted(pool, key=lambda name: (-cosine[name], name))
    texts = [f"{passage.title} {passage.text}" for passage in pool.values()]
    ranked = zip(pool, pool_bm25(words(question), texts, positive_idf=True), strict=True)
    scores = {name: score for name, score in ranked if score is not None}
    lexical = sorted(scores, key=lambda name: (-scores[name], name))
    dense_rank = {name: rank for rank, name in enumerate(dense, 1)}
    lexical_rank = {name: rank for rank, name in enumerate(lexical, 1)}
    scale = _scale(scores, {name: candidate.bm25 for name, candidate in before.items()})

    def bm25(name: str) -> float | None:
        """Return a passage's BM25 score on the library's scale; None without one."""
        kept = before[name].bm25 if name in before else None
        return kept if kept is not None else scores[name] * scale if name in scores else None

    return [
        Candidate(
            passage=pool[name],
            rank=rank,
            score=score,
            cosine=cosine[name],
            dense_rank=dense_rank[name],
            lexical_rank=lexical_rank.get(name),
            bm25=bm25(name),
            found_by=TERM if name not in before or name in new else BOTH if name in termed else SEMANTIC,
        )
        for rank, (name, score) in enumerate(reciprocal_rank_fusion([dense, lexical], k=rrf_k), 1)
    ]


def _scale(pool: Mapping[str, float], library: Mapping[str, float | None]) -> float:
    """Return the factor from the pool's BM25 to the library's scale; 1 if they cannot be compared."""
    pairs = [(pool[name], score) for name, score in library.items() if score is not None and name in pool]
    ours, theirs = sum(score for score, _ in pairs), sum(score for _, score in pairs)
    return theirs / ours if ours > 0 and theirs > 0 else 1.0

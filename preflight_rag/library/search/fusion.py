"""Fusion of several rankings: reciprocal rank fusion, CombSUM of scores, and recency as one more ranking."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.text.dates import known_date

if TYPE_CHECKING:
    import numpy as np

Key = TypeVar("Key", str, int)

RRF_K = 60
"""The constant of reciprocal rank fusion in its paper (`reciprocal_rank_fusion`)."""
DENSE_WEIGHT = 0.6
"""Weight of the dense scores in CombSUM: every fold of `training/train_reranker.py` chooses it on its development part.
"""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Key]], *, k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[Key, float]]:
    """Fuse rankings: an item's score is the sum of weight / (k + rank) over the rankings that contain it, rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009, section 2.

    Args:
        rankings: Best first. If a ranking contains an item twice, the first place counts.
        k: The constant that keeps a single first place from deciding; the paper's 60.
        weights: One number per ranking; 1 each by default.

    Returns:
        `(item, score)`, best first. Ties go to the item with the better single rank, then to the smaller item, so that
        the result does not depend on the order of the rankings.
    """
    factors = [1.0] * len(rankings) if weights is None else list(weights)
    if len(factors) != len(rankings):
        raise ValueError(f"{len(factors)} weights for {len(rankings)} rankings")
    summands: dict[Key, list[float]] = {}
    best_rank: dict[Key, int] = {}
    for ranking, factor in zip(rankings, factors, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            summands.setdefault(item, []).append(factor / (k + rank))
            best_rank[item] = min(rank, best_rank.get(item, rank))
    # `fsum` does not round on the way, so that the order of the rankings makes or breaks no tie.
    scores = {item: math.fsum(values) for item, values in summands.items()}
    order = sorted(scores, key=lambda item: (-scores[item], best_rank[item], item))
    return [(item, scores[item]) for item in order]


def fuse_ranks(
    rankings: Sequence[np.ndarray], *, k: int = RRF_K, by_first: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `reciprocal_rank_fusion` as arrays, for rankings of numbers that are unique within each ranking.

    Args:
        rankings: Best first.
        k: The constant.
        by_first: Keys that the other rankings cannot judge: their rank in the first ranking counts for all of them.

    Returns:
        Keys (n,), best first, scores (n,), and each key's rank in each ranking (m, n), from 1; 0 if it is not in it.
    """
    import numpy as np

    # `columns`: for each entry of the concatenated rankings, the index of its key in `keys`.
    keys, columns = np.unique(np.concatenate(rankings), return_inverse=True)
    ranks, begin = np.zeros((len(rankings), len(keys)), np.int64), 0
    for row, ranking in zip(ranks, rankings, strict=True):
        row[columns[begin : begin + len(ranking)]] = np.arange(1, len(ranking) + 1)
        begin += len(ranking)
    fused_ranks = ranks if by_first is None else np.where(np.isin(keys, by_first), ranks[0], ranks)
    is_ranked = fused_ranks > 0
    scores = np.where(is_ranked, 1.0 / (k + fused_ranks), 0.0).sum(axis=0)
    best_ranks = np.where(is_ranked, fused_ranks, begin + 1).min(axis=0)
    # The last key of `lexsort` decides first.
    order = np.lexsort((keys, best_ranks, -scores))
    return keys[order], scores[order], ranks[:, order]


def comb_sum(
    dense: Mapping[Key, float],
    lexical: Mapping[Key, float],
    *,
    weight: float = DENSE_WEIGHT,
    by_dense: Collection[Key] = (),
) -> list[tuple[Key, float]]:
    """Fuse scores: an item's weighted sum of its dense and its lexical score, each scaled to [0, 1] over the items.

    Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994. The lowest score of a ranking becomes 0 and the
    highest 1; an item that a ranking lacks counts as its lowest.

    Args:
        dense: Score by item.
        lexical: Score by item.
        weight: Weight of the dense scores, in [0, 1]; the lexical ones have the rest.
        by_dense: Items that words cannot judge: their dense score counts for both.

    Returns:
        `(item, score)`, best first. Ties go to the smaller item.
    """
    dense_scores, lexical_scores = _scale_to_unit(dense), _scale_to_unit(lexical)
    lexical_scores |= {item: dense_scores.get(item, 0.0) for item in by_dense}
    scores = {}
    for item in dense_scores | lexical_scores:
        scores[item] = weight * dense_scores.get(item, 0.0) + (1 - weight) * lexical_scores.get(item, 0.0)
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))


def _scale_to_unit(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Return scores scaled so that the lowest is 0 and the highest 1; if all are equal, all become 1."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in scores.items()}


def with_recency(candidates: Sequence[Candidate], weight: float, rrf_k: int = RRF_K) -> list[Candidate]:
    """Return the candidates reordered by weighted reciprocal rank fusion of their order with one by age.

    The given order has weight 1. The order by age (newest first, undated ones last, equal dates as given) has `weight`;
    0 leaves all as it is. `rank` and `score` of the result are those of the fusion.

    Raises:
        UsageError: `weight` is outside [0, 1].
    """
    if not 0 <= weight <= 1:
        raise UsageError(f"recency = {weight!r} is outside [0, 1]", help="Give a weight from 0 to 1")
    if weight == 0:
        return list(candidates)
    by_rank = sorted(candidates, key=lambda candidate: candidate.rank)
    candidate_by_id = {candidate.passage.id: candidate for candidate in by_rank}
    dates = {id: known_date(candidate.passage.date) for id, candidate in candidate_by_id.items()}

    def age(candidate: Candidate) -> tuple[int, int, int]:
        """Return the sort key of a candidate by age, the newest first and undated ones last."""
        day = dates[candidate.passage.id]
        return (0, -day.latest.toordinal(), -day.earliest.toordinal()) if day else (1, 0, 0)

    by_age = sorted(by_rank, key=age)
    rankings = [[candidate.passage.id for candidate in ranking] for ranking in (by_rank, by_age)]
    fused = reciprocal_rank_fusion(rankings, k=rrf_k, weights=[1.0, weight])
    return [replace(candidate_by_id[id], rank=rank, score=score) for rank, (id, score) in enumerate(fused, start=1)]

"""Reciprocal rank fusion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

Key = TypeVar("Key", str, int)

RRF_K = 60


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Key]], *, k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[Key, float]]:
    """Fuse rankings: an item scores the sum of weight / (k + rank) over the rankings that hold it, rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009, section 2.

    Args:
        rankings: Best first. Of an item that a ranking holds twice, the first place counts.
        k: The constant that keeps single first places from deciding; the paper's 60.
        weights: One number per ranking; 1 each by default.

    Returns:
        `(item, score)`, best first. Ties go to the item with the better single rank, then to the smaller item, so that
        the result does not depend on the order of the rankings.
    """
    factors = [1.0] * len(rankings) if weights is None else list(weights)
    if len(factors) != len(rankings):
        raise ValueError(f"{len(factors)} weights for {len(rankings)} rankings")
    shares: dict[Key, list[float]] = {}
    best: dict[Key, int] = {}
    for ranking, factor in zip(rankings, factors, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            shares.setdefault(item, []).append(factor / (k + rank))
            best[item] = min(rank, best.get(item, rank))
    scores = {item: math.fsum(parts) for item, parts in shares.items()}
    return sorted(scores.items(), key=lambda entry: (-entry[1], best[entry[0]], entry[0]))

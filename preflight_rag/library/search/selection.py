"""Selection of a turn: which candidates go on to the model, within which budget, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from preflight_rag.library.search.diversity import fps, mmr, token_budget, unit_scaled, within_budget
from preflight_rag.library.search.ordering import arrange
from preflight_rag.state.context import Diversity
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate

if TYPE_CHECKING:
    import numpy as np


def select(
    candidates: Sequence[Candidate],
    vectors: np.ndarray | None = None,
    query_vector: np.ndarray | None = None,
    *,
    k: int | None = None,
    diversity: Diversity = "none",
    alpha: float = 0.5,
    window: int | None = None,
    budget_tokens: int | None = None,
    compression: float | None = None,
    ordering: str = "score",
    relevance: Sequence[float] | None = None,
) -> list[Candidate]:
    """The candidates that go on to the model, in prompt order.

    Without diversity, a budget and another ordering, these are the first `k` as they are.

    Args:
        candidates: Best first.
        vectors: Of the candidates, shape (n, d); not needed where diversity is none.
        query_vector: Shape (d,); not needed where diversity is none or `relevance` is given.
        k: Most passages.
        diversity: none, mmr, fps or modified-fps; see `diversity`.
        alpha: Weight of relevance in mmr and modified-fps.
        window: Of mmr.
        budget_tokens: Most tokens of all passages together, by the count that the library keeps (T_max).
        compression: Most tokens as a share of all candidates' (c_r); where both are given, the smaller limit holds.
        ordering: "score" keeps the candidates' own order, "index" puts documents in the order of their best passage and
            each one's passages in the order of its text; m:n as `arrange`.
        relevance: One score a candidate in place of the cosine with the query; scaled to [0, 1] over the candidates.

    Raises:
        UsageError: A setting is out of range, the budget is smaller than every candidate, or vectors are missing.
    """
    if diversity not in get_args(Diversity):
        raise UsageError(f"diversity is {diversity!r}", help=f"Choose {', '.join(get_args(Diversity))}")
    tokens = [candidate.passage.tokens for candidate in candidates]
    budget = token_budget(tokens, budget=budget_tokens, compression=compression)
    if diversity == "none" or not candidates:
        chosen = within_budget(tokens, budget, k=k)
    elif vectors is None:
        raise UsageError(f"diversity {diversity} needs vectors", help="Give one row a candidate")
    else:
        worth = None if relevance is None else unit_scaled(relevance)
        if diversity == "mmr":
            chosen = mmr(
                vectors, query_vector, alpha=alpha, window=window, k=k, tokens=tokens, budget=budget, relevance=worth
            )
        else:
            weight = alpha if diversity == "modified-fps" else 0.0
            chosen = fps(vectors, query_vector, alpha=weight, k=k, tokens=tokens, budget=budget, relevance=worth)
    kept = [candidates[index] for index in sorted(chosen)]
    first: dict[str, int] = {}
    for candidate in kept:
        first.setdefault(candidate.passage.document_id, len(first))
    order = arrange(kept, ordering, place=lambda c: (first[c.passage.document_id], c.passage.start))
    return [kept[index] for index in order]

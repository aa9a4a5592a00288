"""The interface of rerankers, and reranking within a deadline.

Two-stage passage retrieval (CPQA, section III.C): the first stage finds candidates, the second reads each of them with
the question.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate, in_order

if TYPE_CHECKING:
    import numpy as np

NONE = "none"
FEATURES = "features"
READER = "reader"


class Reranker(Protocol):
    """The second stage of retrieval, which scores the candidates of the first."""

    @property
    def name(self) -> str:
        """The reranker's name, as `open_reranker` takes it."""
        ...

    @property
    def batch_size(self) -> int | None:
        """Number of candidates to score at a time; None where scores depend on all candidates together."""
        ...

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the score of each candidate (n,); higher is better."""
        ...


@dataclass(frozen=True)
class Reranked:
    """Candidates in the second stage's order.

    Attributes:
        order: All candidates, best first; a `Pool` if they were given as one.
        scores: Their scores from the reranker; None for those that it did not score.
        note: What was not scored and why; empty if everything up to the limit was.
    """

    order: Sequence[Candidate]
    scores: list[float | None]
    note: str = ""


def rerank(
    reranker: Reranker,
    question: str,
    candidates: Sequence[Candidate],
    *,
    limit: int,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
) -> Reranked:
    """Score the first candidates with a reranker, as many as the deadline allows, and sort them.

    Candidates are scored in the first stage's order, a batch at a time. The scored ones come first, by their scores,
    ties in the first stage's order; the others (after the deadline, beyond the limit, or with a score of NaN) follow in
    the first stage's order. A batch that has begun is finished, so the deadline is exceeded by one batch at most. If
    scores depend on all candidates together, all are scored in one batch, and the limit says how many are sorted.

    Args:
        reranker: The second stage.
        question: The question.
        candidates: Results of the first stage, best first.
        limit: How many of them are scored at most.
        deadline: Seconds after which no further batch begins.
        clock: Returns the time in seconds.

    Raises:
        UsageError: The limit is below 1, or the deadline not above 0.
        RerankerError: The reranker fails.
    """
    if limit < 1 or not deadline > 0:
        raise UsageError(
            f"a limit of {limit} candidates and a deadline of {deadline} s leave nothing to score",
            help="Use a limit of at least 1 and a deadline above 0",
        )
    import numpy as np

    begin, number_to_score = clock(), min(limit, len(candidates))
    batch_size = reranker.batch_size
    scores: list[float | None] = []
    while len(scores) < number_to_score and clock() - begin < deadline:
        start = len(scores)
        # Without a batch size, scores depend on all candidates together, also on those beyond the limit.
        batch = candidates if batch_size is None else candidates[start : min(start + batch_size, number_to_score)]
        batch_scores = reranker.score(question, batch)[: number_to_score - start]
        scores += [float(score) if math.isfinite(score) else None for score in batch_scores]
    note = _unscored_note(reranker.name, number_to_score, scores, deadline)
    scores += [None] * (len(candidates) - len(scores))
    # Missing scores are NaN here, which sorts after all numbers.
    order = np.argsort(-np.array(scores, dtype=float), kind="stable")
    return Reranked(in_order(candidates, order), [scores[index] for index in order.tolist()], note)


def _unscored_note(name: str, wanted: int, scores: Sequence[float | None], deadline: float) -> str:
    """Return a sentence on the candidates that were not scored; "" if all wanted candidates were."""
    late, undefined = wanted - len(scores), scores.count(None)
    reasons = []
    if late:
        reasons.append(f"{len(scores)} of {wanted} candidates were scored in {deadline:g} s")
    if undefined:
        reasons.append(f"{undefined} candidates got no usable score")
    return f"{name}: {'; '.join(reasons)}; the first stage's order stands for the rest" if reasons else ""

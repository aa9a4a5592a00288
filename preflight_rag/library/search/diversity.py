"""Selecting passages that are relevant and differ from one another: MMR and farthest point sampling.

"Diversity Enhances an LLM's Performance in RAG and Long-context Task" (arXiv 2502.09017), sections 2 to 3.1. Both
select one candidate at a time and never undo a selection. They weigh a candidate's relevance r(c), the cosine with the
query unless another score is given, against its redundancy m(c), the largest cosine with what is selected already:

- MMR (eq. 1): the largest α·r(c) − (1 − α)·m(c).
- FPS (eq. 2): the largest distance to the nearest pick, √(2 − 2·m(c)), the Euclidean distance of unit vectors; the
  first pick is the most relevant. (Eq. 2 is printed with a maximum over the picks; farthest point sampling, which it
  names, takes the nearest pick.)
- Modified FPS: the largest α·r(c) + (1 − α)·√(2 − 2·m(c)): FPS with the reward and the window of section 2.1, which
  differs from MMR only in its distance. With the cosine distance 1 − m(c) instead, the picks would be those of MMR.

With a window w, m considers only the last w picks. While nothing is selected, relevance alone decides. Ties go to the
first candidate, as in langchain-core's `maximal_marginal_relevance`, which makes the same picks as `mmr` without a
window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

POOL = 512
"""Candidates whose scores are kept up to date between picks; it affects only speed, and is a guess."""


def mmr(
    vectors: ArrayLike,
    query: ArrayLike | None,
    *,
    alpha: float = 0.5,
    window: int | None = None,
    k: int | None = None,
    tokens: Sequence[int] | None = None,
    budget: int | None = None,
    relevance: ArrayLike | None = None,
    fill: bool = True,
) -> list[int]:
    """Select by maximal marginal relevance (Carbonell and Goldstein 1998) with a window (Diversity, eq. 1).

    Args:
        vectors: The candidates' vectors, shape (n, d), of any length; float64 is kept, all else becomes float32.
        query: Vector of the query, shape (d,); may be None if `relevance` is given.
        alpha: Weight of relevance against redundancy, in [0, 1]: 1 ranks by relevance alone.
        window: Number of last picks that count for redundancy; None: all.
        k: Most picks; None: as many as the budget allows, or all.
        tokens: Length of each candidate, shape (n,).
        budget: Most tokens of all picks together. A candidate that does not fit into the rest is skipped, and the best
            that fits is taken, until none does.
        relevance: Scores that replace the cosine with the query, shape (n,), such as a reranker's; `unit_scaled`
            brings them to the range of the cosines against which they are weighed.
        fill: False ends at the first pick that does not fit into the rest of the budget.

    Returns:
        Indices of the picks, in the order of picking.

    Raises:
        UsageError: A number is out of range, shapes do not agree, or no candidate fits into the budget.
    """
    return _select(vectors, query, alpha, window, k, tokens, budget, relevance, _negated_redundancy, fill)


def fps(
    vectors: ArrayLike,
    query: ArrayLike | None,
    *,
    alpha: float = 0.0,
    window: int | None = None,
    k: int | None = None,
    tokens: Sequence[int] | None = None,
    budget: int | None = None,
    relevance: ArrayLike | None = None,
    fill: bool = True,
) -> list[int]:
    """Select by farthest point sampling (Diversity, eq. 2), or by the modified one if `alpha` is above 0.

    Args:
        vectors: As in `mmr`.
        query: As in `mmr`.
        alpha: Weight of relevance against distance, in [0, 1]; 0 is plain FPS, where the query decides the first pick.
        window: Number of last picks to whose nearest the distance is taken; None: all.
        k: As in `mmr`.
        tokens: As in `mmr`.
        budget: As in `mmr`.
        relevance: As in `mmr`.
        fill: As in `mmr`.

    Returns:
        Indices of the picks, in the order of picking.

    Raises:
        UsageError: As `mmr`.
    """
    return _select(vectors, query, alpha, window, k, tokens, budget, relevance, _distance, fill)


def within_budget(tokens: Sequence[int], budget: int | None, *, k: int | None = None, fill: bool = True) -> list[int]:
    """Return the indices of the first candidates that fit together into `budget` tokens and into `k`.

    A candidate that does not fit is skipped.

    Without `fill`, the selection ends at the first candidate that does not fit into the rest of the budget, and only
    candidates longer than the whole budget are skipped.

    Raises:
        UsageError: As `mmr`.
    """
    selection = _Selection(len(tokens), k, _token_counts(tokens, len(tokens)), budget, fill)
    for index in range(len(tokens)):
        if selection.is_full:
            break
        if selection.is_open[index]:
            selection.pick(index)
    return selection.picked


def token_budget(tokens: Sequence[int], *, budget: int | None = None, compression: float | None = None) -> int | None:
    """Return how many tokens may be kept: the smaller of T_max and the share c_r of all candidates' tokens.

    Args:
        tokens: Length of each candidate.
        budget: T_max, or None.
        compression: c_r in (0, 1], or None. The share is never less than the shortest candidate.

    Returns:
        The limit, or None if neither is given.

    Raises:
        UsageError: One of them is out of range.
    """
    check_limits(budget=budget, compression=compression)
    limits = [] if budget is None else [budget]
    if compression is not None and len(tokens):
        # The small addition: 0.29 * 100 is 28.999999999999996, and means 29 tokens.
        share = floor(compression * sum(tokens) + 1e-9)
        limits.append(max(share, min(tokens), 1))
    return min(limits, default=None)


def check_limits(
    *,
    alpha: float | None = None,
    window: int | None = None,
    k: int | None = None,
    budget: int | None = None,
    compression: float | None = None,
) -> None:
    """Raise an error if one of the given numbers is out of range.

    Raises:
        UsageError: One is out of range.
    """
    if alpha is not None and not 0 <= alpha <= 1:
        raise UsageError(f"alpha is {alpha!r}", help="Choose a weight from 0 (diversity) to 1 (relevance)")
    if window is not None and window < 1:
        raise UsageError(f"window is {window!r}", help="Choose how many last picks count, 1 or more, or None for all")
    if k is not None and k < 1:
        raise UsageError(f"k is {k!r}", help="Choose how many to keep, 1 or more")
    if budget is not None and budget < 1:
        raise UsageError(f"budget is {budget!r} tokens", help="Choose 1 or more")
    if compression is not None and not 0 < compression <= 1:
        raise UsageError(f"compression is {compression!r}", help="Choose a share above 0 and at most 1")


def unit_scaled(scores: ArrayLike) -> np.ndarray:
    """Return scores of any range, shifted and scaled to a minimum of 0 and a maximum of 1.

    Equal scores all become 1.
    """
    import numpy as np

    values = np.asarray(scores, dtype=np.float32)
    if not values.size:
        return values
    low, high = values.min(), values.max()
    scaled: np.ndarray = (values - low) / (high - low) if high > low else np.ones_like(values)
    return scaled


def in_order(cosines: ArrayLike) -> np.ndarray:
    """Return the candidates' cosines with the query in descending order, the highest for the first candidate.

    They replace the score by which the candidates were ordered (a second stage's, or their age), so that relevance is
    on the scale of cosines on which α and w were tuned. Candidates ordered by their cosines keep them, as in eq. 1.
    """
    import numpy as np

    return np.sort(np.asarray(cosines, dtype=np.float32))[::-1]


class _Selection:
    """The candidates picked so far, and those that still fit into the rest of the budget.

    Args:
        count: Number of candidates.
        k: Most picks; None: no limit.
        tokens: Length of each candidate (n,); None if there is no budget.
        budget: Most tokens of all picks together; None: no limit.
        fill: False ends the selection at the first pick that does not fit into the rest of the budget; until then,
            candidates need only fit into the whole budget.

    Attributes:
        picked: Indices of the picked candidates, in the order of picking.
        is_open: Whether each candidate can still be picked (n,).
    """

    def __init__(
        self, count: int, k: int | None, tokens: np.ndarray | None, budget: int | None, fill: bool = True
    ) -> None:
        import numpy as np

        check_limits(k=k, budget=budget)
        if budget is not None and tokens is None:
            raise UsageError(f"a budget of {budget} tokens needs the tokens of each candidate", help="Give tokens")
        self.picked: list[int] = []
        self.is_open = np.ones(count, dtype=bool)
        self._most = count if k is None else k
        self._remaining = budget
        self._tokens = tokens
        self._fill, self._is_ended = fill, False
        if budget is not None and tokens is not None and count:
            self.is_open = tokens <= budget
            if not self.is_open.any():
                raise UsageError(
                    f"a budget of {budget} tokens is smaller than the smallest passage, which has {int(tokens.min())}",
                    help="Give more tokens, or make shorter passages",
                )

    @property
    def is_full(self) -> bool:
        """Whether no further candidate can be picked."""
        return self._is_ended or len(self.picked) >= self._most or not self.is_open.any()

    def pick(self, index: int) -> None:
        """Pick a candidate; without `fill`, end the selection if it does not fit into the rest of the budget."""
        if self._tokens is not None and self._remaining is not None and self._tokens[index] > self._remaining:
            self._is_ended = True
            return
        self.picked.append(index)
        self.is_open[index] = False
        if self._tokens is not None and self._remaining is not None:
            self._remaining -= int(self._tokens[index])
            if self._fill:
                self.is_open &= self._tokens <= self._remaining


@dataclass(frozen=True)
class _Candidates:
    """The candidates' vectors (n, d) and the lengths of these (n,)."""

    vectors: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, vectors: ArrayLike) -> _Candidates:
        """Return the candidates with these vectors.

        Raises:
            UsageError: The vectors are not one row for each candidate, or not finite.
        """
        import numpy as np

        matrix = np.asarray(vectors)
        if matrix.dtype != np.float64:
            matrix = matrix.astype(np.float32, copy=False)
        if matrix.ndim != 2:
            raise UsageError(f"vectors have the shape {matrix.shape}", help="Give one row a candidate: (n, d)")
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        if not np.isfinite(lengths).all():
            raise UsageError(
                f"vector {int(np.argmin(np.isfinite(lengths)))} is not finite", help="Leave this candidate out"
            )
        return cls(matrix, lengths)

    def at(self, indices: np.ndarray) -> _Candidates:
        """Return the candidates at these indices."""
        return _Candidates(self.vectors[indices], self.lengths[indices])

    def cosines(self, others: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the cosine of each candidate with each of some vectors (n, m); 0 for a vector of zeros.

        Args:
            others: The vectors (m, d).
            lengths: Their lengths (m,).
        """
        import numpy as np

        products = self.vectors @ others.T
        scales = np.outer(self.lengths, lengths)
        cosines: np.ndarray = np.divide(products, scales, out=np.zeros_like(products), where=scales > 0)
        return cosines

    def redundancy(self, picks: _Candidates) -> np.ndarray:
        """Return the largest cosine of each candidate with the picks, (n,)."""
        largest: np.ndarray = picks.cosines(self.vectors, self.lengths).max(axis=0)
        return largest


def _negated_redundancy(redundancy: np.ndarray) -> np.ndarray:
    """Return the term that MMR adds to relevance: the negative of the redundancy."""
    return -redundancy


def _distance(redundancy: np.ndarray) -> np.ndarray:
    """Return the term that FPS adds to relevance: the Euclidean distance of unit vectors with this cosine."""
    import numpy as np

    distance: np.ndarray = np.sqrt(np.maximum(2 - 2 * redundancy, 0))
    return distance


def _select(
    vectors: ArrayLike,
    query: ArrayLike | None,
    alpha: float,
    window: int | None,
    k: int | None,
    tokens: Sequence[int] | None,
    budget: int | None,
    relevance: ArrayLike | None,
    novelty: Callable[[np.ndarray], np.ndarray],
    fill: bool = True,
) -> list[int]:
    """Return the indices of the picks, as `mmr` and `fps` do; `novelty` turns redundancy into a term of the score."""
    import numpy as np

    check_limits(alpha=alpha, window=window)
    candidates = _Candidates.of(vectors)
    count = len(candidates.lengths)
    selection = _Selection(count, k, None if tokens is None else _token_counts(tokens, count), budget, fill)
    if not count:
        return []
    relevances = _relevance(candidates, query, relevance)
    # While nothing is picked, relevance alone decides.
    selection.pick(int(np.argmax(np.where(selection.is_open, relevances, -np.inf))))
    if window is None:
        _pick_all(candidates, relevances, alpha, novelty, selection)
    else:
        _pick_windowed(candidates, relevances, alpha, window, novelty, selection)
    return selection.picked


def _relevance(candidates: _Candidates, query: ArrayLike | None, relevance: ArrayLike | None) -> np.ndarray:
    """Return the relevance of each candidate, (n,): the given `relevance`, else the cosine with the query.

    Raises:
        UsageError: Neither is given, or one has a wrong shape or is not finite.
    """
    import numpy as np

    count, dimension = candidates.vectors.shape
    if relevance is not None:
        scores = np.asarray(relevance, dtype=candidates.vectors.dtype)
        if scores.shape != (count,) or not np.isfinite(scores).all():
            raise UsageError(
                f"relevance has the shape {scores.shape} for {count} candidates, or is not finite",
                help="Give one number a candidate",
            )
        return scores
    if query is None:
        raise UsageError("neither a query nor relevance is given", help="Give the query's vector")
    vector = np.asarray(query, dtype=candidates.vectors.dtype)
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise UsageError(
            f"the query has the shape {vector.shape}, the candidates {candidates.vectors.shape}, or it is not finite",
            help="Embed both with one model",
        )
    query_row = vector[None, :]
    return candidates.cosines(query_row, np.linalg.norm(query_row, axis=1))[:, 0]


def _token_counts(tokens: Sequence[int], count: int) -> np.ndarray:
    """Return the candidates' token counts as an array (n,); raise an error if one is missing or negative."""
    import numpy as np

    counts = np.asarray(tokens, dtype=np.int64)
    if counts.shape != (count,) or (counts < 0).any():
        raise UsageError(
            f"tokens have the shape {counts.shape} for {count} candidates, or one is negative",
            help="Give one number a candidate, 0 or more",
        )
    return counts


def _pick_all(
    candidates: _Candidates,
    relevance: np.ndarray,
    alpha: float,
    novelty: Callable[[np.ndarray], np.ndarray],
    selection: _Selection,
) -> None:
    """Pick candidates if all picks count for redundancy: scores then only fall, so an old score is an upper bound.

    This is the lazy evaluation of Minoux (1978), in blocks: the scores of a pool of the best candidates are kept up to
    date, and the pool's best is the best of all while it exceeds all bounds outside. When it does not, the candidates
    whose bound reaches it are updated, and a new pool is made. O(n·d) for each pool at most, O(POOL·d) for each pick.
    """
    import numpy as np

    count = len(relevance)
    redundancy = np.full(count, -np.inf, dtype=candidates.vectors.dtype)
    bounds = np.full(count, np.inf, dtype=candidates.vectors.dtype)
    # How many picks each candidate's redundancy takes into account.
    known_picks = np.zeros(count, dtype=np.int64)
    best_score = -np.inf
    while not selection.is_full:
        outdated = np.flatnonzero(selection.is_open & (bounds >= best_score))
        # So many that comparing all takes less than copying these.
        if 2 * len(outdated) > count:
            outdated = np.arange(count)
        # A pick that was seen already changes no maximum, so all get the picks that the oldest of them lacks.
        if missed_picks := selection.picked[known_picks[outdated].min() :]:
            part = candidates if len(outdated) == count else candidates.at(outdated)
            missed_redundancy = part.redundancy(candidates.at(np.asarray(missed_picks)))
            redundancy[outdated] = np.maximum(redundancy[outdated], missed_redundancy)
        bounds[outdated] = alpha * relevance[outdated] + (1 - alpha) * novelty(redundancy[outdated])
        bounds[~selection.is_open] = -np.inf
        known_picks[outdated] = len(selection.picked)
        best = int(np.argmax(bounds))
        pool = outdated[_highest(bounds[outdated])]
        # From here on, the scores of the pool are exact.
        in_pool, weighted_relevance, pool_redundancy = candidates.at(pool), alpha * relevance[pool], redundancy[pool]
        bounds[pool] = -np.inf
        best_outside = bounds.max()
        while True:
            selection.pick(best)
            pool_redundancy = np.maximum(pool_redundancy, in_pool.redundancy(candidates.at(np.asarray([best]))))
            scores = weighted_relevance + (1 - alpha) * novelty(pool_redundancy)
            scores = np.where(selection.is_open[pool], scores, -np.inf)
            best_in_pool = int(np.argmax(scores))
            best_score = scores[best_in_pool]
            # At a tie the first candidate wins, which may be outside of the pool.
            if selection.is_full or not best_score > best_outside:
                break
            best = int(pool[best_in_pool])
        redundancy[pool], bounds[pool], known_picks[pool] = pool_redundancy, scores, len(selection.picked)


def _highest(scores: np.ndarray) -> np.ndarray:
    """Return the indices of the `POOL` highest scores, ascending."""
    import numpy as np

    if len(scores) <= POOL:
        return np.arange(len(scores))
    return np.sort(np.argpartition(scores, len(scores) - POOL)[-POOL:])


def _pick_windowed(
    candidates: _Candidates,
    relevance: np.ndarray,
    alpha: float,
    window: int,
    novelty: Callable[[np.ndarray], np.ndarray],
    selection: _Selection,
) -> None:
    """Pick candidates if only the last `window` picks count for redundancy."""
    import numpy as np

    # A row for each of the last picks: its cosine with every candidate. A new pick overwrites the oldest row.
    row_count = min(window, len(relevance))
    cosines = np.full((row_count, len(relevance)), -np.inf, dtype=candidates.vectors.dtype)
    while not selection.is_full:
        oldest_row = (len(selection.picked) - 1) % row_count
        cosines[oldest_row] = candidates.redundancy(candidates.at(np.asarray(selection.picked[-1:])))
        scores = alpha * relevance + (1 - alpha) * novelty(cosines.max(axis=0))
        selection.pick(int(np.argmax(np.where(selection.is_open, scores, -np.inf))))

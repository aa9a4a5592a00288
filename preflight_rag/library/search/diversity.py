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
    return _select(vectors, query, alpha, window, k, tokens, budget, relevance, _negative, fill)


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
    """Return the first candidates that fit together into `budget` tokens; one that does not fit is skipped.

    Without `fill`, the selection ends with the first candidate that does not fit into the rest of the budget; only
    candidates longer than the whole budget are skipped.

    Raises:
        UsageError: As `mmr`.
    """
    basket = _Basket(len(tokens), k, _lengths(tokens, len(tokens)), budget, fill)
    for index in range(len(tokens)):
        if basket.full:
            break
        if basket.open[index]:
            basket.take(index)
    return basket.taken


def token_budget(tokens: Sequence[int], *, budget: int | None = None, compression: float | None = None) -> int | None:
    """Return the tokens that may be kept: the smaller of T_max and the share c_r of all candidates' tokens.

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
        # 0.29 * 100 is 28.999999999999996, and means 29 tokens.
        limits.append(max(floor(compression * sum(tokens) + 1e-9), min(tokens), 1))
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

    given = np.asarray(scores, dtype=np.float32)
    if not given.size:
        return given
    low, high = given.min(), given.max()
    scaled: np.ndarray = (given - low) / (high - low) if high > low else np.ones_like(given)
    return scaled


def in_order(cosines: ArrayLike) -> np.ndarray:
    """Return the candidates' cosines with the query in descending order, the highest for the first candidate.

    They replace the score by which the candidates were ordered (a second stage's, or their age), so that relevance is
    on the scale of cosines on which α and w were tuned. Candidates ordered by their cosines keep them, as in eq. 1.
    """
    import numpy as np

    return np.sort(np.asarray(cosines, dtype=np.float32))[::-1]


class _Basket:
    """The candidates taken so far, and those that still fit into the rest of the budget.

    Without `fill`, candidates need only fit into the whole budget, and the selection ends with the first one that does
    not fit into the rest.
    """

    def __init__(
        self, count: int, k: int | None, tokens: np.ndarray | None, budget: int | None, fill: bool = True
    ) -> None:
        import numpy as np

        check_limits(k=k, budget=budget)
        if budget is not None and tokens is None:
            raise UsageError(f"a budget of {budget} tokens needs the tokens of each candidate", help="Give tokens")
        self.taken: list[int] = []
        self.open = np.ones(count, dtype=bool)
        self._most = count if k is None else k
        self._left = budget
        self._tokens = tokens
        self._fill, self._ended = fill, False
        if budget is not None and tokens is not None and count:
            self.open = tokens <= budget
            if not self.open.any():
                raise UsageError(
                    f"a budget of {budget} tokens is smaller than the smallest passage, which has {int(tokens.min())}",
                    help="Give more tokens, or make shorter passages",
                )

    @property
    def full(self) -> bool:
        """Whether no further candidate can be taken."""
        return self._ended or len(self.taken) >= self._most or not self.open.any()

    def take(self, index: int) -> None:
        """Take a candidate; without `fill`, end the selection if it does not fit into the rest of the budget."""
        if self._tokens is not None and self._left is not None and self._tokens[index] > self._left:
            self._ended = True
            return
        self.taken.append(index)
        self.open[index] = False
        if self._tokens is not None and self._left is not None:
            self._left -= int(self._tokens[index])
            if self._fill:
                self.open &= self._tokens <= self._left


@dataclass(frozen=True)
class _Space:
    """Candidates' vectors (n, d) and their lengths (n,)."""

    vectors: np.ndarray
    norms: np.ndarray

    @classmethod
    def of(cls, vectors: ArrayLike) -> _Space:
        """Return the space of some vectors, checked for their shape."""
        import numpy as np

        given = np.asarray(vectors)
        if given.dtype != np.float64:
            given = given.astype(np.float32, copy=False)
        if given.ndim != 2:
            raise UsageError(f"vectors have the shape {given.shape}", help="Give one row a candidate: (n, d)")
        norms = np.sqrt(np.einsum("ij,ij->i", given, given))
        if not np.isfinite(norms).all():
            raise UsageError(
                f"vector {int(np.argmin(np.isfinite(norms)))} is not finite", help="Leave this candidate out"
            )
        return cls(given, norms)

    def rows(self, indices: np.ndarray) -> _Space:
        """Return the space of the candidates at these indices."""
        return _Space(self.vectors[indices], self.norms[indices])

    def cosines(self, other: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Return the cosine of each candidate with each row of `other` (m, d): (n, m); 0 for a vector of zeros."""
        import numpy as np

        products = self.vectors @ other.T
        scales = np.outer(self.norms, norms)
        cosines: np.ndarray = np.divide(products, scales, out=np.zeros_like(products), where=scales > 0)
        return cosines

    def redundancy(self, picks: _Space) -> np.ndarray:
        """Return the largest cosine of each candidate with the picks, (n,)."""
        largest: np.ndarray = picks.cosines(self.vectors, self.norms).max(axis=0)
        return largest


def _negative(redundancy: np.ndarray) -> np.ndarray:
    """Return the term that MMR adds to relevance."""
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
    """Check the arguments, then pick with `novelty` as the term for redundancy."""
    import numpy as np

    check_limits(alpha=alpha, window=window)
    space = _Space.of(vectors)
    count = len(space.norms)
    basket = _Basket(count, k, None if tokens is None else _lengths(tokens, count), budget, fill)
    if not count:
        return []
    worth = _relevance(space, query, relevance)
    basket.take(int(np.argmax(np.where(basket.open, worth, -np.inf))))
    if window is None:
        _fill(space, worth, alpha, novelty, basket)
    else:
        _fill_windowed(space, worth, alpha, window, novelty, basket)
    return basket.taken


def _relevance(space: _Space, query: ArrayLike | None, relevance: ArrayLike | None) -> np.ndarray:
    """Return the relevance of each candidate, (n,)."""
    import numpy as np

    count, dimension = space.vectors.shape
    if relevance is not None:
        given = np.asarray(relevance, dtype=space.vectors.dtype)
        if given.shape != (count,) or not np.isfinite(given).all():
            raise UsageError(
                f"relevance has the shape {given.shape} for {count} candidates, or is not finite",
                help="Give one number a candidate",
            )
        return given
    if query is None:
        raise UsageError("neither a query nor relevance is given", help="Give the query's vector")
    asked = np.asarray(query, dtype=space.vectors.dtype)
    if asked.shape != (dimension,) or not np.isfinite(asked).all():
        raise UsageError(
            f"the query has the shape {asked.shape}, the candidates {space.vectors.shape}, or it is not finite",
            help="Embed both with one model",
        )
    return space.cosines(asked[None, :], np.linalg.norm(asked[None, :], axis=1))[:, 0]


def _lengths(tokens: Sequence[int], count: int) -> np.ndarray:
    """Return the candidates' token counts as an array (n,); raise an error if one is missing or negative."""
    import numpy as np

    lengths = np.asarray(tokens, dtype=np.int64)
    if lengths.shape != (count,) or (lengths < 0).any():
        raise UsageError(
            f"tokens have the shape {lengths.shape} for {count} candidates, or one is negative",
            help="Give one number a candidate, 0 or more",
        )
    return lengths


def _fill(
    space: _Space,
    relevance: np.ndarray,
    alpha: float,
    novelty: Callable[[np.ndarray], np.ndarray],
    basket: _Basket,
) -> None:
    """Pick candidates if all picks count for redundancy: scores then only fall, so an old score is an upper bound.

    This is the lazy evaluation of Minoux (1978), in blocks: the scores of a pool of the best candidates are kept up to
    date, and the pool's best is the best of all while it exceeds all bounds outside. When it does not, the candidates
    whose bound reaches it are updated, and a new pool is made. O(n·d) for each pool at most, O(POOL·d) for each pick.
    """
    import numpy as np

    count = len(relevance)
    redundancy = np.full(count, -np.inf, dtype=space.vectors.dtype)
    bounds = np.full(count, np.inf, dtype=space.vectors.dtype)
    known = np.zeros(count, dtype=np.int64)
    level = -np.inf
    while not basket.full:
        due = np.flatnonzero(basket.open & (bounds >= level))
        # So many that comparing all takes less than copying these.
        if 2 * len(due) > count:
            due = np.arange(count)
        # A pick that was seen already changes no maximum, so all get the picks that the oldest of them lacks.
        if missed := basket.taken[known[due].min() :]:
            part = space if len(due) == count else space.rows(due)
            redundancy[due] = np.maximum(redundancy[due], part.redundancy(space.rows(np.asarray(missed))))
        bounds[due] = alpha * relevance[due] + (1 - alpha) * novelty(redundancy[due])
        bounds[~basket.open] = -np.inf
        known[due] = len(basket.taken)
        best = int(np.argmax(bounds))
        pool = due[_highest(bounds[due])]
        inside, weighted, nearest = space.rows(pool), alpha * relevance[pool], redundancy[pool]
        bounds[pool] = -np.inf
        outside = bounds.max()
        while True:
            basket.take(best)
            nearest = np.maximum(nearest, inside.redundancy(space.rows(np.asarray([best]))))
            scores = np.where(basket.open[pool], weighted + (1 - alpha) * novelty(nearest), -np.inf)
            place = int(np.argmax(scores))
            level = scores[place]
            # At a tie the first candidate wins, which may be outside of the pool.
            if basket.full or not level > outside:
                break
            best = int(pool[place])
        redundancy[pool], bounds[pool], known[pool] = nearest, scores, len(basket.taken)


def _highest(scores: np.ndarray) -> np.ndarray:
    """Return the indices of the `POOL` highest scores, ascending."""
    import numpy as np

    if len(scores) <= POOL:
        return np.arange(len(scores))
    return np.sort(np.argpartition(scores, len(scores) - POOL)[-POOL:])


def _fill_windowed(
    space: _Space,
    relevance: np.ndarray,
    alpha: float,
    window: int,
    novelty: Callable[[np.ndarray], np.ndarray],
    basket: _Basket,
) -> None:
    """Pick candidates if only the last `window` picks count: their cosines are kept, the oldest row is overwritten."""
    import numpy as np

    cosines = np.full((min(window, len(relevance)), len(relevance)), -np.inf, dtype=space.vectors.dtype)
    while not basket.full:
        place = (len(basket.taken) - 1) % len(cosines)
        cosines[place] = space.redundancy(space.rows(np.asarray(basket.taken[-1:])))
        scores = alpha * relevance + (1 - alpha) * novelty(cosines.max(axis=0))
        basket.take(int(np.argmax(np.where(basket.open, scores, -np.inf))))

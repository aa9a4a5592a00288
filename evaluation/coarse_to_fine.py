"""Search over α and w, coarse to fine (Diversity, section 3.1): a coarse grid, then finer steps around the best."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

from preflight_rag.state.errors import UsageError

COARSE_ALPHAS = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The paper's coarse grid (section 3.1)."""
WINDOWS = (1, 10, 100, 1000, None)
"""The paper's windows, where 0 counts no pick, as α = 1 does, and 1,000,000 all; 1, which it finds best three times, is
added."""

Objective = Callable[[float, int | None], float]


@dataclass(frozen=True)
class BestSetting:
    """The best setting that a search found.

    Attributes:
        alpha: Weight of relevance.
        window: Last picks that count, None for all.
        value: The objective's value there.
        trace: Every setting that was tried with its value, in order.
    """

    alpha: float
    window: int | None
    value: float
    trace: tuple[tuple[float, int | None, float], ...]


def search(
    objective: Objective,
    *,
    coarse_alphas: Sequence[float] = COARSE_ALPHAS,
    windows: Sequence[int | None] = WINDOWS,
    rounds: int = 2,
) -> BestSetting:
    """Return the setting with the highest value of the objective, each setting tried once.

    The coarse round tries every pair. Each finer one tries, around the best so far, values of α half-way to its
    neighbours and windows half-way, by ratio, to theirs. At α = 1 the window has no effect and is not searched. Of
    equal values the larger α wins, then the larger window: the smaller departure from relevance.

    Args:
        objective: Function of α and w; higher is better.
        coarse_alphas: Grid of α in [0, 1].
        windows: Grid of w.
        rounds: Finer rounds after the coarse one.

    Raises:
        UsageError: A grid is empty, or α outside [0, 1].
    """
    alphas = sorted(set(coarse_alphas))
    if not alphas or not windows or not 0 <= alphas[0] <= alphas[-1] <= 1:
        raise UsageError(
            f"the grid {tuple(coarse_alphas)} x {tuple(windows)} cannot be searched", help="Give α in [0, 1]"
        )
    tried: dict[tuple[float, int | None], float] = {}

    def attempt(alpha: float, window: int | None) -> None:
        setting = (alpha, None if alpha == 1 else window)
        if setting not in tried:
            tried[setting] = objective(*setting)

    for alpha in alphas:
        for window in windows:
            attempt(alpha, window)
    for _ in range(rounds):
        alpha, window = _best(tried)
        near = [window, *_between(window, [w for _, w in tried])]
        for finer in (alpha, *_halfway(alpha, {a for a, _ in tried})):
            for other in near:
                attempt(finer, other)
    alpha, window = _best(tried)
    return BestSetting(
        alpha, window, tried[alpha, window], tuple((*setting, value) for setting, value in tried.items())
    )


def _best(tried: dict[tuple[float, int | None], float]) -> tuple[float, int | None]:
    """Return the setting (α, w) with the highest value; of equal ones, that with the larger α, then the larger w."""
    return max(tried, key=lambda setting: (tried[setting], setting[0], setting[1] or float("inf")))


def _halfway(alpha: float, known: Collection[float]) -> Iterator[float]:
    """Yield weights half-way from `alpha` to the next smaller and the next larger known one."""
    for other in (
        max((a for a in known if a < alpha), default=None),
        min((a for a in known if a > alpha), default=None),
    ):
        if other is not None:
            yield round((alpha + other) / 2, 6)


def _between(window: int | None, known: Sequence[int | None]) -> Iterator[int]:
    """Yield windows half-way, by ratio, from `window` to the next smaller and the next larger known one."""
    finite = sorted({w for w in known if w is not None})
    if window is None:
        yield from [2 * finite[-1]] if finite else []
        return
    for other in (
        max((w for w in finite if w < window), default=None),
        min((w for w in finite if w > window), default=2 * window),
    ):
        if other is not None and (middle := isqrt(window * other)) not in (window, other):
            yield middle

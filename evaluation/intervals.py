"""95 % intervals: Wilson's for shares, percentile bootstrap for everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000
_CHUNK_CELLS = 2_000_000


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; all three are NaN if the figure is undefined, such as a share of nothing."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float | None]:
        """Return the numbers rounded to 6 places; None for undefined ones."""
        named = {"value": self.value, "low": self.low, "high": self.high}
        return {name: None if number != number else round(number, 6) for name, number in named.items()}


def wilson(successes: int, trials: int) -> Estimate:
    """Return a share with Wilson's score interval (Wilson 1927)."""
    from scipy.stats import binomtest

    if trials == 0:
        return Estimate(nan, nan, nan)
    interval = binomtest(successes, trials).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(successes / trials, float(interval.low), float(interval.high))


def bootstrap(statistic: Callable[..., np.ndarray], *columns: Any, seed: int, resamples: int = RESAMPLES) -> Estimate:
    """Return a statistic of paired columns with its percentile bootstrap interval (Efron and Tibshirani 1993, ch. 13).

    The queries are resampled, with all their columns together, so a difference between two systems is a paired one.
    Resamples in which the statistic is undefined (NaN) are left out.

    Args:
        statistic: Takes as many arrays as there are columns, each of shape (resamples, n), and returns (resamples,).
        *columns: One value for each query, each of shape (n,).
        seed: Seed of the random numbers; the same seed gives the same interval.
        resamples: How many times to draw.
    """
    arrays = [np.asarray(column) for column in columns]
    count = len(arrays[0])
    if count == 0:
        return Estimate(nan, nan, nan)
    value = float(statistic(*(array[None, :] for array in arrays))[0])
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK_CELLS // count)
    drawn = []
    for start in range(0, resamples, chunk):
        picks = rng.integers(0, count, size=(min(chunk, resamples - start), count))
        drawn.append(statistic(*(array[picks] for array in arrays)))
    statistics = np.concatenate(drawn)
    defined = statistics[~np.isnan(statistics)]
    if value != value or len(defined) == 0:
        return Estimate(value, nan, nan)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high))


def mean(values: np.ndarray) -> np.ndarray:
    """Return the mean over the queries, for `bootstrap`."""
    averages: np.ndarray = values.mean(axis=-1)
    return averages


def mean_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the mean of a − b over the queries, for `bootstrap`."""
    return mean(a - b)


def average(values: Sequence[float], *, seed: int) -> Estimate:
    """Return a mean with its bootstrap interval."""
    return bootstrap(mean, [float(value) for value in values], seed=seed)


def mean_of_groups(groups: Sequence[Sequence[float]], *, seed: int) -> Estimate:
    """Return the unweighted mean of the groups' means; its interval resamples every group separately."""
    if not groups or not all(groups):
        return Estimate(nan, nan, nan)
    rng = np.random.default_rng(seed)
    drawn = np.zeros(RESAMPLES)
    for group in groups:
        values, count = np.asarray(group, dtype=float), len(group)
        chunk = max(1, _CHUNK_CELLS // count)
        for start in range(0, RESAMPLES, chunk):
            picks = rng.integers(0, count, size=(min(chunk, RESAMPLES - start), count))
            drawn[start : start + chunk] += values[picks].mean(axis=1) / len(groups)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(np.mean([np.mean(group) for group in groups])), float(low), float(high))


def share(values: Sequence[float], *, seed: int) -> Estimate:
    """Return a mean with its interval: Wilson's if all values are 0 or 1, else the bootstrap's."""
    if all(value in (0.0, 1.0) for value in values):
        return wilson(int(sum(values)), len(values))
    return average(values, seed=seed)


def ratio(parts: Sequence[float], wholes: Sequence[float], *, seed: int) -> Estimate:
    """Return the sum of parts as a share of the sum of wholes, with its bootstrap interval over the samples.

    Args:
        parts: One value for each sample, of shape (n,).
        wholes: The whole of each; the result is undefined if they sum to 0.
        seed: Seed of the bootstrap.
    """

    def statistic(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        totals = whole.sum(axis=-1)
        shares: np.ndarray = np.where(totals > 0, part.sum(axis=-1) / np.where(totals > 0, totals, 1), np.nan)
        return shares

    return bootstrap(statistic, list(map(float, parts)), list(map(float, wholes)), seed=seed)

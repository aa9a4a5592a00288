"""Wilson and bootstrap intervals."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.intervals import bootstrap, mean, mean_difference, mean_of_groups, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_values(successes: int, trials: int, low: float, high: float) -> None:
    estimate = wilson(successes, trials)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-4)


def test_a_share_of_nothing_is_undefined() -> None:
    assert all(isnan(part) for part in (wilson(0, 0).value, wilson(0, 0).low, bootstrap(mean, [], seed=0).value))
    assert wilson(0, 0).as_json() == {"value": None, "low": None, "high": None}


def test_the_bootstrap_of_a_mean_agrees_with_theory() -> None:
    values = np.random.default_rng(1).normal(size=400)
    estimate = bootstrap(mean, values, seed=0)
    half_width = 1.96 * values.std() / np.sqrt(len(values))
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half_width, rel=0.05)


def test_groups_of_any_size_count_the_same() -> None:
    """By hand: means of 0.25 and 1 make 0.625, where the mean over all is 0.4; a group without spread adds none."""
    estimate = mean_of_groups([[1.0, 0.0, 0.0, 0.0] * 100, [1.0] * 100], seed=0)
    assert estimate.value == 0.625
    half_width = 1.96 * np.sqrt(0.25 * 0.75 / 400) / 2
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half_width, rel=0.05)
    assert isnan(mean_of_groups([[1.0], []], seed=0).value)
    assert isnan(mean_of_groups([], seed=0).value)


def test_a_paired_difference_is_narrower_than_an_unpaired_one() -> None:
    base = np.random.default_rng(1).normal(size=200)
    paired = bootstrap(mean_difference, base + 0.1, base, seed=0)
    assert paired.value == pytest.approx(0.1)
    assert paired.high - paired.low < 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 9))
def test_the_interval_is_reproducible_and_within_the_data(values: list[float], seed: int) -> None:
    estimate = bootstrap(mean, values, seed=seed, resamples=200)
    assert estimate == bootstrap(mean, values, seed=seed, resamples=200)
    assert min(values) - 1e-9 <= estimate.low <= estimate.high <= max(values) + 1e-9

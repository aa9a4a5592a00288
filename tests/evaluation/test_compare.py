"""The paired tests find what was planted and nothing else.

What decides is the share of questions on which two systems differ. Systems that read the same passages agree on most:
here on 92 %. A difference of 5 points then is 6.5 % against 1.5 %; of 500 questions, about 32 against 8.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.evaluation.compare import Paired, corrected, paired, sign_test
from preflight_rag.evaluation.intervals import Estimate

QUESTIONS, DISCORDANT = 500, 0.08


def answers(difference: float, seed: int) -> tuple[list[bool], list[bool]]:
    """Right or wrong of two systems, 70 % right where they agree, that differ by so many points in expectation."""
    rng, pairs = random.Random(seed), []
    for _ in range(QUESTIONS):
        if rng.random() < DISCORDANT:
            better = rng.random() < (1 + difference / DISCORDANT) / 2
            pairs.append((better, not better))
        else:
            right = rng.random() < 0.7
            pairs.append((right, right))
    return tuple(map(list, zip(*pairs, strict=True)))


def found(difference: float, seed: int) -> bool:
    pairs = list(zip(*answers(difference, seed), strict=True))
    return sign_test(sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)) < 0.05


def test_a_planted_difference_of_five_points_is_found() -> None:
    assert sum(found(0.05, seed) for seed in range(200)) / 200 >= 0.95


def test_a_planted_zero_is_not_found_in_95_percent_of_seeds() -> None:
    assert sum(found(0.0, seed) for seed in range(1000)) / 1000 <= 0.05


def test_the_bootstrap_agrees() -> None:
    tests = [paired(*answers(difference, 1), seed=0) for difference in (0.05, 0.0)]
    assert tests[0].difference.low > 0
    assert tests[0].wins + tests[0].ties + tests[0].losses == QUESTIONS
    assert tests[1].difference.low < 0 < tests[1].difference.high


def test_shares_are_tested_by_sign() -> None:
    test = paired([0.5, 1.0, 0.25, 0.0], [0.0, 0.5, 0.5, 0.0], seed=0)
    assert (test.wins, test.ties, test.losses) == (2, 1, 1)
    assert test.p == test.holm == 1.0


@pytest.mark.parametrize(("wins", "losses", "p"), [(0, 0, 1.0), (5, 5, 1.0), (10, 0, 2 / 1024), (8, 2, 0.109375)])
def test_the_exact_test(wins: int, losses: int, p: float) -> None:
    assert sign_test(wins, losses) == sign_test(losses, wins) == pytest.approx(p)


def holm(p_values: list[float]) -> list[float]:
    tests = [Paired(Estimate(0.0, 0.0, 0.0), 0, 0, 0, p, p) for p in p_values]
    return [test.holm for test in corrected(tests)]


def test_holm_against_a_worked_example() -> None:
    """0.01·4, 0.02·3, 0.03·2 and 0.05·1, none below the one before it."""
    assert holm([0.03, 0.01, 0.05, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.005, 0.011, 0.02, 0.04, 0.13]) == pytest.approx([0.025, 0.044, 0.06, 0.08, 0.13])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lies_between_none_and_bonferroni(p_values: list[float]) -> None:
    values = holm(p_values)
    assert all(p <= value <= min(1.0, len(p_values) * p) + 1e-12 for p, value in zip(p_values, values, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [values[i] for i in order] == sorted(values)


def test_a_family_is_corrected_together() -> None:
    family = corrected([paired([1.0] * 10, [0.0] * 10, seed=0), paired([1.0], [1.0], seed=0)])
    assert [test.holm for test in family] == pytest.approx([4 / 1024, 1.0])

"""The paired tests find what was planted and nothing else.

What decides is the share of questions on which two systems differ. Systems that read the same passages agree on most:
here on 92 %. A difference of 5 points then is 6.5 % against 1.5 %; of 500 questions, about 32 against 8.
"""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.compare import PairedScores, compare, corrected, paired, sign_test
from evaluation.intervals import Estimate
from evaluation.rows import ScoreRow

pytestmark = pytest.mark.slow

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
    tests = [PairedScores(Estimate(0.0, 0.0, 0.0), 0, 0, 0, p, p) for p in p_values]
    return [test.holm for test in corrected(tests)]


def test_holm_against_a_worked_example() -> None:
    """0.01·4, 0.02·3, 0.03·2 and 0.05·1, none below the one before it."""
    assert holm([0.03, 0.01, 0.05, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.005, 0.011, 0.02, 0.04, 0.13]) == pytest.approx([0.025, 0.044, 0.06, 0.08, 0.13])


@settings(deadline=None)  # the first example imports statsmodels
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lies_between_none_and_bonferroni(p_values: list[float]) -> None:
    values = holm(p_values)
    assert all(p <= value <= min(1.0, len(p_values) * p) + 1e-12 for p, value in zip(p_values, values, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [values[i] for i in order] == sorted(values)


def test_a_family_is_corrected_together() -> None:
    family = corrected([paired([1.0] * 10, [0.0] * 10, seed=0), paired([1.0], [1.0], seed=0)])
    assert [test.holm for test in family] == pytest.approx([4 / 1024, 1.0])


def rows_of(scores: dict[str, dict[str, list[float | None]]]) -> list[ScoreRow]:
    """Rows of samples q0, q1, … from condition to arm to scores; None is a sample that has none there."""
    return [
        ScoreRow(f"q{n}", condition, arm, score, calls=2, tokens=(100, 10), details={"abstained": score == 0.0})
        for condition, arms in scores.items()
        for arm, column in arms.items()
        for n, score in enumerate(column)
    ]


PLACED = rows_of(
    {
        "first": {"RAG": [1, 1, 0, 1], "BriefContext": [1, 1, 1, 1]},
        "middle": {"RAG": [0, 0, 0, 1], "BriefContext": [1, 0, 1, None]},
    }
)


def test_a_table_has_a_line_an_arm_and_a_column_a_condition() -> None:
    """Of three right of three Wilson's interval begins at 3 / (3 + 1.96²); q3 lacks an answer and is left out."""
    found = compare(PLACED, baseline="RAG")
    table, differences, costs = found.tables("Places", "A note.")
    assert table.columns == ("right %", "first", "middle")
    assert [row[0] for row in table.rows] == ["RAG", "BriefContext"]
    assert table.rows[1][1] == "100.0 [43.9, 100.0]"
    assert [row[:1] + row[2:5] for row in differences.rows] == [
        ("first: BriefContext − RAG", "1", "2", "0"),
        ("middle: BriefContext − RAG", "2", "1", "0"),
    ]
    assert costs.rows[0][1:] == ("0", "0", "4", "0", "2.00", "100", "10")
    assert (found.samples, found.failed) == (3, 1)
    assert found.left_out.startswith("1 questions")


def test_columns_may_take_several_conditions_and_pairs_any_two_cells() -> None:
    """A sample's score there is its mean: RAG has (1 + 0) / 2, (1 + 0) / 2 and 0."""
    columns = {"middle": ["middle"], "all": ["first", "middle"]}
    found = compare(PLACED, columns=columns, pairs={"dip": (("RAG", "all"), ("RAG", "middle"))})
    assert found.estimates["RAG"]["all"].value == pytest.approx(1 / 3)
    assert found.scores["RAG"]["all"] == {"q0": 0.5, "q1": 0.5, "q2": 0.0}
    assert (found.tests["dip"].wins, found.tests["dip"].ties) == (2, 1)


def test_measures_stand_side_by_side_and_one_that_is_undefined_for_a_sample_is_left_out_there() -> None:
    rows = [
        ScoreRow(f"q{n}", "", arm, float(n + (arm == "COrg")) / 4, measure="F1")
        for n in range(3)
        for arm in ("Base", "COrg")
    ]
    rows += [ScoreRow("q0", "", arm, 1.0, measure="both") for arm in ("Base", "COrg")]
    found = compare(rows, by="measure", baseline="COrg", wilson=False)
    assert found.means("t", differences=True, percent=False).rows[2][0] == "Base − COrg"
    grid = found.difference_grid("t")
    assert grid.columns == ("systems", "F1", "p (Holm)", "both", "p (Holm)")
    assert grid.rows[0][1].startswith("-25.0 [")
    assert found.estimates["COrg"]["both"].value == 1.0
    assert found.costs("t").rows[0][-1] == "0"


def test_arms_may_be_the_columns() -> None:
    found = compare(PLACED, by="arm", pairs={})
    assert list(found.estimates) == ["first", "middle"]
    assert found.columns == ["RAG", "BriefContext"]
    assert found.tables()[0].rows[1][0] == "middle"


def test_plots_hold_the_tables_numbers() -> None:
    found = compare(PLACED, pairs={})
    assert found.bars("t").categories == ("first", "middle")
    assert found.bars("t", turned=True).categories == ("RAG", "BriefContext")
    line = found.lines("t", "place", {"first": 0.0, "middle": 50.0}).series[0]
    assert (line.name, line.values[1].value) == ("RAG", 0.0)


@given(
    st.builds(
        ScoreRow, st.text(), st.text(), st.text(), st.one_of(st.none(), st.sampled_from([0.0, 0.25, 1.0])), st.text(),
        st.integers(0, 9), st.tuples(st.integers(0, 9), st.integers(0, 9)), measure=st.text(),
        details=st.dictionaries(st.text(), st.text()),
    )
)  # fmt: skip
def test_a_row_comes_back_from_its_line(row: ScoreRow) -> None:
    assert ScoreRow.from_json(json.loads(json.dumps(row.to_json()))) == row

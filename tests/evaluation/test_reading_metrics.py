"""SQuAD's exact match and F1, macro-F1, and the risk-coverage curve, on cases worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.reading_metrics import (
    above_most_frequent,
    coverage_at,
    exact_match,
    is_right,
    macro_f1,
    most_frequent,
    normalised,
    risk_area,
    risk_curve,
    span_f1,
)


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        ("The Broncos", ["Broncos"], True, 1.0),
        ("3,559 people", ["3559 people", "nobody"], True, 1.0),
        ("Denver Broncos of Colorado", ["the Denver Broncos"], False, 2 / 3),
        ("Denver", ["Denver Broncos", "Denver Colorado Broncos"], False, 2 / 3),
        ("", ["Denver"], False, 0.0),
        ("a", ["the"], True, 1.0),
        ("Denver", [], False, 0.0),
    ],
)
def test_a_span_against_its_answers(predicted, gold, exact, f1):
    assert exact_match(predicted, gold) is exact
    assert span_f1(predicted, gold) == pytest.approx(f1)


@pytest.mark.parametrize(("predicted", "right"), [("one two", True), ("one of few", True), ("one of so few", False)])
def test_an_f1_of_a_half_makes_a_span_right(predicted, right):
    assert is_right(predicted, ["one", "many"]) is right


@given(st.text(), st.text())
def test_f1_is_a_share_and_the_same_both_ways(a, b):
    assert 0 <= span_f1(a, [b]) <= 1
    assert span_f1(a, [b]) == span_f1(b, [a])
    assert normalised(normalised(a)) == normalised(a)


def test_macro_f1_weighs_classes_alike():
    found = macro_f1(["yes", "yes", "no", "yes"], ["yes", "yes", "no", "no"], seed=0)
    assert found.value == pytest.approx((0.8 + 2 / 3) / 2)
    assert found.low <= found.value <= found.high


def test_accuracy_above_the_most_frequent_class():
    gold = ["yes", "yes", "yes", "no"]
    assert most_frequent(gold) == "yes"
    assert most_frequent(["b", "a"]) == "a"
    assert above_most_frequent(gold, gold, seed=0).value == pytest.approx(0.25)
    assert above_most_frequent(["yes"] * 4, gold, seed=0).value == 0


def test_the_curve_has_a_point_for_each_confidence():
    points = risk_curve([0.9, 0.5, 0.5, 0.1], [False, True, False, True])
    assert points == [(0.25, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]


def test_area_and_coverage():
    confidence, wrong = [0.9, 0.8, 0.7, 0.6], [False, False, True, False]
    assert risk_area(confidence, wrong, seed=0).value == pytest.approx((0 + 0 + 1 / 3 + 1 / 4) / 4)
    assert coverage_at(0.1, confidence, wrong, seed=0).value == 0.5
    assert coverage_at(0.3, confidence, wrong, seed=0).value == 1.0
    assert coverage_at(0.2, confidence, [True] * 4, seed=0).value == 0


def test_equal_confidence_counts_its_wrong_answers_first():
    assert coverage_at(0.2, [0.5, 0.5], [False, True], seed=0).value == 0

"""Metrics against values worked out by hand."""

from __future__ import annotations

from math import isnan, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics import by_document, gold_ranks, measure_rankings, prediction, roc_area
from preflight_rag.state.values import Hit


def test_a_document_counts_from_its_first_passage() -> None:
    hits = [Hit(passage_id=f"{d}{i}", document_id=d, rank=i, score=1.0) for i, d in enumerate("abacb", 1)]
    assert by_document(hits) == ["a", "b", "c"]
    assert gold_ranks(by_document(hits), {"c", "a", "z"}) == [1, 3]


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["a", "b"], {"R@16": 1.0, "RR": 1.0, "nDCG@10": 1.0}),
        (["x", "a"], {"R@16": 0.5, "RR": 0.5, "nDCG@10": (1 / log2(3)) / (1 + 1 / log2(3))}),
        ([*"mnopqrstuvwxyzcd", "a"], {"R@16": 0.0, "RR": 1 / 17, "nDCG@10": 0.0}),
        ([], {"R@16": 0.0, "RR": 0.0, "nDCG@10": 0.0}),
    ],
)
def test_ranking_measures(ranking: list[str], expected: dict[str, float]) -> None:
    measured = measure_rankings({"q": {"a": 1, "b": 1, "x": 0}}, {"q": ranking})
    assert {name: values["q"] for name, values in measured.items()} == pytest.approx(expected)


def test_grades_are_gains() -> None:
    measured = measure_rankings({"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}, ["nDCG@10"])
    assert measured["nDCG@10"]["q"] == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))


def test_confusion_matrix_by_hand() -> None:
    flagged = [True] * 5 + [False] * 5
    issue = [True, True, True, False, False, True, False, False, False, False]
    found = {name: estimate.value for name, estimate in prediction(flagged, issue, seed=0).items()}
    rates = {"precision": 0.6, "recall": 0.75, "issue_rate": 0.4, "flagged_share": 0.5}
    assert found == pytest.approx({**rates, "f1": 2 * 0.6 * 0.75 / 1.35})


@pytest.mark.parametrize(
    ("score", "issue", "area"),
    [
        ([0.9, 0.8, 0.2], [True, True, False], 1.0),
        ([0.1, 0.8], [True, False], 0.0),
        ([0.5, 0.5, 0.5], [True, False, False], 0.5),
        ([0.8, 0.5, 0.8, 0.2], [True, True, False, False], 0.625),
    ],
)
def test_area_under_the_roc_curve_by_hand(score: list[float], issue: list[bool], area: float) -> None:
    assert roc_area(score, issue, seed=0).value == pytest.approx(area)


def test_what_is_undefined_is_not_a_number() -> None:
    nothing = prediction([False, False], [False, False], seed=0)
    assert all(isnan(nothing[name].value) for name in ("precision", "recall", "f1"))
    assert isnan(roc_area([0.5, 0.2], [True, True], seed=0).value)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(pairs: list[tuple[bool, bool]]) -> None:
    flagged, issue = zip(*pairs, strict=True)
    counts = prediction(flagged, issue, seed=0)
    if (True, True) in pairs:
        p, r = counts["precision"].value, counts["recall"].value
        assert counts["f1"].value == pytest.approx(2 * p * r / (p + r))

"""Comparisons by measure: means of every arm, and differences of the lines that are named."""

from __future__ import annotations

import pytest

from evaluation.compare import compare
from evaluation.rows import ScoreRow

pytestmark = pytest.mark.slow

SCORES = {"a": {"recall": (1.0, 0.0), "MRR": (0.5, 0.5)}, "b": {"recall": (0.0, 0.0), "MRR": (1.0, 0.5)}}


def test_named_lines_are_compared_in_every_measure() -> None:
    rows = [
        ScoreRow(f"q{place}", arm=arm, measure=measure, score=score)
        for arm, measures in SCORES.items()
        for measure, scores in measures.items()
        for place, score in enumerate(scores)
    ]
    found = compare(rows, by="measure", pairs=[("b", "a")], wilson=False)
    table = found.means("Two arms", head="arm", percent=False, intervals="", differences=True)
    assert table.columns == ("arm", "recall", "MRR")
    assert [[cell.split()[0] for cell in line[1:]] for line in table.rows] == [
        ["0.500", "0.500"],
        ["0.000", "0.750"],
        ["-0.500", "+0.250"],
    ]
    assert [line[0] for line in table.rows] == ["a", "b", "b − a"]

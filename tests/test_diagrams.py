"""Diagrams are drawn from the rows of a run, with matplotlib, or their user is told to install it."""

import json
import sys

import pytest

from docs.diagrams import draw, main, open_figure, risk_and_coverage
from evaluation.experiments.calibration import IOU, SHIPPED
from evaluation.experiments.reading import READER, SENTENCES
from evaluation.rows import ScoreRow
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow

RISKS = [
    {"experiment": "calibration", "sample": f"q{n}", "arm": rule, "details": {"issue": n % 4 == 0, "risk": risk}}
    for n in range(40)
    for rule, risk in ((IOU, 0.5), (SHIPPED, n / 40))
]
PAIRS = [
    ScoreRow(
        f"ramdocs {n}",
        arm=system,
        score=float(n % 2 and n > 3),
        details={"known": True, "gold": ["tennis"] * (n % 2), "confidence": n / 12},
    )
    for n in range(12)
    for system in (READER, SENTENCES)
]


def test_a_figure_has_the_size_asked_for():
    pytest.importorskip("matplotlib")
    assert open_figure((3.0, 2.0)).get_size_inches().tolist() == [3.0, 2.0]


def test_without_matplotlib_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match="pip install matplotlib"):
        open_figure()


def test_reliability_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    draw(RISKS, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_right_answers_against_calls_are_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    rules = (("never", 0.4, 1.0), ("always", 0.6, 5.0), ("router", 0.59, 1.8))
    rows = [ScoreRow("q", "steep", rule, right, details={"calls": calls}) for rule, right, calls in rules]
    draw([{"experiment": "router", **row.to_json()} for row in rows], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_risk_and_coverage_are_drawn_and_told(tmp_path, capsys):
    results, figure = tmp_path / "results.jsonl", tmp_path / "curve.png"
    lines = ({"experiment": "reading", **row.to_json()} for row in PAIRS)
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    main([str(results), "--figure", str(figure)])
    assert figure.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "12 pairs of question and passage, of which 6 hold the answer" in printed
    assert "| sentence reader | 12 |" in printed


def test_rows_of_other_sets_or_runs_draw_nothing(tmp_path):
    others = [ScoreRow("clapnq 1", arm=row.arm, score=row.score, details=row.details) for row in PAIRS]
    with pytest.raises(UsageError, match="Run `reading` on"):
        risk_and_coverage(others)
    with pytest.raises(UsageError, match="of no run that is drawn"):
        draw([{"experiment": "retrieval"}], tmp_path / "none.png")

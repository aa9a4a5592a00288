"""The experiment `calibration`, its training command and its diagram, over a small collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.experiments import run
from evaluation.experiments.calibration import (
    IOU,
    SHIPPED,
    expected_calibration_error,
    flagged_at,
    reliability,
)
from evaluation.metrics import roc_area_gain
from evaluation.runs import ExperimentRun
from preflight_rag.routing.calibration import CalibrationCase
from preflight_rag.routing.risk import WEIGHTS, RiskModel
from preflight_rag.routing.risk_features import FEATURES
from training.train_preflight import TRAINING, train

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(library_cache: Path) -> ExperimentRun:
    return ExperimentRun(part="all", library_cache=library_cache)


def test_every_question_is_judged_by_both_rules(beir_data: Path, settings: ExperimentRun) -> None:
    (report,) = run("calibration", beir_data, ["small"], settings)
    by_rule = {rule: [row.details for row in report.rows if row.arm == rule] for rule in (IOU, SHIPPED)}
    assert [told["issue"] for told in by_rule[IOU]] == [False] * 4
    assert all(told["risk"] == 1 - told["iou"] for told in by_rule[IOU])
    assert all(0 <= told["risk"] <= 1 for told in by_rule[SHIPPED])
    titles = {table.title for table in report.tables}
    assert titles == {
        "Issues predicted", "What there is to lose", "Reliability", "Model work", "Without the second stage"
    }  # fmt: skip
    shares = [row["questions"] for row in report.figures["events"].values()]
    assert sum(shares) == 4
    assert report.figures["rules"][SHIPPED]["recall"]["value"] is None


def test_reliability_weighs_bins_by_their_questions() -> None:
    risks, issue = [0.05, 0.05, 0.95, 1.0], [False, True, True, True]
    assert reliability(risks, issue) == [(2, 0.05, 0.5), (2, 0.975, 1.0)]
    assert expected_calibration_error(risks, issue) == pytest.approx((2 * 0.45 + 2 * 0.025) / 4)


def test_the_share_at_another_rules_recall_is_the_least_that_finds_as_many() -> None:
    risks, issue = [0.9, 0.8, 0.7, 0.6], [True, False, True, True]
    assert flagged_at(risks, issue, [True, True, True, False]) == 0.75
    assert flagged_at(risks, issue, [False, True, False, False]) == 0


def test_the_gain_in_area_is_that_of_the_same_questions() -> None:
    issue = [True, True, False, False] * 10
    gain = roc_area_gain([4, 3, 2, 1] * 10, [1, 4, 2, 3] * 10, issue, seed=0)
    assert gain.value == pytest.approx(0.5)
    assert gain.low > 0


def cases(count: int) -> list[CalibrationCase]:
    """Half of them issues, told apart by one feature."""
    return [
        CalibrationCase(
            {name: place / count if name == "uncovered" else 0.0 for name in FEATURES}, place % 3 == 0 or place > 30
        )
        for place in range(count)
    ]


def test_training_leaves_each_group_out_once() -> None:
    found = train({"bioasq": cases(60), "biomix-bioasq": cases(45), "scifact": cases(50), "cisi": cases(40)}, "e")
    assert found["trained_on"] == {"bioasq": 60, "biomix-bioasq": 45, "scifact": 50, "cisi": 40}
    assert set(found["without"]) == {"bioasq", "scifact", "cisi"}
    model = RiskModel.from_json(json.loads(json.dumps(found["model"])))
    assert model.grounds == "calibrated on three collections"
    assert set(model.terms) == {"uncovered"}
    assert found["without"]["bioasq"]["grounds"] == "calibrated on two collections"
    assert set(TRAINING.values()) >= set(found["without"])


def test_a_recalibration_keeps_the_weights_proportions_and_serves_every_group() -> None:
    start = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    found = train({"scifact": cases(60), "cisi": cases(40)}, "e", start)
    assert set(found["without"]) == set(start["without"])
    for model, before in ((found["model"], start["model"]), (found["without"]["medquad"], start["without"]["medquad"])):
        ratios = [model["features"][name]["weight"] / term["weight"] for name, term in before["features"].items()]
        assert max(ratios) - min(ratios) < 0.02 * max(ratios)
        assert model["event"] == "lost"
    assert found["weights_of"] == start["weights_of"]

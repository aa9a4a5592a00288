"""The judgement of the risk on whole documents: figures by hand, and no collection judged by its own questions."""

import numpy as np
import pytest

from evaluation.experiments.router import RoutingCase
from evaluation.samples import Sample
from preflight_rag.routing.risk import LOST, NOT_NEAREST, RiskModel, shipped_model
from preflight_rag.routing.risk_features import FEATURES
from training.calibrate_whole import calibration_error, judge, main, table, without


def case(number, place, *, dense=1, level=0.0):
    """A question whose answer stands at a place, with all features at a level."""
    return RoutingCase(Sample(str(number), "?"), 0.1, 0.5, place, dense, 16, values=dict.fromkeys(FEATURES, level))


def collection(share, level):
    """A hundred questions, of which a share has the answer at place 9."""
    return [case(n, 9 if n < share * 100 else 1, level=level + n % 7 / 100) for n in range(100)]


RARE, OFTEN = collection(0.1, 0.5), collection(0.6, 0.5)
CASES = {"rare": {"development": RARE, "test": RARE}, "often": {"development": OFTEN, "test": OFTEN}}


@pytest.mark.parametrize(("left", "share"), [("rare", 0.6), ("often", 0.1)])
def test_a_collection_is_calibrated_on_the_others_alone(left, share):
    model = without(CASES, left, LOST)
    others = next(CASES[name]["development"] for name in CASES if name != left)
    assert np.mean([model.risk(one.values) for one in others]) == pytest.approx(share, abs=0.01)


def test_proportions_of_the_weights_stay():
    shipped, fitted = shipped_model().terms, without(CASES, "rare", LOST).terms
    ratios = [fitted[name].weight / shipped[name].weight for name in shipped if shipped[name].weight > 0.05]
    assert max(ratios) == pytest.approx(min(ratios), rel=0.05)


def test_figures_are_those_counted_by_hand():
    """Risks of one half for four questions, one of them lost: Brier (.25 * 4) / 4, and .25 away from the share."""
    even = RiskModel("test", "e", 0.0, {}, 0.5)
    found = judge(even, [case(1, 9), case(2, 1), case(3, 2), case(4, 3)], LOST)
    assert (found.mean, found.share, found.brier, found.error) == (0.5, 0.25, 0.25, 0.25)


def test_calibration_error_is_taken_bin_by_bin():
    assert calibration_error(np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(0.2)
    assert calibration_error(np.array([0.45, 0.45]), np.array([1.0, 0.0])) == pytest.approx(0.05)


def test_the_routers_event_is_asked_of_what_was_retrieved_and_the_papers_of_all():
    missing = [case(n, None, dense=None) for n in range(100, 150)]
    cases = {name: {part: [*rows, *missing] for part, rows in parts.items()} for name, parts in CASES.items()}
    lines = [line.split(" | ") for line in table(cases)[1:]]
    counts = {(line[0], int(line[2])) for line in lines}
    assert counts == {("rare", 100), ("rare", 150), ("often", 100), ("often", 150)}
    nearest = without(cases, "rare", NOT_NEAREST)
    assert nearest.event == NOT_NEAREST


def test_one_collection_alone_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path), "--library-cache", str(tmp_path), "--dataset", "covidqa"])
    assert "name two at least" in capsys.readouterr().err

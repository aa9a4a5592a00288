"""The model of the risk: features, weights, calibration, threshold."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.routing.logistic import fit_line, fit_weights, sigmoid
from preflight_rag.routing.risk import (
    WEIGHTS,
    RiskModel,
    RiskTerm,
    choose_threshold,
    evenly,
    fit,
    fold,
    recalibrate,
    shipped,
    shipped_model,
)
from preflight_rag.routing.risk_features import FEATURES, UNRANKED, has_places, risk_features
from preflight_rag.state.reading import Source

GOLD = "Aspirin inhibits cyclooxygenase and thereby the making of prostaglandins."
OTHER = "Green tea is brewed at eighty degrees for three minutes."
QUESTION = "What does aspirin inhibit?"


def passages(rows):
    """`(text, title, cosine, dense rank, BM25 rank, BM25)` each."""
    refs = [
        {"rank": n, "cosine": cosine, "dense_rank": dense, "lexical_rank": lexical, "bm25": bm25, "document_id": str(n)}
        for n, (_, _, cosine, dense, lexical, bm25) in enumerate(rows, 1)
    ]
    return refs, [Source(n, str(n), row[1], row[0]) for n, row in enumerate(rows, 1)]


AGREED = [
    (GOLD, "Aspirin", 0.8, 1, 1, 9.0),
    *((OTHER, "Tea", 0.3 - n / 100, n + 1, None, None) for n in range(1, 12)),
]
SPLIT = [
    *((OTHER, "Tea", 0.5 - n / 100, n, None, None) for n in range(1, 12)),
    (GOLD, "Aspirin", 0.1, 90, 1, 9.0),
]


def test_features_are_larger_where_the_passage_with_the_words_is_far_down():
    agreed, split = (risk_features(QUESTION, *passages(rows)) for rows in (AGREED, SPLIT))
    assert list(agreed) == list(FEATURES)
    assert all(split[name] > agreed[name] for name in FEATURES)
    assert agreed["first_places"] == pytest.approx(math.log(2), abs=1e-6)
    assert split["first_places"] == pytest.approx(math.log(UNRANKED + 90), abs=1e-6)
    assert (agreed["bm25_missed"], split["bm25_missed"]) == (0, 1)


def test_features_of_one_passage_and_of_a_question_without_words():
    for question, rows in ((QUESTION, AGREED[:1]), ("?!", SPLIT), (QUESTION, [(OTHER, "", 0.1, 1, None, None)])):
        values = risk_features(question, *passages(rows))
        assert all(math.isfinite(value) for value in values.values())


def test_passages_of_no_ranking_have_no_places():
    refs, _ = passages([(GOLD, "", 0.5, None, None, None)])
    assert not has_places(refs)
    assert has_places(passages(AGREED)[0])


def test_the_shipped_model_is_for_its_embedder_and_tells_the_two_apart(embedder):
    model = shipped(embedder.revision)
    assert model is not None
    assert shipped("another") is None
    agreed, split = (risk_features(QUESTION, *passages(rows)) for rows in (AGREED, SPLIT))
    assert model.risk(agreed) < model.threshold < model.risk(split)
    assert set(model.strongest_signals(split, risky=True)) <= set(FEATURES)


def test_every_fold_leaves_something_out_and_no_weight_is_negative():
    groups = json.loads(WEIGHTS.read_text())["without"]
    assert len(groups) >= 5
    for group in groups:
        model = fold(group)
        assert all(term.weight >= 0 for term in model.terms.values())
        assert model.terms != shipped_model().terms
    assert fold("unheard of") is None


def test_a_model_survives_json():
    model = shipped_model()
    assert RiskModel.from_json(json.loads(json.dumps(model.to_json()))) == model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bias": float("nan")}, "out of range"),
        ({"features": {"luck": {"weight": 1, "mean": 0, "scale": 1}}}, "luck"),
        ({"features": {"uncovered": {"weight": 1, "mean": 0, "scale": 0}}}, "out of range"),
        ({"features": None}, "no "),
        ({"threshold": None}, "no "),
    ],
)
def test_what_is_no_model_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        RiskModel.from_json({**shipped_model().to_json(), **change})


def questions(count, *, shift=0.0, seed=0):
    """Features with a known risk: only `uncovered` and `first_places` matter."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, len(FEATURES)))
    place = {name: i for i, name in enumerate(FEATURES)}
    scores = 1.5 * x[:, place["uncovered"]] + x[:, place["first_places"]] - 1 + shift
    issues = rng.random(count) < sigmoid(scores)
    return [dict(zip(FEATURES, row, strict=True)) for row in x.tolist()], issues.tolist()


def test_fit_finds_the_weights_and_calibrated_risks():
    values, issues = questions(4000)
    model = fit(values, issues, ["a"] * 4000, grounds="test", embedder="e")
    assert model.terms["uncovered"].weight == pytest.approx(1.5, abs=0.15)
    assert model.terms["first_places"].weight == pytest.approx(1.0, abs=0.15)
    assert np.mean([model.risk(row) for row in values]) == pytest.approx(np.mean(issues), abs=0.01)
    found = sum(flag and issue for flag, issue in zip(model.flags(values), issues, strict=True))
    assert found / sum(issues) >= 0.926


def test_recalibration_moves_the_offset_and_keeps_the_weights_proportions():
    values, issues = questions(2000, shift=1.5, seed=1)
    start = fit(*questions(2000), ["a"] * 2000, grounds="test", embedder="e")
    model = recalibrate(start, values, issues, evenly(["a"] * 2000))
    before, after = ([m.risk(row) for row in values] for m in (start, model))
    slopes = [model.terms[name].weight / term.weight for name, term in start.terms.items() if term.weight > 0.1]
    assert max(slopes) - min(slopes) < 0.01
    assert abs(np.mean(after) - np.mean(issues)) < 0.01 < abs(np.mean(before) - np.mean(issues))


def test_a_feature_that_speaks_the_wrong_way_is_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = (rng.random(500) < sigmoid(2 * x[:, 0] - 2 * x[:, 1])).astype(float)
    weights = fit_weights(x, y, ["a"] * 250 + ["b"] * 250, penalty=1.0, balance=0.5)
    assert weights[0] > 0.5
    assert weights[1] == 0


def test_separable_data_give_a_finite_line():
    offset, slope = fit_line(np.array([-5.0, -4.0, 4.0, 5.0]), np.array([0.0, 0, 1, 1]), np.ones(4), prior=1.0)
    assert math.isfinite(offset)
    assert 0 < slope < 10


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=20), st.floats(0.05, 1))
def test_the_threshold_is_the_largest_that_finds_enough(pairs, recall):
    risks, issues = [risk for risk, _ in pairs], [issue for _, issue in pairs]
    threshold = choose_threshold(risks, issues, [1.0] * len(pairs), recall)

    def found(at):
        return sum(risk >= at for risk, issue in pairs if issue)

    assert found(threshold) >= recall * sum(issues) - 1e-9
    assert found(threshold + 0.0011) < recall * sum(issues) or threshold > 0.9989 or not any(issues)


def test_the_score_is_a_sum_of_terms():
    model = RiskModel("test", "e", -1.0, {"uncovered": RiskTerm(2.0, 0.5, 0.25)}, 0.5)
    assert model.score({"uncovered": 0.75}) == pytest.approx(1.0)
    assert model.risk({"uncovered": 0.5}) == pytest.approx(0.2689)
    assert model.strongest_signals({"uncovered": 0.75}, risky=False) == []

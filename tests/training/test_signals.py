"""The gate's weights: where its threshold lies."""

from __future__ import annotations

import math

import pytest

from preflight_rag.corg.signals import ANSWERS, Model
from preflight_rag.state.context import Settings
from training.signals import differing_answers_suffice, put_at


def score(model, **signals):
    total = model.bias + sum(model.weights[name] * value for name, value in signals.items())
    return 1 / (1 + math.exp(-total))


@pytest.mark.parametrize(("bias", "raised"), [(-4.5, True), (-3.0, False)])
def test_answers_that_differ_wholly_reach_the_threshold_and_no_bias_is_lowered(model_of, bias, raised):
    wanted = Settings().corg_threshold
    model = model_of(bias, {ANSWERS: 4.0, "names": 1.0})
    moved = differing_answers_suffice(model, wanted)
    assert score(moved, **{ANSWERS: 1.0}) >= wanted
    assert (moved.bias > bias) is raised
    assert not raised or score(moved, **{ANSWERS: 0.99}) < wanted


def test_what_scored_the_threshold_scores_what_is_wanted(model_of):
    model = model_of(-1.0, {ANSWERS: 2.0})
    moved = put_at(model, score(model, **{ANSWERS: 0.3}), 0.53)
    assert score(moved, **{ANSWERS: 0.3}) == pytest.approx(0.53, abs=0.001)


@pytest.fixture
def model_of():
    return lambda bias, weights: Model(bias=bias, weights=weights)

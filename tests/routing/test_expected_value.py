"""Whether reading in parts is worth its calls, by hand for small profiles, and its limits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.routing.expected_value import (
    COMPARE_CALLS,
    COMPARE_GAIN,
    USUAL_WORTH,
    calls_per_right_answer,
    compare_value,
    parts_value,
)
from preflight_rag.routing.model_profile import UNMEASURED, ModelProfile

SHARES = st.floats(0.0, 1.0)


def profile(top, low, parts, noticed=0.0):
    """Of a model that answers `top` of the questions at the first three of 16 places, and `low` below them."""
    plain = {0.0: top, 2 / 15: top, 2 / 15 + 1e-9: low, 1.0: low}
    return ModelProfile("m", "test", plain, parts, noticed)


def test_gain_and_calls_are_those_counted_by_hand():
    """Risk .25: plain answers .75 * .8 + .25 * .4 = .7, parts .8; nothing is noticed, so four parts cost four calls."""
    value = parts_value(profile(0.8, 0.4, 0.8), 0.25, passages=16, partitions=4, thoroughness=0.5)
    assert value.gain == pytest.approx(0.1)
    assert value.calls == pytest.approx(4)
    assert value.lost == pytest.approx(0.4)


def test_what_the_look_at_the_answer_regains_is_no_gain_of_parts():
    """Half of the lost .1 is noticed: .05 is read again in parts, of which .8 / .8 come back."""
    value = parts_value(profile(0.8, 0.4, 0.8, 0.5), 0.25, passages=16, partitions=4, thoroughness=0.5)
    assert value.gain == pytest.approx(0.05)
    assert value.calls == pytest.approx(4 * 0.95)


def test_limit_is_the_risk_at_which_a_right_answer_costs_what_it_is_worth():
    """Gain is .4 times the risk and costs four calls, so it pays from 4 / (.4 * worth) on."""
    found = parts_value(profile(0.8, 0.4, 0.8), 0.1, passages=16, partitions=4, thoroughness=0.5)
    assert found.limit == pytest.approx(4 / (0.4 * USUAL_WORTH))


def test_model_that_loses_nothing_is_never_worth_parts():
    assert parts_value(profile(0.9, 0.9, 0.9), 0.9, passages=16, partitions=4, thoroughness=0.9).limit == 1.0


def test_of_three_passages_none_can_stand_low():
    assert parts_value(profile(0.8, 0.0, 0.8), 0.9, passages=3, partitions=1, thoroughness=0.5).lost == 0


@pytest.mark.parametrize(("thoroughness", "limit"), [(0.0, 1.0), (1.0, 0.0)])
def test_thoroughness_goes_from_never_to_always(thoroughness, limit):
    assert parts_value(UNMEASURED, 0.5, passages=16, partitions=4, thoroughness=thoroughness).limit == limit


def test_calls_that_a_right_answer_is_worth():
    assert [calls_per_right_answer(t) for t in (0, 0.5, 1)] == [0, USUAL_WORTH, math.inf]


@given(SHARES, SHARES, SHARES, SHARES, st.floats(0.01, 0.99), SHARES)
def test_risks_from_the_limit_on_are_worth_their_calls_and_no_others(top, low, parts, noticed, thoroughness, risk):
    value = parts_value(profile(top, low, parts, noticed), risk, passages=16, partitions=4, thoroughness=thoroughness)
    surplus = value.gain * calls_per_right_answer(thoroughness) - value.calls
    if abs(risk - value.limit) > 1e-6 and low <= top:
        assert (risk >= value.limit) == (surplus >= -1e-9) or abs(surplus) < 1e-6


@given(st.floats(0.05, 0.95), st.floats(0.01, 0.99))
def test_comparing_pays_from_its_limit_on_and_is_where_it_was_calibrated_at_the_usual_worth(usual, thoroughness):
    limit = compare_value(0.5, usual_limit=usual, thoroughness=thoroughness).limit
    if 0 < limit < 1:
        at_limit = compare_value(limit, usual_limit=usual, thoroughness=thoroughness)
        assert at_limit.gain * calls_per_right_answer(thoroughness) == pytest.approx(COMPARE_CALLS, abs=1e-6)
    assert compare_value(0.5, usual_limit=usual, thoroughness=0.5).limit == pytest.approx(usual)
    assert (limit > usual) == (thoroughness < 0.5) or limit == pytest.approx(usual, abs=1e-6)


def test_gain_of_comparing_is_counted_by_hand():
    """At a limit of a half, gain and loss weigh the same but for the calls: .194 - L = 2.18 / 60, so L = .1577."""
    value = compare_value(1.0, usual_limit=0.5, thoroughness=0.5)
    assert value.gain == COMPARE_GAIN == 0.194
    assert compare_value(0.0, usual_limit=0.5, thoroughness=0.5).gain == pytest.approx(-0.1577, abs=1e-4)


@pytest.mark.parametrize(
    ("usual", "thoroughness", "limit"), [(0.53, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.1, 0.0), (1.0, 1.0, 1.0)]
)
def test_comparing_is_never_or_always_where_that_is_asked_for(usual, thoroughness, limit):
    assert compare_value(0.5, usual_limit=usual, thoroughness=thoroughness).limit == limit

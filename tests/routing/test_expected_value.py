"""Whether reading in parts is worth its calls, by hand for small profiles, and its limits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.routing.expected_value import (
    COMPARE_CALLS,
    COMPARE_GAIN,
    COMPARE_WORTH,
    LOOKS,
    REACHES,
    USUAL_WORTH,
    calls_per_right_answer,
    choose_look,
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
    """Risk .25: plain answers .75 * .8 + .25 * .4 = .7, parts .8; of what is lost the look regains a share, and two
    calls go on each wrong and each right answer that it has read again."""
    look = LOOKS[-1]
    value = parts_value(profile(0.8, 0.4, 0.8), 0.25, passages=16, partitions=4, thoroughness=0.5)
    assert value.gain == pytest.approx(0.1 - 0.1 * look.notices * REACHES)
    assert value.calls == pytest.approx(4 - 2 * (0.3 * look.notices + 0.7 * look.alarms))
    assert value.lost == pytest.approx(0.4)


def test_lost_answers_that_show_it_themselves_are_read_again_in_all_parts():
    """Half of the wrong .3 goes on to four parts and a call to reduce, the other half to the look."""
    look = LOOKS[-1]
    value = parts_value(profile(0.8, 0.4, 0.8, 0.5), 0.25, passages=16, partitions=4, thoroughness=0.5)
    assert value.gain == pytest.approx(0.1 - 0.05 - 0.05 * look.notices * REACHES)
    assert value.calls == pytest.approx(4 - 0.15 * 5 - 2 * (0.15 * look.notices + 0.7 * look.alarms))


def test_right_answers_that_are_read_again_may_be_lost():
    """Parts answer half of what plain reading does, so half of the right answers that are read again are given up."""
    value = parts_value(profile(0.8, 0.8, 0.4), 0.25, passages=16, partitions=4, thoroughness=0.5)
    assert value.gain == pytest.approx(0.4 - 0.8 + LOOKS[0].alarms * 0.8 * 0.5)


def test_without_a_reader_that_looks_four_parts_cost_four_calls():
    asked = {"passages": 16, "partitions": 4, "thoroughness": 0.5, "looks": False}
    value = parts_value(profile(0.8, 0.4, 0.8), 0.25, **asked)
    assert (value.gain, value.calls) == (pytest.approx(0.1), 4)
    assert value.limit == pytest.approx(4 / (0.4 * USUAL_WORTH))


def test_limit_is_the_risk_at_which_a_right_answer_costs_what_it_is_worth():
    look = LOOKS[-1]
    left = 0.4 * (1 - look.notices * REACHES)  # gained for each unit of risk
    looking = 2 * (0.2 * look.notices + 0.8 * look.alarms), 0.8 * (look.notices - look.alarms)  # without it, for each
    found = parts_value(profile(0.8, 0.4, 0.8), 0.1, passages=16, partitions=4, thoroughness=0.5)
    assert found.limit == pytest.approx((4 - looking[0]) / (left * USUAL_WORTH + looking[1]))


@pytest.mark.parametrize(
    ("model", "thoroughness", "sure"),
    [
        (profile(0.9, 0.9, 0.9), 0.5, 0.9),  # there is nothing to regain
        (profile(0.8, 0.4, 0.8), 0.5, 0.2),
        (profile(0.8, 0.4, 0.8), 0.0, 0.9),
        (profile(0.9, 0.9, 0.9), 1.0, 0.2),
        (UNMEASURED, 0.5, 0.8),
    ],
)
def test_a_model_that_loses_more_is_looked_at_more_closely(model, thoroughness, sure):
    assert choose_look(model, 16, 4, thoroughness).sure == sure


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
        assert at_limit.gain * calls_per_right_answer(thoroughness) == pytest.approx(
            COMPARE_CALLS * USUAL_WORTH / COMPARE_WORTH, abs=1e-6
        )
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

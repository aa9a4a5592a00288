"""Years that a follow-up counts from the question before it."""

import pytest

from preflight_rag.conversation.follow_ups import standalone
from preflight_rag.conversation.relative_years import with_years

REVENUE = "What was Adobe's total revenue in 2022?"


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        ([REVENUE, "and in 2021?", "and the year before that?"], "What was Adobe's total revenue in 2020?"),
        ([REVENUE, "And the previous year?"], "What was Adobe's total revenue in 2021?"),
        ([REVENUE, "What about two years later?"], "What was Adobe's total revenue in 2024?"),
        ([REVENUE, "and in the year after?"], "What was Adobe's total revenue in 2023?"),
        ([REVENUE, "How much was it a year earlier?"], "How much was Adobe's total revenue in 2021?"),
        ([REVENUE, "And the following fiscal year?"], "What was Adobe's total revenue in 2023?"),
    ],
)
def test_a_counted_year_is_written_out(turns, asked):
    assert standalone(turns[-1], turns[:-1]) == asked


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(["Who leads Adobe?", "and the year before?"], id="no year to count from"),
        pytest.param([REVENUE, "What happened the year after the merger?"], id="counted from something else"),
        pytest.param(["Are 2000 euros enough?", "And the year before?"], id="an amount is no year"),
        pytest.param([REVENUE, "What was it in 2019, three years before?"], id="a year of its own"),
    ],
)
def test_other_turns_stay_as_they_are(turns):
    assert with_years(turns) == turns

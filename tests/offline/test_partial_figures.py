"""Figures that are an extra or a difference."""

from __future__ import annotations

import pytest

from preflight_rag.models.reading.extractive_reader import Span
from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.offline.partial_figures import is_partial_figure
from preflight_rag.state.reading import Source

EXTRA = "If the round is timed, an extra 10 points is added for every second left."
DIFFERENCE = "The new mode is 1 dB more sensitive than the old one, and 30 Hz wide."


@pytest.mark.parametrize(
    ("question", "quote", "answer", "is_partial"),
    [
        ("How many points does a round bring?", EXTRA, "10 points", True),
        ("How many points does a round bring?", EXTRA, "an extra 10 points", False),
        ("How many points does a round bring?", EXTRA, "extra 10 points", True),
        ("How many extra points does each second bring?", EXTRA, "10 points", False),
        ("How sensitive is the new mode?", DIFFERENCE, "1 dB", True),
        ("How much more sensitive than the old one is the new mode?", DIFFERENCE, "1 dB", False),
        ("How wide is the new mode?", DIFFERENCE, "30 Hz", False),
        ("How old is the mill?", "The mill is 200 years older than the barn.", "200 years", True),
        ("How much does the guest room cost?", "The guest room is 21 euros per night.", "21 euros", False),
        ("How many members are there?", "The club has 84 members, more than in any other year.", "84", False),
        ("How many people work there?", "120 people work there rather than at home.", "120", False),
        ("How many litres are allowed a week?", "The weekly limit is 5 litres rather than 6.", "5 litres", False),
        ("When was the mill built?", "The mill was built in 1920, earlier than the church.", "1920", False),
        ("How many people died in the flood?", "A further 300 people died in the flood.", "300", False),
        ("Who may swim?", "Guests who are 18 or older than that may swim.", "18", False),
        ("Who built the mill?", "Another builder, Ada Lund, built the mill.", "Ada Lund", False),
    ],
)
def test_an_extra_or_a_difference_is_partial(question: str, quote: str, answer: str, is_partial: bool) -> None:
    span = Span(quote.index(answer), quote.index(answer) + len(answer), answer, 5.0)
    assert is_partial_figure(question, PassageAnswer(Source(1, "p1", "", quote), span, 0.9)) is is_partial

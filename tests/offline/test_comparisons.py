"""Which of two things has more: claimed where the same is read of both, else what is said of each."""

from __future__ import annotations

import pytest

from preflight_rag.offline.comparisons import answer_comparison
from preflight_rag.state.reading import Source
from preflight_rag.text.question_forms import comparison_of
from preflight_rag.text.sentence_fit import SentenceFit

SOLD = {"north": (410, 12, "rent"), "south": (275, 19, "repairs"), "east": (333, 7, "heating")}
REPORTS = [
    Source(
        n,
        f"p{n}",
        f"Report of the {name} branch",
        f"The {name} branch sold {sold} bicycles in 2023. It employs {staff} people. Its largest cost was {cost}.",
    )
    for n, (name, (sold, staff, cost)) in enumerate(SOLD.items(), 1)
]


def draft(question):
    return answer_comparison(question, SentenceFit(question, REPORTS), "Lead:")


@pytest.mark.parametrize(
    ("question", "short", "cited"),
    [
        ("Which branch sold more bicycles in 2023, north or south?", "north", [1, 2]),
        ("Which branch sold fewer bicycles in 2023, the east branch or the south branch?", "south branch", [3, 2]),
        ("Which branch employs more people, north or south?", "south", [1, 2]),
    ],
)
def test_the_one_with_more_is_claimed_above_what_is_said_of_both(question, short, cited):
    found = draft(question)
    assert (found.short, found.claims) == (short, True)
    assert [n for n, _ in found.quotes] == cited


@pytest.mark.parametrize(
    "question",
    [
        "Which branch had the larger cost, north or south?",
        "Which branch sold more bicycles on Sundays, north or east?",
    ],
)
def test_without_a_figure_of_both_for_what_was_asked_both_are_shown_and_none_is_claimed(question):
    found = draft(question)
    assert (found.short, found.claims) == ("", False)
    assert found.text.startswith("Lead:")
    assert len(found.quotes) == 2


@pytest.mark.parametrize(
    "question",
    [
        "Which branch sold more bicycles in 2023, north or west?",
        "How many bicycles did the north branch sell?",
        "Which branch sold more bicycles?",
        "Is it north or south?",
    ],
)
def test_nothing_is_compared_of_which_one_side_is_not_there(question):
    assert draft(question) is None


def test_a_comparison_is_told_from_other_questions():
    asked = comparison_of("Which river is longer, the Elbe or the Oder?")
    assert asked.things == ("Elbe", "Oder")
    assert asked.more
    assert comparison_of("Which of the two is larger?") is None
    assert comparison_of("Which city, Rome or Paris, is larger?") is None

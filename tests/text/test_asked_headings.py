"""What stands below a question that a document itself asks."""

from __future__ import annotations

import pytest

from preflight_rag.state.reading import Source
from preflight_rag.text.asked_headings import is_question, quotes_below
from preflight_rag.text.quotes import plain

FAQ = (
    "8. Systems\n\n8.1. Does chrony support Windows?\n\nNo. The client has been run under Cygwin in the past. It needs "
    "adapting.\n\n8.2. Are there plans to support Windows?\n\nWe have no plans to do this.\n\n"
    "**Who keeps the keys?**\n\nThe warden keeps them in the office safe, and nobody else has any.\n"
)


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Does chrony work on Windows?", "No. The client has been run under Cygwin in the past. It needs adapting."),
        ("Who keeps the keys?", "The warden keeps them in the office safe, and nobody else has any."),
        ("Are there any plans to support Windows?", "We have no plans to do this."),
        ("Does chrony work on macOS?", None),
        ("When did chrony support Windows?", None),  # asks something else of the same
        ("Who cleans the windows?", None),
        ("Are there any plans to drop Windows?", None),
        ("Who keeps the dog's keys?", None),
    ],
)
def test_the_first_paragraph_below_nearly_the_same_question(question, quote):
    found = quotes_below(question, [Source(7, "a", "FAQ", FAQ)])
    assert found == ([(7, quote)] if quote else [])


BARN = "Is it allowed to bring dogs into the barn?\n\nNo."
GARDEN = "Is it allowed to bring dogs into the garden?\n\nYes, on a lead."


@pytest.mark.parametrize("question", ["Is it allowed to bring dogs?", "Is it allowed to bring dogs into the barn?"])
def test_of_equally_narrow_questions_each_is_shown_with_its_answer(question):
    found = quotes_below(question, [Source(1, "a", "Farm", f"{BARN}\n\n{GARDEN}")])
    assert found == ([(1, "No.")] if "barn" in question else [(1, BARN), (1, GARDEN)])


def test_an_underlined_narrower_question_is_shown_without_the_line():
    text = "Is it allowed to bring dogs into the barn?\n------\n\nNo dogs."
    ((_, quote),) = quotes_below("Is it allowed to bring dogs?", [Source(1, "a", "Farm", text)])
    assert plain(quote) == "Is it allowed to bring dogs into the barn? No dogs."


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How do I create the new database?", "How do I convert a backup to a new database?"),
        ("How do I create a new database from a backup?", "How do I convert a new database?"),
        ("How do I start the server at boot?", "How do I stop the server from starting at boot?"),
        ("How do I stop the server at boot?", "How do I start the server at boot?"),
        ("How do I disable the boot menu?", "How do I enable the boot menu?"),
        ("How do I add a user to the group?", "How do I remove a user from the group?"),
        ("How do I turn off the boiler pump?", "How do I turn on the boiler pump?"),
        ("Is it forbidden to bring dogs?", "Is it allowed to bring dogs?"),
        ("Can I bake bread without an oven?", "Can I bake bread with an oven?"),
        ("Why does the boiler pump start?", "Why does the boiler pump not start?"),
        ("Why does the boiler pump not start?", "Why does the boiler pump start?"),
    ],
)
def test_the_opposite_and_another_thing_are_other_questions(question, asked):
    source = Source(1, "a", "Manual", f"{asked}\n\nBy the red lever.")
    assert quotes_below(question, [source]) == []
    assert quotes_below(asked, [source]) == [(1, "By the red lever.")]


def test_below_a_question_stands_no_further_question():
    contents = "1. Does chrony support Windows?\n2. Does chrony support macOS?\n"
    assert quotes_below("Does chrony support Windows?", [Source(1, "a", "Contents", contents)]) == []


DOG, HENS = "Can I keep a dog in the flat?", "Can I keep hens?"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (f"Q: {DOG}\nA: No. Cats are allowed.\n\nQ: {HENS}\nA: Yes.", "No. Cats are allowed."),
        (f"Q1. {DOG}\nNo, and no cats.\nQ2. {HENS}\nYes.", "No, and no cats."),
        (f"- {DOG} Only a small one. Ask first.\n- {HENS} No.", "Only a small one. Ask first."),
        (f"{DOG}\n----------\n\nNo dogs.\n\nThey bark at night.", "No dogs.\n\nThey bark at night."),
        (f"[B.7] {DOG} And what of hens?\nBoth are allowed.", "Both are allowed."),
        (f"## {DOG}\n\nYes.\n\n## {HENS}\n\nNo.", "Yes."),
        (f"1.1 {DOG}\n1.2 My hens lay badly!\n1.3 {HENS}", None),
        ("Can I keep a dog in the flat, asked Bo? Nobody answered.", None),  # prose
    ],
)
def test_lists_of_questions_are_written_in_many_ways(text, quote):
    found = quotes_below("Can I keep a dog in my flat?", [Source(2, "a", "House rules", text)])
    assert found == ([(2, quote)] if quote else [])


def test_of_an_answer_the_first_paragraph_is_shown_to_the_end_of_a_sentence():
    said = "The mill grinds oats on every second Monday of the month. " * 12
    ((_, quote),) = quotes_below(
        "When does the mill grind oats?", [Source(1, "a", "M", f"When does the mill grind oats?\n\n{said}")]
    )
    assert said.startswith(quote)
    assert quote.endswith("month.")
    assert 300 < len(quote) <= 450


def test_a_narrower_question_is_shown_with_its_answer():
    text = "3.4 Can I moor a boat at the pier in the winter months?\n\nNo. The pier is closed."
    found = quotes_below("Can I moor a boat?", [Source(1, "a", "Harbour", text)])
    assert found == [(1, text)]


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("How do I turn wine into vinegar?", True),  # "can I" and "how do I", in another verb
        ("How do I turn wine into vinegar at Skerrow Farm?", True),  # the title names it
        ("How do I turn wine into cider?", False),
        ("Why does wine turn into vinegar?", False),
        ("Is wine made from vinegar?", False),
    ],
)
def test_whether_and_how_are_answered_together(question, is_found):
    text = "Can I make vinegar from wine?\n\nYes, with patience."
    found = quotes_below(question, [Source(1, "a", "Skerrow Farm", text)])
    assert bool(found) == is_found


@pytest.mark.parametrize(
    ("quote", "asks"),
    [
        ("Q: Some files have awful clicks.", True),
        ("Question 3: The roof leaks.", True),
        ("Does the mill grind oats?", True),
        ("Q1 was a good quarter.", False),
        ("Questions are answered at the desk.", False),
        ("Q: Does it leak?\nA: It does.", False),
    ],
)
def test_a_question_is_told_by_its_mark_or_its_end(quote, asks):
    assert is_question(quote) is asks

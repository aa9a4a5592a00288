"""What stands below a question that a document itself asks."""

from __future__ import annotations

import pytest

from preflight_rag.state.reading import Source
from preflight_rag.text.asked_headings import quotes_below

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

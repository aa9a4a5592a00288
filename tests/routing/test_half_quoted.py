"""Quotes shown although nothing that was found is near the question."""

from __future__ import annotations

import pytest

from preflight_rag.routing.off_topic import is_half_quoted, names_much
from preflight_rag.state.reading import Source


@pytest.mark.parametrize(
    ("question", "quote", "title", "heading", "is_half"),
    [
        ("What is a type of disobedience against the federal government?", "Federal Public Service.", "", "", False),
        ("Who invented the first home video recorder?", "Video tracking in the home cage.", "", "", False),
        ("Where is the oilskin coat kept?", "Oilskin coat: store B4.", "", "", True),
        # The document or its section is about what is asked, in other words.
        ("How often are vital signs noted on the ferry?", "A nurse writes the pulse.", "Ferry protocol", "", True),
        ("How often are vital signs noted on the ferry?", "A nurse writes the pulse.", "Minutes", "Ferry", True),
        ("How often are vital signs noted on the ferry?", "A nurse writes the pulse.", "Minutes", "", False),
        # One word of five in the title is too little.
        ("How often are vital signs of the crew noted on the ferry?", "A nurse writes.", "Ferry protocol", "", False),
        # The title and the quote have half together, and neither does by itself.
        ("Which crew checks the red life jackets?", "Both crews check them.", "Jackets", "", True),
        # A name in the quote says whom it is about.
        ("Which dosage error happened to Monty in June?", "Monty was put under for too long.", "", "", True),
        # "How much" and "cost" name nothing; of the rest the quote has one word in two.
        ("How much does a kayak for juniors cost?", "Kayak: £8.", "", "", True),
    ],
)
def test_a_quote_has_half_of_what_a_question_names_or_its_title_a_quarter(question, quote, title, heading, is_half):
    source = Source(1, "p1", title, quote, heading=heading)
    assert is_half_quoted(question, [(1, quote)], [source]) is is_half


def test_one_quote_of_several_suffices():
    sources = [Source(1, "p1", "", "Federal Public Service."), Source(2, "p2", "", "The federal court was moved.")]
    quotes = [(source.n, source.text) for source in sources]
    assert is_half_quoted("When was the federal court moved?", quotes, sources)


@pytest.mark.parametrize(
    ("question", "is_much"),
    [
        ("Who invented the first home video recorder?", True),
        # Of few words one may be all that a question in other words shares with the sentence that answers.
        ("When is the garbage collected?", False),
        ("How much does the ferry cost?", False),
    ],
)
def test_a_question_names_much(question, is_much):
    assert names_much(question) is is_much

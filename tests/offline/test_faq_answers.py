"""Answers from lists of questions and answers: what stands below a question, never the question itself."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight

DOCUMENTS = {
    "faq.md": (
        "# Questions and answers\n\n8.1. Does chrony support Windows?\n\nNo. The client has been run under Cygwin in "
        "the past. It needs adapting.\n\n8.2. Are there plans to support Windows?\n\nWe have no plans to do this.\n"
    ),
    "farm.md": (
        "# Farm questions\n\nIs it allowed to bring dogs into the barn?\n\nNo.\n\n"
        "Is it allowed to bring dogs into the garden?\n\nYes, on a lead.\n"
    ),
    "rules.md": "# Rules\n\nOn Windows machines chrony work is forbidden before nine.\n",
    "allotment.txt": (
        "Allotment questions\n\n(from https://plots.example/wiki/questions)\n\n"
        "Q: Can I put up a greenhouse or glass shed, as the old club allowed?\n\n"
        "A: No. Nobody has agreed on where they would stand.\n\n"
        "Q: Who empties the compost bins?\n\nA: Bo Lund does, on the first of each month.\n"
    ),
}


def test_what_stands_below_the_same_question_is_shown_first(app: Preflight) -> None:
    found = app.ask("Does chrony work on Windows?")
    assert found.citations[0].quote == "No. The client has been run under Cygwin in the past. It needs adapting."


@pytest.mark.parametrize("question", ["Can I put up a greenhouse?", "Can I build a glass shed?"])
def test_no_question_and_no_bare_reference_is_quoted(app: Preflight, question: str) -> None:
    found = app.ask(question)
    quotes = [each.quote for each in found.citations]
    assert "Nobody has agreed on where they would stand." in quotes[0]
    assert not any(quote.endswith("?") or "https" in quote for quote in quotes)


def test_a_narrower_no_is_shown_with_its_question_beside_the_other_one(app: Preflight) -> None:
    shown = app.ask("Is it allowed to bring dogs?").answer
    assert "“Is it allowed to bring dogs into the barn? No.”" in shown
    assert "“Is it allowed to bring dogs into the garden? Yes, on a lead.”" in shown


def test_a_no_to_another_question_is_not_shown(app: Preflight) -> None:
    quotes = [each.quote for each in app.ask("Is it allowed to bring dogs into the garden?").citations]
    assert quotes[0] == "Yes, on a lead."
    assert "No." not in quotes

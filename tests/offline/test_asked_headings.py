"""What stands below a question that a document itself asks."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.offline.asked_headings import quotes_below
from preflight_rag.state.reading import Source

FAQ = (
    "8. Systems\n\n8.1. Does chrony support Windows?\n\nNo. The client has been run under Cygwin in the past. It needs "
    "adapting.\n\n8.2. Are there plans to support Windows?\n\nWe have no plans to do this.\n\n"
    "**Who keeps the keys?**\n\nThe warden keeps them in the office safe, and nobody else has any.\n"
)
DOCUMENTS = {
    "faq.md": f"# Questions and answers\n\n{FAQ}",
    "rules.md": "# Rules\n\nOn Windows machines chrony work is forbidden before nine.\n",
}


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Does chrony work on Windows?", "No. The client has been run under Cygwin in the past."),
        ("Who keeps the keys?", "The warden keeps them in the office safe, and nobody else has any."),
        ("Are there any plans to support Windows?", "We have no plans to do this."),
        ("Does chrony work on macOS?", None),
        ("When did chrony support Windows?", None),  # asks something else of the same
        ("Who cleans the windows?", None),
        ("Are there any plans to drop Windows?", None),
        ("Who keeps the dog's keys?", None),
    ],
)
def test_the_first_sentences_below_nearly_the_same_question(question, quote):
    found = quotes_below(question, [Source(7, "a", "FAQ", FAQ)])
    assert found == ([(7, quote)] if quote else [])


def test_below_a_question_stands_no_further_question():
    contents = "1. Does chrony support Windows?\n2. Does chrony support macOS?\n"
    assert quotes_below("Does chrony support Windows?", [Source(1, "a", "Contents", contents)]) == []


def test_what_stands_below_the_same_question_is_shown_first(app: Preflight) -> None:
    found = app.ask("Does chrony work on Windows?")
    assert found.citations[0].quote == "No. The client has been run under Cygwin in the past."

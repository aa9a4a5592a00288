"""Questions of which the documents have a word or two, and questions in other words than the documents'."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight

DOCUMENTS = {
    "diving.md": (
        "# Diving protocol\n\n## During a dive\n\nThe tender writes depth and breathing every ten minutes.\n\n"
        "The line is held with both hands. Visitors stay behind the yellow rail.\n"
    ),
    "minutes.md": (
        "# Minutes of 4 May\n\nThe compressor was serviced. The cellar door sticks.\n\n"
        "Accident on 2 May: diver Bruno had the wrong weight on his belt.\n"
    ),
}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("How often is breathing noted down during a dive?", "every ten minutes"),
        ("What was wrong with diver Bruno?", "wrong weight"),
    ],
)
def test_what_the_documents_say_in_other_words_is_shown(app: Preflight, question: str, shown: str) -> None:
    assert shown in app.ask(question).answer


@pytest.mark.parametrize("question", ["Who invented the first cellar cooling system?"])
def test_a_quote_with_one_word_of_a_far_question_is_not_shown(app: Preflight, question: str) -> None:
    found = app.ask(question)
    assert found.outcome == "not_found"
    assert not found.citations


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("When was the X.25 serviced?", ()),
        ("Is the X.25 compressor serviced?", ("The compressor was serviced.",)),  # the model may be named nowhere
    ],
)
def test_of_a_code_that_no_document_has_only_near_quotes_are_shown(app: Preflight, question, shown) -> None:
    assert tuple(citation.quote for citation in app.ask(question).citations) == shown

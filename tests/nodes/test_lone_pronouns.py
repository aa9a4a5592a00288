"""First questions with a pronoun, over a report of one patient."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.text.headers import UNRESOLVED

REPORT = (
    "A girl of twelve was seen in our clinic in May.\n\nShe presented one month later with rapidly progressive weakness"
    " of the right hand, and with a fever.\n\nBoth parents were well."
)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.txt").write_text(REPORT)
    with Preflight.open(folder / "library", model="offline", create=True) as app:
        app.ingest([folder / "report.txt"])
        yield app


def test_a_question_whose_other_words_stand_in_one_sentence_is_about_the_patient(app: Preflight) -> None:
    answer = app.ask("When did she present with rapidly progressive weakness of the right hand?")
    assert "one month later" in answer.citations[0].quote


@pytest.mark.parametrize("question", ["When did she present?", "When did she present with a rash on the right knee?"])
def test_other_questions_are_asked_about(app: Preflight, question: str) -> None:
    assert app.ask(question).answer == UNRESOLVED

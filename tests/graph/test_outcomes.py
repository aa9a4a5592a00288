"""What a turn ends as, on a real library: an answer, evidence, or nothing; what each says in the `Answer`."""

from __future__ import annotations

import pytest

from preflight_rag import Preflight
from preflight_rag.offline import answers
from preflight_rag.offline.confidence import ConfidenceModel
from preflight_rag.text.headers import ABOUT_THIS, CLOSEST, SEVERAL, UNREAD_LANGUAGE

NEVER = 1.01
ROUTES = ("plain", "map-reduce", "corg")


@pytest.fixture
def ask(own_folder, monkeypatch):
    def make(question, route, *, answered=0.5, evidence=0.02, **options):
        """An answer is as likely as its passage answers, so that no test hangs on the trained weights."""
        model = ConfidenceModel(0.0, {"answerable": 1.0}, answered, evidence)
        monkeypatch.setattr(answers, "confidence_model", lambda: model)
        with Preflight.open(own_folder, "offline", k=6) as app:
            return app.ask(question, route=route, **options)

    return make


def quoted_word_for_word(answer):
    assert answer.citations
    assert all(citation.verified and f"[{citation.n}]" in answer.answer for citation in answer.citations)


@pytest.mark.parametrize("route", ROUTES)
def test_a_likely_answer_is_claimed_with_its_confidence(ask, route):
    answer = ask("Who discovered penicillin?", route)
    assert (answer.outcome, answer.abstained) == ("answered", False)
    assert "Fleming" in (answer.short_answer or answer.answer)
    assert answer.confidence is None or answer.confidence >= 0.5
    quoted_word_for_word(answer)


@pytest.mark.parametrize("route", ROUTES)
def test_an_unlikely_answer_is_evidence_without_headline_and_confidence(ask, route):
    answer = ask("Who discovered penicillin?", route, answered=NEVER)
    assert (answer.outcome, answer.abstained) == ("evidence", False)
    assert (answer.short_answer, answer.confidence) == (None, None)
    assert answer.answer.startswith(CLOSEST)
    assert any("Alexander Fleming discovered penicillin" in citation.quote for citation in answer.citations)
    quoted_word_for_word(answer)


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
def test_a_sentence_of_the_same_meaning_is_evidence_although_no_answer_is_likely(ask, route):
    answer = ask("Who discovered penicillin?", route, answered=NEVER, evidence=NEVER)
    assert (answer.outcome, answer.short_answer) == ("evidence", None)
    assert any("Alexander Fleming discovered penicillin" in citation.quote for citation in answer.citations)
    quoted_word_for_word(answer)


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
def test_what_hardly_bears_on_the_question_is_not_found(ask, route):
    answer = ask("Who was the first nurse?", route, answered=NEVER, evidence=NEVER)
    assert (answer.outcome, answer.abstained) == ("not_found", True)
    assert (answer.short_answer, answer.confidence, answer.citations) == (None, None, ())
    assert "The nearest document is “The discovery of penicillin”" in answer.answer


@pytest.mark.parametrize("route", ["plain", "map-reduce"])
@pytest.mark.parametrize("question", ["Warum erscheint uns der Himmel am Tag blau?", "空はなぜ青いのですか"])
def test_questions_in_other_languages_get_evidence(ask, route, question):
    answer = ask(question, route)
    assert (answer.outcome, answer.short_answer, answer.confidence) == ("evidence", None, None)
    assert answer.answer.startswith(UNREAD_LANGUAGE)
    quoted_word_for_word(answer)


def test_no_context_that_answers_leaves_nothing_to_compare(ask):
    answer = ask("Warum erscheint uns der Himmel am Tag blau?", "corg")
    assert (answer.outcome, answer.short_answer, answer.confidence) == ("not_found", None, None)


@pytest.mark.parametrize(("route", "lead"), [("plain", ABOUT_THIS), ("map-reduce", ABOUT_THIS), ("corg", SEVERAL)])
def test_explanations_get_evidence(ask, route, lead):
    answer = ask("Why is the sky blue?", route)
    assert (answer.outcome, answer.short_answer, answer.confidence) == ("evidence", None, None)
    assert answer.answer.startswith(lead)
    quoted_word_for_word(answer)


@pytest.mark.parametrize("question", ["Is Venus hotter than Mercury?", "Is the Earth the smallest planet?"])
def test_of_verdicts_only_a_no_is_claimed_and_its_citation_is_first(ask, question):
    answer = ask(question, "plain")
    assert answer.outcome in ("answered", "evidence")
    assert answer.short_answer == ("No" if answer.outcome == "answered" else None)
    assert answer.answer.startswith("No [1]" if answer.outcome == "answered" else (CLOSEST, ABOUT_THIS))
    quoted_word_for_word(answer)


@pytest.mark.parametrize("question", ["How many documents are there?", "Hello!"])
def test_what_the_documents_need_not_be_read_for_has_outcomes_of_its_own(ask, question):
    answer = ask(question, None)
    assert answer.outcome == ("conversation" if question == "Hello!" else "listing")
    assert (answer.short_answer, answer.confidence) == (None, None)

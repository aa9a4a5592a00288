"""Bare nouns of follow-ups, and the things that they belong to."""

import pytest

from preflight_rag.conversation.follow_ups import continued_documents, standalone
from preflight_rag.state.reading import Rewrite

ORGAN = "What was wrong with the organ?"


@pytest.mark.parametrize(
    ("question", "message", "expected"),
    [
        (ORGAN, "How much did the repair cost?", "How much did the repair of the organ cost?"),
        (ORGAN, "Who paid for the repairs?", "Who paid for the repairs of the organ?"),
        (
            "What is wrong with our van?",
            "When will the repair be finished?",
            "When will the repair of our van be finished?",
        ),
        ("What is the condition of the altar?", "Who did the restoration?", "Who did the restoration of the altar?"),
        ("What happened to Seagull?", "How bad was the damage?", "How bad was the damage to Seagull?"),
        (
            "How much did the repair of the altar cost?",
            "Who agreed to the repair?",
            "Who agreed to the repair of the altar?",
        ),
        (
            "What did the surveyor find in the cellar?",
            "When was the report written?",
            "When was the report on the cellar written?",
        ),
        (
            "What did the parish council decide about the bridge?",
            "When was the meeting?",
            "When was the meeting of the parish council?",
        ),
    ],
)
def test_a_bare_noun_is_asked_of_the_thing_before(question, message, expected):
    assert standalone(message, [question]) == expected


@pytest.mark.parametrize(
    ("question", "message"),
    [
        # Nothing that is repaired; a firm of which nobody said that it was damaged; two things.
        ("When is the fair?", "How much did the repair cost?"),
        ("What is the rent of the hall?", "How much did the report cost?"),
        ("Where does Seagull Marine build boats?", "How much did the repair cost?"),
        ("Did the council say that the bridge is near the mill?", "How much did the repair cost?"),
        # The message names more.
        (ORGAN, "How much did the repair of the gate cost?"),
        (ORGAN, "How high was the repair bill?"),
        (ORGAN, "What did Ada Byron say about the repair?"),
        (ORGAN, "How much did the repair cost the school?"),
    ],
)
def test_a_bare_noun_stays_where_its_thing_is_unclear(question, message):
    assert standalone(message, [question]) == message


def test_a_bare_noun_is_not_sought_in_the_document_cited_before():
    earlier = {
        "question": ORGAN,
        "answer": "The bellows [1]",
        "citations": [{"document_id": "d", "quote": ""}],
        "groups": [],
    }
    message = "How much did the repair cost?"
    assert continued_documents(message, Rewrite("How much did the repair of the organ cost?"), earlier) == []
    assert continued_documents("How old is it?", Rewrite("How old is the organ?"), earlier) == ["d"]

"""Deadlines and age limits, which no other date or number answers."""

import pytest

from preflight_rag.offline.definite_kinds import states_definite_kind


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When is the deadline to reply?", "Responses are due no later than August 01, 2023, at 10:00 AM."),
        ("By when must the form be sent?", "Forms must be received by Friday."),
        ("What is the closing date?", "Applications close on 3 May 2024."),
        ("How old do you have to be to join?", "You must be 16 to join."),
        ("How old do you have to be to join?", "Members must be at least 18 years of age."),
        ("From what age may children swim alone?", "8-year-olds may swim alone."),
        ("What is the minimum age?", "The sauna is for over-16s."),
    ],
)
def test_a_text_that_states_what_is_asked_for(question, text):
    states = states_definite_kind(question)
    assert states is not None
    assert states(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When is the deadline to reply?", "About 12 days on-site will be provided."),
        ("When is the deadline to reply?", "The contract began on 1 August 2023."),
        ("How old do you have to be to join?", "Those who came in the 90 days before the vote may vote."),
        ("How old do you have to be to join?", "Tall Tim, a 39-year-old snowboarder, joined them."),
    ],
)
def test_a_text_with_another_date_or_number(question, text):
    states = states_definite_kind(question)
    assert states is not None
    assert not states(text)


@pytest.mark.parametrize(
    "question",
    [
        "When was it built?",
        "How old is the school?",
        "What was said at the latest meeting?",
        "What came on the last day?",
    ],
)
def test_questions_for_any_date_or_number_ask_for_no_definite_kind(question):
    assert states_definite_kind(question) is None

"""Sentences for the opposite of the case that a question gives."""

import pytest

from preflight_rag.offline.opposite_conditions import is_for_opposite_case

QUESTION = "What should I do if it wasn't me who changed the password?"


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (QUESTION, "If you made this change, you don't need to do anything more."),
        ("What happens if I pay late?", "If you do not pay late, you get a discount."),
    ],
)
def test_a_sentence_for_the_opposite_case(question, sentence):
    assert is_for_opposite_case(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (QUESTION, "If you didn't change your password, your account might have been hijacked."),
        (QUESTION, "If you need help, call us."),
        (QUESTION, "You'll need to reset your password."),
        ("How do I change the password?", "If you did not change the password, call us."),
        # What is denied behind the clause is no part of the case.
        ("What if I lose my ticket?", "If you cannot find your ticket, ask at the desk."),
        ("What if I cancel?", "If you cancel no later than 3 May you get a refund."),
        ("What if it rains?", "If it rains there is no concert."),
        ("What happens if I lose my card?", "If you lose your card, do not worry."),
    ],
)
def test_a_sentence_for_the_same_case_or_for_another_matter(question, sentence):
    assert not is_for_opposite_case(question, sentence)

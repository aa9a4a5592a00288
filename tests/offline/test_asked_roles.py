"""Answers that repeat the role whose holder is asked for."""

import pytest

from preflight_rag.models.reading.extractive_reader import Span
from preflight_rag.offline.asked_roles import repeats_asked_role, replace_role_with_holder
from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.state.reading import Source


def answer(sentence, text, title="Handbook"):
    start = sentence.index(text)
    return PassageAnswer(Source(1, "p", title, sentence), Span(start, start + len(text), text, 2.0), 0.6)


@pytest.mark.parametrize(
    ("question", "sentence", "span", "holder"),
    [
        ("Who was the fire warden in 2019?", "The Museum Fire Warden is Ola Lind.", "Museum Fire Warden", "Ola Lind"),
        ("Who is the head gardener?", "Dr Ines Vale is the head gardener.", "head gardener", "Dr Ines Vale"),
        ("And who was our beekeeper?", "We met. The beekeeper was Jan van Eck, until May.", "beekeeper", "Jan van Eck"),
        ("Who is the baker? And who was it in 2019?", "The baker was Bo Keller.", "baker", "Bo Keller"),
        ("Who is the organist?", "Organist: Mary O’Dea", "Organist", "Mary O’Dea"),
    ],
)
def test_the_name_across_the_verb_is_the_answer_in_place_of_the_role(question, sentence, span, holder):
    found = answer(sentence, span)
    assert repeats_asked_role(question, found)
    assert replace_role_with_holder(question, found).text == holder
    assert not repeats_asked_role(question, replace_role_with_holder(question, found))


@pytest.mark.parametrize(
    ("question", "sentence", "span"),
    [
        ("Who is the head gardener?", "The post of head gardener is vacant.", "head gardener"),
        ("Who is the head gardener?", "The Deputy Head Gardener is Ola Lind.", "Deputy Head Gardener"),
        ("Who is Ola Lind’s deputy?", "The head gardener is Ola Lind.", "head gardener"),
        ("Who is the deputy organist?", "The organist is Ola Lind.", "organist"),
        ("Who is the organist?", "The organist was Ola Lind.", "Ola Lind"),
        ("Who is the warden?", "The warden is Bo Roth's deputy.", "Bo Roth"),
    ],
)
def test_a_role_without_its_holder_is_no_answer_and_stays(question, sentence, span):
    found = answer(sentence, span)
    assert repeats_asked_role(question, found)
    assert replace_role_with_holder(question, found) == found


@pytest.mark.parametrize(
    ("question", "sentence", "span"),
    [
        ("Who is the head gardener?", "The head gardener, Ola Lind, left.", "The head gardener, Ola Lind"),
        ("Who is Ola Lind?", "Ola Lind is the head gardener.", "head gardener"),
        ("Who is the head gardener, Lind or Vale?", "The head gardener is Lind.", "Lind"),
        ("Who planted the oak?", "The head gardener planted the oak.", "The head gardener"),
    ],
)
def test_another_answer_repeats_no_role(question, sentence, span):
    found = answer(sentence, span)
    assert not repeats_asked_role(question, found)
    assert replace_role_with_holder(question, found) == found

"""Answers out of sentences about somebody or something else."""

import pytest

from preflight_rag.models.reading.extractive_reader import Span
from preflight_rag.offline.found_answers import PassageAnswer, cut_to_one_sentence
from preflight_rag.offline.other_subjects import is_about_another
from preflight_rag.state.reading import Source
from preflight_rag.text.offices import asked_office

PRESENT = "Present: Odile Orr (chair), Tunde Afolabi (musical director), Greta Lind (librarian)."
LEAVE = "Beatrix is on leave from 9 to 20 November."
BORN = "Iwan Roberts was born in Bangor on 26 June 1968."
WALKER = "In July 1997, Norwich City manager Mike Walker paid a fee to Wolves for Roberts."
WARNOCK = "Neil Warnock, Huddersfield's manager, needed to sell and Leicester manager Brian Little took an interest."


def is_another(question, short, text, title="Notes", before=""):
    source = Source(1, "p", title, f"{before} {text}".strip())
    start = source.text.index(short, len(before))
    answer = PassageAnswer(source, Span(start, start + len(short), short, 1.0), 0.9)
    return is_about_another(question, answer, asked_office(question))


@pytest.mark.parametrize(
    ("question", "short", "text"),
    [
        pytest.param("When is Jonas on leave?", "20 November", LEAVE, id="another person"),
        pytest.param("When is Nadia Rahim on leave?", "20 November", LEAVE, id="a name of two words"),
        pytest.param("When did Iwan Roberts retire?", "26 June 1968", BORN, id="another event"),
        pytest.param("When did Iwan Roberts join Gillingham?", "26 June 1968", BORN, id="another club"),
        pytest.param("Who was the manager of Wolves?", "Mike Walker", WALKER, id="another club's manager"),
        pytest.param("Who was Huddersfield's manager?", "Brian Little", WARNOCK, id="the second of two managers"),
        pytest.param("Who is the CEO of Acme?", "Max Orr", "Our CEO is Max Orr.", id="the CEO of nobody named"),
        pytest.param("Who is the musical director?", "Greta Lind", PRESENT, id="behind another's role"),
        pytest.param("Who is the treasurer?", "Odile Orr", PRESENT, id="with another role"),
        pytest.param("Who rents flat 5A?", "Bo Lund", "Bo Lund rents flat 3B.", id="another flat"),
        pytest.param("Where does Ada Byron live?", "Bath", "He lives in Bath.", id="a name that is nowhere"),
    ],
)
def test_a_sentence_about_another_name_event_or_house_answers_nothing(question, short, text):
    assert is_another(question, short, text)


@pytest.mark.parametrize(
    ("question", "short", "text", "placed"),
    [
        ("When is Beatrix on leave?", "20 November", LEAVE, {}),
        ("When was Iwan Roberts born?", "26 June 1968", BORN, {}),
        ("When was Roberts born?", "26 June 1968", BORN, {}),
        ("Who was the manager of Norwich?", "Mike Walker", WALKER, {}),
        ("Who was the manager of Huddersfield?", "Neil Warnock", WARNOCK, {}),
        ("Where does Ada Byron live?", "Bath", "The author lives in Bath.", {"title": "Ada Byron"}),
        ("Where does Ada Byron live?", "Bath", "She lives in Bath.", {"before": "Ada Byron is an author."}),
        ("Which firm did Pfizer buy in March 2023?", "Seagen", "We agreed to buy Seagen.", {"title": "Pfizer report"}),
        ("When is Jonas at the desk?", "2 May", "Week: 2 May | Desk: Jonas", {}),
        ("How many titles has Rory McIlroy won?", "four", "McIlroy has won four titles.", {}),
        ("Who is the CEO of Acme?", "Max Orr", "Our CEO is Max Orr.", {"title": "Annual report of Acme"}),
        ("How much did it cost?", "5 EUR", "It cost 5 EUR.", {}),
        ("What is the price per person?", "24 euros", "The price (per person) is 24 euros.", {}),
        ("Who is the night shift guard?", "Bo Lund", "The guard (night shift) is Bo Lund.", {}),
        ("Where does the chair live?", "Leeds", "Anna Berg (chair) lives in Leeds.", {}),
        ("Who is the musical director?", "Tunde Afolabi", PRESENT, {}),
    ],
)
def test_a_sentence_about_the_question_s_own_answers(question, short, text, placed):
    assert not is_another(question, short, text, **placed)


@pytest.mark.parametrize(
    ("text", "span", "whole"),
    [
        (LEAVE, "20 November", "9 to 20 November"),
        ("Open from 26 March until 4 October 2026.", "4 October 2026", "26 March until 4 October 2026"),
        ("It was open until 4 October.", "4 October", "4 October"),
        ("It grew from 12 to 20 rooms.", "20 rooms", "12 to 20 rooms"),
    ],
)
def test_the_end_of_a_range_is_given_with_its_beginning(text, span, whole):
    start = text.index(span)
    (found,) = cut_to_one_sentence(text, [Span(start, start + len(span), span, 1.0)])
    assert found.text == text[found.start : found.end] == whole

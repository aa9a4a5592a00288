"""Which passages stand as sources of an answer that was read out of several."""

from __future__ import annotations

import pytest

from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline.found_answers import (
    AnswerGroup,
    PassageAnswer,
    ReadPassage,
    counts_something_else,
    distinct_answers,
    extend_to_asked_noun,
    group_equal_answers,
    has_as_many_question_words,
    is_figure_of_another_thing,
    is_one_of_listed_people,
)
from preflight_rag.state.reading import Source

FIRST = "Microsoft was founded by Bill Gates and Paul Allen."


def group(*passages: tuple[str, str, float]) -> AnswerGroup:
    """The first answer of passages, each with what was read out of it and the probability of that."""
    read = []
    for n, (text, answer, probability) in enumerate(passages, 1):
        start = text.index(answer)
        span = Span(start, start + len(answer), answer, 5.0)
        read.append(ReadPassage(Source(n, f"p{n}", "", text), PassageReading((span,), probability)))
    return group_equal_answers([answer for item in read for answer in distinct_answers(item)])[0]


@pytest.mark.parametrize(
    ("text", "answer", "probability", "cited"),
    [
        ("Bill Gates and Paul Allen began it.", "Bill Gates and Paul Allen", 0.8, True),
        ("Founders: Paul Allen, and Bill Gates.", "Paul Allen, and Bill Gates", 0.8, True),
        ("Bill Gates and Paul Allen began it.", "Paul Allen", 0.8, True),
        ("Paul Allen resigned in 1983.", "Paul Allen", 0.8, False),
        (
            "2025-04-11 20:06:03 INFO operators Bill Gates and Paul Allen logged in",
            "Bill Gates and Paul Allen",
            0.8,
            False,
        ),
        ("Bill Gates and Paul Allen went to school.", "Bill Gates and Paul Allen", 0.1, False),
    ],
)
def test_a_passage_is_cited_that_says_the_whole_answer_and_answers(text, answer, probability, cited):
    found = group((FIRST, "Bill Gates and Paul Allen", 0.9), (text, answer, probability))
    assert len(found.answers) == 2
    assert found.marks == ("[1][2]" if cited else "[1]")
    assert [n for n, _ in found.quotes()] == ([1, 2] if cited else [1])


def test_the_same_figure_in_other_words_is_cited():
    found = group(("It has 10,000 seats.", "10,000 seats", 0.9), ("It has 10000 seats.", "10000 seats", 0.8))
    assert found.marks == "[1][2]"


@pytest.mark.parametrize(
    ("question", "other", "as_much"),
    [
        ("Who founded the yard?", "In 1911 the yard was begun by Ada Lund.", True),
        ("Who founded the yard?", "In March Ada Lund died.", False),
        ("Who founded the yard at Vester?", "Ada Lund owned a yard.", False),
    ],
)
def test_a_sentence_about_something_else_is_not_cited_with_the_answer(question, other, as_much):
    found = group(("The yard at Vester was founded by Ada Lund.", "Ada Lund", 0.9), (other, "Ada Lund", 0.8))
    assert has_as_many_question_words(question, *found.answers) is as_much


@pytest.mark.parametrize(
    ("question", "text", "answer", "whole"),
    [
        (
            "Which toy is it named for?",
            "It is named for the rubber toy penguin with a bow.",
            "rubber",
            "rubber toy penguin",
        ),
        ("Which toy is it named for?", "It is named for the penguin, a toy of rubber.", "penguin", "penguin"),
        ("What boat sank?", "The red boat sank.", "red", "red boat"),
        ("Which toy is it named for?", "It is named for the penguin.", "penguin", "penguin"),
        ("Who won?", "The red boat won.", "red", "red"),
    ],
)
def test_an_answer_has_the_noun_that_is_asked_for(question, text, answer, whole):
    assert extend_to_asked_noun(question, group((text, answer, 0.9)).answers[0]).text == whole


JURY = "The jury will be Bo Dahl, Ada Lund and the winner of 2024, Eva Roth."


@pytest.mark.parametrize(
    ("question", "text", "answer", "is_one"),
    [
        ("Who are the members of the jury?", JURY, "Bo Dahl", True),
        ("Who is the jury?", JURY, "Ada Lund", True),
        ("Who is on the prize jury?", JURY, "Eva Roth", True),
        ("Who are the members of the jury?", JURY, "Bo Dahl, Ada Lund and the winner of 2024, Eva Roth", False),
        ("Who won in 2024?", JURY, "Eva Roth", False),
        ("Who were the guests?", "The guests were from Vester, and Ada Lund spoke.", "from Vester", True),
        ("Who are the tenants?", "The tenants are Ada Lund.", "Ada Lund", False),
    ],
)
def test_one_of_several_people_is_not_the_group(question, text, answer, is_one):
    assert is_one_of_listed_people(question, group((text, answer, 0.9)).answers[0]) is is_one


def test_the_number_of_an_item_is_no_answer():
    text = "The board may:\n  3. Delay a vote.\nA vote lasts 3 days."
    item, days = text.index("3."), text.index("3 days")
    spans = (Span(item, item + 1, "3", 5.0), Span(days, days + 6, "3 days", 4.0))
    read = ReadPassage(Source(1, "p1", "", text), PassageReading(spans, 0.9))
    assert [answer.text for answer in distinct_answers(read)] == ["3 days"]
    newton = Source(1, "p1", "", "I. Newton wrote it.")
    read = ReadPassage(newton, PassageReading((Span(0, 9, "I. Newton", 5.0),), 0.9))
    assert [answer.text for answer in distinct_answers(read)] == ["I. Newton"]


PRICED = "Ada Lund proposed to lower the price of e-books from 12.99 to 9.99 by 4 votes."


@pytest.mark.parametrize(
    ("question", "answer", "is_price"),
    [
        ("How many votes were for it?", "9.99", True),
        ("How many votes were for it?", "4", False),
        ("How many euros is the book?", "9.99", False),
        ("How much is the book?", "9.99", False),
    ],
)
def test_a_price_counts_nothing(question, answer, is_price):
    assert counts_something_else(question, group((PRICED, answer, 0.9)).answers[0]) is is_price


DELIVERY = "Within Germany two to three working days, to Austria four, to Switzerland up to seven."


@pytest.mark.parametrize(
    ("question", "answer", "another"),
    [
        ("How many games did he play?", "96 goals", True),
        ("How many goals did he score?", "96 goals", False),
        ("How many games did he play?", "306 games", False),
        ("How many games did he play?", "306", False),
        ("How many caps did he win?", "96 goals", False),
        ("When did he play?", "96 goals", False),
    ],
)
def test_what_counts_something_else_is_told_from_what_is_asked_for(question, answer, another):
    text = "He scored 96 goals in 306 games for Norwich."
    start = text.index(answer)
    span = Span(start, start + len(answer), answer, 1.0)
    assert counts_something_else(question, PassageAnswer(Source(1, "p", "Roberts", text), span, 0.9)) is another


@pytest.mark.parametrize(
    ("question", "sentence", "answer", "another"),
    [
        ("How long does delivery to Austria take?", DELIVERY, "two to three working days", True),
        ("How long does delivery to Austria take?", DELIVERY, "four", False),
        ("How long does delivery to Germany take?", DELIVERY, "two to three working days", False),
        ("What do children pay?", "Adults pay 5 EUR and children 3 EUR.", "5 EUR", True),
        ("What do adults pay?", "Adults pay 5 EUR and children 3 EUR.", "5 EUR", False),
        ("What was revenue in 2022?", "Revenue was 5 million in 2021, in 2022 7 million.", "5 million", True),
        ("How much did revenue rise?", "Revenue rose to 5 million, up 3 percent from 2021.", "5 million", False),
        ("What is charged in Austria?", "In Austria, the Danube Company charges 5 EUR.", "5 EUR", False),
        ("Who came?", "Ann came, Bob 2 days later.", "Ann", False),
    ],
)
def test_a_figure_of_another_part_of_the_sentence_is_no_answer(question, sentence, answer, another):
    start = sentence.index(answer)
    span = Span(start, start + len(answer), answer, 1.0)
    assert is_figure_of_another_thing(question, PassageAnswer(Source(1, "p", "", sentence), span, 0.9)) is another

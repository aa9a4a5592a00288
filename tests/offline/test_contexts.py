"""One context read for COrg: what a reader's spans become."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.models.reading.extractive_reader import PassageReading, Span
from preflight_rag.offline.context_readings import EXCERPT, by_spans
from preflight_rag.state.reading import Source

QUESTION = "What is the population of Broken Bow?"
TEXT = "Broken Bow, Nebraska Broken Bow is a city. It had 3,491 people in 2020. In 2010 there were 3,559 people."


def span(text: str, words: str, margin: float = 3.0) -> Span:
    start = text.index(words)
    return Span(start, start + len(words), words, margin)


def read(text, *spans, question=QUESTION, title="", **scores):
    return by_spans(question, Source(1, "a", title, text), PassageReading(spans, scores.pop("p", 0.9), **scores), 4.0)


def test_the_answer_is_the_span_and_the_quote_its_sentence():
    found = read(TEXT, span(TEXT, "3,491"))
    assert (found.value.text, found.value.kind) == ("3,491", "number")
    assert [answer.quote for answer in found.answers] == ["It had 3,491 people in 2020."]
    assert (found.descriptor, found.answerable, found.best) == ("Nebraska", 0.9, None)


@pytest.mark.parametrize(
    ("question", "text", "quote"),
    [
        (
            "How much did the choir get from the mill fund?",
            "We hope that 9 of the 12 stay.\n\n4. Other money\n\nThe choir got €700 from the mill fund in 2019.",
            "The choir got €700 from the mill fund in 2019.",
        ),
        (
            "What is the new pay rate of singers?",
            "Pay\n\nThe rate of singers is now 12.",
            "The rate of singers is now 12.",
        ),
    ],
)
def test_a_span_over_several_sentences_is_quoted_by_the_one_that_is_asked_for(question, text, quote):
    start = text.index("9 of") if "9 of" in text else 0
    found = read(text, Span(start, len(text) - 1, text[start:-1], 3.0), question=question)
    assert [answer.quote for answer in found.answers] == [quote]


def test_a_line_above_a_quoted_mail_is_no_answer_of_a_context():
    text = "The fair is in May.\n\nOn Mon, 2 Mar 2026 at 10:02, Jan Brandt wrote:\n\nJan Brandt wrote: Good."
    found = read(text, span(text, "2 Mar 2026"), span(text, "May", 1.0), question="When is the fair?")
    assert [answer.quote for answer in found.answers] == ["The fair is in May."]


@pytest.mark.parametrize(
    ("described", "descriptor"),
    [("Moss Lane", "Moss Lane"), ("Moss\nLane", "Moss Lane"), ("Moss\n\nLane", None)],
)
def test_words_on_both_sides_of_a_blank_line_describe_nothing(described, descriptor):
    text = "The barn holds 40 sheep."
    found = read(text, span(text, "40"), question="How many sheep are there?", descriptor=described)
    assert found.descriptor == descriptor


@pytest.mark.parametrize(
    ("others", "answers"),
    [
        ([("3,559", 1.0)], ["3,491", "3,559"]),
        ([("3,559", -0.5)], ["3,491"]),
        ([("3,559", 1.0), ("2020", -2.0)], ["3,491", "3,559"]),
        ([("3,491 people", 1.0)], ["3,491"]),
    ],
)
def test_further_spans_count_where_they_differ_and_lie_near_the_best(others, answers):
    found = read(TEXT, span(TEXT, "3,491"), *(span(TEXT, words, margin) for words, margin in others))
    assert [answer.value.text for answer in found.answers] == answers


@pytest.mark.parametrize(
    ("question", "first"), [(QUESTION, "3,506"), ("What was the population of Broken Bow in 2010?", "3,559")]
)
def test_of_the_numbers_of_several_years_in_a_sentence_the_latest_comes_first(question, first):
    text = "It was counted. At the census of 2010 it had 3,559 people; at the census of 2020 it was 3,506."
    found = read(text, span(text, "3,559", 9.0), span(text, "3,506", 7.0), question=question)
    assert found.value.text == first


RENT = "The rent for a full plot is £63 a year, for a half plot £34 a year."
REGISTER = "Plot: 12 | Member: Okafor | Rent: 34\nPlot: 14 | Member: Rao | Rent: 63"


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How much is the rent for a full plot a year?", ["£63"]),
        ("How much is the rent for a half plot a year?", ["£34"]),
        ("How much is the rent a year?", ["£63", "£34"]),
    ],
)
def test_a_figure_of_another_thing_in_the_sentence_is_no_answer(question, answers):
    spans = (span(RENT, words, 3.0 - at) for at, words in enumerate(sorted(("£63", "£34"), key=answers[0].__ne__)))
    found = read(RENT, *spans, question=question)
    assert [answer.value.text for answer in found.answers] == answers


@pytest.mark.parametrize(
    ("question", "answers"),
    [("How much is the rent for a full plot?", []), ("What rent does Okafor pay for plot 12?", ["34"])],
)
def test_a_row_answers_only_what_names_it(question, answers):
    found = read(REGISTER, span(REGISTER, "34"), question=question)
    assert [answer.value.text for answer in found.answers] == answers


def test_a_quote_begins_behind_the_heading():
    text = "Broken Bow, Nebraska Broken Bow is a city of 3,491."
    assert read(text, span(text, "3,491")).answers[0].quote == "Broken Bow is a city of 3,491."


def test_of_a_long_sentence_the_words_around_the_span_are_quoted():
    text = " ".join(["salt"] * 60 + ["3,491"] + ["salt"] * 60)
    quote = read(text, span(text, "3,491")).answers[0].quote
    assert "3,491" in quote
    assert len(quote.split()) == EXCERPT


def test_a_yes_no_question_is_answered_by_the_verdict():
    text = "Aspirin did not prevent strokes."
    found = read(text, span(text, "did not prevent"), question="Does aspirin prevent strokes?", verdict=(0.1, 0.7, 0.2))
    assert (found.value.text, found.answerable) == ("no", 0.8)


@pytest.mark.parametrize(("told", "descriptor"), [("in Custer County", "in Custer County"), ("Broken Bow", None)])
def test_the_readers_descriptor_serves_where_no_rule_finds_one(told, descriptor):
    text = "The town had 3,491 people."
    assert read(text, span(text, "3,491"), descriptor=told).descriptor == descriptor


def test_the_figure_that_answers_describes_nothing():
    text = "The album 1987 (1987) came out in 1987."
    found = read(
        text, span(text, "1987"), question="What year was the album Chayanne released?", descriptor="1987 album"
    )
    assert found.descriptor is None


@given(st.text(min_size=1, max_size=120), st.data())
def test_any_span_of_any_text_is_quoted_verbatim(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = read(text, Span(start, end, text[start:end], 1.0))
    assert all(answer.quote in text for answer in found.answers)


@pytest.mark.parametrize("year", ["2025", "2024"])
def test_the_named_cell_of_a_table_goes_before_a_likelier_figure_beside_it(year):
    text = "Service: Follow-up consultation | Dog: £30 | Cat: £28\n\nOut-of-hours consultation: £205 for any animal."
    question = f"How much is a follow-up consultation for a cat in {year}?"
    found = read(text, span(text, "£205", 6.0), question=question, title="Price list 2025", p=0.4)
    assert (found.value.text, found.answerable) == ("£28", 0.95)
    assert found.answers[0].quote == text.split("\n")[0]

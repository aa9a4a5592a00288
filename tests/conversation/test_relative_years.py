"""Years that a follow-up counts from the question before it."""

import pytest

from preflight_rag.conversation.follow_ups import standalone
from preflight_rag.conversation.relative_years import write_out_years, year_of_last_answer
from preflight_rag.state.reading import Earlier, Source

REVENUE = "What was Adobe's total revenue in 2022?"


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        ([REVENUE, "and in 2021?", "and the year before that?"], "What was Adobe's total revenue in 2020?"),
        ([REVENUE, "And the previous year?"], "What was Adobe's total revenue in 2021?"),
        ([REVENUE, "What about two years later?"], "What was Adobe's total revenue in 2024?"),
        ([REVENUE, "and in the year after?"], "What was Adobe's total revenue in 2023?"),
        ([REVENUE, "How much was it a year earlier?"], "How much was Adobe's total revenue in 2021?"),
        ([REVENUE, "And the following fiscal year?"], "What was Adobe's total revenue in 2023?"),
    ],
)
def test_a_counted_year_is_written_out(turns, asked):
    assert standalone(turns[-1], turns[:-1]) == asked


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(["Who leads Adobe?", "and the year before?"], id="no year to count from"),
        pytest.param([REVENUE, "What happened the year after the merger?"], id="counted from something else"),
        pytest.param(["Are 2000 euros enough?", "And the year before?"], id="an amount is no year"),
        pytest.param([REVENUE, "What was it in 2019, three years before?"], id="a year of its own"),
    ],
)
def test_other_turns_stay_as_they_are(turns):
    assert write_out_years(turns) == turns


LAUNCHED = "When was Seagull launched?"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Who was Harbour Master then?", "Who was Harbour Master in 1998?"),
        ("And who was the Harbour Master at that time?", "who was the Harbour Master in 1998?"),
        # What leans on the thing stays behind the question about it.
        ("How many ferries were there then?", f"{LAUNCHED} How many ferries were there then?"),
        # What comes next, and the present.
        ("What did people do then?", f"{LAUNCHED} What did people do then?"),
        ("And who's coming then?", f"{LAUNCHED} And who's coming then?"),
    ],
)
def test_then_is_the_year_that_the_answer_before_gives(message, expected):
    assert standalone(message, [LAUNCHED], year="1998").casefold() == expected.casefold()


def test_others_are_counted_in_the_year_without_those_counted_before():
    asked = ["How many visitors came in 2024?"]
    message = "How many volunteers were there then?"
    assert standalone(message, asked, year="2024").casefold() == "how many volunteers were there in 2024?"
    same = "How many visitors were there then?"
    assert standalone(same, asked, year="2024") == f"{asked[0]} {same}"


def test_then_keeps_the_question_before_where_no_year_is_known():
    message = "Who was Harbour Master then?"
    assert standalone(message, [LAUNCHED]) == f"{LAUNCHED} {message}"


@pytest.mark.parametrize("between", ["Who was Harbour Master then?", "Who was Harbour Master in 1998?"])
def test_it_is_still_the_thing_before_a_question_for_the_holder_of_an_office(between):
    assert standalone("How long was it?", [LAUNCHED, between]) == "How long was Seagull?"


def test_a_name_takes_the_place_of_the_thing_before_such_a_question():
    asked = standalone("What about Heron?", [LAUNCHED, "Who was Harbour Master in 1998?"])
    assert asked == "When was Heron launched?"


@pytest.mark.parametrize(
    ("question", "answer", "quote", "year"),
    [
        ("Who won the cup in 1987?", "Ada Byron [1]", "Ada Byron won in 1986.", "1987"),
        (LAUNCHED, "4 May 1998 [1]\n\nIt was 2001 before it sailed. [1]", "It sailed in 2001.", "1998"),
        (LAUNCHED, "Most relevant passages:", "Seagull was launched in 1998.", "1998"),
        # Two years, and a quote about another ferry.
        (LAUNCHED, "Most relevant passages:", "Seagull was launched in 1998 and sold in 2003.", ""),
        (LAUNCHED, "Most relevant passages:", "Heron was launched in 1998.", ""),
        ("What was built between 1987 and 1990?", "The pier [1]", "The pier was built in 1988.", ""),
    ],
)
def test_the_year_spoken_of_is_the_only_one_of_the_question_or_its_answer(question, answer, quote, year):
    source = Source(1, "p", "Ferries", quote)
    assert year_of_last_answer(Earlier(question, answer, (source,))) == year

"""Sentences about another time than the question."""

from datetime import date

import pytest

from preflight_rag.offline.other_times import is_next_of_the_past, is_of_another_day, is_of_another_time
from preflight_rag.state.reading import Source

RENT = "The rent is £385 a month, due on the first working day."
LATER = "In the second year the rent rises to £400 and in the third to £415."


def is_another(question, text):
    return is_of_another_time(question, Source(1, "p", "Lease", text), text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the rent in the third year?", RENT),
        ("What is the rent in the 3rd year?", RENT),
        ("What is the rent in the first year?", "In the second year the rent rises to £400."),
        ("When does the pool close on Sunday?", "On Saturdays the pool closes at 20:00."),
        ("How many people came in May?", "In June 400 people came."),
        ("What were net sales in fiscal 2021?", "Net sales were $2.7 billion in the fourth quarter of fiscal 2021."),
        ("What was the revenue in 2021?", "Revenue for the three months ended March 31, 2021 was £4 million."),
        ("How much did it spend in the fourth quarter?", "During fiscal 2022, it spent $900 million."),
        ("How much did it spend in Q4?", "For the full year it spent $900 million."),
        ("When did the mill close?", "The mill will be closed to visitors from 8 September."),
        ("When was the hall painted?", "The hall is to be painted in May 2026."),
    ],
)
def test_another_day_month_or_ordinal_is_another_time(question, text):
    assert is_another(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the rent in the third year?", LATER),
        ("What is the rent in the 3rd year?", LATER),
        ("What is the rent?", RENT),
        ("When does the pool close on Sundays?", "On Sunday the pool closes at 20:00."),
        ("When does the pool close on Tuesday?", "From Monday to Friday the pool closes at 20:00."),
        ("When is the pool open in May?", "It opens at 9:00."),
        ("Who may open the safe?", "In June four people can open the safe."),
        ("When does the train on the 3rd of May leave?", "On 3 May the train leaves at 9:05."),
        ("What time does it open on December 24th?", "On 24 December it opens at 10:00."),
        ("How many frames per second does it record?", "The camera records 60 fps."),
        ("What is the rent in the second year?", "Year 2: the rent is £400 a month."),
        ("What were net sales in 2021?", "Sales were £3 m in the first quarter and £9 m for the full year 2021."),
        ("How many shops had it at the end of 2021?", "At the end of the fourth quarter of 2021 it had 40 shops."),
        ("Who was appointed in 2022?", "In the fourth quarter of 2022 Ada Orr was appointed."),
        ("How many shops did it open in 2021?", "It opened 4 shops."),
        ("What was the profit in the fourth quarter of 2022?", "Profit of the fourth quarter of 2022 was £4."),
        ("What is the rate for three months?", "The rate for 3 months is £90."),
        ("Who won the second prize?", "The second prize went to Ada Orr."),
    ],
)
def test_the_time_of_the_question_or_none_is_not(question, text):
    assert not is_another(question, text)


BATHS = (
    "From 3 June the baths open on Mondays from six until nine, as well as Tuesdays (7am to 9pm)"
    " and Sundays (noon to 4pm)."
)
FERRY = "The ferry leaves at 9.30 on Saturdays, at 10 on Sundays and at noon on weekdays."


@pytest.mark.parametrize(
    ("question", "quote", "answer"),
    [
        ("When do the baths open on Sunday?", BATHS, "six until nine"),
        ("When do the baths open on Sunday?", BATHS, "7am to 9pm) and Sundays (noon to 4pm"),
        ("What time do the baths open on Tuesday? And on Sunday?", BATHS, "7am to 9pm"),
        ("What time do the baths open?", BATHS, "six until nine"),
        ("When does the ferry leave on Sunday?", FERRY, "9.30"),
        ("When does the ferry leave on Saturday?", FERRY, "10"),
        ("When does the ferry leave on Saturday?", FERRY, "noon"),
        ("What is it on Friday?", "Mondays to Thursdays it is £4, Fridays £6.", "£4"),
        ("How many came on Sunday?", "On Saturday 40 people came, on Sunday 60.", "40"),
        ("What time is it on Tuesday?", "Closed on Mondays, Tuesdays 9 to 5, Wednesdays 10 to 4.", "10 to 4"),
    ],
)
def test_a_figure_of_another_weekday_is_known(question, quote, answer):
    assert is_of_another_day(question, quote, answer)


@pytest.mark.parametrize(
    ("question", "quote", "answer"),
    [
        ("When do the baths open on Sunday?", BATHS, "noon to 4pm"),
        ("When do the baths open on Monday?", BATHS, "six until nine"),
        ("What time do the baths open on Tuesday? And on Sunday?", BATHS, "noon"),
        ("When do the baths reopen?", BATHS, "3 June"),
        ("When does the ferry leave on Sunday?", FERRY, "10"),
        ("When does the ferry leave on Wednesday?", FERRY, "noon"),
        ("What is it on Wednesday?", "Mondays to Thursdays it is £4, Fridays £6.", "£4"),
        ("What is it on Sunday?", "Mondays and Sundays, 9 to 5, Fridays 10 to 4.", "9 to 5"),
        ("What time is it on Tuesday?", "Closed on Mondays, Tuesdays 9 to 5, Wednesdays 10 to 4.", "9 to 5"),
        ("How many came?", "On Saturday 40 people came, on Sunday 60.", "40"),
        ("When do the baths open on Sunday?", "On Sundays they open at noon.", "noon"),
    ],
)
def test_a_figure_of_the_weekday_of_the_question_is_not_of_another(question, quote, answer):
    assert not is_of_another_day(question, quote, answer)


@pytest.mark.parametrize(
    ("question", "dated", "is_past"),
    [
        ("When is the next evening?", "2024-09-20", True),
        ("When is the next evening?", "2024", True),
        ("When is the next evening?", "2026-01-02", False),
        ("When is the next evening?", "2026", False),
        ("When is the next evening?", None, False),
        ("When was the evening?", "2024-09-20", False),
    ],
)
def test_what_an_old_document_calls_next_is_over(question, dated, is_past):
    source = Source(1, "a", "Mail", "The next evening is on 9 October.", date=dated)
    assert is_next_of_the_past(question, source, today=date(2026, 2, 1)) is is_past

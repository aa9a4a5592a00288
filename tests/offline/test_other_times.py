"""Sentences about another time than the question."""

import pytest

from preflight_rag.offline.other_times import is_of_another_time
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

"""Rows of tables that are of another time than the question."""

import pytest

from preflight_rag.offline.row_times import is_of_another_time
from preflight_rag.offline.tables import table_answer
from preflight_rag.state.reading import Source
from preflight_rag.text.tables import parse_row

LESSONS = """Lessons. | Day: Wednesday | Time: 4.30 pm to 5.15 pm | Class: Cello beginners | Teacher: Ines Vale
Day: Saturday | Time: 9.00 am to 10.00 am | Class: Choir | Teacher: Ola Lind
Day: Mon-Thu | Time: 19:00 | Class: Percussion | Teacher: Jan Brandt"""
DELIVERIES = """Depot. | Due: 14 April 2026 | Goods: Lime mortar | Driver: Ana Roth
Due: 2026-06-02 | Goods: Slates | Driver: Bo Keller"""


def is_another(question, line, column=None):
    return is_of_another_time(question, parse_row(line), column)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Who teaches the cello beginners on Friday?", LESSONS.split("\n")[0]),
        ("Who teaches the cello beginners at 6 pm?", LESSONS.split("\n")[0]),
        ("Who brings the lime mortar in May?", DELIVERIES.split("\n")[0]),
        ("Who brings the slates on 3 June 2026?", DELIVERIES.split("\n")[1]),
        ("Who brings the slates in July?", DELIVERIES.split("\n")[1]),
    ],
)
def test_a_row_with_other_days_months_or_hours_is_of_another_time(question, line):
    assert is_another(question, line)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Who teaches the cello beginners on Wednesdays?", LESSONS.split("\n")[0]),
        ("Who teaches the cello beginners at 5 pm?", LESSONS.split("\n")[0]),
        ("Who teaches percussion on Tuesday?", LESSONS.split("\n")[2]),
        ("Who teaches percussion at 7 pm?", LESSONS.split("\n")[2]),
        ("Who brings the slates on 2 June 2026?", DELIVERIES.split("\n")[1]),
        ("Who brings the slates?", DELIVERIES.split("\n")[1]),
        ("May Ana Roth bring the lime mortar?", DELIVERIES.split("\n")[0]),
        ("Who sat in the choir?", LESSONS.split("\n")[1]),
        ("Who runs the Sunday market?", "Stall: Sunday market | Set up: Saturday | Contact: Bo Keller"),
        ("Who has the key in June?", "Key: Shed | Weekdays: any | Holder: Ana Roth"),
    ],
)
def test_a_row_with_the_time_a_range_or_none_is_not(question, line):
    assert not is_another(question, line)


def test_only_the_column_of_the_answer_names_its_time():
    week = "Post: Lifeguard | Friday: Ana Roth | Sunday: Bo Keller"
    assert is_another("Who is the lifeguard on Sunday?", week, "Friday")
    assert not is_another("Who is the lifeguard on Sunday?", week, "Sunday")


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("Who is the teacher of the choir on Saturday?", "Ola Lind"),
        ("Who is the teacher of the choir on Sunday?", None),
        ("Who is the teacher of the choir at 2 pm?", None),
    ],
)
def test_a_cell_of_another_time_is_not_claimed(question, cell):
    # The running text names the other day, which is not the row's.
    text = f"{LESSONS}\n\nTerm ends on Sunday 29 March 2026 with a concert at 2 pm."
    found = table_answer(question, [Source(1, "p", "Music school", text)])
    assert (found.cell if found else None) == cell

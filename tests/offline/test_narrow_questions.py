"""Answers that lack what a question narrows, in sentences and in cells of tables."""

import pytest

from preflight_rag.models.reading.extractive_reader import Span
from preflight_rag.offline.cell_types import is_of_asked_type
from preflight_rag.offline.found_answers import are_equal_answers, cut_to_one_sentence
from preflight_rag.offline.narrow_questions import is_too_wide
from preflight_rag.text.values import asked_kind

WEEK = "He works 37.5 hours per week at the Mill Lane surgery."
VOTES = "Rejected, three votes to two."


@pytest.mark.parametrize(
    ("question", "quote", "answer"),
    [
        ("How often did the old machine fail?", "The machine failed again on 3 September.", "on 3 September"),
        ("How many hours a day does he work?", WEEK, "37.5 hours"),
        ("How many hours a day does he work?", "The working week is 37.5 hours.", "37.5 hours"),
        ("What is the monthly fee?", "The fee is £120 a year.", "£120"),
        ("When did the employment end?", "The employment began on 1 June 2022.", "1 June 2022"),
        ("When does the lease end?", "The tenant may end the lease on 31 March 2026.", "31 March 2026"),
        ("How many days does it take?", "It takes about three to five days.", "about three"),
        ("How many meals does a five-month-old puppy get?", "From 8 to 12 weeks: four meals a day.", "four"),
        ("How many votes were against it?", VOTES, "three"),
        ("How many days does it take?", "It takes three to five days.", "three"),
        ("How much was Radion's quote?", "Radion quoted £23 and Medivue £26.", "£23 and Medivue £26"),
    ],
)
def test_what_the_question_narrows_is_missing(question, quote, answer):
    assert is_too_wide(question, quote, answer)


@pytest.mark.parametrize(
    ("question", "quote", "answer"),
    [
        ("How often is the tank cleaned?", "The tank is cleaned every second Tuesday.", "every second Tuesday"),
        ("How often does the bus run?", "It runs twice a day.", "twice a day"),
        ("How many hours a week does he work?", WEEK, "37.5 hours"),
        ("How much is the rent?", "The rent is £700 a month.", "£700 a month"),
        ("What is the annual fee?", "The fee is £120 a year.", "£120"),
        ("When did the employment begin?", "The employment began on 1 June 2022.", "1 June 2022"),
        ("When does the course end?", "The course starts on 1 May and ends on 4 May.", "4 May"),
        ("When may the lease end?", "The tenant may end the lease on 31 March 2026.", "31 March 2026"),
        ("When was it founded?", "It was founded in 1962.", "1962"),
        ("When in 2024 did it open?", "It opened on 3 May 2024.", "3 May 2024"),
        ("How many meals does a five-month-old puppy get?", "At five months: three meals a day.", "three"),
        ("How many days does it take?", "It takes three to five days.", "three to five days"),
        ("How many rooms has it?", "It has 12 rooms, open 9-12.", "12 rooms"),
        ("When does the shop close?", "The shop is open from 9 am to 6 pm.", "6 pm"),
        ("When was the 2023 report published?", "It was published on 12 February 2024.", "12 February 2024"),
        ("When did the war begin?", "It lasted from 1914 until it ended in 1918.", "1914"),
        ("How much do tickets cost?", "Adults £5 and Children £3.", "Adults £5 and Children £3"),
        ("How many votes were there?", "There were five votes.", "five"),
        ("How much are both?", "They are £23 and £26.", "£23 and £26"),
    ],
)
def test_nothing_is_missing(question, quote, answer):
    assert not is_too_wide(question, quote, answer)


def test_a_day_in_the_list_of_another_year_is_none():
    asked = "When did the 2024 list start?", "Valid from 1 January 2025.", "1 January 2025"
    assert is_too_wide(*asked, title="Price list 2025")
    assert not is_too_wide(*asked, title="Price list 2024")


@pytest.mark.parametrize(
    ("question", "cell", "column", "labels", "may"),
    [
        ("What is the monthly rent in 2024?", "25800", "2024", "2024 Rent Mill Lane", False),
        ("How much is a day ticket?", "£4", "Price", "Price Day ticket", True),
        ("What was the annual budget in 2024?", "400", "2024", "2024 Budget", True),
        ("Where is the monthly meeting held?", "Mill Hall", "Venue", "Venue Meeting", True),
        ("What is the monthly rent in 2024?", "2150", "2024", "2024 Rent a month", True),
        ("What were the monthly wages in 2024?", "258900", "2024", "2024 Wages", False),
        ("When is the monthly meeting?", "3 May", "Date", "Date Meeting", True),
        ("What was the rent in 2024?", "25800", "2024", "2024 Rent Mill Lane", True),
        ("How often is Nair on duty?", "24 March", "Week from", "Week from Nair", False),
        ("How often is it cleaned?", "2 times a week", "Cleaning", "Cleaning Tank", True),
    ],
)
def test_a_cell_names_the_time_it_is_for(question, cell, column, labels, may):
    assert is_of_asked_type(question, asked_kind(question), cell, column=column, labels=labels) is may


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ("The employer pays up to £450 a year.", "£450 a year", "up to £450 a year"),
        ("She was born about 2012.", "2012", "about 2012"),
        ("Variance: -24 unit", "24 unit", "-24 unit"),
        ("Rooms 12-24 are shut.", "24", "24"),
        ("It lasts at least 3 hours.", "3 hours", "at least 3 hours"),
        ("It shows a -24 unit difference.", "24 unit", "-24 unit"),
        ("Open 9 -12", "12", "12"),
        ("Open on Monday -5 pm", "5 pm", "5 pm"),
        ("Items:\n-5 eggs", "5 eggs", "5 eggs"),
        ("A film about 3 sisters.", "3 sisters", "3 sisters"),
        ("It is all about 3 sisters.", "3 sisters", "3 sisters"),
        ("about \n5 km", "5 km", "5 km"),
        ("They grew up to be 12 singers.", "12 singers", "12 singers"),
    ],
)
def test_a_figure_keeps_its_sign_and_what_limits_it(text, found, whole):
    start = text.rindex(found)
    assert [span.text for span in cut_to_one_sentence(text, [Span(start, start + len(found), found, 1.0)])] == [whole]


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ("It meets on Thursday 12 June 2025 at seven.", "2025", "12 June 2025"),
        ("It met on May 3, 2024.", "2024", "May 3, 2024"),
        ("It met in June 2024.", "2024", "June 2024"),
        ("Starts: 2025-06-12 19:00, Thursday", "2025", "2025-06-12 19:00"),
        ("Starts: 2025-06-12", "2025", "2025-06-12"),
        ("It met in 2024.", "2024", "2024"),
        ("Children from 8 may turn the jack.", "8 may", "8"),
        ("It opens on 8 May.", "8 May", "8 May"),
        ("The museum reopens on 8 may.", "8 may", "8 may"),
        ("The strike began in May, 2000 workers stayed away.", "2000", "2000"),
        ("It met in May 2000 and June.", "2000", "May 2000"),
    ],
)
def test_a_date_is_whole_and_a_verb_is_no_month(text, found, whole):
    start = text.rindex(found)
    assert [span.text for span in cut_to_one_sentence(text, [Span(start, start + len(found), found, 1.0)])] == [whole]


def test_limits_that_differ_are_two_answers():
    assert not are_equal_answers("more than 50 people", "less than 50 people")
    assert are_equal_answers("about 50 people", "about 50 people")

"""Which answers can contradict each other: pairs made by hand, of each kind."""

import pytest

from preflight_rag.corg.comparability import (
    Statement,
    about_different_things,
    agree,
    direction,
    disagree,
    sentence_around,
    sure,
)

SAME = [
    ("330 metres", "The tower is 330 metres tall.", "0.33 km", "It rises to 0.33 km."),
    ("500 mg", "Adults take 500 mg.", "0.5 g", "The dose is 0.5 g a day."),
    ("12 May 2001", "It opened on 12 May 2001.", "2001", "It was opened in 2001."),
    ("no difference", "There was no difference in mortality.", "no effect", "It had no effect on mortality."),
    ("reduced mortality", "It reduced mortality.", "reduced mortality", "Statins reduced mortality."),
]
DISAGREE = [
    ("330 metres", "The tower is 330 metres tall.", "312 metres", "The tower is 312 metres tall."),
    ("5 km", "It is 5 km long.", "5 miles", "It is 5 miles long."),
    ("Ada Lovelace", "It was written by Ada Lovelace.", "Charles Babbage", "Charles Babbage wrote it."),
    ("1903", "It was founded in 1903.", "1905", "It was founded in 1905."),
    ("3,506", "In 2020 it had 3,506 people.", "3,559", "At the census of 2020 it had 3,559 people."),
    ("12 %", "At 6 months 12 % had died.", "20 %", "After six months 20 % had died."),
    ("$5 million", "It was $5 million in the first quarter.", "$7 million", "Q1 revenue was $7 million."),
    ("reduces", "Aspirin reduces the risk of stroke.", "increases", "Aspirin increases the risk of stroke."),
    ("lower", "Mortality was lower with the drug.", "higher", "Mortality was higher with the drug."),
    ("a benefit", "Patients had a benefit.", "no difference", "There was no difference."),
    ("improved survival", "It improved survival.", "no effect", "It had no effect on survival."),
    ("it helps", "Zinc: it helps.", "it does not help", "Zinc: it does not help."),
    ("yes", "The tower is in Paris.", "no", "The tower is not in Paris."),
]
APART = [
    ("3,559", "In 2010 Broken Bow had 3,559 people.", "3,506", "In 2020 Broken Bow had 3,506 people."),
    ("12 %", "At 6 months 12 % had died.", "20 %", "At 12 months 20 % had died."),
    ("12 %", "At week 24 12 % had died.", "20 %", "In the 12-week trial 20 % had died."),
    ("$5 million", "Revenue was $5 million in the first quarter.", "$7 million", "Q2 revenue was $7 million."),
    ("$5 million", "It was $5 million in the first quarter.", "$7 million", "It was $7 million in the fourth quarter."),
    ("$5 million", "In the first half it was $5 million.", "$7 million", "In Q1 it was $7 million."),
    ("12 %", "In arm A 12 % had died.", "20 %", "In arm B 20 % had died."),
    ("12 %", "12 % of the placebo group died.", "20 %", "In the treatment group 20 % died."),
    ("12 %", "In the 5 mg group 12 % died.", "20 %", "In the 10 mg group 20 % died."),
    ("4.5", "Men had a mean of 4.5.", "5.5", "Women had a mean of 5.5."),
    ("100 mg", "Children take 100 mg.", "300 mg", "The dose for adults is 300 mg."),
    ("500 mg", "The dose is 500 mg.", "12 %", "It lowered the rate by 12 %."),
    ("42", "There were 42 patients.", "37 %", "It was seen in 37 %."),
    ("1889", "It was finished in 1889.", "300 workers", "It took 300 workers."),
]


def statements(case):
    a, of_a, b, of_b = case
    return Statement(a, of_a), Statement(b, of_b)


@pytest.mark.parametrize("case", SAME, ids=lambda case: case[1])
def test_the_same_in_other_words_agrees(case):
    a, b = statements(case)
    assert agree(a, b)
    assert agree(b, a)
    assert not disagree(a, b)


@pytest.mark.parametrize("case", DISAGREE, ids=lambda case: case[1])
def test_different_answers_to_one_thing_disagree(case):
    a, b = statements(case)
    assert disagree(a, b)
    assert disagree(b, a)


@pytest.mark.parametrize("case", APART, ids=lambda case: case[1])
def test_answers_of_other_times_populations_or_units_are_told_apart(case):
    a, b = statements(case)
    assert about_different_things(a, b)
    assert about_different_things(b, a)
    assert not disagree(a, b)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("blood pressure increased significantly", 1),
        ("was associated with a lower risk", -1),
        ("there was no significant difference between groups", 0),
        ("it did not reduce mortality", 0),
        ("the rates were similar", 0),
        ("it was effective", 1),
        ("fewer deaths but more strokes", None),
        ("Broken Bow is a town", None),
    ],
)
def test_the_direction_of_an_effect(text, found):
    assert direction(text) == found


def test_only_what_a_reader_said_and_is_likely_is_sure():
    assert sure(told=True, confidence=None)
    assert sure(told=True, confidence=0.99)
    assert not sure(told=True, confidence=0.05)
    assert not sure(told=False, confidence=0.99)


def test_the_sentence_around_a_stretch():
    text = "It rains. In 2010 it had 3,559 people. It rains."
    at = text.index("3,559")
    assert sentence_around(text, at, at + 5).strip() == "In 2010 it had 3,559 people."

"""Offices that questions ask for the holder of."""

import pytest

from preflight_rag.text.offices import asked_office, attached_names, names_office, other_spelling, spelled_as_in

CHIEF = ("chief", "executive", "officer")


@pytest.mark.parametrize(
    ("question", "office"),
    [
        ("Who is the CEO of Adobe?", CHIEF),
        ("Who is Ulta Beauty's chief executive officer?", CHIEF),
        ("who is our safety manager?", ("safety", "manager")),
        ("Who was the president of France in 1990?", ("president",)),
        ("Who is the new managing director?", ("managing", "director")),
        ("Who became the first female president of Ireland?", ("president",)),
        ("Who is the captain of the ferry?", ("captain",)),
        ("Who is the deputy captain?", ("deputy", "captain")),
        ("Who is responsible for fire drills?", ()),
        ("Who is the author of the report?", ()),
        ("What does the president do?", ()),
    ],
)
def test_the_office_of_a_question_is_found(question, office):
    assert asked_office(question) == office


@pytest.mark.parametrize(
    ("text", "office", "named"),
    [
        ("Mr. Narayen is our Chairman and Chief Executive Officer.", CHIEF, True),
        ("Belsky served as its CEO.", CHIEF, True),
        ("Jane Roe, chief executive, spoke first.", CHIEF, True),
        ("Ms. Lewnes is Chief Marketing Officer.", CHIEF, False),
        ("She was Chief of Staff to the Chief Executive Officer.", CHIEF, False),
        ("Jo Orr is Vice President.", ("president",), False),
        ("Deputy captain: Jon Aas.", ("captain",), False),
        ("Deputy captain: Jon Aas.", ("deputy", "captain"), True),
        ("Jo Orr was elected to president.", ("president",), True),
        ("Max Meier is director of finance.", ("finance", "director"), True),
        ("Max Meier is director of sales.", ("finance", "director"), False),
    ],
)
def test_a_text_names_an_office_or_another_one(text, office, named):
    assert names_office(text, office) is named


def test_a_question_is_spelled_with_the_long_form_or_the_abbreviation():
    assert other_spelling("Who is the CFO?") == "Who is the chief financial officer?"
    assert other_spelling("Who is the Chief Financial Officer?") == "Who is the CFO?"
    assert other_spelling("Who is the chef?") == ""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Our Chief Financial Officer retired.", "Who is the chief financial officer?"),
        ("Our CFO retired.", "Who is the CFO?"),
        ("Our Chief Financial Officer (CFO) retired.", "Who is the CFO?"),
        ("Our Chief Executive Officer retired.", "Who is the chief financial officer?"),
        ("Our treasurer retired.", "Who is the CFO?"),
    ],
)
def test_a_question_is_spelled_as_a_text_spells_the_office(text, question):
    assert spelled_as_in("Who is the CFO?", text) == question


@pytest.mark.parametrize(
    ("text", "near", "names"),
    [
        ("Norwich City manager Mike Walker left.", "Mike Walker", ["Norwich City"]),
        ("Neil Orr, Huddersfield's manager, left.", "Neil Orr", ["Huddersfield"]),
        ("Neil Orr, manager of Huddersfield Town, left.", "Neil Orr", ["Huddersfield Town"]),
        ("The new manager Neil Orr left.", "Neil Orr", []),
        ("Neil Orr is the manager.", "Neil Orr", []),
    ],
)
def test_the_house_of_an_office_is_what_stands_with_it(text, near, names):
    assert attached_names(text, ("manager",), near=near) == names

"""Whether a sentence of a passage says what a statement says, nearly in its words."""

import pytest

from preflight_rag.text.restatements import restatement

NOTICE = "3.2 Either party may terminate by giving ten weeks' written notice to the end of a calendar month."
BOILER = "I would not repair it. A new Vaillant 24 kW with flue and filter comes to £2,460 fitted, old one taken away."
DOGS = "Dogs are not allowed in the Alder hut from May to June."
PRESSURE = "Ketamine increased the arterial blood pressure of the patients."


@pytest.mark.parametrize(
    ("statement", "title", "text", "found"),
    [
        ("Either party may terminate by giving ten weeks' written notice", "Contract", NOTICE, "whole"),
        ("Either party may terminate by giving 10 weeks' written notice", "Contract", NOTICE, "whole"),
        ("Either side must give ten weeks' written notice to the end of a calendar month", "Contract", NOTICE, "near"),
        ("The new boiler costs £2,460 fitted", "Your boiler", BOILER, "near"),
        ("In the Alder hut dogs are not allowed from May to June", "Huts", DOGS, "near"),
        ("The arterial blood pressure of the patients increased", "Ketamine", PRESSURE, "near"),
    ],
)
def test_a_statement_in_the_words_of_a_sentence_is_whole_or_near(statement, title, text, found):
    assert restatement(statement, title, text) == found


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            "Visitors must enter the museum through the north door on the square.",
            "Visitors must leave the museum through the north door on the square.",
        ),
        (
            "The tenant must give three months' notice to the landlord in writing.",
            "The landlord must give three months' notice to the tenant in writing.",
        ),
        (
            "The rent is 400 pounds a month and the deposit is 800 pounds.",
            "The rent is 800 pounds a month and the deposit is 400 pounds.",
        ),
    ],
)
def test_one_word_for_another_or_another_order_is_never_whole(statement, text):
    assert restatement(statement, "Note", text) != "whole"


@pytest.mark.parametrize(
    ("statement", "title", "text"),
    [
        pytest.param("The new boiler costs £2,640 fitted", "Your boiler", BOILER, id="another figure"),
        pytest.param(
            "Either party gives nine weeks' written notice to the end of a calendar month",
            "Contract",
            NOTICE,
            id="another number in words",
        ),
        pytest.param(
            "The company has sold its factory in Leeds",
            "Note",
            "It is a myth that the company has sold its factory in Leeds.",
            id="doubted",
        ),
        pytest.param("The new Worcester boiler costs £2,460 fitted", "Your boiler", BOILER, id="another name"),
        pytest.param("In the Alder hut dogs are allowed from May to June", "Huts", DOGS, id="the opposite"),
        pytest.param("The arterial blood pressure of the patients decreased", "Ketamine", PRESSURE, id="a fall"),
        pytest.param("written notice to the end of a calendar month", "Contract", NOTICE, id="no verb"),
        pytest.param("Calendar month", "Contract", NOTICE, id="a bare answer"),
        pytest.param("The contract began in a calendar month of last year", "Contract", NOTICE, id="other words"),
    ],
)
def test_another_figure_name_or_sense_is_not(statement, title, text):
    assert restatement(statement, title, text) is None

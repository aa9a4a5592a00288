"""Whether a sentence of a passage says what a statement says, nearly in its words."""

import pytest

from preflight_rag.text.restatements import is_restated

NOTICE = "3.2 Either party may terminate by giving ten weeks' written notice to the end of a calendar month."
BOILER = "I would not repair it. A new Vaillant 24 kW with flue and filter comes to £2,460 fitted, old one taken away."
DOGS = "Dogs are not allowed in the Alder hut from May to June."
PRESSURE = "Ketamine increased the arterial blood pressure of the patients."


@pytest.mark.parametrize(
    ("statement", "title", "text"),
    [
        ("Either side must give ten weeks' written notice to the end of a calendar month", "Contract", NOTICE),
        ("The new boiler costs £2,460 fitted", "Your boiler", BOILER),
        ("In the Alder hut dogs are not allowed from May to June", "Huts", DOGS),
        ("The arterial blood pressure of the patients increased", "Ketamine", PRESSURE),
    ],
)
def test_a_statement_in_the_words_of_a_sentence_is_restated(statement, title, text):
    assert is_restated(statement, title, text)


@pytest.mark.parametrize(
    ("statement", "title", "text"),
    [
        pytest.param("The new boiler costs £2,640 fitted", "Your boiler", BOILER, id="another figure"),
        pytest.param("The new Worcester boiler costs £2,460 fitted", "Your boiler", BOILER, id="another name"),
        pytest.param("In the Alder hut dogs are allowed from May to June", "Huts", DOGS, id="the opposite"),
        pytest.param("The arterial blood pressure of the patients decreased", "Ketamine", PRESSURE, id="a fall"),
        pytest.param("written notice to the end of a calendar month", "Contract", NOTICE, id="no verb"),
        pytest.param("Calendar month", "Contract", NOTICE, id="a bare answer"),
        pytest.param("The contract began in a calendar month of last year", "Contract", NOTICE, id="other words"),
    ],
)
def test_another_figure_name_or_sense_is_not(statement, title, text):
    assert not is_restated(statement, title, text)

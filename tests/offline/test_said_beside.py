"""Answers out of a sentence beside the one that says what is asked."""

import pytest

from preflight_rag.offline.said_beside import is_said_beside
from preflight_rag.state.reading import Source

PRIZE = "The Larkspur Prize goes this year to Mireille Tanaka."
TEXT = f"{PRIZE} She receives 5,000 crowns. The prize will be handed over on 5 December by Samir Haddad."
NOTES = Source(1, "d1", "Press release", TEXT)


@pytest.mark.parametrize(
    ("question", "quote", "is_beside"),
    [
        ("Who hands over the Larkspur Prize?", PRIZE, True),
        ("Who won the Larkspur Prize?", PRIZE, False),
        ("Which Mireille gets the Larkspur Prize handed this year?", PRIZE, False),
        ("To whom does the Larkspur Prize go?", PRIZE, False),
        ("How many crowns does the winner of the prize receive?", "She receives 5,000 crowns.", False),
        ("Who hands over the prize?", "The prize will be handed over on 5 December by Samir Haddad.", False),
    ],
)
def test_a_neighbour_has_the_words_that_the_quote_lacks(question, quote, is_beside):
    assert is_said_beside(question, NOTES, quote) is is_beside


def test_what_the_title_says_is_not_missing():
    titled = Source(1, "d1", "Handing over the prize", TEXT)
    assert not is_said_beside("Who hands over the Larkspur Prize?", titled, PRIZE)


def test_the_row_that_is_asked_for_need_not_have_all_words():
    text = "Prize: Larkspur | Given to: Mireille Tanaka\nThe prize will be handed over by Samir Haddad."
    assert not is_said_beside("Who is handed the Larkspur prize?", Source(1, "d", "", text), text.split("\n")[0])

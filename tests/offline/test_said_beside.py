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


@pytest.mark.parametrize(
    ("question", "text", "at"),
    [
        ("When was the poet Lina Aster born?", "The poet Lina Aster lives in Pelm.| She was born on 4 May 1901.", 1),
        ("Who rebuilt the library of Brenz?", "The library of Brenz opened in 1954.| It was rebuilt by Faber.", 1),
        (
            "When was the company Brightwell founded?",
            "Orla founded Brightwell in 1998.| The company Brightwell sells.",
            0,
        ),
        ("Who was mayor of Brenz before Holt?", "Holt is the mayor of Brenz.| Before her, Rieger was in office.", 1),
    ],
)
def test_a_neighbour_that_only_names_the_subject_says_nothing_more(question, text, at):
    source = Source(1, "d1", "Notes", text.replace("|", ""))
    assert not is_said_beside(question, source, text.split("|")[at].strip())


def test_a_verb_at_the_end_of_the_question_may_be_said_beside():
    text = "The mill was built in 1871 by Johann Petz. The mill was sold in 1902."
    assert is_said_beside("When was the mill sold?", Source(1, "d1", "Notes", text), text[:42])

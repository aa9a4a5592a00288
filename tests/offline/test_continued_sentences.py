"""Quotes with the sentence that goes on about the same thing."""

import pytest

from preflight_rag.offline.continued_sentences import with_neighbour
from preflight_rag.state.reading import Source

BUILT = "Fourteen new parking spaces will be built behind hall 3."
READY = "They will not be ready before September."
NEXT = "Charging points are planned for two of them."
QUESTION = "When will the parking spaces be ready?"


def quote_of(text, quote, question=QUESTION, title="Minutes"):
    return with_neighbour(question, quote, Source(1, "a", title, text))


def test_the_sentence_behind_is_shown_with_its_subject():
    assert quote_of(f"{BUILT} {READY} {NEXT}", BUILT) == f"{BUILT} {READY}"


def test_the_sentence_behind_is_shown_if_it_has_all_that_is_missing():
    kept, store = "Humidity in the galleries is kept at 45 to 60 %.", "In the Net Store it is kept at 40 to 55 %."
    asked = "What is the humidity in the Net Store?"
    assert quote_of(f"{kept} {store}", kept, asked) == f"{kept} {store}"
    assert quote_of(f"{kept} In the shop it is warm.", kept, asked) == kept


def test_the_value_of_a_setting_is_shown_with_what_it_sets():
    sets, value = "Change the volume size to a number of MB.", "Default is 200MB."
    assert quote_of(f"{sets} {value} Use with care.", sets, "What is the default volume size?") == f"{sets} {value}"
    assert quote_of(f"{sets} Use with care.", sets, "What is the default volume size?") == sets


def test_the_bound_of_a_rise_is_shown_with_the_rise():
    rise = "The Landlord may increase the rent once in each year with effect from 1 April."
    bound = "No increase shall be more than 3% of the rent."
    assert quote_of(f"{rise} {bound}", rise, "By how much can the rent go up each year?") == f"{rise} {bound}"


def test_a_sentence_that_begins_with_a_pronoun_is_shown_with_the_one_before():
    assert quote_of(f"{BUILT} {READY} {NEXT}", READY) == f"{BUILT} {READY}"


@pytest.mark.parametrize(
    ("quote", "behind", "question"),
    [
        ("The supper is on Saturday at the Swan.", "Two courses are £18.", "How much is the supper?"),
        ("A motion to sell the organ needed two thirds.", "It received 12 votes and fell.", "Was the organ sold?"),
        (
            "Mr Ode asked why the fair made a loss.",
            "The marquee had cost twice as much.",
            "Why did the fair lose money?",
        ),
        ("Cider is suitable for vegans.", "Ale is fined with isinglass.", "Is the ale suitable for vegans?"),
        (
            "Heat the milk for ten minutes.",
            "For large copper pans make it 15.",
            "How long is milk in large copper pans?",
        ),
        ("The organ came late.", "A fire had stopped the builder's work.", "Why did the organ come late?"),
    ],
)
def test_the_sentence_behind_is_shown_if_it_has_what_is_asked_for(quote, behind, question):
    assert quote_of(f"{quote} {behind} {NEXT}", quote, question) == f"{quote} {behind}"


@pytest.mark.parametrize(
    ("quote", "behind", "question"),
    [
        ("The supper is £18 at the Swan.", "Wine is £4 a glass.", "How much is the supper?"),
        ("A motion to sell the organ needed two thirds.", "Rain fell all evening.", "Was the organ sold?"),
        ("The organ came late because of a fire.", "It was tuned in May.", "Why did the organ come late?"),
        ("Mr Ode asked for a recount.", "The marquee had cost twice as much.", "Did Mr Ode ask for a recount?"),
    ],
)
def test_a_quote_that_has_what_is_asked_for_stays_alone(quote, behind, question):
    assert quote_of(f"{quote} {behind}", quote, question) == quote


@pytest.mark.parametrize(
    ("text", "quote", "question", "title"),
    [
        pytest.param(f"{BUILT} {READY}", BUILT, "Where are the parking spaces built?", "Minutes", id="adds nothing"),
        pytest.param(f"{BUILT} {READY}", BUILT, "Which are ready?", "Ready for autumn", id="the title has the word"),
        pytest.param(f"{BUILT}\n\n{READY}", BUILT, QUESTION, "Minutes", id="another paragraph"),
        pytest.param(f"{BUILT} The lifts are ready.", BUILT, QUESTION, "Minutes", id="another subject"),
        pytest.param(f"{BUILT} They {'really ' * 90}are ready.", BUILT, QUESTION, "Minutes", id="too long"),
        pytest.param(READY, "Not in the passage.", QUESTION, "Minutes", id="no quote of the passage"),
    ],
)
def test_any_other_quote_stays_as_it_is(text, quote, question, title):
    assert quote_of(text, quote, question, title) == quote

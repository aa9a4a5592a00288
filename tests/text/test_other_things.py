"""Sentences about another thing of the kind that a question names."""

import pytest

from preflight_rag.state.reading import Source
from preflight_rag.text.other_things import answers_to, is_of_another_thing, says_about, subject_words
from preflight_rag.text.words import words

VOLUNTEER = "Walter Finch received the county's volunteer award."
LEASE = "The lease of the café ends on 31 December 2029."
EXERCISE = "The last salvage exercise was on 9 October; 14 people took part."
PHOTOS = "Commercial photography costs £120 for half a day."
OPENING = "Event: Opening of the Deep Water gallery | Starts: 2025-05-17 | Notes: Ribbon cut by Nell Ashcombe."


def is_another(question, text, title="", heading="", before=""):
    return is_of_another_thing(question, Source(1, "p", title, f"{before} {text}".strip(), heading=heading), text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who received the county's education award?", VOLUNTEER),
        ("Who received the national volunteer award?", VOLUNTEER),
        ("When does the shop's lease end?", LEASE),
        ("When did the lease of the shop end?", LEASE),
        ("How many people took part in the fire drill?", EXERCISE),
        ("How many people took part in the flood exercise?", EXERCISE),
        ("How much does drone photography cost?", PHOTOS),
        ("Who cut the ribbon at the opening of the shop?", OPENING),
        ("What is the price of apple juice?", "Orange juice is £2.10 a bottle."),
        ("How much did the repair of the boiler cost?", "The repair of the roof cost £5,000."),
        ("Who chairs the finance committee?", "Ann Bell chairs the building committee."),
    ],
)
def test_a_noun_with_another_qualifier_is_another_thing(question, text):
    assert is_another(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who received the county's volunteer award?", VOLUNTEER),
        ("When does the café's lease end?", LEASE),
        ("How many people took part in the last salvage exercise?", EXERCISE),
        ("How much does commercial photography cost?", PHOTOS),
        ("Who cut the ribbon at the opening of the gallery?", OPENING),
        ("When did the company acquire Boots?", "Walgreens acquired Boots in 2014."),
        ("Which city hosts the festival?", "Montreal hosts the festival every summer."),
        ("What is the total budget?", "The approved budget is £4,000."),
        ("How long must the nets soak?", "They soak for two days."),
        ("What is the recommended dose for adults?", "The usual adult dose is 500 mg."),
        ("What was the primary outcome?", "The main outcome was mortality."),
        ("What is the phone number of the office?", "The office's telephone number is 555-0101."),
    ],
)
def test_a_noun_with_the_qualifier_of_the_question_or_none_is_the_same_thing(question, text):
    assert not is_another(question, text)


def test_a_qualifier_may_stand_in_the_title_the_heading_or_what_a_pronoun_points_at():
    question, text = "When does the shop's lease end?", "The ground lease ends in 2029."
    assert is_another(question, text)
    assert not is_another(question, text, title="Letter about the shop")
    assert not is_another(question, text, heading="Shop")
    assert not is_another(question, "Its lease of five years ends in 2029.", before="The shop is run by Ann.")
    assert is_another(question, text, before="The shop is run by Ann."), "the sentence points at nothing before it"
    built = "It was built in 1790."
    assert not is_another("When was the old mill built?", built, before="The old mill stands at the weir.")
    assert is_another("When was the old mill built?", built, before="The bridge is of stone.")


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How much is the resident's pass?", "Ticket: Annual pass, single | Price: £27.00", False),
        ("How much is the annual pass?", "Ticket: Annual pass, single | Price: £27.00", True),
        ("How long will the asbestos removal last?", "Loans last three years at most.", False),
        ("How long do loans last?", "Loans last three years at most.", True),
        ("What is the fee for a loan to an accredited museum?", "Requests are made three months before.", False),
    ],
)
def test_what_answers_has_half_of_the_words_and_the_thing(question, text, expected):
    assert answers_to(question, Source(1, "p", "", text), text) is expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Why did the boat turn over?", "The boat turned over because the float was missing.", True),
        ("Why did the boat turn over?", "The boat turned over at noon.", False),
        ("Why was the vet dismissed?", "Vet in charge: Dr Ann Lind", False),
        ("How do I send in a manuscript?", "Send the first three chapters.", True),
        ("What happened to the dog in the practice last August?", "Dogs wear a collar.", False),
        ("How is the shop's roof kept clean?", "The roof of the mill is kept clean.", False),
    ],
)
def test_what_is_said_about_a_question_has_a_third_of_its_words_and_a_reason(question, text, expected):
    assert says_about(question, Source(1, "p", "", text), text) is expected


def test_what_is_asked_of_a_thing_is_no_part_of_its_name() -> None:
    assert subject_words("How much was paid for the alcohol testers?") == frozenset(words("alcohol testers"))

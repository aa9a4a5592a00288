"""Prices below classes of sizes: the one of the size that is asked for, and none of a size on a border."""

import pytest

from preflight_rag.offline.class_columns import answer_from_size_classes, is_name_of_size_class
from preflight_rag.state.reading import Source

SPAY = "Surgery. | Procedure: Spay bitch | Up to 10 kg: 329 | 10-25 kg: 378 | 25-40 kg: 442 | Over 40 kg: 521"
SCALE = "Procedure: Scale and polish | Up to 10 kg: 285 | 10-25 kg: 310 | 25-40 kg: 345 | Over 40 kg: 380"
DOG = "Procedure: Castration dog | Up to 10 kg: 248 | 10-25 kg: 289 | 25-40 kg: 336 | Over 40 kg: 398"
NAILS = "Item: Nail clip | Dog: 17 | Cat: 15"


def drafted(question, *more):
    text = "\n".join([SPAY, SCALE, DOG, *more])
    return answer_from_size_classes(question, [Source(1, "p", "Price list", text, document_id="d")], "LEAD")


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much does a 30 kg bitch cost to spay?", "442"),
        ("What do you charge to spay a 9kg bitch?", "329"),
        ("What is the price of scale and polish for a dog over 40 kg?", "380"),
        ("How much is the castration of a dog up to 10 kg?", "248"),
    ],
)
def test_the_cell_of_the_size_answers(question, short):
    draft = drafted(question)
    assert draft.claims
    assert draft.short == short


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How much does a 25 kg bitch cost to spay?", [SPAY]),  # of two classes
        ("How much does a 30 kg bitch cost to spay in 2019?", [SPAY]),
        ("How much did a 30 kg bitch cost to spay at night?", [SPAY]),
        ("How much is a polish for a 30 kg dog?", [SCALE, DOG]),
    ],
)
def test_what_is_not_sure_is_shown(question, rows):
    draft = drafted(question)
    assert not draft.claims
    assert [quote for _, quote in draft.quotes] == rows


@pytest.mark.parametrize(
    "question",
    [
        "How much more does a 30 kg bitch cost to spay?",
        "How much less is it to spay a 30 kg bitch?",
        "What is the difference in price to spay a 30 kg bitch?",
        "How much extra do you charge to spay a 30 kg bitch?",
        "How many spays of a 30 kg bitch are there?",
        "How many do you charge to spay a 30 kg bitch?",
        "How much did it cost to spay a 30 kg bitch?",
        "How much does a 30 kg bitch cost to spay before?",
        "How much does it cost to spay a bitch after 30 kg?",
        "How much does it not cost to spay a 30 kg bitch?",
        "How much did a 30 kg bitch cost to spay last year?",
        "How much does it cost to spay both a 30 kg bitch?",
        "How much does it cost to spay a bitch and a 30 kg bitch?",
    ],
)
def test_words_that_ask_for_another_figure_forbid_the_claim(question):
    draft = drafted(question)
    assert not draft.claims
    assert [quote for _, quote in draft.quotes] == [SPAY]


def test_a_word_for_another_figure_may_be_the_name_of_the_row():
    row = "Ticket: Last minute ticket after noon | 0-4 years: 2 | 5-15 years: 4 | 16-64 years: 8"
    assert drafted("How much is a last minute ticket after noon for 20 years?", row).short == "8"
    other = "Ticket: Day ticket | 0-4 years: 5 | 5-15 years: 6 | 16-64 years: 9"
    assert not drafted("How much is the last day ticket for 20 years?", row, other).claims


def test_two_prices_of_one_row_are_both_shown():
    other = SPAY.replace("442", "450")
    draft = drafted("How much does a 30 kg bitch cost to spay?", other)
    assert [quote for _, quote in draft.quotes] == [SPAY, other]
    assert not draft.claims


@pytest.mark.parametrize(
    "question",
    [
        "When is a 30 kg bitch spayed?",
        "How much does a bitch cost to spay?",
        "How much is a nail clip for a 30 kg dog?",
        "How much does a 30 year old bitch cost to spay?",
    ],
)
def test_other_questions_are_left_to_others(question):
    lines = [NAILS, SPAY] if "nail" in question else [SPAY]
    assert (
        answer_from_size_classes(question, [Source(1, "p", "Price list", "\n".join(lines), document_id="d")], "LEAD")
        is None
    )


def test_the_name_of_a_class_is_no_answer():
    assert is_name_of_size_class("Up to 10 kg: 329", SPAY)
    assert is_name_of_size_class("10-25 kg", SPAY)
    assert not is_name_of_size_class("329", SPAY)
    assert not is_name_of_size_class("Dog", NAILS)

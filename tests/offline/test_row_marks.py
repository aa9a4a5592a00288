"""Rows of a table of which a question asks what a column of yes and no says; which rows fit was worked out by hand."""

from __future__ import annotations

import pytest

from preflight_rag.offline.row_marks import marked_rows
from preflight_rag.state.reading import Source

TAVERNS = [
    "Tavern: The Anchor | Town: Whitby | Dogs allowed: Yes | Terrace: No",
    "Tavern: The Swan | Town: Ripon | Dogs allowed: No | Terrace: Yes",
    "Tavern: Red Lion | Town: Selby | Dogs allowed: Yes | Terrace: Yes",
    "Tavern: The Plough | Town: Malton | Dogs allowed: No | Terrace: No",
]
HUTS = [
    "Hut: Alder | Showers: x | Non-smoking: true | Wood stove: -",
    "Hut: Birch | Showers: not marked | Non-smoking: false | Wood stove: x",
    "Hut: Cedar | Showers: x | Non-smoking: true | Wood stove: x",
]
INVOICES = [
    "Invoice: A1 | Customer: Berg | Paid: Y | No reminder: N",
    "Invoice: A2 | Customer: Dahl | Paid: N | No reminder: Y",
    "Invoice: A3 | Customer: Lund | Paid: N, in dispute | No reminder: N",
]
RULES = [
    "Activity: Open fires | Allowed: [not ticked]",
    "Activity: Swimming | Allowed: [ticked]",
    "Activity: Camping | Allowed: [crossed, not ticked]",
]


def drafted(question, *tables):
    sources = [Source(n, f"p{n}", "Lists", "\n".join(lines), document_id=f"d{n}") for n, lines in enumerate(tables, 1)]
    return marked_rows(question, sources)


@pytest.mark.parametrize(
    ("question", "lines", "expected"),
    [
        ("Which tavern does not allow dogs?", TAVERNS, "The Swan, The Plough"),
        ("Which taverns don't allow dogs?", TAVERNS, "The Swan, The Plough"),
        ("Which taverns dont allow dogs", TAVERNS, "The Swan, The Plough"),
        ("Which taverns ban dogs?", TAVERNS, "The Swan, The Plough"),
        ("In which taverns are dogs not allowed?", TAVERNS, "The Swan, The Plough"),
        ("Where are dogs not allowed?", TAVERNS, "The Swan, The Plough"),
        ("Show me all taverns that are dog-friendly", TAVERNS, "The Anchor, Red Lion"),
        ("How many taverns allow dogs?", TAVERNS, "The Anchor, Red Lion"),
        ("Which taverns allow dogs and have a terrace?", TAVERNS, "Red Lion"),
        ("Which tavern has a terrace but does not allow dogs?", TAVERNS, "The Swan"),
        ("Which tavern in Malton does not allow dogs?", TAVERNS, "The Plough"),
        ("Which pub does not allow dogs?", TAVERNS, "The Swan, The Plough"),
        ("Which huts have showers?", HUTS, "Alder, Cedar"),
        ("Which hut has no showers?", HUTS, "Birch"),
        ("Which huts are without a wood stove?", HUTS, "Alder"),
        ("Which huts are non-smoking?", HUTS, "Alder, Cedar"),
        ("Which hut is not non-smoking?", HUTS, "Birch"),
        ("Which invoices are unpaid?", INVOICES, "A2, A3"),
        ("Which invoices have not been paid?", INVOICES, "A2, A3"),
        ("Which invoices are paid?", INVOICES, "A1"),
        ("Which activities are not allowed?", RULES, "Open fires, Camping"),
        ("Which activities are allowed?", RULES, "Swimming"),
    ],
)
def test_the_rows_are_shown_that_say_what_is_asked_for(question, lines, expected):
    draft = drafted(question, lines)
    assert [quote.split(" | ")[0].split(": ")[1] for _, quote in draft.quotes] == expected.split(", ")
    assert draft.text.startswith("Rows found in which “")
    assert not draft.claims


def test_the_line_above_says_which_column_was_read():
    assert "Rows found in which “Dogs allowed” is no:" in drafted("Which tavern does not allow dogs?", TAVERNS).text
    text = drafted("Which taverns have a terrace and allow dogs?", TAVERNS).text
    assert "“Terrace” is yes and “Dogs allowed” is yes:" in text


def test_all_rows_are_shown_where_none_is_so():
    draft = drafted("Which tavern does not allow dogs?", [TAVERNS[0], TAVERNS[2]])
    assert draft.text.startswith("In none of the rows found is it so that “Dogs allowed” is no:")
    assert len(draft.quotes) == 2


def test_more_rows_than_are_shown_are_counted():
    rows = [f"Tavern: Number {n} | Dogs allowed: No" for n in range(12)]
    assert "(the first 10 of 12)" in drafted("Which taverns do not allow dogs?", rows).text


@pytest.mark.parametrize(
    "question",
    [
        "Which dogs are allowed?",  # asks for no taverns
        "Which taverns charge for dogs?",
        "Which taverns allow large dogs?",
        "Which tavern in Whitstable does not allow dogs?",
        "Which taverns allow dogs or have a terrace?",
        "Which taverns allow only dogs?",
        "Which tavern is the oldest?",
        "Does The Swan allow dogs?",
        "Why does The Swan not allow dogs?",
    ],
)
def test_other_questions_are_left_to_the_reader(question):
    assert drafted(question, TAVERNS) is None


def test_rows_of_something_else_are_left_where_another_document_speaks_of_it():
    hotels = ["The Grand hotel takes no dogs. The Station hotel allows dogs in two rooms."]
    assert drafted("Which hotel does not allow dogs?", TAVERNS, hotels) is None


@pytest.mark.parametrize(
    "cells",
    [
        ("Yes", "Only in the garden", "Ask first"),  # mostly something else
        ("2", "0", "1"),
        ("Alsatians", "Terriers", "None"),
    ],
)
def test_a_column_of_something_else_is_left_to_the_reader(cells):
    rows = [f"Tavern: Number {n} | Dogs allowed: {cell}" for n, cell in enumerate(cells)]
    assert drafted("Which tavern does not allow dogs?", rows) is None


def test_what_is_neither_yes_nor_no_is_shown_for_neither():
    rows = [*TAVERNS, "Tavern: The Bell | Town: York | Dogs allowed: unknown | Terrace: No"]
    for question in ("Which taverns allow dogs?", "Which taverns do not allow dogs?"):
        assert not any("The Bell" in quote for _, quote in drafted(question, rows).quotes)


def test_a_column_is_read_by_itself_where_two_are_meant_alike():
    rows = ["Tavern: A | Dogs welcome: Yes | Dogs allowed: No", "Tavern: B | Dogs welcome: No | Dogs allowed: Yes"]
    assert [quote for _, quote in drafted("Which tavern allows dogs?", rows).quotes] == [rows[1]]
    assert drafted("Which tavern takes dogs in?", rows) is None

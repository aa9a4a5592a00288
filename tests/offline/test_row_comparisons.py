"""Rows of a table of which a question compares two columns; which rows fit was worked out by hand."""

from __future__ import annotations

import pytest

from preflight_rag.offline.row_comparisons import compared_rows, row_comparison_of
from preflight_rag.state.reading import Source

STOCK = [
    "Stock list. | Item: Bolts | Price: $2.00 | In stock: 12 | Reorder level: 20",
    "Item: Nuts | Price: $1.50 | In stock: 80 | Reorder level: 40",
    "Item: Washers | Price: $0.10 | In stock: 1,200 | Reorder level: 1,500",
    "Item: Screws | Price: $3.00 | In stock: 30 | Reorder level: 30",
]
PROJECTS = [
    "Projects. | Project: Alder | Budget: $10,000 | Actual cost: $12,500",
    "Project: Birch | Budget: $90,000 | Actual cost: $8,000",
    "Project: Cedar | Budget: $5,000 | Actual cost: $5,001",
]
SALES = [
    "Sales. | Branch: North | Sales, 2021: 40 | Sales, 2022: 55 | Returns: 60",
    "Branch: South | Sales, 2021: 70 | Sales, 2022: 61 | Returns: 9",
]


GERMAN = [
    "Artikel. | Item: Nüsse | Price: 9,25 | Target price: 10,5",
    "Item: Mehl | Price: 11,5 | Target price: 10,25",
]


def drafted(question, *tables):
    sources = [Source(n, f"p{n}", "Lists", "\n".join(lines), document_id=f"d{n}") for n, lines in enumerate(tables, 1)]
    return compared_rows(question, sources, "LEAD")


@pytest.mark.parametrize(
    ("question", "tables", "expected", "header"),
    [
        ("Which items are below their reorder level?", (PROJECTS, STOCK), "Bolts Washers", "“In stock” is below"),
        ("Show me all the items below reorder level", (STOCK,), "Bolts Washers", "“In stock” is below"),
        ("Which stock items have fallen below their reorder level?", (STOCK,), "Bolts Washers", "“In stock” is below"),
        ("How many items are below their reorder level?", (STOCK,), "Bolts Washers", "“In stock” is below"),
        ("Which projects went over budget?", (PROJECTS,), "Alder Cedar", "“Actual cost” is above “Budget”"),
        ("Which items are above their reorder level?", (STOCK,), "Nuts", "“In stock” is above “Reorder level”"),
        ("Which projects cost more than their budget?", (STOCK, PROJECTS), "Alder Cedar", "“Actual cost” is above"),
        ("Which projects spent less than their budget?", (PROJECTS,), "Birch", "“Actual cost” is below “Budget”"),
        ("Which projects exceeded their budget?", (PROJECTS,), "Alder Cedar", "“Actual cost” is above “Budget”"),
        ("Which branches had higher sales in 2022 than in 2021?", (SALES,), "North", "“Sales, 2022” is above"),
        ("Which branch had more returns than sales in 2022?", (SALES,), "North", "“Returns” is above “Sales, 2022”"),
    ],
)
def test_the_rows_that_fit_are_shown_and_nothing_is_claimed(question, tables, expected, header):
    draft = drafted(question, *tables)
    assert len(draft.quotes) == len(expected.split())
    assert all(f": {name} |" in quote for name, (_, quote) in zip(expected.split(), draft.quotes, strict=True))
    assert header in draft.text
    assert not draft.claims


def test_more_rows_than_are_shown_are_counted():
    rows = [f"Item: Part {n} | In stock: 1 | Reorder level: {n}" for n in range(2, 14)]
    assert "(the first 10 of 12)" in drafted("Which items are below their reorder level?", rows).text


def test_all_rows_are_shown_where_none_fits():
    draft = drafted("Which projects cost less than their budget?", [PROJECTS[0], PROJECTS[2]])
    assert "In none of the rows found is “Actual cost” below “Budget”" in draft.text
    assert len(draft.quotes) == 2


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("Which items exceeded their price?", STOCK),  # by stock or by reorder level
        (
            "Which projects cost more than their budget?",
            [*PROJECTS, "Project: Dogwood | Budget: open | Actual cost: $4"],
        ),
        ("Which projects cost more than their budget?", [*PROJECTS, "Project: Elm | Budget: €9 | Actual cost: $4"]),
    ],
)
def test_all_rows_are_shown_where_they_cannot_be_compared(question, lines):
    draft = drafted(question, lines)
    assert draft.text.startswith("LEAD")
    assert len(draft.quotes) == len(lines)


@pytest.mark.parametrize(
    "question",
    [
        "Which projects did not cost more than their budget?",
        "Which trial enrolled more than 300 patients?",
        "Which patients were over 65 years?",
        "Which item costs the most?",
        "Which doctors are under their supervisor?",
    ],
)
def test_other_questions_are_left_to_the_reader(question):
    assert drafted(question, STOCK, PROJECTS) is None


def test_a_column_without_figures_is_compared_with_nothing():
    rows = ["Drug: Alpha | Dose: 5 | Supervisor: Mary", "Drug: Beta | Dose: 6 | Supervisor: John"]
    assert drafted("Which drugs are under a supervisor?", rows) is None
    assert drafted("Which drugs are under their supervisor?", rows) is None


def test_a_question_names_its_columns():
    asked = row_comparison_of("Which items are below their reorder level?")
    assert (asked.first, asked.above) == (frozenset(), False)
    assert row_comparison_of("Why is the sky blue?") is None


def test_a_decimal_comma_is_read_as_one():
    draft = drafted("Which items have a price above their target price?", GERMAN)
    assert [quote for _, quote in draft.quotes] == GERMAN[1:]


def test_figures_with_a_comma_and_a_point_for_decimals_are_not_compared():
    mixed = [GERMAN[0], "Item: Mehl | Price: 11.5 | Target price: 10.25"]
    draft = drafted("Which items have a price above their target price?", mixed)
    assert draft.text.startswith("LEAD")
    assert [quote for _, quote in draft.quotes] == mixed


def test_a_level_is_also_a_column_without_that_word():
    stock = ["Article: A | Stock: 80 | Reorder at: 250", "Article: B | Stock: 900 | Reorder at: 250"]
    draft = drafted("Which articles are below their reorder level?", stock)
    assert [quote for _, quote in draft.quotes] == stock[:1]

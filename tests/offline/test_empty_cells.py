"""Rows with nothing in a column."""

import pytest

from preflight_rag.offline.empty_cells import rows_without_any
from preflight_rag.state.reading import Source

TICKETS = (
    "Ticket: T-1 | Title: Printer jams | Owner: Ana | Closed: 2026-01-03",
    "Ticket: T-2 | Title: Door squeaks | Owner: -",
    "Ticket: T-3 | Title: Lamp broken | Owner: Bo",
    "Ticket: T-4 | Title: Heating cold | Closed: n/a",
)
PARTS = (
    "Part: P-1 | Name: Hinge | Stock: 0",
    "Part: P-2 | Name: Hose | Stock: 30",
    "Part: P-3 | Name: Seal | Stock: 0",
)


def sources(*tables, title="Lists"):
    return [Source(n, f"p{n}", title, "\n".join(lines), document_id=f"d{n}") for n, lines in enumerate(tables, 1)]


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which tickets have no owner?", [TICKETS[1], TICKETS[3]]),
        ("Which of the tickets are still without an owner yet?", [TICKETS[1], TICKETS[3]]),
        ("Which tickets lack an owner?", [TICKETS[1], TICKETS[3]]),
        ("Which tickets are not closed yet?", [TICKETS[1], TICKETS[2], TICKETS[3]]),
        ("Which tickets are still open?", [TICKETS[1], TICKETS[2], TICKETS[3]]),
        ("Which tickets have not been closed?", [TICKETS[1], TICKETS[2], TICKETS[3]]),
        ("Which parts are out of stock?", [PARTS[0], PARTS[2]]),
    ],
)
def test_the_rows_with_nothing_in_the_column_are_shown(question, rows):
    draft = rows_without_any(question, sources(TICKETS, PARTS))
    assert [quote for _, quote in draft.quotes] == rows
    assert not draft.claims


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("Which tickets have no colour?", id="no such column"),
        pytest.param("Which parts have no name?", id="all have one"),
        pytest.param("Which employees have no owner?", id="no such rows"),
        pytest.param("Which tickets have an owner?", id="asks for the others"),
        pytest.param("Why do some tickets have no owner?", id="asks why"),
    ],
)
def test_other_questions_are_left_to_others(question):
    assert rows_without_any(question, sources(TICKETS, PARTS)) is None


def test_what_is_unpaid_is_what_is_not_paid():
    bills = ("Bill: 1 | Paid: 2026-02-01", "Bill: 2 | Paid: no", "Bill: 3 | Sum: 40 EUR")
    draft = rows_without_any("Which bills are unpaid?", sources(bills))
    assert [quote for _, quote in draft.quotes] == [bills[1], bills[2]]


def test_how_many_of_the_rows_are_shown_stands_above_them():
    lines = [f"Room: {n} | Desk: {'none' if n % 2 else 'oak'}" for n in range(40)]
    draft = rows_without_any("Which rooms have no desk?", sources(lines))
    assert len(draft.quotes) == 10
    assert draft.text.startswith("Rows found without “Desk” (the first 10 of 20):")

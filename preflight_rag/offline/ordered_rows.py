"""Rows of a table in the order of a column, where a question compares its rows: "Which bar is the dearest?".

The line above the rows says which column they are ordered by; which row is meant is left to who reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.offline.figure_styles import bare_figure, has_decimal_comma
from preflight_rag.offline.table_rows import TableLine, shown_rows
from preflight_rag.state.reading import Draft
from preflight_rag.text.headers import rows_by
from preflight_rag.text.tables import Cell
from preflight_rag.text.words import words

PRICE = frozenset(words("price"))
"""Index terms of what a question for the cheapest or dearest measures; it names no column."""
LENGTH = frozenset(words("length duration"))
"""The same for the longest and the shortest."""
_PRICES = frozenset(words("price cost fee rate fare charge tariff"))
_WHOLE = frozenset(words("total overall length duration"))
"""Words of the column that says how long something takes in all, where others say it of its parts."""
_LENGTH = re.compile(
    r"\d[\d.,]* ?(?:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|yrs?)", re.IGNORECASE
)
_BLANK = re.compile(r"[-–—./ ]{1,5}|n/?a|none|nil", re.IGNORECASE)
"""A cell that says that a row has nothing in a column."""
_NO_ITEM = re.compile(r"\b(?:(?:sub|grand )?totals?|sum|average|mean|vat|carried forward)\b", re.IGNORECASE)
"""Labels of rows that add up other rows."""


def measured_place(what: frozenset[str], line: TableLine) -> int | None:
    """Return the index of the only cell of a row whose column's name contains some index terms; else None."""
    places = []
    for place, cell in enumerate(line.row.cells):
        names = frozenset(words(cell.column))
        called = what <= names or (what == PRICE and bool(names & _PRICES))
        if place and called:
            places.append(place)
    return places[0] if len(places) == 1 else None


def measured_column(what: frozenset[str], rows: Sequence[TableLine]) -> str:
    """Return the only column of a table that holds the measured quantity; "" if none does, or several may.

    Args:
        what: Index terms of the quantity, `PRICE` or `LENGTH`.
        rows: All rows of the table.
    """
    names = dict.fromkeys(cell.column for line in rows for cell in line.row.cells if cell.column)
    names.pop(rows[0].row.cells[0].column, None)
    terms = {name: frozenset(words(name)) for name in names}
    if what == LENGTH:
        found = [name for name in names if _is_of_lengths(name, terms[name], rows)]
        exact = [name for name in found if terms[name] & _WHOLE]
    elif what == PRICE:
        found = [name for name in names if terms[name] & _PRICES]
        exact = [name for name in found if terms[name] <= _PRICES]
    else:
        found = [name for name in names if what <= terms[name]]
        exact = [name for name in found if what == terms[name]]
    chosen = exact if len(exact) == 1 else found
    return chosen[0] if len(chosen) == 1 else ""


def _is_of_lengths(name: str, terms: frozenset[str], rows: Sequence[TableLine]) -> bool:
    """Return whether a column says how long something is or takes, by its cells' units or by its name."""
    texts = [cell.text for line in rows if (cell := cell_of(name, line)) is not None]
    is_named = bool(terms & LENGTH) and all(bare_figure(text) for text in texts)
    return len(texts) > 1 and (is_named or all(_LENGTH.fullmatch(text) for text in texts))


def cell_of(column: str, line: TableLine) -> Cell | None:
    """Return a row's cell in a column; None if it has none, or one that says so."""
    cell = next((cell for cell in line.row.cells if cell.column == column), None)
    return None if cell is None or _BLANK.fullmatch(cell.text.strip()) else cell


def items(column: str, rows: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows that have something in a column and are of one thing, not the sum of others."""
    return [line for line in rows if cell_of(column, line) and not _NO_ITEM.search(line.row.cells[0].text)]


def in_order(column: str, rows: Sequence[TableLine], *, most: bool) -> list[TableLine] | None:
    """Return rows ordered by their figures in a column; None if the figures cannot be compared.

    They cannot if they have different units, if the decimal sign is unclear, or if a cell is no figure.
    """
    comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    cells = [cell for line in rows if (cell := cell_of(column, line)) is not None]
    found = [bare_figure(cell.text, decimal_comma=bool(comma)) for cell in cells]
    figures = [figure for figure in found if figure is not None]
    if comma is None or len(figures) < len(rows) or len({unit for _, unit in figures}) > 1:
        return None
    sizes = [size for size, _ in figures]
    order = sorted(range(len(rows)), key=lambda place: sizes[place] * (-1 if most else 1))
    return [rows[place] for place in order]


def rows_in_order(column: str, rows: Sequence[TableLine], lead: str, *, most: bool) -> Draft | None:
    """Return a table's rows ordered by a column, those with the most, or the least, first.

    The table's own order is kept if its figures cannot be compared, and for a single row.

    Args:
        column: The column.
        rows: Rows that have a cell in it: all of the table, since one that is left out may have the most.
        lead: The line above rows in the table's own order.
        most: Whether the largest figure is first.
    """
    ordered = in_order(column, rows, most=most) if len(rows) > 1 else None
    return (
        shown_rows(rows, lead, "extreme")
        if ordered is None
        else shown_rows(ordered, rows_by(column, most=most), "extreme")
    )

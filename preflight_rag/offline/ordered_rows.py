"""Rows of a table in the order of a column, where a question compares its rows: "Which bar is the dearest?".

A part of the table may stand in a passage that was not found, so nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.offline.figure_styles import bare_figure, has_decimal_comma
from preflight_rag.offline.table_rows import TableLine, shown_rows
from preflight_rag.state.reading import Draft
from preflight_rag.text.headers import rows_by
from preflight_rag.text.words import words

PRICE = frozenset(words("price"))
"""Index terms of what a question for the cheapest or dearest measures; it names no column."""
_PRICES = frozenset(words("price cost fee rate"))


def measured_place(what: frozenset[str], line: TableLine) -> int | None:
    """Return the index of the only cell of a row whose column's name contains some index terms; else None."""
    places = []
    for place, cell in enumerate(line.row.cells):
        names = frozenset(words(cell.column))
        called = what <= names or (what == PRICE and bool(names & _PRICES))
        if place and called:
            places.append(place)
    return places[0] if len(places) == 1 else None


def rows_in_order(what: frozenset[str], rows: Sequence[TableLine], lead: str, *, most: bool) -> Draft | None:
    """Return a table's rows ordered by a column, those with the most, or the least, first.

    The table's own order is kept if its figures have different units, or if the decimal sign is unclear.

    Args:
        what: Index terms of the column.
        rows: Rows that have a cell in that column.
        lead: The line above rows in the table's own order.
        most: Whether the largest figure is first.
    """
    comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    places = [measured_place(what, line) for line in rows]
    cells = [line.row.cells[place] for line, place in zip(rows, places, strict=True) if place is not None]
    found = [bare_figure(cell.text, decimal_comma=bool(comma)) for cell in cells]
    sizes = [figure[0] for figure in found if figure is not None]
    units = {figure[1] for figure in found if figure is not None}
    if comma is None or len(sizes) < len(rows) or len(units) > 1 or len({cell.column for cell in cells}) > 1:
        return shown_rows(rows, lead, "extreme")
    order = sorted(range(len(rows)), key=lambda place: sizes[place] * (-1 if most else 1))
    return shown_rows([rows[place] for place in order], rows_by(cells[0].column, most=most), "extreme")

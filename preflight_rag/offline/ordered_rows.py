"""Rows of a table in the order of a column, where a question compares its rows: "Which bar is the dearest?".

The line above the rows says which column they are ordered by; which row is meant is left to who reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
DURATION = frozenset(words("duration"))
"""The same for what takes or lasts the longest."""
_PRICES = frozenset(words("price cost fee fare charge tariff"))
_RATE = frozenset(words("rate"))
_PER = frozenset(words("per night hour day week person room"))
"""Words beside "rate" that make it a price: "Rate per night"; "Flow rate" and "Interest rate" are none."""
_ANOTHER_SUM = frozenset(
    words(
        "delivery shipping postage late penalty cancellation joining setup installation change increase rise discount"
        " saving reduction deposit group class category band type kind date status index level battery flow time"
        " zone capacity"
    )
)
"""Words of a column that has "price" or "charge" in its name, and is not what the thing itself costs."""
_NO_AMOUNT = re.compile(
    r"\b(?:centres?|centers?|codes?|ids?|ref(?:erence)?s?|(?:no\.|numbers?|nr\.)(?! of\b))(?!\w)|#|№", re.IGNORECASE
)
"""Names of columns whose figures name something, and say of nothing how much it is."""
LEAST_FIGURES = 2
"""Figures of a column of times or distances."""
_FAR = frozenset(words("distance length"))
_WHOLE = frozenset(words("total overall length duration"))
"""Words of the column that says how long something takes in all, where others say it of its parts."""
_OF_TIME = frozenset(words("time duration length total overall"))
_OF_DISTANCE = frozenset(words("distance length total overall"))
_SINGLE_UNIT = re.compile(
    r"[smh]|min|[cm]m|in|sec(?:ond)?|minute|hour|day|week|month|year|inch|foot|yard|mile", re.IGNORECASE
)
"""Names of columns that are no measure, though they are a unit: the year of a film, the size M."""
_TIMES = frozenset(words("s sec second min minute h hr hour day week month year yr in"))
_DISTANCES = frozenset(words("mm cm m km metre meter kilometre kilometer mile mi ft feet foot yard in inch"))
_LENGTH = re.compile(
    r"\d[\d.,]{0,12} ?(?:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|yrs?)", re.IGNORECASE
)
_DISTANCE = re.compile(
    r"\d[\d.,]{0,12} ?(?:[mck]?m|(?:kilo)?met(?:re|er)s?|miles?|mi|ft|feet|yards?|in|inch(?:es)?)", re.IGNORECASE
)
_BLANK = re.compile(r"[-–—./ ]{1,5}|n/?a", re.IGNORECASE)
"""A cell that says that a row has nothing in a column, or that its figure is unknown."""
_ZERO = re.compile(r"(?:none|nil|zero|free|gratis|no charge)(?: of charge)?", re.IGNORECASE)
"""A cell that says 0 in words."""

_MONEY = re.compile(r"[$€£¥₹]|\b(?:EUR|USD|GBP|CHF|euros?|pounds?|dollars?)\b", re.IGNORECASE)
_NO_ITEM = re.compile(r"\b(?:(?:sub|grand )?totals?|sum|average|mean|vat|carried forward)\b", re.IGNORECASE)
"""Labels of rows that add up other rows."""


def measured_place(what: frozenset[str], line: TableLine) -> int | None:
    """Return the index of the only cell of a row whose column's name contains some index terms; else None."""
    places = []
    for place, cell in enumerate(line.row.cells):
        names = frozenset(words(cell.column))
        called = what <= names or (what == PRICE and bool(names & (_PRICES | _RATE)))
        # The first column names the rows, and measures nothing.
        if place and called and (what == names or not _NO_AMOUNT.search(cell.column)):
            places.append(place)
    return places[0] if len(places) == 1 else None


def measured_column(what: frozenset[str], rows: Sequence[TableLine]) -> str:
    """Return the only column of a table that holds the measured quantity; "" if none does, or several may.

    Args:
        what: Index terms of the quantity, `PRICE`, `LENGTH` or `DURATION`.
        rows: All rows of the table.
    """
    names = dict.fromkeys(cell.column for line in rows for cell in line.row.cells if cell.column)
    names.pop(rows[0].row.cells[0].column, None)
    terms = {name: frozenset(words(name)) for name in names}
    if what in (LENGTH, DURATION):
        return _column_of_lengths(terms, rows, with_distances=what == LENGTH)
    if what == PRICE:
        found = [name for name in names if is_of_prices(name)]
        exact = [name for name in found if terms[name] <= _PRICES]
        # Beside a "Monthly fee" a "Rate" is something else, such as interest.
        if not any(terms[name] & _PRICES for name in names):
            found = [name for name in names if terms[name] & _RATE and _is_rate_of_money(name, terms[name], rows)]
    else:
        found = [name for name in names if what <= terms[name] and (what == terms[name] or not _NO_AMOUNT.search(name))]
        exact = [name for name in found if what == terms[name]]
    chosen = exact if len(exact) == 1 else found
    return chosen[0] if len(chosen) == 1 else ""


def is_of_prices(name: str) -> bool:
    """Return whether a column's name says that it holds what the things in the rows cost."""
    terms = frozenset(words(name))
    return bool(terms & _PRICES) and not terms & _ANOTHER_SUM and not _NO_AMOUNT.search(name)


def _is_rate_of_money(name: str, terms: frozenset[str], rows: Sequence[TableLine]) -> bool:
    """Return whether a column that is called a rate holds prices: "Rate per night", or amounts with a currency."""
    if terms & _ANOTHER_SUM or _NO_AMOUNT.search(name):
        return False
    texts = [cell.text for line in rows if (cell := cell_of(name, line)) is not None]
    of_money = bool(_MONEY.search(name)) or all(_MONEY.search(text) or _ZERO.fullmatch(text) for text in texts)
    return of_money or bool(terms - _RATE and terms <= _RATE | _PER)


def _column_of_lengths(terms: Mapping[str, frozenset[str]], rows: Sequence[TableLine], *, with_distances: bool) -> str:
    """Return the only column that says how long the things in the rows are, or take; "" if that is not sure.

    A table with distances and times leaves open which of them is meant, and the time of a part is not that of the
    whole: "Break" says of no walk how long it is.
    """
    cells = {name: [cell.text for line in rows if (cell := cell_of(name, line))] for name in terms}
    times = [name for name in terms if _is_measured(name, cells[name], _TIMES | LENGTH, _LENGTH)]
    far = [name for name in terms if _is_measured(name, cells[name], _DISTANCES | _FAR, _DISTANCE)]
    if with_distances and set(far) != set(times) and far and times:
        return ""
    found, telling = (far, _OF_DISTANCE | _DISTANCES) if with_distances and far else (times, _OF_TIME | _TIMES)
    named = [name for name in found if terms[name] <= telling]
    exact = [name for name in named if terms[name] & _WHOLE]
    chosen = exact if len(exact) == 1 else named
    return chosen[0] if len(chosen) == 1 else ""


def _is_measured(name: str, cells: Sequence[str], called: frozenset[str], written: re.Pattern[str]) -> bool:
    """Return whether a column's figures have one of some units, or none where its name says what they are."""
    if len(cells) < LEAST_FIGURES:
        return False
    figures = [bare_figure(text) for text in cells]
    is_called = bool(called.intersection(words(name))) and not _SINGLE_UNIT.fullmatch(name.strip())
    is_bare = all(figure is not None and not figure[1] for figure in figures)
    return all(written.fullmatch(text) for text in cells) or (is_called and is_bare)


def cell_of(column: str, line: TableLine) -> Cell | None:
    """Return a row's cell in a column; None if it has none, or one that says so."""
    cell = next((cell for cell in line.row.cells if cell.column == column), None)
    return None if cell is None or _BLANK.fullmatch(cell.text.strip()) else cell


def lacks_a_price(column: str, rows: Sequence[TableLine]) -> bool:
    """Return whether a column of prices has none for a row: "-" may be nothing to pay, or nothing to be had."""
    return is_of_prices(column) and any(
        cell.column == column and _BLANK.fullmatch(cell.text.strip()) for line in rows for cell in line.row.cells
    )


def items(column: str, rows: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows that have something in a column and are of one thing, not the sum of others."""
    return [line for line in rows if cell_of(column, line) and not _NO_ITEM.search(line.row.cells[0].text)]


def in_order(column: str, rows: Sequence[TableLine], *, most: bool) -> list[TableLine] | None:
    """Return rows ordered by their figures in a column; None if the figures cannot be compared.

    They cannot if they have different units, if the decimal sign is unclear, or if a cell is no figure; "free" is 0.
    """
    comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    cells = [cell for line in rows if (cell := cell_of(column, line)) is not None]
    found = [
        (0.0, "") if _ZERO.fullmatch(cell.text.strip()) else bare_figure(cell.text, decimal_comma=bool(comma))
        for cell in cells
    ]
    figures = [figure for figure in found if figure is not None]
    # "Free" is 0 beside any unit.
    if comma is None or len(figures) < len(rows) or len({unit for size, unit in figures if size}) > 1:
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

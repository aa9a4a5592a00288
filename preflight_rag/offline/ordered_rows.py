"""Rows of a table sorted by a column, where a question compares its rows: "Which bar is the dearest?".

The line above the rows names the column that they are sorted by; the reader finds the row that is meant.
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
"""Index terms of the quantity in a question for the cheapest or dearest; such a question names no column."""
LENGTH = frozenset(words("length duration"))
"""The same for a question for the longest or shortest: a time or a distance."""
DURATION = frozenset(words("duration"))
"""The same for a question for what takes or lasts the longest: a time."""
_PRICE_WORDS = frozenset(words("price cost fee fare charge tariff"))
_RATE_WORDS = frozenset(words("rate"))
_BESIDE_RATE_OF_MONEY = frozenset(words("per night hour day week person room"))
"""Words beside "rate" that make it a price: "Rate per night"; "Flow rate" and "Interest rate" are none."""
_NOT_THE_PRICE = frozenset(
    words(
        "delivery shipping postage late penalty cancellation joining setup installation change increase rise discount"
        " saving reduction deposit group class category band type kind date status index level battery flow time"
        " zone capacity"
    )
)
"""Index terms that show that a column with "price" or "charge" in its name is not the price of the thing itself."""
_NAMES_A_CODE = re.compile(
    r"\b(?:centres?|centers?|codes?|ids?|ref(?:erence)?s?|(?:no\.|numbers?|nr\.)(?! of\b))(?!\w)|#|№", re.IGNORECASE
)
"""Matches names of columns whose figures identify something and are no amounts: "Cost centre", "Order no."."""
MIN_FIGURES = 2
"""Least number of cells of a column of times or distances."""
_DISTANCE_WORDS = frozenset(words("distance length"))
_WORDS_FOR_THE_WHOLE = frozenset(words("total overall length duration"))
"""Index terms in the name of a column that gives the length of the whole, beside columns for its parts."""
_WORDS_OF_DURATION_COLUMNS = frozenset(words("time duration length total overall"))
_WORDS_OF_DISTANCE_COLUMNS = frozenset(words("distance length total overall"))
_BARE_UNIT_NAME = re.compile(
    r"[smh]|min|[cm]m|in|sec(?:ond)?|minute|hour|day|week|month|year|inch|foot|yard|mile", re.IGNORECASE
)
"""Matches a column name that is only a unit, and often means something else: the year of a film, the size M."""
_TIME_UNITS = frozenset(words("s sec second min minute h hr hour day week month year yr in"))
_DISTANCE_UNITS = frozenset(words("mm cm m km metre meter kilometre kilometer mile mi ft feet foot yard in inch"))
_DURATION_CELL = re.compile(
    r"\d[\d.,]{0,12} ?(?:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|yrs?)", re.IGNORECASE
)
_DISTANCE_CELL = re.compile(
    r"\d[\d.,]{0,12} ?(?:[mck]?m|(?:kilo)?met(?:re|er)s?|miles?|mi|ft|feet|yards?|in|inch(?:es)?)", re.IGNORECASE
)
_BLANK_CELL = re.compile(r"[-–—./ ]{1,5}|n/?a", re.IGNORECASE)
"""Matches a cell that means nothing or an unknown figure: "-", "n/a"."""
_ZERO_IN_WORDS = re.compile(r"(?:none|nil|zero|free|gratis|no charge)(?: of charge)?", re.IGNORECASE)
"""Matches a cell that says 0 in words."""

_MONEY = re.compile(r"[$€£¥₹]|\b(?:EUR|USD|GBP|CHF|euros?|pounds?|dollars?)\b", re.IGNORECASE)
_LABEL_OF_SUM = re.compile(r"\b(?:(?:sub|grand )?totals?|sum|average|mean|vat|carried forward)\b", re.IGNORECASE)
"""Matches the label of a row that adds up other rows: "Subtotal"."""


def measured_place(what: frozenset[str], line: TableLine) -> int | None:
    """Return the index of the only cell of a row whose column measures a quantity; None without one, or with several.

    The column's name has to contain the quantity's index terms, or, for `PRICE`, any word for a price. The first cell
    is the row's label and is left out.
    """
    indices = []
    for index, cell in enumerate(line.row.cells[1:], 1):
        name_terms = frozenset(words(cell.column))
        measures = what <= name_terms or (what == PRICE and bool(name_terms & (_PRICE_WORDS | _RATE_WORDS)))
        if measures and (what == name_terms or not _NAMES_A_CODE.search(cell.column)):
            indices.append(index)
    return indices[0] if len(indices) == 1 else None


def measured_column(what: frozenset[str], rows: Sequence[TableLine]) -> str:
    """Return the name of the only column of a table that holds a quantity; "" if none does, or several may.

    If several columns contain the quantity's words, the only one whose name has no other words is returned.

    Args:
        what: Index terms of the quantity, `PRICE`, `LENGTH` or `DURATION`.
        rows: All rows of the table.
    """
    names = dict.fromkeys(cell.column for line in rows for cell in line.row.cells if cell.column)
    # The first column holds the labels of the rows.
    names.pop(rows[0].row.cells[0].column, None)
    terms = {name: frozenset(words(name)) for name in names}
    if what in (LENGTH, DURATION):
        return _column_of_length(terms, rows, with_distances=what == LENGTH)
    if what == PRICE:
        candidates = [name for name in names if _holds_prices(name)]
        exact = [name for name in candidates if terms[name] <= _PRICE_WORDS]
        # Beside a "Monthly fee" a "Rate" is something else, such as interest.
        if not any(terms[name] & _PRICE_WORDS for name in names):
            rates = [name for name in names if terms[name] & _RATE_WORDS]
            candidates = [name for name in rates if _is_price_called_rate(name, terms[name], rows)]
    else:
        exact = [name for name in names if terms[name] == what]
        with_terms = [name for name in names if what <= terms[name]]
        candidates = [name for name in with_terms if name in exact or not _NAMES_A_CODE.search(name)]
    chosen = exact if len(exact) == 1 else candidates
    return chosen[0] if len(chosen) == 1 else ""


def _holds_prices(name: str) -> bool:
    """Return whether a column's name says that it holds the prices of the things in the rows."""
    terms = frozenset(words(name))
    return bool(terms & _PRICE_WORDS) and not terms & _NOT_THE_PRICE and not _NAMES_A_CODE.search(name)


def _is_price_called_rate(name: str, terms: frozenset[str], rows: Sequence[TableLine]) -> bool:
    """Return whether a column that is called a rate holds prices: "Rate per night", or amounts with a currency."""
    if terms & _NOT_THE_PRICE or _NAMES_A_CODE.search(name):
        return False
    texts = [cell.text for line in rows if (cell := cell_of(name, line)) is not None]
    cells_are_money = all(_MONEY.search(text) or _ZERO_IN_WORDS.fullmatch(text) for text in texts)
    has_currency = bool(_MONEY.search(name)) or cells_are_money
    is_rate_per_something = bool(terms - _RATE_WORDS) and terms <= _RATE_WORDS | _BESIDE_RATE_OF_MONEY
    return has_currency or is_rate_per_something


def _column_of_length(terms: Mapping[str, frozenset[str]], rows: Sequence[TableLine], *, with_distances: bool) -> str:
    """Return the name of the only column for how long the things in the rows are, or take; "" if that is not sure.

    It is not sure in a table with distances and times, if both may be meant (`with_distances`, "the longest walk"). A
    column for a part gives no length of the whole: "Break" does not say how long a walk is.
    """
    cells = {name: [cell.text for line in rows if (cell := cell_of(name, line))] for name in terms}
    time_words, distance_words = _TIME_UNITS | LENGTH, _DISTANCE_UNITS | _DISTANCE_WORDS
    of_time = [name for name in terms if _holds_one_measure(name, cells[name], time_words, _DURATION_CELL)]
    of_distance = [name for name in terms if _holds_one_measure(name, cells[name], distance_words, _DISTANCE_CELL)]
    if with_distances and of_distance and of_time and set(of_distance) != set(of_time):
        return ""
    if with_distances and of_distance:
        candidates, allowed_words = of_distance, _WORDS_OF_DISTANCE_COLUMNS | _DISTANCE_UNITS
    else:
        candidates, allowed_words = of_time, _WORDS_OF_DURATION_COLUMNS | _TIME_UNITS
    named = [name for name in candidates if terms[name] <= allowed_words]
    of_whole = [name for name in named if terms[name] & _WORDS_FOR_THE_WHOLE]
    chosen = of_whole if len(of_whole) == 1 else named
    return chosen[0] if len(chosen) == 1 else ""


def _holds_one_measure(name: str, cells: Sequence[str], name_words: frozenset[str], cell_form: re.Pattern[str]) -> bool:
    """Return whether a column holds figures of one measure, such as times or distances.

    Either each cell has the form of such a figure ("3.5 km"), or each is a figure without a unit and the column's name
    has one of the index terms `name_words` ("Distance"). False for a column with fewer than two cells.
    """
    if len(cells) < MIN_FIGURES:
        return False
    if all(cell_form.fullmatch(text) for text in cells):
        return True
    figures = [bare_figure(text) for text in cells]
    have_no_unit = all(figure is not None and not figure[1] for figure in figures)
    return have_no_unit and bool(name_words.intersection(words(name))) and not _BARE_UNIT_NAME.fullmatch(name.strip())


def cell_of(column: str, line: TableLine) -> Cell | None:
    """Return a row's cell in a column; None if it has none, or one that stands for nothing, such as "-"."""
    cell = next((cell for cell in line.row.cells if cell.column == column), None)
    return None if cell is None or _BLANK_CELL.fullmatch(cell.text.strip()) else cell


def lacks_a_price(column: str, rows: Sequence[TableLine]) -> bool:
    """Return whether a column of prices has a cell such as "-", which may mean "free" or "not available"."""
    return _holds_prices(column) and any(
        cell.column == column and _BLANK_CELL.fullmatch(cell.text.strip()) for line in rows for cell in line.row.cells
    )


def items(column: str, rows: Sequence[TableLine]) -> list[TableLine]:
    """Return the rows that have a cell in a column, without rows that add up others ("Subtotal")."""
    return [line for line in rows if cell_of(column, line) and not _LABEL_OF_SUM.search(line.row.cells[0].text)]


def sorted_rows(column: str, rows: Sequence[TableLine], *, most: bool) -> list[TableLine] | None:
    """Return rows sorted by their figures in a column, largest first if `most`; None if they cannot be compared.

    They cannot if they have different units, if the decimal sign is unclear, or if a cell is no figure; "free" is 0.
    """
    decimal_comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    if decimal_comma is None:
        return None
    figures = []
    for line in rows:
        cell = cell_of(column, line)
        if cell is not None and _ZERO_IN_WORDS.fullmatch(cell.text.strip()):
            figures.append((0.0, ""))
        elif cell is not None and (figure := bare_figure(cell.text, decimal_comma=decimal_comma)):
            figures.append(figure)
    # 0 has the same size in any unit.
    units = {unit for amount, unit in figures if amount}
    if len(figures) < len(rows) or len(units) > 1:
        return None
    amounts = [amount for amount, _ in figures]
    order = sorted(range(len(rows)), key=lambda index: amounts[index], reverse=most)
    return [rows[index] for index in order]


def draft_of_sorted_rows(column: str, rows: Sequence[TableLine], lead: str, *, most: bool) -> Draft | None:
    """Return a draft that shows a table's rows sorted by a column; None without rows.

    The table's own order is kept if its figures cannot be compared, and for a single row.

    Args:
        column: The column.
        rows: Rows that have a cell in it: all of the table, since one that is left out may have the most.
        lead: The line above rows in the table's own order.
        most: Whether the largest figure is first.
    """
    in_order = sorted_rows(column, rows, most=most) if len(rows) > 1 else None
    if in_order is None:
        return shown_rows(rows, lead, "extreme")
    return shown_rows(in_order, rows_by(column, most=most), "extreme")

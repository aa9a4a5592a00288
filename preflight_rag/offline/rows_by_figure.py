"""The rows of a table whose figure is above or below a bound: "Which bikes cost more than 150 pounds?".

The column is the one that the question's words name, else the only one with the question's unit. Rows whose cell is no
bare figure are left out, and other rows of the table may stand in passages that were not found, so nothing is claimed.
By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from preflight_rag.offline.figure_styles import bare_figure, has_decimal_comma, number_of
from preflight_rag.offline.table_rows import MOST_ROWS, TableLine, are_called, lines_of_tables, rows_as_evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import no_rows_with_figure, rows_with_figure
from preflight_rag.text.tables import Cell
from preflight_rag.text.words import words

_NUMBER = r"(?P<{0}>\d[\d,.]*)"
_SIGN = r"[$€£¥]? ?"
_BOUNDS = (
    rf"(?P<least>at least|not? (?:less|fewer|lower) than|not? (?:under|below)) {_SIGN}{_NUMBER.format('from')}",
    rf"(?P<most>at most|up to|not? (?:more|higher|longer) than|not? (?:over|above)) {_SIGN}{_NUMBER.format('to')}",
    rf"(?P<above>(?:more|greater|higher|larger|longer|older|dearer) than|above|over|exceed(?:s|ed|ing)?)"
    rf" {_SIGN}{_NUMBER.format('over')}",
    rf"(?P<below>(?:less|fewer|lower|smaller|shorter|younger|cheaper) than|below|under) {_SIGN}"
    rf"{_NUMBER.format('under')}",
    rf"between {_SIGN}{_NUMBER.format('low')}[^\d]{{0,12}} and {_SIGN}{_NUMBER.format('high')}",
)
_NO_UNIT = "and|or|but|at|in|on|for|with|when|that|who|which|than|a|an|the|per|each"
_UNIT = rf"(?!(?:{_NO_UNIT})\b)[^\W\d_][\w-]{{0,30}}"
_ASKED = re.compile(
    r"(?:(?:which|what|how many)(?: of (?:the|our|my|these|those|all))?|(?:are|were) there(?: any)?"
    r"|(?:show|list|name|find|give)(?: me)?(?: all)?(?: the)?) (?P<group>[\w-]{1,40})"
    rf"(?P<measure>(?: (?!(?:and|or)\b)[^\W\d_][\w-]{{0,39}}){{0,6}}?) (?P<bound>{'|'.join(_BOUNDS)})"
    rf"(?P<scale>k\b| ?(?:thousand|million|billion)\b)?(?: ?(?P<unit>%|{_UNIT}(?: {_UNIT})?))?"
    r"(?: (?P<total>in total|altogether)| (?:each|(?:a|per) (?:year|month|week|day|person)))?",
    re.IGNORECASE,
)
_SINGLE = re.compile(
    r"(?:which|what)(?: of (?:the|our|my|these|those))? (?P<group>[\w-]{1,40}) (?:is|are|has|have)"
    r"(?: now| already| currently)? (?P<bound>down to (?:a single|(?:only |just )?one|(?:the|its|their|our) last)"
    r"(?: [\w-]{1,30})?|(?:only|just) (?:one|a single)(?: [\w-]{1,30})? left)",
    re.IGNORECASE,
)
"""Questions for what only one is left of: "Which drug is down to a single pack?"."""
_STOCK = frozenset(words("stock left remaining quantity qty available"))
"""Words of the column that says how many are left."""
_NEGATED = re.compile(r"\b(?:not|no|never|without|except|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_SCALES = {"k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_WEIGHT = frozenset(words("weigh weighs weight heavy heavier"))
"""Words beside "pounds" that are no money."""
_UNITS = {
    "£": "pound pounds gbp quid",
    "€": "euro euros eur",
    "$": "dollar dollars usd",
    "¥": "yen jpy",
    "%": "percent",
    "m": "metre metres meter meters",
    "km": "kilometre kilometres kilometer kilometers kms",
    "cm": "centimetre centimetres centimeter centimeters",
    "mm": "millimetre millimetres millimeter millimeters",
    "kg": "kilogram kilograms kilo kilos kgs",
    "g": "gram grams",
    "mg": "milligram milligrams",
    "l": "litre litres liter liters",
    "ml": "millilitre millilitres milliliter milliliters",
    "h": "hour hours hr hrs",
    "min": "minute minutes mins",
    "s": "second seconds sec secs",
    "days": "day",
    "weeks": "week",
    "months": "month",
    "years": "year yrs",
    "t": "tonne tonnes ton tons",
    "kb": "kilobyte kilobytes",
    "mb": "megabyte megabytes",
    "gb": "gigabyte gigabytes",
    "tb": "terabyte terabytes",
}
_CALLED = {name: sign for sign, names in _UNITS.items() for name in (sign, *names.split())}
"""Units by their names, so that two ways to write one unit are one."""
_CURRENCIES = frozenset("£€$¥")
_PRICES = frozenset(words("price cost fee rate charge rent"))
_PRICED = frozenset(words("cost price priced costing charge charged"))
"""Words of a question for a price, which the columns call otherwise."""
_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,20})[)\]]")
_LONGEST_UNIT = 4
"""Characters of a unit in the brackets of a column's name; a guess."""
_MOSTLY = 0.5
"""Least share of a column's cells that are bare figures; a guess."""


@dataclass(frozen=True)
class FigureBound:
    """A question for the rows whose figure is within bounds.

    Attributes:
        group: Index terms of the word for the rows.
        measure: Index terms of the words for the column.
        unit: The unit as the question writes it, or "".
        low: The lower bound, or minus infinity.
        high: The upper bound, or infinity.
        inclusive: Whether the bounds themselves are meant, too.
        text: The bound in the question's words, such as "more than 150 pounds".
    """

    group: frozenset[str]
    measure: frozenset[str]
    unit: str
    low: float
    high: float
    inclusive: bool
    text: str

    def includes(self, figure: float) -> bool:
        """Return whether a figure is within the bounds."""
        if self.inclusive:
            return self.low <= figure <= self.high
        return self.low < figure < self.high


def figure_bound_of(question: str) -> FigureBound | None:
    """Return the bound that a question sets; None for any other question."""
    plain = " ".join(question.split()).rstrip("?!. ")
    if single := _SINGLE.fullmatch(plain):
        group = frozenset(words(single["group"]))
        return FigureBound(group, _STOCK, "", 1, 1, inclusive=True, text=single["bound"])
    asked = _ASKED.fullmatch(plain)
    if asked is None or _NEGATED.search(asked["measure"]):
        return None
    scale = _SCALES[(asked["scale"] or "").strip().casefold()] if asked["scale"] else 1.0
    numbers = {
        # Questions are in English, so "2,000" has no decimal comma, whatever the table has.
        name: number_of(text.rstrip(".,"), decimal_comma=False)
        for name in ("from", "to", "over", "under", "low", "high")
        if (text := asked[name]) is not None
    }
    if None in numbers.values():
        return None
    low = numbers.get("from", numbers.get("over", numbers.get("low", -inf)))
    high = numbers.get("to", numbers.get("under", numbers.get("high", inf)))
    sign = next((sign for sign in _CURRENCIES if sign in asked["bound"]), "")
    unit = sign or (asked["unit"] or "").casefold()
    measure = frozenset(words(asked["measure"])) | frozenset(words("total") if asked["total"] else ())
    if measure & _WEIGHT and not sign and _sign(unit) in _CURRENCIES:
        return None
    return FigureBound(
        frozenset(words(asked["group"])),
        measure,
        unit,
        -inf if low is None else low * scale,
        inf if high is None else high * scale,
        # "Over 5" leaves 5 out; "at least", "at most" and "between" do not.
        not numbers.keys() & {"over", "under"},
        asked[0][asked.start("bound") :],
    )


def rows_with_such_figures(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the rows of a table whose figure is within the bounds of a question; None without such a table.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
        lead: The line above rows that are shown because the question fits several columns.
    """
    asked = figure_bound_of(question)
    if asked is None:
        return None
    called = [rows for rows in _tables(sources) if are_called(asked.group, rows, sources)]
    found = [(rows, columns) for rows in called if (columns := _columns(asked, rows))]
    if not found:
        return None
    rows, columns = max(found, key=lambda table: (_is_named(asked.group, table[0]), len(table[0])))
    comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    if len(columns) > 1 or comma is None:
        return rows_as_evidence(rows, lead)
    (name,) = columns
    figures = [bare_figure(cell.text, decimal_comma=comma) if (cell := _cell(name, line)) else None for line in rows]
    fitting = [line for line, figure in zip(rows, figures, strict=True) if figure and asked.includes(figure[0])]
    if not fitting:
        return rows_as_evidence(rows, no_rows_with_figure(name, asked.text))
    shown = min(len(fitting), MOST_ROWS)
    return rows_as_evidence(fitting, rows_with_figure(name, asked.text, shown=shown, found=len(fitting)))


def _tables(sources: Sequence[Source]) -> Iterator[list[TableLine]]:
    """Yield the rows of each table: those of one document whose first column has the same name.

    A row lacks the columns in which it has nothing.
    """
    tables: dict[tuple[str, str], dict[str, TableLine]] = {}
    for line in lines_of_tables(sources):
        key = line.source.document_id or line.source.title, line.row.cells[0].column
        tables.setdefault(key, {}).setdefault(line.text, line)
    for rows in tables.values():
        yield list(rows.values())


def _cell(column: str, line: TableLine) -> Cell | None:
    """Return a row's cell in a column; None if it has none."""
    return next((cell for cell in line.row.cells[1:] if cell.column == column), None)


def _is_named(group: frozenset[str], rows: Sequence[TableLine]) -> bool:
    """Return whether a table's caption or the name of a column has the word for the rows."""
    names = (name for line in rows for name in (line.row.caption, *(cell.column for cell in line.row.cells)))
    return bool(group & frozenset(words(" ".join(dict.fromkeys(names)))))


def _columns(asked: FigureBound, rows: Sequence[TableLine]) -> list[str]:
    """Return the names of the columns that a question may be about: those named best; none if it names none."""
    sign, *others = _sign(asked.unit), *words(" ".join(asked.unit.split()[1:]))
    names = dict.fromkeys(cell.column for line in rows for cell in line.row.cells[1:])
    stated = {name: _sign_of(name, rows) for name in names if _is_of_figures(name, rows)}
    fitting = {
        name: frozenset(words(_BRACKETS.sub(" ", name)))
        for name in stated
        # A column that states no unit may be in the question's.
        if not asked.unit or stated[name] in ("", sign)
    }
    unit = frozenset[str]() if sign else frozenset(words(asked.unit))
    price = _PRICES if sign in _CURRENCIES or asked.measure & _PRICED else frozenset[str]()
    # What the question says goes before what it implies: "cost more than 150 pounds" does not say "Asking price".
    for terms in (asked.measure.union(others), unit, price):
        if named := [name for name in fitting if terms & fitting[name]]:
            return named
    return [name for name in fitting if sign and stated[name] == sign]


def _is_of_figures(column: str, rows: Sequence[TableLine]) -> bool:
    """Return whether most cells of a column are bare figures, all of one unit."""
    cells = [cell for line in rows if (cell := _cell(column, line)) is not None]
    figures = [figure for cell in cells if (figure := bare_figure(cell.text)) is not None]
    return len(figures) >= _MOSTLY * len(cells) and len({unit for _, unit in figures}) == 1


def _sign(unit: str) -> str:
    """Return the sign of a known unit, by the first word of how it is written; "" for any other."""
    return _CALLED.get(unit.split(" ")[0].casefold(), "")


def _sign_of(column: str, rows: Sequence[TableLine]) -> str:
    """Return the sign of the known unit in a column's cells, or in its name; "" if it states none."""
    cells = (bare_figure(cell.text) for line in rows if (cell := _cell(column, line)) is not None)
    written = next((figure[1] for figure in cells if figure is not None), "")
    bracketed = _BRACKETS.search(column)
    currencies = (sign for sign in _CURRENCIES if sign in column)
    candidates = (written, bracketed[1] if bracketed else "", *column.split(), *currencies)
    known = next((sign for text in candidates if text and (sign := _sign(text.strip("(),.")))), "")
    # A short word in brackets is a unit, also an unknown one.
    return known or (bracketed[1].casefold() if bracketed and len(bracketed[1]) <= _LONGEST_UNIT else "")

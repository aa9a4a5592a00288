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
_MONEY = r"[$€£¥]? ?"
_BOUND_FORMS = (
    rf"(?P<least>at least|not? (?:less|fewer|lower) than|not? (?:under|below)) {_MONEY}{_NUMBER.format('from')}",
    rf"(?P<most>at most|up to|not? (?:more|higher|longer) than|not? (?:over|above)) {_MONEY}{_NUMBER.format('to')}",
    rf"(?P<above>(?:more|greater|higher|larger|longer|older|dearer) than|above|over|exceed(?:s|ed|ing)?)"
    rf" {_MONEY}{_NUMBER.format('over')}",
    rf"(?P<below>(?:less|fewer|lower|smaller|shorter|younger|cheaper) than|below|under) {_MONEY}"
    rf"{_NUMBER.format('under')}",
    rf"between {_MONEY}{_NUMBER.format('low')}[^\d]{{0,12}} and {_MONEY}{_NUMBER.format('high')}",
)
_NO_UNIT = "and|or|but|at|in|on|for|with|when|that|who|which|than|a|an|the|per|each"
_UNIT = rf"(?!(?:{_NO_UNIT})\b)[^\W\d_][\w-]{{0,30}}"
_ASKS_FOR_BOUND = re.compile(
    r"(?:(?:which|what|how many)(?: of (?:the|our|my|these|those|all))?|(?:are|were) there(?: any)?"
    r"|(?:show|list|name|find|give)(?: me)?(?: all)?(?: the)?) (?P<group>[\w-]{1,40})"
    rf"(?P<measure>(?: (?!(?:and|or)\b)[^\W\d_][\w-]{{0,39}}){{0,6}}?) (?P<bound>{'|'.join(_BOUND_FORMS)})"
    rf"(?P<scale>k\b| ?(?:thousand|million|billion)\b)?(?: ?(?P<unit>%|{_UNIT}(?: {_UNIT})?))?"
    r"(?: (?P<total>in total|altogether)| (?:each|(?:a|per) (?:year|month|week|day|person)))?",
    re.IGNORECASE,
)
_ASKS_FOR_LAST_ONE = re.compile(
    r"(?:which|what)(?: of (?:the|our|my|these|those))? (?P<group>[\w-]{1,40}) (?:is|are|has|have)"
    r"(?: now| already| currently)? (?P<bound>down to (?:a single|(?:only |just )?one|(?:the|its|their|our) last)"
    r"(?: [\w-]{1,30})?|(?:only|just) (?:one|a single)(?: [\w-]{1,30})? left)",
    re.IGNORECASE,
)
"""Matches a question for things with only one piece left: "Which drug is down to a single pack?"."""
_STOCK_WORDS = frozenset(words("stock left remaining quantity qty available"))
"""Index terms in the name of a column for how many are left."""
_NEGATED = re.compile(r"\b(?:not|no|never|without|except|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_FACTOR_OF_SCALE = {"k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_WEIGHT_WORDS = frozenset(words("weigh weighs weight heavy heavier"))
"""Index terms of a question whose "pounds" are a weight and no money."""
_NAMES_OF_UNIT = {
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
_SIGN_OF_NAME = {name: sign for sign, names in _NAMES_OF_UNIT.items() for name in (sign, *names.split())}
"""The sign of each unit by every way to write the unit: "£" for "pounds"."""
_CURRENCIES = frozenset("£€$¥")
_PRICE_COLUMN_WORDS = frozenset(words("price cost fee rate charge rent"))
_PRICE_QUESTION_WORDS = frozenset(words("cost price priced costing charge charged"))
"""Index terms of a question for a price, which columns call by the words above."""
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,20})[)\]]")
_MAX_UNIT_LENGTH = 4
"""Largest number of characters of an unknown unit in the brackets of a column's name; a guess."""
_MIN_SHARE_OF_FIGURES = 0.5
"""Least share of a column's cells that are bare figures; a guess."""


@dataclass(frozen=True)
class FigureBound:
    """The bound that a question sets for a figure of the rows: "more than 150 pounds".

    Attributes:
        group: Index terms of the word for the rows.
        measure: Index terms of the words for the column.
        unit: The unit as the question writes it, or "".
        low: The lower bound, or minus infinity.
        high: The upper bound, or infinity.
        inclusive: Whether a figure equal to a bound is within the bounds.
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
    """Return the bound that a question sets for a figure of rows; None for other questions and for a negated one.

    None as well for "weigh more than 5 pounds", whose unit would be taken for money.
    """
    plain_question = " ".join(question.split()).rstrip("?!. ")
    if match := _ASKS_FOR_LAST_ONE.fullmatch(plain_question):
        group = frozenset(words(match["group"]))
        return FigureBound(group, _STOCK_WORDS, "", 1, 1, inclusive=True, text=match["bound"])
    match = _ASKS_FOR_BOUND.fullmatch(plain_question)
    if match is None or _NEGATED.search(match["measure"]):
        return None
    factor = _FACTOR_OF_SCALE[match["scale"].strip().casefold()] if match["scale"] else 1.0
    numbers: dict[str, float] = {}
    for name in ("from", "to", "over", "under", "low", "high"):
        if (text := match[name]) is not None:
            # Questions are in English, so "2,000" has no decimal comma, whatever the table has.
            number = number_of(text.rstrip(".,"), decimal_comma=False)
            if number is None:
                return None
            numbers[name] = number * factor
    sign = next((sign for sign in _CURRENCIES if sign in match["bound"]), "")
    unit = sign or (match["unit"] or "").casefold()
    measure = frozenset(words(match["measure"])) | frozenset(words("total") if match["total"] else ())
    if measure & _WEIGHT_WORDS and not sign and _sign_of_unit(unit) in _CURRENCIES:
        return None
    return FigureBound(
        frozenset(words(match["group"])),
        measure,
        unit,
        low=numbers.get("from", numbers.get("over", numbers.get("low", -inf))),
        high=numbers.get("to", numbers.get("under", numbers.get("high", inf))),
        # "Over 5" leaves 5 out; "at least", "at most" and "between" do not.
        inclusive=not numbers.keys() & {"over", "under"},
        text=match[0][match.start("bound") :],
    )


def rows_with_such_figures(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return a draft with the rows of a table whose figure is within a question's bounds; None without such a table.

    If several columns may be meant, or the decimal sign is unclear, the table's rows are shown under `lead`; if no row
    is within the bounds, under a line that says so.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
        lead: The line above rows that are shown without a claim.
    """
    bound = figure_bound_of(question)
    if bound is None:
        return None
    candidates = []
    for table_rows in _rows_of_tables(sources):
        if are_called(bound.group, table_rows, sources) and (names := _candidate_columns(bound, table_rows)):
            candidates.append((table_rows, names))
    if not candidates:
        return None
    # A table that names the group goes before others, then the longest one.
    rows, columns = max(candidates, key=lambda candidate: (_names_group(bound.group, candidate[0]), len(candidate[0])))
    comma = has_decimal_comma(cell.text for line in rows for cell in line.row.cells)
    if len(columns) > 1 or comma is None:
        return rows_as_evidence(rows, lead)
    (column,) = columns
    fitting = []
    for line in rows:
        cell = _cell(column, line)
        if cell and (figure := bare_figure(cell.text, decimal_comma=comma)):
            amount, _ = figure
            if bound.includes(amount):
                fitting.append(line)
    if not fitting:
        return rows_as_evidence(rows, no_rows_with_figure(column, bound.text))
    shown = min(len(fitting), MOST_ROWS)
    return rows_as_evidence(fitting, rows_with_figure(column, bound.text, shown=shown, found=len(fitting)))


def _rows_of_tables(sources: Sequence[Source]) -> Iterator[list[TableLine]]:
    """Yield the rows of each table: those of one document whose first column has the same name, equal lines once.

    The names of the other columns cannot be compared, since a row leaves out its blank cells.
    """
    tables: dict[tuple[str, str], dict[str, TableLine]] = {}
    for line in lines_of_tables(sources):
        key = line.source.document_id or line.source.title, line.row.cells[0].column
        tables.setdefault(key, {}).setdefault(line.text, line)
    for rows_by_text in tables.values():
        yield list(rows_by_text.values())


def _cell(column: str, line: TableLine) -> Cell | None:
    """Return a row's cell in a column other than the first; None if it has none."""
    return next((cell for cell in line.row.cells[1:] if cell.column == column), None)


def _names_group(group: frozenset[str], rows: Sequence[TableLine]) -> bool:
    """Return whether a table's caption or the name of a column has the question's word for the rows."""
    names = (name for line in rows for name in (line.row.caption, *(cell.column for cell in line.row.cells)))
    return bool(group & frozenset(words(" ".join(dict.fromkeys(names)))))


def _candidate_columns(bound: FigureBound, rows: Sequence[TableLine]) -> list[str]:
    """Return the names of the columns of figures that a bound may be for; [] if there are none.

    They are the columns with a word of the question, else those with the name of an unknown unit, else, for a price,
    those with a word for it, else those with the question's unit. A column with another unit is left out.
    """
    sign, *other_words = _sign_of_unit(bound.unit), *words(" ".join(bound.unit.split()[1:]))
    names = dict.fromkeys(cell.column for line in rows for cell in line.row.cells[1:])
    signs = {name: _sign_of_column(name, rows) for name in names if _holds_figures(name, rows)}
    name_terms = {
        name: frozenset(words(_IN_BRACKETS.sub(" ", name)))
        for name in signs
        # A column that states no unit may be in the question's.
        if not bound.unit or signs[name] in ("", sign)
    }
    unknown_unit = frozenset[str]() if sign else frozenset(words(bound.unit))
    is_for_price = sign in _CURRENCIES or bound.measure & _PRICE_QUESTION_WORDS
    price_words = _PRICE_COLUMN_WORDS if is_for_price else frozenset[str]()
    # Stated words go before implied ones: "cost more than 150 pounds" does not say "Asking price".
    for terms in (bound.measure.union(other_words), unknown_unit, price_words):
        if named := [name for name in name_terms if terms & name_terms[name]]:
            return named
    return [name for name in name_terms if sign and signs[name] == sign]


def _holds_figures(column: str, rows: Sequence[TableLine]) -> bool:
    """Return whether at least half of a column's cells are figures and nothing else, all of one unit."""
    cells = [cell for line in rows if (cell := _cell(column, line)) is not None]
    figures = [figure for cell in cells if (figure := bare_figure(cell.text)) is not None]
    return len(figures) >= _MIN_SHARE_OF_FIGURES * len(cells) and len({unit for _, unit in figures}) == 1


def _sign_of_unit(unit: str) -> str:
    """Return the sign of a known unit, by the first word of its name: "£" for "pounds"; "" for any other unit."""
    return _SIGN_OF_NAME.get(unit.split(" ")[0].casefold(), "")


def _sign_of_column(column: str, rows: Sequence[TableLine]) -> str:
    """Return the sign of the unit in a column's cells, or in its name; "" if it states none.

    A short unknown unit in the brackets of the name is returned as it is, in lower case.
    """
    cells = (bare_figure(cell.text) for line in rows if (cell := _cell(column, line)) is not None)
    unit_of_cells = next((figure[1] for figure in cells if figure is not None), "")
    brackets = _IN_BRACKETS.search(column)
    unit_in_brackets = brackets[1] if brackets else ""
    currencies = (sign for sign in _CURRENCIES if sign in column)
    for text in (unit_of_cells, unit_in_brackets, *column.split(), *currencies):
        if text and (sign := _sign_of_unit(text.strip("(),."))):
            return sign
    return unit_in_brackets.casefold() if len(unit_in_brackets) <= _MAX_UNIT_LENGTH else ""

"""The rows of a table in which one column is above or below another: "Which items are below their reorder level?".

Both columns are compared row by row, each a bare figure of one unit; the rows that fit are shown. Other rows of the
table may stand in passages that were not found, so nothing is claimed. Where the question leaves open which column is
meant, all rows are shown. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from preflight_rag.offline.figure_styles import bare_figure, has_decimal_comma
from preflight_rag.offline.table_rows import MOST_ROWS, TableLine, lines_of_tables, rows_as_evidence
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import no_rows_where, rows_where
from preflight_rag.text.tables import Cell
from preflight_rag.text.words import words

_ABOVE = r"(?:more|greater|higher|larger|longer) than|above|over|beyond|exceed(?:s|ed|ing)?"
_BELOW = r"(?:less|fewer|lower|smaller|shorter) than|below|under|beneath"
_LEAD_IN = (
    r"(?:(?:which|what|how many)(?: of (?:the|our|my|these|those|all))?|(?:are|were) there(?: any)?"
    r"|(?:show|list|name|find|give)(?: me)?(?: all)?(?: the)?)"
)
_ASKED = re.compile(
    rf"{_LEAD_IN} (?P<group>[\w-]{{1,40}})(?P<first>(?: [\w-]{{1,40}}){{0,6}}?) (?:(?P<above>{_ABOVE})|{_BELOW})"
    r" (?P<own>(?:their|its|his|her|the) )?(?P<second>[\w %-]{2,60})",
    re.IGNORECASE,
)
_MORE_FIRST = re.compile(
    rf"{_LEAD_IN} (?P<group>[\w-]{{1,40}})(?: [\w-]{{1,40}}){{0,4}}? (?:(?P<above>more|higher|greater|larger)"
    r"|less|fewer|lower|smaller) (?P<first>[\w -]{1,80}?) than (?:in )?(?P<second>[\w -]{1,40})",
    re.IGNORECASE,
)
"""Comparisons such as "more sales than returns", or "higher sales in 2022 than in 2021"."""
_NEGATED = re.compile(r"\b(?:not|no|never|without|except|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_USUAL = (
    (frozenset(words("reorder minimum safety")), frozenset(words("stock quantity hand available inventory count qty"))),
    (frozenset(words("budget estimate quote planned")), frozenset(words("cost actual spent spending expenditure"))),
    (frozenset(words("target goal quota plan")), frozenset(words("actual result sold achieved reached sales"))),
    (frozenset(words("limit maximum capacity")), frozenset(words("value measured load used usage actual"))),
)
"""Columns that a question leaves out beside the one that it names: an item is below its reorder level by its stock."""
_GENERAL = frozenset(
    words("go went gone run ran come came fall fell fallen drop dropped get got stand lie currently now")
)
"""Words of a question beside a column that name none."""
_LEVELS = frozenset(words("level point threshold mark value quantity"))
"""Words of questions for a bound, which columns leave out."""
_ALIKE = {"spent": "cost", "spend": "cost", "paid": "cost", "expens": "cost", "expenditur": "cost"}


@dataclass(frozen=True)
class RowComparison:
    """A question that compares two columns row by row; the columns are given as index terms of their names.

    Attributes:
        group: The word for the rows.
        first: The column that has to be above or below the other; empty if the question does not name it.
        second: The column with which it is compared.
        above: Whether the first has to be above the second.
    """

    group: frozenset[str]
    first: frozenset[str]
    second: frozenset[str]
    above: bool


def row_comparison_of(question: str) -> RowComparison | None:
    """Return the two columns that a question compares row by row; None for any other question."""
    asked = " ".join(question.split()).rstrip("?!. ")
    if _NEGATED.search(asked):
        return None
    for pattern in (_MORE_FIRST, _ASKED):
        match = pattern.fullmatch(asked)
        if match and (second := _terms(match["second"])):
            first = _terms(match["first"]) - _GENERAL
            return RowComparison(_terms(match["group"]), first, second, match["above"] is not None)
    return None


def compared_rows(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the rows in which the comparison holds, else rows of the table as evidence; None without such a table.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
        lead: The line above rows that are shown without a claim.
    """
    asked = row_comparison_of(question)
    if asked is None:
        return None
    tables: dict[tuple[str, tuple[str, ...]], list[TableLine]] = {}
    for line in lines_of_tables(sources):
        if _named(line.row.cells, asked.second) is not None and _is_of_the_kind(asked, line):
            tables.setdefault(_table_of(line), []).append(line)
    tables = {key: lines for key, lines in tables.items() if _has_figures(lines, asked.second)}
    if not tables:
        return None
    lines = max(tables.values(), key=len)
    columns = _columns(asked, lines)
    if columns is None:
        return rows_as_evidence(lines, lead) if not asked.first or len(lines) > 1 else None
    first, second = columns
    comma = has_decimal_comma(cell.text for line in lines for cell in line.row.cells)
    if comma is None:
        return rows_as_evidence(lines, lead)
    sizes = [
        (
            bare_figure(line.row.cells[first].text, decimal_comma=comma),
            bare_figure(line.row.cells[second].text, decimal_comma=comma),
        )
        for line in lines
    ]
    known = [(line, one, other) for line, (one, other) in zip(lines, sizes, strict=True) if one and other]
    # A row with "open" for a budget, or in euros beside dollars, may fit, too, and would be missing.
    if len(known) < len(lines) or len(set(chain.from_iterable((one[1], other[1]) for _, one, other in known))) > 1:
        return rows_as_evidence(lines, lead)
    fitting = [line for line, one, other in known if (one[0] > other[0] if asked.above else one[0] < other[0])]
    names = lines[0].row.cells[first].column, lines[0].row.cells[second].column
    if not fitting:
        return rows_as_evidence(lines, no_rows_where(*names, above=asked.above))
    return rows_as_evidence(
        fitting, rows_where(*names, above=asked.above, shown=min(len(fitting), MOST_ROWS), found=len(fitting))
    )


def _table_of(line: TableLine) -> tuple[str, tuple[str, ...]]:
    """Return a row's document and columns, by which rows of one table are recognised."""
    return line.source.document_id or line.source.title, tuple(cell.column for cell in line.row.cells)


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text, with one term for synonyms."""
    return frozenset(_ALIKE.get(term, term) for term in words(text))


def _named(cells: Sequence[Cell], terms: frozenset[str]) -> int | None:
    """Return the index of the only column whose name has all of some words; of several, the one without other words.

    "Reorder at" and "reorder level" name the same column.
    """
    if (place := _place_of(cells, terms)) is None and (bare := terms - _LEVELS):
        place = _place_of(cells, bare)
    return place


def _place_of(cells: Sequence[Cell], terms: frozenset[str]) -> int | None:
    """Return the index of the column whose name is exactly some terms, else of the only one that contains them."""
    places = [place for place, cell in enumerate(cells) if place and terms <= _terms(cell.column)]
    exact = [place for place in places if terms == _terms(cells[place].column)]
    if len(exact) == 1:
        return exact[0]
    return places[0] if len(places) == 1 else None


def _has_figures(lines: Sequence[TableLine], terms: frozenset[str]) -> bool:
    """Return whether a named column contains a figure: "which drugs are under investigation" compares nothing."""
    place = _named(lines[0].row.cells, terms)
    return place is not None and any(bare_figure(line.row.cells[place].text) for line in lines)


def _is_of_the_kind(asked: RowComparison, line: TableLine) -> bool:
    """Return whether the rows match the question's subject: by first column, caption or the document's title."""
    return bool((asked.group | asked.first) & _about(line)) or not line.row.cells[0].column


def _about(line: TableLine) -> frozenset[str]:
    """Return the index terms of a row's first column, caption and document title."""
    return _terms(f"{line.row.cells[0].column} {line.row.caption} {line.source.title}")


def _columns(asked: RowComparison, lines: Sequence[TableLine]) -> tuple[int, int] | None:
    """Return the indices of both columns in all rows of a table; None unless each column is named unambiguously."""
    cells = lines[0].row.cells
    second = _named(cells, asked.second)
    if second is None:
        return None
    others = [place for place in range(1, len(cells)) if place != second and bare_figure(cells[place].text)]
    if asked.first and (first := _named(cells, asked.first)) is not None:
        return (first, second) if first != second else None
    usual = frozenset[str]().union(*(called for names, called in _USUAL if names & asked.second))
    unsaid = asked.first <= _about(lines[0])  # "which spare parts are below": "parts" names no column
    meant = [place for place in others if (usual if unsaid else asked.first) & _terms(cells[place].column)]
    if not meant and unsaid:
        meant = others
    return (meant[0], second) if len(meant) == 1 else None

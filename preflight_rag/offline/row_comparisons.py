"""The rows of a table in which one column is above or below another: "Which items are below their reorder level?".

Both columns are compared row by row, each a bare figure of one unit; the rows that fit are shown. Other rows of the
table may stand in passages that were not found, so nothing is claimed. Where the question leaves open which column is
meant, all rows are shown. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
_FIRST_ABOVE_OR_BELOW_SECOND = re.compile(
    rf"{_LEAD_IN} (?P<group>[\w-]{{1,40}})(?P<first>(?: [\w-]{{1,40}}){{0,6}}?) (?:(?P<above>{_ABOVE})|{_BELOW})"
    r" (?P<own>(?:their|its|his|her|the) )?(?P<second>[\w %-]{2,60})",
    re.IGNORECASE,
)
_MORE_FIRST_THAN_SECOND = re.compile(
    rf"{_LEAD_IN} (?P<group>[\w-]{{1,40}})(?: [\w-]{{1,40}}){{0,4}}? (?:(?P<above>more|higher|greater|larger)"
    r"|less|fewer|lower|smaller) (?P<first>[\w -]{1,80}?) than (?:in )?(?P<second>[\w -]{1,40})",
    re.IGNORECASE,
)
"""Matches questions such as "Which shops had more sales than returns?", or "… higher sales in 2022 than in 2021?"."""
_NEGATED = re.compile(r"\b(?:not|no|never|without|except|neither|nor)\b|n['’]t\b", re.IGNORECASE)
_COLUMN_PAIRS = (
    (frozenset(words("reorder minimum safety")), frozenset(words("stock quantity hand available inventory count qty"))),
    (frozenset(words("budget estimate quote planned")), frozenset(words("cost actual spent spending expenditure"))),
    (frozenset(words("target goal quota plan")), frozenset(words("actual result sold achieved reached sales"))),
    (frozenset(words("limit maximum capacity")), frozenset(words("value measured load used usage actual"))),
)
"""Words for a column that a question names, and for the one that it leaves out: an item is "below its reorder level" if
its stock is."""
_NAMES_NO_COLUMN = frozenset(
    words("go went gone run ran come came fall fell fallen drop dropped get got stand lie currently now")
)
"""Index terms of a question that name no column: "Which items fell below …"."""
_WORDS_FOR_A_BOUND = frozenset(words("level point threshold mark value quantity"))
"""Index terms for a bound, which a column's name may lack: "Reorder at" is the reorder level."""
_SYNONYMS = {"spent": "cost", "spend": "cost", "paid": "cost", "expens": "cost", "expenditur": "cost"}


@dataclass(frozen=True)
class RowComparison:
    """A question that compares two columns row by row: "Which items are below their reorder level?".

    Attributes:
        group: Index terms of the word for the rows, such as "items".
        first: Index terms of the column that has to be above or below the other; empty if the question lacks them.
        second: Index terms of the column with which it is compared.
        above: Whether the first column has to be above the second, else below.
    """

    group: frozenset[str]
    first: frozenset[str]
    second: frozenset[str]
    above: bool


def row_comparison_of(question: str) -> RowComparison | None:
    """Return the comparison of two columns that a question asks for; None for other questions, and with a negation."""
    plain_question = " ".join(question.split()).rstrip("?!. ")
    if _NEGATED.search(plain_question):
        return None
    for pattern in (_MORE_FIRST_THAN_SECOND, _FIRST_ABOVE_OR_BELOW_SECOND):
        match = pattern.fullmatch(plain_question)
        if match and (second := _terms(match["second"])):
            first = _terms(match["first"]) - _NAMES_NO_COLUMN
            return RowComparison(_terms(match["group"]), first, second, match["above"] is not None)
    return None


def compared_rows(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return a draft with the rows in which the question's comparison of two columns holds.

    The largest table with the second column counts. If it is unclear which column is the first, or a cell is no figure
    or has another unit, its rows are shown without a claim. None for a question without such a comparison, without such
    a table, and for a table of one row that lacks a column of the question.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
        lead: The line above rows that are shown without a claim.
    """
    comparison = row_comparison_of(question)
    if comparison is None:
        return None
    tables: dict[tuple[str, tuple[str, ...]], list[TableLine]] = {}
    for line in lines_of_tables(sources):
        if _column_index(line.row.cells, comparison.second) is not None and _is_about_group(comparison, line):
            tables.setdefault(_table_of(line), []).append(line)
    candidates = [lines for lines in tables.values() if _has_figures(lines, comparison.second)]
    if not candidates:
        return None
    lines = max(candidates, key=len)
    columns = _compared_columns(comparison, lines)
    if columns is None:
        return rows_as_evidence(lines, lead) if not comparison.first or len(lines) > 1 else None
    fitting = _fitting_rows(comparison, lines, columns)
    if fitting is None:
        return rows_as_evidence(lines, lead)
    first_name, second_name = (lines[0].row.cells[index].column for index in columns)
    if not fitting:
        return rows_as_evidence(lines, no_rows_where(first_name, second_name, above=comparison.above))
    shown = min(len(fitting), MOST_ROWS)
    return rows_as_evidence(
        fitting, rows_where(first_name, second_name, above=comparison.above, shown=shown, found=len(fitting))
    )


def _fitting_rows(
    comparison: RowComparison, lines: Sequence[TableLine], columns: tuple[int, int]
) -> list[TableLine] | None:
    """Return the rows in which a comparison of two columns holds; None if a row cannot be compared.

    It cannot with "open" for a budget, or with euros beside dollars, and would be missing though it may fit.
    """
    comma = has_decimal_comma(cell.text for line in lines for cell in line.row.cells)
    if comma is None:
        return None
    units = set()
    fitting = []
    for line in lines:
        first, second = (bare_figure(line.row.cells[index].text, decimal_comma=comma) for index in columns)
        if first is None or second is None:
            return None
        (first_amount, first_unit), (second_amount, second_unit) = first, second
        units |= {first_unit, second_unit}
        if first_amount > second_amount if comparison.above else first_amount < second_amount:
            fitting.append(line)
    return fitting if len(units) <= 1 else None


def _table_of(line: TableLine) -> tuple[str, tuple[str, ...]]:
    """Return the key of a row's table: its document and the names of its columns."""
    return line.source.document_id or line.source.title, tuple(cell.column for cell in line.row.cells)


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text, with one term for synonyms."""
    return frozenset(_SYNONYMS.get(term, term) for term in words(text))


def _column_index(cells: Sequence[Cell], terms: frozenset[str]) -> int | None:
    """Return the index of the column that some terms name; None if none does, or several may.

    Terms for a bound are left out where no column has them: "reorder level" names the column "Reorder at".
    """
    index = _index_of_best_name(cells, terms)
    terms_without_bound = terms - _WORDS_FOR_A_BOUND
    if index is None and terms_without_bound:
        index = _index_of_best_name(cells, terms_without_bound)
    return index


def _index_of_best_name(cells: Sequence[Cell], terms: frozenset[str]) -> int | None:
    """Return the index of the column whose name is exactly some terms, else of the only one that contains them.

    None if no name contains them, or several do. The first column is left out, since it has the rows' labels.
    """
    indices = [index for index, cell in enumerate(cells) if index > 0 and terms <= _terms(cell.column)]
    exact = [index for index in indices if terms == _terms(cells[index].column)]
    if len(exact) == 1:
        return exact[0]
    return indices[0] if len(indices) == 1 else None


def _has_figures(lines: Sequence[TableLine], terms: frozenset[str]) -> bool:
    """Return whether the column that terms name has a figure: "Which drugs are under investigation?" compares none."""
    index = _column_index(lines[0].row.cells, terms)
    return index is not None and any(bare_figure(line.row.cells[index].text) for line in lines)


def _is_about_group(comparison: RowComparison, line: TableLine) -> bool:
    """Return whether a row's first column, caption or document title has a word of the comparison's group or column.

    True for any row whose first column has no name.
    """
    return bool((comparison.group | comparison.first) & _surrounding_terms(line)) or not line.row.cells[0].column


def _surrounding_terms(line: TableLine) -> frozenset[str]:
    """Return the index terms of a row's first column, caption and document title."""
    return _terms(f"{line.row.cells[0].column} {line.row.caption} {line.source.title}")


def _compared_columns(comparison: RowComparison, lines: Sequence[TableLine]) -> tuple[int, int] | None:
    """Return the indices of the first and second column of a comparison; None if one of them is unclear.

    If the question does not name the first column, it is the only column with figures that usually goes with the
    second ("stock" with "reorder level"), else the only other one with figures.
    """
    cells = lines[0].row.cells
    second = _column_index(cells, comparison.second)
    if second is None:
        return None
    if comparison.first and (first := _column_index(cells, comparison.first)) is not None:
        return (first, second) if first != second else None
    others = [index for index in range(1, len(cells)) if index != second and bare_figure(cells[index].text)]
    # In "Which spare parts are below …?" the word "parts" names no column.
    names_no_column = comparison.first <= _surrounding_terms(lines[0])
    if names_no_column:
        first_terms = frozenset[str]().union(*(first for names, first in _COLUMN_PAIRS if names & comparison.second))
    else:
        first_terms = comparison.first
    candidates = [index for index in others if first_terms & _terms(cells[index].column)]
    if not candidates and names_no_column:
        candidates = others
    return (candidates[0], second) if len(candidates) == 1 else None

"""Rows with the most or the least of something, out of all passages of the documents with the tables.

A search finds some passages of a table, and the row with the most may be in another one. So all passages of the
documents whose tables were found are read before rows are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from preflight_rag.offline.extremes import Extreme, extreme_of, is_answered_by
from preflight_rag.offline.ordered_rows import (
    cell_of,
    draft_of_sorted_rows,
    items,
    lacks_a_price,
    measured_column,
    sorted_rows,
)
from preflight_rag.offline.table_rows import ANY_ROW, TableLine, are_called, lines_of_tables, rows_by_table, shown_rows
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.tables import is_figure
from preflight_rag.text.versions import names_version, version_name
from preflight_rag.text.words import words

MAX_TABLES = 3
"""Largest number of tables of which rows are shown where the question fits several alike; a guess."""
MAX_ROWS_PER_TABLE = 3
"""Largest number of rows that are shown of each of them; a guess."""
MIN_SHARED_ROWS = 2
"""Least number of rows that two editions of a list have in common; a guess."""
_WORDS_FOR_A_TABLE = frozenset(words("list table sheet tab document file"))
"""Index terms of a question that may stand for any table, so that no table has to have them in its name."""


@dataclass(frozen=True)
class _MeasuredTable:
    """A table with the column that a question compares its rows by.

    Attributes:
        rows: Its rows.
        column: The column's name; "" if there is none with figures.
        terms_in_names: How many of the question's terms for the rows and their list are in the names of the table.
        terms_in_table: How many of them are in its names or in its rows.
    """

    rows: list[TableLine]
    column: str
    terms_in_names: int
    terms_in_table: int


def has_tables_to_order(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a question asks for the most or the least, and the passages have rows of tables to be sorted.

    False if one row answers, because the groups that the question compares are columns.
    """
    extreme = extreme_of(question)
    if extreme is None or next(lines_of_tables(sources), None) is None:
        return False
    return not _is_answered_by_one_row(extreme, sources)


def extreme_of_whole_tables(
    question: str, sources: Sequence[Source], whole: Sequence[Source], lead: str
) -> Draft | None:
    """Return a draft with the rows of the table that a question asks about, those with the most, or the least, first.

    None without such a table. Rows are shown under `lead`, without an order, if a word of the question is nowhere near
    the table, or if the question fits several tables alike, such as two editions of a list: then the first rows of each
    are shown, the newest document's before others.

    Args:
        question: The question.
        sources: The passages that the search has found.
        whole: All passages of the documents whose tables they hold.
        lead: The line above rows for which no order is claimed.
    """
    extreme = extreme_of(question)
    if extreme is None:
        return None
    scope = (extreme.group | extreme.narrower) - ANY_ROW
    tables = [
        _measured_table(extreme, _distinct_rows(rows), scope) for rows in rows_by_table(list(lines_of_tables(whole)))
    ]
    measured = [table for table in tables if table.column and are_called(extreme.group, table.rows, sources)]
    if not measured:
        return None
    best_terms = max((table.terms_in_table, table.terms_in_names) for table in measured)
    best, *others = [table for table in measured if (table.terms_in_table, table.terms_in_names) == best_terms]
    named = max(tables, key=lambda table: table.terms_in_names)
    # The list that the question names has no such column, so no other list answers.
    if named.terms_in_names > best.terms_in_table:
        return shown_rows(named.rows, lead, "extreme") if _has_figures(named.rows) else None
    if others:
        return shown_rows(_first_rows_of_each([best, *others], most=extreme.most), lead, "extreme")
    if alternatives := [table for table in tables if _measures_in_other_columns(table, best)]:
        # Tables with a caption of the best table go first.
        alternatives.sort(key=lambda table: _captions(table).isdisjoint(_captions(best)))
        rows = _first_rows_of_each([best], most=extreme.most)
        for table in alternatives:
            rows += table.rows
        return shown_rows(rows, lead, "extreme")
    # A thing without a price may be free, and so the cheapest.
    if not extreme.most and lacks_a_price(best.column, best.rows):
        return shown_rows(best.rows, lead, "extreme")
    rows, has_all_words = _rows_of_scope(scope - _WORDS_FOR_A_TABLE, best, sources)
    if newer := _newer_edition(question, rows, tables):
        return shown_rows(_first_rows_of_each([newer, best], most=extreme.most), lead, "extreme")
    if not has_all_words:
        return shown_rows(rows, lead, "extreme")
    return draft_of_sorted_rows(best.column, rows, lead, most=extreme.most)


def _is_answered_by_one_row(extreme: Extreme, sources: Sequence[Source]) -> bool:
    """Return whether the groups that a question compares are columns of a table, so that one row answers."""
    return any(is_answered_by(extreme, line) for line in lines_of_tables(sources))


def _distinct_rows(rows: Sequence[TableLine]) -> list[TableLine]:
    """Return the first row of each text, since overlapping passages have the same rows."""
    # Reversed twice: of equal rows the first is kept, at the position of the last.
    return list({line.text: line for line in reversed(rows)}.values())[::-1]


def _measured_table(extreme: Extreme, rows: list[TableLine], scope: frozenset[str]) -> _MeasuredTable:
    """Return a table with the column by which its rows are compared, if at least two rows have a cell there."""
    column = measured_column(extreme.narrower, rows) if extreme.narrower else ""
    column = column or measured_column(extreme.what, rows)
    items_of_column = items(column, rows) if column else []
    # A single row is the most and the least at once.
    if len(items_of_column) < 2 or not any(_has_figure_in(column, line) for line in items_of_column):
        column = ""
    name_terms = _naming_terms(rows)
    table_terms = name_terms.union(*(words(line.text) for line in rows))
    return _MeasuredTable(rows, column, len(scope & name_terms), len(scope & table_terms))


def _naming_terms(rows: Sequence[TableLine]) -> frozenset[str]:
    """Return the index terms of the names of a table: captions, columns, its document's title and its file's name."""
    first = rows[0].source
    names = [first.title, PurePath(first.source or first.document_id).stem.replace("_", " ")]
    names += dict.fromkeys(line.row.caption for line in rows)
    names += dict.fromkeys(cell.column for line in rows for cell in line.row.cells)
    return frozenset(words(" ".join(names)))


def _has_figure_in(column: str, line: TableLine) -> bool:
    """Return whether a row's cell in a column begins with a figure: "read" below "Prices" is none."""
    cell = cell_of(column, line)
    return cell is not None and is_figure(cell.text)


def _newer_edition(question: str, rows: Sequence[TableLine], tables: Sequence[_MeasuredTable]) -> _MeasuredTable | None:
    """Return the first table of a newer edition of the document that has a column to compare and some of the same rows.

    Return None without one, or if the question names the edition of the rows.
    """
    source, labels = rows[0].source, _labels(rows)
    if names_version(question, source):
        return None
    for table in tables:
        other = table.rows[0].source
        is_newer = other.document_id != source.document_id and version_name(other) > version_name(source)
        if table.column and is_newer and len(labels & _labels(table.rows)) >= MIN_SHARED_ROWS:
            return table
    return None


def _labels(rows: Sequence[TableLine]) -> set[str]:
    """Return the texts of the first cells of rows, in lower case."""
    return {line.row.cells[0].text.casefold() for line in rows}


def _measures_in_other_columns(other: _MeasuredTable, best: _MeasuredTable) -> bool:
    """Return whether a table of the best table's document fits the question as well, by several columns of figures.

    "Which surgery is the most expensive?" asks of both lists on the sheet "Surgery", one with prices by weight.
    """
    if other.rows[0].source.document_id != best.rows[0].source.document_id or other.column:
        return False
    return other.terms_in_table >= best.terms_in_table > 0 and _has_figures(other.rows)


def _captions(table: _MeasuredTable) -> set[str]:
    """Return the captions of a table's rows; rows without a caption are left out."""
    return {line.row.caption for line in table.rows if line.row.caption}


def _has_figures(rows: Sequence[TableLine]) -> bool:
    """Return whether a cell behind the first of a row begins with a figure."""
    return any(is_figure(cell.text) for line in rows for cell in line.row.cells[1:])


def _rows_of_scope(
    scope: frozenset[str], table: _MeasuredTable, sources: Sequence[Source]
) -> tuple[list[TableLine], bool]:
    """Return a table's rows with the question's terms for some of its rows, and whether all terms are accounted for.

    "Which in-house test is the cheapest?" asks of the rows with "in house" alone. All rows are returned, and False, if
    a term is neither in the table nor fits its rows, or if no row has all terms. Of a single row the second is False.
    """
    rows = items(table.column, table.rows)
    terms_of_rows = [frozenset(words(line.text)) for line in rows]
    open_terms = scope - _naming_terms(table.rows) - frozenset(words(table.column))
    row_terms = open_terms & frozenset[str]().union(*terms_of_rows)
    if not all(are_called(frozenset({term}), rows, sources) for term in open_terms - row_terms):
        return rows, False
    narrowed = [line for line, terms in zip(rows, terms_of_rows, strict=True) if row_terms <= terms]
    return (narrowed, len(narrowed) > 1) if narrowed else (rows, False)


def _first_rows_of_each(tables: Sequence[_MeasuredTable], *, most: bool) -> list[TableLine]:
    """Return the rows with the most, or the least, of several tables, those of the newest document first.

    A table whose figures cannot be compared keeps its own order.
    """
    newest_first = sorted(tables, key=lambda table: version_name(table.rows[0].source), reverse=True)
    first_rows = []
    for table in newest_first[:MAX_TABLES]:
        rows = items(table.column, table.rows)
        first_rows += (sorted_rows(table.column, rows, most=most) or rows)[:MAX_ROWS_PER_TABLE]
    return first_rows

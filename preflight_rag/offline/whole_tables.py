"""Rows with the most or the least of something, out of tables that were read from the library as a whole.

A search finds some passages of a table, and the row with the most may stand in another one. So the documents whose
tables were found are read anew, with all of their passages, before rows are put in order.
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

MOST_TABLES = 3
"""Tables of which rows are shown where the question fits several alike; a guess."""
ROWS_OF_EACH = 3
"""Rows that are shown of each of them; a guess."""
LEAST_SHARED = 2
"""Rows that two editions of a list have in common, at least; a guess."""
_LISTS = frozenset(words("list table sheet tab document file"))
"""Words for any table: one may have it in its name, and none needs to."""


@dataclass(frozen=True)
class _Measured:
    """A table with the column that a question compares its rows by.

    Attributes:
        rows: Its rows.
        column: The column's name; "" if it has none such.
        named: How many of the question's words for the rows and their list are in the names of the table.
        found: How many of them are in its names or in its rows.
    """

    rows: list[TableLine]
    column: str
    named: int
    found: int


def has_tables_to_order(question: str, sources: Sequence[Source]) -> bool:
    """Return whether a question asks for the most or the least, and rows of tables were found for it."""
    asked = extreme_of(question)
    return asked is not None and any(True for _ in lines_of_tables(sources)) and not _is_one_row(asked, sources)


def extreme_of_whole_tables(
    question: str, sources: Sequence[Source], whole: Sequence[Source], lead: str
) -> Draft | None:
    """Return the rows of the table that a question asks about, those with the most, or the least, first.

    None without such a table. Nothing is said of an order if a word of the question is found nowhere near the table, or
    if it fits several tables alike, such as two editions of a list: then the first rows of each are shown, the newest
    document's before others.

    Args:
        question: The question.
        sources: The passages that the search has found.
        whole: All passages of the documents whose tables they hold.
        lead: The line above rows for which no order is claimed.
    """
    asked = extreme_of(question)
    if asked is None:
        return None
    scope = (asked.group | asked.narrower) - ANY_ROW
    tables = [_measured(asked, _distinct(rows), scope) for rows in rows_by_table(list(lines_of_tables(whole)))]
    found = [table for table in tables if table.column and are_called(asked.group, table.rows, sources)]
    if not found:
        return None
    best = max((table.found, table.named) for table in found)
    nearer = max(tables, key=lambda table: table.named)
    if nearer.named > best[0]:  # the list that the question names has no such column: no other list answers
        return shown_rows(nearer.rows, lead, "extreme") if _has_figures(nearer.rows) else None
    found = [table for table in found if (table.found, table.named) == best]
    if len(found) > 1:
        return shown_rows(_first_of_each(found, most=asked.most), lead, "extreme")
    if beside := [table for table in tables if _is_beside(table, found[0])]:
        beside.sort(key=lambda table: _captions(table).isdisjoint(_captions(found[0])))
        rows = [*_first_of_each(found, most=asked.most), *(row for table in beside for row in table.rows)]
        return shown_rows(rows, lead, "extreme")
    if not asked.most and lacks_a_price(found[0].column, found[0].rows):
        return shown_rows(found[0].rows, lead, "extreme")  # what has no price may be free
    rows, is_sure = _that_are_asked_for(scope - _LISTS, found[0], sources)
    if newer := _newer_edition(question, rows, tables):
        return shown_rows(_first_of_each([newer, found[0]], most=asked.most), lead, "extreme")
    return (
        draft_of_sorted_rows(found[0].column, rows, lead, most=asked.most)
        if is_sure
        else shown_rows(rows, lead, "extreme")
    )


def _is_one_row(asked: Extreme, sources: Sequence[Source]) -> bool:
    """Return whether the groups that a question compares are a table's columns, so that one row has them all."""
    return any(is_answered_by(asked, line) for line in lines_of_tables(sources))


def _distinct(rows: Sequence[TableLine]) -> list[TableLine]:
    """Return rows without those that stand in two passages that overlap."""
    # Reversed twice, so that of two equal rows the first stays in its place.
    return list({line.text: line for line in reversed(rows)}.values())[::-1]


def _measured(asked: Extreme, rows: list[TableLine], scope: frozenset[str]) -> _Measured:
    """Return a table with the column by which its rows are compared, if rows have figures there."""
    column = measured_column(asked.narrower, rows) if asked.narrower else ""
    column = column or measured_column(asked.what, rows)
    those = items(column, rows) if column else []
    # A single row is the most and the least at once.
    column = column if len(those) > 1 and any(_is_figure(column, line) for line in those) else ""
    about = _about(rows)
    found = scope & about.union(*(words(line.text) for line in rows))
    return _Measured(rows, column, len(scope & about), len(found))


def _about(rows: Sequence[TableLine]) -> frozenset[str]:
    """Return the index terms of a table's captions and columns, of its document's title and of its file's name."""
    first = rows[0].source
    names = [first.title, PurePath(first.source or first.document_id).stem.replace("_", " ")]
    names += dict.fromkeys(line.row.caption for line in rows)
    names += dict.fromkeys(cell.column for line in rows for cell in line.row.cells)
    return frozenset(words(" ".join(names)))


def _is_figure(column: str, line: TableLine) -> bool:
    """Return whether a row's cell in a column begins with a figure: "read" below "Prices" is none."""
    cell = cell_of(column, line)
    return cell is not None and is_figure(cell.text)


def _newer_edition(question: str, rows: Sequence[TableLine], tables: Sequence[_Measured]) -> _Measured | None:
    """Return a table of a newer document with some of the same rows; None if the question names the older one."""
    first, labels = rows[0].source, _labels(rows)
    if names_version(question, first):
        return None
    newer = (
        table
        for table in tables
        if table.column
        and table.rows[0].source.document_id != first.document_id
        and version_name(table.rows[0].source) > version_name(first)
        and len(labels & _labels(table.rows)) >= LEAST_SHARED
    )
    return next(newer, None)


def _labels(rows: Sequence[TableLine]) -> set[str]:
    """Return the first cells of rows."""
    return {line.row.cells[0].text.casefold() for line in rows}


def _is_beside(other: _Measured, chosen: _Measured) -> bool:
    """Return whether a table of the same document may be meant as well, and has what is measured in other columns.

    "Which surgery is the most expensive?" asks of both lists on the sheet "Surgery", one with prices by weight.
    """
    is_near = other.rows[0].source.document_id == chosen.rows[0].source.document_id
    return is_near and not other.column and other.found >= chosen.found > 0 and _has_figures(other.rows)


def _captions(table: _Measured) -> set[str]:
    """Return the captions of a table's rows."""
    return {line.row.caption for line in table.rows if line.row.caption}


def _has_figures(rows: Sequence[TableLine]) -> bool:
    """Return whether a table has figures beside its labels."""
    return any(is_figure(cell.text) for line in rows for cell in line.row.cells[1:])


def _that_are_asked_for(
    scope: frozenset[str], table: _Measured, sources: Sequence[Source]
) -> tuple[list[TableLine], bool]:
    """Return a table's rows that have the question's words for some of them only, and whether all words were found.

    "Which in-house test is the cheapest?" asks of the rows with "in house" alone.
    """
    rows = items(table.column, table.rows)
    about = _about(table.rows) | frozenset(words(table.column))
    of_rows = {id(line): frozenset(words(line.text)) for line in rows}
    open_words = scope - about
    telling = {term for term in open_words if any(term in terms for terms in of_rows.values())}
    elsewhere = open_words - telling
    if not all(are_called(frozenset({term}), rows, sources) for term in elsewhere):
        return rows, False
    narrowed = [line for line in rows if telling <= of_rows[id(line)]]
    return (narrowed, len(narrowed) > 1) if narrowed else (rows, False)


def _first_of_each(tables: Sequence[_Measured], *, most: bool) -> list[TableLine]:
    """Return the rows with the most, or the least, of several tables, those of the newest document first."""
    newest = sorted(tables, key=lambda table: version_name(table.rows[0].source), reverse=True)
    shown = []
    for table in newest[:MOST_TABLES]:
        rows = items(table.column, table.rows)
        shown += (sorted_rows(table.column, rows, most=most) or rows)[:ROWS_OF_EACH]
    return shown

"""Rows of a table that do not list something: "Which items contain no milk?", "Which customers have not paid?".

Sentences and vectors put the rows that list it first, which is the opposite of what is asked for. That a cell does not
list something is no proof that it is not there, so the rows are shown under what they do not list, and nothing is
claimed. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.offline.table_rows import MOST_ROWS, TableLine, largest_table, lines_of_tables, shown_rows
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import rows_not_listing
from preflight_rag.text.words import words

_WHAT = r"(?P<what>[^\W\d_][\w'’-]{1,30}(?: [\w'’-]{2,30})?)"
_ENDS = r"(?: in (?:it|them|there))?"
_CONTAIN = r"(?:contain|have|hold|include|need|require|list|use|come with)"
_ASKED = tuple(
    re.compile(rf"(?:which|what|who)\b[^?]{{0,80}}? {form}{_ENDS}", re.IGNORECASE)
    for form in (
        rf"(?:do not|don['’]t|does not|doesn['’]t|did not|cannot|can['’]t) {_CONTAIN} (?:any |an? )?{_WHAT}",
        rf"(?:contains?|has|have|holds?|includes?|needs?|requires?|uses?|comes? with) no {_WHAT}",
        rf"(?:is|are|comes?|made) (?:entirely |completely )?without (?:any |an? )?{_WHAT}",
        rf"(?:is|are|comes?) (?:not|never) made (?:with|of|from) {_WHAT}",
        rf"(?:is|are) (?:free (?:of|from) {_WHAT})",
        r"(?:is|are) (?P<what>[^\W\d_][\w'’]{1,30})[ -]free",
        r"(?:have|has|are|is|were|was)(?: not|n['’]t)(?: yet)?(?: been)? (?P<what>[^\W\d_]{3,30})(?: yet)?",
    )
)
_SHORT_LIST = 80
"""Characters of a cell that lists things; longer ones are prose. A guess."""


def rows_not_listing_any(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return the rows of a table whose list does not have what a question excludes; None where there are none.

    Args:
        question: The question.
        sources: Passages; their lines that are rows of tables are read.
    """
    one_line = " ".join(question.split()).rstrip("?!. ")
    asked = next(filter(None, (form.fullmatch(one_line) for form in _ASKED)), None)
    if asked is None:
        return None
    what, lines = frozenset(words(asked["what"])), list(lines_of_tables(sources))
    listing = [(line, column) for line in lines if (column := _listing_column(what, line))]
    if not what or not listing:
        return None
    documents = {(line.source.document_id, column) for line, column in listing}
    rows = largest_table([line for line in lines if any(_has(line, *each) for each in documents)])
    column = next((column for line, column in listing if line in rows), "")
    without = [line for line in rows if _listing_column(what, line) != column]
    shown = min(len(without), MOST_ROWS)
    lead = rows_not_listing(asked["what"], column, shown=shown, found=len(without))
    return shown_rows(without, lead, "unlisted")


def _listing_column(what: frozenset[str], line: TableLine) -> str:
    """Return the column of a row whose cell lists something by its words; "" if none does."""
    for cell in line.row.cells[1:]:
        if len(cell.text) <= _SHORT_LIST and what and what <= frozenset(words(cell.text)):
            return cell.column
    return ""


def _has(line: TableLine, document: str, column: str) -> bool:
    """Return whether a row is of a document and has a cell in a column."""
    return line.source.document_id == document and any(cell.column == column for cell in line.row.cells[1:])

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

_UNLISTED_THING = r"(?P<what>[^\W\d_][\w'’-]{1,30}(?: [\w'’-]{2,30})?)"
_OPTIONAL_END = r"(?: in (?:it|them|there))?"
_CONTAIN = r"(?:contain|have|hold|include|need|require|list|use|come with)"
_QUESTION_FORMS = tuple(
    re.compile(rf"(?:which|what|who)\b[^?]{{0,80}}? {form}{_OPTIONAL_END}", re.IGNORECASE)
    for form in (
        rf"(?:do not|don['’]t|does not|doesn['’]t|did not|cannot|can['’]t) {_CONTAIN} (?:any |an? )?{_UNLISTED_THING}",
        rf"(?:contains?|has|have|holds?|includes?|needs?|requires?|uses?|comes? with) no {_UNLISTED_THING}",
        rf"(?:is|are|comes?|made) (?:entirely |completely )?without (?:any |an? )?{_UNLISTED_THING}",
        rf"(?:is|are|comes?) (?:not|never) made (?:with|of|from) {_UNLISTED_THING}",
        rf"(?:is|are) (?:free (?:of|from) {_UNLISTED_THING})",
        r"(?:is|are) (?P<what>[^\W\d_][\w'’]{1,30})[ -]free",
        r"(?:have|has|are|is|were|was)(?: not|n['’]t)(?: yet)?(?: been)? (?P<what>[^\W\d_]{3,30})(?: yet)?",
    )
)
_MAX_LIST_LENGTH = 80
"""Largest number of characters of a cell that lists things; a longer cell is prose. A guess."""


def rows_not_listing_any(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return a draft with the rows of a table whose list does not have what a question excludes.

    None for a question that excludes nothing, if no row lists the thing, and if all rows of the table do.

    Args:
        question: The question: "Which items contain no milk?".
        sources: Passages; their lines that are rows of tables are read.
    """
    plain_question = " ".join(question.split()).rstrip("?!. ")
    match = next(filter(None, (form.fullmatch(plain_question) for form in _QUESTION_FORMS)), None)
    if match is None:
        return None
    thing, lines = frozenset(words(match["what"])), list(lines_of_tables(sources))
    listing = [(line, column) for line in lines if (column := _listing_column(thing, line))]
    if not thing or not listing:
        return None
    document_columns = {(line.source.document_id, column) for line, column in listing}
    rows = largest_table([line for line in lines if any(_has_cell_in(line, *key) for key in document_columns)])
    column = next((column for line, column in listing if line in rows), "")
    without_thing = [line for line in rows if _listing_column(thing, line) != column]
    shown = min(len(without_thing), MOST_ROWS)
    lead = rows_not_listing(match["what"], column, shown=shown, found=len(without_thing))
    return shown_rows(without_thing, lead, "unlisted")


def _listing_column(thing: frozenset[str], line: TableLine) -> str:
    """Return the name of a row's first column whose cell lists a thing; "" if there is none, or no index terms."""
    for cell in line.row.cells[1:]:
        if len(cell.text) <= _MAX_LIST_LENGTH and thing and thing <= frozenset(words(cell.text)):
            return cell.column
    return ""


def _has_cell_in(line: TableLine, document: str, column: str) -> bool:
    """Return whether a row is of a document and has a cell in a column."""
    return line.source.document_id == document and any(cell.column == column for cell in line.row.cells[1:])

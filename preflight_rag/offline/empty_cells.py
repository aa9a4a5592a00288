"""Rows of a table without anything in a column: "Which tickets have no owner?", "Which articles are out of stock?".

Such a row lacks the column, or has a word such as "none" in it. A part of the table may stand in a passage that was not
found, so the rows are shown and nothing is claimed. By rule, in English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.offline.table_rows import (
    MOST_ROWS,
    TableLine,
    are_called,
    largest_table,
    lines_of_tables,
    shown_rows,
)
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.headers import rows_without
from preflight_rag.text.tables import Cell
from preflight_rag.text.words import words

_GROUP = r"(?:which|what)(?: of (?:the|our|these|those))? (?P<group>[\w -]{1,40}?)|(?P<anyone>who)"
_ASKS_WITHOUT = re.compile(
    rf"(?:{_GROUP}) (?:still |currently |now )?"
    r"(?:(?:has|have|had|got) (?:no|not any)|(?:is|are|was|were) (?:still )?(?:out of|without|missing|lacking)|lacks?) "
    r"(?:an? |any |the )?(?P<what>[\w -]{2,40}?)(?: yet| at all| left)?",
    re.IGNORECASE,
)
_ASKS_NOT_DONE = re.compile(
    rf"(?:{_GROUP}) (?:still |currently |now )?(?:(?:is|are|was|were) (?:not|never)|(?:has|have|had) (?:not|never)"
    r" been) (?:yet )?(?P<what>[\w-]{2,40})(?: yet| at all)?",
    re.IGNORECASE,
)
_ASKS_OPEN = re.compile(
    rf"(?:{_GROUP}) (?:is|are|was|were) (?:still |currently |now )?(?:open|un(?P<what>[a-z]{{3,20}}))(?: yet| still)?",
    re.IGNORECASE,
)
"""A question for what is open, that is not closed, or for what is "unpaid", that is not paid."""
_NO_VALUE = re.compile(r"(?:[-–—]+|none|no|n/?a|nil|null|0|not (?:set|assigned|known|available)|unassigned)\.?", re.I)
"""The text of a cell without a value: "-", "none", "not assigned"."""


def rows_without_any(question: str, sources: Sequence[Source]) -> Draft | None:
    """Return the rows of a table that are empty in a column that a question names; None if there are none."""
    one_line = " ".join(question.split()).rstrip("?!. ")
    asked = _ASKS_WITHOUT.fullmatch(one_line) or _ASKS_NOT_DONE.fullmatch(one_line) or _ASKS_OPEN.fullmatch(one_line)
    if asked is None:
        return None
    what, lines = frozenset(words(asked["what"] or "closed")), list(lines_of_tables(sources))
    with_column = [line for line in lines if _find_cell(what, line) is not None]
    # A row lacks the columns in which it has nothing, so other rows of its table show that it belongs there.
    rows = largest_table([line for line in lines if any(_are_of_one_table(line, other) for other in with_column)])
    column = next((cell.column for line in rows if (cell := _find_cell(what, line))), "")
    # "Who" may ask for any rows; "which employees" does not ask for rows of tickets.
    if not column or not (asked["anyone"] or are_called(frozenset(words(asked["group"])), rows, sources)):
        return None
    without = [
        line for line in rows if (cell := _find_cell(what, line)) is None or _NO_VALUE.fullmatch(cell.text.strip())
    ]
    shown = min(len(without), MOST_ROWS)
    return shown_rows(without, rows_without(column, shown=shown, found=len(without)), "rows")


def _find_cell(what: frozenset[str], line: TableLine) -> Cell | None:
    """Return the only cell behind a row's first one whose column's name has all given index terms; else None."""
    cells = [cell for cell in line.row.cells[1:] if what and what <= frozenset(words(cell.column))]
    return cells[0] if len(cells) == 1 else None


def _are_of_one_table(line: TableLine, other: TableLine) -> bool:
    """Return whether two rows have the same document, caption and first columns."""
    column, other_column = line.row.cells[0].column, other.row.cells[0].column
    is_same_place = line.source.document_id == other.source.document_id and line.row.caption == other.row.caption
    return is_same_place and bool(column) and column == other_column

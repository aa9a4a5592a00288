"""Cells below classes of sizes: the price of a 30 kg dog stands below "25-40 kg".

A size on the border of two classes may be of either, so nothing is claimed of it, and the row is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from preflight_rag.offline.table_rows import TableLine, lines_of_tables, shown_rows
from preflight_rag.state.reading import Draft, Source
from preflight_rag.text.money import with_currency
from preflight_rag.text.quotes import plain
from preflight_rag.text.size_classes import SizeClass, asked_sizes, size_class
from preflight_rag.text.tables import Cell, parse_row
from preflight_rag.text.words import STOP_WORDS, words

LEAST_CLASSES = 2
"""Columns that classes of sizes name in such a table."""
NAMED = 0.5
"""Least share of a row's label that the question has, for the row to be shown; a guess."""
_ASKS = re.compile(
    r"\b(?:how (?:much|many)|costs?|prices?|charged?|fees?|pay|rates?|amount|what(?:['’]s| is| are) (?:the|our))\b",
    re.IGNORECASE,
)
"""Questions that a figure answers; "When is a 30 kg bitch spayed?" is none."""
_ASKING = frozenset(words("how much what which cost costs charge charged price prices fee fees pay amount"))
"""Words that ask for the cell, and name nothing."""
_PLAIN = STOP_WORDS & frozenset(
    re.findall(
        "[a-z]+",
        "a an are at be do does for have how i is it me my of our should the to we what which will with would you your",
    )
)
"""Words without a meaning of their own that leave a question about the cell; "before" or "not" asks something else."""
_OTHER = frozenset(
    words(
        "more less fewer extra additional difference differ increase decrease rise rose raised cheaper dearer saving"
        " save discount last previous former next earlier later total average half double twice second third many"
    )
)
"""Words that ask for something else than the cell, if the row is not called so itself."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True)
class _Named:
    """A row with classes as columns, and how much of its label a question has.

    Attributes:
        line: The row.
        share: The share of its label's words that the question has.
        classes: Its cells with the classes that name their columns.
    """

    line: TableLine
    share: float
    classes: list[tuple[Cell, SizeClass]]


def answer_from_size_classes(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the cell of the named row in the column of the question's size; None without such a row.

    The row is shown, and no cell is claimed, if the size is on a border, if several rows are named, or if the question
    has a word that the table has not, or one that may ask for another figure: "How much more …", "… after 2 years".
    """
    sizes = asked_sizes(question)
    if len(sizes) != 1 or not _ASKS.search(question):
        return None
    ((size, written),) = sizes
    asked = frozenset(words(question.replace(written, " "))) - STOP_WORDS - _ASKING
    lines = list(lines_of_tables(sources))
    rows = [row for line in lines if (row := _named(line, size, asked)) and row.share >= NAMED]
    if not rows:
        return None
    best = max(row.share for row in rows)
    nearest = {row.line.text: row for row in rows if row.share == best}
    # A label that the question has in part may be of another thing: "polish" of "Scale and polish".
    if len(nearest) > 1 or best < 1:
        return shown_rows([row.line for row in nearest.values()], lead, "rows")
    (row,) = nearest.values()
    cell = _cell(size, row.classes)
    table = " ".join([row.line.source.title, *(line.text for line in lines if line.key == row.line.key)])
    # A word that is nowhere in the table may ask for another price: "at night", "in 2019".
    if cell is None or not asked <= frozenset(words(table)) or _asks_something_else(question, written, row):
        return shown_rows([row.line], lead, "rows")
    n, short = row.line.source.n, with_currency(cell.text, cell.column)
    label = f"Row: {plain(row.line.row.cells[0].text)}; column: {plain(cell.column)}."
    return Draft(f"{short} [{n}]\n\n{label}\n\n{plain(row.line.text)} [{n}]", ((n, row.line.text),), short=short)


def _asks_something_else(question: str, written: str, row: _Named) -> bool:
    """Return whether a question has a word that may ask for another figure than the cell of a row and a size."""
    label = row.line.row.cells[0].text
    own = frozenset(_WORD.findall(label.casefold()))
    if (frozenset(words(question.replace(written, " "))) & _OTHER) - frozenset(words(label)):
        return True
    asked = _WORD.findall(question.replace(written, " ").replace("’", "'").casefold())
    return any(word in STOP_WORDS and word not in _PLAIN and word not in own for word in asked)


def is_name_of_size_class(answer: str, quote: str) -> bool:
    """Return whether an answer out of a row is no more than the class that names one of its columns."""
    row = parse_row(quote)
    names = {cell.column for cell in row.cells} if row else set()
    return any(size_class(name) and answer.strip(" |:").startswith(name) for name in names)


def _named(line: TableLine, size: SizeClass, asked: frozenset[str]) -> _Named | None:
    """Return a row with classes of a size's unit as columns; None for any other row."""
    classes = [(cell, found) for cell in line.row.cells[1:] if (found := size_class(cell.column))]
    classes = [(cell, found) for cell, found in classes if found.unit == size.unit]
    label = frozenset(words(line.row.cells[0].text))
    if len(classes) < LEAST_CLASSES or not label:
        return None
    return _Named(line, len(label & asked) / len(label), classes)


def _cell(size: SizeClass, classes: Sequence[tuple[Cell, SizeClass]]) -> Cell | None:
    """Return the cell whose class is the size's, or the only one that shares a size with it; None if several do."""
    equal = [cell for cell, found in classes if found == size]
    sharing = equal or [cell for cell, found in classes if found.overlaps(size)]
    return sharing[0] if len(sharing) == 1 else None

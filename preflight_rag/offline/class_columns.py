"""Cells in columns of size classes: the price of a 30 kg dog stands below "25-40 kg".

A size on the border of two classes may be of either, so nothing is claimed for it, and the row is shown.
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

MIN_CLASS_COLUMNS = 2
"""Minimum number of a row's columns that are named by size classes."""
LEAST_LABEL_SHARE = 0.5
"""Minimum share of the words of a row's label that the question has, for the row to be shown; a guess."""
_ASKS_FIGURE = re.compile(
    r"\b(?:how (?:much|many)|costs?|prices?|charged?|fees?|pay|rates?|amount|what(?:['’]s| is| are) (?:the|our))\b",
    re.IGNORECASE,
)
"""Matches questions that a figure answers; "When is a 30 kg bitch spayed?" is none."""
_ASKING_WORDS = frozenset(words("how much what which cost costs charge charged price prices fee fees pay amount"))
"""Words of a question that ask for the cell and name nothing."""
_NEUTRAL_STOP_WORDS = STOP_WORDS & frozenset(
    re.findall(
        "[a-z]+",
        "a an are at be do does for have how i is it me my of our should the to we what which will with would you your",
    )
)
"""Stop words that do not change which figure a question asks for, unlike "before" or "not"."""
_OTHER_FIGURE_WORDS = frozenset(
    words(
        "more less fewer extra additional difference differ increase decrease rise rose raised cheaper dearer saving"
        " save discount last previous former next earlier later total average half double twice second third many"
    )
)
"""Words that ask for another figure than the cell, unless the row's label has them."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True)
class _ClassRow:
    """A row with size classes as columns, compared with a question.

    Attributes:
        line: The row.
        share: The share of its label's words that the question has.
        classes: Its cells, each with the size class that names its column.
    """

    line: TableLine
    share: float
    classes: list[tuple[Cell, SizeClass]]


def answer_from_size_classes(question: str, sources: Sequence[Source], lead: str) -> Draft | None:
    """Return the cell of the row that a question names, in the column of the question's size; None without such a row.

    The rows are shown without a claim if the size is on a border, if several rows are named, if a row is named in part,
    or if the question has a word that the table lacks or that may ask for another figure: "How much more …".
    """
    sizes = asked_sizes(question)
    if len(sizes) != 1 or not _ASKS_FIGURE.search(question):
        return None
    ((size, written),) = sizes
    asked = frozenset(words(question.replace(written, " "))) - STOP_WORDS - _ASKING_WORDS
    lines = list(lines_of_tables(sources))
    rows = [row for line in lines if (row := _parse_class_row(line, size, asked)) and row.share >= LEAST_LABEL_SHARE]
    if not rows:
        return None
    best_share = max(row.share for row in rows)
    nearest = {row.line.text: row for row in rows if row.share == best_share}
    # A label that the question has in part may be of another thing: "polish" of "Scale and polish".
    if len(nearest) > 1 or best_share < 1:
        return shown_rows([row.line for row in nearest.values()], lead, "rows")
    (row,) = nearest.values()
    cell = _find_class_cell(size, row.classes)
    table = " ".join([row.line.source.title, *(line.text for line in lines if line.key == row.line.key)])
    # A word that is nowhere in the table may ask for another price: "at night", "in 2019".
    if cell is None or not asked <= frozenset(words(table)) or _asks_other_figure(question, written, row):
        return shown_rows([row.line], lead, "rows")
    n, short = row.line.source.n, with_currency(cell.text, cell.column)
    label = f"Row: {plain(row.line.row.cells[0].text)}; column: {plain(cell.column)}."
    return Draft(f"{short} [{n}]\n\n{label}\n\n{plain(row.line.text)} [{n}]", ((n, row.line.text),), short=short)


def _asks_other_figure(question: str, written: str, row: _ClassRow) -> bool:
    """Return whether a question has a word that may ask for another figure than the cell, and the row's label lacks it.

    `written` is the size, as the question writes it.
    """
    label = row.line.row.cells[0].text
    without_size = question.replace(written, " ")
    if (frozenset(words(without_size)) & _OTHER_FIGURE_WORDS) - frozenset(words(label)):
        return True
    stop_words = STOP_WORDS.intersection(_WORD.findall(without_size.replace("’", "'").casefold()))
    return not stop_words <= _NEUTRAL_STOP_WORDS.union(_WORD.findall(label.casefold()))


def is_name_of_size_class(answer: str, quote: str) -> bool:
    """Return whether a quote is a row, and the answer from it only repeats the size class that names a column."""
    row = parse_row(quote)
    names = {cell.column for cell in row.cells} if row else set()
    return any(size_class(name) and answer.strip(" |:").startswith(name) for name in names)


def _parse_class_row(line: TableLine, size: SizeClass, asked: frozenset[str]) -> _ClassRow | None:
    """Return a row with the cells below size classes of a size's unit; None if it has too few, or no label."""
    classes = [(cell, named) for cell in line.row.cells[1:] if (named := size_class(cell.column))]
    classes = [(cell, named) for cell, named in classes if named.unit == size.unit]
    label = frozenset(words(line.row.cells[0].text))
    if len(classes) < MIN_CLASS_COLUMNS or not label:
        return None
    return _ClassRow(line, len(label & asked) / len(label), classes)


def _find_class_cell(size: SizeClass, classes: Sequence[tuple[Cell, SizeClass]]) -> Cell | None:
    """Return the cell whose class equals a size, else the only one whose class overlaps it; None if not exactly one."""
    equal = [cell for cell, named in classes if named == size]
    fitting = equal or [cell for cell, named in classes if named.overlaps(size)]
    return fitting[0] if len(fitting) == 1 else None

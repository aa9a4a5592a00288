"""Sheets of a workbook as text: a block of filled cells is a table or some lines; rows say the sheet's name.

Two tables beside each other are two, what goes on below a blank row has the columns' names of the table above, and a
row that is indented under another one is called by both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.text.size_classes import size_class
from preflight_rag.text.tables import INDENT, header_rows, is_addressee, is_error, is_figure, names_legend, table_lines

_UNNAMED = re.compile(r"(?:sheet|table|tabelle|feuil|hoja|foglio|blad|planilha|лист|工作表|シート) ?\d*", re.IGNORECASE)
"""Names that programs give; they say nothing of what a sheet holds."""
_TOTAL = re.compile(r"\b(?:(?:sub)?totals?|sum|result|ergebnis|summe)\b", re.IGNORECASE)
LEAST_COLUMNS = 3
"""Columns of a table above whose header notes are looked for; a guess."""
MOST_NOTES = 6
"""Most rows of notes directly above a header; a guess."""
MOST_INDENTED = 15
"""Levels that a label may be indented by, as in Excel."""

Grid = Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Block:
    """A block of filled cells, with the numbers of the sheet's columns."""

    rows: list[list[str]]
    places: list[int]

    def part(self, kept: Sequence[int]) -> _Block:
        """Return some of the columns, without the rows that are blank in them."""
        rows = [[row[place] for place in kept] for row in self.rows]
        return _Block([row for row in rows if any(row)], [self.places[place] for place in kept])

    def filled(self, rows: Sequence[list[str]]) -> _Block:
        """Return some of the rows, without the columns that are blank in them."""
        kept = [place for place in range(len(self.places)) if any(row[place] for row in rows)]
        return _Block(list(rows), self.places).part(kept)


@dataclass(frozen=True)
class _Above:
    """The table above a block: the names of its columns by their place in the sheet, and its columns of figures."""

    names: dict[int, str] = field(default_factory=dict)
    figures: frozenset[int] = frozenset()

    def names_of(self, block: _Block) -> list[str]:
        """Return the columns' names for a block that continues the table; none if it is something else.

        A continuation has no header of its own and has figures in the table's columns of figures; if the table has
        none, it fills all columns.
        """
        if not set(block.places) <= self.names.keys() or header_rows(block.rows):
            return []
        shared = self.figures.intersection(block.places)
        if not shared and (len(block.places) < len(self.names) or len(self.names) == len(("label", "value"))):
            return []
        cells = [row[number] for row in block.rows for number, place in enumerate(block.places) if place in shared]
        if not all(is_figure(cell) or is_error(cell) for cell in cells if cell):
            return []
        return [self.names[place] for place in block.places]


def add_sheet(parts: Parts, number: int, name: str, grid: Grid) -> None:
    """Append the blocks of a sheet as a page with its number; an empty sheet adds nothing.

    Args:
        parts: The document's parts, to which the blocks are appended.
        number: The sheet's place in the workbook, from 1.
        name: The name on the sheet's tab.
        grid: The cells by row; a merged cell is repeated in each of its places, and an indented label begins
        with one `INDENT` for each level.
    """
    blocks = [part for block in _blocks(grid) for part in _stacked(block)]
    if not blocks:
        return
    parts.page(number)
    parts.add(name, "heading")
    _add_blocks(parts, "" if _UNNAMED.fullmatch(name) else name, blocks)


def add_grid(parts: Parts, grid: Grid) -> None:
    """Append the blocks of a grid that has no sheet name."""
    _add_blocks(parts, "", [part for block in _blocks(grid) for part in _stacked(block)])


def _add_blocks(parts: Parts, about: str, blocks: Sequence[_Block]) -> None:
    """Append blocks of cells; each row begins with `about`."""
    line = ""
    above = _Above()
    for block in blocks:
        single = [row for row in block.rows if len(set(filter(None, row))) == 1]
        if len(single) == len(block.rows):
            for row in single:
                line = next(filter(None, row)).strip()
                parts.add(line)
            continue
        caption, whole = _caption(block)
        caption = caption or line
        if caption and caption != line:
            parts.add(caption)
        notes, whole = _notes_above(whole)
        for note in notes:
            parts.add(note)
        for part in _side_by_side(whole):
            own, table = _caption(part)
            if own:
                parts.add(own)
            named = (about, *(each.rstrip(" .:") for each in (caption, own) if not is_addressee(each)))
            short = ", ".join(dict.fromkeys(filter(None, named)))
            above = _add_table(parts, short, table, above)
        line = ""


def _add_table(parts: Parts, caption: str, table: _Block, above: _Above) -> _Above:
    """Append a table's rows; return the table that a block below may continue."""
    header: int | None
    if names := above.names_of(table):
        rows, header = [names, *_nested(table.rows, 0)], 1
    else:
        count = header_rows(table.rows)
        rows = _nested(_filled_down(table.rows, count), count)
        # Two rows of two cells are names and values: what else would be one value under one name.
        header = 0 if len(rows) == 2 and len(rows[0]) == 2 else None
        above = _Above()
        if count == 1 and all(table.rows[0][1:]):  # the corner above the labels may be blank
            body = table.rows[1:]
            figures = {
                place
                for number, place in enumerate(table.places)
                if all(is_figure(row[number]) or is_error(row[number]) for row in body if row[number])
            }
            above = _Above(dict(zip(table.places, table.rows[0], strict=True)), frozenset(figures))
    for line in table_lines(rows, caption=caption, header_rows=header):
        parts.add(line, "row")
    return above


def _blocks(grid: Grid) -> Iterator[_Block]:
    """Yield the runs of rows that are not blank, without blank columns."""
    for filled, rows in groupby(grid, key=lambda row: any(cell.strip() for cell in row)):
        if filled:
            run = [list(row) for row in rows]
            width = max(map(len, run))
            cells = [[cell.strip(" \n\t") for cell in row + [""] * (width - len(row))] for row in run]
            yield _Block(cells, list(range(width))).filled(cells)


def _stacked(block: _Block) -> list[_Block]:
    """Return the tables of a block that stand below each other with no blank row between them.

    The lower one has a line of its own above its header, and other columns: a heading inside of a table has not.
    """
    titles = [number for number, row in enumerate(block.rows) if row[0] and not any(row[1:])]
    first = next((row for row in block.rows if sum(map(bool, row)) > 1), [])
    for number in titles:
        above, below = block.rows[:number], block.rows[number + 1 :]
        if len(above) < 2 or len(below) < 2 or sum(map(bool, first)) < 2 or is_figure(block.rows[number][0]):
            continue
        header = [place for place, cell in enumerate(below[0]) if cell]
        is_header = len(header) > 1 and not any(is_figure(cell) and not size_class(cell) for cell in below[0] if cell)
        others = header != [place for place, cell in enumerate(first) if cell]
        if is_header and others and header_rows(block.filled(below).rows) == 1:
            return [block.filled(above), *_stacked(block.filled(block.rows[number:]))]
    return [block]


def _caption(block: _Block) -> tuple[str, _Block]:
    """Return the caption, if it has a row of its own above the header, and the rows below it."""
    above: list[str] = []
    for row in block.rows[:-1]:
        distinct = set(filter(None, row))
        if len(distinct) != 1:
            break
        above += [each.strip() for each in distinct]
    # A merged title may be wider than the table under it.
    return " ".join(above), block.filled(block.rows[len(above) :])


def _notes_above(block: _Block) -> tuple[list[str], _Block]:
    """Return the notes in several cells directly above a table's header, a line for each row, and the table.

    The header is the first row with a different text in every column, and has the form of one.
    """
    if len(block.places) < LEAST_COLUMNS or header_rows(block.rows):
        return [], block
    # A single row may name the columns, too, as a pivot table's.
    for number in range(2, min(MOST_NOTES, len(block.rows) - 1) + 1):
        row = block.rows[number]
        if all(row) and len(set(row)) == len(row):  # a merged cell is repeated
            below = block.filled(block.rows[number:])
            if header_rows(below.rows) == 1 and any(map(_is_of_figures, zip(*below.rows[1:], strict=True))):
                return [" ".join(dict.fromkeys(filter(None, each))) for each in block.rows[:number]], below
    return [], block


def _is_of_figures(column: Sequence[str]) -> bool:
    """Return whether most cells of a column are figures: rows of names alone look like a header, too."""
    filled = [cell for cell in column if cell]
    return 2 * sum(map(is_figure, filled)) > len(filled)


def _side_by_side(block: _Block) -> list[_Block]:
    """Return the tables separated by blank columns; a blank column inside one table is only space.

    A table of its own has a header, and labels in its first column: figures alone belong to the labels at the left.
    """
    gaps = [number + 1 for number, (left, right) in enumerate(pairwise(block.places)) if right > left + 1]
    bounds = [0, *gaps, len(block.places)]
    parts = [block.part(range(start, end)) for start, end in pairwise(bounds)]
    return parts if len(parts) > 1 and all(map(_is_table, parts)) else [block]


def _is_table(part: _Block) -> bool:
    """Return whether a part of a block is a table of its own: a form, or labels under a header."""
    rows = _caption(part)[1].rows
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    labels = [row[0] for row in rows[header_rows(rows) :] if row[0]]
    # A form has "Name:" beside its value.
    is_form = len(rows[0]) == 2 and all(row[0].endswith(":") for row in rows)
    return (
        is_form or names_legend(rows[0]) or (header_rows(rows) > 0 and bool(labels) and not any(map(is_figure, labels)))
    )


def _filled_down(rows: list[list[str]], header: int) -> list[list[str]]:
    """Return the rows of a pivot table with the label of each group in all of its rows, which show it once.

    Its groups end with a row of their total, and its second column has labels, too.
    """
    body = rows[header:]
    blank = [row for row in body if not row[0] and len(row) > 2]
    labels = {row[0] for row in body if row[0]}
    totals = {row[0] for row in body if _TOTAL.search(row[0]) and not row[1]}
    is_pivot = (
        header == 1 and blank and totals and body[0][0] and all(row[1] and not is_figure(row[1]) for row in blank)
    )
    if not is_pivot or not any(_TOTAL.sub("", total).strip(" :") in labels for total in totals):
        return rows
    found, label = rows[:header], ""
    for row in body:
        label = "" if row[0] in totals else row[0] or label
        found = [*found, [row[0] or label, *row[1:]]]
    return found


def _nested(rows: Sequence[list[str]], header: int) -> list[list[str]]:
    """Return a table's rows with each label after those under which it is indented."""
    depths = [len(row[0]) - len(row[0].lstrip(INDENT)) for row in rows]
    if not any(depths):
        return list(rows)
    found = [list(row) for row in rows[:header]]
    around: list[tuple[int, str]] = []
    for number, row in enumerate(rows[header:], header):
        label = row[0].lstrip(INDENT)
        around = [(depth, name) for depth, name in around if depth < depths[number]]
        below = depths[number + 1] if number + 1 < len(rows) else 0
        if any(row[1:]) or below <= depths[number]:
            found.append([", ".join([*(name for _, name in around), label]), *row[1:]])
        around.append((depths[number], label.rstrip(" :")))
    return found

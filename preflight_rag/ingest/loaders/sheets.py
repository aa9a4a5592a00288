"""Turn the sheets of a workbook into text: each block of filled cells becomes table rows or lines.

Rows begin with the sheet's name. Tables beside each other are separated, a block that continues a table below a blank
row gets that table's column names, and the label of an indented row follows the labels that it is indented under.
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
"""Default sheet names of spreadsheet programs, which say nothing about the content: "Sheet 1", "Tabelle2"."""
_TOTAL = re.compile(r"\b(?:(?:sub)?totals?|sum|result|ergebnis|summe)\b", re.IGNORECASE)
LEAST_COLUMNS = 3
"""Minimum number of columns of a table above whose header notes are looked for; a guess."""
MOST_NOTES = 6
"""Maximum number of rows of notes directly above a header; a guess."""
MOST_INDENTED = 15
"""Maximum number of levels that a label may be indented by, as in Excel."""
_LABEL_AND_VALUE = 2
"""Number of columns of a table that consists of labels and their values."""

Grid = Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Block:
    """A block of filled cells.

    Attributes:
        rows: The cells by row.
        sheet_columns: The index of each column of the block in the sheet.
    """

    rows: list[list[str]]
    sheet_columns: list[int]

    def with_columns(self, columns: Sequence[int]) -> _Block:
        """Return the block with only some of its columns (by index), without the rows that are blank in all of them."""
        rows = [[row[column] for column in columns] for row in self.rows]
        return _Block([row for row in rows if any(row)], [self.sheet_columns[column] for column in columns])

    def with_rows(self, rows: Sequence[list[str]]) -> _Block:
        """Return a block of some of the rows, without the columns that are blank in all of them."""
        columns = range(len(self.sheet_columns))
        filled_columns = [column for column in columns if any(row[column] for row in rows)]
        return _Block(list(rows), self.sheet_columns).with_columns(filled_columns)


@dataclass(frozen=True)
class _TableAbove:
    """The table above a block, which the block may continue.

    Attributes:
        names: The names of the table's columns by their index in the sheet.
        figures: The indexes in the sheet of the columns that contain only figures.
    """

    names: dict[int, str] = field(default_factory=dict)
    figures: frozenset[int] = frozenset()

    def column_names_for(self, block: _Block) -> list[str]:
        """Return the names of the block's columns if the block continues the table; [] if it does not.

        A continuation has no header of its own and has figures in the table's columns of figures; if the table has
        none, the continuation fills all columns.
        """
        if not set(block.sheet_columns) <= self.names.keys() or header_rows(block.rows):
            return []
        shared = self.figures.intersection(block.sheet_columns)
        is_too_narrow = len(block.sheet_columns) < len(self.names) or len(self.names) == _LABEL_AND_VALUE
        if not shared and is_too_narrow:
            return []
        for index, sheet_column in enumerate(block.sheet_columns):
            cells = [row[index] for row in block.rows] if sheet_column in shared else []
            if not _are_figures_or_blank(cells):
                return []
        return [self.names[sheet_column] for sheet_column in block.sheet_columns]


def _are_figures_or_blank(cells: Sequence[str]) -> bool:
    """Return whether each cell is a figure, a spreadsheet's error such as "#DIV/0!", or blank."""
    return all(is_figure(cell) or is_error(cell) for cell in cells if cell)


def add_sheet(parts: Parts, number: int, name: str, grid: Grid) -> None:
    """Append the blocks of a sheet as a page with its number; an empty sheet adds nothing.

    Args:
        parts: The document's parts, to which the blocks are appended.
        number: The sheet's number in the workbook, from 1.
        name: The name on the sheet's tab.
        grid: The cells by row; a merged cell is repeated in each position that it covers, and an indented label begins
            with one `INDENT` for each level.
    """
    blocks = _tables_and_lines(grid)
    if not blocks:
        return
    parts.page(number)
    parts.add(name, "heading")
    _add_blocks(parts, "" if _UNNAMED.fullmatch(name) else name, blocks)


def add_grid(parts: Parts, grid: Grid) -> None:
    """Append the blocks of a grid of cells that has no sheet name."""
    _add_blocks(parts, "", _tables_and_lines(grid))


def _tables_and_lines(grid: Grid) -> list[_Block]:
    """Return the blocks of a grid from the top; tables directly below each other are blocks of their own."""
    blocks: list[_Block] = []
    for block in _blocks(grid):
        blocks += _split_below_titles(block)
    return blocks


def _add_blocks(parts: Parts, sheet_name: str, blocks: Sequence[_Block]) -> None:
    """Append the tables and lines of blocks of cells.

    Args:
        parts: The document's parts, to which the blocks are appended.
        sheet_name: A name with which each row of a table begins; "" for none.
        blocks: The blocks from the top.
    """
    line_above = ""
    table_above = _TableAbove()
    for block in blocks:
        single_texts = [set(filter(None, row)) for row in block.rows]
        if all(len(texts) == 1 for texts in single_texts):
            # No row has two different texts: the block is lines, the last of which may be the next table's caption.
            for row in block.rows:
                line_above = next(filter(None, row)).strip()
                parts.add(line_above)
            continue
        caption, tables = _split_caption(block)
        caption = caption or line_above
        if caption and caption != line_above:
            parts.add(caption)
        notes, tables = _split_notes(tables)
        for note in notes:
            parts.add(note)
        for table in _split_side_by_side(tables):
            own_caption, table = _split_caption(table)
            if own_caption:
                parts.add(own_caption)
            captions = [text.rstrip(" .:") for text in (caption, own_caption) if not is_addressee(text)]
            full_caption = ", ".join(dict.fromkeys(filter(None, (sheet_name, *captions))))
            table_above = _add_table(parts, full_caption, table, table_above)
        line_above = ""


def _add_table(parts: Parts, caption: str, table: _Block, above: _TableAbove) -> _TableAbove:
    """Append the rows of a table; return the table that the next block may continue.

    Args:
        parts: The document's parts, to which the rows are appended.
        caption: The text with which each row begins.
        table: The cells, with or without a header.
        above: The table above, whose column names are used if `table` continues it.
    """
    header: int | None
    if names := above.column_names_for(table):
        rows, header = [names, *_with_parent_labels(table.rows, 0)], 1
    else:
        count = header_rows(table.rows)
        rows = _with_parent_labels(_with_repeated_group_labels(table.rows, count), count)
        # Two rows of two cells are names and values: as a header with a row they would be one name with one value.
        header = 0 if len(rows) == 2 and len(rows[0]) == 2 else None
        above = _TableAbove()
        if count == 1 and all(table.rows[0][1:]):  # the corner above the labels may be blank
            figures = set()
            for index, sheet_column in enumerate(table.sheet_columns):
                if _are_figures_or_blank([row[index] for row in table.rows[1:]]):
                    figures.add(sheet_column)
            above = _TableAbove(dict(zip(table.sheet_columns, table.rows[0], strict=True)), frozenset(figures))
    for line in table_lines(rows, caption=caption, header_rows=header):
        parts.add(line, "row")
    return above


def _blocks(grid: Grid) -> Iterator[_Block]:
    """Yield each run of rows that are not blank as a block without blank columns."""
    for is_filled, rows in groupby(grid, key=lambda row: any(cell.strip() for cell in row)):
        if is_filled:
            run = [list(row) for row in rows]
            width = max(map(len, run))
            padded = [row + [""] * (width - len(row)) for row in run]
            cells = [[cell.strip(" \n\t") for cell in row] for row in padded]
            yield _Block(cells, list(range(width))).with_rows(cells)


def _split_below_titles(block: _Block) -> list[_Block]:
    """Return the tables of a block that are below each other without a blank row between them; else the block itself.

    The lower table has a title in a row of its own above its header, and fills other columns than the upper one: a
    heading inside of a table does neither.
    """
    title_indexes = [index for index, row in enumerate(block.rows) if row[0] and not any(row[1:])]
    first_wide_row = next((row for row in block.rows if sum(map(bool, row)) > 1), [])
    for index in title_indexes:
        above, below = block.rows[:index], block.rows[index + 1 :]
        if len(above) < 2 or len(below) < 2 or not first_wide_row or is_figure(block.rows[index][0]):
            continue
        header_columns = _filled_columns(below[0])
        has_figure = any(is_figure(cell) and not size_class(cell) for cell in below[0] if cell)
        is_header = len(header_columns) > 1 and not has_figure
        has_other_columns = header_columns != _filled_columns(first_wide_row)
        if is_header and has_other_columns and header_rows(block.with_rows(below).rows) == 1:
            return [block.with_rows(above), *_split_below_titles(block.with_rows(block.rows[index:]))]
    return [block]


def _filled_columns(row: Sequence[str]) -> list[int]:
    """Return the indexes of the cells that are not blank."""
    return [column for column, cell in enumerate(row) if cell]


def _split_caption(block: _Block) -> tuple[str, _Block]:
    """Return the caption in the first rows of a block, and the rows below it; "" if there is none.

    A caption row has a single text, which may be repeated because its cells are merged.
    """
    caption_rows: list[str] = []
    for row in block.rows[:-1]:
        texts = set(filter(None, row))
        if len(texts) != 1:
            break
        caption_rows += [text.strip() for text in texts]
    # A merged title may be wider than the table under it: its further columns go with it.
    return " ".join(caption_rows), block.with_rows(block.rows[len(caption_rows) :])


def _split_notes(block: _Block) -> tuple[list[str], _Block]:
    """Return the notes directly above a table's header, a line for each row, and the table; [] if there are none.

    The header is the first row with a different text in every column, below which most cells of a column are figures.
    """
    if len(block.sheet_columns) < LEAST_COLUMNS or header_rows(block.rows):
        return [], block
    # From the third row on: a single row above the header may name the columns, too, as in a pivot table.
    for index in range(2, min(MOST_NOTES, len(block.rows) - 1) + 1):
        row = block.rows[index]
        if all(row) and len(set(row)) == len(row):  # the texts of merged cells are repeated
            below = block.with_rows(block.rows[index:])
            has_figures = any(map(_is_mostly_figures, zip(*below.rows[1:], strict=True)))
            if header_rows(below.rows) == 1 and has_figures:
                return [" ".join(dict.fromkeys(filter(None, note_row))) for note_row in block.rows[:index]], below
    return [], block


def _is_mostly_figures(column: Sequence[str]) -> bool:
    """Return whether most filled cells of a column are figures."""
    filled = [cell for cell in column if cell]
    return 2 * sum(map(is_figure, filled)) > len(filled)


def _split_side_by_side(block: _Block) -> list[_Block]:
    """Return the tables of a block that are separated by blank columns; else the block itself.

    They are separate tables only if each has a header, and labels in its first column: figures without labels belong
    to the labels at their left.
    """
    gaps = [index for index, (left, right) in enumerate(pairwise(block.sheet_columns), 1) if right > left + 1]
    bounds = [0, *gaps, len(block.sheet_columns)]
    parts = [block.with_columns(range(start, end)) for start, end in pairwise(bounds)]
    return parts if len(parts) > 1 and all(map(_is_table, parts)) else [block]


def _is_table(part: _Block) -> bool:
    """Return whether a part of a block is a table of its own: a form, a legend, or labels under a header."""
    _, below_caption = _split_caption(part)
    rows = below_caption.rows
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    # A form has "Name:" beside its value.
    is_form = len(rows[0]) == 2 and all(row[0].endswith(":") for row in rows)
    if is_form or names_legend(rows[0]):
        return True
    header = header_rows(rows)
    labels = [row[0] for row in rows[header:] if row[0]]
    return header > 0 and bool(labels) and not any(map(is_figure, labels))


def _with_repeated_group_labels(rows: list[list[str]], header: int) -> list[list[str]]:
    """Return the rows of a pivot table with the label of each group in all rows of the group; else the same rows.

    A pivot table shows a group's label in its first row only. It is recognised by the row with a total ("Oslo Total")
    at the end of a group, and by labels in its second column.
    """
    body = rows[header:]
    unlabelled = [row for row in body if not row[0] and len(row) > 2]
    labels = {row[0] for row in body if row[0]}
    totals = {row[0] for row in body if _TOTAL.search(row[0]) and not row[1]}
    if header != 1 or not unlabelled or not totals or not body[0][0]:
        return rows
    has_second_labels = all(row[1] and not is_figure(row[1]) for row in unlabelled)
    if not has_second_labels or not any(_TOTAL.sub("", total).strip(" :") in labels for total in totals):
        return rows
    result, label = rows[:header], ""
    for row in body:
        label = "" if row[0] in totals else row[0] or label
        result = [*result, [row[0] or label, *row[1:]]]
    return result


def _with_parent_labels(rows: Sequence[list[str]], header: int) -> list[list[str]]:
    """Return rows with each indented label after the labels that it is indented under: "Assets, Cash" for "Cash".

    A row that has only a label, with rows indented under it, is left out: these repeat its label.

    Args:
        rows: The rows, whose labels begin with one `INDENT` for each level.
        header: Number of rows of the header, which stay as they are.
    """
    depths = [len(row[0]) - len(row[0].lstrip(INDENT)) for row in rows]
    if not any(depths):
        return list(rows)
    result = [list(row) for row in rows[:header]]
    parents: list[tuple[int, str]] = []
    for index, row in enumerate(rows[header:], header):
        label = row[0].lstrip(INDENT)
        parents = [(depth, parent) for depth, parent in parents if depth < depths[index]]
        next_depth = depths[index + 1] if index + 1 < len(rows) else 0
        is_parent_only = not any(row[1:]) and next_depth > depths[index]
        if not is_parent_only:
            result.append([", ".join([*(parent for _, parent in parents), label]), *row[1:]])
        parents.append((depths[index], label.rstrip(" :")))
    return result

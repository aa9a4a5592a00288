"""Tables of words on PDF pages: lists of people, timetables, orders, whose cells are mostly no figures.

Lines of three and more short pieces that stand below each other in columns are rows. Their first line names the columns
only where something says so: another font or colour, or a column of figures below a word. A row may take several lines.
Columns of prose, whose lines fill their column, are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.pdf_columns import GUTTER, PLACE, Box, rows_of_boxes, spans
from preflight_rag.ingest.loaders.pdf_lines import LEAST_SPACE, SAME_PLACE, Line, Segment, style_of
from preflight_rag.ingest.loaders.pdf_tables import NEAR, caption_above, column_begins
from preflight_rag.text.tables import is_figure, table_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

LEAST_ROWS = 3
"""Rows below the first one that make a table."""
LEAST_COLUMNS = 3
"""Columns of a table whose first line is not printed otherwise than those below it; two may be anything."""
MOST_COLUMNS = 20
MOST_LINES = 300
MOST_TRIES = 25
LONGEST_CELL = 60
LONGEST_NAME = 60
"""Most columns and lines of a table, lines from which a table is looked for among others in columns, and characters of
a line of a cell and of a column's name; guesses."""
MOSTLY = 2 / 3
"""Share of the cells that stand in line, of the rows that are filled, and of the cells that are figures; a guess."""
MOST_LOWER = 0.4
"""Share of the cells that begin with a small letter where a line goes on in the next one; a guess."""
FULL = 0.75
LEAST_WORDS = 4
"""Of its column's width that a line of prose takes at least, and its words; guesses."""
WRAPPED = 0.6
"""Of its column's width that a line takes which goes on in the next one; a guess."""
WIDE = 2.5
"""Heights of a line that a piece of it takes which is no number of an item, such as "(iii)"; a guess."""
LEADING = 0.8
"""Heights of its font by which a line stands below another one of the same cell at most half a line moved; a guess."""
LINE = 1.4
"""Heights of its font by which the next line of a cell stands below, at most; a guess."""
JUMP = 1.12
"""By how many times rows stand farther apart than the lines of a row; browsers part rows by three points or more."""
_BULLETS = frozenset("●•·‣◦▪■○–—-➢*")
"""Marks in front of the items of a list."""
_POSTAL = re.compile(
    r"^(?:[A-Z]{1,3}[- ])?\d{4,6} [^\W\d_]{2,}|^\d{3} \d{2} [^\W\d_]{2,}"
    r"|\b[A-Z]{2} \d{5}\b|\b[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}\b"
)
"""The line of an address with its town: "9008 Tromso", "D-80331 Munich", "Austin, TX 78701", "London SW1A 1AA"."""


@dataclass
class _Grid:
    """The lines of a table: the stretch of each column, and for each line the segment in each of its columns."""

    columns: list[tuple[float, float]]
    lines: list[Line]
    cells: list[list[Segment | None]]


def may_have_columns(boxes: Sequence[Box]) -> bool:
    """Return whether pieces behind a wide space begin at one place of several lines, at little cost."""
    rows = rows_of_boxes(boxes)
    heights = sorted(row.top - row.bottom for row in rows)
    usual = heights[len(heights) * 3 // 4] if rows else 0.0  # commas are lines of their own
    begins: Counter[int] = Counter()
    for row in rows:
        pieces = spans(row.boxes, GUTTER * usual)
        for (left, right), (following, _) in pairwise(pieces):
            if len(pieces) >= LEAST_COLUMNS or right - left >= WIDE * usual:
                begins.update({int(following / PLACE), int(following / PLACE) + 1})
    return max(begins.values(), default=0) > LEAST_ROWS


def word_tables(
    page: PdfTextPage, lines: Sequence[Line], taken: set[int], *, centred: bool = False
) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table of words, and the places of the characters that it was printed with.

    Args:
        page: The page, for the fonts of its characters.
        lines: Its printed lines, from the top.
        taken: Places of characters in other tables.
        centred: Whether to read only tables with a header whose cells of one line stand in the middle of cells of
            several, as browsers print them: their lines are half a line apart, and no rows of figures.
    """
    at, end, tries = 0, 0, 0
    if centred and not _are_centred(lines):
        return
    while at < len(lines):
        grid = _grid(lines, at, taken)
        if grid is None:
            at += 1
            continue
        # Lines in columns that are no table are looked at from each of the first of them on.
        tries = tries + 1 if at < end else 0
        end = max(end, at + len(grid.lines))
        if tries > MOST_TRIES:
            at = end
            continue
        if centred and not _are_centred(grid.lines):
            at += 1
            continue
        if not centred and (addresses := _addresses(grid)):
            yield addresses, set().union(*(line.places for line in grid.lines))
            at += len(grid.lines)
            continue
        tables = _rows(page, grid) if len(grid.lines) > LEAST_ROWS else []
        if not tables or (centred and not all(named and _are_words(rows) for named, rows in tables)):
            at += 1
            continue
        caption = caption_above(lines, at) if at and not lines[at - 1].places & taken else ""
        written = [
            line for named, cells in tables for line in table_lines(cells, caption=caption, header_rows=int(named))
        ]
        yield written, set().union(*(line.places for line in grid.lines))
        at += len(grid.lines)


def _grid(lines: Sequence[Line], first: int, taken: set[int]) -> _Grid | None:
    """Return the lines from one on that stand in the columns of its segments; None if they are too few."""
    head = lines[first]
    if not 2 <= len(head.segments) <= MOST_COLUMNS or head.places & taken:
        return None
    grid = _Grid([(each.left, each.right) for each in head.segments], [head], [list(head.segments)])
    for before, line in pairwise(lines[first : first + MOST_LINES]):
        far = before.middle - line.middle > NEAR * line.height
        if far or line.places & taken or not _add(grid, line):
            break
    while grid.cells and sum(map(bool, grid.cells[-1])) < 2 and not _ends_cell(grid):
        del grid.cells[-1], grid.lines[-1]
    texts = (cell.text for cells in grid.cells for cell in cells if cell)
    if len(grid.lines) < LEAST_ROWS or max(map(len, texts)) > LONGEST_CELL:
        return None
    return grid


def _ends_cell(grid: _Grid) -> bool:
    """Return whether the last line goes on in a cell of the line above it, not in the first column."""
    if len(grid.lines) < 2 or grid.cells[-1][0]:
        return False
    last, above = grid.lines[-1], grid.lines[-2]
    return above.foot - last.foot <= 1.5 * last.size


def _add(grid: _Grid, line: Line) -> bool:
    """Add a line to a grid, and return whether each of its words stands in one of the columns."""
    cells: list[list[Segment]] = [[] for _ in grid.columns]
    whole: set[int] = set()
    for segment in line.segments:
        parts = [segment]
        if sum(_overlap(segment, column) > 0 for column in grid.columns) > 1:
            parts = [word for word in line.words if segment.left <= word.left and word.right <= segment.right]
        for part in parts:
            over = [place for place, column in enumerate(grid.columns) if _overlap(part, column) > 0]
            # Below a name in the middle of its column, a label of several words begins farther left.
            if len(over) > 1 or (part is segment and part.right < grid.columns[0][0] - SAME_PLACE):
                return False
            place = over[0] if over else _nearest(part, grid.columns)
            if cells[place] and (part is segment or place in whole):
                return False  # two cells in one column: the line belongs to another table
            is_begun = part is not segment and place > 0 and not cells[place]
            is_doubtful = len(grid.columns) < LEAST_COLUMNS or segment.left < grid.columns[0][0] - SAME_PLACE
            if is_begun and is_doubtful and not _is_in_place(grid, place, part):
                return False  # prose has its blanks anywhere
            cells[place].append(part)
        whole |= {place for place, own in enumerate(cells) if own}
    columns = [
        (min(left, *(part.left for part in own)), max(right, *(part.right for part in own))) if own else (left, right)
        for (left, right), own in zip(grid.columns, cells, strict=True)
    ]
    if any(right + LEAST_SPACE * line.height > left for (_, right), (left, _) in pairwise(columns)):
        return False
    grid.columns = columns
    grid.lines.append(line)
    grid.cells.append([_cell(own) for own in cells])
    return True


def _is_in_place(grid: _Grid, place: int, word: Segment) -> bool:
    """Return whether a word begins or ends where a cell of a column does."""
    own = [cells[place] for cells in grid.cells]
    return any(
        abs(word.left - cell.left) <= SAME_PLACE or abs(word.right - cell.right) <= SAME_PLACE for cell in own if cell
    )


def _overlap(segment: Segment, column: tuple[float, float]) -> float:
    """Return the length that a segment shares with a column."""
    return min(segment.right, column[1]) - max(segment.left, column[0])


def _nearest(segment: Segment, columns: Sequence[tuple[float, float]]) -> int:
    """Return the number of the column that is nearest to a segment between two columns."""
    return min(range(len(columns)), key=lambda place: -_overlap(segment, columns[place]))


def _rows(page: PdfTextPage, grid: _Grid) -> list[tuple[bool, list[list[str]]]]:
    """Return tables: whether the first row names the columns, and the cells of all rows; [] if the lines are none.

    Labels with values beside them are a table for each line, whose columns are named by the labels.
    """
    _part_columns(grid)
    width = len(grid.columns)
    printed = _is_printed_otherwise(page, grid)
    if printed:
        _end_at_header(page, grid)
    rows = _joined(grid)
    full = [row for row in rows[1:] if sum(map(bool, row)) >= max(2, width - 1)]
    if len(full) < LEAST_ROWS or len(full) < MOSTLY * (len(rows) - 1) or not all(row[0] for row in rows):
        return []
    if any(_BULLETS.issuperset(column) for column in zip(*rows, strict=True)):
        return []
    if _is_prose(grid) or not all(_is_in_line(grid, place) for place in range(width)):
        return []
    named = printed or _names_figures(rows)
    named = named and len({*rows[0]}) == width and all(0 < len(name) <= LONGEST_NAME for name in rows[0])
    if width < LEAST_COLUMNS and _is_drawn_by_columns(grid):
        return []
    if named:
        return [(True, rows)]
    if width > LEAST_COLUMNS and width % 2 == 0 and _has_labels(page, grid):
        return [(True, [row[::2], row[1::2]]) for row in rows]
    begun = [cell for row in rows[1:] for cell in row if cell]
    is_wrapped = sum(cell[0].islower() for cell in begun) > MOST_LOWER * len(begun)
    return [] if is_wrapped or width < LEAST_COLUMNS else [(False, rows)]


def _is_drawn_by_columns(grid: _Grid) -> bool:
    """Return whether the first column was drawn before the second, so that PDFium reads one after the other."""
    edge = grid.columns[1][0] - SAME_PLACE
    pairs = [pair for line in grid.lines for pair in zip(line.words, line.begins, strict=True)]
    left = [place for word, place in pairs if word.left < edge]
    return max(left) < min(place for word, place in pairs if word.left >= edge)


def _addresses(grid: _Grid) -> list[str]:
    """Return two addresses beside each other, such as the seller's and the buyer's, one after the other; else []."""
    if len(grid.columns) != len(("seller", "buyer")):
        return []
    texts = [[cell.text for cell in column if cell] for column in zip(*grid.cells, strict=True)]
    if not all(any(_POSTAL.search(text) for text in column) for column in texts):
        return []
    return [*texts[0], "", *texts[1], ""]


def _part_columns(grid: _Grid) -> None:
    """Part columns in which words of the header and of the rows stand below each other, too close to be seen apart."""
    for place in reversed(range(len(grid.columns))):
        left, right = grid.columns[place]
        words = [[word for word in line.words if left <= word.left and word.right <= right] for line in grid.lines]
        begins = column_begins(words[0], words[1:], grid.lines[0].height)
        if not begins:
            continue
        edges = [left - 2 * SAME_PLACE, *begins, right + 2 * SAME_PLACE]
        parts = [
            [
                [word for word in own if begin - SAME_PLACE <= word.left < end - SAME_PLACE]
                for begin, end in pairwise(edges)
            ]
            for own in words
        ]
        for cells, own in zip(grid.cells, parts, strict=True):
            cells[place : place + 1] = [_cell(part) for part in own]
        grid.columns[place : place + 1] = [
            (min(word.left for word in column), max(word.right for word in column))
            for column in ([word for own in parts for word in own[number]] for number in range(len(begins) + 1))
        ]


def _cell(words: Sequence[Segment]) -> Segment | None:
    """Return words beside each other as one segment; None without any."""
    return Segment(" ".join(word.text for word in words), words[0].left, words[-1].right) if words else None


def _end_at_header(page: PdfTextPage, grid: _Grid) -> None:
    """Cut a grid off at a line that is printed as the first one is: another table begins there."""
    first = _styles(page, grid, 0)
    for number in range(1, len(grid.lines)):
        if first == _styles(page, grid, number) and sum(map(bool, grid.cells[number])) > 2:
            del grid.lines[number:], grid.cells[number:]
            return


def _joined(grid: _Grid) -> list[list[str]]:
    """Return the cells of all rows, those of several lines joined."""
    starts = _starts(grid)
    rows: list[list[str]] = []
    for number, cells in enumerate(grid.cells):
        texts = [cell.text if cell else "" for cell in cells]
        if number in starts:
            rows.append(texts)
        else:
            rows[-1] = [f"{above} {text}".strip() for above, text in zip(rows[-1], texts, strict=True)]
    return rows


def _starts(grid: _Grid) -> set[int]:
    """Return the numbers of the lines that begin a row: by how far the lines are apart, else by their first cell."""
    steps = [above.foot - line.foot for above, line in pairwise(grid.lines)]
    leading = LEADING * grid.lines[0].size
    sizes = sorted(step for step in steps if step > leading)
    jumps = [(large / small, small) for small, large in pairwise(sizes) if large >= JUMP * small]
    is_centred = _are_centred(grid.lines)
    # Where the lines of a row are half a line apart, each step of more than a line is one to the next row.
    jumps = [jump for jump in jumps if not is_centred or jump[1] <= LINE * grid.lines[0].size]
    if jumps or is_centred:
        within = max(jumps)[1] if jumps else leading
        starts = {0, *(number for number, step in enumerate(steps, 1) if step > within)}
        if _are_rows(grid, starts):
            return starts
    for number, cells in enumerate(grid.cells):
        if not cells[0] and not _goes_on(grid, number):
            del grid.lines[number:], grid.cells[number:]
            break
    return {0, *(number for number, cells in enumerate(grid.cells) if cells[0])}


def _are_centred(lines: Sequence[Line]) -> bool:
    """Return whether some lines are less than a line apart: a cell stands in the middle of another one's lines."""
    return any(0 < above.foot - line.foot <= LEADING * line.size for above, line in pairwise(lines))


def _are_words(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the names of columns are no figures, and fewer than half of the cells behind the first are."""
    cells = [cell for row in rows[1:] for cell in row[1:] if cell]
    return not any(map(is_figure, rows[0])) and 2 * sum(map(is_figure, cells)) < len(cells)


def _goes_on(grid: _Grid, number: int) -> bool:
    """Return whether a line holds only what goes on in one cell of the line above, which it fills."""
    filled = [place for place, cell in enumerate(grid.cells[number]) if cell]
    above = grid.cells[number - 1][filled[0]] if number and len(filled) == 1 else None
    if above is None:
        return False
    left, right = grid.columns[filled[0]]
    return above.right - above.left >= WRAPPED * (right - left)


def _are_rows(grid: _Grid, starts: set[int]) -> bool:
    """Return whether each row of several lines has a cell that takes fewer lines than another one."""
    ends = [*sorted(starts)[1:], len(grid.cells)]
    for start, end in zip(sorted(starts), ends, strict=True):
        filled = [sum(1 for cells in grid.cells[start:end] if cells[place]) for place in range(len(grid.columns))]
        if end - start > 1 and (max(filled) == min(count for count in filled if count) or not filled[0]):
            return False
    return True


def _is_prose(grid: _Grid) -> bool:
    """Return whether two columns hold lines of words that mostly fill their width."""
    prose = 0
    for place, (left, right) in enumerate(grid.columns):
        own = [cells[place] for cells in grid.cells]
        lines = [cell for cell in own if cell]
        full = [
            cell
            for cell in lines
            if cell.right - cell.left >= FULL * (right - left) and len(cell.text.split()) >= LEAST_WORDS
        ]
        prose += len(full) >= MOSTLY * len(lines)
    return prose > 1 or (prose == 1 and len(grid.columns) == 2)


def _is_in_line(grid: _Grid, place: int) -> bool:
    """Return whether most cells of a column begin, end or have their middle at one place."""
    cells = [row[place] for row in grid.cells[1:]]
    own = [cell for cell in cells if cell]
    edges = [
        [cell.left for cell in own],
        [cell.right for cell in own],
        [(cell.left + cell.right) / 2 for cell in own] if place else [],
    ]
    return any(
        sum(abs(edge - middle) <= SAME_PLACE for edge in side) >= MOSTLY * len(side)
        for side in edges
        if side
        for middle in [sorted(side)[len(side) // 2]]
    )


def _is_printed_otherwise(page: PdfTextPage, grid: _Grid) -> bool:
    """Return whether the first line is in another font than those below it, or in another colour.

    The first cells of these may be printed as it is. In a table of two columns they may not, and links are coloured.
    """
    is_wide = len(grid.columns) >= LEAST_COLUMNS
    first, *below = (
        {style if is_wide else style[:2] for style in _styles(page, grid, number, int(is_wide))}
        for number in range(min(LEAST_ROWS + 1, len(grid.lines)))
    )
    return bool(first) and not any(first & styles for styles in below)


def _styles(page: PdfTextPage, grid: _Grid, number: int, since: int = 1) -> set[tuple[object, ...]]:
    """Return the fonts and colours of a line's cells, from one on."""
    return {style_of(page, place) for place in _places(grid.lines[number], grid.cells[number][since:])}


def _has_labels(page: PdfTextPage, grid: _Grid) -> bool:
    """Return whether every second column holds labels, in another font or colour than the values beside them."""
    styles: tuple[set[tuple[object, ...]], set[tuple[object, ...]]] = (set(), set())
    for number, cells in enumerate(grid.cells):
        for place, cell in enumerate(cells):
            styles[place % 2].update(style_of(page, at) for at in _places(grid.lines[number], [cell]))
    return not styles[0] & styles[1]


def _places(line: Line, cells: Sequence[Segment | None]) -> Iterator[int]:
    """Yield the place of a character of each cell."""
    for cell in cells:
        if cell is None:
            continue
        for word, place in zip(line.words, line.begins, strict=True):
            if cell.left <= word.left and word.right <= cell.right:
                yield place
                break


def _names_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has no figures, and a column below it mostly has."""
    if any(is_figure(cell) for cell in rows[0]):
        return False
    for column in zip(*(row[1:] for row in rows[1:]), strict=True):
        filled = [cell for cell in column if cell]
        if len(filled) >= LEAST_ROWS and sum(map(is_figure, filled)) >= MOSTLY * len(filled):
            return True
    return False

"""Tables of words on PDF pages: lists of people, timetables, orders, whose cells are mostly not figures.

Lines of three or more short segments that are aligned in columns are rows. Their first line names the columns only if
something shows it: another font or colour, or a column of figures below a word. A row may take several lines. Columns
of prose, whose lines fill their column, are no table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.pdf_columns import GUTTER, PLACE, Box, rows_of_boxes, spans
from preflight_rag.ingest.loaders.pdf_lines import LEAST_SPACE, SAME_PLACE, Line, Segment, Style, style_of
from preflight_rag.ingest.loaders.pdf_tables import NEAR, NO_ANSWER, caption_above, column_begins
from preflight_rag.text.tables import is_figure, table_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

LEAST_ROWS = 3
"""Minimum number of rows below the first one."""
LEAST_COLUMNS = 3
"""Minimum number of columns of a table whose first line has no other font or colour; two may be anything."""
MOST_COLUMNS = 20
MOST_LINES = 300
"""Maximum numbers of columns and lines of a table; guesses, as the next three numbers are."""
MOST_TRIES = 25
"""Maximum number of lines of one region in columns from which a table is looked for in vain."""
LONGEST_CELL = 60
LONGEST_NAME = 60
"""Maximum numbers of characters of one line of a cell, and of a column's name."""
MOSTLY = 2 / 3
"""Minimum share of cells that are aligned, of rows that are filled, and of cells that are figures; a guess."""
MAX_LOWER_CASE_SHARE = 0.4
"""Maximum share of cells that begin with a lower-case letter; in running text more lines do. A guess."""
FULL = 0.75
LEAST_WORDS = 4
"""Minimum share of its column's width that a line of prose takes, and minimum number of its words; guesses."""
WRAPPED = 0.6
"""Minimum share of its column's width that a line takes if it continues in the next one; a guess."""
WIDE = 2.5
"""Minimum width, in heights of a line, of a segment that is not only the number of an item, as "(iii)" is; a guess."""
HALF_LINE = 0.8
"""Maximum distance of two lines of different cells in one row, in heights of the font: half a line. A guess."""
LINE = 1.4
"""Maximum distance of two consecutive lines of a cell, in heights of the font; a guess."""
JUMP = 1.12
"""Minimum ratio of the distance between rows and that between the lines of a row; browsers add three points or more."""
MAX_LEADING = 1.5
"""Maximum distance, in heights of the font, at which a last line belongs to the cell above it; a guess."""
_BULLETS = frozenset("●•·‣◦▪■○–—-➢*")
"""Marks in front of the items of a list."""
_POSTAL = re.compile(
    r"^(?:[A-Z]{1,3}[- ])?\d{4,6} [^\W\d_]{2,}|^\d{3} \d{2} [^\W\d_]{2,}"
    r"|\b[A-Z]{2} \d{5}\b|\b[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}\b"
)
"""The town with its postal code in an address: "9008 Tromso", "D-80331 Munich", "Austin, TX 78701", "SW1A 1AA"."""


@dataclass
class _Grid:
    """The lines of a table: each column's horizontal range, and for each line the segment in each column or None."""

    columns: list[tuple[float, float]]
    lines: list[Line]
    cells: list[list[Segment | None]]


def may_have_columns(boxes: Sequence[Box]) -> bool:
    """Return whether segments behind a wide space begin at one position in several lines: a cheap test for tables."""
    rows = rows_of_boxes(boxes)
    heights = sorted(row.top - row.bottom for row in rows)
    usual_height = heights[len(heights) * 3 // 4] if rows else 0.0  # not the median: commas may be rows of their own
    times_begun: Counter[int] = Counter()
    for row in rows:
        segments = spans(row.boxes, GUTTER * usual_height)
        for (left, right), (next_left, _) in pairwise(segments):
            if len(segments) >= LEAST_COLUMNS or right - left >= WIDE * usual_height:
                # Beginnings at either side of the boundary between two bins count together.
                times_begun.update({int(next_left / PLACE), int(next_left / PLACE) + 1})
    return max(times_begun.values(), default=0) > LEAST_ROWS


def word_tables(
    page: PdfTextPage, lines: Sequence[Line], taken: set[int], *, centred: bool = False
) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table of words as lines, and the text indexes of its characters.

    Args:
        page: The page, for the fonts of its characters.
        lines: Its printed lines, from the top.
        taken: Text indexes of the characters in other tables.
        centred: Whether to read only tables with a header in which cells of one line are vertically centred beside
            cells of several lines, as browsers print them: their lines are half a line apart.
    """
    index, region_end, tries = 0, 0, 0
    if centred and not _has_half_line_steps(lines):
        return
    while index < len(lines):
        grid = _grid_from(lines, index, taken)
        if grid is None:
            index += 1
            continue
        # Lines in columns that are no table are tried again from each line on, which would take quadratic time.
        tries = tries + 1 if index < region_end else 0
        region_end = max(region_end, index + len(grid.lines))
        if tries > MOST_TRIES:
            index = region_end
            continue
        if centred and not _has_half_line_steps(grid.lines):
            index += 1
            continue
        if not centred and (addresses := _two_addresses(grid)):
            yield addresses, set().union(*(line.places for line in grid.lines))
            index += len(grid.lines)
            continue
        tables = _tables_of_grid(page, grid) if len(grid.lines) > LEAST_ROWS else []
        if not tables or (centred and not all(has_header and _are_words(rows) for has_header, rows in tables)):
            index += 1
            continue
        caption = caption_above(lines, index) if index and not lines[index - 1].places & taken else ""
        written: list[str] = []
        for has_header, rows in tables:
            written += table_lines(rows, caption=caption, header_rows=int(has_header))
        yield written, set().union(*(line.places for line in grid.lines))
        index += len(grid.lines)


def _grid_from(lines: Sequence[Line], first: int, taken: set[int]) -> _Grid | None:
    """Return the lines from index `first` on that are aligned with the segments of the first one.

    Return None if they are fewer than `LEAST_ROWS`, have too long cells, or belong to other tables (`taken`).
    """
    head = lines[first]
    if not 2 <= len(head.segments) <= MOST_COLUMNS or head.places & taken:
        return None
    grid = _Grid([(segment.left, segment.right) for segment in head.segments], [head], [list(head.segments)])
    for previous, line in pairwise(lines[first : first + MOST_LINES]):
        is_far = previous.middle - line.middle > NEAR * line.height
        if is_far or line.places & taken or not _add_line(grid, line):
            break
    while grid.cells and sum(map(bool, grid.cells[-1])) < 2 and not _ends_with_wrapped_cell(grid):
        del grid.cells[-1], grid.lines[-1]
    longest = max((len(cell.text) for cells in grid.cells for cell in cells if cell), default=0)
    return grid if len(grid.lines) >= LEAST_ROWS and longest <= LONGEST_CELL else None


def _ends_with_wrapped_cell(grid: _Grid) -> bool:
    """Return whether the last line continues a cell of the line closely above it, and its first cell is empty."""
    if len(grid.lines) < 2 or grid.cells[-1][0]:
        return False
    last, above = grid.lines[-1], grid.lines[-2]
    return above.foot - last.foot <= MAX_LEADING * last.size


def _add_line(grid: _Grid, line: Line) -> bool:
    """Append a line to a grid, and widen its columns; return False, and change nothing, if the line does not fit.

    A line fits if each segment, or else each of its words, is in one column, and no column has two segments.
    """
    cells: list[list[Segment]] = [[] for _ in grid.columns]
    filled_before: set[int] = set()  # columns with words of earlier segments
    first_left, _ = grid.columns[0]
    for segment in line.segments:
        parts = [segment]
        if sum(_overlap(segment, column) > 0 for column in grid.columns) > 1:
            parts = [word for word in line.words if segment.left <= word.left and word.right <= segment.right]
        for part in parts:
            overlapped = [index for index, column in enumerate(grid.columns) if _overlap(part, column) > 0]
            # A label of several words may begin left of a column whose name is centred; a single segment may not.
            if len(overlapped) > 1 or (part is segment and part.right < first_left - SAME_PLACE):
                return False
            index = overlapped[0] if overlapped else _nearest_column(part, grid.columns)
            if cells[index] and (part is segment or index in filled_before):
                return False  # two cells in one column: the line belongs to another table
            begins_cell = part is not segment and index > 0 and not cells[index]
            is_doubtful = len(grid.columns) < LEAST_COLUMNS or segment.left < first_left - SAME_PLACE
            if begins_cell and is_doubtful and not _is_aligned(grid, index, part):
                return False  # words of prose begin anywhere
            cells[index].append(part)
        filled_before |= {index for index, words in enumerate(cells) if words}
    columns = []
    for (left, right), words in zip(grid.columns, cells, strict=True):
        columns.append((min([left, *(word.left for word in words)]), max([right, *(word.right for word in words)])))
    if any(right + LEAST_SPACE * line.height > next_left for (_, right), (next_left, _) in pairwise(columns)):
        return False
    grid.columns = columns
    grid.lines.append(line)
    grid.cells.append([_join_words(words) for words in cells])
    return True


def _is_aligned(grid: _Grid, column: int, word: Segment) -> bool:
    """Return whether a word begins or ends where a cell of a column (by index) does."""
    for cells in grid.cells:
        cell = cells[column]
        if cell and (abs(word.left - cell.left) <= SAME_PLACE or abs(word.right - cell.right) <= SAME_PLACE):
            return True
    return False


def _overlap(segment: Segment, column: tuple[float, float]) -> float:
    """Return the width that a segment shares with a column; minus the distance if they share none."""
    left, right = column
    return min(segment.right, right) - max(segment.left, left)


def _nearest_column(segment: Segment, columns: Sequence[tuple[float, float]]) -> int:
    """Return the index of the column that is nearest to a segment between two columns."""
    return max(range(len(columns)), key=lambda index: _overlap(segment, columns[index]))


def _tables_of_grid(page: PdfTextPage, grid: _Grid) -> list[tuple[bool, list[list[str]]]]:
    """Return each table of a grid as `(has_header, rows)`; [] if its lines are no table.

    Lines of labels with values beside them are a table each: the labels name the columns of the values.
    """
    _split_columns(grid)
    width = len(grid.columns)
    has_styled_header = _is_header_styled(page, grid)
    if has_styled_header:
        _cut_at_next_header(page, grid)
    rows = _join_lines_of_rows(grid)
    full = [row for row in rows[1:] if sum(map(bool, row)) >= max(2, width - 1)]
    if len(full) < LEAST_ROWS or len(full) < MOSTLY * (len(rows) - 1) or not all(row[0] for row in rows):
        return []
    if any(_BULLETS.issuperset(column) for column in zip(*rows, strict=True)):
        return []
    if _is_prose(grid) or not all(_is_column_aligned(grid, column) for column in range(width)):
        return []
    # The first answer of a form, "N/A", names no column.
    are_names = len({*rows[0]}) == width and all(
        0 < len(name) <= LONGEST_NAME and not NO_ANSWER.fullmatch(name) for name in rows[0]
    )
    if width < LEAST_COLUMNS and _is_drawn_by_columns(grid):
        return []
    if are_names and (has_styled_header or _has_words_above_figures(rows)):
        return [(True, rows)]
    if width > LEAST_COLUMNS and width % 2 == 0 and _has_label_columns(page, grid):
        return [(True, [row[::2], row[1::2]]) for row in rows]
    filled = [cell for row in rows[1:] for cell in row if cell]
    is_running_text = sum(cell[0].islower() for cell in filled) > MAX_LOWER_CASE_SHARE * len(filled)
    return [] if is_running_text or width < LEAST_COLUMNS else [(False, rows)]


def _is_drawn_by_columns(grid: _Grid) -> bool:
    """Return whether all of the first column was drawn before the second: the page's text has them one by one."""
    second_left, _ = grid.columns[1]
    first_column, others = list[int](), list[int]()
    for line in grid.lines:
        for word, text_index in zip(line.words, line.begins, strict=True):
            (first_column if word.left < second_left - SAME_PLACE else others).append(text_index)
    return max(first_column) < min(others)


def _two_addresses(grid: _Grid) -> list[str]:
    """Return the lines of two addresses beside each other, such as of seller and buyer; [] if the columns are none."""
    if len(grid.columns) != len(("seller", "buyer")):
        return []
    seller, buyer = ([cell.text for cell in column if cell] for column in zip(*grid.cells, strict=True))
    are_addresses = all(any(map(_POSTAL.search, lines)) for lines in (seller, buyer))
    return [*seller, "", *buyer, ""] if are_addresses else []


def _split_columns(grid: _Grid) -> None:
    """Split columns of the grid that are too close to have a wide space between them, by the words of the header."""
    for index in reversed(range(len(grid.columns))):
        left, right = grid.columns[index]
        words = [[word for word in line.words if left <= word.left and word.right <= right] for line in grid.lines]
        begins = column_begins(words[0], words[1:], grid.lines[0].height)
        if not begins:
            continue
        edges = [left - 2 * SAME_PLACE, *begins, right + 2 * SAME_PLACE]
        columns: list[list[Segment]] = [[] for _ in range(len(begins) + 1)]
        for cells, line_words in zip(grid.cells, words, strict=True):
            parts = [_words_between(line_words, begin, end) for begin, end in pairwise(edges)]
            cells[index : index + 1] = map(_join_words, parts)
            for column, part in zip(columns, parts, strict=True):
                column += part
        ranges = [(min(word.left for word in column), max(word.right for word in column)) for column in columns]
        grid.columns[index : index + 1] = ranges


def _words_between(words: Sequence[Segment], begin: float, end: float) -> list[Segment]:
    """Return the words that begin between two horizontal positions, within `SAME_PLACE`."""
    return [word for word in words if begin - SAME_PLACE <= word.left < end - SAME_PLACE]


def _join_words(words: Sequence[Segment]) -> Segment | None:
    """Return words beside each other as one segment; None if there are none."""
    return Segment(" ".join(word.text for word in words), words[0].left, words[-1].right) if words else None


def _cut_at_next_header(page: PdfTextPage, grid: _Grid) -> None:
    """Remove the lines from the next one on that has the styles of the first: another table begins there."""
    header = _styles(page, grid, 0)
    for index in range(1, len(grid.lines)):
        if header == _styles(page, grid, index) and sum(map(bool, grid.cells[index])) > 2:
            del grid.lines[index:], grid.cells[index:]
            return


def _join_lines_of_rows(grid: _Grid) -> list[list[str]]:
    """Return the cells of each row as text, cells of several lines joined."""
    row_starts = _find_row_starts(grid)
    rows: list[list[str]] = []
    for index, cells in enumerate(grid.cells):
        texts = [cell.text if cell else "" for cell in cells]
        if index in row_starts:
            rows.append(texts)
        else:
            rows[-1] = [f"{above} {text}".strip() for above, text in zip(rows[-1], texts, strict=True)]
    return rows


def _find_row_starts(grid: _Grid) -> set[int]:
    """Return the indexes of the lines that begin a row.

    Rows are farther apart than the lines of a row. If the distances do not show it, a row begins with each first cell,
    and the grid is cut off at a line without one that does not continue a cell.
    """
    steps = [above.foot - line.foot for above, line in pairwise(grid.lines)]
    size = grid.lines[0].size
    sizes = sorted(step for step in steps if step > HALF_LINE * size)
    jumps = [(large / small, small) for small, large in pairwise(sizes) if large >= JUMP * small]
    is_centred = _has_half_line_steps(grid.lines)
    if is_centred:  # steps of more than a line lead to the next row
        jumps = [(ratio, small) for ratio, small in jumps if small <= LINE * size]
    if jumps or is_centred:
        _, largest_within = max(jumps, default=(0.0, HALF_LINE * size))
        row_starts = {0, *(index for index, step in enumerate(steps, 1) if step > largest_within)}
        if _are_rows(grid, row_starts):
            return row_starts
    for index, cells in enumerate(grid.cells):
        if not cells[0] and not _continues_cell(grid, index):
            del grid.lines[index:], grid.cells[index:]
            break
    return {0, *(index for index, cells in enumerate(grid.cells) if cells[0])}


def _has_half_line_steps(lines: Sequence[Line]) -> bool:
    """Return whether some lines are only half a line apart: one cell is centred beside two lines of another."""
    return any(0 < above.foot - line.foot <= HALF_LINE * line.size for above, line in pairwise(lines))


def _are_words(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether no column's name is a figure, nor half of the cells below the names and behind the labels."""
    cells = [cell for row in rows[1:] for cell in row[1:] if cell]
    return not any(map(is_figure, rows[0])) and 2 * sum(map(is_figure, cells)) < len(cells)


def _continues_cell(grid: _Grid, index: int) -> bool:
    """Return whether a line (by index) has only one cell, and the cell above that nearly fills its column."""
    filled = [column for column, cell in enumerate(grid.cells[index]) if cell]
    above = grid.cells[index - 1][filled[0]] if index and len(filled) == 1 else None
    if above is None:
        return False
    left, right = grid.columns[filled[0]]
    return above.right - above.left >= WRAPPED * (right - left)


def _are_rows(grid: _Grid, starts: set[int]) -> bool:
    """Return whether, in each row of several lines, the first cell is filled and some cell takes fewer lines."""
    for start, end in pairwise([*sorted(starts), len(grid.cells)]):
        if end - start == 1:
            continue
        line_counts = [sum(map(bool, column)) for column in zip(*grid.cells[start:end], strict=True)]
        are_equally_long = max(line_counts) == min(filter(None, line_counts))
        if are_equally_long or not line_counts[0]:
            return False
    return True


def _is_prose(grid: _Grid) -> bool:
    """Return whether two columns, or one of two, consist mostly of lines of words that fill their width."""
    prose_columns = 0
    for index, (left, right) in enumerate(grid.columns):
        lines = [cell for cells in grid.cells if (cell := cells[index])]
        wide = [line for line in lines if line.right - line.left >= FULL * (right - left)]
        full = sum(len(line.text.split()) >= LEAST_WORDS for line in wide)
        prose_columns += full >= MOSTLY * len(lines)
    return prose_columns > 1 or (prose_columns == 1 and len(grid.columns) == 2)


def _is_column_aligned(grid: _Grid, index: int) -> bool:
    """Return whether most cells of a column, without the header, are aligned at the left, the right or the middle.

    The first column contains labels, which nobody centres.
    """
    cells = [cell for row in grid.cells[1:] if (cell := row[index])]
    alignments = [[cell.left for cell in cells], [cell.right for cell in cells]]
    if index:
        alignments.append([(cell.left + cell.right) / 2 for cell in cells])
    for positions in alignments:
        usual = sorted(positions)[len(positions) // 2] if positions else 0.0
        aligned = sum(abs(position - usual) <= SAME_PLACE for position in positions)
        if positions and aligned >= MOSTLY * len(positions):
            return True
    return False


def _is_header_styled(page: PdfTextPage, grid: _Grid) -> bool:
    """Return whether the first line is in another font or colour than the lines below it.

    Their first cells do not count: labels may be printed like the header. In a table of two columns they count, and
    colours do not, since links are coloured.
    """
    is_wide = len(grid.columns) >= LEAST_COLUMNS
    styles_of_lines: list[set[tuple[object, ...]]] = []
    for index in range(min(LEAST_ROWS + 1, len(grid.lines))):
        first_column = 1 if is_wide else 0
        styles = _styles(page, grid, index, first_column)
        styles_of_lines.append({*styles} if is_wide else {(name, weight) for name, weight, _ in styles})
    header, *below = styles_of_lines
    return bool(header) and not any(header & styles for styles in below)


def _styles(page: PdfTextPage, grid: _Grid, index: int, first_column: int = 1) -> set[Style]:
    """Return the fonts and colours of a line's cells, from a column on."""
    return {style_of(page, character) for character in _characters(grid.lines[index], grid.cells[index][first_column:])}


def _has_label_columns(page: PdfTextPage, grid: _Grid) -> bool:
    """Return whether every second column contains labels, in another font or colour than the values beside them."""
    labels: set[Style] = set()
    values: set[Style] = set()
    for line, cells in zip(grid.lines, grid.cells, strict=True):
        labels.update(style_of(page, character) for character in _characters(line, cells[::2]))
        values.update(style_of(page, character) for character in _characters(line, cells[1::2]))
    return not labels & values


def _characters(line: Line, cells: Sequence[Segment | None]) -> Iterator[int]:
    """Yield the text index of one character of each cell that is not empty."""
    for cell in cells:
        if cell is None:
            continue
        for word, text_index in zip(line.words, line.begins, strict=True):
            if cell.left <= word.left and word.right <= cell.right:
                yield text_index
                break


def _has_words_above_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has no figures, and a column below it, except the first, is mostly figures."""
    if any(is_figure(cell) for cell in rows[0]):
        return False
    for column in zip(*(row[1:] for row in rows[1:]), strict=True):
        filled = [cell for cell in column if cell]
        if len(filled) >= LEAST_ROWS and sum(map(is_figure, filled)) >= MOSTLY * len(filled):
            return True
    return False

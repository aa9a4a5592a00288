"""Separate columns of prose that a PDF draws row by row, so that PDFium reads across them.

PDFium returns the words of a page in the order in which they were drawn. If that order repeatedly goes from a line of
one column to the line beside it, the columns are separated at the gaps between them. Tables are drawn like that, too:
only columns whose lines are words that fill the column, and continue in the line below rather than beside, are prose.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

LEAST_ROWS = 4
"""Minimum number of rows with words in each column."""
GUTTER = 0.8
"""Minimum space between two columns, in heights of a line; words are a third of one apart."""
NEAR = 2.2
"""Maximum distance between the middles of two consecutive rows, in heights of a line."""
LEAST_WORDS = 3
MOSTLY = 0.6
"""Minimum number of words of a line of prose, and minimum share of lines that have so many and fill their column."""
FILLED = 0.6
"""Minimum share of its column's width that a line takes if it continues in the next; these six numbers are guesses that
leave the tables and receipts of `ingest_docs` and FinanceBench's filings as they were."""
LEAST_WIDTH = 0.18
"""Minimum share of the page's width that a column takes."""
MAX_FIGURE_LINES = 0.2
"""Maximum share of a column's lines that are mostly figures."""
MIN_CONTINUED = 0.3
MIN_BELOW_RATIO = 2
"""Minimum share of lines that continue in the line below, and minimum ratio of these to lines that continue beside."""
MIN_BOXES_PER_LINE = 1.25
"""Minimum number of boxes for each line of PDFium's text; a page without columns has about one."""
PLACE = 6.0
"""Width, in points, of the bins in which the beginnings of lines are counted; a guess."""
MOST_BOXES = 4000
"""Maximum number of boxes of a page; a guess at what no page of prose has."""
_BEYOND_PAGE = 1000.0
"""Points beyond the edges of a page within which its text is read, too."""
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’»)\]]*$")
_FIGURE = re.compile(r"[-–—+(~<>≤≥±$€£¥]*\d[\d.,]*[)%]*$")


@dataclass
class Box:
    """A run of words drawn in one step: its number in drawing order and its rectangle, in points."""

    order: int
    left: float
    bottom: float
    right: float
    top: float
    text: str = ""


@dataclass
class Row:
    """The boxes on one line of the page, from left to right, and the height of the page's usual line."""

    boxes: list[Box]
    height: float
    top: float = field(init=False)
    bottom: float = field(init=False)

    def __post_init__(self) -> None:
        self.boxes.sort(key=lambda box: box.left)
        self.top, self.bottom = max(box.top for box in self.boxes), min(box.bottom for box in self.boxes)

    @property
    def middle(self) -> float:
        """The vertical position of the line's middle."""
        return (self.top + self.bottom) / 2


def boxes_of_page(page: PdfTextPage, text: str) -> list[Box]:
    """Return the boxes of a page; [] if it has about one for each line of its text, and so no columns, or too many."""
    number = page.count_rects()
    return _read_boxes(page, number) if text.count("\n") + LEAST_ROWS <= number <= MOST_BOXES else []


def with_columns(page: PdfTextPage, text: str, boxes: Sequence[Box], width: float, height: float) -> str | None:
    """Return a page's text with its columns one below the other; None if its reading order is right already.

    Args:
        page: The page, for the positions of its words.
        text: PDFium's text of the page.
        boxes: The boxes of the page.
        width: The page's width in points.
        height: The page's height in points.
    """
    lines = text.count("\n") + 1
    if len(boxes) < 2 * LEAST_ROWS or len(boxes) < MIN_BOXES_PER_LINE * lines or not _is_drawn_across(boxes):
        return None
    rows = rows_of_boxes(boxes)
    regions: list[tuple[int, int, list[tuple[float, float]]]] = []
    index = 0
    while index < len(rows):
        region = _region_with_columns(rows, index, width)
        if region is None:
            index += 1
            continue
        end, columns = region
        if _is_prose(page, rows[index:end], columns):
            regions.append((index, end, columns))
        index = end
    if not regions:
        return None
    pieces, bottom_of_last = [], height + _BEYOND_PAGE
    for first, end, columns in regions:
        region_top, region_bottom = _edge_below(rows, first - 1), _edge_below(rows, end - 1)
        pieces.append(page.get_text_bounded(-_BEYOND_PAGE, region_top, width + _BEYOND_PAGE, bottom_of_last))
        gaps = [(right + next_left) / 2 for (_, right), (next_left, _) in pairwise(columns)]
        for left, right in pairwise([-_BEYOND_PAGE, *gaps, width + _BEYOND_PAGE]):
            pieces.append(page.get_text_bounded(left, region_bottom, right, region_top))
        bottom_of_last = region_bottom
    pieces.append(page.get_text_bounded(-_BEYOND_PAGE, -_BEYOND_PAGE, width + _BEYOND_PAGE, bottom_of_last))
    parts = ["\n".join(piece.splitlines()).strip() for piece in pieces if piece.strip()]
    # A sentence may continue in the next column; otherwise a new paragraph begins there.
    separated = "".join(f"{part}\n\n" if _SENTENCE_END.search(part) else f"{part}\n" for part in parts)
    # Words on the edge of two pieces would be lost: text that is read across the columns is better than that.
    return separated if _count_letters(separated) == _count_letters(text) else None


def _count_letters(text: str) -> int:
    """Return the number of letters and digits in a text."""
    return sum(char.isalnum() for char in text)


def _read_boxes(page: PdfTextPage, number: int) -> list[Box]:
    """Return the first `number` rectangles of text on a page, in drawing order."""
    import ctypes

    from pypdfium2 import raw

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(side) for side in (left, top, right, bottom)]
    read, found = raw.FPDFText_GetRect, []
    for order in range(number):
        if read(page, order, *pointers) and top.value > bottom.value:
            found.append(Box(order, left.value, bottom.value, right.value, top.value))
    return found


def _is_drawn_across(boxes: Sequence[Box]) -> bool:
    """Return whether boxes beside each other were often drawn one after the other, across a gap at one position."""
    times_begun: Counter[int] = Counter()
    for box, following in pairwise(boxes):
        height = box.top - box.bottom
        is_same_line = abs(box.top + box.bottom - following.top - following.bottom) < height
        if is_same_line and following.left - box.right >= GUTTER * height:
            index = int(following.left / PLACE)
            times_begun[index] += 1
            times_begun[index + 1] += 1  # beginnings at either side of the boundary between two bins count together
    return max(times_begun.values(), default=0) >= LEAST_ROWS


def rows_of_boxes(boxes: Sequence[Box]) -> list[Row]:
    """Return the lines of the page, from the top: boxes whose middles are at most half a line apart are on one line."""
    if not boxes:
        return []
    heights = sorted(box.top - box.bottom for box in boxes)
    usual_height = heights[len(heights) // 2]
    rows: list[list[Box]] = []
    middle = 0.0
    for box in sorted(boxes, key=lambda box: -(box.top + box.bottom)):
        if rows and abs(middle - (box.top + box.bottom) / 2) <= 0.5 * usual_height:
            rows[-1].append(box)
        else:
            rows.append([box])
            middle = (box.top + box.bottom) / 2
    return [Row(row, usual_height) for row in rows]


def _region_with_columns(
    rows: Sequence[Row], first: int, page_width: float
) -> tuple[int, list[tuple[float, float]]] | None:
    """Return `(end, columns)` of the rows `rows[first:end]`, which have the same gaps between columns.

    Return None if there is only one column, too few rows fill all columns, or a column is too narrow.
    """
    gap = GUTTER * rows[first].height
    columns = spans(rows[first].boxes, gap)
    if len(columns) < 2:
        return None
    end, full_end, full_rows = first + 1, first + 1, 1  # full rows have words in all columns
    while end < len(rows) and rows[end - 1].middle - rows[end].middle <= NEAR * rows[first].height:
        merged = _merge_ranges([*columns, *((box.left, box.right) for box in rows[end].boxes)], gap)
        if len(merged) != len(columns):
            break
        columns, end = merged, end + 1
        if len(spans(rows[end - 1].boxes, gap)) == len(columns):
            full_rows, full_end = full_rows + 1, end
    are_wide = all(right - left >= LEAST_WIDTH * page_width for left, right in columns)
    if full_rows < LEAST_ROWS or not are_wide:
        return None
    # Rows after the last full one belong to the longer column, as long as they have words in one column only.
    while full_end < end and len(spans(rows[full_end].boxes, gap)) == 1:
        full_end += 1
    return full_end, columns


def spans(boxes: Sequence[Box], gap: float) -> list[tuple[float, float]]:
    """Return the horizontal ranges that boxes cover, from the left; those less than `gap` apart are merged."""
    return _merge_ranges([(box.left, box.right) for box in boxes], gap)


def _merge_ranges(ranges: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Return ranges from the left; those less than `gap` apart are merged."""
    merged: list[tuple[float, float]] = []
    for left, right in sorted(ranges):
        last_left, last_right = merged[-1] if merged else (0.0, -math.inf)
        if left - last_right < gap:
            merged[-1] = (last_left, max(last_right, right))
        else:
            merged.append((left, right))
    return merged


def _is_prose(page: PdfTextPage, rows: Sequence[Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether the columns of some rows are running text that was drawn across them, and no table."""
    lines_of_column: list[list[str]] = [[] for _ in columns]
    widths_of_column: list[list[float]] = [[] for _ in columns]
    columns_as_drawn: list[tuple[int, int]] = []
    for row in rows:
        cells, widths = [""] * len(columns), [0.0] * len(columns)
        for box in row.boxes:
            index = next((n for n, (left, right) in enumerate(columns) if left - 1 <= box.left <= right + 1), 0)
            words = page.get_text_bounded(box.left, box.bottom, box.right, box.top).strip()
            cells[index] = f"{cells[index]} {words}".strip()
            widths[index] = box.right - columns[index][0]
            columns_as_drawn.append((box.order, index))
        for index, cell in enumerate(cells):
            lines_of_column[index].append(cell)
            widths_of_column[index].append(widths[index])
    order = [index for _, index in sorted(columns_as_drawn)]
    switches = sum(index != following for index, following in pairwise(order))
    if switches < len(rows):  # drawn one column after the other: PDFium reads them rightly
        return False
    continued_below = continued_beside = pairs = 0
    for (left, right), all_lines, all_widths in zip(columns, lines_of_column, widths_of_column, strict=True):
        lines = [line for line in all_lines if line]
        if not lines:
            return False
        words_of_lines = [line.split() for line in lines]
        prose_lines = sum(len(words) >= LEAST_WORDS for words in words_of_lines)
        figure_lines = sum(map(_has_mostly_figures, words_of_lines))
        wide = [width >= FILLED * (right - left) for line, width in zip(all_lines, all_widths, strict=True) if line]
        is_prose = prose_lines >= MOSTLY * len(lines) and sum(wide) >= MOSTLY * len(lines)
        if not is_prose or figure_lines > MAX_FIGURE_LINES * len(lines):
            return False
        pairs += len(lines) - 1
        continued_below += sum(_continues(line, following) for line, following in pairwise(lines))
    for cells_of_row in zip(*lines_of_column, strict=True):
        for cell, following in pairwise(cells_of_row):
            continued_beside += bool(cell and following) and _continues(cell, following)
    return continued_below >= MIN_CONTINUED * pairs and continued_below > MIN_BELOW_RATIO * continued_beside


def _has_mostly_figures(words: Sequence[str]) -> bool:
    """Return whether more than half of the words of a line are figures."""
    return sum(1 for word in words if _FIGURE.match(word)) * 2 > len(words)


def _continues(line: str, following: str) -> bool:
    """Return whether a sentence seems to continue from one line to another."""
    return _SENTENCE_END.search(line) is None and following[:1].islower()


def _edge_below(rows: Sequence[Row], index: int) -> float:
    """Return the vertical position between the row at an index and the row below it; above the first row for -1."""
    if index < 0:
        return rows[0].top + 0.3 * rows[0].height
    if index + 1 >= len(rows):
        return rows[index].bottom - 0.3 * rows[index].height
    return (rows[index].bottom + rows[index + 1].top) / 2

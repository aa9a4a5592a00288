"""Two and more columns of prose that a PDF draws row by row, which PDFium then reads across.

PDFium gives the words of a page in the order in which they were drawn. Where that goes from a line of one column to the
line beside it, again and again, the columns are read apart by what stands between them. Tables are drawn so as well:
only lines of words that fill their column, and go on in the next line below and not in the one beside, are columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

LEAST_ROWS = 4
"""Rows with words in each column that make columns."""
GUTTER = 0.8
"""Space between two columns, in heights of a line; words are a third of one apart."""
NEAR = 2.2
"""Space from one row's middle to the next one's, in heights of a line, within columns."""
LEAST_WORDS = 3
MOSTLY = 0.6
"""Words of a line of prose, and the share of lines that have as many, and fill their column."""
FILLED = 0.6
"""Of its column's width that a line takes which goes on in the next; these six numbers are guesses that leave the
tables and receipts of `ingest_docs` and FinanceBench's filings as they were."""
LEAST_WIDTH = 0.18
"""Of the page's width that a column takes at least."""
PLACE = 6.0
"""Points of the page's width within which lines of one column begin; a guess."""
MOST_BOXES = 4000
"""Of a page that is looked at; a guess at what no page of prose has."""
_END = re.compile(r"[.!?:;][\"'”’»)\]]*$")
_FIGURE = re.compile(r"[-–—+(~<>≤≥±$€£¥]*\d[\d.,]*[)%]*$")


@dataclass
class Box:
    """A run of words drawn in one step: its number and its rectangle."""

    order: int
    left: float
    bottom: float
    right: float
    top: float
    text: str = ""


@dataclass
class Row:
    """The words on one line of the page, from left to right."""

    boxes: list[Box]
    height: float
    top: float = field(init=False)
    bottom: float = field(init=False)

    def __post_init__(self) -> None:
        self.boxes.sort(key=lambda box: box.left)
        self.top, self.bottom = max(box.top for box in self.boxes), min(box.bottom for box in self.boxes)

    @property
    def middle(self) -> float:
        """The height of the line's middle."""
        return (self.top + self.bottom) / 2


def boxes_of_page(page: PdfTextPage, text: str) -> list[Box]:
    """Return the pieces in which a page was drawn; none of a page with about one for each line, or too many."""
    number = page.count_rects()
    return _boxes(page, number) if text.count("\n") + LEAST_ROWS <= number <= MOST_BOXES else []


def with_columns(page: PdfTextPage, text: str, boxes: Sequence[Box], width: float, height: float) -> str | None:
    """Return a page's text with its columns one below the other; None if its reading order is right already.

    Args:
        page: The page, for the positions of its words.
        text: PDFium's text of the page.
        boxes: The pieces in which it was drawn.
        width: The page's width in points.
        height: The page's height in points.
    """
    lines = text.count("\n") + 1
    if len(boxes) < 2 * LEAST_ROWS or len(boxes) < 1.25 * lines or not _goes_across(boxes):
        return None
    rows = rows_of_boxes(boxes)
    found: list[tuple[int, int, list[tuple[float, float]]]] = []
    at = 0
    while at < len(rows):
        region = _region(rows, at, width)
        if region is None:
            at += 1
            continue
        end, columns = region
        if _is_prose(page, rows[at:end], columns):
            found.append((at, end, columns))
        at = end
    if not found:
        return None
    out, top = [], height + 1000.0
    for first, behind, columns in found:
        begin, foot = _edge(rows, first - 1), _edge(rows, behind - 1)
        out.append(page.get_text_bounded(-1000.0, begin, width + 1000.0, top))
        between = [(one[1] + other[0]) / 2 for one, other in pairwise(columns)]
        for left, right in pairwise([-1000.0, *between, width + 1000.0]):
            out.append(page.get_text_bounded(left, foot, right, begin))
        top = foot
    out.append(page.get_text_bounded(-1000.0, -1000.0, width + 1000.0, top))
    parts = ["\n".join(part.splitlines()).strip() for part in out if part.strip()]
    # A sentence may go on in the next column; else a new paragraph begins there.
    read = "".join(f"{part}\n\n" if _END.search(part) else f"{part}\n" for part in parts)
    # What is neither here nor there would be lost: better read across than not at all.
    return read if _letters(read) == _letters(text) else None


def _letters(text: str) -> int:
    """Return the number of letters and digits in a text."""
    return sum(char.isalnum() for char in text)


def _boxes(page: PdfTextPage, number: int) -> list[Box]:
    """Return the rectangles of text on a page, in drawing order."""
    import ctypes

    from pypdfium2 import raw

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(side) for side in (left, top, right, bottom)]
    read, found = raw.FPDFText_GetRect, []
    for order in range(number):
        if read(page, order, *pointers) and top.value > bottom.value:
            found.append(Box(order, left.value, bottom.value, right.value, top.value))
    return found


def _goes_across(boxes: Sequence[Box]) -> bool:
    """Return whether words were often drawn line by line across a gap at one place of the page's width."""
    gaps: Counter[int] = Counter()
    for one, other in pairwise(boxes):
        height = one.top - one.bottom
        if other.left - one.right >= GUTTER * height and abs(one.top + one.bottom - other.top - other.bottom) < height:
            place = int(other.left / PLACE)
            gaps[place] += 1
            gaps[place + 1] += 1  # a column's beginning may lie at the edge of a place
    return max(gaps.values(), default=0) >= LEAST_ROWS


def rows_of_boxes(boxes: Sequence[Box]) -> list[Row]:
    """Return the lines of the page, from the top."""
    if not boxes:
        return []
    heights = sorted(box.top - box.bottom for box in boxes)
    usual = heights[len(heights) // 2]
    rows: list[list[Box]] = []
    middle = 0.0
    for box in sorted(boxes, key=lambda box: -(box.top + box.bottom)):
        if rows and abs(middle - (box.top + box.bottom) / 2) <= 0.5 * usual:
            rows[-1].append(box)
        else:
            rows.append([box])
            middle = (box.top + box.bottom) / 2
    return [Row(row, usual) for row in rows]


def _region(rows: Sequence[Row], first: int, width: float) -> tuple[int, list[tuple[float, float]]] | None:
    """Return the end of a region of rows, from `first` on, that share gaps between columns, and the columns."""
    usual = rows[first].height
    columns = spans(rows[first].boxes, GUTTER * usual)
    if len(columns) < 2:
        return None
    end, full, count = first + 1, first + 1, 1
    while end < len(rows) and rows[end - 1].middle - rows[end].middle <= NEAR * usual:
        merged = _merged([*columns, *((box.left, box.right) for box in rows[end].boxes)], GUTTER * usual)
        if len(merged) != len(columns):
            break
        columns, end = merged, end + 1
        if len(spans(rows[end - 1].boxes, GUTTER * usual)) == len(columns):
            count, full = count + 1, end
    wide = all(right - left >= LEAST_WIDTH * width for left, right in columns)
    if count < LEAST_ROWS or not wide:
        return None
    # Rows behind the last full one belong to the longer column, as long as they are in one.
    while full < end and len(spans(rows[full].boxes, GUTTER * usual)) == 1:
        full += 1
    return full, columns


def spans(boxes: Sequence[Box], gap: float) -> list[tuple[float, float]]:
    """Return the horizontal ranges that boxes cover, those less than `gap` apart merged."""
    return _merged([(box.left, box.right) for box in boxes], gap)


def _merged(spans: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Return horizontal ranges with those merged that are less than `gap` apart."""
    found: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if found and left - found[-1][1] < gap:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def _is_prose(page: PdfTextPage, rows: Sequence[Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether the columns contain running text that was drawn across them."""
    lines: list[list[str]] = []
    widths: list[list[float]] = []
    switches, before = 0, -1
    order: list[tuple[int, int]] = []
    for row in rows:
        cells, filled = [""] * len(columns), [0.0] * len(columns)
        for box in row.boxes:
            place = next((n for n, (left, right) in enumerate(columns) if left - 1 <= box.left <= right + 1), 0)
            words = page.get_text_bounded(box.left, box.bottom, box.right, box.top).strip()
            cells[place] = f"{cells[place]} {words}".strip()
            filled[place] = box.right - columns[place][0]
            order.append((box.order, place))
        lines.append(cells)
        widths.append(filled)
    for _, place in sorted(order):
        switches += before not in (place, -1)
        before = place
    if switches < len(rows):  # drawn one column after the other: PDFium reads them rightly
        return False
    below = beside = chances = 0
    for number, (left, right) in enumerate(columns):
        own = [(cells[number], filled[number]) for cells, filled in zip(lines, widths, strict=True) if cells[number]]
        words = [text.split() for text, _ in own]
        prose = sum(len(line) >= LEAST_WORDS for line in words)
        figures = sum(map(_has_mostly_figures, words))
        full = sum(filled >= FILLED * (right - left) for _, filled in own)
        if not own or prose < MOSTLY * len(own) or full < MOSTLY * len(own) or figures > 0.2 * len(own):
            return False
        for (one, _), (other, _) in pairwise(own):
            chances += 1
            below += _goes_on(one, other)
    for cells in lines:
        for one, other in pairwise(cells):
            beside += bool(one and other) and _goes_on(one, other)
    return below >= 0.3 * chances and below > 2 * beside


def _has_mostly_figures(words: Sequence[str]) -> bool:
    """Return whether more than half of the words of a line are figures."""
    return sum(1 for word in words if _FIGURE.match(word)) * 2 > len(words)


def _goes_on(line: str, following: str) -> bool:
    """Return whether a sentence seems to continue from one line to another."""
    return _END.search(line) is None and following[:1].islower()


def _edge(rows: Sequence[Row], number: int) -> float:
    """Return a height between a row and the one below it that crosses neither."""
    if number < 0:
        return rows[0].top + 0.3 * rows[0].height
    if number + 1 >= len(rows):
        return rows[number].bottom - 0.3 * rows[number].height
    return (rows[number].bottom + rows[number + 1].top) / 2

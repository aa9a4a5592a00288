"""Printed lines of a PDF page: its words by their places, put together to lines, whatever order they were drawn in.

A page has no lines, only characters with places. What stands at one height is a line; a space wider than one between
words parts its segments, which are the cells of a table.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING

from preflight_rag.text.legends import raised
from preflight_rag.text.words import RAISED_LETTERS

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

Turn = Callable[[list[float]], list[float]]
"""Turns the box of a character, (left, right, bottom, top), as its page is turned to be read."""

Style = tuple[bytes, int, tuple[int, ...]]
"""A font's name, its weight, and its colour."""

LONGEST_FONT = 120
"""Characters of a font's name that are read."""
GAP = 0.9
"""Space between two cells, in heights of a letter; words are a third of one apart."""
TYPED_GAP = 1.7
"""Space between two cells in a typewriter's font, in widths of a letter: two blanks; one alone is wider than `GAP`."""
SAME_WIDTH = 0.25
"""By how much of it the width of Latin letters may differ on a page, but for a tenth at each end, for its font to be a
typewriter's: 0.125 on a receipt in two sizes of Courier, 0.5 and more on 150 pages in other fonts."""
LEAST_LETTERS = 30
"""Pairs of letters without which a page says nothing of its font."""
MOST_LETTERS = 2000
"""Characters of a page whose width is looked at; a guess."""
HEADING = 1.2
"""By how many times the font of a heading is larger than that of the lines below it; a guess below what programs use
for their smallest heading."""
LEAST_SPACE = 0.15
"""Space in front of a word that begins a column, in heights of a letter; a guess below that of a narrow blank."""
SAME_PLACE = 1.5
"""Points within which the words of a column begin; a guess."""
OVERLAP = 0.1
"""By how many heights of a letter a figure begins before the text in front of it ends where it is another cell's; a
guess above what letters that are set close to each other share."""
MOST_ANGLES = 60
"""Characters of a page whose direction is looked at; a guess, as is the next."""
MOST_TURNED = 0.8
"""Share of them that run up or down a page that is turned."""
RAISED = 0.2
"""By how many heights of a figure a mark stands above its foot; a guess."""
FIGURE = re.compile(
    r"[-–—−(+~<>≤≥±]*+\s*+(?:US)?[$€£¥]?\s*+\(?[-–—−]?\d[\d.,  ]*+\s*+[%x]?\)?%?(?:\s*+\([\d.,]++\s*+%?\))?"
    rf"(?:[*†‡a-f]|[{RAISED_LETTERS}]{{1,2}})?$"
    r"|[-–—−]++$|(?:#[^\s\d][^\s]{1,14}[!?]|#N/[ADB]|#NV|#{3,}|Err:5\d\d)$"
)
"""A cell with a figure, or with the error that a spreadsheet shows in its place: "(1,204.5)", "10.2%", "#DIV/0!"."""
_MARKED_FIGURE = re.compile(r"(?<![\w.,])\d++(?:[.,]\d++)*(?:[a-z](?!\w)|(?!\w))")
"""A figure whose end may be the mark of a note: "6401", "12.5a"; "1st" and "x4" are none."""
_PRINTED = re.compile(r"\S+")
YEARS = re.compile(r"(?:19|20)\d\d[A-Z]?$")
_SIGN_BEFORE = re.compile(r"(?:US)?[$€£¥]|\(|[$€£¥]\s?\($")
_SIGN_BEHIND = re.compile(r"[)%]+$")


@dataclass(frozen=True)
class Segment:
    """A piece of a line without a wide gap, with its horizontal range."""

    text: str
    left: float
    right: float


@dataclass
class Line:
    """One printed line: its segments, its height above the page's foot, and the positions of its characters.

    `height` is that of the page's usual letters, `size` that of the line's own font, `body` that of most lines of the
    page, `foot` the height at which that font ends, and `words` are what its segments were made of, `begins` the places
    of their first characters.
    """

    segments: list[Segment]
    middle: float
    height: float
    places: set[int] = field(default_factory=set)
    size: float = 0.0
    body: float = 0.0
    foot: float = 0.0
    words: list[Segment] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)

    @property
    def figures(self) -> list[Segment]:
        """The figures after the first segment; in a line of figures only, all of them."""
        found = [segment for segment in self.segments if FIGURE.fullmatch(segment.text)]
        return found if len(found) < len(self.segments) or len(found) > 1 else []

    @property
    def is_row(self) -> bool:
        """Whether the line consists mostly of figures in separate columns, except years that name columns."""
        figures, rest = self.figures, len(self.segments) - len(self.figures)
        return bool(figures) and rest <= len(figures) + 1 and not all(YEARS.fullmatch(each.text) for each in figures)


def raise_marks(page: PdfTextPage, text: str) -> str:
    """Return a page's text with superscripts after figures as raised characters: "640¹" instead of "6401"."""
    import ctypes

    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(value) for value in (left, right, bottom, top)]
    pieces, done = [], 0
    for match in _MARKED_FIGURE.finditer(text):
        if not raw.FPDFText_GetCharBox(page, match.start(), *pointers):
            continue
        foot, height, end = bottom.value, top.value - bottom.value, right.value
        place = match.end()
        while place > match.start() + 1 and raw.FPDFText_GetCharBox(page, place - 1, *pointers):
            # Of text that is printed up the margin a later character stands above the first, not behind it.
            is_turned = left.value < end - height / 4
            if is_turned or bottom.value < foot + RAISED * height or not text[place - 1].isalnum():
                break
            place -= 1
        mark = text[place : match.end()]
        if mark and (mark.isdigit() or len(mark) == 1):
            pieces += [text[done:place], raised(mark)]
            done = match.end()
    return "".join([*pieces, text[done:]])


def printed_lines(page: PdfTextPage, text: str) -> Iterator[Line]:
    """Yield the printed lines of a page, whatever the order of its characters."""
    turn = _turn(page, text)
    words = list(_words(page, text, turn))
    if not words:
        return
    usual = median(word.height for word in words)
    gap = _gap(page, text, usual)
    words.sort(key=lambda word: -word.middle)
    lines: list[list[Line]] = []
    for word in words:
        if lines and abs(lines[-1][0].middle - word.middle) <= 0.5 * usual:
            lines[-1].append(word)
        else:
            lines.append([word])
    fonts = [font_box(page, min(line[0].places), turn) for line in lines]
    body = median(size for size, _ in fonts)
    for line, (size, foot) in zip(lines, fonts, strict=True):
        line.sort(key=lambda word: word.segments[0].left)
        parts = [word.segments[0] for word in line]
        yield Line(
            segments_of(parts, usual, gap * size / body if size > HEADING * body else gap),
            line[0].middle,
            usual,
            set().union(*(word.places for word in line)),
            size,
            body,
            foot,
            parts,
            [min(word.places) for word in line],
        )


def font_box(page: PdfTextPage, place: int, turn: Turn | None) -> tuple[float, float]:
    """Return the height of the font in which a character is printed, and where it ends; in points."""
    import ctypes

    from pypdfium2 import raw

    box = raw.FS_RECTF()
    if not raw.FPDFText_GetLooseCharBox(page, place, ctypes.byref(box)):
        return 1.0, 0.0
    bottom, top = turn([box.left, box.right, box.bottom, box.top])[2:] if turn else (box.bottom, box.top)
    return max(top - bottom, 1.0), bottom


def _words(page: PdfTextPage, text: str, turn: Turn | None) -> Iterator[Line]:
    """Yield the words of a page with their rectangles."""
    import ctypes

    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(value) for value in (left, right, bottom, top)]
    read = raw.FPDFText_GetCharBox
    for found in _PRINTED.finditer(text):
        places = list(range(*found.span()))
        boxes = []
        for place in places:
            if read(page, place, *pointers):
                box = [left.value, right.value, bottom.value, top.value]
                boxes.append(turn(box) if turn else box)
        if not boxes:
            continue
        lefts, rights, bottoms, tops = zip(*boxes, strict=True)
        first, end, foot, head = min(lefts), max(rights), min(bottoms), max(tops)
        word = found[0]
        height = max(head - foot, 1.0)
        middle = (foot + head) / 2
        cut = _cut_cell(word, boxes, height) if len(boxes) == len(word) else 0
        if cut:
            ends = max(rights[:cut])
            yield Line([Segment(word[:cut], first, ends)], middle, height, set(places[:cut]))
            word, first, places = word[cut:], lefts[cut], places[cut:]
            end = max(rights[cut:])
        yield Line([Segment(word, first, end)], middle, height, set(places))


def _turn(page: PdfTextPage, text: str) -> Turn | None:
    """Return a function that turns the boxes of characters as the page is turned to be read; None without a turn.

    Wide tables are printed along the long side of a page, where the text of a whole page runs up or down.
    """
    from pypdfium2 import raw

    step = max(1, len(text) // MOST_ANGLES)
    places = [place for place in range(0, len(text), step) if not text[place].isspace()]
    angles = Counter(round(raw.FPDFText_GetCharAngle(page, place) * 2 / math.pi) % 4 for place in places)
    angle, count = angles.most_common(1)[0] if angles else (0, 0)
    if count < MOST_TURNED * len(places) or angle not in (1, 3):
        return None
    if angle == 3:  # PDFium's angles are those of a clock's hand
        return lambda box: [box[2], box[3], -box[1], -box[0]]
    return lambda box: [-box[3], -box[2], box[0], box[1]]


def _cut_cell(word: str, boxes: Sequence[Sequence[float]], height: float) -> int:
    """Return the offset at which a figure is printed over the end of a text; 0 if there is none.

    A text that is wider than its cell is cut off on paper, but complete in the file, up to and including the figure
    in the next cell: "Oberndorfer-Wagner5200".
    """
    for place in range(1, len(word)):
        is_over = boxes[place][0] < boxes[place - 1][1] - OVERLAP * height
        if is_over and not word[:place].isdigit() and FIGURE.fullmatch(word[place:]):
            return place
    return 0


def _gap(page: PdfTextPage, text: str, height: float) -> float:
    """Return the space between two cells in points: by the letters' height, or by their width if monospaced."""
    import ctypes

    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    pointers, read = (ctypes.byref(x), ctypes.byref(y)), raw.FPDFText_GetCharOrigin
    begins: list[float | None] = []
    for place, char in enumerate(text[:MOST_LETTERS]):
        known = char.isascii() and char.isalpha() and read(page, place, *pointers)
        begins.append(x.value if known else None)
    widths = sorted(right - left for left, right in pairwise(begins) if left is not None and right is not None)
    if len(widths) < LEAST_LETTERS:
        return GAP * height
    least, usual, most = (widths[int(len(widths) * share)] for share in (0.1, 0.5, 0.9))
    return TYPED_GAP * usual if most - least < SAME_WIDTH * usual else GAP * height


def segments_of(words: Sequence[Segment], height: float, gap: float) -> list[Segment]:
    """Return words merged into segments: those close together, and signs with their figures."""
    joined: list[Segment] = []
    for word in words:
        before = joined[-1] if joined else None
        over = before is not None and word.left < before.right - OVERLAP * height and FIGURE.fullmatch(word.text)
        close = before is not None and word.left - before.right <= gap and not over
        signed = before is not None and (_SIGN_BEFORE.fullmatch(before.text) or _SIGN_BEHIND.fullmatch(word.text))
        if before is not None and (close or signed):
            space = "" if signed or word.left - before.right < 0.1 * height else " "
            joined[-1] = Segment(before.text + space + word.text, before.left, max(before.right, word.right))
        else:
            joined.append(word)
    return joined


def style_of(page: PdfTextPage, place: int) -> Style:
    """Return the font in which a character is printed, its weight, and its colour."""
    import ctypes

    from pypdfium2 import raw

    name, flags = ctypes.create_string_buffer(LONGEST_FONT), ctypes.c_int()
    raw.FPDFText_GetFontInfo(page, place, name, LONGEST_FONT, ctypes.byref(flags))
    colour = [ctypes.c_uint() for _ in range(4)]
    raw.FPDFText_GetFillColor(page, place, *map(ctypes.byref, colour))
    return name.value, raw.FPDFText_GetFontWeight(page, place), tuple(part.value for part in colour)


def with_rows(text: str, rows_at: Mapping[int, list[str]], taken: set[int], order: Sequence[int]) -> str:
    """Return a page's text with rows in the place of what tables were printed with.

    Args:
        text: The page's text.
        rows_at: The rows of each table by the place of its first character.
        taken: The places of all characters of tables.
        order: The numbers of the text's lines as they are read; negative ones stand for blank lines.
    """
    out: list[str] = []
    lines = text.split("\n")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for number in order:
        if number < 0:
            out.append("")
            continue
        line = lines[number]
        span = range(begins[number], begins[number] + len(line))
        out += [row for start in span if start in rows_at for row in rows_at[start]]
        inside = sum(1 for at in span if at in taken)
        if not inside or inside * 2 < sum(1 for at in span if not text[at].isspace()):
            out.append(line)
    return "\n".join(out)

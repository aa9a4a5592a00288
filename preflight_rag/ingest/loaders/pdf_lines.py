"""Build the printed lines of a PDF page from the positions of its characters, whatever order they were drawn in.

A PDF page has no lines, only characters with positions. Words at the same height are a line; spaces that are wider than
those between words divide it into segments, which may be the cells of a table.
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
"""A function that rotates the box of a character, (left, right, bottom, top), as a reader rotates the page."""

Style = tuple[bytes, int, tuple[int, ...]]
"""A font's name, its weight, and its colour."""

LONGEST_FONT = 120
"""Maximum number of bytes read of a font's name."""
GAP = 0.9
"""Minimum space between two cells, in heights of a letter; words are a third of one apart."""
TYPED_GAP = 1.7
"""Minimum space between two cells in a monospaced font, in widths of a letter: two blanks; one is wider than `GAP`."""
SAME_WIDTH = 0.25
"""Maximum relative difference of the widths of Latin letters on a page, without a tenth at each end, if its font is
monospaced: 0.125 on a receipt in two sizes of Courier, 0.5 and more on 150 pages in other fonts."""
LEAST_LETTERS = 30
"""Minimum number of pairs of letters from which a font is judged."""
MOST_LETTERS = 2000
"""Maximum number of characters of a page whose widths are measured; a guess."""
HEADING = 1.2
"""Minimum ratio of a heading's font to that of the lines below it; a guess below what programs use for their smallest
heading."""
LEAST_SPACE = 0.15
"""Minimum space before a word that begins a column, in heights of a letter; a guess below that of a narrow blank."""
SAME_PLACE = 1.5
"""Points within which the words of one column begin; a guess."""
OVERLAP = 0.1
"""Minimum overlap, in heights of a letter, of a figure of another cell with the text before it; a guess above the
overlap of letters that are set close to each other."""
MOST_ANGLES = 60
"""Maximum number of characters of a page whose direction is measured; a guess, as is the next."""
MOST_TURNED = 0.8
"""Minimum share of these characters that run up or down, if the page is rotated."""
RAISED = 0.2
"""Minimum height of a note's mark above the foot of a figure, in heights of the figure; a guess."""
FIGURE = re.compile(
    r"[-–—−(+~<>≤≥±]*+\s*+(?:US)?[$€£¥]?\s*+\(?[-–—−]?\d[\d.,  ]*+\s*+[%x]?\)?%?(?:\s*+\([\d.,]++\s*+%?\))?"
    rf"(?:[*†‡a-f]|[{RAISED_LETTERS}]{{1,2}})?$"
    r"|[-–—−]++$|(?:#[^\s\d][^\s]{1,14}[!?]|#N/[ADB]|#NV|#{3,}|Err:5\d\d)$"
)
"""A cell with a figure, or with the error that a spreadsheet shows in its place: "(1,204.5)", "10.2%", "#DIV/0!"."""
_MARKED_FIGURE = re.compile(r"(?<![\w.,])\d++(?:[.,]\d++)*(?:[a-z](?!\w)|(?!\w))")
"""A figure whose end may be the mark of a note: "6401", "12.5a"; not "1st" and "x4"."""
_WORD = re.compile(r"\S+")
YEARS = re.compile(r"(?:19|20)\d\d[A-Z]?$")
"""A year, which may name a column: "2021", "2021A"."""
_SIGN_BEFORE = re.compile(r"(?:US)?[$€£¥]|\(|[$€£¥]\s?\($")
_SIGN_BEHIND = re.compile(r"[)%]+$")
"""Signs that belong to the figure behind or before them, though a wide space may be between: "$ 12", "12 %"."""


@dataclass(frozen=True)
class Segment:
    """A piece of a line without a wide gap, with its horizontal range."""

    text: str
    left: float
    right: float


@dataclass
class Line:
    """One printed line; all measures are in points.

    Attributes:
        segments: Its segments from left to right.
        middle: Its vertical middle.
        height: The height of the page's usual letters.
        places: The text indexes of its characters.
        size: The height of its font.
        body: The height of the font of most lines of the page.
        foot: The lower edge of its font.
        words: The words of which the segments consist.
        begins: The text index of the first character of each word.
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
        """The segments that are figures; none in a line that is a single figure, such as a page number."""
        found = [segment for segment in self.segments if FIGURE.fullmatch(segment.text)]
        return found if len(found) < len(self.segments) or len(found) > 1 else []

    @property
    def is_row(self) -> bool:
        """Whether the line consists mostly of figures; a line whose figures are all years names columns instead."""
        figures = self.figures
        others = len(self.segments) - len(figures)
        are_years = all(YEARS.fullmatch(figure.text) for figure in figures)
        return bool(figures) and others <= len(figures) + 1 and not are_years


def raise_marks(page: PdfTextPage, text: str) -> str:
    """Return a page's text with superscripts after figures as raised characters: "640¹" instead of "6401"."""
    import ctypes

    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(value) for value in (left, right, bottom, top)]
    pieces, copied = [], 0  # the text before index `copied` is in `pieces`
    for match in _MARKED_FIGURE.finditer(text):
        if not raw.FPDFText_GetCharBox(page, match.start(), *pointers):
            continue
        foot, height, first_right = bottom.value, top.value - bottom.value, right.value
        mark_start = match.end()
        while mark_start > match.start() + 1 and raw.FPDFText_GetCharBox(page, mark_start - 1, *pointers):
            # In text that is printed up the margin, a later character is above the first one, not behind it.
            is_rotated = left.value < first_right - height / 4
            if is_rotated or bottom.value < foot + RAISED * height or not text[mark_start - 1].isalnum():
                break
            mark_start -= 1
        mark = text[mark_start : match.end()]
        if mark and (mark.isdigit() or len(mark) == 1):
            pieces += [text[copied:mark_start], raised(mark)]
            copied = match.end()
    return "".join([*pieces, text[copied:]])


def printed_lines(page: PdfTextPage, text: str) -> Iterator[Line]:
    """Yield the printed lines of a page, built from the positions of its characters.

    Words whose middles are at most half a letter's height apart are on one line.
    """
    turn = rotation_of(page, text)
    words = list(_words(page, text, turn))
    if not words:
        return
    usual_height = median(word.height for word in words)
    gap = _cell_gap(page, text, usual_height)
    words.sort(key=lambda word: -word.middle)
    lines: list[list[Line]] = []
    for word in words:
        if lines and abs(lines[-1][0].middle - word.middle) <= 0.5 * usual_height:
            lines[-1].append(word)
        else:
            lines.append([word])
    fonts = [font_box(page, min(line[0].places), turn) for line in lines]
    body = median(size for size, _ in fonts)
    for line, (size, foot) in zip(lines, fonts, strict=True):
        line.sort(key=lambda word: word.segments[0].left)
        parts = [word.segments[0] for word in line]
        yield Line(
            segments=segments_of(parts, usual_height, gap * size / body if size > HEADING * body else gap),
            middle=line[0].middle,
            height=usual_height,
            places=set().union(*(word.places for word in line)),
            size=size,
            body=body,
            foot=foot,
            words=parts,
            begins=[min(word.places) for word in line],
        )


def font_box(page: PdfTextPage, text_index: int, turn: Turn | None) -> tuple[float, float]:
    """Return the height and the lower edge of the font of a character, in points; (1, 0) if PDFium does not know them.

    Args:
        page: The page.
        text_index: The index of the character in the page's text.
        turn: Rotates boxes, if the page is rotated.
    """
    import ctypes

    from pypdfium2 import raw

    box = raw.FS_RECTF()
    if not raw.FPDFText_GetLooseCharBox(page, text_index, ctypes.byref(box)):
        return 1.0, 0.0
    bottom, top = turn([box.left, box.right, box.bottom, box.top])[2:] if turn else (box.bottom, box.top)
    return max(top - bottom, 1.0), bottom


def _words(page: PdfTextPage, text: str, turn: Turn | None) -> Iterator[Line]:
    """Yield the words of a page in their order in the text, each as a line of one segment.

    A text and the figure that is printed over its end are two words.
    """
    import ctypes

    from pypdfium2 import raw

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(value) for value in (left, right, bottom, top)]
    read_box = raw.FPDFText_GetCharBox
    for match in _WORD.finditer(text):
        indexes = list(range(*match.span()))
        boxes = []
        for index in indexes:
            if read_box(page, index, *pointers):
                box = [left.value, right.value, bottom.value, top.value]
                boxes.append(turn(box) if turn else box)
        if not boxes:
            continue
        lefts, rights, bottoms, tops = zip(*boxes, strict=True)
        word, word_left, word_right = match[0], min(lefts), max(rights)
        height = max(max(tops) - min(bottoms), 1.0)
        middle = (min(bottoms) + max(tops)) / 2
        cut = _figure_over_text(word, boxes, height) if len(boxes) == len(word) else 0
        if cut:
            yield Line([Segment(word[:cut], word_left, max(rights[:cut]))], middle, height, set(indexes[:cut]))
            word, word_left, indexes = word[cut:], lefts[cut], indexes[cut:]
            word_right = max(rights[cut:])
        yield Line([Segment(word, word_left, word_right)], middle, height, set(indexes))


def rotation_of(page: PdfTextPage, text: str) -> Turn | None:
    """Return a function that rotates the boxes of characters, if most of the page's text runs up or down; else None.

    Wide tables are printed along the long side of a page, so that a reader has to rotate it.
    """
    from pypdfium2 import raw

    step = max(1, len(text) // MOST_ANGLES)
    sample = [index for index in range(0, len(text), step) if not text[index].isspace()]
    quarter_turns = Counter(round(raw.FPDFText_GetCharAngle(page, index) * 2 / math.pi) % 4 for index in sample)
    turns, count = quarter_turns.most_common(1)[0] if quarter_turns else (0, 0)
    if count < MOST_TURNED * len(sample) or turns not in (1, 3):
        return None
    if turns == 3:  # PDFium's angles are clockwise
        return lambda box: [box[2], box[3], -box[1], -box[0]]
    return lambda box: [-box[3], -box[2], box[0], box[1]]


def _figure_over_text(word: str, boxes: Sequence[Sequence[float]], height: float) -> int:
    """Return the offset in a word at which a figure is printed over the end of a text; 0 if there is none.

    A text that is wider than its cell is cut off on paper, but complete in the file, up to and including the figure
    in the next cell: "Oberndorfer-Wagner5200".

    Args:
        word: The characters between two spaces.
        boxes: The box of each character: left, right, bottom, top.
        height: The height of the word.
    """
    for offset, ((_, previous_right, *_), (left, *_)) in enumerate(pairwise(boxes), 1):
        is_over = left < previous_right - OVERLAP * height
        if is_over and not word[:offset].isdigit() and FIGURE.fullmatch(word[offset:]):
            return offset
    return 0


def _cell_gap(page: PdfTextPage, text: str, height: float) -> float:
    """Return the minimum space between two cells, in points: by the width of letters if the font is monospaced.

    For other fonts, and with too few letters to tell, it follows from the height of the letters.
    """
    import ctypes

    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    pointers, read_origin = (ctypes.byref(x), ctypes.byref(y)), raw.FPDFText_GetCharOrigin
    lefts: list[float | None] = []
    for index, char in enumerate(text[:MOST_LETTERS]):
        is_known = char.isascii() and char.isalpha() and read_origin(page, index, *pointers)
        lefts.append(x.value if is_known else None)
    widths = sorted(right - left for left, right in pairwise(lefts) if left is not None and right is not None)
    if len(widths) < LEAST_LETTERS:
        return GAP * height
    narrow, usual, wide = (widths[int(len(widths) * share)] for share in (0.1, 0.5, 0.9))
    return TYPED_GAP * usual if wide - narrow < SAME_WIDTH * usual else GAP * height


def segments_of(words: Sequence[Segment], height: float, gap: float) -> list[Segment]:
    """Join words to segments: words less than a gap apart, and signs with their figures ("$ 12").

    A figure that is printed over the end of the text before it is a segment of its own.

    Args:
        words: The words of a line, from the left.
        height: The height of a letter.
        gap: The space between two cells.
    """
    segments: list[Segment] = []
    for word in words:
        previous = segments[-1] if segments else None
        if previous is None:
            segments.append(word)
            continue
        is_over = word.left < previous.right - OVERLAP * height and FIGURE.fullmatch(word.text)
        is_close = word.left - previous.right <= gap and not is_over
        is_sign = _SIGN_BEFORE.fullmatch(previous.text) or _SIGN_BEHIND.fullmatch(word.text)
        if is_close or is_sign:
            space = "" if is_sign or word.left - previous.right < 0.1 * height else " "
            segments[-1] = Segment(previous.text + space + word.text, previous.left, max(previous.right, word.right))
        else:
            segments.append(word)
    return segments


def style_of(page: PdfTextPage, text_index: int) -> Style:
    """Return the name and the weight of the font of a character, by its index in the page's text, and its colour."""
    import ctypes

    from pypdfium2 import raw

    name, flags = ctypes.create_string_buffer(LONGEST_FONT), ctypes.c_int()
    raw.FPDFText_GetFontInfo(page, text_index, name, LONGEST_FONT, ctypes.byref(flags))
    colour = [ctypes.c_uint() for _ in range(4)]
    raw.FPDFText_GetFillColor(page, text_index, *map(ctypes.byref, colour))
    return name.value, raw.FPDFText_GetFontWeight(page, text_index), tuple(part.value for part in colour)


def with_rows(text: str, rows_at: Mapping[int, list[str]], taken: set[int], order: Sequence[int]) -> str:
    """Return a page's text with its lines in reading order, and tables replaced by their rows.

    Args:
        text: The page's text.
        rows_at: The rows of each table by the text index of its first character.
        taken: The text indexes of all characters of tables; lines that mostly consist of them are left out.
        order: The numbers of the text's lines as they are read; negative ones stand for blank lines.
    """
    result: list[str] = []
    lines = text.split("\n")
    line_starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for number in order:
        if number < 0:
            result.append("")
            continue
        line = lines[number]
        indexes = range(line_starts[number], line_starts[number] + len(line))
        for index in indexes:
            result += rows_at.get(index, ())
        in_tables = sum(1 for index in indexes if index in taken)
        if not in_tables or in_tables * 2 < sum(1 for index in indexes if not text[index].isspace()):
            result.append(line)
    return "\n".join(result)

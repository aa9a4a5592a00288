"""Tables of PDF pages: rows of figures that stand in columns, with the header above them, as lines of their own.

A page has no tables, only characters with places. Lines of which most parts are figures are rows; where their figures
overlap from row to row are columns; the short lines above name them. Prose, and tables of text alone, stay as they are.
pdfplumber and camelot were tried on filings first; see docs/documents.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from preflight_rag.text.legends import raised
from preflight_rag.text.tables import INDENT, LONGEST_CAPTION, table_lines
from preflight_rag.text.words import RAISED_LETTERS

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

LEAST_ROWS = 3
"""Rows of figures that make a table."""
GAP = 0.9
"""Space between two cells, in heights of a letter; words are a third of one apart."""
NEAR = 4.0
"""Space from one row's middle to the next one's, in heights of a letter, within a table."""
TITLE = 10.0
"""Points by which a title begins before the first column, above the labels."""
MOST_BETWEEN = 3
MOST_HEADINGS = 3
MOST_HEADER = 6
LONGEST_HEADER = 60
"""Lines between two parts of a table, lines from its header to its first figures, lines above it that may name columns,
and characters of such a name."""
HEADING = 1.2
"""By how many times the font of a heading is larger than that of the lines below it; a guess below what programs use
for their smallest heading."""
FARTHER = 1.6
"""By how many times a line stands farther above a complete header than rows stand apart where it belongs to what is
above the table, such as the letterhead of an invoice; a guess."""
RIVER = 0.5
"""Space between two columns of words that no row crosses, in heights of a letter: a blank takes a third. A guess."""
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
STEP = 3.0
"""Points by which a label is indented; this number and the six above were set by hand on FinanceBench's filings."""
TYPED_GAP = 1.7
"""Space between two cells in a typewriter's font, in widths of a letter: two blanks; one alone is wider than `GAP`."""
SAME_WIDTH = 0.25
"""By how much of it the width of Latin letters may differ on a page, but for a tenth at each end, for its font to be a
typewriter's: 0.125 on a receipt in two sizes of Courier, 0.5 and more on 150 pages in other fonts."""
LEAST_LETTERS = 30
"""Pairs of letters without which a page says nothing of its font."""
_FIGURE = re.compile(
    r"[-–—−(+~<>≤≥±]*+\s*+(?:US)?[$€£¥]?\s*+\(?[-–—−]?\d[\d.,  ]*+\s*+[%x]?\)?%?(?:\s*+\([\d.,]++\s*+%?\))?"
    rf"(?:[*†‡a-f]|[{RAISED_LETTERS}]{{1,2}})?$"
    r"|[-–—−]++$|(?:#[^\s\d][^\s]{1,14}[!?]|#N/[ADB]|#NV|#{3,}|Err:5\d\d)$"
)
"""A cell with a figure, or with the error that a spreadsheet shows in its place: "(1,204.5)", "10.2%", "#DIV/0!"."""
_MARKED_FIGURE = re.compile(r"(?<![\w.,])\d++(?:[.,]\d++)*(?:[a-z](?!\w)|(?!\w))")
"""A figure whose end may be the mark of a note: "6401", "12.5a"; "1st" and "x4" are none."""
_PRINTED = re.compile(r"\S+")
_YEARS = re.compile(r"(?:19|20)\d\d[A-Z]?$")
_OF_PAGE = re.compile(
    r"page \d+(?: of \d+)?|\d+ of \d+|\d{1,2}:\d\d.*|.*\d \d{1,2}:\d\d(?::\d\d)?(?: [ap]m)?"
    r"|.*\.(?:xlsx?|xlsm|ods|csv|pdf)"
    r"|(?:printed|print date|created|gedruckt|stand|seite|imprimé|page|strana)\b\D*\d.*",
    re.IGNORECASE,
)
"""What a program prints above or below each page, and names no column: "Page 1 of 2", "Printed 3 May 2024", a file."""
_SIGN_BEFORE = re.compile(r"(?:US)?[$€£¥]|\(|[$€£¥]\s?\($")
_SIGN_BEHIND = re.compile(r"[)%]+$")


@dataclass(frozen=True)
class _Segment:
    """A piece of a line without a wide gap, with its horizontal range."""

    text: str
    left: float
    right: float


@dataclass
class _Line:
    """One printed line: its segments, its height above the page's foot, and the positions of its characters.

    `height` is that of the page's usual letters, `size` that of the line's own font and `body` that of most lines of
    the page, and `words` are what its segments were made of.
    """

    segments: list[_Segment]
    middle: float
    height: float
    places: set[int] = field(default_factory=set)
    size: float = 0.0
    body: float = 0.0
    words: list[_Segment] = field(default_factory=list)

    @property
    def figures(self) -> list[_Segment]:
        """The figures after the first segment; in a line of figures only, all of them."""
        found = [segment for segment in self.segments if _FIGURE.fullmatch(segment.text)]
        return found if len(found) < len(self.segments) or len(found) > 1 else []

    @property
    def is_row(self) -> bool:
        """Whether the line consists mostly of figures in separate columns, except years that name columns."""
        figures, rest = self.figures, len(self.segments) - len(self.figures)
        return bool(figures) and rest <= len(figures) + 1 and not all(_YEARS.fullmatch(each.text) for each in figures)


@dataclass(frozen=True)
class _Columns:
    """The columns of a table: their positions, their names (those of the labels first), and the caption.

    `labels` are the places at which further columns of words begin, between the first one and the figures.
    """

    places: list[tuple[float, float]]
    names: list[str]
    caption: str
    last: int
    labels: tuple[float, ...] = ()

    def go_on(self, places: Sequence[tuple[float, float]], first: int) -> bool:
        """Return whether a table without a header that begins slightly below has the same columns."""
        if len(self.places) != len(places) or first - self.last > MOST_BETWEEN:
            return False
        return all(min(a[1], b[1]) > max(a[0], b[0]) for a, b in zip(self.places, places, strict=True))


def with_tables(page: PdfTextPage, text: str) -> str:
    """Return a page's text with its tables written as rows.

    Args:
        page: The page, for the positions of its characters.
        text: PDFium's text of the page, one line for each printed one.
    """
    lines = sorted(_printed(page, text), key=lambda line: -line.middle)
    if sum(line.is_row for line in lines) < LEAST_ROWS:
        return text
    rows_at: dict[int, list[str]] = {}
    taken: set[int] = set()
    before: _Columns | None = None
    for first, last in _regions(lines):
        first = _with_headings(lines, first, last)
        written, before = _table(lines, first, last, before)
        places = set().union(*(line.places for line in lines[first : last + 1]))
        if written and not places & taken:
            rows_at[min(places)] = written
            taken |= places
    if not taken:
        return text
    out: list[str] = []
    place = 0
    for line in text.split("\n"):
        span = range(place, place + len(line))
        place += len(line) + 1
        out += [row for start in span if start in rows_at for row in rows_at[start]]
        inside = sum(1 for at in span if at in taken)
        if not inside or inside * 2 < sum(1 for at in span if not text[at].isspace()):
            out.append(line)
    return "\n".join(out)


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


def _printed(page: PdfTextPage, text: str) -> Iterator[_Line]:
    """Yield the printed lines of a page, whatever the order of its characters."""
    words = list(_words(page, text))
    if not words:
        return
    usual = median(word.height for word in words)
    gap = _gap(page, text, usual)
    words.sort(key=lambda word: -word.middle)
    lines: list[list[_Line]] = []
    for word in words:
        if lines and abs(lines[-1][0].middle - word.middle) <= 0.5 * usual:
            lines[-1].append(word)
        else:
            lines.append([word])
    sizes = [_size(page, min(line[0].places)) for line in lines]
    body = median(sizes)
    for line, size in zip(lines, sizes, strict=True):
        line.sort(key=lambda word: word.segments[0].left)
        parts = [word.segments[0] for word in line]
        yield _Line(
            _segments(parts, usual, gap * size / body if size > HEADING * body else gap),
            line[0].middle,
            usual,
            set().union(*(word.places for word in line)),
            size,
            body,
            parts,
        )


def _size(page: PdfTextPage, place: int) -> float:
    """Return the height of the font in which a character is printed, in points; 1.0 if it has none."""
    import ctypes

    from pypdfium2 import raw

    box = raw.FS_RECTF()
    known = raw.FPDFText_GetLooseCharBox(page, place, ctypes.byref(box))
    return max(abs(box.top - box.bottom), 1.0) if known else 1.0


def _words(page: PdfTextPage, text: str) -> Iterator[_Line]:
    """Yield the words of a page with their rectangles."""
    import ctypes

    from pypdfium2 import raw

    box = [ctypes.c_double() for _ in range(4)]
    pointers = [ctypes.byref(value) for value in box]
    read = raw.FPDFText_GetCharBox
    turn = _turn(page, text)
    for found in _PRINTED.finditer(text):
        places = list(range(*found.span()))
        boxes = []
        for place in places:
            if read(page, place, *pointers):
                boxes.append(turn([value.value for value in box]))  # left, right, bottom, top
        if not boxes:
            continue
        left, right = min(item[0] for item in boxes), max(item[1] for item in boxes)
        bottom, top = min(item[2] for item in boxes), max(item[3] for item in boxes)
        word = found[0]
        height = max(top - bottom, 1.0)
        cut = _cut_cell(word, boxes, height) if len(boxes) == len(word) else 0
        if cut:
            ends = max(item[1] for item in boxes[:cut])
            yield _Line([_Segment(word[:cut], left, ends)], (bottom + top) / 2, height, set(places[:cut]))
            word, left, places = word[cut:], boxes[cut][0], places[cut:]
            right = max(item[1] for item in boxes[cut:])
        yield _Line([_Segment(word, left, right)], (bottom + top) / 2, height, set(places))


def _turn(page: PdfTextPage, text: str) -> Callable[[list[float]], list[float]]:
    """Return a function that turns the boxes of characters as the page is turned to be read.

    Wide tables are printed along the long side of a page, where the text of a whole page runs up or down.
    """
    from pypdfium2 import raw

    step = max(1, len(text) // MOST_ANGLES)
    places = [place for place in range(0, len(text), step) if not text[place].isspace()]
    angles = Counter(round(raw.FPDFText_GetCharAngle(page, place) * 2 / math.pi) % 4 for place in places)
    angle, count = angles.most_common(1)[0] if angles else (0, 0)
    if count < MOST_TURNED * len(places) or angle not in (1, 3):
        return lambda box: box
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
        if is_over and not word[:place].isdigit() and _FIGURE.fullmatch(word[place:]):
            return place
    return 0


def _gap(page: PdfTextPage, text: str, height: float) -> float:
    """Return the space between two cells in points: by the letters' height, or by their width if monospaced."""
    import ctypes

    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    begins: list[float | None] = []
    for place, char in enumerate(text):
        letter = char.isascii() and char.isalpha()
        known = letter and raw.FPDFText_GetCharOrigin(page, place, ctypes.byref(x), ctypes.byref(y))
        begins.append(x.value if known else None)
    widths = sorted(right - left for left, right in pairwise(begins) if left is not None and right is not None)
    if len(widths) < LEAST_LETTERS:
        return GAP * height
    least, usual, most = (widths[int(len(widths) * share)] for share in (0.1, 0.5, 0.9))
    return TYPED_GAP * usual if most - least < SAME_WIDTH * usual else GAP * height


def _segments(words: Sequence[_Segment], height: float, gap: float) -> list[_Segment]:
    """Return words merged into segments: those close together, and signs with their figures."""
    joined: list[_Segment] = []
    for word in words:
        before = joined[-1] if joined else None
        over = before is not None and word.left < before.right - OVERLAP * height and _FIGURE.fullmatch(word.text)
        close = before is not None and word.left - before.right <= gap and not over
        signed = before is not None and (_SIGN_BEFORE.fullmatch(before.text) or _SIGN_BEHIND.fullmatch(word.text))
        if before is not None and (close or signed):
            space = "" if signed or word.left - before.right < 0.1 * height else " "
            joined[-1] = _Segment(before.text + space + word.text, before.left, max(before.right, word.right))
        else:
            joined.append(word)
    return joined


def _regions(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield first and last row of each run of rows, with at most two other short lines between two rows."""
    start, last, count = -1, -1, 0
    for number, line in enumerate(lines):
        if not line.is_row:
            continue
        between = lines[last + 1 : number]
        near = last >= 0 and lines[last].middle - line.middle <= NEAR * line.height * (len(between) + 1)
        short = len(between) <= 2 and all(len(other.segments) == 1 for other in between)
        if last >= 0 and near and short:
            count += 1
        else:
            if count >= LEAST_ROWS:
                yield start, last
            start, count = number, 1
        last = number
    if count >= LEAST_ROWS:
        yield start, last


def _table(lines: Sequence[_Line], first: int, last: int, before: _Columns | None) -> tuple[list[str], _Columns | None]:
    """Return a table's rows and its columns; no rows if its figures do not form columns."""
    rows = lines[first : last + 1]
    columns = _columns([segment for line in rows for segment in line.figures])
    if not columns or len(columns) > sum(line.is_row for line in rows) * 6:
        return [], before
    labels = _label_columns(lines, first, last, columns)
    names, caption = _header(lines, first, columns, labels)
    if not any(names) and before is not None and before.go_on(columns, first):
        labels = before.labels
        names, caption = before.names, before.caption
    found = _Columns(columns, names, caption, last, labels)
    least = min((line.segments[0].left for line in rows if line.segments[0].left < columns[0][0]), default=0.0)
    grid: list[list[str]] = []
    written: list[str] = []

    def flush() -> None:
        """Write the collected rows."""
        if grid:
            header = [names] if any(names) else []
            written.extend(table_lines([*header, *grid], caption=caption, header_rows=len(header)))
            grid.clear()

    for number, line in enumerate(rows):
        cells = [""] * (len(columns) + 1)
        further = [""] * len(labels)
        for segment in line.segments:
            is_label = segment.left < columns[0][0] and not _FIGURE.fullmatch(segment.text)
            if is_label and labels and line.is_row:
                for place, part in enumerate(_parted(segment, line.words, labels)):
                    if place == 0:
                        cells[0] = f"{cells[0]} {part}".strip()
                    else:
                        further[place - 1] = f"{further[place - 1]} {part}".strip()
                continue
            place = 0 if is_label else _column_of(segment, columns)
            cells[place] = f"{cells[place]} {segment.text}".strip()
        cells[1:1] = further
        indent = line.segments[0].left
        if line.is_row:
            cells[0] = INDENT + cells[0] if indent > least + STEP and cells[0] else cells[0]
            grid.append(cells)
            continue
        following = rows[number + 1 :]
        below = next((other for other in following if other.is_row), None)
        heads = below is not None and (cells[0].endswith(":") or below.segments[0].left > indent + STEP)
        text = " ".join(segment.text for segment in line.segments)
        if below is not None and below.segments[0].text[:1].islower():
            # A label of two lines: its second one has the figures.
            below.segments[0] = replace(below.segments[0], text=f"{text} {below.segments[0].text}")
        elif heads:
            grid.append([text, *[""] * (len(labels) + len(columns))])
        else:
            flush()
            written.append(text)
    flush()
    return written, found


def _with_headings(lines: Sequence[_Line], first: int, last: int) -> int:
    """Return where a table begins, including a header above one or two headings of rows."""
    columns = _columns([segment for line in lines[first : last + 1] for segment in line.figures])
    for number in range(first - 1, max(-1, first - 1 - MOST_HEADINGS), -1):
        line = lines[number]
        if line.middle - lines[number + 1].middle > NEAR * line.height:
            break
        if number < first - 1 and _names_columns(line, columns):
            return number + 1
        if len(line.segments) > 1 or line.segments[0].right > columns[0][0]:
            break
    return first


def _columns(figures: Sequence[_Segment]) -> list[tuple[float, float]]:
    """Return the horizontal ranges in which figures stand one below the other."""
    found: list[tuple[float, float]] = []
    for left, right in sorted((segment.left, segment.right) for segment in figures):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def _column_of(segment: _Segment, columns: Sequence[tuple[float, float]]) -> int:
    """Return the number of a segment's column, from 1; 0 for a segment before the first column."""
    overlaps = [min(segment.right, right) - max(segment.left, left) for left, right in columns]
    best = max(range(len(columns)), key=lambda place: overlaps[place])
    if overlaps[best] > 0:
        return best + 1
    middle = (segment.left + segment.right) / 2
    if segment.right <= columns[0][0] and not _FIGURE.fullmatch(segment.text):
        return 0
    return 1 + min(range(len(columns)), key=lambda place: abs(middle - sum(columns[place]) / 2))


def _label_columns(
    lines: Sequence[_Line], first: int, last: int, columns: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """Return where further columns of words begin between a table's first column and its figures.

    A name in the header begins one where no row has a word across its beginning, and the rows either all have a word
    that begins there, or a space as wide as none between two words.
    """
    head = lines[first - 1] if first else None
    rows = [line for line in lines[first : last + 1] if line.is_row]
    if head is None or not _names_columns(head, columns) or len(rows) < LEAST_ROWS:
        return ()
    begins: list[float] = []
    words = [[word for word in line.words if word.right <= columns[0][0] + 1] for line in rows]
    for before, word in pairwise(head.words):
        if word.right > columns[0][0] + 1:
            break
        height = head.height
        space = (before.right, word.left)
        spaces: list[tuple[float, float]] = []
        starts = 0
        for own in words:
            left = max((each.right for each in own if each.left < word.left - SAME_PLACE), default=None)
            right = min((each.left for each in own if each.left >= word.left - SAME_PLACE), default=None)
            if left is not None and right is not None:
                spaces.append((left, right))
                starts += abs(right - word.left) <= SAME_PLACE
        if len(spaces) < LEAST_ROWS or len(spaces) * 3 < len(words) * 2:
            continue
        are_apart = all(right - left >= LEAST_SPACE * height for left, right in spaces)
        is_aligned = are_apart and starts == len(spaces)
        river = min(right for _, right in [*spaces, space]) - max(left for left, _ in [*spaces, space])
        widest = max(right - left for left, right in [*spaces, space])
        if widest >= GAP * height and (is_aligned or river >= RIVER * height):
            begins.append(word.left if is_aligned else max(left for left, _ in [*spaces, space]) + SAME_PLACE)
    return tuple(begins)


def _parted(segment: _Segment, words: Sequence[_Segment], begins: Sequence[float]) -> list[str]:
    """Return a segment's text for each column of words: the part before the first place in `begins`, then the others."""
    parts: list[list[_Segment]] = [[] for _ in range(len(begins) + 1)]
    for word in words:
        if segment.left <= word.left and word.right <= segment.right:
            parts[sum(word.left >= begin - SAME_PLACE for begin in begins)].append(word)
    if sum(map(bool, parts)) < 2:
        return [segment.text if part else "" for part in parts]
    return [" ".join(word.text for word in part) for part in parts]


def _header(
    lines: Sequence[_Line], first: int, columns: Sequence[tuple[float, float]], labels: Sequence[float] = ()
) -> tuple[list[str], str]:
    """Return the columns' names, those of the labels first, and the caption above them."""
    parts: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    further: list[list[str]] = [[] for _ in labels]
    below = [one.middle - other.middle for one, other in pairwise(lines[first : first + LEAST_ROWS])]
    top = first
    for number in range(first - 1, max(-1, first - 1 - MOST_HEADER), -1):
        line = lines[number]
        if line.middle - lines[number + 1].middle > NEAR * line.height or not _names_columns(line, columns):
            break
        if any(_OF_PAGE.fullmatch(segment.text) for segment in line.segments):
            break
        is_far = line.middle - lines[number + 1].middle > FARTHER * median(below)
        if is_far and _are_distinct(parts[1:]) and not any(_is_period(segment.text) for segment in line.segments):
            break
        for segment, places in reversed(_spanned(line.segments, columns, lines[first].segments[0].left).items()):
            for place in places:
                parts[place].insert(0, segment.text)
            if not places:
                named = _parted(segment, line.words, labels)
                for column, text in zip([parts[0], *further], named, strict=True):
                    column[:0] = [text] if text else []
        top = number
    return [" ".join(part) for part in (parts[0], *further, *parts[1:])], _caption(lines, top)


def _are_distinct(names: Sequence[Sequence[str]]) -> bool:
    """Return whether all columns have a name, no two the same one, which a line above would then tell apart."""
    return all(names) and len({tuple(name) for name in names}) == len(names)


def _names_columns(line: _Line, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a line above a table can name its columns: short words above them, and no figures but years."""
    if line.is_row or line.segments[-1].right <= columns[0][0]:
        return False
    if any(len(segment.text) > LONGEST_HEADER or _is_datum(segment.text) for segment in line.segments):
        return False
    is_large = line.size > HEADING * line.body
    title = line.segments[0].left < columns[0][0] - TITLE and (is_large or not _is_period(line.segments[0].text))
    return not (title and len(line.segments) == 1 and len(columns) > 1)


def _caption(lines: Sequence[_Line], top: int) -> str:
    """Return the short line above a header, with the one above that if the former only states the unit."""
    caption = ""
    for number in range(top - 1, max(-1, top - 3), -1):
        line, text = lines[number], lines[number].segments[0].text
        alone = len(line.segments) == 1 and not line.is_row and len(text) <= LONGEST_CAPTION
        near = line.middle - lines[number + 1].middle <= NEAR * line.height
        if not alone or not near or text.endswith((".", ",", ";")) or text[:1].islower():
            break
        caption = f"{text} {caption}".strip()
        if not text.startswith(("(", "$", "In ", "in ")):
            break
    return caption


def _is_datum(text: str) -> bool:
    """Return whether a text is a figure other than a year."""
    return bool(_FIGURE.fullmatch(text)) and not _YEARS.fullmatch(text)


def _is_period(text: str) -> bool:
    """Return whether a text names a period of time."""
    return bool(
        re.search(r"\b(?:months?|weeks?|years?|quarters?|ended|fiscal|as of|(?:19|20)\d\d)\b", text, re.IGNORECASE)
    )


def _left_of_groups(segments: Sequence[_Segment], columns: Sequence[tuple[float, float]]) -> dict[_Segment, list[int]]:
    """Return the columns of years at the left edge of equally many columns each; {} where they stand otherwise.

    The first one may end before the first figure begins, as in sheets, which print figures at the right of their cells.
    """
    years = [segment for segment in segments if _YEARS.fullmatch(segment.text)]
    labels = [segment for segment in segments if segment not in years]
    size, rest = divmod(len(columns), len(years)) if years else (0, 1)
    if rest or size < 2 or len(years) < 2 or years[0].right > columns[0][0] + 1:
        return {}
    if any(segment.right > years[0].left for segment in labels):
        return {}
    found: dict[_Segment, list[int]] = {segment: [] for segment in labels}
    for number, segment in enumerate(years):
        before = columns[number * size - 1][1] if number else 0.0
        if not before - 1 <= segment.left <= columns[number * size][1]:
            return {}
        found[segment] = list(range(number * size + 1, (number + 1) * size + 1))
    return found


def _spanned(
    segments: Sequence[_Segment], columns: Sequence[tuple[float, float]], edge: float
) -> dict[_Segment, list[int]]:
    """Return numbers of the columns that each part of a header's line stands over.

    Parts that stand in the middle of equally many columns each name these, even those that they do not reach. One part
    for the labels and one for each column, each begun before its column ends and behind the one before, are in order:
    a spreadsheet prints names at the left of its cells and figures at the right, where the next name is nearer.

    Args:
        segments: The parts of the line.
        columns: The stretches in which figures stand.
        edge: Where the labels of the table's rows begin; a name of a column begins behind it.
    """
    labels = len(segments) - len(columns)
    has_labels = labels > 0 and segments[labels - 1].right <= columns[0][0]
    if has_labels or (labels == 0 and segments[0].left > edge + TITLE):
        begins = [segment.left for segment in segments[labels:]]
        ends = [segments[labels - 1].right if has_labels else edge, *(right for _, right in columns)]
        if all(end <= left + 1 and left <= own for left, end, own in zip(begins, ends, ends[1:], strict=False)):
            places: list[list[int]] = [[] for _ in range(labels)] + [[number] for number in range(1, len(columns) + 1)]
            return dict(zip(segments, places, strict=True))
    if groups_of := _left_of_groups(segments, columns):
        return groups_of
    over = [segment for segment in segments if segment.right > columns[0][0]]
    size, rest = divmod(len(columns), len(over)) if over else (0, 1)
    if not rest:
        groups = [list(range(n * size + 1, (n + 1) * size + 1)) for n in range(len(over))]
        middles = [(columns[group[0] - 1][0] + columns[group[-1] - 1][1]) / 2 for group in groups]
        pitch = (columns[-1][1] - columns[0][0]) / len(columns)
        if all(abs((each.left + each.right) / 2 - m) <= pitch / 2 for each, m in zip(over, middles, strict=True)):
            return {segment: [] for segment in segments} | dict(zip(over, groups, strict=True))
    found = {}
    for segment in segments:
        found[segment] = [
            n for n, (left, right) in enumerate(columns, 1) if min(segment.right, right) > max(segment.left, left)
        ] or ([_column_of(segment, columns)] if segment in over else [])
    return found

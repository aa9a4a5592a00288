"""Tables of PDF pages: rows of figures that stand in columns, with the header above them, as lines of their own.

A page has no tables, only characters with places. Lines of which most parts are figures are rows; where their figures
overlap from row to row are columns; the short lines above name them. `pdf_word_tables` reads those of words.
pdfplumber and camelot were tried on filings first; see docs/documents.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.pdf_lines import (
    FIGURE,
    GAP,
    HEADING,
    LEAST_SPACE,
    SAME_PLACE,
    YEARS,
    Line,
    Segment,
)
from preflight_rag.text.tables import INDENT, LONGEST_CAPTION, is_addressee, table_lines

if TYPE_CHECKING:
    pass

LEAST_ROWS = 3
"""Rows of figures that make a table."""
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
FARTHER = 1.6
"""By how many times a line stands farther above a complete header than rows stand apart where it belongs to what is
above the table, such as the letterhead of an invoice; a guess."""
RIVER = 0.5
"""Space between two columns of words that no row crosses, in heights of a letter: a blank takes a third. A guess."""
HALF_LINE = 0.8
WHOLE_LINE = 1.4
"""Heights of its font by which a line of a cell stands below the figures of its row at most, which are in the middle of
the cell or beside its first line; guesses."""
PARTED = 1.12
"""By how many times the next row is farther from a line of a cell than the line above it; browsers part rows so."""
STEP = 3.0
"""Points by which a label is indented; this number and the six above were set by hand on FinanceBench's filings."""
_OF_PAGE = re.compile(
    r"page \d+(?: of \d+)?|\d+ of \d+|\d{1,2}:\d\d.*|.*\d \d{1,2}:\d\d(?::\d\d)?(?: [ap]m)?"
    r"|.*\.(?:xlsx?|xlsm|ods|csv|pdf)"
    r"|(?:printed|print date|created|gedruckt|stand|seite|imprimé|page|strana)\b\D*\d.*",
    re.IGNORECASE,
)
"""What a program prints above or below each page, and names no column: "Page 1 of 2", "Printed 3 May 2024", a file."""

_ITEM = re.compile(r"^\d{1,2}\. (?=\D)")
"""The number of a heading, "2. Findings", whose full stop would end a caption."""
_FIELD_OF_LETTER = re.compile(
    r"(?:bill|ship|sold|deliver)(?:ed)? to:|(?:invoice|order|delivery|due|your|our|customer|date|delivered|terms|to"
    r"|from|attn|address|kunde|rechnung|lieferung|datum|client|facture|commande)\b[^:]{0,30}: ",
    re.IGNORECASE,
)
"""What an invoice or a letter prints above its table, and names nothing in it: "Bill to: Tanfield Surgery"."""


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


def figure_tables(lines: Sequence[Line]) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table of figures, and the places of the characters that it was printed with.

    Args:
        lines: The printed lines of a page, from the top.
    """
    if sum(line.is_row for line in lines) < LEAST_ROWS:
        return
    lines = _with_wrapped_cells(lines)
    taken: set[int] = set()
    before: _Columns | None = None
    for first, last in _regions(lines):
        first = _with_headings(lines, first, last)
        written, before, top = _table(lines, first, last, before)
        places = set().union(*(line.places for line in lines[first : last + 1]))
        if written and not places & taken:
            taken |= places
            if top < first:  # what stands above the header does not go on in it
                yield [""], {min(lines[top].places)}
            yield written, places


def _with_wrapped_cells(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of a page with each cell of several lines in the line that has the figures of its row."""
    joined: dict[int, list[int]] = {}
    taken: set[int] = set()
    for number, line in enumerate(lines):
        places = (_lines_around(lines, number) or _lines_below(lines, number)) if line.is_row else []
        if places and taken.isdisjoint(places):
            joined[number] = places
            taken.update(places)
    if not joined:
        return lines
    found: list[Line] = []
    for number, line in enumerate(lines):
        if number not in taken:
            found.append(_with_cell(line, [lines[place] for place in joined.get(number, [])]))
    return found


def _lines_around(lines: Sequence[Line], number: int) -> list[int]:
    """Return the numbers of a cell's lines, half of which stand above its row and half below; [] without any."""
    row = lines[number]
    places: list[int] = []
    above, below = number - 1, number + 1
    most = HALF_LINE
    while above >= 0 and below < len(lines) and _are_one_cell(lines[above], lines[below]):
        up, down = lines[above].foot - lines[above + 1].foot, lines[below - 1].foot - lines[below].foot
        own = lines[above].segments[0]
        is_free = all(each.right < own.left or each.left > own.right for each in row.segments)
        is_same = not places or _are_one_cell(lines[above], lines[places[0]])
        if max(up, down) > most * row.size or not is_free or not is_same:
            break
        places = [above, *places, below]
        above, below, most = above - 1, below + 1, WHOLE_LINE
    return places


def _lines_below(lines: Sequence[Line], number: int) -> list[int]:
    """Return the numbers of the lines in which a cell of words behind the first one goes on; [] without any."""
    row = lines[number]
    begins = [each.left for each in row.segments[1:] if not FIGURE.fullmatch(each.text)]
    places: list[int] = []
    for place in range(number + 1, len(lines)):
        line = lines[place]
        own = line.segments[0]
        down = lines[place - 1].foot - line.foot
        is_cell = len(line.segments) == 1 and any(abs(own.left - begin) <= SAME_PLACE for begin in begins)
        if not is_cell or FIGURE.fullmatch(own.text) or down > WHOLE_LINE * row.size:
            break
        following = line.foot - lines[place + 1].foot if place + 1 < len(lines) else math.inf
        if not own.text[:1].islower() and following < PARTED * down:
            break
        places.append(place)
    return places


def _are_one_cell(above: Line, below: Line) -> bool:
    """Return whether two lines are of one piece each that begin at one place, and no figures."""
    if len(above.segments) > 1 or len(below.segments) > 1 or above.is_row or below.is_row:
        return False
    return abs(above.segments[0].left - below.segments[0].left) <= SAME_PLACE


def _with_cell(row: Line, parts: Sequence[Line]) -> Line:
    """Return a row with the lines of one of its cells, in their order."""
    if not parts:
        return row
    left = min(part.segments[0].left for part in parts)
    beside = [each for each in row.segments if abs(each.left - left) <= SAME_PLACE]
    own = [*beside, *(part.segments[0] for part in parts)]
    cell = Segment(" ".join(each.text for each in own), min(each.left for each in own), max(each.right for each in own))
    segments = sorted([cell, *(each for each in row.segments if each not in beside)], key=lambda each: each.left)
    return replace(
        row,
        segments=segments,
        words=[*row.words, *(word for part in parts for word in part.words)],
        begins=[*row.begins, *(begin for part in parts for begin in part.begins)],
        places=row.places.union(*(part.places for part in parts)),
    )


def _regions(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
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


def _table(
    lines: Sequence[Line], first: int, last: int, before: _Columns | None
) -> tuple[list[str], _Columns | None, int]:
    """Return a table's rows, its columns, and where its header begins; no rows if its figures do not form columns."""
    rows = lines[first : last + 1]
    columns = _columns([segment for line in rows for segment in line.figures])
    if not columns or len(columns) > sum(line.is_row for line in rows) * 6:
        return [], before, first
    columns = _with_words(rows, columns)
    labels = _label_columns(lines, first, last, columns)
    names, caption, top = _header(lines, first, columns, labels)
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
        cells = _cells(line, columns, labels)
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
    return written, found, top


def _cells(line: Line, columns: Sequence[tuple[float, float]], labels: Sequence[float]) -> list[str]:
    """Return the cells of a line: its label, the further columns of words, and the figures."""
    words = [""] * (len(labels) + 1)
    figures = [""] * len(columns)
    for segment in line.segments:
        is_label = segment.left < columns[0][0] and not FIGURE.fullmatch(segment.text)
        place = 0 if is_label else _column_of(segment, columns)
        if place:
            figures[place - 1] = f"{figures[place - 1]} {segment.text}".strip()
            continue
        parts = parted(segment, line.words, labels) if line.is_row else [segment.text]
        words[: len(parts)] = [f"{own} {part}".strip() for own, part in zip(words, parts, strict=False)]
    return [*words, *figures]


def _with_headings(lines: Sequence[Line], first: int, last: int) -> int:
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


def _columns(figures: Sequence[Segment]) -> list[tuple[float, float]]:
    """Return the horizontal ranges in which figures stand one below the other."""
    found: list[tuple[float, float]] = []
    for left, right in sorted((segment.left, segment.right) for segment in figures):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def _with_words(rows: Sequence[Line], columns: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the columns with those of words between two of figures: the article between its number and its price."""
    between: dict[int, list[Segment]] = {}
    for line in rows:
        for segment in line.segments if line.is_row else ():
            place = sum(left <= segment.left for left, _ in columns)
            is_within = 0 < place < len(columns) and columns[place - 1][1] < segment.left
            if is_within and segment.right < columns[place][0] and not FIGURE.fullmatch(segment.text):
                between.setdefault(place, []).append(segment)
    found = list(columns)
    for words in between.values():
        begin = median(word.left for word in words)
        aligned = [word for word in words if abs(word.left - begin) <= SAME_PLACE]
        if len(aligned) == len(words) and len(words) * 2 > sum(line.is_row for line in rows):
            found.append((begin, max(word.right for word in words)))
    return sorted(found)


def _column_of(segment: Segment, columns: Sequence[tuple[float, float]]) -> int:
    """Return the number of a segment's column, from 1; 0 for a segment before the first column."""
    overlaps = [min(segment.right, right) - max(segment.left, left) for left, right in columns]
    best = max(range(len(columns)), key=lambda place: overlaps[place])
    if overlaps[best] > 0:
        return best + 1
    middle = (segment.left + segment.right) / 2
    if segment.right <= columns[0][0] and not FIGURE.fullmatch(segment.text):
        return 0
    return 1 + min(range(len(columns)), key=lambda place: abs(middle - sum(columns[place]) / 2))


def _label_columns(
    lines: Sequence[Line], first: int, last: int, columns: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """Return where further columns of words begin between a table's first column and its figures."""
    head = lines[first - 1] if first else None
    if head is None or not _names_columns(head, columns):
        return ()
    edge = columns[0][0] + 1
    names = [word for word in head.words if word.right <= edge]
    rows = [[word for word in line.words if word.right <= edge] for line in lines[first : last + 1] if line.is_row]
    return tuple(column_begins(names, rows, head.height))


def column_begins(head: Sequence[Segment], rows: Sequence[Sequence[Segment]], height: float) -> list[float]:
    """Return where further columns begin among words of rows that stand close to each other.

    A word of the header begins one where no row has a word across its beginning, and the rows either all have a word
    that begins there, or a space as wide as none between two words.

    Args:
        head: The words of the header, from the left.
        rows: The words of each row below them.
        height: The height of a letter.
    """
    begins: list[float] = []
    for before, word in pairwise(head):
        spaces = [(before.right, word.left)]
        starts = 1
        for own in rows:
            left = max((each.right for each in own if each.left < word.left - SAME_PLACE), default=None)
            right = min((each.left for each in own if each.left >= word.left - SAME_PLACE), default=None)
            if left is not None and right is not None:
                spaces.append((left, right))
                starts += abs(right - word.left) <= SAME_PLACE
        if len(spaces) <= LEAST_ROWS or (len(spaces) - 1) * 3 < len(rows) * 2:
            continue
        widths = [right - left for left, right in spaces]
        is_aligned = min(widths) >= LEAST_SPACE * height and starts == len(spaces)
        behind = max(left for left, _ in spaces)
        river = min(right for _, right in spaces) - behind
        if max(widths) >= GAP * height and (is_aligned or river >= RIVER * height):
            begins.append(word.left if is_aligned else behind + SAME_PLACE)
    return begins


def parted(segment: Segment, words: Sequence[Segment], begins: Sequence[float]) -> list[str]:
    """Return a segment's text for each column of words: what stands before the first of `begins`, then the others."""
    parts: list[list[str]] = [[] for _ in range(len(begins) + 1)]
    for word in words:
        if segment.left <= word.left and word.right <= segment.right:
            parts[sum(word.left >= begin - SAME_PLACE for begin in begins)].append(word.text)
    if sum(map(bool, parts)) < 2:
        return [segment.text if part else "" for part in parts]
    return [" ".join(part) for part in parts]


def _header(
    lines: Sequence[Line], first: int, columns: Sequence[tuple[float, float]], labels: Sequence[float] = ()
) -> tuple[list[str], str, int]:
    """Return the columns' names, those of the labels first, the caption above them, and where the header begins."""
    parts: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    further: list[list[str]] = [[] for _ in labels]
    below = [one.middle - other.middle for one, other in pairwise(lines[first : first + LEAST_ROWS])]
    top = first
    for number in range(first - 1, max(-1, first - 1 - MOST_HEADER), -1):
        line = lines[number]
        if line.middle - lines[number + 1].middle > NEAR * line.height or not _names_columns(line, columns):
            break
        if any(_OF_PAGE.fullmatch(each.text) or _FIELD_OF_LETTER.match(each.text) for each in line.segments):
            break
        is_far = line.middle - lines[number + 1].middle > FARTHER * median(below)
        if is_far and _are_distinct(parts[1:]) and not any(_is_period(segment.text) for segment in line.segments):
            break
        for segment, places in reversed(_spanned(line.segments, columns, lines[first].segments[0].left).items()):
            for place in places:
                parts[place].insert(0, segment.text)
            if not places:
                named = parted(segment, line.words, labels)
                for column, text in zip([parts[0], *further], named, strict=True):
                    column[:0] = [text] if text else []
        top = number
    return [" ".join(part) for part in (parts[0], *further, *parts[1:])], caption_above(lines, top), top


def _are_distinct(names: Sequence[Sequence[str]]) -> bool:
    """Return whether all columns have a name, no two the same one, which a line above would then tell apart."""
    return all(names) and len({tuple(name) for name in names}) == len(names)


def _names_columns(line: Line, columns: Sequence[tuple[float, float]]) -> bool:
    """Return whether a line above a table can name its columns: short words above them, and no figures but years."""
    if line.is_row or line.segments[-1].right <= columns[0][0]:
        return False
    if any(len(segment.text) > LONGEST_HEADER or _is_datum(segment.text) for segment in line.segments):
        return False
    is_large = line.size > HEADING * line.body
    title = line.segments[0].left < columns[0][0] - TITLE and (is_large or not _is_period(line.segments[0].text))
    return not (title and len(line.segments) == 1 and len(columns) > 1)


def caption_above(lines: Sequence[Line], top: int) -> str:
    """Return the short line above a header, with the one above that if the former only states the unit."""
    caption = ""
    for number in range(top - 1, max(-1, top - 3), -1):
        line, text = lines[number], lines[number].segments[0].text
        alone = len(line.segments) == 1 and not line.is_row and len(text) <= LONGEST_CAPTION
        near = line.middle - lines[number + 1].middle <= NEAR * line.height
        if not alone or not near or text.endswith((".", ",", ";")) or text[:1].islower() or is_addressee(text):
            break
        if _FIELD_OF_LETTER.match(text):
            break
        caption = f"{_ITEM.sub('', text)} {caption}".strip()
        if not text.startswith(("(", "$", "In ", "in ")):
            break
    return caption


def _is_datum(text: str) -> bool:
    """Return whether a text is a figure other than a year."""
    return bool(FIGURE.fullmatch(text)) and not YEARS.fullmatch(text)


def _is_period(text: str) -> bool:
    """Return whether a text names a period of time."""
    return bool(
        re.search(r"\b(?:months?|weeks?|years?|quarters?|ended|fiscal|as of|(?:19|20)\d\d)\b", text, re.IGNORECASE)
    )


def _left_of_groups(segments: Sequence[Segment], columns: Sequence[tuple[float, float]]) -> dict[Segment, list[int]]:
    """Return the columns of years at the left edge of equally many columns each; {} where they stand otherwise.

    The first one may end before the first figure begins, as in sheets, which print figures at the right of their cells.
    """
    years = [segment for segment in segments if YEARS.fullmatch(segment.text)]
    labels = [segment for segment in segments if segment not in years]
    size, rest = divmod(len(columns), len(years)) if years else (0, 1)
    if rest or size < 2 or len(years) < 2 or years[0].right > columns[0][0] + 1:
        return {}
    if any(segment.right > years[0].left for segment in labels):
        return {}
    found: dict[Segment, list[int]] = {segment: [] for segment in labels}
    for number, segment in enumerate(years):
        before = columns[number * size - 1][1] if number else 0.0
        if not before - 1 <= segment.left <= columns[number * size][1]:
            return {}
        found[segment] = list(range(number * size + 1, (number + 1) * size + 1))
    return found


def _spanned(
    segments: Sequence[Segment], columns: Sequence[tuple[float, float]], edge: float
) -> dict[Segment, list[int]]:
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

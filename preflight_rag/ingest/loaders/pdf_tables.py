"""Tables of figures on PDF pages: rows with figures in columns, and the header above them, written as lines.

A PDF page has no tables, only characters with positions. Lines that consist mostly of figures are rows; figures that
overlap horizontally from row to row form columns; the short lines above name them. `pdf_word_tables` reads tables of
words. pdfplumber and camelot were tried on filings first; see docs/documents.md.
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
"""Minimum number of rows of figures."""
NEAR = 4.0
"""Maximum distance between the middles of two consecutive rows, in heights of a letter."""
TITLE = 10.0
"""Points by which a title, above the labels, begins before the first column at least."""
MOST_BETWEEN = 3
"""Maximum number of lines between two parts of a table."""
MOST_HEADINGS = 3
"""Maximum number of lines from a header to the first figures below it."""
MOST_HEADER = 6
LONGEST_HEADER = 60
"""Maximum number of lines above a table that name its columns, and of characters of a name."""
MOST_COLUMNS_PER_ROW = 6
"""Maximum ratio of columns to rows: more columns show that the figures are not aligned."""
FARTHER = 1.6
"""Minimum ratio of a line's distance from a complete header to that of rows, if the line does not belong to the table
but to what is above it, such as the letterhead of an invoice; a guess."""
RIVER = 0.5
"""Minimum space between columns of words that no row crosses, in heights of a letter: a blank takes 0.3. A guess."""
HALF_LINE = 0.8
WHOLE_LINE = 1.4
"""Maximum distance of a cell's line from the figures of its row, in heights of the font, if these are centred beside
the cell or on its first line; guesses."""
ROW_GAP_RATIO = 1.12
"""Minimum ratio of the distance between rows to that between the lines of a cell, as browsers print tables."""
STEP = 3.0
"""Minimum indent of a label in points; like the numbers above that are no guesses, set on FinanceBench's filings."""
_PRINTED_BY_PROGRAM = re.compile(
    r"page \d+(?: of \d+)?|\d+ of \d+|\d{1,2}:\d\d.*|.*\d \d{1,2}:\d\d(?::\d\d)?(?: [ap]m)?"
    r"|.*\.(?:xlsx?|xlsm|ods|csv|pdf)"
    r"|(?:printed|print date|created|gedruckt|stand|seite|imprimé|page|strana)\b\D*\d.*",
    re.IGNORECASE,
)
"""A line that a program prints on each page, and that names no column: "Page 1 of 2", "Printed 3 May 2024", a file."""

_HEADING_NUMBER = re.compile(r"^\d{1,2}\. (?=\D)")
"""The number of a heading, "2. Findings", whose full stop would end a caption."""
NO_ANSWER = re.compile(r"n/?a|none|nil|not applicable|[-–—.]{1,5}", re.IGNORECASE)
"""What stands in a form where there is nothing to fill in."""
_FIELD_OF_LETTER = re.compile(
    r"(?:bill|ship|sold|deliver)(?:ed)? to:|(?:invoice|order|delivery|due|your|our|customer|date|delivered|terms|to"
    r"|from|attn|address|kunde|rechnung|lieferung|datum|client|facture|commande)\b[^:]{0,30}: ",
    re.IGNORECASE,
)
"""A field that an invoice or a letter prints above its table, and that names no column: "Bill to: Tanfield Surgery"."""

_Range = tuple[float, float]
"""The left and right edge of a column, in points."""


@dataclass(frozen=True)
class _Columns:
    """The columns of a table, which a part of it further below may share.

    Attributes:
        ranges: The horizontal ranges of the columns of figures.
        names: The names of all columns, those of the labels first.
        caption: The caption of the table.
        last: The index of the table's last line.
        labels: The positions at which further columns of words begin, between the first one and the figures.
    """

    ranges: list[_Range]
    names: list[str]
    caption: str
    last: int
    labels: tuple[float, ...] = ()

    def are_shared_by(self, ranges: Sequence[_Range], first: int) -> bool:
        """Return whether a table from line `first` on, with these columns and no header, continues this table."""
        if len(self.ranges) != len(ranges) or first - self.last > MOST_BETWEEN:
            return False
        pairs = zip(self.ranges, ranges, strict=True)
        return all(min(right, next_right) > max(left, next_left) for (left, right), (next_left, next_right) in pairs)


def figure_tables(lines: Sequence[Line]) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table of figures as lines, and the text indexes of its characters.

    Args:
        lines: The printed lines of a page, from the top.
    """
    if sum(line.is_row for line in lines) < LEAST_ROWS:
        return
    lines = _join_wrapped_cells(lines)
    taken: set[int] = set()
    previous: _Columns | None = None
    for first, last in _regions(lines):
        first = _first_line_below_header(lines, first, last)
        written, previous, top = _read_table(lines, first, last, previous)
        text_indexes = set().union(*(line.places for line in lines[first : last + 1]))
        if written and not text_indexes & taken:
            taken |= text_indexes
            if top < first:  # a blank line: the paragraph above does not continue in the header
                yield [""], {min(lines[top].places)}
            yield written, text_indexes


def _join_wrapped_cells(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of a page with each cell of several lines in the line that has the figures of its row."""
    cell_lines_of: dict[int, list[int]] = {}
    taken: set[int] = set()
    for index, line in enumerate(lines):
        cell_lines = (_cell_lines_around(lines, index) or _cell_lines_below(lines, index)) if line.is_row else []
        if cell_lines and taken.isdisjoint(cell_lines):
            cell_lines_of[index] = cell_lines
            taken.update(cell_lines)
    if not cell_lines_of:
        return lines
    result: list[Line] = []
    for index, line in enumerate(lines):
        if index not in taken:
            result.append(_with_cell_lines(line, [lines[other] for other in cell_lines_of.get(index, [])]))
    return result


def _cell_lines_around(lines: Sequence[Line], index: int) -> list[int]:
    """Return the indexes of a cell's lines, as many above the row (at `index`) as below it; [] if there are none."""
    row = lines[index]
    cell_lines: list[int] = []
    above, below = index - 1, index + 1
    max_distance = HALF_LINE
    while above >= 0 and below < len(lines) and _are_one_cell(lines[above], lines[below]):
        up, down = lines[above].foot - lines[above + 1].foot, lines[below - 1].foot - lines[below].foot
        cell = lines[above].segments[0]
        is_free = all(segment.right < cell.left or segment.left > cell.right for segment in row.segments)
        is_same = not cell_lines or _are_one_cell(lines[above], lines[cell_lines[0]])
        if max(up, down) > max_distance * row.size or not is_free or not is_same:
            break
        cell_lines = [above, *cell_lines, below]
        above, below, max_distance = above - 1, below + 1, WHOLE_LINE
    return cell_lines


def _cell_lines_below(lines: Sequence[Line], index: int) -> list[int]:
    """Return the indexes of the lines that continue a cell of words of a row, except the first cell; [] if none do."""
    row = lines[index]
    begins = [segment.left for segment in row.segments[1:] if not FIGURE.fullmatch(segment.text)]
    cell_lines: list[int] = []
    for below in range(index + 1, len(lines)):
        line = lines[below]
        segment = line.segments[0]
        distance = lines[below - 1].foot - line.foot
        is_cell = len(line.segments) == 1 and any(abs(segment.left - begin) <= SAME_PLACE for begin in begins)
        if not is_cell or FIGURE.fullmatch(segment.text) or distance > WHOLE_LINE * row.size:
            break
        # A line that begins with a capital continues the cell only if the next row is farther away than the last line.
        next_distance = line.foot - lines[below + 1].foot if below + 1 < len(lines) else math.inf
        if not segment.text[:1].islower() and next_distance < ROW_GAP_RATIO * distance:
            break
        cell_lines.append(below)
    return cell_lines


def _are_one_cell(above: Line, below: Line) -> bool:
    """Return whether two lines are one segment of words each that begin at the same position."""
    if len(above.segments) > 1 or len(below.segments) > 1 or above.is_row or below.is_row:
        return False
    return abs(above.segments[0].left - below.segments[0].left) <= SAME_PLACE


def _with_cell_lines(row: Line, parts: Sequence[Line]) -> Line:
    """Return a row with further lines of one of its cells joined to it; the row itself if there are none."""
    if not parts:
        return row
    left = min(part.segments[0].left for part in parts)
    first_line = [segment for segment in row.segments if abs(segment.left - left) <= SAME_PLACE]
    pieces = [*first_line, *(part.segments[0] for part in parts)]
    text = " ".join(piece.text for piece in pieces)
    cell = Segment(text, min(piece.left for piece in pieces), max(piece.right for piece in pieces))
    others = [segment for segment in row.segments if segment not in first_line]
    return replace(
        row,
        segments=sorted([cell, *others], key=lambda segment: segment.left),
        words=[*row.words, *(word for part in parts for word in part.words)],
        begins=[*row.begins, *(begin for part in parts for begin in part.begins)],
        places=row.places.union(*(part.places for part in parts)),
    )


def _regions(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the first and last row of each run of rows.

    A run has at least `LEAST_ROWS` rows, and at most two other lines, of one segment each, between two rows.
    """
    start, last, count = -1, -1, 0
    for index, line in enumerate(lines):
        if not line.is_row:
            continue
        between = lines[last + 1 : index]
        is_near = last >= 0 and lines[last].middle - line.middle <= NEAR * line.height * (len(between) + 1)
        has_few_between = len(between) <= 2 and all(len(other.segments) == 1 for other in between)
        if last >= 0 and is_near and has_few_between:
            count += 1
        else:
            if count >= LEAST_ROWS:
                yield start, last
            start, count = index, 1
        last = index
    if count >= LEAST_ROWS:
        yield start, last


def _read_table(
    lines: Sequence[Line], first: int, last: int, previous: _Columns | None
) -> tuple[list[str], _Columns | None, int]:
    """Return the rows of a table as lines, its columns, and the index of its header's first line.

    If the figures do not form columns, there are no rows, and the columns are the previous ones.

    Args:
        lines: The lines of the page, in which labels of two lines are joined.
        first: The index of the first line below the header.
        last: The index of the last row.
        previous: The columns of the table above, which are used if this one continues it.
    """
    rows = lines[first : last + 1]
    columns = _column_ranges([segment for line in rows for segment in line.figures])
    if not columns or len(columns) > sum(line.is_row for line in rows) * MOST_COLUMNS_PER_ROW:
        return [], previous, first
    columns = _with_word_columns(rows, columns)
    labels = _label_columns(lines, first, last, columns)
    names, caption, top = _read_header(lines, first, columns, labels)
    if not any(names) and previous is not None and previous.are_shared_by(columns, first):
        labels, names, caption = previous.labels, previous.names, previous.caption
    first_column_left, _ = columns[0]
    label_lefts = [line.segments[0].left for line in rows if line.segments[0].left < first_column_left]
    margin = min(label_lefts, default=0.0)
    grid: list[list[str]] = []
    written: list[str] = []

    def flush() -> None:
        """Write the rows collected in `grid`, with the header."""
        if grid:
            header = [names] if any(names) else []
            written.extend(table_lines([*header, *grid], caption=caption, header_rows=len(header)))
            grid.clear()

    for index, line in enumerate(rows):
        cells = _cells(line, columns, labels)
        left = line.segments[0].left
        if line.is_row:
            cells[0] = INDENT + cells[0] if left > margin + STEP and cells[0] else cells[0]
            grid.append(cells)
            continue
        next_row = next((other for other in rows[index + 1 :] if other.is_row), None)
        text = " ".join(segment.text for segment in line.segments)
        if next_row is not None and next_row.segments[0].text[:1].islower():
            # A label of two lines, the second of which has the figures.
            next_row.segments[0] = replace(next_row.segments[0], text=f"{text} {next_row.segments[0].text}")
        elif next_row is not None and (cells[0].endswith(":") or next_row.segments[0].left > left + STEP):
            grid.append([text, *[""] * (len(labels) + len(columns))])  # a heading of the rows below
        else:
            flush()
            written.append(text)
    flush()
    return written, _Columns(columns, names, caption, last, labels), top


def _cells(line: Line, columns: Sequence[_Range], labels: Sequence[float]) -> list[str]:
    """Return the cells of a line: its label, the further columns of words, which begin at `labels`, and the figures."""
    words = [""] * (len(labels) + 1)
    figures = [""] * len(columns)
    first_left, _ = columns[0]
    for segment in line.segments:
        is_label = segment.left < first_left and not FIGURE.fullmatch(segment.text)
        column = 0 if is_label else _column_number(segment, columns)
        if column:
            figures[column - 1] = f"{figures[column - 1]} {segment.text}".strip()
            continue
        parts = _split_at(segment, line.words, labels) if line.is_row else [segment.text]
        words[: len(parts)] = [f"{word} {part}".strip() for word, part in zip(words, parts, strict=False)]
    return [*words, *figures]


def _first_line_below_header(lines: Sequence[Line], first: int, last: int) -> int:
    """Return the index of the first line below a table's header, if headings of rows are between it and the first row.

    Return `first`, the index of the first row, if there is no such header.
    """
    columns = _column_ranges([segment for line in lines[first : last + 1] for segment in line.figures])
    for index in range(first - 1, max(-1, first - 1 - MOST_HEADINGS), -1):
        line = lines[index]
        if line.middle - lines[index + 1].middle > NEAR * line.height:
            break
        if index < first - 1 and _may_name_columns(line, columns):
            return index + 1
        if len(line.segments) > 1 or line.segments[0].right > columns[0][0]:
            break
    return first


def _column_ranges(figures: Sequence[Segment]) -> list[_Range]:
    """Return the horizontal ranges of columns: figures that overlap horizontally are in one column."""
    ranges: list[_Range] = []
    for left, right in sorted((segment.left, segment.right) for segment in figures):
        last_left, last_right = ranges[-1] if ranges else (0.0, -math.inf)
        if left < last_right:
            ranges[-1] = (last_left, max(last_right, right))
        else:
            ranges.append((left, right))
    return ranges


def _with_word_columns(rows: Sequence[Line], columns: list[_Range]) -> list[_Range]:
    """Return the columns, and those of words between two of figures: the article between its number and its price.

    The words of most rows have to begin at the same position.
    """
    between: dict[int, list[Segment]] = {}
    for line in rows:
        for segment in line.segments if line.is_row else ():
            index = sum(left <= segment.left for left, _ in columns)
            is_within = 0 < index < len(columns) and columns[index - 1][1] < segment.left
            if is_within and segment.right < columns[index][0] and not FIGURE.fullmatch(segment.text):
                between.setdefault(index, []).append(segment)
    result = list(columns)
    for words in between.values():
        begin = median(word.left for word in words)
        is_aligned = all(abs(word.left - begin) <= SAME_PLACE for word in words)
        if is_aligned and len(words) * 2 > sum(line.is_row for line in rows):
            result.append((begin, max(word.right for word in words)))
    return sorted(result)


def _column_number(segment: Segment, columns: Sequence[_Range]) -> int:
    """Return the number of a segment's column, from 1; 0 for words before the first column.

    That is the column with the largest overlap; without any, the one whose middle is nearest.
    """
    overlaps = [min(segment.right, right) - max(segment.left, left) for left, right in columns]
    widest = max(range(len(columns)), key=lambda index: overlaps[index])
    if overlaps[widest] > 0:
        return widest + 1
    middle = (segment.left + segment.right) / 2
    if segment.right <= columns[0][0] and not FIGURE.fullmatch(segment.text):
        return 0
    return 1 + min(range(len(columns)), key=lambda index: abs(middle - sum(columns[index]) / 2))


def _label_columns(lines: Sequence[Line], first: int, last: int, columns: Sequence[_Range]) -> tuple[float, ...]:
    """Return the positions at which further columns of words begin between a table's first column and its figures.

    They are found by the words of a header directly above the table; without one there are none.
    """
    header = lines[first - 1] if first else None
    if header is None or not _may_name_columns(header, columns):
        return ()
    edge = columns[0][0] + 1
    names = [word for word in header.words if word.right <= edge]
    rows = [[word for word in line.words if word.right <= edge] for line in lines[first : last + 1] if line.is_row]
    return tuple(column_begins(names, rows, header.height))


def column_begins(head: Sequence[Segment], rows: Sequence[Sequence[Segment]], height: float) -> list[float]:
    """Return the positions at which further columns begin, for columns of words that are close to each other.

    A word of the header begins a column if no row has a word across its beginning, and either all rows have a word that
    begins there, or the common space before it is wider than any between two words.

    Args:
        head: The words of the header, from the left.
        rows: The words of each row below the header.
        height: The height of a letter.
    """
    begins: list[float] = []
    for previous, word in pairwise(head):
        spaces = [(previous.right, word.left)]
        aligned = 1
        for row in rows:
            left = max((other.right for other in row if other.left < word.left - SAME_PLACE), default=None)
            right = min((other.left for other in row if other.left >= word.left - SAME_PLACE), default=None)
            if left is not None and right is not None:
                spaces.append((left, right))
                aligned += abs(right - word.left) <= SAME_PLACE
        has_few_spaces = len(spaces) <= LEAST_ROWS or (len(spaces) - 1) * 3 < len(rows) * 2
        if has_few_spaces:
            continue
        widths = [right - left for left, right in spaces]
        is_aligned = min(widths) >= LEAST_SPACE * height and aligned == len(spaces)
        common_left = max(left for left, _ in spaces)
        common_width = min(right for _, right in spaces) - common_left
        if max(widths) >= GAP * height and (is_aligned or common_width >= RIVER * height):
            begins.append(word.left if is_aligned else common_left + SAME_PLACE)
    return begins


def _split_at(segment: Segment, words: Sequence[Segment], begins: Sequence[float]) -> list[str]:
    """Return a segment's text split at the positions `begins`: for each column of words its part, "" if it has none.

    Args:
        segment: The segment.
        words: The words of its line.
        begins: Where the second column and those after it begin.
    """
    parts: list[list[str]] = [[] for _ in range(len(begins) + 1)]
    for word in words:
        if segment.left <= word.left and word.right <= segment.right:
            parts[sum(word.left >= begin - SAME_PLACE for begin in begins)].append(word.text)
    if sum(map(bool, parts)) < 2:
        return [segment.text if part else "" for part in parts]
    return [" ".join(part) for part in parts]


def _read_header(
    lines: Sequence[Line], first: int, columns: Sequence[_Range], labels: Sequence[float] = ()
) -> tuple[list[str], str, int]:
    """Return the names of the columns (those of the labels first), the caption above them, and the header's first line.

    Args:
        lines: The lines of the page.
        first: The index of the first line below the header; it is returned if there is no header.
        columns: The columns of figures.
        labels: Where further columns of words begin.
    """
    parts: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    label_parts: list[list[str]] = [[] for _ in labels]
    row_distances = [upper.middle - lower.middle for upper, lower in pairwise(lines[first : first + LEAST_ROWS])]
    top = first
    for index in range(first - 1, max(-1, first - 1 - MOST_HEADER), -1):
        line = lines[index]
        texts = [segment.text for segment in line.segments]
        distance = line.middle - lines[index + 1].middle
        if distance > NEAR * line.height or not _may_name_columns(line, columns):
            break
        if any(_PRINTED_BY_PROGRAM.fullmatch(text) or _FIELD_OF_LETTER.match(text) for text in texts):
            break
        if any(map(NO_ANSWER.fullmatch, texts)):
            break
        is_far = distance > FARTHER * median(row_distances)
        if is_far and _are_distinct(parts[1:]) and not any(map(_is_period, texts)):
            break
        named_columns = _named_columns(line.segments, columns, lines[first].segments[0].left)
        for segment, column_numbers in reversed(named_columns.items()):
            for number in column_numbers:
                parts[number].insert(0, segment.text)
            if not column_numbers:
                label_names = _split_at(segment, line.words, labels)
                for part, text in zip([parts[0], *label_parts], label_names, strict=True):
                    part[:0] = [text] if text else []
        top = index
    names = [" ".join(part) for part in (parts[0], *label_parts, *parts[1:])]
    return names, caption_above(lines, top), top


def _are_distinct(names: Sequence[Sequence[str]]) -> bool:
    """Return whether all columns have a name, no two the same: then no further line is needed to tell them apart."""
    return all(names) and len({tuple(name) for name in names}) == len(names)


def _may_name_columns(line: Line, columns: Sequence[_Range]) -> bool:
    """Return whether a line above a table may name its columns: short texts above them, and no figures but years.

    A single text that begins before the first column is a title, unless it names a period of time.
    """
    first_left, _ = columns[0]
    if line.is_row or line.segments[-1].right <= first_left:
        return False
    if any(len(segment.text) > LONGEST_HEADER or _is_figure_but_no_year(segment.text) for segment in line.segments):
        return False
    first = line.segments[0]
    is_large = line.size > HEADING * line.body
    is_title = first.left < first_left - TITLE and (is_large or not _is_period(first.text))
    return not (is_title and len(line.segments) == 1 and len(columns) > 1)


def caption_above(lines: Sequence[Line], top: int) -> str:
    """Return the short line above the header at index `top`, with the one above that if it only states the unit.

    Return "" if that line is far away, is no text of its own, or belongs to a sentence, a letter or an invoice.
    """
    caption = ""
    for index in range(top - 1, max(-1, top - 3), -1):
        line, text = lines[index], lines[index].segments[0].text
        is_alone = len(line.segments) == 1 and not line.is_row and len(text) <= LONGEST_CAPTION
        is_near = line.middle - lines[index + 1].middle <= NEAR * line.height
        is_in_sentence = text.endswith((".", ",", ";")) or text[:1].islower()
        if not is_alone or not is_near or is_in_sentence or is_addressee(text) or _FIELD_OF_LETTER.match(text):
            break
        if NO_ANSWER.fullmatch(text):
            break
        caption = f"{_HEADING_NUMBER.sub('', text)} {caption}".strip()
        if not text.startswith(("(", "$", "In ", "in ")):
            break
    return caption


def _is_figure_but_no_year(text: str) -> bool:
    """Return whether a text is a figure other than a year."""
    return bool(FIGURE.fullmatch(text)) and not YEARS.fullmatch(text)


def _is_period(text: str) -> bool:
    """Return whether a text names a period of time: "Year ended", "2021"."""
    return (
        re.search(r"\b(?:months?|weeks?|years?|quarters?|ended|fiscal|as of|(?:19|20)\d\d)\b", text, re.IGNORECASE)
        is not None
    )


def _columns_of_years(segments: Sequence[Segment], columns: Sequence[_Range]) -> dict[Segment, list[int]]:
    """Return the numbers (from 1) of the columns that each segment names, if years begin above equal groups of columns.

    Return {} if they do not. The first year may end before the first figure begins: sheets print figures at the right
    edge of their cells. Segments before the years name labels, no columns.
    """
    years = [segment for segment in segments if YEARS.fullmatch(segment.text)]
    labels = [segment for segment in segments if segment not in years]
    size, remainder = divmod(len(columns), len(years)) if years else (0, 1)
    if remainder or size < 2 or len(years) < 2 or years[0].right > columns[0][0] + 1:
        return {}
    if any(segment.right > years[0].left for segment in labels):
        return {}
    result: dict[Segment, list[int]] = {segment: [] for segment in labels}
    for index, segment in enumerate(years):
        previous_right = columns[index * size - 1][1] if index else 0.0
        if not previous_right - 1 <= segment.left <= columns[index * size][1]:
            return {}
        result[segment] = list(range(index * size + 1, (index + 1) * size + 1))
    return result


def _named_columns(segments: Sequence[Segment], columns: Sequence[_Range], edge: float) -> dict[Segment, list[int]]:
    """Return the numbers (from 1) of the columns that each segment of a header's line names; [] for one of labels.

    A segment for each column, with or without one for the labels, names them in order: a spreadsheet prints names at
    the left of its cells and figures at the right, where the next name would be nearer. Segments that are centred above
    groups of equally many columns name these. Any other segment names the columns that it overlaps.

    Args:
        segments: The segments of the line.
        columns: The columns of figures.
        edge: Where the labels of the table's rows begin; a name of a column begins behind it.
    """
    first_left, _ = columns[0]
    label_count = len(segments) - len(columns)
    has_labels = label_count > 0 and segments[label_count - 1].right <= first_left
    if has_labels or (label_count == 0 and segments[0].left > edge + TITLE):
        names = segments[label_count:]
        previous_right = segments[label_count - 1].right if has_labels else edge
        rights = [previous_right, *(right for _, right in columns)]
        bounds = zip(names, pairwise(rights), strict=True)
        if all(before <= name.left + 1 and name.left <= right for name, (before, right) in bounds):
            numbers: list[list[int]] = [[number] for number in range(1, len(columns) + 1)]
            return dict(zip(segments, [*([] for _ in range(label_count)), *numbers], strict=True))
    if columns_of_years := _columns_of_years(segments, columns):
        return columns_of_years
    above = [segment for segment in segments if segment.right > first_left]
    if above and len(columns) % len(above) == 0:
        size = len(columns) // len(above)
        groups = [list(range(start + 1, start + size + 1)) for start in range(0, len(columns), size)]
        middles = [(columns[group[0] - 1][0] + columns[group[-1] - 1][1]) / 2 for group in groups]
        pitch = (columns[-1][1] - first_left) / len(columns)
        pairs = zip(above, middles, strict=True)
        if all(abs((segment.left + segment.right) / 2 - middle) <= pitch / 2 for segment, middle in pairs):
            return {segment: [] for segment in segments} | dict(zip(above, groups, strict=True))
    result = {}
    for segment in segments:
        overlapped = []
        for number, (left, right) in enumerate(columns, 1):
            if min(segment.right, right) > max(segment.left, left):
                overlapped.append(number)
        nearest = [_column_number(segment, columns)] if segment in above else []
        result[segment] = overlapped or nearest
    return result

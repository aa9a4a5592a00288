"""Tables on PDF pages whose cells have rules around them, as browsers and word processors print borders.

The rules show what positions of words do not: which words are one cell, and which columns and rows it spans. Only a
table all of whose cells are enclosed is read so; one with fewer rules is read by the positions of its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.pdf_lines import FIGURE, RAISED, YEARS, Line, Style, Turn, font_box, style_of
from preflight_rag.ingest.loaders.pdf_tables import caption_above
from preflight_rag.text.legends import raised_behind
from preflight_rag.text.tables import LONGEST_CAPTION, LONGEST_NAME, MOST_HEADER_ROWS, is_figure, is_row, table_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage
    from pypdfium2.raw import FPDF_PAGEOBJECT

THIN = 3.0
"""Maximum width of a rule, and of the distance between rules that count as one, in points."""
SHORTEST = 6.0
"""Minimum length of a rule in points; the line under a letter is shorter. A guess, as are the next numbers."""
MOST_OBJECTS = 6_000
"""Maximum number of objects of a page that is searched for rules; maps and diagrams have more."""
MANY_OBJECTS = 300
LEAST_RUN = 7
"""Number of objects above which only paths in runs of so many are found for certain. Browsers print each letter as an
object, and the rules of a page, a long run, before its letters."""
MOST_SIDES = 400
"""Maximum number of points of a path."""
SIDES = 5
"""Number of points of a rectangle, whose first point is also its last; filled without a border, it is a background."""
LEAST_RULES = 4
"""Minimum number of rules in each direction: three rows and two columns, drawn cell by cell or not."""
MOST_RULES = 10_000
MOST_CROSSINGS = 40_000
"""Maximum number of rules of a page, and of pairs of them: with more it is a drawing, and would take long."""
LEAST_ROWS = 3
MOST_COLUMNS = 20
MOST_ROWS = 200
MOST_HOLDING_ROWS = 0.1
"""Maximum share of a table's rows whose cells look as if they had several rows; a guess."""
LONGEST_CELL = 400
"""Maximum number of characters of a cell; boxes around the columns of a page contain more."""
MOSTLY = 0.5
"""Minimum share of rows without cells that span columns, and of rows with several filled cells: forms have fewer."""
SMALL = 0.85
LONGEST_MARK = 5
"""Maximum height of a note's mark as a share of the font before it, and maximum number of its characters."""
_SAMPLE = 4
"""Number of rows below a header with whose font and colour the header's are compared."""

_Point = tuple[float, float]


@dataclass
class _Rule:
    """A horizontal or vertical rule, in points.

    Attributes:
        position: The vertical position of a horizontal rule, or the horizontal one of a vertical rule.
        begin: Where the rule begins, along its direction.
        end: Where it ends.
    """

    position: float
    begin: float
    end: float

    def covers(self, begin: float, end: float) -> bool:
        """Return whether the rule covers a range; it may end a little (`THIN`) before the range does."""
        return self.begin <= begin + THIN and self.end >= end - THIN


@dataclass
class _Rules:
    """The horizontal and vertical rules of a page."""

    horizontal: list[_Rule] = field(default_factory=list)
    vertical: list[_Rule] = field(default_factory=list)

    def add(self, left: float, bottom: float, right: float, top: float) -> bool:
        """Add a rectangle if it is narrow and long enough to be a rule; return whether it is."""
        if top - bottom <= THIN and right - left >= SHORTEST:
            self.horizontal.append(_Rule((bottom + top) / 2, left, right))
        elif right - left <= THIN and top - bottom >= SHORTEST:
            self.vertical.append(_Rule((left + right) / 2, bottom, top))
        else:
            return False
        return True

    def may_be_table(self) -> bool:
        """Return whether there are enough rules for the cells of a table."""
        return len(self.horizontal) >= LEAST_RULES and len(self.vertical) >= LEAST_RULES - 1


@dataclass
class Grid:
    """The cells between the rules of a table.

    Attributes:
        columns: The vertical edges from the left, one more than there are columns.
        rows: The horizontal edges from the top, one more than there are rows.
        cells: The number of the cell at each row and column; a cell that spans several has its number at each.
    """

    columns: list[float]
    rows: list[float]
    cells: list[list[int]]

    def cell(self, x: float, y: float) -> int | None:
        """Return the number of the cell at a point; None outside of the table."""
        column = sum(edge <= x for edge in self.columns) - 1
        row = sum(edge >= y for edge in self.rows) - 1
        is_inside = 0 <= column < len(self.columns) - 1 and 0 <= row < len(self.rows) - 1
        return self.cells[row][column] if is_inside else None

    def turned(self, turn: Turn) -> Grid:
        """Return the grid as a reader sees it who has rotated the page; `turn` rotates a box by a quarter."""
        left, _, bottom, _ = turn([self.columns[0], self.columns[-1], self.rows[-1], self.rows[0]])
        # Rotated to the left, the first row of the page is its first column; to the right, its last one.
        is_left = (left, bottom) == (-self.rows[0], self.columns[0])
        if is_left:
            cells = [list(column) for column in zip(*self.cells, strict=True)][::-1]
            return Grid([-row for row in self.rows], self.columns[::-1], cells)
        cells = [list(column)[::-1] for column in zip(*self.cells, strict=True)]
        return Grid(self.rows[::-1], [-column for column in self.columns], cells)


@dataclass(frozen=True)
class _Word:
    """A word of a cell.

    Attributes:
        begin: The text index of its first character.
        line: The index of its printed line.
        is_mark: Whether it is the mark of a note, written directly behind the word before it.
    """

    begin: int
    text: str
    line: int
    is_mark: bool = False

    @property
    def end(self) -> int:
        """The text index behind its last character."""
        return self.begin + len(self.text)


def page_grids(page: PdfPage) -> list[Grid]:
    """Return the cells of each table of a page whose cells are all enclosed by rules."""
    from ctypes import byref, c_float

    from pypdfium2 import raw

    rules = _Rules()
    left, bottom, right, top = (c_float() for _ in range(4))
    pointers = [byref(side) for side in (left, bottom, right, top)]
    read_bounds = raw.FPDFPageObj_GetBounds
    for path in _paths(page):
        if read_bounds(path, *pointers) and not rules.add(left.value, bottom.value, right.value, top.value):
            _add_sides(rules, path)
        if len(rules.horizontal) + len(rules.vertical) > MOST_RULES:
            return []
    return list(_grids(rules)) if rules.may_be_table() else []


def _paths(page: PdfPage) -> Iterator[FPDF_PAGEOBJECT]:
    """Yield the objects of a page that are drawn with lines (paths); none of a page with too many objects.

    On a page with many objects only every `LEAST_RUN`-th one is tested, and the paths directly before and behind a path
    that is found are yielded with it, so that shorter runs may be missed.
    """
    from pypdfium2 import raw

    read_object, kind_of, path = raw.FPDFPage_GetObject, raw.FPDFPageObj_GetType, raw.FPDF_PAGEOBJ_PATH
    count = raw.FPDFPage_CountObjects(page)
    step = 1 if count <= MANY_OBJECTS else LEAST_RUN
    index, behind_last_run = 0, 0
    while index < count <= MOST_OBJECTS:
        current = read_object(page, index)
        if kind_of(current) != path:
            index += step
            continue
        for before in range(index - 1, behind_last_run - 1, -1):
            if kind_of(skipped := read_object(page, before)) != path:
                break
            yield skipped
        while kind_of(current) == path:
            yield current
            index += 1
            if index == count:
                return
            current = read_object(page, index)
        behind_last_run, index = index + 1, index + step


def _add_sides(rules: _Rules, shape: FPDF_PAGEOBJECT) -> None:
    """Add the rules of a path that has several: the sides of stroked polygons, and filled thin rectangles.

    Nothing is added for curves, paths with too many points, and a single filled rectangle, which is a background.
    """
    from ctypes import byref, c_float, c_int

    from pypdfium2 import raw

    filled, stroked = c_int(), c_int()
    raw.FPDFPath_GetDrawMode(shape, byref(filled), byref(stroked))
    number = raw.FPDFPath_CountSegments(shape)
    if number > MOST_SIDES or not (stroked.value or (filled.value and number > SIDES)):
        return
    matrix, x, y = raw.FS_MATRIX(), c_float(), c_float()
    raw.FPDFPageObj_GetMatrix(shape, byref(matrix))
    polygons: list[list[_Point]] = []
    for index in range(number):
        segment = raw.FPDFPath_GetPathSegment(shape, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_BEZIERTO or not raw.FPDFPathSegment_GetPoint(segment, byref(x), byref(y)):
            return
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        if kind == raw.FPDF_SEGMENT_MOVETO or not polygons:
            polygons.append([])
        polygons[-1].append(point)
        if raw.FPDFPathSegment_GetClose(segment):
            polygons[-1].append(polygons[-1][0])
    for polygon in polygons:
        for points in pairwise(polygon) if stroked.value else [polygon]:
            xs, ys = zip(*points, strict=True)
            rules.add(min(xs), min(ys), max(xs), max(ys))


def ruled_tables(
    page: PdfTextPage, lines: Sequence[Line], grids: Sequence[Grid], turn: Turn | None = None
) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table with rules as lines, and the text indexes of its characters.

    Args:
        page: The page, for the positions and fonts of its characters.
        lines: Its printed lines, from the top.
        grids: The cells that its rules enclose.
        turn: The function that rotates boxes of the page to those of its lines; None if they are the same.
    """
    grids = [grid.turned(turn) for grid in grids] if turn else grids
    for grid in grids:
        words = _words_by_cell(page, lines, grid, grids, turn)
        if not _is_table(grid, words):
            continue
        rows = [[_text(words.get(number, ())) for number in row] for row in grid.cells]
        style_of_cell = {number: style_of(page, cell_words[0].begin) for number, cell_words in words.items()}
        styles = [[style_of_cell.get(number) for number in row] for row in grid.cells]
        text_indexes: set[int] = set()
        for cell_words in words.values():
            for word in cell_words:
                text_indexes.update(range(word.begin, word.end))
        first = next((index for index, line in enumerate(lines) if line.places & text_indexes), 0)
        written: list[str] = []
        for line in _write_table(grid, rows, styles, caption_above(lines, first)):
            # A line that is no row needs blank lines around it, or the loader joins it to the paragraph beside it.
            written += [line] if is_row(line) else ["", line, ""]
        yield written, text_indexes


def _grids(rules: _Rules) -> Iterator[Grid]:
    """Yield the cells of each group of rules that are connected by crossings, if they enclose each cell."""
    horizontal, vertical = _join_aligned(rules.horizontal), _join_aligned(rules.vertical)
    if len(horizontal) * len(vertical) > MOST_CROSSINGS:
        return
    crossed_by = [{index for index, rule in enumerate(vertical) if _cross(other, rule)} for other in horizontal]
    remaining = {index for index, crossed in enumerate(crossed_by) if len(crossed) > 1}
    while remaining:
        group: set[int] = set()
        group_vertical: set[int] = set()
        added = {min(remaining)}
        while added:
            group |= added
            group_vertical = group_vertical.union(*(crossed_by[index] for index in added))
            added = {index for index in remaining - group if crossed_by[index] & group_vertical}
        remaining -= group
        grid = _grid([horizontal[index] for index in group], [vertical[index] for index in group_vertical])
        if grid is not None:
            yield grid


def _join_aligned(rules: Sequence[_Rule]) -> list[_Rule]:
    """Return rules of one direction, those at about the same position moved to it, and joined if they touch."""
    aligned: list[list[_Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.position):
        if aligned and rule.position - aligned[-1][0].position <= THIN:
            aligned[-1].append(rule)
        else:
            aligned.append([rule])
    result: list[_Rule] = []
    for group in aligned:
        position = sum(rule.position for rule in group) / len(group)
        last: _Rule | None = None
        for rule in sorted(group, key=lambda rule: rule.begin):
            if last is not None and rule.begin <= last.end + THIN:
                last.end = max(last.end, rule.end)
            else:
                last = _Rule(position, rule.begin, rule.end)
                result.append(last)
    return result


def _cross(horizontal: _Rule, vertical: _Rule) -> bool:
    """Return whether two rules cross or meet."""
    is_within_horizontal = horizontal.begin - THIN <= vertical.position <= horizontal.end + THIN
    return is_within_horizontal and vertical.begin - THIN <= horizontal.position <= vertical.end + THIN


def _grid(horizontal: Sequence[_Rule], vertical: Sequence[_Rule]) -> Grid | None:
    """Return the cells between rules; None if not all are enclosed rectangles, or there are too few or too many.

    A cell without a rule at its left, or above it, is one with the cell there.
    """
    columns = sorted({rule.position for rule in vertical})
    rows = sorted({rule.position for rule in horizontal}, reverse=True)
    if not (2 < len(columns) <= MOST_COLUMNS + 1 and LEAST_ROWS < len(rows) <= MOST_ROWS + 1):
        return None
    ruled_above = [[_is_ruled(horizontal, edge, *column) for column in pairwise(columns)] for edge in rows]
    ruled_left = [[_is_ruled(vertical, edge, bottom, top) for edge in columns] for top, bottom in pairwise(rows)]
    if not all(ruled_above[0]) or not all(ruled_above[-1]) or not all(row[0] and row[-1] for row in ruled_left):
        return None
    cells: list[list[int]] = []
    next_number = 0
    for row_above, row_left in zip(ruled_above, ruled_left, strict=False):
        row: list[int] = []
        for column, (has_rule_above, has_rule_left) in enumerate(zip(row_above, row_left, strict=False)):
            left = None if has_rule_left else row[-1]
            above = None if has_rule_above else cells[-1][column]
            if left is not None and above is not None and left != above:
                return None
            joined = left if left is not None else above
            if joined is None:
                joined = next_number
                next_number += 1
            row.append(joined)
        cells.append(row)
    return Grid(columns, rows, cells) if _are_rectangles(cells) else None


def _is_ruled(rules: Sequence[_Rule], position: float, begin: float, end: float) -> bool:
    """Return whether one of the rules at a position covers a range."""
    return any(rule.position == position and rule.covers(begin, end) for rule in rules)


def _are_rectangles(cells: Sequence[Sequence[int]]) -> bool:
    """Return whether each cell, a number at several rows and columns, is a rectangle."""
    positions_of: dict[int, list[tuple[int, int]]] = {}
    for row_index, row in enumerate(cells):
        for column, number in enumerate(row):
            positions_of.setdefault(number, []).append((row_index, column))
    for positions in positions_of.values():
        height, width = (len({*indexes}) for indexes in zip(*positions, strict=True))
        if len(positions) != height * width:
            return False
    return True


def _words_by_cell(
    page: PdfTextPage, lines: Sequence[Line], grid: Grid, grids: Sequence[Grid], turn: Turn | None
) -> dict[int, list[_Word]]:
    """Return the words of each cell in the order in which they were drawn; of a rotated page, line by line.

    Return {} if a word crosses a rule or is beside the grid but in no other one (the rules are not around whole rows).
    """
    from ctypes import byref, c_double

    from pypdfium2 import raw

    sides = [c_double() for _ in range(4)]
    pointers = [byref(side) for side in sides]
    words_of: dict[int, list[_Word]] = {}
    grid_top, grid_bottom = grid.rows[0], grid.rows[-1]
    for line_index, line in enumerate(lines):
        if not grid_bottom - line.size <= line.middle <= grid_top + line.size:
            continue
        for word, begin in zip(line.words, line.begins, strict=True):
            if not raw.FPDFText_GetCharBox(page, begin, *pointers):
                return {}
            box = [side.value for side in sides]
            _, _, bottom, top = turn(box) if turn else box
            inset = min(THIN, (word.right - word.left) / 3)  # a word may touch the rule beside it
            begin_x, end_x, y = word.left + inset, word.right - inset, (bottom + top) / 2
            cell = grid.cell(begin_x, y)
            if cell != grid.cell(end_x, y):
                return {}
            if cell is not None:
                words_of.setdefault(cell, []).append(_Word(begin, word.text, line_index))
            elif grid_bottom < y < grid_top and all(other.cell(begin_x, y) is None for other in grids):
                return {}
    # PDFium's text of a page that is to be rotated may begin with the last line of a cell.
    order = attrgetter("line") if turn else attrgetter("begin")
    return {cell: _raise_marks(page, sorted(words, key=order), turn) for cell, words in words_of.items()}


def _raise_marks(page: PdfTextPage, words: Sequence[_Word], turn: Turn | None) -> list[_Word]:
    """Return the words of a cell with the marks of notes as raised characters, each in the line of the word before."""
    result: list[_Word] = []
    for word in words:
        previous = result[-1] if result else None
        is_short = previous is not None and len(word.text) <= LONGEST_MARK
        if previous is not None and is_short and _is_raised(page, word.begin, previous.begin, turn):
            mark = raised_behind(previous.text, word.text)
            word = replace(word, text=mark, line=previous.line, is_mark=mark != word.text)
        result.append(word)
    return result


def _is_raised(page: PdfTextPage, index: int, previous_index: int, turn: Turn | None) -> bool:
    """Return whether a character is smaller than an earlier one, and above its foot; both are given by text index."""
    size, foot = font_box(page, index, turn)
    previous_size, previous_foot = font_box(page, previous_index, turn)
    is_small = size < SMALL * previous_size
    return is_small and previous_foot + RAISED * previous_size < foot < previous_foot + previous_size


def _text(words: Sequence[_Word]) -> str:
    """Return the text of a cell, or of one of its lines, from its words."""
    return "".join(word.text if word.is_mark else f" {word.text}" for word in words).strip()


def _is_table(grid: Grid, words: Mapping[int, Sequence[_Word]]) -> bool:
    """Return whether the cells are those of a table, and not of a form or of boxes around the parts of a page."""
    if any(sum(len(word.text) + 1 for word in cell_words) > LONGEST_CELL for cell_words in words.values()):
        return False
    without_spans = sum(len({*row}) == len(row) for row in grid.cells)
    filled = sum(len({*row} & words.keys()) > 1 for row in grid.cells)
    if min(without_spans, filled) < max(LEAST_ROWS, MOSTLY * len(grid.cells)):
        return False
    # A contract in two currencies has two amounts in a cell; with two labels, or in many rows, they are several rows.
    holding_rows = 0
    for row in grid.cells:
        cells = [words.get(number, ()) for number in row]
        if _contains_rows(cells):
            holding_rows += 1
            if len({word.line for word in cells[0]}) > 1:
                return False
    return holding_rows <= MOST_HOLDING_ROWS * len(grid.cells)


def _contains_rows(cells: Sequence[Sequence[_Word]]) -> bool:
    """Return whether a row between two rules contains several rows: labels or figures below each other in its cells."""
    lines_of_cells: list[list[str]] = []
    for cell in cells:
        lines = groupby(cell, key=lambda word: word.line)
        lines_of_cells.append([_text(list(words)) for _, words in lines])
    if any(len(lines) > 1 and all(map(FIGURE.fullmatch, lines)) for lines in lines_of_cells):
        return True
    labels, *others = lines_of_cells
    return LEAST_ROWS <= len(labels) <= max(map(len, others))


def _write_table(
    grid: Grid, rows: list[list[str]], styles: Sequence[Sequence[Style | None]], caption: str
) -> list[str]:
    """Return the rows of a table as lines, each with the names of its columns if the table has a header.

    Args:
        grid: The cells.
        rows: The text at each row and column, which is changed.
        styles: The font and colour at each row and column; None for an empty cell.
        caption: The caption above the table, to which first rows of a single cell are added if they are short enough.
    """
    titles: list[str] = []
    while len(rows) > LEAST_ROWS and len({*grid.cells[len(titles)]}) == 1:
        titles.append(rows[0][0])
        rows = rows[1:]
    cells, styles = grid.cells[len(titles) :], styles[len(titles) :]
    header = _count_header_rows(rows, cells, styles)
    for row, (label, *numbers) in zip(rows[header or 1 :], cells[header or 1 :], strict=True):
        # A label that spans several columns is written once.
        row[1:] = ["" if number == label else text for number, text in zip(numbers, row[1:], strict=True)]
    full_caption = ". ".join(filter(None, [caption.rstrip(" ."), *titles]))
    lines_above = [] if len(full_caption) <= LONGEST_CAPTION else titles
    caption = caption if lines_above else full_caption
    if len(rows[0]) > 2 and len(rows[0]) % 2 == 0 and _has_label_columns(styles):
        lines: list[str] = []
        for row in rows:
            lines += table_lines([row[::2], row[1::2]], caption=caption, header_rows=1)
        return [*lines_above, *lines]
    return [*lines_above, *table_lines(rows, caption=caption, header_rows=header)]


def _has_label_columns(styles: Sequence[Sequence[Style | None]]) -> bool:
    """Return whether every second column contains labels, in another font or colour than the values beside them."""
    labels = {style for row in styles for style in row[::2] if style}
    values = {style for row in styles for style in row[1::2] if style}
    return bool(labels and values) and not labels & values


def _count_header_rows(
    rows: Sequence[Sequence[str]], cells: Sequence[Sequence[int]], styles: Sequence[Sequence[Style | None]]
) -> int | None:
    """Return how many rows name the columns: those in another font or colour than the rows below them.

    If there are none, return None for a table of figures, whose header `table_lines` may find, and else 0. First cells,
    and headings within the table, which span it, do not count: they may be printed like the names.
    """
    # Links are coloured: beside labels in a single column of values, only the font and its weight count.
    style_parts = 2 if len(rows[0]) == 2 else None
    styles_of_rows: list[set[tuple[object, ...]]] = []
    for numbers, row_styles in zip(cells, styles, strict=True):
        is_heading = len({*numbers}) == 1
        styles_of_rows.append(set() if is_heading else {style[:style_parts] for style in row_styles[1:] if style})
    header_styles = styles_of_rows[0]
    count = 1
    while count < min(MOST_HEADER_ROWS, len(rows) - 1):
        is_styled_like_header = styles_of_rows[count] and styles_of_rows[count] <= header_styles
        is_spanned_from_above = {*cells[count]} & {*cells[count - 1]}
        if not is_styled_like_header and not is_spanned_from_above:
            break
        count += 1
    below = [row_styles for row_styles in styles_of_rows[count:] if row_styles][:_SAMPLE]
    is_distinct = bool(header_styles and below) and not any(header_styles & row_styles for row_styles in below)
    names = [name for row in rows[:count] for name in row if name]
    are_figures = all(FIGURE.fullmatch(name) and not YEARS.fullmatch(name) for name in names[1:])
    if is_distinct and not are_figures and all(len(name) <= LONGEST_NAME for name in names):
        return count
    figures = [is_figure(cell) for row in rows[1:] for cell in row[1:] if cell]
    return None if 2 * sum(figures) > len(figures) else 0

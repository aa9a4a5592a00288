"""Tables of PDF pages whose cells are drawn with rules around them, as browsers and word processors print borders.

The rules say what no position of a word says: which words are one cell, and which columns and rows it spans. Only a
table whose rules are closed around all of its cells is read so; one with fewer rules is read by where its words stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.pdf_lines import FIGURE, RAISED, YEARS, Line, Style, font_box, style_of
from preflight_rag.ingest.loaders.pdf_tables import caption_above
from preflight_rag.text.legends import raised_behind
from preflight_rag.text.tables import LONGEST_CAPTION, LONGEST_NAME, MOST_HEADER_ROWS, is_figure, is_row, table_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage
    from pypdfium2.raw import FPDF_PAGEOBJECT

THIN = 3.0
"""Points within which rules are one, such as those of two cells beside each other, and that a rule is wide at most."""
SHORTEST = 6.0
"""Points that a rule is long at least; an underlined letter is shorter. A guess, as are the next numbers."""
MOST_OBJECTS = 6_000
"""Of a page that are looked at for rules; maps and diagrams have more."""
MANY_OBJECTS = 300
LEAST_RUN = 7
"""Objects of a page from which on rules are looked for where as many objects in a row are drawn with lines. Browsers
print each letter as an object, and the rules of a page before its letters."""
MOST_SIDES = 400
"""Of one drawn object that are looked at."""
SIDES = 5
"""Points of a rectangle, the first of which is its last one; filled without a border it is the ground of a cell."""
LEAST_RULES = 4
"""Rules in each direction without which a page has no table: three rows and two columns, drawn cell by cell or not."""
MOST_RULES = 10_000
MOST_CROSSINGS = 40_000
"""Rules of a page, and pairs of them, beyond which it is a drawing, and would take long."""
LEAST_ROWS = 3
MOST_COLUMNS = 20
MOST_ROWS = 200
LONGEST_CELL = 400
"""Characters of a cell; boxes around the columns of a page hold more."""
MOSTLY = 0.5
"""Share of the rows none of whose cells spans columns, and of those with several filled cells: forms have fewer."""
SMALL = 0.85
LONGEST_MARK = 5
"""Of the height of the font before it that the mark of a note takes at most, and its characters."""
_SAMPLE = 4
"""Rows below a header that show that it is printed otherwise."""

_Span = tuple[float, float]


@dataclass
class _Rule:
    """A rule: its place across its direction, and the stretch that it takes along it."""

    at: float
    begin: float
    end: float

    def covers(self, begin: float, end: float) -> bool:
        """Return whether the rule takes a stretch, but for a little at its ends."""
        return self.begin <= begin + THIN and self.end >= end - THIN


@dataclass
class _Rules:
    """The rules of a page, those across it and those up and down."""

    across: list[_Rule] = field(default_factory=list)
    upright: list[_Rule] = field(default_factory=list)

    def add(self, left: float, bottom: float, right: float, top: float) -> bool:
        """Add a rule by its rectangle; return whether it is one."""
        if top - bottom <= THIN and right - left >= SHORTEST:
            self.across.append(_Rule((bottom + top) / 2, left, right))
        elif right - left <= THIN and top - bottom >= SHORTEST:
            self.upright.append(_Rule((left + right) / 2, bottom, top))
        else:
            return False
        return True

    def may_be_table(self) -> bool:
        """Return whether there are enough rules for the cells of a table."""
        return len(self.across) >= LEAST_RULES and len(self.upright) >= LEAST_RULES - 1


@dataclass
class Grid:
    """Cells between rules: the edges of columns from the left and of rows from the top, and each place's cell.

    A cell that spans several places has its number at each of them.
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


@dataclass(frozen=True)
class _Word:
    """A word: the place of its first character, its line's number, and whether it is a mark behind the one before."""

    begin: int
    text: str
    line: int
    is_mark: bool = False

    @property
    def end(self) -> int:
        """The place behind its last character."""
        return self.begin + len(self.text)


def page_grids(page: PdfPage) -> list[Grid]:
    """Return the cells of each table of a page whose rules are closed around them."""
    from ctypes import byref, c_float

    from pypdfium2 import raw

    rules = _Rules()
    left, bottom, right, top = (c_float() for _ in range(4))
    pointers = [byref(side) for side in (left, bottom, right, top)]
    read = raw.FPDFPageObj_GetBounds
    for path in _paths(page):
        if read(path, *pointers) and not rules.add(left.value, bottom.value, right.value, top.value):
            _add_sides(rules, path)
        if len(rules.across) + len(rules.upright) > MOST_RULES:
            return []
    return list(_grids(rules)) if rules.may_be_table() else []


def _paths(page: PdfPage) -> Iterator[FPDF_PAGEOBJECT]:
    """Yield what is drawn with lines on a page; of a page with many letters that are objects, what stands in runs."""
    from pypdfium2 import raw

    read, kind, path = raw.FPDFPage_GetObject, raw.FPDFPageObj_GetType, raw.FPDF_PAGEOBJ_PATH
    number = raw.FPDFPage_CountObjects(page)
    step = 1 if number <= MANY_OBJECTS else LEAST_RUN
    at, behind = 0, 0
    while at < number <= MOST_OBJECTS:
        shape = read(page, at)
        if kind(shape) != path:
            at += step
            continue
        for before in range(at - 1, behind - 1, -1):
            if kind(other := read(page, before)) != path:
                break
            yield other
        while kind(shape) == path:
            yield shape
            at += 1
            if at == number:
                return
            shape = read(page, at)
        behind, at = at + 1, at + step


def _add_sides(rules: _Rules, shape: FPDF_PAGEOBJECT) -> None:
    """Add the rules of an object that has several: the sides of stroked rectangles, and thin filled ones."""
    from ctypes import byref, c_float, c_int

    from pypdfium2 import raw

    filled, stroked = c_int(), c_int()
    raw.FPDFPath_GetDrawMode(shape, byref(filled), byref(stroked))
    number = raw.FPDFPath_CountSegments(shape)
    if number > MOST_SIDES or not (stroked.value or (filled.value and number > SIDES)):
        return
    matrix, x, y = raw.FS_MATRIX(), c_float(), c_float()
    raw.FPDFPageObj_GetMatrix(shape, byref(matrix))
    paths: list[list[_Span]] = []
    for place in range(number):
        segment = raw.FPDFPath_GetPathSegment(shape, place)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_BEZIERTO or not raw.FPDFPathSegment_GetPoint(segment, byref(x), byref(y)):
            return
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        if kind == raw.FPDF_SEGMENT_MOVETO or not paths:
            paths.append([])
        paths[-1].append(point)
        if raw.FPDFPathSegment_GetClose(segment):
            paths[-1].append(paths[-1][0])
    for path in paths:
        for points in pairwise(path) if stroked.value else [path]:
            across, up = zip(*points, strict=True)
            rules.add(min(across), min(up), max(across), max(up))


def ruled_tables(
    page: PdfTextPage, lines: Sequence[Line], grids: Sequence[Grid]
) -> Iterator[tuple[list[str], set[int]]]:
    """Yield the rows of each table with rules, and the places of the characters that it was printed with.

    Args:
        page: The page, for the places and fonts of its characters.
        lines: Its printed lines, from the top.
        grids: The cells that its rules enclose.
    """
    for grid in grids:
        words = _words(page, lines, grid, grids)
        if not _is_table(grid, words):
            continue
        rows = [[_text(words.get(number, ())) for number in row] for row in grid.cells]
        styles = [
            [style_of(page, words[each][0].begin) if each in words else None for each in row] for row in grid.cells
        ]
        places = {place for own in words.values() for word in own for place in range(word.begin, word.end)}
        first = next((number for number, line in enumerate(lines) if line.places & places), 0)
        written = _written(grid, rows, styles, caption_above(lines, first))
        # A line without a bar is no row to whoever joins lines to paragraphs.
        yield [part for line in written for part in ([line] if is_row(line) else ["", line, ""])], places


def _grids(rules: _Rules) -> Iterator[Grid]:
    """Yield the cells of each group of rules that cross, where each cell is closed."""
    across, upright = _merged(rules.across), _merged(rules.upright)
    if len(across) * len(upright) > MOST_CROSSINGS:
        return
    crossed = [{at for at, rule in enumerate(upright) if _cross(each, rule)} for each in across]
    left = {number for number, own in enumerate(crossed) if len(own) > 1}
    while left:
        found: set[int] = set()
        beside: set[int] = set()
        more = {min(left)}
        while more:
            found |= more
            beside = beside.union(*(crossed[number] for number in more))
            more = {number for number in left - found if crossed[number] & beside}
        left -= found
        grid = _grid([across[number] for number in found], [upright[number] for number in beside])
        if grid is not None:
            yield grid


def _merged(rules: Sequence[_Rule]) -> list[_Rule]:
    """Return rules with those joined that go on in each other, at one place."""
    lines: list[list[_Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.at):
        if lines and rule.at - lines[-1][0].at <= THIN:
            lines[-1].append(rule)
        else:
            lines.append([rule])
    found: list[_Rule] = []
    for line in lines:
        at = sum(rule.at for rule in line) / len(line)
        last: _Rule | None = None
        for rule in sorted(line, key=lambda rule: rule.begin):
            if last is not None and rule.begin <= last.end + THIN:
                last.end = max(last.end, rule.end)
            else:
                last = _Rule(at, rule.begin, rule.end)
                found.append(last)
    return found


def _cross(across: _Rule, upright: _Rule) -> bool:
    """Return whether two rules cross or meet."""
    return (
        across.begin - THIN <= upright.at <= across.end + THIN
        and upright.begin - THIN <= across.at <= upright.end + THIN
    )


def _grid(across: Sequence[_Rule], upright: Sequence[_Rule]) -> Grid | None:
    """Return the cells between rules; None if they do not enclose each of them, or there are too few or too many."""
    columns = sorted({rule.at for rule in upright})
    rows = sorted({rule.at for rule in across}, reverse=True)
    if not (2 < len(columns) <= MOST_COLUMNS + 1 and LEAST_ROWS < len(rows) <= MOST_ROWS + 1):
        return None
    heads = [
        [any(rule.at == at and rule.covers(left, right) for rule in across) for left, right in pairwise(columns)]
        for at in rows
    ]
    sides = [
        [any(rule.at == at and rule.covers(bottom, top) for rule in upright) for at in columns]
        for top, bottom in pairwise(rows)
    ]
    if not all(heads[0]) or not all(heads[-1]) or not all(row[0] and row[-1] for row in sides):
        return None
    cells: list[list[int]] = []
    number = 0
    for head, side in zip(heads, sides, strict=False):
        row: list[int] = []
        for place, (has_head, has_side) in enumerate(zip(head, side, strict=False)):
            beside = row[-1] if not has_side else None
            above = cells[-1][place] if not has_head else None
            if beside is not None and above is not None and beside != above:
                return None
            known = beside if beside is not None else above
            row.append(number if known is None else known)
            number += known is None
        cells.append(row)
    return Grid(columns, rows, cells) if _are_rectangles(cells) else None


def _are_rectangles(cells: Sequence[Sequence[int]]) -> bool:
    """Return whether each cell takes as many places as its width times its height."""
    taken: dict[int, list[tuple[int, int]]] = {}
    for place, row in enumerate(cells):
        for column, number in enumerate(row):
            taken.setdefault(number, []).append((place, column))
    for places in taken.values():
        height, width = (len({*values}) for values in zip(*places, strict=True))
        if len(places) != height * width:
            return False
    return True


def _words(page: PdfTextPage, lines: Sequence[Line], grid: Grid, grids: Sequence[Grid]) -> dict[int, list[_Word]]:
    """Return the words of each cell in the order in which they were drawn.

    Without any if a word stands across a rule, or beside the table in none: the rules are not those of whole rows.
    """
    from ctypes import byref, c_double

    from pypdfium2 import raw

    sides = [c_double() for _ in range(4)]
    pointers = [byref(side) for side in sides]
    found: dict[int, list[_Word]] = {}
    for number, line in enumerate(lines):
        if not grid.rows[-1] - line.size <= line.middle <= grid.rows[0] + line.size:
            continue
        for word, begin in zip(line.words, line.begins, strict=True):
            if not raw.FPDFText_GetCharBox(page, begin, *pointers):
                return {}
            left, _, bottom, top = (side.value for side in sides)
            if not word.left - 1 <= left <= word.right + 1:  # the page is turned
                return {}
            inner = min(THIN, (word.right - word.left) / 3)
            begun, ended = ((x, (bottom + top) / 2) for x in (word.left + inner, word.right - inner))
            cell = grid.cell(*begun)
            if cell != grid.cell(*ended):
                return {}
            if cell is not None:
                found.setdefault(cell, []).append(_Word(begin, word.text, number))
            elif grid.rows[-1] < begun[1] < grid.rows[0] and all(each.cell(*begun) is None for each in grids):
                return {}
    return {cell: _with_marks(page, sorted(own, key=lambda word: word.begin)) for cell, own in found.items()}


def _with_marks(page: PdfTextPage, words: Sequence[_Word]) -> list[_Word]:
    """Return the words of a cell with the marks of notes as raised characters, each in the line of the word before."""
    found: list[_Word] = []
    for word in words:
        before = found[-1] if found else None
        if before is not None and len(word.text) <= LONGEST_MARK and _is_raised(page, word.begin, before.begin):
            mark = raised_behind(before.text, word.text)
            word = replace(word, text=mark, line=before.line, is_mark=mark != word.text)
        found.append(word)
    return found


def _is_raised(page: PdfTextPage, place: int, before: int) -> bool:
    """Return whether a character is smaller than another one and stands above its foot."""
    (size, foot), (usual, lowest) = font_box(page, place, None), font_box(page, before, None)
    return size < SMALL * usual and lowest + RAISED * usual < foot < lowest + usual


def _text(words: Sequence[_Word]) -> str:
    """Return the text of a cell, or of one of its lines."""
    return "".join(word.text if word.is_mark else f" {word.text}" for word in words).strip()


def _is_table(grid: Grid, words: Mapping[int, Sequence[_Word]]) -> bool:
    """Return whether cells are those of a table, and not of a form or of boxes around the parts of a page."""
    if any(sum(len(word.text) + 1 for word in own) > LONGEST_CELL for own in words.values()):
        return False
    plain = sum(len({*row}) == len(row) for row in grid.cells)
    filled = sum(len({*row} & words.keys()) > 1 for row in grid.cells)
    enough = min(plain, filled) >= max(LEAST_ROWS, MOSTLY * len(grid.cells))
    return enough and not any(_holds_rows([words.get(number, ()) for number in row]) for row in grid.cells)


def _holds_rows(cells: Sequence[Sequence[_Word]]) -> bool:
    """Return whether a row between two rules holds several rows: labels, or figures, that stand below each other."""
    lines = [[_text(list(own)) for _, own in groupby(cell, key=lambda word: word.line)] for cell in cells]
    if any(len(cell) > 1 and all(map(FIGURE.fullmatch, cell)) for cell in lines):
        return True
    return LEAST_ROWS <= len(lines[0]) <= max(map(len, lines[1:]))


def _written(grid: Grid, rows: list[list[str]], styles: Sequence[Sequence[Style | None]], caption: str) -> list[str]:
    """Return the rows of a table as lines, with the names of its columns where something says that they are these."""
    title: list[str] = []
    while len(rows) > LEAST_ROWS and len({*grid.cells[len(title)]}) == 1:
        title.append(rows[0][0])
        rows = rows[1:]
    cells, styles = grid.cells[len(title) :], styles[len(title) :]
    header = _header_rows(rows, cells, styles)
    for row, own in zip(rows[header or 1 :], cells[header or 1 :], strict=True):
        # What spans the first column is a label, which the other columns do not hold.
        row[1:] = ["" if number == own[0] else text for number, text in zip(own[1:], row[1:], strict=True)]
    above = ". ".join(filter(None, [caption.rstrip(" ."), *title]))
    before = [] if len(above) <= LONGEST_CAPTION else title
    caption = caption if before else above
    if len(rows[0]) > 2 and len(rows[0]) % 2 == 0 and _has_labels(styles):
        pairs = [table_lines([row[::2], row[1::2]], caption=caption, header_rows=1) for row in rows]
        return [*before, *(line for pair in pairs for line in pair)]
    return [*before, *table_lines(rows, caption=caption, header_rows=header)]


def _has_labels(styles: Sequence[Sequence[Style | None]]) -> bool:
    """Return whether every second column holds labels, in another font or colour than the values beside them."""
    labels, values = ({style for row in styles for style in row[place::2] if style} for place in (0, 1))
    return bool(labels and values) and not labels & values


def _header_rows(
    rows: Sequence[Sequence[str]], cells: Sequence[Sequence[int]], styles: Sequence[Sequence[Style | None]]
) -> int | None:
    """Return how many rows name the columns: those printed otherwise than the ones below; None if figures may say it.

    First cells may be printed as the names are, and headings within the table, which span it.
    """
    parts = 2 if len(rows[0]) == 2 else None  # links are coloured: beside one name the font alone says something
    own = [
        {style[:parts] for style in row[1:] if style} if len({*at}) > 1 else set()
        for at, row in zip(cells, styles, strict=True)
    ]
    count = 1
    while count < min(MOST_HEADER_ROWS, len(rows) - 1) and (
        (own[count] and own[count] <= own[0]) or {*cells[count]} & {*cells[count - 1]}
    ):
        count += 1
    below = [styles for styles in own[count:] if styles][:_SAMPLE]
    is_other = bool(own[0] and below) and not any(own[0] & styles for styles in below)
    names = [name for row in rows[:count] for name in row if name]
    are_figures = all(FIGURE.fullmatch(name) and not YEARS.fullmatch(name) for name in names[1:])
    if is_other and not are_figures and all(len(name) <= LONGEST_NAME for name in names):
        return count
    figures = [is_figure(cell) for row in rows[1:] for cell in row[1:] if cell]
    return None if 2 * sum(figures) > len(figures) else 0

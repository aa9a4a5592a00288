"""Tables in plain text: Markdown, AsciiDoc, reStructuredText, what databases print, and columns of a fixed width.

Each table is replaced by rows (`text/tables.py`); all other lines stay as they are, and so do doubtful tables.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile, zip_longest

from preflight_rag.text.legends import with_note
from preflight_rag.text.log_lines import is_code, is_log_line
from preflight_rag.text.tables import LONGEST_CAPTION, is_row, table_lines

_PIPE_RULE = re.compile(r"\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)+\|?|\|\s*+:?-++:?\s*+\|")
"""The rule below a Markdown header: "|---|:-:|"."""
_GRID_RULE = re.compile(r"\s*\+(?:[-=]+\+)+\s*")
"""A rule of a frame: "+---+===+"."""
_PRINTED_RULE = re.compile(r"\s*-+(?:\+-+)+\s*")
"""The rule that psql prints: "---+----"."""
_RULER = re.compile(r"\s*(?:=+(?:\s+=+)+|-+(?:\s+-+)+)\s*")
"""A rule that shows where columns are: "=== ====", "--- ----"."""
_HEADING = re.compile(r"(?:#{1,6}|={1,6})[ \t]++(.+)")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#:.])\1{2,}\s*")
_ASCIIDOC_CELL = re.compile(r"(?<!\\)(?:(?<=^)|(?<=\s))(?:(\d+)?(?:\.(\d+))?([+*]))?[<^>.]*[adehlmsv]?\|")
_INLINE_NOTE = re.compile(r"footnote:[\w-]{0,40}\[([^\[\]\n]{1,300})\]")
_FORMAT = re.compile(r"format\s*=\s*\"?(csv|tsv|dsv)")
_COLS = re.compile(r"cols\s*=\s*\"?([^\"\]]*)")
_DIRECTIVE = re.compile(r"\s*+\.\. (list-table|csv-table)::(.*)")
_OPTION = re.compile(r"\s++:([\w-]+):(.*)")
_LIST_CELL = re.compile(r"\s*+(\*\s++)?-(\s.*|)")
_GAP = re.compile(r"\s{2,}")
_ASCIIDOC_MARKS = ("|===", ",===", ":===")
_TO_TYPED_FRAME = str.maketrans(
    {
        **dict.fromkeys("│┃║┆┇┊┋╎╏", "|"),
        **dict.fromkeys("─━┄┅┈┉╌╍", "-"),
        "═": "=",
        **dict.fromkeys("┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬╞╡╪╟╢╫╤╧╒╕╘╛╓╖╙╜╭╮╯╰┝┥┿┠┨╂┯┷┰┸╇╈", "+"),
    }
)
"""Box-drawing characters to the characters "|", "-", "=" and "+" of a typed frame."""
_DRAWN_FRAME = re.compile(r"[─-╿]")
_RULE = re.compile(r"\s*(?:-{3,}|={3,}|_{3,})\s*")
_MOST_NAMES = 3
"""Maximum number of header lines that a rule separates from the rows; a guess."""
_HEADER_AND_ROWS = 2
"""Number of bands (lines between rules) of a table that a database prints: its header, and all rows together."""
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+|(?<=[)\]\"'][.!?])\s+")
_CAPTION_LINES = 4
"""Maximum number of lines above the one before a table over which the introducing sentence may extend."""
_INTRODUCES = re.compile(
    r"^(?:here|below|this|the following|following) (?:is|are) (?:an?|the|some)? ?(?:\([^()]{1,40}\) )?"
    r"(?:(?:list|table|overview|summary) of (?:the )?)?",
    re.IGNORECASE,
)
_INTRODUCED_BY = re.compile(r"\s(?:is|are|was|were|as follows|(?:is|are) (?:as follows|these))$", re.IGNORECASE)
"""Beginning and end of a sentence that says that a table follows: "Here is a list of", "are as follows"."""
_WIDE_GAP = re.compile(r"\S {4}")
"""A space between columns; spaces between the words of justified lines are narrower."""
_RUN = re.compile(r"\S+(?: \S+)*")
"""Words with single spaces between them."""
_HAS_FIGURE = re.compile(r"\d")
_FIGURE = re.compile(r"[-+£$€]?\d[\d.,]{0,12}%?")
_DEEPER = 3
"""Minimum number of columns by which a table is indented below the sentence that introduces it directly above."""
_TAB = 8
"""Columns from one tab stop to the next, as in printers, terminals and `man`."""
_LEAST_ROWS = 3
_WIDEST_BLOCK = 400
"""Maximum number of columns of lines that are searched for aligned columns; a guess."""
_MOST_READINGS = 8
"""Average number of times that a line may be read as a part of something that proves to be no table; a guess."""
_SHORT_CELL = 40
"""Maximum mean length of the cells of a column that no rule marks: longer ones are prose. A guess."""


@dataclass(frozen=True)
class _Table:
    """A table found in the lines of a text; one with an empty grid is none after all.

    Attributes:
        grid: The cells by row.
        header: Number of rows of the header; None if it is not known.
        end: The index of the line behind the table, or behind the lines that were read and are no table.
        caption: The caption; "" if the table has none of its own.
    """

    grid: list[list[str]]
    header: int | None
    end: int
    caption: str = ""


@dataclass
class _FailedReadings:
    """Counts the lines read in vain, so that a long text without tables is not read again from each of its lines.

    Attributes:
        first: The index of the first line of the current region.
        until: The index of the line behind it.
        lines: Number of lines read in vain since `first`, repeated ones counted again.
    """

    first: int = 0
    until: int = 0
    lines: int = 0

    def may_read(self, index: int) -> bool:
        """Return whether a table may still be searched from a line on."""
        return index >= self.until or self.lines < _MOST_READINGS * (self.until - self.first)

    def add(self, start: int, end: int) -> None:
        """Record that the lines from `start` up to `end` are no table."""
        if start >= self.until:
            self.first, self.lines = start, 0
        self.until = max(self.until, end)
        self.lines += end - start


def with_rows(lines: Sequence[str], *, spaced: bool = True) -> list[str]:
    """Return the lines of a text with the rows of its tables in place of the tables.

    Args:
        lines: The lines with their spaces.
        spaced: Whether columns that are separated only by spaces count as tables.
    """
    result: list[str] = []
    heading, headings, index = "", 0, 0
    typed = [line.translate(_TO_TYPED_FRAME) if _DRAWN_FRAME.search(line) else line for line in lines]
    failed = _FailedReadings()
    while index < len(lines):
        table = _table_at(typed, index, spaced=spaced) if failed.may_read(index) else None
        if table is not None and not table.grid:
            failed.add(index, table.end)
            table = None
        if table is None:
            line_heading = heading_at(lines, index)
            headings += bool(line_heading)
            heading = line_heading or heading
            result.append(lines[index])
            index += 1
            continue
        # The first heading is mostly the document's title, which every passage has anyway.
        caption = table.caption or _caption_above(result) or (heading if headings > 1 else "")
        if lines[index].strip() in _ASCIIDOC_MARKS and result and result[-1].startswith("["):
            result.pop()  # the attributes of the table's columns
        rows = table_lines(table.grid, caption=caption, header_rows=table.header, headings=False)
        result += [*([""] if result and result[-1].strip() else []), *rows]
        if table.end < len(lines) and lines[table.end].strip():
            result.append("")
        index = table.end
    return result


def heading_at(lines: Sequence[str], index: int) -> str:
    """Return the heading on a line, marked by "#" or "=" before it or by an underline; "" if it is none."""
    if match := _HEADING.fullmatch(lines[index]):
        return match[1].rstrip("# \t")
    line = lines[index].strip()
    below = lines[index + 1] if index + 1 < len(lines) else ""
    is_underlined = line and _UNDERLINE.fullmatch(below) and len(below.strip()) >= len(line) - 2
    return line if is_underlined and not _UNDERLINE.fullmatch(lines[index]) else ""


def _caption_above(lines: Sequence[str]) -> str:
    """Return the caption on the last line above a table: "Table 2: Prices", or "prices" of "Here is a list of prices:".

    Return "" if that line is no caption. A sentence with a colon may have begun on the lines above it.
    """
    last_lines = range(len(lines) - 1, max(len(lines) - 3, -1), -1)
    last = next((index for index in last_lines if lines[index].strip()), -1)
    line = lines[last].strip() if last >= 0 else ""
    if re.match(r"(?:\*\*)?(?:table|tabelle|tab\.)\s", line, re.IGNORECASE):
        return line.strip("*_: ") if len(line) <= LONGEST_CAPTION and not is_row(line) else ""
    if not line.endswith(":") or is_row(line):
        return ""
    sentence = _SENTENCE_END.split(line)[-1]
    for above in reversed(lines[max(0, last - _CAPTION_LINES) : last]):
        if not sentence[:1].islower() or not above.strip() or is_row(above):
            break
        sentence = f"{_SENTENCE_END.split(above.strip())[-1]} {sentence}"
    caption = _INTRODUCED_BY.sub("", _INTRODUCES.sub("", sentence.strip("*_: ")))
    return caption if 1 < len(caption) <= LONGEST_CAPTION else ""


def _table_at(lines: Sequence[str], index: int, *, spaced: bool) -> _Table | None:
    """Return the table that begins on a line, in whatever format; None if none does.

    With `spaced`, columns that are separated only by spaces count, too.
    """
    line = lines[index]
    if not line.strip():
        return None
    if _GRID_RULE.fullmatch(line):
        return _framed_table(lines, index)
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if "|" in line and _PIPE_RULE.fullmatch(below.strip()):
        return _markdown_table(lines, index)
    if "|" in line and _PRINTED_RULE.fullmatch(below):
        return _psql_table(lines, index)
    if line.strip() in _ASCIIDOC_MARKS:
        return _asciidoc_table(lines, index)
    if directive := _DIRECTIVE.fullmatch(line):
        return _rst_directive_table(lines, index, directive[1], directive[2].strip())
    if _RULER.fullmatch(line) or _RULER.fullmatch(below):
        return _table_with_rulers(lines, index)
    return _spaced_table(lines, index) if spaced else None


def _lines_from(lines: Sequence[str], start: int) -> Iterator[str]:
    """Yield the lines from an index on, without iterating over those before it."""
    return (lines[index] for index in range(start, len(lines)))


def _block(lines: Sequence[str], start: int) -> list[str]:
    """Return the lines from an index on up to a blank one."""
    return list(takewhile(lambda line: line.strip(), _lines_from(lines, start)))


def _markdown_table(lines: Sequence[str], start: int) -> _Table:
    """Return the Markdown table that begins at a line, parsed by markdown-it; without a grid if it finds none."""
    from markdown_it import MarkdownIt

    block = [line.strip() for line in _block(lines, start)]
    grid: list[list[str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(block))
    if not tokens or tokens[0].type != "table_open" or tokens[0].map is None:
        return _Table([], None, start + len(block))
    _, end = tokens[0].map
    for token, inner in pairwise(tokens):
        if token.type == "tr_open":
            grid.append([])
        elif token.type in ("th_open", "td_open"):
            grid[-1].append(_without_emphasis(re.sub(r"<br\s*/?>", " ", inner.content)))
        elif token.type == "table_close":
            break
    return _Table(grid, 1, start + end)


def _without_emphasis(cell: str) -> str:
    """Return a cell without marks of emphasis and code."""
    return re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", cell)


def _framed_table(lines: Sequence[str], start: int) -> _Table:
    """Return the table with a frame that begins at a line; without a grid if the frame encloses nothing.

    Lines of equal length are divided at the positions of the frame's corners; others, in which wide characters move the
    bars, at their bars.
    """
    end = start
    while end < len(lines) and lines[end].strip().startswith(("+", "|")):
        end += 1
    block = [line.strip() for line in lines[start:end]]
    if all(line.startswith("|") or _GRID_RULE.fullmatch(line) for line in block) and len(set(map(len, block))) == 1:
        return _table_of_frame(block, end) or _Table([], None, end)
    bands: list[list[list[str]]] = [[]]  # a band is the lines between two rules
    header = 0
    for line in block[1:]:
        if line.startswith("+"):
            if "=" in line and not header:
                header = len(bands)
            bands.append([])
        else:
            bands[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return _table_of_bands(list(filter(None, bands)), header, end) or _Table([], None, end)


def _table_of_bands(bands: Sequence[list[list[str]]], header: int, end: int) -> _Table | None:
    """Return the table whose rules divide its lines into bands; None if there are none.

    In reStructuredText, rules separate rows; databases print them only below the header and at the end.

    Args:
        bands: The lines of each band, divided into cells.
        header: The number of bands that are the header; 0 if it is not known.
        end: The index of the line behind the table.
    """
    if not bands:
        return None
    if header or len(bands) > _HEADER_AND_ROWS or max(map(len, bands)) == 1:
        return _Table([_join_lines(band) for band in bands], header or None, end)
    return _Table([row for band in bands for row in band], len(bands[0]) if len(bands) > 1 else None, end)


def _table_of_frame(block: Sequence[str], end: int) -> _Table | None:
    """Return a table with a frame of bars and rules, in which cells may span columns and rows; None if it is no table.

    The lines between two rules form a band, and a rule may cross only some columns.
    """
    bounds: set[int] = set()
    for line in block:
        bounds.update(index for index, sign in enumerate(line) if sign == "+" and _is_corner(line, index))
    columns = list(pairwise(sorted(bounds)))
    bands: list[list[str]] = [[]]
    rules: list[str] = []
    for line in block[1:]:
        if any(_is_ruled(line, *column) for column in columns):
            rules.append(line)
            bands.append([])
        else:
            bands[-1].append(line)
    bands.pop()
    if not bands or not all(bands):
        return None
    header = next((number for number, rule in enumerate(rules, 1) if "=" in rule), 0)
    header = header if header < len(bands) else 0
    if not header and len(bands) <= _HEADER_AND_ROWS and max(map(len, bands)) > 1:
        return _table_of_bands([[_cells(line, columns) for line in band] for band in bands], 0, end)
    grid: list[list[list[str]]] = []  # the lines of each cell; a cell that spans several positions is one list
    for index, band in enumerate(bands):
        rule_above = rules[index - 1] if index else ""
        row: list[list[str]] = []
        for column, (left, right) in enumerate(columns):
            if column and all(line[left] not in "|+" for line in band):
                row.append(row[-1])  # it spans the previous column, too
            elif rule_above and not _is_ruled(rule_above, left, right):
                row.append(grid[-1][column])  # it spans the row above, too
            else:
                row.append([])
        _add_band(row, band, rule_above, columns)
        grid.append(row)
    return _Table([[" ".join(filter(None, cell)) for cell in row] for row in grid], header or None, end)


def _add_band(
    row: Sequence[list[str]], band: Sequence[str], rule_above: str, columns: Sequence[tuple[int, int]]
) -> None:
    """Add the lines of a band to the cells of its row; a cell that spans rows also has text in the rule above.

    Args:
        row: The lines of each cell, which are changed; a cell that spans columns is the same list in each.
        band: The lines of the band.
        rule_above: The rule above the band; "" for the first.
        columns: The positions of the left and right edge of each column.
    """
    for column, cell in enumerate(row):
        if column and cell is row[column - 1]:
            continue
        left, _ = columns[column]
        _, right = columns[max(index for index, other in enumerate(row) if other is cell)]
        spans_rows = rule_above and not _is_ruled(rule_above, *columns[column])
        cell += [line[left + 1 : right].strip() for line in ([rule_above, *band] if spans_rows else band)]


def _is_corner(line: str, index: int) -> bool:
    """Return whether a plus sign is a corner of the frame: a rule begins or ends there."""
    return line[index - 1 : index] in ("-", "=") or line[index + 1 : index + 2] in ("-", "=")


def _is_ruled(line: str, left: int, right: int) -> bool:
    """Return whether a line is a rule across a column, from one edge to the other."""
    return line[left] == "+" and line[right] == "+" and not line[left + 1 : right].strip("-=+")


def _cells(line: str, columns: Sequence[tuple[int, int]]) -> list[str]:
    """Return the cells of a line in each column; one that spans several columns is repeated in each."""
    cells: list[str] = []
    for index, (left, _) in enumerate(columns):
        if index and line[left] != "|":
            cells.append(cells[-1])
            continue
        right = next((end for _, end in columns[index:] if line[end] == "|"), len(line))
        cells.append(line[left + 1 : right].strip())
    return cells


def _join_lines(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return several lines as one row, with the texts of each cell joined."""
    width = max(map(len, lines))
    joined = []
    for column in range(width):
        texts = [line[column] for line in lines if column < len(line)]
        joined.append(" ".join(filter(None, texts)))
    return joined


def _psql_table(lines: Sequence[str], start: int) -> _Table | None:
    """Return the table that begins at a line, as psql prints it: header, rule, rows, "(2 rows)"; None without rows."""
    printed = [lines[start], *takewhile(lambda line: "|" in line, _lines_from(lines, start + 2))]
    rows = [[cell.strip() for cell in line.split("|")] for line in printed]
    end = start + 1 + len(rows)  # the rule is one more line
    if end < len(lines) and re.fullmatch(r"\s*\(\d+ rows?\)\s*", lines[end]):
        end += 1
    return _Table(rows, 1, end) if len(rows) > 1 else None


def _table_with_rulers(lines: Sequence[str], start: int) -> _Table:
    """Return the table that begins at a line and whose columns are marked by rulers; without a grid if it is none.

    A simple table of reStructuredText begins and ends with a ruler, and may have one below its header. Other tables
    have one ruler, below the header.
    """
    is_rst = _RULER.fullmatch(lines[start]) is not None
    ruler = start if is_rst else start + 1
    columns = [match.span() for match in re.finditer(r"[=-]+", lines[ruler].expandtabs(_TAB))]
    rulers = [ruler]
    end = ruler + 1
    printed: list[tuple[int, str]] = [] if is_rst else [(start, lines[start].expandtabs(_TAB))]
    while end < len(lines):
        line = lines[end].expandtabs(_TAB)
        if _RULER.fullmatch(line):
            rulers.append(end)
        elif not line.strip():
            # Rows of reStructuredText may be separated by blank lines, up to the last ruler.
            goes_on = is_rst and len(rulers) < 3 and any(map(_RULER.fullmatch, _block(lines, end + 1)))
            if not goes_on:
                break
        else:
            printed.append((end, line))
        end += 1
    no_table = _Table([], None, end)
    if is_rst and len(rulers) < 2:
        return no_table
    header = 0 if is_rst else 1
    if is_rst and len(rulers) > 2:
        header = sum(1 for index, _ in printed if index < rulers[1])
    rows = [_split_below_ruler(line, columns, spans=index < header) for index, (_, line) in enumerate(printed)]
    grid = _join_continuation_lines([row for row in rows if row is not None], header)
    if None in rows or len(grid) < 2 or len(columns) < 2:
        return no_table
    if header > 1:
        grid, header = [_join_lines(grid[:header]), *grid[header:]], 1
    return _Table(grid, header or None, end)


def _split_below_ruler(line: str, columns: Sequence[tuple[int, int]], *, spans: bool) -> list[str] | None:
    """Return the cells of a line below a ruler; None if a text crosses the beginning of a column.

    Args:
        line: The line, without tabs.
        columns: The start and end of each part of the ruler.
        spans: Whether a text across the beginning of a column belongs to both columns, as in the lines of a header.
    """
    starts = [start for start, _ in columns]
    texts = [(match.start(), match.end(), match[0]) for match in _RUN.finditer(line)]
    crossed = [position for position in starts[1:] if any(left < position < right for left, right, _ in texts)]
    if crossed and len(texts) == len(starts):
        return [text for _, _, text in texts]
    # A single space separates columns only where the ruler's parts are one space apart, too.
    one_apart = {start for (_, end), (start, _) in pairwise(columns) if start - end == 1}
    if all(position in one_apart and " " in line[position - 1 : position + 1] for position in crossed):
        return _split_at(line, starts)
    if not spans:
        return None
    cells = []
    for left, right in pairwise([*starts, len(line) + 1]):
        cells.append(" ".join(text for start, end, text in texts if start < right and end > left))
    return cells


def _split_at(line: str, starts: Sequence[int]) -> list[str]:
    """Return the cells of a line whose columns begin at some positions."""
    return [line[left:right].strip() for left, right in zip(starts, [*starts[1:], None], strict=True)]


def _join_continuation_lines(grid: Sequence[Sequence[str]], header: int) -> list[list[str]]:
    """Return the rows, each line below the header whose first cell is blank joined to the row above."""
    rows: list[list[str]] = []
    for index, row in enumerate(grid):
        if rows and not row[0] and index > header:
            rows[-1] = _join_lines([rows[-1], row])
        else:
            rows.append(list(row))
    return rows


def _asciidoc_table(lines: Sequence[str], start: int) -> _Table | None:
    """Return the AsciiDoc table that begins at a line; None if it does not end or has no cells.

    Attributes and a caption are on the two lines above it: `[cols="1,2"]`, ".Prices".
    """
    mark = lines[start].strip()
    end = next((index for index in range(start + 1, len(lines)) if lines[index].strip() == mark), None)
    if end is None:
        return None
    before = [lines[index].strip() for index in range(max(0, start - 2), start)]
    attributes = next((line for line in before if line.startswith("[")), "")
    caption = next((line[1:] for line in before if re.match(r"\.[^\s.]", line)), "")
    body = list(lines[start + 1 : end])
    separator = _asciidoc_separator(mark, attributes)
    if separator != "|":
        rows = [row for row in csv.reader(body, delimiter=separator) if row]
        return _Table(rows, 1 if "header" in attributes else None, end + 1, caption) if rows else None
    body = [_INLINE_NOTE.sub(lambda match: with_note(" ", match[1]).strip(), line) for line in body]
    cells = _asciidoc_cells(body)
    first_line = next((line for line in body if line.strip()), "")
    columns = _asciidoc_columns(attributes) or len(_ASCIIDOC_CELL.findall(first_line))
    if columns < 1 or not cells:
        return None
    grid = [cells[first : first + columns] for first in range(0, len(cells), columns)]
    # A blank line after the first row makes that row the header.
    is_implied = len(body) > 1 and bool(body[0].strip()) and not body[1].strip() and columns > 1
    has_header = "header" in attributes or (is_implied and "noheader" not in attributes)
    return _Table(grid, 1 if has_header else None, end + 1, caption)


def _asciidoc_cells(body: Sequence[str]) -> list[str]:
    """Return the cells of an AsciiDoc table in order: each begins after a bar, and goes on up to the next one.

    "3*|" repeats its cell three times.
    """
    cells: list[str] = []
    for line in body:
        bars = list(_ASCIIDOC_CELL.finditer(line))
        if not bars:
            if cells and line.strip():
                cells[-1] = f"{cells[-1]} {line.strip()}".strip()
            continue
        if (continuation := line[: bars[0].start()].strip()) and cells:
            cells[-1] = f"{cells[-1]} {continuation}"
        ends = [*(bar.start() for bar in bars[1:]), None]
        for bar, end in zip(bars, ends, strict=True):
            text = line[bar.end() : end].strip().replace("\\|", "/")
            cells += [text] * (int(bar[1] or 1) if bar[3] else 1)
    return cells


def _asciidoc_separator(mark: str, attributes: str) -> str:
    """Return the separator of an AsciiDoc table's cells: that of its first line ",===", or of its `format`."""
    if mark != "|===":
        return mark[0]
    declared = _FORMAT.search(attributes)
    return {"csv": ",", "tsv": "\t", "dsv": ":"}.get(declared[1], "|") if declared else "|"


def _asciidoc_columns(attributes: str) -> int:
    """Return the number of columns that an AsciiDoc table declares; 0 if it declares none."""
    if not (match := _COLS.search(attributes)):
        return 0
    total = 0
    for part in match[1].split(","):
        times = re.match(r"\s*(\d+)\*", part)
        total += int(times[1]) if times else 1
    return total


def _rst_directive_table(lines: Sequence[str], start: int, kind: str, title: str) -> _Table:
    """Return the table of a directive of reStructuredText.

    Args:
        lines: The lines of the text.
        start: The index of the directive's line.
        kind: "list-table" or "csv-table".
        title: The title behind the directive, which is the caption.
    """
    options: dict[str, str] = {}
    end = start + 1
    while end < len(lines) and (match := _OPTION.fullmatch(lines[end])):
        options[match[1]] = match[2].strip()
        end += 1
    body: list[str] = []
    while end < len(lines) and (not lines[end].strip() or lines[end][:1].isspace()):
        body.append(lines[end])
        end += 1
    while body and not body[-1].strip():
        body.pop()
        end -= 1
    header = int(options["header-rows"]) if options.get("header-rows", "").isdigit() else 0
    if kind == "csv-table":
        declared = options.get("delim", ",")
        separator = {"tab": "\t", "space": " "}.get(declared, declared[:1] or ",")
        filled = [line.strip() for line in body if line.strip()]
        rows = list(csv.reader(filled, delimiter=separator, skipinitialspace=True))
        if "header" in options:
            rows = [*csv.reader([options["header"]], delimiter=separator, skipinitialspace=True), *rows]
            header = 1
    else:
        rows = list(_list_table_rows(body))
    return _Table(rows, header or None, end, title)


def _list_table_rows(body: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a `list-table`: "* -" begins a row and its first cell, "-" a further cell."""
    row: list[str] = []
    for line in body:
        match = _LIST_CELL.fullmatch(line)
        if match and match[1]:
            if row:
                yield row
            row = [match[2].strip()]
        elif match and row:
            row.append(match[2].strip())
        elif row and line.strip():
            row[-1] = f"{row[-1]} {line.strip()}".strip()
    if row:
        yield row


def _spaced_table(lines: Sequence[str], start: int) -> _Table | None:
    """Return the table without rules that begins at a line, its columns aligned by spaces or separated by tabs.

    Return None if the line has no wide space or tab. A table without a grid tells which lines are no table: fewer than
    three, rows, log lines or code, prose, or a list of names that a sentence introduces.
    """
    if "\t" not in lines[start].strip() and not _GAP.search(lines[start].strip()):
        return None
    is_introduced = start > 0 and bool(lines[start - 1].strip())
    # Inside a block only the lines below an introducing sentence are read; a block is read once, at its beginning.
    whole = _block_below_sentence(lines, start) if is_introduced else _block(lines, start)
    if sentence_lines := _count_sentence_lines(whole):
        return _Table([], None, start + sentence_lines)
    no_table = _Table([], None, start + len(whole))
    # Rules across all columns separate the header from the rows, and the rows from their total.
    rules = [index for index, line in enumerate(whole) if _RULE.fullmatch(line)]
    block = [line for line in whole if not _RULE.fullmatch(line)]
    if len(block) < _LEAST_ROWS or any(is_row(line) or is_log_line(line) or is_code(line) for line in block):
        return no_table
    grid = _aligned_cells(block)
    if not grid:
        return no_table
    header = rules[0] if rules and 0 < rules[0] <= _MOST_NAMES and len(whole) - rules[0] >= _LEAST_ROWS else None
    if header:
        grid, header = [_join_lines(grid[:header]), *grid[header:]], 1
    if header is None:
        grid = _with_one_pair_in_a_row(grid)
    columns = list(zip_longest(*grid[1:], fillvalue=""))
    has_figures = any(all(map(_HAS_FIGURE.search, column)) for column in columns[1:])
    filled = sum(1 for row in grid if sum(map(bool, row)) > 1)
    if (is_introduced and not has_figures) or filled < len(grid) - 1 or not _has_short_cells(grid):
        return no_table
    return _Table(grid, header, no_table.end)


def _block_below_sentence(lines: Sequence[str], start: int) -> list[str]:
    """Return the lines from an index on that are indented below a sentence ("as follows:"); [] without one."""
    indent = _indent(lines[start])
    if not lines[start - 1].rstrip().endswith(":") or indent < _indent(lines[start - 1]) + _DEEPER:
        return []
    return list(takewhile(lambda line: bool(line.strip()) and _indent(line) >= indent, _lines_from(lines, start)))


def _count_sentence_lines(block: Sequence[str]) -> int:
    """Return how many first lines of a block are a sentence that introduces the indented lines below; 0 if none are.

    In justified lines, several spaces may separate its words.
    """
    for count, (line, below) in enumerate(pairwise(block), 1):
        if _WIDE_GAP.search(line):
            break
        if line.rstrip().endswith(":") and line.count(":") == 1 and _indent(below) >= _indent(line) + _DEEPER:
            return count
    return 0


def _aligned_cells(block: Sequence[str]) -> list[list[str]]:
    """Return the cells of lines that are aligned by spaces or separated by tabs; [] if they are not."""
    if all(line[:1].isspace() for line in block) and any("\t" in line for line in block):
        block = [line.expandtabs(_TAB) for line in block]  # indented lines are printed, not tab-separated values
    if "\t" in block[0]:
        tabs = {line.rstrip("\t").count("\t") for line in block}
        return [] if 0 in tabs or len(tabs) > 2 else [[cell.strip() for cell in line.split("\t")] for line in block]
    starts = _column_starts(block)
    return [_split_at(line, starts) for line in block] if len(starts) > 1 else []


def _with_one_pair_in_a_row(grid: list[list[str]]) -> list[list[str]]:
    """Return a table of names and figures, printed in several columns of such pairs, with one pair in a row.

    Any other table is returned as it is.
    """
    width = max(map(len, grid))
    if width < 4 or width % 2:
        return grid
    rows = [row + [""] * (width - len(row)) for row in grid]
    pairs: list[list[str]] = []
    for column in range(0, width, 2):
        pairs += [row[column : column + 2] for row in rows if any(row[column : column + 2])]
    are_names_and_figures = all(name[:1].isalpha() and _FIGURE.fullmatch(figure) for name, figure in pairs)
    return pairs if are_names_and_figures else grid


def _indent(line: str) -> int:
    """Return the number of columns before a line's first word."""
    printed = line.expandtabs(_TAB)
    return len(printed) - len(printed.lstrip())


def _has_short_cells(grid: Sequence[Sequence[str]]) -> bool:
    """Return whether the cells of all columns are short on average; the last of three or more may contain remarks."""
    width = max(map(len, grid))
    checked_columns = width - 1 if width > 2 else width
    for column in range(checked_columns):
        cells = [row[column] for row in grid if column < len(row) and row[column]]
        if sum(map(len, cells)) > _SHORT_CELL * len(cells):
            return False
    return True


def _column_starts(block: Sequence[str]) -> list[int]:
    """Return the offsets at which columns begin: after two offsets that are blank in all lines; [] for very long lines.

    One blank offset is enough if then no cell contains a space, as in columns that are aligned to the right.
    """
    width = max(map(len, block))
    if width > _WIDEST_BLOCK or any("\t" in line for line in block):
        return []
    padded = [line.ljust(width) for line in block]
    is_blank = [set(characters) == {" "} for characters in zip(*padded, strict=True)]
    starts = _starts_after_gaps(is_blank, 1)
    return starts if all(len(line.split()) == len(starts) for line in block) else _starts_after_gaps(is_blank, 2)


def _starts_after_gaps(is_blank: Sequence[bool], gap: int) -> list[int]:
    """Return the first offset that is not blank, and those after at least `gap` blank ones."""
    starts = []
    blanks = gap  # the first column needs no gap before it
    for offset, blank in enumerate(is_blank):
        if blank:
            blanks += 1
            continue
        if blanks >= gap:
            starts.append(offset)
        blanks = 0
    return starts

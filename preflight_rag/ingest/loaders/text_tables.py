"""Tables in plain text: Markdown, AsciiDoc, reStructuredText, what databases print, and columns of a fixed width.

Each becomes rows (`text/tables.py`) in its place; all else stays as it is. A table that is not surely one stays text.
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
_GRID_RULE = re.compile(r"\s*\+(?:[-=]+\+)+\s*")
_PRINTED_RULE = re.compile(r"\s*-+(?:\+-+)+\s*")
_RULER = re.compile(r"\s*(?:=+(?:\s+=+)+|-+(?:\s+-+)+)\s*")
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
_FRAMES = str.maketrans(
    {
        **dict.fromkeys("│┃║┆┇┊┋╎╏", "|"),
        **dict.fromkeys("─━┄┅┈┉╌╍", "-"),
        "═": "=",
        **dict.fromkeys("┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬╞╡╪╟╢╫╤╧╒╕╘╛╓╖╙╜╭╮╯╰┝┥┿┠┨╂┯┷┰┸╇╈", "+"),
    }
)
"""Signs by which programs draw frames, and those of a frame that is typed."""
_IS_FRAME = re.compile(r"[─-╿]")
_RULE = re.compile(r"\s*(?:-{3,}|={3,}|_{3,})\s*")
_MOST_NAMES = 3
"""Lines of a header that a rule parts from the rows; a guess."""
_HEADER_AND_ROWS = 2
"""Bands of a table that a database prints: its header, and all rows below one rule."""
_SENTENCE_END = re.compile(r"(?<=[^\W\d_][.!?])\s+|(?<=[)\]\"'][.!?])\s+")
_CAPTION_LINES = 4
"""Lines above a table's last one over which the sentence that introduces it may go."""
_INTRODUCES = re.compile(
    r"^(?:here|below|this|the following|following) (?:is|are) (?:an?|the|some)? ?(?:\([^()]{1,40}\) )?"
    r"(?:(?:list|table|overview|summary) of (?:the )?)?",
    re.IGNORECASE,
)
_INTRODUCED_BY = re.compile(r"\s(?:is|are|was|were|as follows|(?:is|are) (?:as follows|these))$", re.IGNORECASE)
"""How a sentence says that a table follows: "Here is a list of", "are as follows"; the rest is the table's name."""
_WIDE_GAP = re.compile(r"\S {4}")
"""Blanks between columns; between the words of lines that were made equally long are fewer."""
_RUN = re.compile(r"\S+(?: \S+)*")
"""Words with single blanks between them."""
_HAS_FIGURE = re.compile(r"\d")
_FIGURE = re.compile(r"[-+£$€]?\d[\d.,]{0,12}%?")
_DEEPER = 3
"""Blanks by which the rows of a table stand deeper than the sentence that introduces it directly above."""
_TAB = 8
"""Characters from one stop of the tabulator to the next, as printers, terminals and `man` have them."""
_LEAST_ROWS = 3
_MOST_READINGS = 8
"""How often each line of a stretch is read as part of what proves to be no table; a guess."""
_SHORT_CELL = 40
"""Mean characters of a cell of columns that no line rules off: longer ones are prose. Both are guesses."""


@dataclass(frozen=True)
class _Found:
    """A table: its grid, its number of header lines (None if unknown), its caption, and where it ends.

    Without a grid it is none after all, and the end is how far the lines were read to see that.
    """

    grid: list[list[str]]
    header: int | None
    end: int
    caption: str = ""


@dataclass
class _Readings:
    """How many lines were read in vain from one on, so that a long text is not read again at each of its lines."""

    first: int = 0
    until: int = 0
    lines: int = 0

    def may_read(self, at: int) -> bool:
        """Return whether a table may still be looked for at a line."""
        return at >= self.until or self.lines < _MOST_READINGS * (self.until - self.first)

    def add(self, at: int, end: int) -> None:
        """Note that the lines from one on up to another are no table."""
        if at >= self.until:
            self.first, self.lines = at, 0
        self.until = max(self.until, end)
        self.lines += end - at


def with_rows(lines: Sequence[str], *, spaced: bool = True) -> list[str]:
    """Return the lines of a text with the rows of its tables in place of the tables.

    Args:
        lines: The lines with their spaces.
        spaced: Whether columns that are separated only by spaces count as tables.
    """
    found: list[str] = []
    heading, headings, at = "", 0, 0
    typed = [line.translate(_FRAMES) if _IS_FRAME.search(line) else line for line in lines]
    readings = _Readings()
    while at < len(lines):
        table = _table_at(typed, at, spaced=spaced) if readings.may_read(at) else None
        if table is not None and not table.grid:
            readings.add(at, table.end)
            table = None
        if table is None:
            named = heading_at(lines, at)
            headings += bool(named)
            heading = named or heading
            found.append(lines[at])
            at += 1
            continue
        # The first heading is mostly the document's title, which stands with every passage anyway.
        caption = table.caption or _caption_above(found) or (heading if headings > 1 else "")
        if lines[at].strip() in _ASCIIDOC_MARKS and found and found[-1].startswith("["):
            found.pop()  # what is said there of the table's columns
        rows = table_lines(table.grid, caption=caption, header_rows=table.header, headings=False)
        found += [*([""] if found and found[-1].strip() else []), *rows]
        if table.end < len(lines) and lines[table.end].strip():
            found.append("")
        at = table.end
    return found


def heading_at(lines: Sequence[str], at: int) -> str:
    """Return the heading on a line, marked by signs before it or by an underline; else ""."""
    if match := _HEADING.fullmatch(lines[at]):
        return match[1].rstrip("# \t")
    below = lines[at + 1] if at + 1 < len(lines) else ""
    is_above = lines[at].strip() and _UNDERLINE.fullmatch(below) and len(below.strip()) >= len(lines[at].strip()) - 2
    return lines[at].strip() if is_above and not _UNDERLINE.fullmatch(lines[at]) else ""


def _caption_above(found: Sequence[str]) -> str:
    """Return the caption on the line directly above a table: "Table 2: Prices", ".Prices" or "Prices:"."""
    at = next((at for at in range(len(found) - 1, max(len(found) - 3, -1), -1) if found[at].strip()), -1)
    line = found[at].strip() if at >= 0 else ""
    if re.match(r"(?:\*\*)?(?:table|tabelle|tab\.)\s", line, re.IGNORECASE):
        return line.strip("*_: ") if len(line) <= LONGEST_CAPTION and not is_row(line) else ""
    if not line.endswith(":") or is_row(line):
        return ""
    # The last sentence may have begun on the lines above.
    line = _SENTENCE_END.split(line)[-1]
    for above in reversed(found[max(0, at - _CAPTION_LINES) : at] if found[at].strip().endswith(line) else []):
        if not line[:1].islower() or not above.strip() or is_row(above):
            break
        line = f"{_SENTENCE_END.split(above.strip())[-1]} {line}"
    named = _INTRODUCED_BY.sub("", _INTRODUCES.sub("", line.strip("*_: ")))
    return named if 1 < len(named) <= LONGEST_CAPTION else ""


def _table_at(lines: Sequence[str], at: int, *, spaced: bool) -> _Found | None:
    """Return the table that begins on a line, of whatever format; None if none does."""
    line = lines[at]
    if not line.strip():
        return None
    if _GRID_RULE.fullmatch(line):
        return _grid(lines, at)
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if "|" in line and _PIPE_RULE.fullmatch(below.strip()):
        return _markdown(lines, at)
    if "|" in line and _PRINTED_RULE.fullmatch(below):
        return _printed(lines, at)
    if line.strip() in _ASCIIDOC_MARKS:
        return _asciidoc(lines, at)
    if directive := _DIRECTIVE.fullmatch(line):
        return _directive(lines, at, directive[1], directive[2].strip())
    if _RULER.fullmatch(line) or _RULER.fullmatch(below):
        return _ruled(lines, at)
    return _columns(lines, at) if spaced else None


def _lines_from(lines: Sequence[str], at: int) -> Iterator[str]:
    """Yield the lines from an index on, without a walk over those before it."""
    return (lines[number] for number in range(at, len(lines)))


def _block(lines: Sequence[str], at: int) -> list[str]:
    """Return the lines from an index on up to a blank one."""
    return list(takewhile(lambda line: line.strip(), _lines_from(lines, at)))


def _markdown(lines: Sequence[str], at: int) -> _Found:
    """Return a Markdown table, parsed by markdown-it."""
    from markdown_it import MarkdownIt

    block = [line.strip() for line in _block(lines, at)]
    none = _Found([], None, at + len(block))
    grid: list[list[str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(block))
    if not tokens or tokens[0].type != "table_open" or tokens[0].map is None:
        return none
    end = tokens[0].map[1]
    for token, inner in pairwise(tokens):
        if token.type == "tr_open":
            grid.append([])
        elif token.type in ("th_open", "td_open"):
            grid[-1].append(re.sub(r"<br\s*/?>", " ", inner.content))
        elif token.type == "table_close":
            break
    return _Found([[_plain(cell) for cell in row] for row in grid], 1, at + end)


def _plain(cell: str) -> str:
    """Return a cell without marks of emphasis and code."""
    return re.sub(r"(\*\*|__|`)(.+?)\1", r"\2", cell)


def _grid(lines: Sequence[str], at: int) -> _Found:
    """Return a table with a frame: each line between two rules is a row, or part of one if rules separate rows."""
    end = at
    while end < len(lines) and lines[end].strip().startswith(("+", "|")):
        end += 1
    block = [line.strip() for line in lines[at:end]]
    if all(line.startswith("|") or _GRID_RULE.fullmatch(line) for line in block) and len(set(map(len, block))) == 1:
        return _framed(block, end) or _Found([], None, end)
    # Wide characters move the bars of a line: its cells are as it is parted.
    parts: list[list[list[str]]] = [[]]
    header = 0
    for line in block[1:]:
        if line.startswith("+"):
            if "=" in line and not header:
                header = len(parts)
            parts.append([])
        else:
            parts[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return _of_parts([part for part in parts if part], header, end) or _Found([], None, end)


def _of_parts(parts: Sequence[list[list[str]]], header: int, end: int) -> _Found | None:
    """Return the table whose rules divide its lines into parts; `header` of these are its header."""
    if not parts:
        return None
    # reStructuredText rules off each row, databases the header and the end alone.
    if header or len(parts) > 2 or max(map(len, parts)) == 1:
        grid = [_stacked(part) for part in parts]
        return _Found(grid, header or None, end)
    return _Found([row for part in parts for row in part], len(parts[0]) if len(parts) > 1 else None, end)


def _framed(block: Sequence[str], end: int) -> _Found | None:
    """Return a table with a frame of bars and rules, in which cells may span columns and rows.

    The lines between two rules form a band, and a rule may cross only some columns.
    """
    bounds = sorted({place for line in block if "+" in line for place, mark in enumerate(line) if mark == "+"
                     and _is_corner(line, place)})  # fmt: skip
    columns = list(pairwise(bounds))
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
        return _of_parts([[_cells(line, columns) for line in band] for band in bands], 0, end)
    grid: list[list[list[str]]] = []
    for number, band in enumerate(bands):
        rule = rules[number - 1] if number else ""
        row: list[list[str]] = []
        for place, (left, right) in enumerate(columns):
            if place and all(line[left] not in "|+" for line in band):
                row.append(row[-1])  # it spans the column before
            elif rule and not _is_ruled(rule, left, right):
                row.append(grid[-1][place])  # it spans the row above
            else:
                row.append([])
        _fill(row, band, rule, columns)
        grid.append(row)
    return _Found([[" ".join(filter(None, cell)) for cell in row] for row in grid], header or None, end)


def _fill(row: Sequence[list[str]], band: Sequence[str], rule: str, columns: Sequence[tuple[int, int]]) -> None:
    """Add the lines of a band to the texts of its cells."""
    for place, cell in enumerate(row):
        if place and cell is row[place - 1]:
            continue
        left = columns[place][0]
        right = columns[max(at for at, other in enumerate(row) if other is cell)][1]
        is_beside = rule and not _is_ruled(rule, *columns[place])
        cell += [line[left + 1 : right].strip() for line in ([rule, *band] if is_beside else band)]


def _is_corner(line: str, place: int) -> bool:
    """Return whether a plus sign is a corner of the frame: a rule begins or ends there."""
    return line[place - 1 : place] in ("-", "=") or line[place + 1 : place + 2] in ("-", "=")


def _is_ruled(line: str, left: int, right: int) -> bool:
    """Return whether a line is a rule across a column."""
    return line[left] == "+" and line[right] == "+" and not line[left + 1 : right].strip("-=+")


def _cells(line: str, columns: Sequence[tuple[int, int]]) -> list[str]:
    """Return the cells of a line; one that spans several columns is repeated in each."""
    found: list[str] = []
    for place, (left, _) in enumerate(columns):
        if place and line[left] != "|":
            found.append(found[-1])
            continue
        right = next((end for _, end in columns[place:] if line[end] == "|"), len(line))
        found.append(line[left + 1 : right].strip())
    return found


def _stacked(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return several lines as one row, with the texts of each cell joined."""
    width = max(map(len, rows))
    joined = []
    for place in range(width):
        texts = [row[place] for row in rows if place < len(row)]
        joined.append(" ".join(filter(None, texts)))
    return joined


def _printed(lines: Sequence[str], at: int) -> _Found | None:
    """Return a table as psql prints it: a header, a rule of dashes and plus signs, rows."""
    printed = [lines[at], *takewhile(lambda line: "|" in line, _lines_from(lines, at + 2))]
    rows = [[cell.strip() for cell in line.split("|")] for line in printed]
    end = at + 2 + len(rows) - 1
    if end < len(lines) and re.fullmatch(r"\s*\(\d+ rows?\)\s*", lines[end]):
        end += 1
    return _Found(rows, 1, end) if len(rows) > 1 else None


def _ruled(lines: Sequence[str], at: int) -> _Found:
    """Return a table whose columns are marked by a line of dashes or equals signs."""
    framed = _RULER.fullmatch(lines[at]) is not None
    place = at if framed else at + 1
    columns = [match.span() for match in re.finditer(r"[=-]+", lines[place].expandtabs(_TAB))]
    starts = [start for start, _ in columns]
    rulers = [place]
    end = place + 1
    printed: list[tuple[int, str]] = [] if framed else [(at, lines[at].expandtabs(_TAB))]
    while end < len(lines):
        line = lines[end].expandtabs(_TAB)
        if _RULER.fullmatch(line):
            rulers.append(end)
        elif not line.strip():
            # reStructuredText ends with a ruler and may have blank lines between rows.
            more = framed and len(rulers) < 3 and any(_RULER.fullmatch(each) for each in _block(lines, end + 1))
            if not more:
                break
        else:
            printed.append((end, line))
        end += 1
    none = _Found([], None, end)
    if framed and len(rulers) < 2:
        return none
    header = 0 if framed else 1
    if framed and len(rulers) > 2:
        header = sum(1 for number, _ in printed if number < rulers[1])
    parted = [_parted(line, columns, spans=number < header) for number, (_, line) in enumerate(printed)]
    grid = _with_continued([row for row in parted if row is not None], header)
    if None in parted or len(grid) < 2 or len(starts) < 2:
        return none
    if header > 1:
        grid, header = [_stacked(grid[:header]), *grid[header:]], 1
    return _Found(grid, header or None, end)


def _parted(line: str, columns: Sequence[tuple[int, int]], *, spans: bool) -> list[str] | None:
    """Return the cells of a line below a ruler; None if a text goes over the beginning of a column.

    Args:
        line: The line, without tabs.
        columns: Where the ruler's parts begin and end.
        spans: Whether a text over the beginning of a column stands for both columns, as in the lines of a header.
    """
    starts = [start for start, _ in columns]
    texts = [(match.start(), match.end(), match[0]) for match in _RUN.finditer(line)]
    crossed = [place for place in starts[1:] if any(left < place < right for left, right, _ in texts)]
    if crossed and len(texts) == len(starts):
        return [text for _, _, text in texts]
    # A single blank before the beginning parts columns only where the ruler's parts are so near each other.
    near = {start for (_, end), (start, _) in pairwise(columns) if start - end == 1}
    if all(place in near and " " in line[place - 1 : place + 1] for place in crossed):
        return _cut(line, starts)
    if not spans:
        return None
    bounds = [*starts[1:], len(line) + 1]
    return [
        " ".join(text for start, end, text in texts if start < right and end > left)
        for left, right in zip(starts, bounds, strict=True)
    ]


def _cut(line: str, starts: Sequence[int]) -> list[str]:
    """Return a line divided at the columns' beginnings."""
    return [line[left:right].strip() for left, right in zip(starts, [*starts[1:], None], strict=True)]


def _with_continued(grid: Sequence[Sequence[str]], header: int) -> list[list[str]]:
    """Return the rows with lines whose first cell is blank joined to the row above."""
    rows: list[list[str]] = []
    for number, row in enumerate(grid):
        if rows and not row[0] and number > header:
            rows[-1] = _stacked([rows[-1], row])
        else:
            rows.append(list(row))
    return rows


def _asciidoc(lines: Sequence[str], at: int) -> _Found | None:
    """Return an AsciiDoc table, with cells after bars, several or one on a line."""
    mark = lines[at].strip()
    end = next((number for number in range(at + 1, len(lines)) if lines[number].strip() == mark), None)
    if end is None:
        return None
    before = [lines[number].strip() for number in range(max(0, at - 2), at)]
    attributes = next((line for line in before if line.startswith("[")), "")
    caption = next((line[1:] for line in before if re.match(r"\.[^\s.]", line)), "")
    body = list(lines[at + 1 : end])
    separator = _separator(mark, attributes)
    if separator != "|":
        rows = [row for row in csv.reader(body, delimiter=separator) if row]
        return _Found(rows, 1 if "header" in attributes else None, end + 1, caption) if rows else None
    body = [_INLINE_NOTE.sub(lambda match: with_note(" ", match[1]).strip(), line) for line in body]
    cells: list[str] = []
    first = next((line for line in body if line.strip()), "")
    for line in body:
        pieces: list[str] = []
        matches = list(_ASCIIDOC_CELL.finditer(line))
        if not matches:
            if cells and line.strip():
                cells[-1] = f"{cells[-1]} {line.strip()}".strip()
            continue
        if (lead := line[: matches[0].start()].strip()) and cells:
            cells[-1] = f"{cells[-1]} {lead}"
        for match, following in zip(matches, [*matches[1:], None], strict=True):
            text = line[match.end() : following.start() if following else None].strip().replace("\\|", "/")
            pieces += [text] * (int(match[1] or 1) if match[3] else 1)
        cells += pieces
    columns = _asciidoc_columns(attributes) or len(_ASCIIDOC_CELL.findall(first))
    if columns < 1 or not cells:
        return None
    grid = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    # A blank line behind the first row makes it the header.
    filled = [number for number, line in enumerate(body) if line.strip()]
    implied = bool(filled) and filled[0] == 0 and len(body) > 1 and not body[1].strip() and columns > 1
    has_header = "header" in attributes or (implied and "noheader" not in attributes)
    return _Found(grid, 1 if has_header else None, end + 1, caption)


def _separator(mark: str, attributes: str) -> str:
    """Return what parts the cells of an AsciiDoc table: said by its first line, or its attributes."""
    if mark != "|===":
        return mark[0]
    named = _FORMAT.search(attributes)
    return {"csv": ",", "tsv": "\t", "dsv": ":"}.get(named[1], "|") if named else "|"


def _asciidoc_columns(attributes: str) -> int:
    """Return the number of columns that an AsciiDoc table declares; 0 if it declares none."""
    if not (match := _COLS.search(attributes)):
        return 0
    total = 0
    for part in match[1].split(","):
        times = re.match(r"\s*(\d+)\*", part)
        total += int(times[1]) if times else 1
    return total


def _directive(lines: Sequence[str], at: int, kind: str, title: str) -> _Found:
    """Return a `list-table` or `csv-table` of reStructuredText."""
    options: dict[str, str] = {}
    number = at + 1
    while number < len(lines) and (match := _OPTION.fullmatch(lines[number])):
        options[match[1]] = match[2].strip()
        number += 1
    body: list[str] = []
    while number < len(lines) and (not lines[number].strip() or lines[number][:1].isspace()):
        body.append(lines[number])
        number += 1
    while body and not body[-1].strip():
        body.pop()
        number -= 1
    count = int(options["header-rows"]) if options.get("header-rows", "").isdigit() else 0
    if kind == "csv-table":
        mark = {"tab": "\t", "space": " "}.get(options.get("delim", ","), options.get("delim", ",")[:1] or ",")
        rows = list(csv.reader((line.strip() for line in body if line.strip()), delimiter=mark, skipinitialspace=True))
        if "header" in options:
            rows = [*csv.reader([options["header"]], delimiter=mark, skipinitialspace=True), *rows]
            count = 1
    else:
        rows = list(_list_rows(body))
    return _Found(rows, count or None, number, title)


def _list_rows(body: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a `list-table`."""
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


def _columns(lines: Sequence[str], at: int) -> _Found | None:
    """Return a table without rules, its columns aligned by spaces or separated by tabs, of at least three lines."""
    if "\t" not in lines[at].strip() and not _GAP.search(lines[at].strip()):
        return None
    is_introduced = at > 0 and bool(lines[at - 1].strip())
    # Only where a block begins, which is looked at once, or below the sentence that introduces the table.
    whole = _block_below(lines, at) if is_introduced else _block(lines, at)
    if above := _lines_of_sentence(whole):
        return _Found([], None, at + above)
    none = _Found([], None, at + len(whole))
    # A rule across all columns parts the header from the rows, and these from their sum.
    rules = [number for number, line in enumerate(whole) if _RULE.fullmatch(line)]
    block = [line for line in whole if not _RULE.fullmatch(line)]
    if len(block) < _LEAST_ROWS or any(is_row(line) or is_log_line(line) or is_code(line) for line in block):
        return none
    grid = _aligned(block)
    if not grid:
        return none
    header = rules[0] if rules and 0 < rules[0] <= _MOST_NAMES and len(whole) - rules[0] >= _LEAST_ROWS else None
    if header:
        grid, header = [_stacked(grid[:header]), *grid[header:]], 1
    if header is None:
        grid = _one_pair_a_row(grid)
    # What a sentence introduces in columns are mostly lists of names, which go on below each other.
    columns = list(zip_longest(*grid[1:], fillvalue=""))
    if is_introduced and not any(all(map(_HAS_FIGURE.search, column)) for column in columns[1:]):
        return none
    filled = sum(1 for row in grid if sum(map(bool, row)) > 1)
    return _Found(grid, header, none.end) if filled >= len(grid) - 1 and _has_short_cells(grid) else none


def _block_below(lines: Sequence[str], at: int) -> list[str]:
    """Return the lines from an index on that stand deeper than the end of a sentence above them; none if they don't."""
    deep = _depth(lines[at])
    if not lines[at - 1].rstrip().endswith(":") or deep < _depth(lines[at - 1]) + _DEEPER:
        return []
    return list(takewhile(lambda line: bool(line.strip()) and _depth(line) >= deep, _lines_from(lines, at)))


def _lines_of_sentence(block: Sequence[str]) -> int:
    """Return how many of a block's first lines are a sentence that introduces deeper ones below it; 0 if none are.

    Its words are parted by more than one blank where a program has made its lines equally long.
    """
    for place, (line, below) in enumerate(pairwise(block), 1):
        if _WIDE_GAP.search(line):
            break
        if line.rstrip().endswith(":") and line.count(":") == 1 and _depth(below) >= _depth(line) + _DEEPER:
            return place
    return 0


def _aligned(block: Sequence[str]) -> list[list[str]]:
    """Return the cells of lines that are aligned by blanks or parted by tabs; none if they are not."""
    if all(line[:1].isspace() for line in block) and any("\t" in line for line in block):
        block = [line.expandtabs(_TAB) for line in block]  # It is printed so, not a file of values.
    if "\t" in block[0]:
        tabs = {line.rstrip("\t").count("\t") for line in block}
        return [] if 0 in tabs or len(tabs) > 2 else [[cell.strip() for cell in line.split("\t")] for line in block]
    starts = _column_starts(block)
    return [_cut(line, starts) for line in block] if len(starts) > 1 else []


def _one_pair_a_row(grid: list[list[str]]) -> list[list[str]]:
    """Return a table of names and figures that is printed in two or more columns of such pairs with one pair a row."""
    width = max(map(len, grid))
    if width < 4 or width % 2:
        return grid
    rows = [row + [""] * (width - len(row)) for row in grid]
    pairs = [row[place : place + 2] for place in range(0, width, 2) for row in rows]
    filled = [pair for pair in pairs if any(pair)]
    has_names = all(name[:1].isalpha() and _FIGURE.fullmatch(figure) for name, figure in filled)
    return filled if has_names else grid


def _depth(line: str) -> int:
    """Return the blanks before a line's words."""
    printed = line.expandtabs(_TAB)
    return len(printed) - len(printed.lstrip())


def _has_short_cells(grid: Sequence[Sequence[str]]) -> bool:
    """Return whether all columns contain labels and figures; the last of three or more may contain remarks."""
    width = max(map(len, grid))
    for place in range(width - (width > 2)):
        cells = [row[place] for row in grid if place < len(row) and row[place]]
        if sum(map(len, cells)) > _SHORT_CELL * len(cells):
            return False
    return True


def _column_starts(block: Sequence[str]) -> list[int]:
    """Return the offsets at which columns begin: after places that are blank in all lines."""
    width = max(map(len, block))
    if width > 400 or any("\t" in line for line in block):
        return []
    padded = [line.ljust(width) for line in block]
    blank = [set(characters) == {" "} for characters in zip(*padded, strict=True)]
    narrow = _starts(blank, 1)
    # Programs that align to the right part columns by a single space: then no cell has one.
    return narrow if all(len(line.split()) == len(narrow) for line in block) else _starts(blank, 2)


def _starts(blank: Sequence[bool], gap: int) -> list[int]:
    """Return the places after at least `gap` blank ones."""
    starts = []
    run = gap  # the margin
    for place, is_blank in enumerate(blank):
        if is_blank:
            run += 1
            continue
        if run >= gap:
            starts.append(place)
        run = 0
    return starts

"""Marks in the cells of tables: footnote signs and codes, such as the "a" of "42^a^" and the "S" of a timetable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from preflight_rag.text.tables import TableRow, is_row, parse_row
from preflight_rag.text.words import RAISED_LETTERS

LONGEST_MEANING = 120
"""Characters of what a mark means; longer ones are remarks, which stay where they stand. A guess."""
_CODE = r"(?:-9{2,4}(?!\d)|[^\W_]{1,5}|[^\W\d_](?:[./][^\W\d_]){1,2}\.?)"
_SYMBOL = r"[^\w\s.,;:(){}|/\\\"'“”‘’„‚«»$€£¥%&@<>=\[\]`^]{1,3}"
MARK = rf"(?:{_CODE}|{_SYMBOL})"
_KEYS = rf"{MARK}(?:, ?{MARK}){{0,3}}"
WRAPPED_MARK = (
    rf"<sup>\s?\(?(?P<html>{_KEYS})\)?\s?</sup>|\\? ?:sup:`(?P<rst>{_KEYS})`|\[(?P<note>\^[^\W_]{{1,20}})\]"
    rf"|\[(?P<square>{_KEYS})\]_?|\^\(?(?P<caret>{_KEYS})\)?\^?|\((?P<round>{_KEYS})\)"
)
WRAPPED_CELL = re.compile(WRAPPED_MARK)
"""A mark as texts write it: "<sup>a</sup>", "[^1]", "[1]", "^a^", "(a)"; "(a note)" is none."""
_AT_END = re.compile(
    rf"\s?(?:{WRAPPED_MARK}|(?P<raised>[{RAISED_LETTERS}](?:,?[{RAISED_LETTERS}]){{0,3}})"
    rf"|(?P<symbol>{_SYMBOL}(?:, ?{_SYMBOL}){{0,2}}))$"
)
"""A mark at the end of a cell: "812^a^", "1.9 [1]", "640¹", "388*"; "Hall (north wing)" has none."""
_AT_START = re.compile(r"(?P<symbol>[*†‡§¶#°+~]{1,2})\s?(?=\w)")
BEHIND_FIGURE = re.compile(r"(?<=[\d%)])\s?(?P<plain>[^\W\d_]{1,3}(?:(?:, ?| )[^\W\d_]{1,2}){0,2})$")
"""Plain marks behind a figure or a time: "240a", "07:02 S", "06:40 A B"; "4 km" only where a legend says so."""
ONLY_CODES = re.compile(rf"{MARK}(?:(?: ?[,;/+] ?| ){MARK}){{0,5}}")
"""A cell of nothing but codes: "S", "n/a", "R/P", "W, F"; "day off on request" has too many letters."""
BETWEEN_CODES = re.compile(r" ?[,;/+] ?| ")
_NO_READING = re.compile(r"-9{2,4}")
"""What instruments write where there is no value."""
_PLACEHOLDERS = frozenset({"tbd", "tba", "tbc", "nil", "abs"})


@dataclass(frozen=True)
class MarkedCell:
    """A cell with marks, such as footnote signs or codes.

    Attributes:
        part: The cell's place among the parts of its row's line.
        column: The name of its column.
        text: The text of the cell.
        rest: The text without the marks; empty if there is nothing else.
        keys: The marks; for a cell that consists of codes, first the whole text.
        is_plain: Whether the mark is a letter after a figure, which may be a unit.
    """

    part: int
    column: str
    text: str
    rest: str
    keys: tuple[str, ...]
    is_plain: bool = False


@dataclass(frozen=True)
class MarkedRow:
    """A row of a table: its line number in the text, its parsed form, and its cells with marks."""

    number: int
    row: TableRow
    cells: dict[int, MarkedCell]


def tables_of(lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of each table: rows below each other whose first column is the same."""
    table: list[int] = []
    first: str | None = None
    for number, line in enumerate(lines):
        row = parse_row(line) if is_row(line) else None
        name = (row.cells[0].column if len(row.cells) > 1 else "") if row else None
        if table and name != first:
            yield table
            table = []
        first = name
        if row is not None:
            table.append(number)
    if table:
        yield table


def rows_with_marks(lines: Sequence[str], numbers: Sequence[int]) -> list[MarkedRow]:
    """Return the rows on some lines, with their marked cells."""
    found = []
    for number in numbers:
        row = parse_row(lines[number])
        if row is not None:
            shift = 1 if row.caption else 0
            cells = [_cell_with_marks(place + shift, cell.column, cell.text) for place, cell in enumerate(row.cells)]
            found.append(MarkedRow(number, row, {cell.part: cell for cell in cells if cell is not None}))
    return found


def _cell_with_marks(part: int, column: str, text: str) -> MarkedCell | None:
    """Return a cell that has marks or consists of codes; None for any other cell."""
    if not text or len(text) > LONGEST_MEANING:
        return None
    if ONLY_CODES.fullmatch(text):
        keys = BETWEEN_CODES.split(text)
        is_mixed = len({key.isdigit() for key in keys}) > 1  # "395 a"
        if (all(map(is_code, keys)) and not is_mixed) or is_code(text):
            return MarkedCell(part, column, text, "", tuple(dict.fromkeys([text, *keys])))
    if wrapped := WRAPPED_CELL.fullmatch(text):
        # "(4)" is four below nothing.
        return None if (wrapped["round"] or "").isdigit() else MarkedCell(part, column, text, "", keys_of(wrapped))
    if end := _AT_END.search(text):
        rest = text[: end.start()].rstrip()
        if rest and not ((end["round"] or "").isdigit() and rest[-1] in "0123456789%)"):
            return MarkedCell(part, column, text, rest, keys_of(end))
    elif start := _AT_START.match(text):
        return MarkedCell(part, column, text, text[start.end() :], keys_of(start))
    elif plain := BEHIND_FIGURE.search(text):
        marks = re.split(r", ?| ", plain["plain"])
        own = [plain["plain"], *(marks if len(marks) > 1 else marks[0])]
        return MarkedCell(part, column, text, text[: plain.start()], tuple(own), is_plain=True)
    return None


def keys_of(match: re.Match[str]) -> tuple[str, ...]:
    """Return the marks of a match: all together, then each alone."""
    text = next((value for name, value in match.groupdict().items() if value and name not in ("mark", "gap")), "")
    text = unicodedata.normalize("NFKC", text)
    parts = re.split(r", ?", text)
    if "symbol" in match.groupdict() or "raised" in match.groupdict():
        parts = [char for part in parts for char in (part if match.groupdict().get("symbol") else [part])]
    return tuple(dict.fromkeys([text, *parts]))


def is_code(key: str) -> bool:
    """Return whether a text is short, or written in such a way, that it can be a code: "S", "NT", "n/a", "A1", "●"."""
    if not any(map(str.isalnum, key)):
        return len(key) <= 3
    if _NO_READING.fullmatch(key):
        return True
    letters = key.replace("/", "").replace(".", "")
    if not letters.isascii() and any(char in RAISED_LETTERS for char in letters):
        return False
    is_short = len(letters) <= 2 or (key[0].isalpha() and key == key.upper() and len(key) <= 5)
    return is_short or key.casefold() in _PLACEHOLDERS


def marks_of(table: Sequence[MarkedRow]) -> frozenset[str]:
    """Return the marks in a table's cells and in the names of its columns."""
    keys = {key for row in table for cell in row.cells.values() for key in cell.keys}
    columns = {cell.column for row in table for cell in row.row.cells}
    return frozenset(keys.union(*map(name_keys, columns)))


def name_keys(column: str) -> tuple[str, ...]:
    """Return the marks at the end of a column's name; "(m)" is its unit."""
    end = _AT_END.search(column)
    return keys_of(end) if end and not end["round"] and column[: end.start()].strip() else ()

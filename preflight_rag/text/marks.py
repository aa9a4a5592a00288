"""Marks in the cells of tables: footnote signs and codes, such as the "a" of "42^a^" and the "S" of a timetable.

A mark is what a legend explains: a footnote sign behind or before a cell's text, or a code that is all of its text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from preflight_rag.text.tables import TableRow, is_row, parse_row
from preflight_rag.text.words import RAISED_LETTERS

LONGEST_MEANING = 120
"""Most characters of the text that says what a mark means; longer ones are remarks, not written in cells. A guess."""
_CODE = r"(?:-9{2,4}(?!\d)|[^\W_]{1,5}|[^\W\d_](?:[./][^\W\d_]){1,2}\.?)"
_SYMBOL = r"[^\w\s.,;:(){}|/\\\"'“”‘’„‚«»$€£¥%&@<>=\[\]`^]{1,3}"
MARK_PATTERN = rf"(?:{_CODE}|{_SYMBOL})"
_MARK_LIST = rf"{MARK_PATTERN}(?:, ?{MARK_PATTERN}){{0,3}}"
WRAPPED_MARK_PATTERN = (
    rf"<sup>\s?\(?(?P<html>{_MARK_LIST})\)?\s?</sup>|\\? ?:sup:`(?P<rst>{_MARK_LIST})`|\[(?P<note>\^[^\W_]{{1,20}})\]"
    rf"|\[(?P<square>{_MARK_LIST})\]_?|\^\(?(?P<caret>{_MARK_LIST})\)?\^?|\((?P<round>{_MARK_LIST})\)"
)
WRAPPED_CELL = re.compile(WRAPPED_MARK_PATTERN)
"""A mark as texts write it: "<sup>a</sup>", "[^1]", "[1]", "^a^", "(a)"; "(a note)" is none."""
_MARK_AT_END = re.compile(
    rf"\s?(?:{WRAPPED_MARK_PATTERN}|(?P<raised>[{RAISED_LETTERS}](?:,?[{RAISED_LETTERS}]){{0,3}})"
    rf"|(?P<symbol>{_SYMBOL}(?:, ?{_SYMBOL}){{0,2}}))$"
)
"""A mark at the end of a cell: "812^a^", "1.9 [1]", "640¹", "388*"; "Hall (north wing)" has none."""
_SYMBOL_AT_START = re.compile(r"(?P<symbol>[*†‡§¶#°+~]{1,2})\s?(?=\w)")
LETTERS_BEHIND_FIGURE = re.compile(r"(?<=[\d%)])\s?(?P<plain>[^\W\d_]{1,3}(?:(?:, ?| )[^\W\d_]{1,2}){0,2})$")
"""Plain marks behind a number or a time: "240a", "07:02 S", "06:40 A B"; "4 km" only where a legend says so."""
ONLY_CODES = re.compile(rf"{MARK_PATTERN}(?:(?: ?[,;/+] ?| ){MARK_PATTERN}){{0,5}}")
"""A cell of nothing but codes: "S", "n/a", "R/P", "W, F"; "day off on request" has too many letters."""
CODE_SEPARATOR = re.compile(r" ?[,;/+] ?| ")
_MISSING_READING = re.compile(r"-9{2,4}")
"""What instruments write where there is no value: "-999"."""
_MAX_SYMBOL_CHARS, _MAX_LETTERS, _MAX_CAPITALS = 3, 2, 5
"""Most characters of a code of symbols, of letters, and of capitals; guesses."""
_PLACEHOLDERS = frozenset({"tbd", "tba", "tbc", "nil", "abs"})
"""Words of small letters that are codes all the same."""


@dataclass(frozen=True)
class MarkedCell:
    """A cell with marks, such as footnote signs or codes.

    Attributes:
        part: The index of the cell among the parts of its row's line, of which a caption is the first.
        column: The name of its column.
        text: The text of the cell.
        unmarked: The text without the marks; empty if there is nothing else.
        marks: All marks together, as written ("a,b"), then each alone ("a", "b").
        may_be_unit: Whether the mark is letters after a number, which may be a unit.
    """

    part: int
    column: str
    text: str
    unmarked: str
    marks: tuple[str, ...]
    may_be_unit: bool = False


@dataclass(frozen=True)
class MarkedRow:
    """A row of a table.

    Attributes:
        line_number: The index of its line in the text.
        row: Its parsed form.
        cells: Its cells with marks, by their index among the parts of the line.
    """

    line_number: int
    row: TableRow
    cells: dict[int, MarkedCell]


def split_into_tables(lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield, for each table, the indices of its lines: rows below each other with the same name of the first column."""
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


def parse_marked_rows(lines: Sequence[str], line_numbers: Sequence[int]) -> list[MarkedRow]:
    """Return the table rows at some line numbers of a text, each with its cells that have marks.

    A mark is a code or a sign behind a text: "A", "395 a", "closed *", which a legend explains. Lines that are no table
    rows are left out.
    """
    rows = []
    for line_number in line_numbers:
        row = parse_row(lines[line_number])
        if row is None:
            continue
        first_part = 1 if row.caption else 0  # a caption is the first part of its line
        cells = {}
        for part, cell in enumerate(row.cells, first_part):
            if marked := _parse_marked_cell(part, cell.column, cell.text):
                cells[part] = marked
        rows.append(MarkedRow(line_number, row, cells))
    return rows


def _parse_marked_cell(part: int, column: str, text: str) -> MarkedCell | None:
    """Return the parsed form of a cell that has marks or consists of codes; None for any other cell."""
    if not text or len(text) > LONGEST_MEANING:
        return None
    if ONLY_CODES.fullmatch(text):
        codes = CODE_SEPARATOR.split(text)
        is_mixed = len({code.isdigit() for code in codes}) > 1  # "395 a"
        if (all(map(is_code, codes)) and not is_mixed) or is_code(text):
            return MarkedCell(part, column, text, "", tuple(dict.fromkeys([text, *codes])))
    if wrapped := WRAPPED_CELL.fullmatch(text):
        if (wrapped["round"] or "").isdigit():  # "(4)" is four below zero
            return None
        return MarkedCell(part, column, text, "", marks_in_match(wrapped))
    if end := _MARK_AT_END.search(text):
        unmarked = text[: end.start()].rstrip()
        is_bracketed_number = (end["round"] or "").isdigit()
        # "9 (8)" is a number with another one, such as its standard deviation.
        if unmarked and not (is_bracketed_number and unmarked[-1] in "0123456789%)"):
            return MarkedCell(part, column, text, unmarked, marks_in_match(end))
    elif start := _SYMBOL_AT_START.match(text):
        return MarkedCell(part, column, text, text[start.end() :], marks_in_match(start))
    elif letters := LETTERS_BEHIND_FIGURE.search(text):
        together = letters["plain"]
        separated = re.split(r", ?| ", together)
        single = separated if len(separated) > 1 else list(together)
        return MarkedCell(part, column, text, text[: letters.start()], (together, *single), may_be_unit=True)
    return None


def marks_in_match(match: re.Match[str]) -> tuple[str, ...]:
    """Return the marks that a pattern of this module or of `legend_lines` matched: all together, then each alone.

    Raised letters are given as normal ones; each symbol is a mark, also without a comma: ("*†", "*", "†").
    """
    groups = match.groupdict()
    # The groups "separator" and "gap" hold what separates a mark from its meaning.
    text = next((value for name, value in groups.items() if value and name not in ("separator", "gap")), "")
    text = unicodedata.normalize("NFKC", text)
    marks = re.split(r", ?", text)
    if groups.get("symbol"):
        marks = list("".join(marks))
    return tuple(dict.fromkeys([text, *marks]))


def is_code(text: str) -> bool:
    """Return whether a text is short, or written in such a way, that it can be a code: "S", "NT", "n/a", "A1", "●"."""
    if not any(map(str.isalnum, text)):
        return len(text) <= _MAX_SYMBOL_CHARS
    if _MISSING_READING.fullmatch(text):
        return True
    letters = text.replace("/", "").replace(".", "")
    if not letters.isascii() and any(char in RAISED_LETTERS for char in letters):
        return False
    is_in_capitals = text[0].isalpha() and text == text.upper() and len(text) <= _MAX_CAPITALS
    return len(letters) <= _MAX_LETTERS or is_in_capitals or text.casefold() in _PLACEHOLDERS


def marks_of_table(table: Sequence[MarkedRow]) -> frozenset[str]:
    """Return the marks in a table's cells and in the names of its columns."""
    marks: set[str] = set()
    for row in table:
        for marked in row.cells.values():
            marks.update(marked.marks)
        for cell in row.row.cells:
            marks.update(marks_of_column_name(cell.column))
    return frozenset(marks)


def marks_of_column_name(column: str) -> tuple[str, ...]:
    """Return the marks at the end of a column's name; () if it has none, or a unit in brackets: "Length (m)"."""
    end = _MARK_AT_END.search(column)
    return marks_in_match(end) if end and not end["round"] and column[: end.start()].strip() else ()

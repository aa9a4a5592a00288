"""Legends of tables: what a mark or a code in a cell means, said in the cell itself: "42 (a: provisional figure)".

A row is searched, read and quoted by itself, and its legend stands below the table, above it or pages away. The lines
around a table (`legend_lines.py`) are read for the marks that its cells hold (`marks.py`); a mark that nothing
explains, or that two lines explain in two ways, stays as it is. By rule, over the rows' own lines (`tables.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from preflight_rag.text.legend_lines import (
    WORD,
    Legend,
    headed_legends,
    legends_around,
    legends_of_names,
    table_of_codes,
)
from preflight_rag.text.marks import (
    BEHIND_FIGURE,
    BETWEEN_CODES,
    LONGEST_MEANING,
    MARK,
    ONLY_CODES,
    WRAPPED_CELL,
    MarkedCell,
    MarkedRow,
    is_code,
    marks_of,
    name_keys,
    rows_with_marks,
    tables_of,
)
from preflight_rag.text.tables import BAR, LONGEST_ROW, is_figure, parse_row
from preflight_rag.text.words import RAISED_LETTERS

NOTE = "Note"
"""The column of the note on a row, with its mark behind it."""
_NOTE, _NOTE_END = "\ue002", "\ue003"
"""Stand around the text of a note in a cell, as loaders write it; private characters are nobody's."""
_A_NOTE = re.compile(f"{_NOTE}([^{_NOTE}{_NOTE_END}\n]*){_NOTE_END}")
_TO_RAISED = dict(zip("0123456789abcdefghijklmnoprstuvwxyz", RAISED_LETTERS, strict=True))
_TO_RAISED |= dict(zip("+-−–,", "⁺⁻⁻⁻,", strict=True))
_EXPONENT = re.compile(r"[-−–]?\d{1,2}")
_CITED = re.compile(r"\d{1,3}(?:, ?\d{1,3}){0,9}")
_NUMBER_CODE = re.compile(r"\d{1,2}")
_TIME = re.compile(r"\d{1,2}[:.h]\d\d\b")
_TAKES_MARK = re.compile(r"\d$|[^\W\d_]{3}\)?$")
_NAMED_NOTE = re.compile(rf"{NOTE} \S{{1,5}}")
_WRITTEN = re.compile(rf"(?:^|; ){MARK}(?::| =) ")
"""What stands between two meanings in a cell: "W: drinking water; F: fireplace"."""


@dataclass(frozen=True)
class Explained:
    """A text in whose cells the meanings of marks were inserted.

    Attributes:
        text: The new text.
        places: The ends of the replaced lines, as offsets in the original text.
        longer: By how many characters the text up to each of these ends has grown.
    """

    text: str
    places: tuple[int, ...] = ()
    longer: tuple[int, ...] = ()

    def moved(self, offset: int) -> int:
        """Return the new offset of a line that began at an offset of the original text."""
        before = bisect_right(self.places, offset)
        return offset + (self.longer[before - 1] if before else 0)


def with_note(cell: str, note: str) -> str:
    """Return a cell with the text of a note attached, in the form that `with_legends` reads."""
    words = " ".join(note.split()).replace(": ", ", ").rstrip(" .")
    return f"{cell}{_NOTE}{words}{_NOTE_END}" if cell and words and len(words) <= LONGEST_MEANING else cell


def _with_notes(line: str) -> str:
    """Return a line with attached notes written out after their cells; a first cell's note becomes a cell."""
    if _NOTE not in line:
        return line
    row = parse_row(line)
    if row is None:
        return _A_NOTE.sub(r" (\1)", line).replace(_NOTE, " ").replace(_NOTE_END, "")
    parts = line.split(BAR)
    label = 1 if row.caption else 0
    notes = _A_NOTE.findall(parts[label]) if len(row.cells) > 1 else []
    if notes:
        parts[label] = _A_NOTE.sub("", parts[label])
    line = BAR.join([*parts, *(f"{NOTE}: {note}" for note in notes)])
    return _A_NOTE.sub(r" (\1)", line).replace(_NOTE, " ").replace(_NOTE_END, "")


def raised_behind(before: str, text: str) -> str:
    """Return a superscript behind a text: above the line behind a figure or a word, where "6401" and "locka" say else.

    A unit stays as it is, "m2", and so do the letters of "1st"; "10⁻³" and "loss¹,²" are no 10-3 and no word.
    """
    mark = text.strip()
    is_behind_figure = before[-1:].isdigit()
    is_number = (_EXPONENT if is_behind_figure else _CITED).fullmatch(mark) is not None
    is_letter = len(mark) == 1 and mark.isascii() and mark.islower() and not is_behind_figure
    return raised(mark.replace(" ", "")) if (is_number or is_letter) and _TAKES_MARK.search(before) else text


def raised(text: str) -> str:
    """Return a superscript as raised characters: "¹" for "1"; unchanged if a character has no raised form."""
    return "".join(_TO_RAISED[char] for char in text) if text and all(char in _TO_RAISED for char in text) else text


def with_legends(text: str) -> Explained:
    """Return a text in which marked cells of tables state what their marks mean according to a legend."""
    if BAR not in text and _NOTE not in text:
        return Explained(text)
    before = text.split("\n")
    lines = [_with_notes(line) for line in before] if _NOTE in text else before
    replaced = {number: line for number, line in enumerate(lines) if line != before[number]}
    replaced |= _explained_lines(lines)
    if not replaced:
        return Explained(text)
    ends = list(accumulate(len(line) + 1 for line in before))
    numbers = sorted(replaced)
    longer = accumulate(len(replaced[number]) - len(before[number]) for number in numbers)
    written = "\n".join(replaced.get(number, line) for number, line in enumerate(before))
    return Explained(written, tuple(ends[number] for number in numbers), tuple(longer))


def _explained_lines(lines: Sequence[str]) -> dict[int, str]:
    """Return, by line number, the rows whose marks have a meaning, with the meanings inserted."""
    tables = [rows_with_marks(lines, table) for table in tables_of(lines)]
    known = {id(table): marks_of(table) for table in tables}
    codes: dict[int, Legend] = {}
    for before, table, behind in zip([[], *tables], tables, [*tables[1:], []], strict=False):
        near = known.get(id(before), frozenset()) | known.get(id(behind), frozenset())
        if (legend := table_of_codes(lines, table, near)) is not None:
            codes[id(table)] = legend
    if not any(known[id(table)] for table in tables if id(table) not in codes):
        return {}
    general = [*codes.values(), *headed_legends(lines, frozenset[str]().union(*known.values()))]
    replaced: dict[int, str] = {}
    for table in tables:
        if id(table) in codes or not known[id(table)]:
            continue
        legends = [*legends_around(lines, table, known[id(table)]), *legends_of_names(table), *general]
        legends = [each for each in legends if each.meanings.keys() & known[id(table)]]
        for row in table if legends else ():
            if (line := _explained(lines[row.number], row, table, legends)) != lines[row.number]:
                replaced[row.number] = line
    return replaced


def is_note(column: str) -> bool:
    """Return whether a column holds a note on its row, added by `with_legends`."""
    return column == NOTE or _NAMED_NOTE.fullmatch(column) is not None


def meanings_of(column: str, cell: str) -> list[str]:
    """Return the meanings of a cell's marks that `with_legends` inserted; [] for any other cell.

    A meaning has words: "9 (8)" is a mean with its standard deviation.
    """
    return [each for each in map(str.strip, _in_brackets(column, cell)) if WORD.search(each)]


def _in_brackets(column: str, cell: str) -> list[str]:
    """Return the texts in brackets after a cell's marks, whether or not the marks are explained."""
    if is_note(column):
        return [cell]
    if not cell.endswith(")") or " (" not in cell:
        return []
    value, _, inner = cell[:-1].partition(" (")
    is_number = is_figure(value) and not _NUMBER_CODE.fullmatch(value)
    listed = _WRITTEN.split(inner)
    if ONLY_CODES.fullmatch(value) and all(map(is_code, BETWEEN_CODES.split(value))) and not is_number:
        return listed if len(listed) > 1 else [inner]
    return listed[1:] if not listed[0] else []


def explains(text: str, column: str, cell: str) -> bool:
    """Return whether a text is the explanation of a cell's mark in a legend: "○ closed", "S = Sundays only".

    The mark stands directly before its meaning, or the whole text is the meaning: "Buses marked * do not run.".
    """
    marks = column.split()[1:] if is_note(column) else BETWEEN_CODES.split(cell.partition(" (")[0])
    for meaning in meanings_of(column, cell):
        at = text.find(meaning)
        if at < 0 or text[at + len(meaning) :][:1].isalnum():
            continue
        before = text[:at].rstrip(" \t:=)]–—-")
        befores = (before, before.rstrip("*_`"))  # of a mark in bold, or a star
        is_whole = text.strip(" .") == meaning.strip(" .")
        if is_whole or any(_ends_with(each, mark) for each in befores for mark in marks if mark):
            return True
    return False


def _ends_with(text: str, mark: str) -> bool:
    """Return whether a text ends with a mark that is not just the end of a word."""
    rest = text.removesuffix(mark)
    return rest != text and not rest[-1:].isalnum()


def _explained(line: str, row: MarkedRow, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> str:
    """Return a row's line with the meanings of its marks; one that becomes too long is split into several."""
    parts = line.split(BAR)
    notes: list[str] = []
    shift = 1 if row.row.caption else 0
    for place, cell in enumerate(row.row.cells):
        if not cell.text:
            continue
        written = cell.text
        if marked := row.cells.get(place + shift):
            if place == 0 and marked.rest and len(row.row.cells) > 1:
                # The words of a note are no part of what a row is called.
                found = _lookup(marked.keys, cell.column, table, legends)
                notes += [f"{_note_name(key)}: {meaning}" for key, meaning in found.items()]
            else:
                written = _with_meaning(marked, table, legends)
        if found := _lookup(name_keys(cell.column), cell.column, table, legends):
            written = f"{written} ({_listed_meanings(found, cell.column)})"
        if written != cell.text:
            parts[place + shift] = f"{cell.column}: {written}" if cell.column else written
    parts += notes
    if BAR.join(parts) == line:
        return line
    lead = parts[: shift + 1]
    found_lines: list[str] = []
    current = list(lead)
    for part in parts[shift + 1 :]:
        if len(current) > len(lead) and len(BAR.join([*current, part])) > max(LONGEST_ROW, len(line)):
            found_lines.append(BAR.join(current))
            current = list(lead)
        current.append(part)
    return "\n".join([*found_lines, BAR.join(current)])


def _with_meaning(cell: MarkedCell, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> str:
    """Return a cell's text with the meanings of its marks; unchanged if one of them has none."""
    found = _lookup(cell.keys, cell.column, table, legends)
    if (
        not found
        or (cell.is_plain and not _may_be_mark(cell, table))
        or (not cell.rest and not _may_be_codes(cell, table, legends))
    ):
        return cell.text
    if not cell.rest and WRAPPED_CELL.fullmatch(cell.text):
        return f"({_listed_meanings(found, cell.column)})"
    if not cell.rest:
        alone = len(found) == 1 and cell.text in found
        return f"{cell.text} ({found[cell.text] if alone else _listed_meanings(found, cell.column)})"
    return f"{cell.rest} ({_listed_meanings(found, cell.column)})"


def _note_name(key: str) -> str:
    """Return the name of a note in its row: "Note 2"; a lone asterisk would be emphasis in Markdown."""
    return f"{NOTE} {key.removeprefix('^')}" if key.strip("*_") else NOTE


def _listed_meanings(found: Mapping[str, str], column: str) -> str:
    """Return marks with their meanings; without a column, a colon would separate a name from a value."""
    if len(found) == 1 and not next(iter(found)).strip("*_"):
        return next(iter(found.values()))  # Markdown takes a lone asterisk for emphasis
    sign = ": " if column else " = "
    return "; ".join(f"{key.removeprefix('^')}{sign}{meaning}" for key, meaning in found.items())


def _lookup(keys: Sequence[str], column: str, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> dict[str, str]:
    """Return the meanings of marks in a column: of all marks together, else of each; none if one has none."""
    if not keys:
        return {}
    columns = {cell.column.casefold() for row in table for cell in row.row.cells}
    meanings: dict[str, str] = {}
    for legend in legends:
        named = legend.column.casefold()
        is_here = named == column.casefold()
        for key in keys:
            is_elsewhere = bool(named) if key.isdigit() else named in columns
            if key in legend.meanings and key not in meanings and (is_here or not is_elsewhere):
                meanings[key] = legend.meanings[key]
    if whole := meanings.get(keys[0]):
        return {keys[0]: whole}
    parts = keys[1:]
    return {key: meanings[key] for key in parts} if parts and all(meanings.get(key) for key in parts) else {}


def _may_be_mark(cell: MarkedCell, table: Sequence[MarkedRow]) -> bool:
    """Return whether letters after a figure are a mark: after a time, or if other figures of the column have none.

    A unit follows all figures of its column.
    """
    if _TIME.search(cell.rest):
        return True
    others = (each for row in table for each in row.row.cells if each.column == cell.column and each.text != cell.text)
    return any(is_figure(each.text) and not BEHIND_FIGURE.search(each.text) for each in others)


def _may_be_codes(cell: MarkedCell, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> bool:
    """Return whether a cell of letters is a code: half of its column's texts are codes of a legend, or figures.

    "A" is no grade in a column of teams from A to Z. A number is a code only where a legend names its column.
    """
    column = cell.column.casefold()
    if all(key.isdigit() for key in cell.keys):
        return any(legend.column.casefold() == column != "" and cell.text in legend.meanings for legend in legends)
    if not any(map(str.isalpha, cell.text)) or not cell.text.isalpha() or len(cell.text) > 2:
        return True
    texts = {each.text for row in table for each in row.row.cells if each.column == cell.column and each.text}
    codes = {text for text in texts if any(text in legend.meanings for legend in legends)}
    spelled = {
        each.text
        for row in table
        for each in row.cells.values()
        if each.column == cell.column and _lookup(each.keys, each.column, table, legends)
    }
    fitting = {text for text in texts if text in codes or text in spelled or is_figure(text)}
    return len(fitting) * 2 >= len(texts)

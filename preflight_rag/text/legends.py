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
    TWO_LETTERS,
    Legend,
    headed_legends,
    legends_around,
    legends_in_column_names,
    table_of_codes,
)
from preflight_rag.text.marks import (
    CODE_SEPARATOR,
    LETTERS_BEHIND_FIGURE,
    LONGEST_MEANING,
    MARK_PATTERN,
    ONLY_CODES,
    WRAPPED_CELL,
    MarkedCell,
    MarkedRow,
    is_code,
    marks_of_column_name,
    marks_of_table,
    parse_marked_rows,
    split_into_tables,
)
from preflight_rag.text.tables import BAR, LONGEST_ROW, is_figure, parse_row
from preflight_rag.text.words import RAISED_LETTERS

NOTE = "Note"
"""The column of the note on a row, with its mark behind it."""
_NOTE_START, _NOTE_END = "\ue002", "\ue003"
"""Enclose the text of a note in a cell, as loaders write it: private characters, which no text contains."""
_ATTACHED_NOTE = re.compile(f"{_NOTE_START}([^{_NOTE_START}{_NOTE_END}\n]*){_NOTE_END}")
_TO_RAISED = dict(zip("0123456789abcdefghijklmnoprstuvwxyz", RAISED_LETTERS, strict=True))
_TO_RAISED |= dict(zip("+-−–,", "⁺⁻⁻⁻,", strict=True))
_EXPONENT = re.compile(r"[-−–]?\d{1,2}")
_CITATION_NUMBERS = re.compile(r"\d{1,3}(?:, ?\d{1,3}){0,9}")
_SHORT_NUMBER = re.compile(r"\d{1,2}")
_CLOCK_TIME = re.compile(r"\d{1,2}[:.h]\d\d\b")
_MAX_AMBIGUOUS_LETTERS = 2
"""Most letters of a code that may be another thing's name as well, such as a team's; a guess."""
_ENDS_WITH_DIGIT_OR_WORD = re.compile(r"\d$|[^\W\d_]{3}\)?$")
_NAMED_NOTE = re.compile(rf"{NOTE} \S{{1,5}}")
_MEANING_START = re.compile(rf"(?:^|; ){MARK_PATTERN}(?::| =) ")
"""Begins each meaning in a cell with several: "W: drinking water; F: fireplace"."""


@dataclass(frozen=True)
class Explained:
    """A text in whose cells the meanings of marks were inserted.

    Attributes:
        text: The new text.
        places: The ends of the replaced lines, as offsets in the original text.
        growth: By how many characters the text up to each of these ends has grown.
    """

    text: str
    places: tuple[int, ...] = ()
    growth: tuple[int, ...] = ()

    def moved(self, offset: int) -> int:
        """Return the offset in the new text of a line that began at an offset of the original text."""
        replaced_before = bisect_right(self.places, offset)
        return offset + (self.growth[replaced_before - 1] if replaced_before else 0)


def with_note(cell: str, note: str) -> str:
    """Return a cell with the text of a note attached, in the form that `with_legends` reads.

    An empty cell, or one whose note is empty or too long, is returned unchanged.
    """
    words = " ".join(note.split()).replace(": ", ", ").rstrip(" .")
    return f"{cell}{_NOTE_START}{words}{_NOTE_END}" if cell and words and len(words) <= LONGEST_MEANING else cell


def _write_out_notes(line: str) -> str:
    """Return a line with the notes that `with_note` attached written in brackets behind their cells.

    A note on the first cell of a row, which names the row, becomes a cell of its own: "Note: closed in winter".
    """
    if _NOTE_START not in line:
        return line
    if row := parse_row(line):
        parts = line.split(BAR)
        first_cell = 1 if row.caption else 0  # a caption is the first part of its line
        notes = _ATTACHED_NOTE.findall(parts[first_cell]) if len(row.cells) > 1 else []
        if notes:
            parts[first_cell] = _ATTACHED_NOTE.sub("", parts[first_cell])
        line = BAR.join([*parts, *(f"{NOTE}: {note}" for note in notes)])
    return _ATTACHED_NOTE.sub(r" (\1)", line).replace(_NOTE_START, " ").replace(_NOTE_END, "")


def raised_behind(before: str, text: str) -> str:
    """Return the characters of a superscript raised if it is a mark or an exponent of the text before it.

    Behind a number or a word, "640" and "1" give "¹", since "6401" would be another number, and "10" and "-3" give
    "⁻³". All else is returned unchanged: the "2" of the unit "m2", the letters of "1st".
    """
    mark = text.strip()
    is_behind_figure = before[-1:].isdigit()
    is_number = (_EXPONENT if is_behind_figure else _CITATION_NUMBERS).fullmatch(mark) is not None
    is_letter = len(mark) == 1 and mark.isascii() and mark.islower() and not is_behind_figure
    can_have_mark = _ENDS_WITH_DIGIT_OR_WORD.search(before) is not None
    return raised(mark.replace(" ", "")) if (is_number or is_letter) and can_have_mark else text


def raised(text: str) -> str:
    """Return a superscript as raised characters: "¹" for "1"; unchanged if a character has no raised form."""
    return "".join(_TO_RAISED[char] for char in text) if text and all(char in _TO_RAISED for char in text) else text


def with_legends(text: str) -> Explained:
    """Return a text in which marked cells of tables state what their marks mean according to a legend.

    Marks that no legend explains stay as they are.
    """
    if BAR not in text and _NOTE_START not in text:
        return Explained(text)
    original = text.split("\n")
    lines = [_write_out_notes(line) for line in original] if _NOTE_START in text else original
    replaced = {number: line for number, line in enumerate(lines) if line != original[number]}
    replaced |= _rows_with_meanings(lines)
    if not replaced:
        return Explained(text)
    line_ends = list(accumulate(len(line) + 1 for line in original))
    numbers = sorted(replaced)
    growth = accumulate(len(replaced[number]) - len(original[number]) for number in numbers)
    new_text = "\n".join(replaced.get(number, line) for number, line in enumerate(original))
    return Explained(new_text, tuple(line_ends[number] for number in numbers), tuple(growth))


def _rows_with_meanings(lines: Sequence[str]) -> dict[int, str]:
    """Return, by line index, the table rows whose marks a legend explains, with the meanings inserted."""
    tables = [parse_marked_rows(lines, table) for table in split_into_tables(lines)]
    marks = [marks_of_table(table) for table in tables]
    legend_tables: dict[int, Legend] = {}
    for index, table in enumerate(tables):
        marks_nearby = frozenset[str]().union(*marks[max(0, index - 1) : index], *marks[index + 1 : index + 2])
        if (legend := table_of_codes(lines, table, marks_nearby)) is not None:
            legend_tables[index] = legend
    if not any(marks[index] for index in range(len(tables)) if index not in legend_tables):
        return {}
    document_legends = [*legend_tables.values(), *headed_legends(lines, frozenset[str]().union(*marks))]
    replaced: dict[int, str] = {}
    for index, table in enumerate(tables):
        if index in legend_tables or not marks[index]:
            continue
        legends = [*legends_around(lines, table, marks[index]), *legends_in_column_names(table), *document_legends]
        legends = [legend for legend in legends if legend.meanings.keys() & marks[index]]
        for row in table if legends else ():
            line = _row_with_meanings(lines[row.line_number], row, table, legends)
            if line != lines[row.line_number]:
                replaced[row.line_number] = line
    return replaced


def is_note(column: str) -> bool:
    """Return whether a column holds a note on its row, added by `with_legends`."""
    return column == NOTE or _NAMED_NOTE.fullmatch(column) is not None


def meanings_of(column: str, cell: str) -> list[str]:
    """Return the meanings of a cell's marks that `with_legends` inserted; [] for any other cell.

    A meaning has words: "9 (8)" is a mean with its standard deviation.
    """
    return [text for text in map(str.strip, _bracketed_texts(column, cell)) if TWO_LETTERS.search(text)]


def _bracketed_texts(column: str, cell: str) -> list[str]:
    """Return the texts behind a cell's marks that may be their meanings: the whole cell in a column of notes.

    "W, F (W: drinking water; F: fireplace)" gives "drinking water" and "fireplace" behind "". A cell that is no code
    needs a mark before each meaning.
    """
    if is_note(column):
        return [cell]
    if not cell.endswith(")") or " (" not in cell:
        return []
    value, _, inner = cell[:-1].partition(" (")
    is_number = is_figure(value) and not _SHORT_NUMBER.fullmatch(value)
    meanings = _MEANING_START.split(inner)
    is_of_codes = ONLY_CODES.fullmatch(value) is not None and all(map(is_code, CODE_SEPARATOR.split(value)))
    if is_of_codes and not is_number:
        return meanings
    return meanings[1:] if not meanings[0] else []


def explains(text: str, column: str, cell: str) -> bool:
    """Return whether a text is the explanation of a cell's mark in a legend: "○ closed", "S = Sundays only".

    The mark stands directly before its meaning, or the whole text is the meaning: "Buses marked * do not run.".
    """
    marks = column.split()[1:] if is_note(column) else CODE_SEPARATOR.split(cell.partition(" (")[0])
    for meaning in meanings_of(column, cell):
        start = text.find(meaning)
        if start < 0 or text[start + len(meaning) :][:1].isalnum():
            continue
        if text.strip(" .") == meaning.strip(" ."):
            return True
        before = text[:start].rstrip(" \t:=)]–—-")
        without_emphasis = before.rstrip("*_`")  # of "**S** Sundays"; a star may be the mark itself
        for mark in filter(None, marks):
            if _ends_with_mark(before, mark) or _ends_with_mark(without_emphasis, mark):
                return True
    return False


def _ends_with_mark(text: str, mark: str) -> bool:
    """Return whether a text ends with a mark that is not just the end of a word."""
    before = text.removesuffix(mark)
    return before != text and not before[-1:].isalnum()


def _row_with_meanings(line: str, row: MarkedRow, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> str:
    """Return a row's line with the meanings of its marks; one that becomes too long is split into several.

    The meaning of a mark on the first cell becomes a cell of its own, since that cell names the row.
    """
    parts = line.split(BAR)
    notes: list[str] = []
    first_part = 1 if row.row.caption else 0  # a caption is the first part of its line
    for part, cell in enumerate(row.row.cells, first_part):
        if not cell.text:
            continue
        text = cell.text
        if marked := row.cells.get(part):
            if part == first_part and marked.unmarked and len(row.row.cells) > 1:
                meanings = _find_meanings(marked.marks, cell.column, table, legends)
                notes += [f"{_note_name(mark)}: {meaning}" for mark, meaning in meanings.items()]
            else:
                text = _cell_with_meaning(marked, table, legends)
        if meanings := _find_meanings(marks_of_column_name(cell.column), cell.column, table, legends):
            text = f"{text} ({_format_meanings(meanings, cell.column)})"
        if text != cell.text:
            parts[part] = f"{cell.column}: {text}" if cell.column else text
    parts += notes
    if BAR.join(parts) == line:
        return line
    return "\n".join(_split_row(parts[: first_part + 1], parts[first_part + 1 :], max(LONGEST_ROW, len(line))))


def _split_row(lead: Sequence[str], parts: Sequence[str], longest: int) -> list[str]:
    """Return a row's parts as lines of at most a number of characters, each of which begins with the lead.

    A line has at least one part beside the lead, whatever its length.
    """
    lines: list[str] = []
    current = list(lead)
    for part in parts:
        if len(current) > len(lead) and len(BAR.join([*current, part])) > longest:
            lines.append(BAR.join(current))
            current = list(lead)
        current.append(part)
    return [*lines, BAR.join(current)]


def _cell_with_meaning(cell: MarkedCell, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> str:
    """Return a cell's text with the meanings of its marks behind it: "S (Sundays only)", "42 (a: provisional)".

    The text stays unchanged if one of its marks has no meaning, or may be something else, such as a unit.
    """
    meanings = _find_meanings(cell.marks, cell.column, table, legends)
    if not meanings or (cell.may_be_unit and not _are_letters_a_mark(cell, table)):
        return cell.text
    explanation = _format_meanings(meanings, cell.column)
    if cell.unmarked:
        return f"{cell.unmarked} ({explanation})"
    if not _is_cell_of_codes(cell, table, legends):
        return cell.text
    if WRAPPED_CELL.fullmatch(cell.text):
        return f"({explanation})"
    is_one_code = len(meanings) == 1 and cell.text in meanings
    return f"{cell.text} ({meanings[cell.text] if is_one_code else explanation})"


def _note_name(mark: str) -> str:
    """Return the name of a note in its row: "Note 2"; "Note" for an asterisk, which would be emphasis in Markdown."""
    return f"{NOTE} {mark.removeprefix('^')}" if mark.strip("*_") else NOTE


def _format_meanings(meanings: Mapping[str, str], column: str) -> str:
    """Return marks with their meanings on one line: "W: drinking water; F: fireplace".

    In a cell without a column's name an equals sign replaces the colon, which would separate a name from a value.
    """
    if len(meanings) == 1 and not next(iter(meanings)).strip("*_"):
        return next(iter(meanings.values()))  # Markdown takes a lone asterisk for emphasis
    sign = ": " if column else " = "
    return "; ".join(f"{mark.removeprefix('^')}{sign}{meaning}" for mark, meaning in meanings.items())


def _find_meanings(
    marks: Sequence[str], column: str, table: Sequence[MarkedRow], legends: Sequence[Legend]
) -> dict[str, str]:
    """Return the meanings of a cell's marks by mark, from the first legend that has each and applies to the column.

    If all marks together have a meaning, such as "ab", it is the only one. {} if a single mark has no meaning.

    Args:
        marks: All marks together, then each alone.
        column: The name of the cell's column.
        table: The rows of its table.
        legends: The legends, the most specific one first.
    """
    if not marks:
        return {}
    columns = {cell.column.casefold() for row in table for cell in row.row.cells}
    meanings: dict[str, str] = {}
    for legend in legends:
        legend_column = legend.column.casefold()
        is_for_column = legend_column == column.casefold()
        for mark in marks:
            # A number needs a legend for its column or for all; other marks one that is not for another known column.
            is_for_other_column = bool(legend_column) if mark.isdigit() else legend_column in columns
            if mark in legend.meanings and mark not in meanings and (is_for_column or not is_for_other_column):
                meanings[mark] = legend.meanings[mark]
    together, *single = marks
    if meanings.get(together):
        return {together: meanings[together]}
    return {mark: meanings[mark] for mark in single} if single and all(map(meanings.get, single)) else {}


def _are_letters_a_mark(cell: MarkedCell, table: Sequence[MarkedRow]) -> bool:
    """Return whether letters after a number are a mark: after a time, or if, unlike a unit, other numbers have none."""
    if _CLOCK_TIME.search(cell.unmarked):
        return True
    for text in _texts_of_column(cell.column, table):
        if text != cell.text and is_figure(text) and not LETTERS_BEHIND_FIGURE.search(text):
            return True
    return False


def _texts_of_column(column: str, table: Sequence[MarkedRow]) -> set[str]:
    """Return the different texts of the cells in a column of a table, which may include ""."""
    return {cell.text for row in table for cell in row.row.cells if cell.column == column}


def _is_cell_of_codes(cell: MarkedCell, table: Sequence[MarkedRow], legends: Sequence[Legend]) -> bool:
    """Return whether a cell of marks alone holds codes, not a word or a value that looks like a code.

    One or two letters are a code if at least half of the texts in the column are explained by a legend, or are
    numbers: "A" is no grade in a column of teams from A to Z. A number is a code only if a legend names its column.
    """
    column = cell.column.casefold()
    if all(mark.isdigit() for mark in cell.marks):
        return any(legend.column.casefold() == column != "" and cell.text in legend.meanings for legend in legends)
    if not cell.text.isalpha() or len(cell.text) > _MAX_AMBIGUOUS_LETTERS:
        return True
    explained = {
        marked.text
        for row in table
        for marked in row.cells.values()
        if marked.column == cell.column and _find_meanings(marked.marks, marked.column, table, legends)
    }
    texts = _texts_of_column(cell.column, table) - {""}
    fitting = 0
    for text in texts:
        has_meaning = any(text in legend.meanings for legend in legends)
        fitting += has_meaning or text in explained or is_figure(text)
    return fitting * 2 >= len(texts)

"""Legends of tables: what a mark or a code in a cell means, said in the cell itself: "42 (a: provisional figure)".

A row is searched, read and quoted by itself, and its legend stands below the table, above it or pages away. The lines
around a table are read for the marks that its cells hold; a mark that nothing explains, or that two lines explain in
two ways, stays as it is. By rule, over the rows' own lines (`text/tables.py`).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from preflight_rag.text.tables import (
    BAR,
    LONGEST_ROW,
    TableRow,
    is_figure,
    is_row,
    names_codes,
    names_legend,
    parse_row,
)
from preflight_rag.text.words import RAISED_LETTERS

LONGEST_MEANING = 120
"""Characters of what a mark means; longer ones are remarks, which stay where they stand. A guess, as all below."""
MOST_AROUND = 8
"""Lines below a table, and above it, that are read for its legend."""
MOST_BETWEEN = 2
"""Other lines in a row between a table and its legend, such as its source."""
FULL_LINE = 50
"""Characters of a line that may go on in the next one."""
MOST_CODES = 60
"""Codes of one legend; a longer list is a catalogue."""

NOTE = "Note"
"""The column of the note on a row, with its mark behind it."""
_NOTE, _NOTE_END = "\ue002", "\ue003"
"""Stand around the text of a note in a cell, as loaders write it; private characters are nobody's."""
_A_NOTE = re.compile(f"{_NOTE}([^{_NOTE}{_NOTE_END}\n]*){_NOTE_END}")
_CODE = r"(?:-9{2,4}(?!\d)|[^\W_]{1,5}|[^\W\d_](?:[./][^\W\d_]){1,2}\.?)"
_SYMBOL = r"[^\w\s.,;:(){}|/\\\"'“”‘’„‚«»$€£¥%&@<>=\[\]`^]{1,3}"
_KEY = rf"(?:{_CODE}|{_SYMBOL})"
_KEYS = rf"{_KEY}(?:, ?{_KEY}){{0,3}}"
_TO_RAISED = dict(zip("0123456789abcdefghijklmnoprstuvwxyz", RAISED_LETTERS, strict=True))
_TO_RAISED |= dict(zip("+-−–,", "⁺⁻⁻⁻,", strict=True))
_EXPONENT = re.compile(r"[-−–]?\d{1,2}")
_CITED = re.compile(r"\d{1,3}(?:, ?\d{1,3}){0,9}")
_WRAPPED = (
    rf"<sup>\s?\(?(?P<html>{_KEYS})\)?\s?</sup>|\\? ?:sup:`(?P<rst>{_KEYS})`|\[(?P<note>\^[^\W_]{{1,20}})\]"
    rf"|\[(?P<square>{_KEYS})\]_?|\^\(?(?P<caret>{_KEYS})\)?\^?|\((?P<round>{_KEYS})\)"
)
_WRAPPED_CELL = re.compile(_WRAPPED)
"""A mark as texts write it: "<sup>a</sup>", "[^1]", "[1]", "^a^", "(a)"; "(a note)" is none."""
_AT_END = re.compile(
    rf"\s?(?:{_WRAPPED}|(?P<raised>[{RAISED_LETTERS}](?:,?[{RAISED_LETTERS}]){{0,3}})"
    rf"|(?P<symbol>{_SYMBOL}(?:, ?{_SYMBOL}){{0,2}}))$"
)
"""A mark at the end of a cell: "812^a^", "1.9 [1]", "640¹", "388*"; "Hall (north wing)" has none."""
_AT_START = re.compile(r"(?P<symbol>[*†‡§¶#°+~]{1,2})\s?(?=\w)")
_BEHIND_FIGURE = re.compile(r"(?<=[\d%)])\s?(?P<plain>[^\W\d_]{1,3}(?:(?:, ?| )[^\W\d_]{1,2}){0,2})$")
"""Plain marks behind a figure or a time: "240a", "07:02 S", "06:40 A B"; "4 km" only where a legend says so."""
_NUMBER_CODE = re.compile(r"\d{1,2}")
_TIME = re.compile(r"\d{1,2}[:.h]\d\d\b")
_TAKES_MARK = re.compile(r"\d$|[^\W\d_]{3}\)?$")
_WHOLE = re.compile(rf"{_KEY}(?:(?: ?[,;/+] ?| ){_KEY}){{0,5}}")
"""A cell of nothing but codes: "S", "n/a", "R/P", "W, F"; "day off on request" has too many letters."""
_BETWEEN = re.compile(r" ?[,;/+] ?| ")
_HEADS = (
    "(?:keys?|legends?|symbols?|marks?|signs?|codes?|abbreviations?|(?:foot)?notes?|explanations?|glossary|legende"
    "|zeichenerklärung|abkürzungen|anmerkungen|fußnoten|leyenda|notas|légende|abréviations|legenda)"
)
_HEAD = re.compile(
    rf"(?:#{{1,6}} )?[*_]{{0,2}}(?P<head>(?:[\w-]+ ){{0,3}}{_HEADS}(?: [\w-]+){{0,4}})"
    r"[*_]{0,2}(?::[*_]{0,2}\s*|\.\s+|\s?$)",
    re.IGNORECASE,
)
"""How a legend begins: "Key:", "## Legend", "**Symbols used:** "; "Keys are at the desk." is a sentence."""
_HEAD_WORD = re.compile(rf"\b{_HEADS}\b", re.IGNORECASE)
_INTRO = re.compile(r"(?P<head>[^\W\d_][^:;=\n]{1,50}): (?=\S)")
"""What a legend may begin with otherwise: "State: ● open ○ closed"."""
_STRONG = re.compile(
    rf"(?:^|(?<=[;,.|•·/)] )|(?<=\s\s)|(?<= and ))(?:\*\*|__|`)?(?:{_WRAPPED}|(?P<plain>{_KEY}))(?:\*\*|__|`)?"
    r"(?P<mark> ?=|:(?=\s)|\s[–—-](?=\s)|\)(?=\s)|\s(?:denotes?|indicates?|means|stands for)(?=\s))\s*"
)
"""A mark with what parts it from its meaning: "S = Sundays only", "n/a: not assessed", "a) provisional"; "a lot" has
none."""
_LOOSE = re.compile(
    rf"(?:^|(?<=[;,.\w)] ))(?:{_WRAPPED}|(?P<raised>[{RAISED_LETTERS}]{{1,2}})|(?P<plain>{_KEY}))(?P<gap>\s*)(?=[^\W_])"
)
"""A mark in front of its meaning, with nothing or a space between: "* estimated", "a paid by the quarter"."""
_SENTENCE = re.compile(
    rf"\b(?:marked|denoted|indicated|shown)(?: with| by| as)?(?: an?| the)?(?: letter| symbol| sign)?"
    rf" [\"“'(]?(?P<key>{_KEY})[\"”')]?(?=[\s,.;]|$)"
    rf"|[\"“'(](?P<named>{_KEY})[\"”')] (?:denotes?|indicates?|means|stands for)\b"
)
"""A sentence about a mark: "Buses marked * do not run on Sundays.", "An asterisk (*) indicates estimates."."""
_BULLET = re.compile(r"[-•·‣]\s+(?=\S)")
_NUMBERED_NOTE = re.compile(r"\.\. \[[#*^]?[^\W_]{0,20}\]")
_NAMED_NOTE = re.compile(rf"{NOTE} \S{{1,5}}")
_WRITTEN = re.compile(rf"(?:^|; ){_KEY}(?::| =) ")
"""What stands between two meanings in a cell: "W: drinking water; F: fireplace"."""
_IN_BRACKETS = re.compile(r"\(([^()\n]{5,200})\)")
_BACKLINK = re.compile(r"(?P<key>\d{1,3})\. (?P<meaning>[^↩\n]{2,200}?) ?↩\ufe0e?")
"""A note at the end of a web page, with its link back: "1. measured at low water↩"."""
_ASIDE = re.compile(r"Footnote (?P<key>\d{1,4})(?: \([^()\n]{1,80}\))?: (?P<meaning>.+)")
"""A note as loaders of office documents write it, whose mark in a table is "[^1]"."""
_MARKDOWN_NOTE = re.compile(r"\[(?P<key>\^[^\W_]{1,20})\]: (?P<meaning>.+)")
_NOT_CODES = frozenset(
    re.findall(r"\w+", "NO OK YES ALL NOT THE FOR AND WE IT IF IN ON AT TO OF BY AS OR IS SO MY HE UP US DO GO")
)
"""Words in capitals that are seldom a code in front of other words."""
_ARTICLES = frozenset("AaIioOeEyYà")
"""Words of one letter in English, French, Italian and Spanish: in front of other words they are seldom a mark."""
_NO_READING = re.compile(r"-9{2,4}")
"""What instruments write where there is no value."""
_PLACEHOLDERS = frozenset({"tbd", "tba", "tbc", "nil", "abs"})
_WORD = re.compile(r"[^\W\d_]{2}")
_CELLS = re.compile(r"(?:\s[$€£]?\s?[–—-]){2}")
"""Blank cells of a row that was read as a line: "$ — $ —"."""
_DASHES = frozenset("-–—")


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


@dataclass(frozen=True)
class _Cell:
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
class _Row:
    """A row of a table: its line number in the text, its parsed form, and its cells with marks."""

    number: int
    row: TableRow
    cells: dict[int, _Cell]


@dataclass
class _Legend:
    """The meanings of marks, "" for a mark with two; `column` is the only column to which they apply, if any."""

    meanings: dict[str, str] = field(default_factory=dict)
    column: str = ""

    def add(self, found: Mapping[str, str]) -> None:
        """Add meanings; a mark with two different meanings gets none."""
        for key, meaning in found.items():
            if self.meanings.setdefault(key, meaning).casefold() != meaning.casefold():
                self.meanings[key] = ""


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
    tables = [_read(lines, table) for table in _tables(lines)]
    known = {id(table): _known(table) for table in tables}
    codes: dict[int, _Legend] = {}
    for before, table, behind in zip([[], *tables], tables, [*tables[1:], []], strict=False):
        near = known.get(id(before), frozenset()) | known.get(id(behind), frozenset())
        if (legend := _table_of_codes(lines, table, near)) is not None:
            codes[id(table)] = legend
    if not any(known[id(table)] for table in tables if id(table) not in codes):
        return {}
    general = [*codes.values(), *_headed(lines, frozenset[str]().union(*known.values()))]
    replaced: dict[int, str] = {}
    for table in tables:
        if id(table) in codes or not known[id(table)]:
            continue
        legends = [*_around(lines, table, known[id(table)]), *_of_names(table), *general]
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
    return [each for each in map(str.strip, _in_brackets(column, cell)) if _WORD.search(each)]


def _in_brackets(column: str, cell: str) -> list[str]:
    """Return the texts in brackets after a cell's marks, whether or not the marks are explained."""
    if is_note(column):
        return [cell]
    if not cell.endswith(")") or " (" not in cell:
        return []
    value, _, inner = cell[:-1].partition(" (")
    is_number = is_figure(value) and not _NUMBER_CODE.fullmatch(value)
    listed = _WRITTEN.split(inner)
    if _WHOLE.fullmatch(value) and all(map(_is_code, _BETWEEN.split(value))) and not is_number:
        return listed if len(listed) > 1 else [inner]
    return listed[1:] if not listed[0] else []


def explains(text: str, column: str, cell: str) -> bool:
    """Return whether a text is the explanation of a cell's mark in a legend: "○ closed", "S = Sundays only".

    The mark stands directly before its meaning, or the whole text is the meaning: "Buses marked * do not run.".
    """
    marks = column.split()[1:] if is_note(column) else _BETWEEN.split(cell.partition(" (")[0])
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


def _tables(lines: Sequence[str]) -> Iterator[list[int]]:
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


def _read(lines: Sequence[str], numbers: Sequence[int]) -> list[_Row]:
    """Return the rows on some lines, with their marked cells."""
    found = []
    for number in numbers:
        row = parse_row(lines[number])
        if row is not None:
            shift = 1 if row.caption else 0
            cells = [_marked(place + shift, cell.column, cell.text) for place, cell in enumerate(row.cells)]
            found.append(_Row(number, row, {cell.part: cell for cell in cells if cell is not None}))
    return found


def _marked(part: int, column: str, text: str) -> _Cell | None:
    """Return a cell that has marks or consists of codes; None for any other cell."""
    if not text or len(text) > LONGEST_MEANING:
        return None
    if _WHOLE.fullmatch(text):
        keys = _BETWEEN.split(text)
        is_mixed = len({key.isdigit() for key in keys}) > 1  # "395 a"
        if (all(map(_is_code, keys)) and not is_mixed) or _is_code(text):
            return _Cell(part, column, text, "", tuple(dict.fromkeys([text, *keys])))
    if wrapped := _WRAPPED_CELL.fullmatch(text):
        # "(4)" is four below nothing.
        return None if (wrapped["round"] or "").isdigit() else _Cell(part, column, text, "", _keys(wrapped))
    if end := _AT_END.search(text):
        rest = text[: end.start()].rstrip()
        if rest and not ((end["round"] or "").isdigit() and rest[-1] in "0123456789%)"):
            return _Cell(part, column, text, rest, _keys(end))
    elif start := _AT_START.match(text):
        return _Cell(part, column, text, text[start.end() :], _keys(start))
    elif plain := _BEHIND_FIGURE.search(text):
        marks = re.split(r", ?| ", plain["plain"])
        own = [plain["plain"], *(marks if len(marks) > 1 else marks[0])]
        return _Cell(part, column, text, text[: plain.start()], tuple(own), is_plain=True)
    return None


def _keys(match: re.Match[str]) -> tuple[str, ...]:
    """Return the marks of a match: all together, then each alone."""
    text = next(value for name, value in match.groupdict().items() if value and name not in ("mark", "gap"))
    text = unicodedata.normalize("NFKC", text)
    parts = re.split(r", ?", text)
    if "symbol" in match.groupdict() or "raised" in match.groupdict():
        parts = [char for part in parts for char in (part if match.groupdict().get("symbol") else [part])]
    return tuple(dict.fromkeys([text, *parts]))


def _is_code(key: str) -> bool:
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


def _known(table: Sequence[_Row]) -> frozenset[str]:
    """Return the marks in a table's cells and in the names of its columns."""
    keys = {key for row in table for cell in row.cells.values() for key in cell.keys}
    columns = {cell.column for row in table for cell in row.row.cells}
    return frozenset(keys.union(*map(_name_keys, columns)))


def _name_keys(column: str) -> tuple[str, ...]:
    """Return the marks at the end of a column's name; "(m)" is its unit."""
    end = _AT_END.search(column)
    return _keys(end) if end and not end["round"] and column[: end.start()].strip() else ()


def _around(lines: Sequence[str], table: Sequence[_Row], known: frozenset[str]) -> list[_Legend]:
    """Return the legends on the lines below a table, then those above it."""
    below = _paragraphs(lines, range(table[-1].number + 1, len(lines)))
    above = list(reversed(_paragraphs(lines, range(table[0].number - 1, -1, -1))))
    return [*_legends(below, known, is_below=True), *_legends(above, known, is_below=False)]


def _paragraphs(lines: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """Return the lines from a line on, upwards or downwards, up to a row, another heading, or a maximum number."""
    found: list[str] = []
    for number in numbers:
        line = lines[number].strip()
        if not line:
            continue
        if is_row(line) or len(found) == MOST_AROUND:
            break
        if found and _NUMBERED_NOTE.fullmatch(found[-1]):  # reStructuredText has the note below its mark
            found[-1] = f"{found[-1]} {line}"
        else:
            found.append(line)
        if line.startswith("#") and not _HEAD.fullmatch(line):
            break
    return found


def _legends(lines: Sequence[str], known: frozenset[str], *, is_below: bool) -> list[_Legend]:
    """Return the legends of some lines, one for each column that they name."""
    found: dict[str, _Legend] = {}
    is_headed, others, last = False, 0, ""
    for before, line in pairwise(["", *lines]):
        head = _HEAD.match(line)
        is_headed = is_headed or head is not None
        body = line[head.end() :] if head else line
        column, entries = _entries(body, known, may_be_loose=is_below or is_headed, is_listed=is_headed or bool(last))
        if not entries and not head:
            if len(before) >= FULL_LINE and last and body[:1].islower():  # the line above was broken
                entries = {last: f"{found[column].meanings.get(last, '')} {body}"} if column in found else {}
                if entries and found[column].meanings.pop(last, ""):
                    found[column].add(_meaningful(entries))
                continue
            others += 1
            if others > MOST_BETWEEN and is_below:
                break
            is_headed, last = False, ""
            continue
        if head and not column:
            column = _named_column(head["head"])
        found.setdefault(column, _Legend(column=column)).add(entries)
        last = next(reversed(entries), "")
    for legend in found.values():
        if "Q" in legend.meanings and "Q" not in known:  # questions and answers
            legend.meanings.pop("A", "")
    return list(found.values())


def _named_column(head: str) -> str:
    """Return the column that the heading of a legend names: "Grade" of "Grade key"."""
    return " ".join(_HEAD_WORD.sub(" ", head).split())


def _entries(line: str, known: frozenset[str], *, may_be_loose: bool, is_listed: bool) -> tuple[str, dict[str, str]]:
    """Return the column to which a line's legend applies, "" for all, and the meanings by mark.

    Args:
        line: The line, without the word that begins the legend.
        known: Marks of the table.
        may_be_loose: Whether a mark may directly precede its meaning, without a separator.
        is_listed: Whether the line is in a list of marks, in which a capital letter is one, too.
    """
    body = line.removeprefix(".. ")
    body = _BULLET.sub("", body, count=1) if _STRONG.match(_BULLET.sub("", body, count=1)) else body
    if note := _MARKDOWN_NOTE.fullmatch(body):
        return "", _meaningful({note["key"]: note["meaning"]})
    if note := _BACKLINK.fullmatch(body):
        return "", _meaningful({note["key"]: note["meaning"]})
    if found := _strong(body):
        return "", found
    if may_be_loose and (found := _loose(body, known, is_listed=is_listed)):
        return "", found
    if intro := _INTRO.match(body):
        rest = body[intro.end() :]
        if found := _strong(rest) or (_loose(rest, known, is_listed=True) if may_be_loose else {}):
            return intro["head"].strip(), found
    for inner in _IN_BRACKETS.findall(body):
        if (found := _strong(inner)) and "=" in inner:
            return "", found
    return "", _sentences(body, known)


def _strong(body: str) -> dict[str, str]:
    """Return the meanings of marks that are separated from them by one sign, the same throughout."""
    matches = list(_STRONG.finditer(body))
    if not matches or matches[0].start() > 0:
        return {}
    sign = matches[0]["mark"].strip()[:1]
    matches = [each for each in matches if each["mark"].strip()[:1] == sign and all(map(_is_code, _keys(each)[-1:]))]
    if not matches or matches[0].start() > 0:
        return {}
    found = _Legend()
    ends = [*(each.start() for each in matches[1:]), len(body)]
    for match, end in zip(matches, ends, strict=True):
        found.add(dict.fromkeys(_keys(match)[-1:], body[match.end() : end]))
    return _meaningful(found.meanings)


def _loose(body: str, known: frozenset[str], *, is_listed: bool) -> dict[str, str]:
    """Return the meanings of the table's marks if the marks directly precede them."""
    matches: list[re.Match[str]] = []
    if _LOOSE.match(body) is None:
        return {}
    for match in _LOOSE.finditer(body):
        key = _keys(match)[-1]
        # Where one symbol ends the meaning before it, so does one that the table has not.
        is_symbol = match["plain"] and not any(map(str.isalnum, key))
        if (key in known or is_symbol) and _begins_meaning(match, body, is_first=not matches, is_listed=is_listed):
            matches.append(match)
        elif not matches:  # prose
            return {}
    if not matches or matches[0].start() > 0:
        return {}
    found = _Legend()
    for match, end in zip(matches, [*(each.start() for each in matches[1:]), len(body)], strict=True):
        found.add({_keys(match)[-1]: body[match.end() : end]})
    return _meaningful(found.meanings) if found.meanings.keys() & known else {}


def _begins_meaning(match: re.Match[str], body: str, *, is_first: bool, is_listed: bool) -> bool:
    """Return whether a matched mark introduces its meaning, rather than being a word of a sentence."""
    key, at = _keys(match)[-1], match.start()
    if key in _DASHES or (not match["gap"] and key.isalnum() and not match["raised"]):
        return False
    if not match["plain"] or not any(map(str.isalnum, key)) or "/" in key or len(match["gap"]) > 1:
        return True
    is_behind_end = at == 0 or body[at - 2] in ";.,"
    if len(key) > 1 and key.isalpha():
        return key == key.upper() and key not in _NOT_CODES and is_behind_end
    if at == 0:
        return key.islower() or key.isdigit() or (is_listed and key not in _ARTICLES)
    return key not in _ARTICLES and not is_first and (key.islower() or is_behind_end)


def _sentences(body: str, known: frozenset[str]) -> dict[str, str]:
    """Return, by mark, the sentence that explains it; a mark with two sentences has none."""
    found = _Legend()
    for sentence in re.split(r"(?<=[.!?]) ", body):
        for match in _SENTENCE.finditer(sentence):
            key = match["key"] or match["named"]
            if key in known and (match["named"] or key not in _ARTICLES) and _is_code(key):
                found.add({key: sentence})
    return _meaningful(found.meanings)


def _meaningful(meanings: Mapping[str, str]) -> dict[str, str]:
    """Return meanings shortened for a cell; "" for one that is too long or contains no word."""
    found = {}
    for key, meaning in meanings.items():
        text = meaning.replace("|", "/").replace(": ", ", ").strip(" ;,.:/·•*_").removesuffix(" and")
        if text.count("(") > text.count(")"):
            text += ")"
        is_meaning = len(text) <= LONGEST_MEANING and _WORD.search(text) and not _CELLS.search(text)
        found[key] = text if is_meaning else ""
    return found


def _headed(lines: Sequence[str], known: frozenset[str]) -> list[_Legend]:
    """Return the legends for a whole document: those with a heading, and footnotes of Markdown or web pages."""
    found: list[_Legend] = []
    notes = _Legend()
    for number, line in enumerate(lines):
        text = line.strip()
        note = _MARKDOWN_NOTE.fullmatch(text) or _BACKLINK.fullmatch(text)
        if note:
            notes.add(_meaningful({note["key"]: note["meaning"]}))
        elif aside := _ASIDE.fullmatch(text):
            notes.add(_meaningful({f"^{aside['key']}": aside["meaning"]}))
        elif _HEAD.match(text) and not is_row(text):
            found += _legends([text, *_listed(lines, number + 1, known)], known, is_below=True)
    return [*_merged(found), notes]


def _listed(lines: Sequence[str], first: int, known: frozenset[str]) -> Iterator[str]:
    """Yield the lines of a legend below its heading."""
    for line in lines[first : first + MOST_CODES]:
        text = line.strip()
        if not text:
            continue
        if is_row(text) or _HEAD.match(text) or not _entries(text, known, may_be_loose=True, is_listed=True)[1]:
            return
        yield text


def _merged(legends: Sequence[_Legend]) -> list[_Legend]:
    """Return one legend for each column; a mark on which two of them differ gets no meaning."""
    found: dict[str, _Legend] = {}
    for each in legends:
        found.setdefault(each.column.casefold(), _Legend(column=each.column)).add(each.meanings)
    return list(found.values())


def _table_of_codes(lines: Sequence[str], table: Sequence[_Row], near: frozenset[str]) -> _Legend | None:
    """Return the legend that a two-column table of codes and meanings is; None for any other table.

    It is recognised by the names of its columns or by its heading; one without names explains marks of the table
    before or after it.
    """
    pairs: list[tuple[str, str]] = []
    names = ("", "")
    for row in table:
        cells = row.row.cells
        if len(cells) == 1:
            pairs.append((cells[0].column, cells[0].text))
        elif len(cells) == 2:
            names = (cells[0].column, cells[1].column)
            pairs.append((cells[0].text, cells[1].text))
        else:
            return None
    if len(pairs) > 1 and not any(names) and not _is_code(pairs[0][0]):
        names = pairs.pop(0)
    if not 0 < len(pairs) <= MOST_CODES or not all(_is_code(key) for key, _ in pairs):
        return None
    before = next((lines[number].strip() for number in range(table[0].number - 1, -1, -1) if lines[number].strip()), "")
    heads = (before.strip("# "), table[0].row.caption.strip(" ."))
    is_headed = any(_HEAD.fullmatch(each) for each in heads if each)
    explains = not any(names) and len(pairs) > 1 and all(key in near for key, _ in pairs)
    if not (names_legend(names) or is_headed or explains):
        return None
    found = _Legend(column="" if names_codes(names[0]) else names[0])
    for key, meaning in pairs:
        found.add(_meaningful({key: meaning}))
    return found


def _of_names(table: Sequence[_Row]) -> Iterator[_Legend]:
    """Yield the legends inside names of columns: "Status (A = active, R = retired)"."""
    for column in {cell.column: None for row in table for cell in row.row.cells}:
        for inner in _IN_BRACKETS.findall(column):
            if "=" in inner and (found := _strong(inner)):
                yield _Legend(found, column)


def _explained(line: str, row: _Row, table: Sequence[_Row], legends: Sequence[_Legend]) -> str:
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
        if found := _lookup(_name_keys(cell.column), cell.column, table, legends):
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


def _with_meaning(cell: _Cell, table: Sequence[_Row], legends: Sequence[_Legend]) -> str:
    """Return a cell's text with the meanings of its marks; unchanged if one of them has none."""
    found = _lookup(cell.keys, cell.column, table, legends)
    if (
        not found
        or (cell.is_plain and not _may_be_mark(cell, table))
        or (not cell.rest and not _may_be_codes(cell, table, legends))
    ):
        return cell.text
    if not cell.rest and _WRAPPED_CELL.fullmatch(cell.text):
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


def _lookup(keys: Sequence[str], column: str, table: Sequence[_Row], legends: Sequence[_Legend]) -> dict[str, str]:
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


def _may_be_mark(cell: _Cell, table: Sequence[_Row]) -> bool:
    """Return whether letters after a figure are a mark: after a time, or if other figures of the column have none.

    A unit follows all figures of its column.
    """
    if _TIME.search(cell.rest):
        return True
    others = (each for row in table for each in row.row.cells if each.column == cell.column and each.text != cell.text)
    return any(is_figure(each.text) and not _BEHIND_FIGURE.search(each.text) for each in others)


def _may_be_codes(cell: _Cell, table: Sequence[_Row], legends: Sequence[_Legend]) -> bool:
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

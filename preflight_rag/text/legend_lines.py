"""The legends of a table: the lines that say what the marks of its cells mean, below it, above it or pages away.

"S = Sundays only" gives the mark "S" its meaning. A mark that two lines explain in two ways has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from preflight_rag.text.marks import (
    LONGEST_MEANING,
    MARK_PATTERN,
    WRAPPED_MARK_PATTERN,
    MarkedRow,
    is_code,
    marks_in_match,
)
from preflight_rag.text.tables import is_row, names_codes, names_legend
from preflight_rag.text.words import RAISED_LETTERS

MAX_LINES_AROUND = 8
"""Most lines below a table, and above it, that are read for its legend. A guess, like the next three."""
MAX_LINES_BETWEEN = 2
"""Most other lines in a row between a table and its legend, such as its source."""
MIN_WRAPPED_LINE_CHARS = 50
"""Least characters of a line that may continue in the next one."""
MAX_CODES = 60
"""Most codes of one legend; a longer list is a catalogue."""
_LEGEND_WORDS = (
    "(?:keys?|legends?|symbols?|marks?|signs?|codes?|abbreviations?|(?:foot)?notes?|explanations?|glossary|legende"
    "|zeichenerklärung|abkürzungen|anmerkungen|fußnoten|leyenda|notas|légende|abréviations|legenda)"
)
_LEGEND_HEADING = re.compile(
    rf"(?:#{{1,6}} )?[*_]{{0,2}}(?P<head>(?:[\w-]+ ){{0,3}}{_LEGEND_WORDS}(?: [\w-]+){{0,4}})"
    r"[*_]{0,2}(?::[*_]{0,2}\s*|\.\s+|\s?$)",
    re.IGNORECASE,
)
"""Matches the beginning of a legend: "Key:", "## Legend", "**Symbols used:** "; not "Keys are at the desk."."""
_LEGEND_WORD = re.compile(rf"\b{_LEGEND_WORDS}\b", re.IGNORECASE)
_COLUMN_PREFIX = re.compile(r"(?P<head>[^\W\d_][^:;=\n]{1,50}): (?=\S)")
"""The name of the column to which a line's legend applies: "State" of "State: ● open ○ closed"."""
_MARK_WITH_SEPARATOR = re.compile(
    rf"(?:^|(?<=[;,.|•·/)] )|(?<=\s\s)|(?<= and ))(?:\*\*|__|`)?"
    rf"(?:{WRAPPED_MARK_PATTERN}|(?P<plain>{MARK_PATTERN}))(?:\*\*|__|`)?"
    r"(?P<separator> ?=|:(?=\s)|\s[–—-](?=\s)|\)(?=\s)|\s(?:denotes?|indicates?|means|stands for)(?=\s))\s*"
)
"""A mark with what separates it from its meaning: "S = Sundays only", "n/a: not assessed", "a) provisional"; not "a
lot"."""
_MARK_BEFORE_WORD = re.compile(
    rf"(?:^|(?<=[;,.\w)] ))(?:{WRAPPED_MARK_PATTERN}|(?P<raised>[{RAISED_LETTERS}]{{1,2}})|(?P<plain>{MARK_PATTERN}))"
    r"(?P<gap>\s*)(?=[^\W_])"
)
"""A mark in front of its meaning, with nothing or a space between: "* estimated", "a paid by the quarter"."""
_SENTENCE_ABOUT_MARK = re.compile(
    rf"\b(?:marked|denoted|indicated|shown)(?: with| by| as)?(?: an?| the)?(?: letter| symbol| sign)?"
    rf" [\"“'(]?(?P<key>{MARK_PATTERN})[\"”')]?(?=[\s,.;]|$)"
    rf"|[\"“'(](?P<named>{MARK_PATTERN})[\"”')] (?:denotes?|indicates?|means|stands for)\b"
)
"""A sentence about a mark: "Buses marked * do not run on Sundays.", "An asterisk (*) indicates estimates."."""
_BULLET = re.compile(r"[-•·‣]\s+(?=\S)")
_RST_FOOTNOTE_MARK = re.compile(r"\.\. \[[#*^]?[^\W_]{0,20}\]")
_IN_BRACKETS = re.compile(r"\(([^()\n]{5,200})\)")
_WEB_FOOTNOTE = re.compile(r"(?P<key>\d{1,3})\. (?P<meaning>[^↩\n]{2,200}?) ?↩\ufe0e?")
"""A note at the end of a web page, with its link back: "1. measured at low water↩"."""
_OFFICE_FOOTNOTE = re.compile(r"Footnote (?P<key>\d{1,4})(?: \([^()\n]{1,80}\))?: (?P<meaning>.+)")
"""A note as loaders of office documents write it, whose mark in a table is "[^1]"."""
_MARKDOWN_NOTE = re.compile(r"\[(?P<key>\^[^\W_]{1,20})\]: (?P<meaning>.+)")
_COMMON_CAPITAL_WORDS = frozenset(
    re.findall(r"\w+", "NO OK YES ALL NOT THE FOR AND WE IT IF IN ON AT TO OF BY AS OR IS SO MY HE UP US DO GO")
)
"""Words in capitals that are seldom codes, though a word follows."""
_ONE_LETTER_WORDS = frozenset("AaIioOeEyYà")
"""Words of one letter in English, French, Italian and Spanish: if a word follows, they are seldom marks."""
TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_BLANK_CELLS = re.compile(r"(?:\s[$€£]?\s?[–—-]){2}")
"""Blank cells of a row that was read as a line: "$ — $ —"."""
_DASHES = frozenset("-–—")


@dataclass
class Legend:
    """The meanings of marks.

    Attributes:
        meanings: The meaning of each mark; "" for a mark that has two or none that can be shown.
        column: The name of the only column to which they apply; "" if they apply to all.
    """

    meanings: dict[str, str] = field(default_factory=dict)
    column: str = ""

    def add(self, meanings: Mapping[str, str]) -> None:
        """Add the meanings of marks; a mark that gets a second, different meaning has "" from then on."""
        for mark, meaning in meanings.items():
            if self.meanings.setdefault(mark, meaning).casefold() != meaning.casefold():
                self.meanings[mark] = ""


def legends_around(lines: Sequence[str], table: Sequence[MarkedRow], known: frozenset[str]) -> list[Legend]:
    """Return the legends on the lines below a table, then those above it; `known` are the marks in the table."""
    below = _lines_near_table(lines, range(table[-1].line_number + 1, len(lines)))
    above = list(reversed(_lines_near_table(lines, range(table[0].line_number - 1, -1, -1))))
    return [*_parse_legends(below, known, is_below=True), *_parse_legends(above, known, is_below=False)]


def _lines_near_table(lines: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """Return the lines at some indices that are not blank, in the order of these.

    They end before another table's row or after `MAX_LINES_AROUND`, and with a heading that is no legend's.
    """
    nearby: list[str] = []
    for number in numbers:
        line = lines[number].strip()
        if not line:
            continue
        if is_row(line) or len(nearby) == MAX_LINES_AROUND:
            break
        if nearby and _RST_FOOTNOTE_MARK.fullmatch(nearby[-1]):  # reStructuredText has the note below its mark
            nearby[-1] = f"{nearby[-1]} {line}"
        else:
            nearby.append(line)
        if line.startswith("#") and not _LEGEND_HEADING.fullmatch(line):
            break
    return nearby


def _parse_legends(lines: Sequence[str], known: frozenset[str], *, is_below: bool) -> list[Legend]:
    """Return the legends on some lines, one for each column that they name and one for all columns.

    Args:
        lines: The lines beside a table, or a legend's heading with the lines below it.
        known: The marks of the table.
        is_below: Whether the lines are below the table: the search then ends after `MAX_LINES_BETWEEN` other lines.
    """
    legends: dict[str, Legend] = {}
    is_headed, other_lines, last_mark = False, 0, ""
    for line_above, line in pairwise(["", *lines]):
        heading = _LEGEND_HEADING.match(line)
        is_headed = is_headed or heading is not None
        body = line[heading.end() :] if heading else line
        column, meanings = _parse_entries(
            body, known, may_be_loose=is_below or is_headed, is_listed=is_headed or bool(last_mark)
        )
        if meanings or heading:
            if heading and not column:
                column = _column_in_heading(heading["head"])
            legends.setdefault(column, Legend(column=column)).add(meanings)
            last_mark = next(reversed(meanings), "")
        elif len(line_above) >= MIN_WRAPPED_LINE_CHARS and last_mark and body[:1].islower():
            # The line above was broken: this one continues its last meaning.
            if column in legends and (begun := legends[column].meanings.pop(last_mark, None)):
                legends[column].add(_clean_meanings({last_mark: f"{begun} {body}"}))
        else:
            other_lines += 1
            if other_lines > MAX_LINES_BETWEEN and is_below:
                break
            is_headed, last_mark = False, ""
    for legend in legends.values():
        if "Q" in legend.meanings and "Q" not in known:  # "Q:" and "A:" are questions and answers
            legend.meanings.pop("A", "")
    return list(legends.values())


def _column_in_heading(heading: str) -> str:
    """Return the column that the heading of a legend names: "Grade" of "Grade key"; "" if it names none."""
    return " ".join(_LEGEND_WORD.sub(" ", heading).split())


def _parse_entries(
    line: str, known: frozenset[str], *, may_be_loose: bool, is_listed: bool
) -> tuple[str, dict[str, str]]:
    """Return the column to which a line's legend applies, "" for all, and the meanings that it gives, by mark.

    Args:
        line: The line, without the word that begins the legend.
        known: The marks of the table.
        may_be_loose: Whether a mark may directly precede its meaning, without a separator.
        is_listed: Whether the line is in a list of marks, in which a capital letter is one, too.
    """
    body = line.removeprefix(".. ")
    without_bullet = _BULLET.sub("", body, count=1)
    if _MARK_WITH_SEPARATOR.match(without_bullet):
        body = without_bullet
    if note := _MARKDOWN_NOTE.fullmatch(body) or _WEB_FOOTNOTE.fullmatch(body):
        return "", _clean_meanings({note["key"]: note["meaning"]})
    if meanings := _separated_meanings(body):
        return "", meanings
    if may_be_loose and (meanings := _adjacent_meanings(body, known, is_listed=is_listed)):
        return "", meanings
    if prefix := _COLUMN_PREFIX.match(body):
        behind = body[prefix.end() :]
        meanings = _separated_meanings(behind)
        if not meanings and may_be_loose:
            meanings = _adjacent_meanings(behind, known, is_listed=True)
        if meanings:
            return prefix["head"].strip(), meanings
    for inner in _IN_BRACKETS.findall(body):
        if (meanings := _separated_meanings(inner)) and "=" in inner:
            return "", meanings
    return "", _sentence_meanings(body, known)


def _separated_meanings(body: str) -> dict[str, str]:
    """Return, by mark, the meanings on a line that begins with a mark and a separator: "S = Sundays; F = Fridays".

    The separator is the same throughout; other ones belong to a meaning. {} for any other line.
    """
    entries = list(_MARK_WITH_SEPARATOR.finditer(body))
    if not entries or entries[0].start() > 0:
        return {}
    separator = entries[0]["separator"].strip()[:1]
    entries = [
        entry
        for entry in entries
        if entry["separator"].strip()[:1] == separator and all(map(is_code, marks_in_match(entry)[-1:]))
    ]
    return _meanings_up_to_next(body, entries)


def _meanings_up_to_next(body: str, entries: Sequence[re.Match[str]]) -> dict[str, str]:
    """Return, by mark, the text between each match of a mark and the next one; {} unless the first begins the line."""
    if not entries or entries[0].start() > 0:
        return {}
    legend = Legend()
    ends = [*(entry.start() for entry in entries[1:]), len(body)]
    for entry, end in zip(entries, ends, strict=True):
        legend.add({marks_in_match(entry)[-1]: body[entry.end() : end]})
    return _clean_meanings(legend.meanings)


def _adjacent_meanings(body: str, known: frozenset[str], *, is_listed: bool) -> dict[str, str]:
    """Return, by mark, the meanings on a line that begins with a mark and, without a separator, its meaning.

    "* estimated † provisional" is such a line, if one of its marks is known from the table; {} for any other line.
    """
    entries: list[re.Match[str]] = []
    if _MARK_BEFORE_WORD.match(body) is None:
        return {}
    for match in _MARK_BEFORE_WORD.finditer(body):
        mark = marks_in_match(match)[-1]
        # A symbol that the table lacks is a mark as well: it ends the meaning before it.
        is_symbol = match["plain"] and not any(map(str.isalnum, mark))
        is_mark = mark in known or is_symbol
        if is_mark and _introduces_meaning(match, body, is_first=not entries, is_listed=is_listed):
            entries.append(match)
        elif not entries:  # prose
            return {}
    meanings = _meanings_up_to_next(body, entries)
    return meanings if meanings.keys() & known else {}


def _introduces_meaning(match: re.Match[str], body: str, *, is_first: bool, is_listed: bool) -> bool:
    """Return whether a matched mark introduces its meaning, rather than being a word of a sentence.

    Args:
        match: A match of `_MARK_BEFORE_WORD`.
        body: The line in which it is.
        is_first: Whether no mark before it on the line introduces a meaning.
        is_listed: Whether the line is in a list of marks, in which "B" at the beginning is one.
    """
    mark, start = marks_in_match(match)[-1], match.start()
    touches_word = not match["gap"] and mark.isalnum() and not match["raised"]
    if mark in _DASHES or touches_word:
        return False
    is_wrapped_or_symbol = not match["plain"] or not any(map(str.isalnum, mark))
    if is_wrapped_or_symbol or "/" in mark or len(match["gap"]) > 1:
        return True
    is_behind_end = start == 0 or body[start - 2] in ";.,"
    if len(mark) > 1 and mark.isalpha():
        return mark == mark.upper() and mark not in _COMMON_CAPITAL_WORDS and is_behind_end
    if start == 0:
        return mark.islower() or mark.isdigit() or (is_listed and mark not in _ONE_LETTER_WORDS)
    return mark not in _ONE_LETTER_WORDS and not is_first and (mark.islower() or is_behind_end)


def _sentence_meanings(body: str, known: frozenset[str]) -> dict[str, str]:
    """Return, by known mark, the sentence on a line that explains it; "" for a mark with two sentences."""
    legend = Legend()
    for sentence in re.split(r"(?<=[.!?]) ", body):
        for match in _SENTENCE_ABOUT_MARK.finditer(sentence):
            mark = match["key"] or match["named"]
            if mark in known and (match["named"] or mark not in _ONE_LETTER_WORDS) and is_code(mark):
                legend.add({mark: sentence})
    return _clean_meanings(legend.meanings)


def _clean_meanings(meanings: Mapping[str, str]) -> dict[str, str]:
    """Return meanings in the form for a cell, without separators; "" for one that is too long or contains no word."""
    cleaned = {}
    for mark, meaning in meanings.items():
        text = meaning.replace("|", "/").replace(": ", ", ").strip(" ;,.:/·•*_").removesuffix(" and")
        if text.count("(") > text.count(")"):
            text += ")"
        is_meaning = len(text) <= LONGEST_MEANING and TWO_LETTERS.search(text) and not _BLANK_CELLS.search(text)
        cleaned[mark] = text if is_meaning else ""
    return cleaned


def headed_legends(lines: Sequence[str], known: frozenset[str]) -> list[Legend]:
    """Return the legends for all tables of a document: those with a heading, one for each column, and the footnotes.

    Args:
        lines: The lines of the document.
        known: The marks of its tables.
    """
    legends: list[Legend] = []
    notes = Legend()
    for number, line in enumerate(lines):
        text = line.strip()
        note = _MARKDOWN_NOTE.fullmatch(text) or _WEB_FOOTNOTE.fullmatch(text)
        if note:
            notes.add(_clean_meanings({note["key"]: note["meaning"]}))
        elif footnote := _OFFICE_FOOTNOTE.fullmatch(text):
            notes.add(_clean_meanings({f"^{footnote['key']}": footnote["meaning"]}))
        elif _LEGEND_HEADING.match(text) and not is_row(text):
            legends += _parse_legends([text, *_legend_lines_below(lines, number + 1, known)], known, is_below=True)
    return [*_merge_by_column(legends), notes]


def _legend_lines_below(lines: Sequence[str], first: int, known: frozenset[str]) -> Iterator[str]:
    """Yield the lines of a legend below its heading, from index `first`, up to the first that explains no mark."""
    for line in lines[first : first + MAX_CODES]:
        text = line.strip()
        if not text:
            continue
        if (
            is_row(text)
            or _LEGEND_HEADING.match(text)
            or not _parse_entries(text, known, may_be_loose=True, is_listed=True)[1]
        ):
            return
        yield text


def _merge_by_column(legends: Sequence[Legend]) -> list[Legend]:
    """Return one legend for each column; a mark on which two of the given ones differ gets the meaning ""."""
    merged: dict[str, Legend] = {}
    for legend in legends:
        merged.setdefault(legend.column.casefold(), Legend(column=legend.column)).add(legend.meanings)
    return list(merged.values())


def table_of_codes(lines: Sequence[str], table: Sequence[MarkedRow], near: frozenset[str]) -> Legend | None:
    """Return the legend that a two-column table of codes and meanings is; None for any other table.

    It is recognised by the names of its columns or by its heading; one with neither if it explains marks nearby.

    Args:
        lines: The lines of the text.
        table: The rows of the table.
        near: The marks of the tables before and after it.
    """
    pairs: list[tuple[str, str]] = []
    names = ("", "")
    for row in table:
        cells = row.row.cells
        if len(cells) == 1:  # "S: Sundays", whose code is written like a column's name
            pairs.append((cells[0].column, cells[0].text))
        elif len(cells) == 2:
            names = (cells[0].column, cells[1].column)
            pairs.append((cells[0].text, cells[1].text))
        else:
            return None
    if len(pairs) > 1 and not any(names) and not is_code(pairs[0][0]):
        names = pairs.pop(0)  # a header that was read as a row: "Code" and "Meaning"
    if not 0 < len(pairs) <= MAX_CODES or not all(is_code(code) for code, _ in pairs):
        return None
    headings = (_last_line_before(lines, table[0].line_number).strip("# "), table[0].row.caption.strip(" ."))
    is_headed = any(_LEGEND_HEADING.fullmatch(heading) for heading in headings if heading)
    explains_nearby = not any(names) and len(pairs) > 1 and all(code in near for code, _ in pairs)
    if not (names_legend(names) or is_headed or explains_nearby):
        return None
    legend = Legend(column="" if names_codes(names[0]) else names[0])
    for code, meaning in pairs:
        legend.add(_clean_meanings({code: meaning}))
    return legend


def _last_line_before(lines: Sequence[str], index: int) -> str:
    """Return the nearest line above an index that is not blank, stripped; "" if there is none."""
    return next((line.strip() for line in reversed(lines[:index]) if line.strip()), "")


def legends_in_column_names(table: Sequence[MarkedRow]) -> Iterator[Legend]:
    """Yield the legends inside names of columns: "Status (A = active, R = retired)"."""
    columns = dict.fromkeys(cell.column for row in table for cell in row.row.cells)
    for column in columns:
        for inner in _IN_BRACKETS.findall(column):
            if "=" in inner and (meanings := _separated_meanings(inner)):
                yield Legend(meanings, column)

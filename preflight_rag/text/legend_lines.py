"""The legends around a table: the lines that say what the marks of its cells mean, below it, above it or pages away.

A mark that two lines explain in two ways has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from preflight_rag.text.marks import LONGEST_MEANING, MARK, WRAPPED_MARK, MarkedRow, is_code, keys_of
from preflight_rag.text.tables import is_row, names_codes, names_legend
from preflight_rag.text.words import RAISED_LETTERS

MOST_AROUND = 8
"""Lines below a table, and above it, that are read for its legend. A guess, as the next three."""
MOST_BETWEEN = 2
"""Other lines in a row between a table and its legend, such as its source."""
FULL_LINE = 50
"""Characters of a line that may go on in the next one."""
MOST_CODES = 60
"""Codes of one legend; a longer list is a catalogue."""
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
    rf"(?:^|(?<=[;,.|•·/)] )|(?<=\s\s)|(?<= and ))(?:\*\*|__|`)?(?:{WRAPPED_MARK}|(?P<plain>{MARK}))(?:\*\*|__|`)?"
    r"(?P<mark> ?=|:(?=\s)|\s[–—-](?=\s)|\)(?=\s)|\s(?:denotes?|indicates?|means|stands for)(?=\s))\s*"
)
"""A mark with what parts it from its meaning: "S = Sundays only", "n/a: not assessed", "a) provisional"; "a lot" has
none."""
_LOOSE = re.compile(
    rf"(?:^|(?<=[;,.\w)] ))(?:{WRAPPED_MARK}|(?P<raised>[{RAISED_LETTERS}]{{1,2}})|(?P<plain>{MARK}))"
    r"(?P<gap>\s*)(?=[^\W_])"
)
"""A mark in front of its meaning, with nothing or a space between: "* estimated", "a paid by the quarter"."""
_SENTENCE = re.compile(
    rf"\b(?:marked|denoted|indicated|shown)(?: with| by| as)?(?: an?| the)?(?: letter| symbol| sign)?"
    rf" [\"“'(]?(?P<key>{MARK})[\"”')]?(?=[\s,.;]|$)"
    rf"|[\"“'(](?P<named>{MARK})[\"”')] (?:denotes?|indicates?|means|stands for)\b"
)
"""A sentence about a mark: "Buses marked * do not run on Sundays.", "An asterisk (*) indicates estimates."."""
_BULLET = re.compile(r"[-•·‣]\s+(?=\S)")
_NUMBERED_NOTE = re.compile(r"\.\. \[[#*^]?[^\W_]{0,20}\]")
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
WORD = re.compile(r"[^\W\d_]{2}")
_CELLS = re.compile(r"(?:\s[$€£]?\s?[–—-]){2}")
"""Blank cells of a row that was read as a line: "$ — $ —"."""
_DASHES = frozenset("-–—")


@dataclass
class Legend:
    """The meanings of marks, "" for a mark with two; `column` is the only column to which they apply, if any."""

    meanings: dict[str, str] = field(default_factory=dict)
    column: str = ""

    def add(self, found: Mapping[str, str]) -> None:
        """Add meanings; a mark with two different meanings gets none."""
        for key, meaning in found.items():
            if self.meanings.setdefault(key, meaning).casefold() != meaning.casefold():
                self.meanings[key] = ""


def legends_around(lines: Sequence[str], table: Sequence[MarkedRow], known: frozenset[str]) -> list[Legend]:
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


def _legends(lines: Sequence[str], known: frozenset[str], *, is_below: bool) -> list[Legend]:
    """Return the legends of some lines, one for each column that they name."""
    found: dict[str, Legend] = {}
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
        found.setdefault(column, Legend(column=column)).add(entries)
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
    matches = [each for each in matches if each["mark"].strip()[:1] == sign and all(map(is_code, keys_of(each)[-1:]))]
    if not matches or matches[0].start() > 0:
        return {}
    found = Legend()
    ends = [*(each.start() for each in matches[1:]), len(body)]
    for match, end in zip(matches, ends, strict=True):
        found.add(dict.fromkeys(keys_of(match)[-1:], body[match.end() : end]))
    return _meaningful(found.meanings)


def _loose(body: str, known: frozenset[str], *, is_listed: bool) -> dict[str, str]:
    """Return the meanings of the table's marks if the marks directly precede them."""
    matches: list[re.Match[str]] = []
    if _LOOSE.match(body) is None:
        return {}
    for match in _LOOSE.finditer(body):
        key = keys_of(match)[-1]
        # Where one symbol ends the meaning before it, so does one that the table has not.
        is_symbol = match["plain"] and not any(map(str.isalnum, key))
        if (key in known or is_symbol) and _begins_meaning(match, body, is_first=not matches, is_listed=is_listed):
            matches.append(match)
        elif not matches:  # prose
            return {}
    if not matches or matches[0].start() > 0:
        return {}
    found = Legend()
    for match, end in zip(matches, [*(each.start() for each in matches[1:]), len(body)], strict=True):
        found.add({keys_of(match)[-1]: body[match.end() : end]})
    return _meaningful(found.meanings) if found.meanings.keys() & known else {}


def _begins_meaning(match: re.Match[str], body: str, *, is_first: bool, is_listed: bool) -> bool:
    """Return whether a matched mark introduces its meaning, rather than being a word of a sentence."""
    key, at = keys_of(match)[-1], match.start()
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
    found = Legend()
    for sentence in re.split(r"(?<=[.!?]) ", body):
        for match in _SENTENCE.finditer(sentence):
            key = match["key"] or match["named"]
            if key in known and (match["named"] or key not in _ARTICLES) and is_code(key):
                found.add({key: sentence})
    return _meaningful(found.meanings)


def _meaningful(meanings: Mapping[str, str]) -> dict[str, str]:
    """Return meanings shortened for a cell; "" for one that is too long or contains no word."""
    found = {}
    for key, meaning in meanings.items():
        text = meaning.replace("|", "/").replace(": ", ", ").strip(" ;,.:/·•*_").removesuffix(" and")
        if text.count("(") > text.count(")"):
            text += ")"
        is_meaning = len(text) <= LONGEST_MEANING and WORD.search(text) and not _CELLS.search(text)
        found[key] = text if is_meaning else ""
    return found


def headed_legends(lines: Sequence[str], known: frozenset[str]) -> list[Legend]:
    """Return the legends for a whole document: those with a heading, and footnotes of Markdown or web pages."""
    found: list[Legend] = []
    notes = Legend()
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


def _merged(legends: Sequence[Legend]) -> list[Legend]:
    """Return one legend for each column; a mark on which two of them differ gets no meaning."""
    found: dict[str, Legend] = {}
    for each in legends:
        found.setdefault(each.column.casefold(), Legend(column=each.column)).add(each.meanings)
    return list(found.values())


def table_of_codes(lines: Sequence[str], table: Sequence[MarkedRow], near: frozenset[str]) -> Legend | None:
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
    if len(pairs) > 1 and not any(names) and not is_code(pairs[0][0]):
        names = pairs.pop(0)
    if not 0 < len(pairs) <= MOST_CODES or not all(is_code(key) for key, _ in pairs):
        return None
    before = next((lines[number].strip() for number in range(table[0].number - 1, -1, -1) if lines[number].strip()), "")
    heads = (before.strip("# "), table[0].row.caption.strip(" ."))
    is_headed = any(_HEAD.fullmatch(each) for each in heads if each)
    explains = not any(names) and len(pairs) > 1 and all(key in near for key, _ in pairs)
    if not (names_legend(names) or is_headed or explains):
        return None
    found = Legend(column="" if names_codes(names[0]) else names[0])
    for key, meaning in pairs:
        found.add(_meaningful({key: meaning}))
    return found


def legends_of_names(table: Sequence[MarkedRow]) -> Iterator[Legend]:
    """Yield the legends inside names of columns: "Status (A = active, R = retired)"."""
    for column in {cell.column: None for row in table for cell in row.row.cells}:
        for inner in _IN_BRACKETS.findall(column):
            if "=" in inner and (found := _strong(inner)):
                yield Legend(found, column)

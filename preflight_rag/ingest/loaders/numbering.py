"""Automatic numbers of lists, clauses and headings, which office documents count and do not write.

"See 4.2" leads nowhere where the number of a clause is in no text. Word says how to count in numbering.xml (ECMA-376,
17.9), for a paragraph or for its style; OpenDocument in list styles and in the style of the outline (16.30 of 1.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.fields import whole_number
from preflight_rag.ingest.loaders.xml import local

if TYPE_CHECKING:
    from lxml.etree import _Element

_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_LETTERS = 26
_LARGEST_LETTERS = 780
"""The last number in letters, 30 times "z"; a guess at what no list has."""
_LARGEST_ROMAN = 4000
DEEPEST_LEVEL = 20
"""Levels of lists; OpenDocument has 10, Word 9."""
_LONGEST_PATTERN = 200
"""Characters of what a level writes around its number; a guess."""
_DEEPEST_STYLES = 20
"""Styles that are based on each other; a guess at what no document has."""


@dataclass(frozen=True)
class Level:
    """How a level of a list is numbered.

    Attributes:
        kind: "decimal", "lowerLetter" and the like; "bullet" or "none" for one without numbers.
        pattern: The number with those of the levels around it: "%1.%2".
        start: The first number.
        is_decimal: Whether the numbers of the levels around it are shown in figures, whatever their kind.
    """

    kind: str
    pattern: str
    start: int = 1
    is_decimal: bool = False


@dataclass
class Counter:
    """The numbers that a list has come to, by level."""

    levels: Mapping[int, Level]
    numbers: dict[int, int] = field(default_factory=dict)

    def next(self, depth: int, start: int | None = None) -> str:
        """Count an item of a level, and return its number as it is shown; "" where it has none."""
        level = self.levels.get(depth)
        if level is None:
            return ""
        for outer in range(depth):
            if outer in self.levels:
                self.numbers.setdefault(outer, self.levels[outer].start)
        self.numbers[depth] = start if start is not None else self.numbers.get(depth, level.start - 1) + 1
        for inner in [each for each in self.numbers if each > depth]:
            del self.numbers[inner]
        if level.kind in ("bullet", "none"):
            return ""

        def written(match: re.Match[str]) -> str:
            place = int(match[1]) - 1
            kind = self.levels[place].kind if place in self.levels else "decimal"
            return in_kind(self.numbers.get(place, 1), "decimal" if level.is_decimal else kind)

        return " ".join(_PLACE.sub(written, level.pattern).split())


def in_kind(number: int, kind: str) -> str:
    """Return a number in figures, letters or Roman figures; in figures for a kind that is none of these."""
    if kind in ("lowerLetter", "upperLetter") and 0 < number <= _LARGEST_LETTERS:
        letter = chr(97 + (number - 1) % _LETTERS) * (1 + (number - 1) // _LETTERS)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in ("lowerRoman", "upperRoman") and 0 < number < _LARGEST_ROMAN:
        rest, text = number, ""
        for value, figures in _ROMAN:
            text += figures * (rest // value)
            rest %= value
        return text if kind == "lowerRoman" else text.upper()
    if kind in ("bullet", "none"):
        return ""
    return f"{number:02}" if kind == "decimalZero" else str(number)


class WordNumbering:
    """The numbers of a Word document's paragraphs, which have to be asked for in their order.

    Args:
        numbering: The root of numbering.xml; None where there is none.
        styles: The root of styles.xml.
    """

    def __init__(self, numbering: _Element | None, styles: _Element | None) -> None:
        self._counters: dict[str, Counter] = {}
        self._abstract: dict[str, str] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._styles: dict[str, tuple[str, int]] = {}
        if numbering is None:
            return
        of_style: dict[tuple[str, str], int] = {}
        for each in numbering:
            name = _value(each, "abstractNumId", own=True)
            if local(each) == "abstractNum":
                levels = {_level(level): _word_level(level) for level in each if local(level) == "lvl"}
                self._counters[name] = Counter(levels)
                for level in each:
                    for style in level:
                        if local(style) == "pStyle":
                            of_style[name, _value(style, "val", own=True)] = _level(level)
            elif local(each) == "num":
                number = _value(each, "numId", own=True)
                self._abstract[number] = next((_value(part, "val", own=True) for part in each), "")
                self._starts[number] = {
                    _level(part): first
                    for part in each
                    if local(part) == "lvlOverride"
                    for start in part
                    if local(start) == "startOverride"
                    for first in [whole_number(_value(start, "val", own=True), -1)]
                    if first >= 0
                }
        self._read_styles(styles, of_style)

    def _read_styles(self, styles: _Element | None, of_style: Mapping[tuple[str, str], int]) -> None:
        found = {_value(each, "styleId", own=True): each for each in styles if local(each) == "style"} if (
            styles is not None
        ) else {}  # fmt: skip
        for name in found:
            style, numbered = name, None
            for _ in range(_DEEPEST_STYLES):
                if style not in found or (numbered := _child(found[style], "pPr", "numPr")) is not None:
                    break
                style = _value(found[style], "basedOn")
            if numbered is not None and (number := _value(numbered, "numId")) not in ("", "0"):
                level = whole_number(_value(numbered, "ilvl"), 0, DEEPEST_LEVEL)
                self._styles[name] = (number, of_style.get((self._abstract.get(number, ""), name), level))

    def label(self, paragraph: _Element) -> str:
        """Count a paragraph, and return its number as Word shows it; "" where it has none."""
        properties = _child(paragraph, "pPr")
        if properties is None or not self._counters:
            return ""
        number, level = self._styles.get(_value(properties, "pStyle"), ("", 0))
        if (own := _child(properties, "numPr")) is not None:
            number = _value(own, "numId") or number
            level = whole_number(_value(own, "ilvl"), level, DEEPEST_LEVEL)
        counter = self._counters.get(self._abstract.get(number, ""))
        if counter is None:
            return ""
        start = self._starts.get(number, {}).get(level) if (number, level) not in self._begun else None
        self._begun.add((number, level))
        return counter.next(level, start)


def _word_level(level: _Element) -> Level:
    return Level(
        _value(level, "numFmt") or "decimal",
        _value(level, "lvlText")[:_LONGEST_PATTERN],
        whole_number(_value(level, "start"), 1),
        any(local(each) == "isLgl" for each in level),
    )


def _child(element: _Element, *names: str) -> _Element | None:
    found: _Element | None = element
    for name in names:
        found = next((each for each in found if local(each) == name), None) if found is not None else None
    return found


def _value(element: _Element, name: str, *, own: bool = False) -> str:
    """Return the value of a child, or an attribute of its own, whatever its namespace; "" without one."""
    holder = element if own else _child(element, name)
    wanted = name if own else "val"
    attributes = holder.attrib.items() if holder is not None else ()
    return next((str(value) for key, value in attributes if str(key).rsplit("}", 1)[-1] == wanted), "")


def _level(element: _Element) -> int:
    return whole_number(_value(element, "ilvl", own=True), 0, DEEPEST_LEVEL)


def _number(element: _Element, name: str) -> int:
    return whole_number(_value(element, name, own=True), 0)


_ODF_KINDS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class OdfNumbering:
    """The numbers of lists and headings of an OpenDocument text, which have to be asked for in their order.

    Args:
        roots: The roots of content.xml and styles.xml.
    """

    def __init__(self, roots: Sequence[_Element]) -> None:
        self._levels: dict[str, dict[int, Level]] = {}
        outline: dict[int, Level] = {}
        for root in roots:
            for each in root.iter():
                if local(each) == "list-style":
                    self._levels[_value(each, "name", own=True)] = _odf_levels(each)
                elif local(each) == "outline-style":
                    outline = _odf_levels(each)
        self._outline = Counter(outline)
        self._lists: dict[str, Counter] = {}
        self._last: dict[str, Counter] = {}

    def heading(self, element: _Element) -> str:
        """Count a heading, and return its number; "" without one."""
        if _value(element, "is-list-header", own=True) == "true":
            return ""
        level = whole_number(_value(element, "outline-level", own=True), 1, DEEPEST_LEVEL)
        return self._outline.next(max(0, level - 1))

    def counter(self, outer: _Element) -> Counter:
        """Return the counter of an outermost list, which goes on with another one where the file says so."""
        style = _value(outer, "style-name", own=True)
        before = self._lists.get(_value(outer, "continue-list", own=True))
        if before is None and _value(outer, "continue-numbering", own=True) == "true":
            before = self._last.get(style)
        found = before or Counter(self._levels.get(style, {}))
        self._last[style] = found
        if name := _value(outer, "id", own=True):
            self._lists[name] = found
        return found


def _odf_levels(style: _Element) -> dict[int, Level]:
    found = {}
    for each in style:
        depth = whole_number(_value(each, "level", own=True), 0, DEEPEST_LEVEL) - 1
        kind = _ODF_KINDS.get(_value(each, "num-format", own=True), "none")
        kind = "bullet" if "number" not in local(each) and "outline" not in local(each) else kind
        shown = max(1, _number(each, "display-levels"))
        places = ".".join(f"%{place}" for place in range(max(1, depth + 2 - shown), depth + 2))
        pattern = f"{_value(each, 'num-prefix', own=True)}{places}{_value(each, 'num-suffix', own=True)}"
        found[depth] = Level(kind, pattern[:_LONGEST_PATTERN], _number(each, "start-value") or 1)
    return found

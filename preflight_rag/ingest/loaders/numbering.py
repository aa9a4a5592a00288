"""Compute the automatic numbers of lists, clauses and headings, which office documents do not store.

Without them, "see 4.2" refers to nothing in the text. Word describes the counting in numbering.xml (ECMA-376, 17.9),
for a paragraph or for its style; OpenDocument in list styles and in the style of the outline (16.30 of 1.3).
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

_PLACEHOLDER = re.compile(r"%([1-9])")
"""The placeholder of a level's number in a pattern: "%1" of the outermost level."""
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
"""The values of Roman numerals, from the largest."""
_LETTERS = 26
_LARGEST_LETTERS = 780
"""Largest number written in letters, 30 times "z"; a guess at what no list has."""
_LARGEST_ROMAN = 4000
"""Numbers from this one on are not written as Roman numerals."""
DEEPEST_LEVEL = 20
"""Maximum number of levels of a list; OpenDocument has 10, Word 9."""
_LONGEST_PATTERN = 200
"""Maximum number of characters of a level's pattern; a guess."""
_DEEPEST_STYLES = 20
"""Maximum length of a chain of styles based on each other; a guess at what no document has."""


@dataclass(frozen=True)
class Level:
    """The numbering of one level of a list.

    Attributes:
        kind: "decimal", "lowerLetter" and the like; "bullet" or "none" for a level without numbers.
        pattern: The label, with placeholders for this level's number and those of its outer levels: "%1.%2".
        start: The first number.
        is_decimal: Whether the numbers of outer levels in the label are shown in figures, whatever their own kind.
    """

    kind: str
    pattern: str
    start: int = 1
    is_decimal: bool = False


@dataclass
class Counter:
    """Counts the items of a list.

    Attributes:
        levels: The numbering of each level, by depth from 0.
        numbers: The number of the last item of each level.
    """

    levels: Mapping[int, Level]
    numbers: dict[int, int] = field(default_factory=dict)

    def next(self, depth: int, start: int | None = None) -> str:
        """Count an item, and return its label ("2.1"); "" for a bullet, or a level that is not described.

        Inner levels begin again at their first number.

        Args:
            depth: The level of the item, from 0.
            start: The number that the item gets; None for the next one.
        """
        level = self.levels.get(depth)
        if level is None:
            return ""
        for outer in range(depth):
            if outer in self.levels:
                self.numbers.setdefault(outer, self.levels[outer].start)
        self.numbers[depth] = start if start is not None else self.numbers.get(depth, level.start - 1) + 1
        for inner in [counted for counted in self.numbers if counted > depth]:
            del self.numbers[inner]
        if level.kind in ("bullet", "none"):
            return ""

        def number_of_level(match: re.Match[str]) -> str:
            """Return the number for a placeholder, as its level or this one's `is_decimal` has it shown."""
            outer = int(match[1]) - 1
            kind = self.levels[outer].kind if outer in self.levels else "decimal"
            return in_kind(self.numbers.get(outer, 1), "decimal" if level.is_decimal else kind)

        return " ".join(_PLACEHOLDER.sub(number_of_level, level.pattern).split())


def in_kind(number: int, kind: str) -> str:
    """Return a number as letters ("c", "cc" for 29), a Roman numeral ("iii") or figures, by the kind of its level.

    Return "" for the kinds without numbers; figures for an unknown kind, and for numbers too large for the kind.
    """
    if kind in ("lowerLetter", "upperLetter") and 0 < number <= _LARGEST_LETTERS:
        letter = chr(ord("a") + (number - 1) % _LETTERS) * (1 + (number - 1) // _LETTERS)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in ("lowerRoman", "upperRoman") and 0 < number < _LARGEST_ROMAN:
        remainder, text = number, ""
        for value, numeral in _ROMAN:
            text += numeral * (remainder // value)
            remainder %= value
        return text if kind == "lowerRoman" else text.upper()
    if kind in ("bullet", "none"):
        return ""
    return f"{number:02}" if kind == "decimalZero" else str(number)


class WordNumbering:
    """Counts the paragraphs of a Word document; `label` has to be called for each paragraph in order.

    Args:
        numbering: The root of numbering.xml; None if the document has none.
        styles: The root of styles.xml; None if the document has none.
    """

    def __init__(self, numbering: _Element | None, styles: _Element | None) -> None:
        self._counters: dict[str, Counter] = {}
        """By abstract numbering: lists of one kind, which count together."""
        self._abstract: dict[str, str] = {}
        """The abstract numbering of each list."""
        self._starts: dict[str, dict[int, int]] = {}
        """The numbers, by list and level, from which a list counts instead of going on."""
        self._begun: set[tuple[str, int]] = set()
        self._styles: dict[str, tuple[str, int]] = {}
        """The list and level of each numbered paragraph style."""
        if numbering is None:
            return
        level_of_style: dict[tuple[str, str], int] = {}
        for element in numbering:
            if local(element) == "abstractNum":
                name = _attribute(element, "abstractNumId")
                levels = {_level_index(level): _word_level(level) for level in element if local(level) == "lvl"}
                self._counters[name] = Counter(levels)
                for level in element:
                    for style in level:
                        if local(style) == "pStyle":
                            level_of_style[name, _attribute(style, "val")] = _level_index(level)
            elif local(element) == "num":
                number = _attribute(element, "numId")
                self._abstract[number] = next((_attribute(child, "val") for child in element), "")
                self._starts[number] = _start_overrides(element)
        self._read_styles(styles, level_of_style)

    def _read_styles(self, styles: _Element | None, level_of_style: Mapping[tuple[str, str], int]) -> None:
        """Record the list and level of each numbered style; a style inherits them from the style it is based on.

        Args:
            styles: The root of styles.xml; None if the document has none.
            level_of_style: The level that an abstract numbering (first of the key) assigns to a style (second).
        """
        style_elements: dict[str, _Element] = {}
        for element in styles if styles is not None else ():
            if local(element) == "style":
                style_elements[_attribute(element, "styleId")] = element
        for name in style_elements:
            style, numbered = name, None
            for _ in range(_DEEPEST_STYLES):
                if style not in style_elements:
                    break
                numbered = _child(style_elements[style], "pPr", "numPr")
                if numbered is not None:
                    break
                style = _child_value(style_elements[style], "basedOn")
            if numbered is not None and (number := _child_value(numbered, "numId")) not in ("", "0"):
                level = whole_number(_child_value(numbered, "ilvl"), 0, DEEPEST_LEVEL)
                self._styles[name] = (number, level_of_style.get((self._abstract.get(number, ""), name), level))

    def label(self, paragraph: _Element) -> str:
        """Count a paragraph, and return its number as Word shows it ("2.1"); "" if it is not numbered."""
        properties = _child(paragraph, "pPr")
        if properties is None or not self._counters:
            return ""
        number, level = self._styles.get(_child_value(properties, "pStyle"), ("", 0))
        if (own_numbering := _child(properties, "numPr")) is not None:
            number = _child_value(own_numbering, "numId") or number
            level = whole_number(_child_value(own_numbering, "ilvl"), level, DEEPEST_LEVEL)
        counter = self._counters.get(self._abstract.get(number, ""))
        if counter is None:
            return ""
        # A list's own start holds for its first item of a level; all others count on.
        start = self._starts.get(number, {}).get(level) if (number, level) not in self._begun else None
        self._begun.add((number, level))
        return counter.next(level, start)


def _start_overrides(list_element: _Element) -> dict[int, int]:
    """Return the first numbers that a list of Word (`num`) sets for its levels, by level; negative ones are ignored."""
    starts: dict[int, int] = {}
    for override in list_element:
        if local(override) != "lvlOverride":
            continue
        for start in override:
            if local(start) == "startOverride" and (first := whole_number(_attribute(start, "val"), -1)) >= 0:
                starts[_level_index(override)] = first
    return starts


def _word_level(level: _Element) -> Level:
    """Return the numbering of a level of Word (`lvl`)."""
    return Level(
        kind=_child_value(level, "numFmt") or "decimal",
        pattern=_child_value(level, "lvlText")[:_LONGEST_PATTERN],
        start=whole_number(_child_value(level, "start"), 1),
        is_decimal=any(local(child) == "isLgl" for child in level),
    )


def _child(element: _Element, *names: str) -> _Element | None:
    """Return the first descendant along a path of local names, one for each level; None if there is none."""
    node: _Element | None = element
    for name in names:
        node = next((child for child in node if local(child) == name), None) if node is not None else None
    return node


def _child_value(element: _Element, name: str) -> str:
    """Return the attribute `val` of the first child with a local name; "" if there is none."""
    child = _child(element, name)
    return _attribute(child, "val") if child is not None else ""


def _attribute(element: _Element, name: str) -> str:
    """Return an attribute by its name without namespace; "" if it is missing."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rsplit("}", 1)[-1] == name), "")


def _level_index(element: _Element) -> int:
    """Return the level that an element of Word describes (`ilvl`), from 0."""
    return whole_number(_attribute(element, "ilvl"), 0, DEEPEST_LEVEL)


def _number(element: _Element, name: str) -> int:
    """Return the number in an attribute; 0 if it is missing or no number."""
    return whole_number(_attribute(element, name), 0)


_ODF_KINDS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""The kinds of numbers by their names in OpenDocument."""


class OdfNumbering:
    """Counts the lists and headings of an OpenDocument text; its methods have to be called for each in order.

    Args:
        roots: The roots of content.xml and styles.xml.
    """

    def __init__(self, roots: Sequence[_Element]) -> None:
        self._levels: dict[str, dict[int, Level]] = {}
        outline: dict[int, Level] = {}
        for root in roots:
            for element in root.iter():
                if local(element) == "list-style":
                    self._levels[_attribute(element, "name")] = _odf_levels(element)
                elif local(element) == "outline-style":
                    outline = _odf_levels(element)
        self._outline = Counter(outline)
        self._lists: dict[str, Counter] = {}
        self._last_of_style: dict[str, Counter] = {}

    def heading(self, element: _Element) -> str:
        """Count a heading, and return its number ("2.1"); "" if it is not numbered."""
        if _attribute(element, "is-list-header") == "true":
            return ""
        level = whole_number(_attribute(element, "outline-level"), 1, DEEPEST_LEVEL)
        return self._outline.next(max(0, level - 1))

    def counter(self, outer: _Element) -> Counter:
        """Return the counter of an outermost list: that of an earlier list if the file says that this one goes on."""
        style = _attribute(outer, "style-name")
        continued = self._lists.get(_attribute(outer, "continue-list"))
        if continued is None and _attribute(outer, "continue-numbering") == "true":
            continued = self._last_of_style.get(style)
        counter = continued or Counter(self._levels.get(style, {}))
        self._last_of_style[style] = counter
        if name := _attribute(outer, "id"):
            self._lists[name] = counter
        return counter


def _odf_levels(style: _Element) -> dict[int, Level]:
    """Return the numbering of each level that a list style of OpenDocument describes, by depth from 0."""
    levels = {}
    for element in style:
        depth = whole_number(_attribute(element, "level"), 0, DEEPEST_LEVEL) - 1
        kind = _ODF_KINDS.get(_attribute(element, "num-format"), "none")
        if "number" not in local(element) and "outline" not in local(element):
            kind = "bullet"
        shown_levels = max(1, _number(element, "display-levels"))
        first_level = max(1, depth + 2 - shown_levels)
        placeholders = ".".join(f"%{level}" for level in range(first_level, depth + 2))
        pattern = f"{_attribute(element, 'num-prefix')}{placeholders}{_attribute(element, 'num-suffix')}"
        levels[depth] = Level(kind, pattern[:_LONGEST_PATTERN], _number(element, "start-value") or 1)
    return levels

"""Items of nested lists with what they belong to: "Ferries, Sundays: none" for "Sundays: none" under "Ferries".

Passages and quotes are parts of a text, and an inner item says nothing of what it is about. So it stands with the items
around it, as a table's row stands with its columns' names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words

LONGEST_PARENT = 120
"""Characters of an item that stands before those inside it; of a longer one its beginning, with a mark. A guess."""
DEEPEST = 8
"""Items around one that are named; a guess at what no list has."""
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+•◦▪‣]|\(?(?:\d{1,3}|[A-Za-z])[.)])(?P<gap>[ \t]+)(?P<text>\S.*)")
_NO_ITEM = re.compile(r"[ \t]*(?:([-*_])[ \t]*(?:\1[ \t]*){2,}$|#{1,6}[ \t]|\|)")
"""A rule, a heading or a table's row ends a list."""
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_NESTED = 2
"""Columns by which an inner item is indented at least: " - b" under "- a" is its neighbour."""

_INTRODUCED = re.compile(
    r"^(?!\(?[a-z][.)]\s)(?:#{1,6}[ \t]{1,4}(?P<heading>\S[^\n]{0,200}?):?"
    r"|(?P<line>(?![ \t]{0,40}[-*+•◦▪‣|#\d])[^\n]{1,200}):|(?P<short>[^\W\d_][^\n.;!?|]{1,60}))[ \t]{0,8}\n\n?"
    r"(?P<items>(?:[ \t]*(?:[-*+•◦▪‣]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+\S[^\n]*\n?){1,100})",
    re.MULTILINE,
)
"""A heading, a line with a colon or a short line, and the list below it: "The plan does not cover:"."""
_DENIES = re.compile(
    r"\b(?:not?|cannot|[a-z]+n['’]t|never|none|neither|without|except|exceptions?|excludes?|excluded|excluding|exclusions"
    r"|forbidden|prohibited|banned)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^([ \t]*(?:[-*+•◦▪‣]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+)(\S.*)$", re.MULTILINE)


def with_denials(text: str) -> str:
    """Return a text in which list items repeat the line above the list if that line denies them.

    Alone, "storm damage" reads as the contrary of what its document says under "The plan does not cover:". The items
    of the opposite list ("The plan covers:") repeat their line, too.
    """
    lines = [_line(match) for match in _INTRODUCED.finditer(text)]
    denied = {word for line in lines if _DENIES.search(line) for word in _subject(line)}
    if not denied:
        return text

    def written(match: re.Match[str]) -> str:
        """Return a matched list with its line before each item."""
        line = _line(match)
        if denied.isdisjoint(_subject(line)):
            return match[0]
        head = text[match.start() : match.start("items")]
        return head + _MARKED.sub(lambda item: item[1] + item_with_parents([line], item[2]), match["items"])

    return _INTRODUCED.sub(written, text)


def _line(match: re.Match[str]) -> str:
    """Return the text that introduces a matched list: the line above it."""
    return match["line"] or match["heading"] or match["short"]


def _subject(line: str) -> set[str]:
    """Return the words of a line except those that deny; all words if there are no others."""
    return (set(words(_DENIES.sub(" ", line))) or set(words(line))) - STOP_WORDS


def item_with_parents(parents: Sequence[str], text: str) -> str:
    """Return an item's text after those of the items around it, the outermost first; without what it says itself."""
    named = [short for parent in parents if (short := _short(parent)) and not _says(text, short)]
    if not named:
        return text
    return f"{', '.join(named)}{', ' if ': ' in text[:LONGEST_PARENT] else ': '}{text}"


def _says(text: str, parent: str) -> bool:
    """Return whether an item names what it belongs to: "The Project Leader is elected" below "Project Leader"."""
    before, found, behind = text.partition(parent)
    return bool(found) and not before[-1:].isalnum() and not behind[:1].isalnum()


def _short(parent: str) -> str:
    """Return a parent item without emphasis and punctuation, shortened if it is long."""
    text = _EMPHASIS.sub(r"\2", " ".join(parent.split())).rstrip(" :.;,")
    if len(text) <= LONGEST_PARENT:
        return text
    return f"{text[:LONGEST_PARENT].rsplit(' ', 1)[0].rstrip(' ,.;:')} …"


@dataclass
class OpenItems:
    """The items that enclose the reader's current place, by their level."""

    _open: list[tuple[int, str]] = field(default_factory=list)

    def add(self, depth: int, text: str) -> str:
        """Return an item's text with those of the enclosing items, and record it as enclosing later ones."""
        self.leave(depth)
        written = item_with_parents([outer for _, outer in self._open[-DEEPEST:]], text)
        self._open.append((depth, text))
        return written

    def extend(self, text: str) -> None:
        """Add a further line to the innermost item."""
        if self._open:
            depth, before = self._open.pop()
            self._open.append((depth, f"{before} {text}"))

    def leave(self, depth: int = 0) -> None:
        """Forget the items of a level and deeper ones."""
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()

    def __bool__(self) -> bool:
        return bool(self._open)


def with_parents(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text in which indented list items repeat the items around them."""
    items = OpenItems()
    found = list(lines)
    is_open = False
    for number, line in enumerate(lines):
        if not line.strip():
            is_open = False
            continue
        match = _ITEM.fullmatch(line)
        ends = _NO_ITEM.match(line) is not None or is_row(line)
        if match and not ends:
            indent = _indent(line)
            items.leave(indent - _NESTED + 1)
            found[number] = line[: match.start("text")] + items.add(indent, match["text"])
            is_open = True
        elif ends or not is_open:
            # A paragraph belongs to the items that it stands deeper than.
            items.leave(0 if ends else _indent(line))
            is_open = False
        elif is_open:
            items.extend(line.strip())
    return found


def _indent(line: str) -> int:
    """Return the columns before a line's words."""
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))

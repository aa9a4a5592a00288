"""Write items of nested lists with their parent items: "Ferries, Sundays: none" for "Sundays: none" under "Ferries".

Passages and quotes are parts of a text, and an inner item alone does not say what it is about. So it is written with
its parents, as a table's row is written with its columns' names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words

LONGEST_PARENT = 120
"""Maximum number of characters of a parent item before an inner item; a longer one is shortened. A guess."""
DEEPEST = 8
"""Maximum number of parent items written before an item; a guess at what no list has."""
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+•◦▪‣]|\(?(?:\d{1,3}|[A-Za-z])[.)])(?P<gap>[ \t]+)(?P<text>\S.*)")
"""A list item: "- Towels", "  b) Towels", "(3) Towels"."""
_LIST_END = re.compile(r"[ \t]*(?:([-*_])[ \t]*(?:\1[ \t]*){2,}$|#{1,6}[ \t]|\|)")
"""A line that ends a list: a rule "---", a heading "# Tides", a table's row "| a | b |"."""
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_MIN_INDENT = 2
"""Minimum number of columns by which an inner item is indented: " - b" under "- a" is its sibling."""

_INTRODUCED = re.compile(
    r"^(?!\(?[a-z][.)]\s)(?:#{1,6}[ \t]{1,4}(?P<heading>\S[^\n]{0,200}?):?"
    r"|(?P<line>(?![ \t]{0,40}[-*+•◦▪‣|#\d])[^\n]{1,200}):|(?P<short>[^\W\d_][^\n.;!?|]{1,60}))[ \t]{0,8}\n\n?"
    r"(?P<items>(?:[ \t]*(?:[-*+•◦▪‣]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+\S[^\n]*\n?){1,100})",
    re.MULTILINE,
)
"""A heading, a line with a colon or a short line, and the list below it: "The plan does not cover:"."""
_NEGATION = re.compile(
    r"\b(?:not?|cannot|[a-z]+n['’]t|never|none|neither|without|except|exceptions?|excludes?|excluded|excluding|exclusions"
    r"|forbidden|prohibited|banned)\b",
    re.IGNORECASE,
)
_MARKED_ITEM = re.compile(r"^([ \t]*(?:[-*+•◦▪‣]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+)(\S.*)$", re.MULTILINE)
"""A list item, divided into its mark and its text."""


def with_denials(text: str) -> str:
    """Return a text in which list items repeat the line above the list if that line negates them.

    Alone, "storm damage" reads as the contrary of what its document says under "The plan does not cover:". The items
    of the opposite list ("The plan covers:"), whose line shares a word with a negating one, repeat their line, too.
    """
    negated_words: set[str] = set()
    for match in _INTRODUCED.finditer(text):
        line = _introducing_line(match)
        if _NEGATION.search(line):
            negated_words |= _subject_words(line)
    if not negated_words:
        return text

    def with_line_before_items(match: re.Match[str]) -> str:
        """Return a matched list with its line before each item, if the line shares a word with a negating one."""
        line = _introducing_line(match)
        if negated_words.isdisjoint(_subject_words(line)):
            return match[0]
        head = text[match.start() : match.start("items")]
        return head + _MARKED_ITEM.sub(lambda item: item[1] + item_with_parents([line], item[2]), match["items"])

    return _INTRODUCED.sub(with_line_before_items, text)


def _introducing_line(match: re.Match[str]) -> str:
    """Return the line above a list that `_INTRODUCED` matches, without heading marks and colon."""
    return match["line"] or match["heading"] or match["short"]


def _subject_words(line: str) -> set[str]:
    """Return the content words of a line except negations; if there are no others, all of them."""
    return (set(words(_NEGATION.sub(" ", line))) or set(words(line))) - STOP_WORDS


def item_with_parents(parents: Sequence[str], text: str) -> str:
    """Return an item's text after the texts of its parents, the outermost first: "Ferries, Sundays: none".

    A parent that the item's text contains is left out.
    """
    short_parents = [_shorten(parent) for parent in parents]
    unnamed = [parent for parent in short_parents if parent and not _contains_whole(text, parent)]
    if not unnamed:
        return text
    separator = ", " if ": " in text[:LONGEST_PARENT] else ": "
    return f"{', '.join(unnamed)}{separator}{text}"


def _contains_whole(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase that is not a part of a longer word where it first occurs."""
    before, match, after = text.partition(phrase)
    return bool(match) and not before[-1:].isalnum() and not after[:1].isalnum()


def _shorten(parent: str) -> str:
    """Return a parent item without emphasis and final punctuation, cut at a word with "…" if it is long."""
    text = _EMPHASIS.sub(r"\2", " ".join(parent.split())).rstrip(" :.;,")
    if len(text) <= LONGEST_PARENT:
        return text
    return f"{text[:LONGEST_PARENT].rsplit(' ', 1)[0].rstrip(' ,.;:')} …"


@dataclass
class OpenItems:
    """A stack of the list items that enclose the current item, as `(depth, text)`, the outermost first."""

    _open: list[tuple[int, str]] = field(default_factory=list)

    def add(self, depth: int, text: str) -> str:
        """Push an item, and return its text with the texts of its parents; items that are as deep or deeper end."""
        self.leave(depth)
        written = item_with_parents([parent for _, parent in self._open[-DEEPEST:]], text)
        self._open.append((depth, text))
        return written

    def extend(self, text: str) -> None:
        """Append a further line to the text of the innermost item, if there is one."""
        if self._open:
            depth, item = self._open.pop()
            self._open.append((depth, f"{item} {text}"))

    def leave(self, depth: int = 0) -> None:
        """Pop the items of a depth and deeper ones; all items by default."""
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()

    def __bool__(self) -> bool:
        return bool(self._open)


def with_parents(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text in which each indented list item begins with its parent items."""
    items = OpenItems()
    result = list(lines)
    continues_item = False  # whether a line without a mark belongs to the item above
    for index, line in enumerate(lines):
        if not line.strip():
            continues_item = False
            continue
        match = _ITEM.fullmatch(line)
        ends_list = _LIST_END.match(line) is not None or is_row(line)
        if match and not ends_list:
            indent = _indent(line)
            items.leave(indent - _MIN_INDENT + 1)
            result[index] = line[: match.start("text")] + items.add(indent, match["text"])
            continues_item = True
        elif ends_list or not continues_item:
            # A paragraph after a blank line belongs to the items that are indented less, and ends the others.
            items.leave(0 if ends_list else _indent(line))
            continues_item = False
        elif continues_item:
            items.extend(line.strip())
    return result


def _indent(line: str) -> int:
    """Return the number of columns before a line's first word; a tab goes to the next multiple of four."""
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))

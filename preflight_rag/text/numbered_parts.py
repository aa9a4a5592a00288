"""Numbered parts of a text, such as "Article 5", "§ 3 Notice", "7.2 Return": those a question names, and their text.

A sentence that mentions article 5 is not article 5: that is what stands from its heading up to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_KINDS = (
    *("article", "section", "clause", "paragraph", "regulation", "rule", "schedule", "annex", "appendix", "chapter"),
    *("exhibit", "part", "title", "artikel", "abschnitt", "anlage", "anhang", "kapitel", "paragraf", "artículo"),
)
_WITHOUT_WORD = frozenset({"article", "section", "clause", "paragraph", "regulation", "rule", "chapter", "§"})
"""Kinds whose headings may begin with the number alone: "7.2 Return"."""
_SIGN = "§"
_BY_SIGN = frozenset({"section", "paragraph", "paragraf", _SIGN})
_NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,4}[a-z]?|[IVXLC]{1,6}|[A-Z]"
_ASKED = re.compile(
    rf"(?<![\w.])(?P<kind>(?i:{'|'.join(_KINDS)})|§)\s?(?P<number>{_NUMBER})(?![\w%])(?!\.\d)(?!\s?(?:%|per cent))"
)
"""A part in a question: "article 5", "§ 3", "clause 7.2", "Annex B"; not "section of 5", "part 50 %"."""
_ELSEWHERE = re.compile(
    r"\b(?:refers?|referring|mentions?|mentioning|cites?|citing|amends?|repeals?|replaces?)\b", re.I
)
"""A question for other parts: "Which articles refer to article 5?"."""
_LINE_START = r"^[ \t]{0,8}(?:#{1,6}[ \t]+|\*\*)?"
_BEHIND = r"(?:\*\*)?(?:[ \t]{0,8}$|[ \t]{0,4}[.):–—][ \t]|[ \t]{0,4}[.:]$|[ \t]{1,4}(?=[A-ZÀ-Þ“\"(\[]))"
"""What follows the number of a heading: the line's end, a mark, or a word with a capital, not the verb of a
sentence."""
_ANY_WORD = re.compile(rf"{_LINE_START}(?P<kind>(?i:{'|'.join(_KINDS)})|§)\s?(?:{_NUMBER}){_BEHIND}", re.MULTILINE)
_BARE = re.compile(
    rf"{_LINE_START}(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})\.?[ \t]{{1,4}}(?=[A-ZÀ-Þ])", re.MULTILINE
)
_MARKED = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]", re.MULTILINE)
LONGEST_BARE = 80
"""Characters of a line that begins with a single number and is a heading, not an item of a list; a guess."""
_ASKS_TEXT = re.compile(
    r"\b(?:what|does|do|is|are|in|of|the|say|says|said|state|states|stated|provide|provides|contain|contains|cover"
    r"|covers|regulate|regulates|mean|means|about|deal|deals|with|content|contents|text|wording|read|reads|show|give"
    r"|quote|me|please|written|stand|stands|under|set|sets|out|it|how)\b|[\W_]+",
    re.IGNORECASE,
)
"""Words beside the name of a part in a question for its text: "What does article 5 say?"."""


@dataclass(frozen=True)
class NumberedPart:
    """A part that a question names: its kind in lower case, and its number as it is written."""

    kind: str
    number: str

    def phrases(self) -> list[str]:
        """Return the phrases by which its heading is looked up in an index."""
        return [f"{self.kind} {self.number}".strip("§ "), self.number] if "." in self.number else [self._named()]

    def _named(self) -> str:
        return self.number if self.kind == _SIGN else f"{self.kind} {self.number}"

    def find(self, text: str) -> tuple[int, int] | None:
        """Return where the part stands in a text, from its heading up to the next one; None if it has no heading."""
        match = next(self._headings(text), None)
        if match is None:
            return None
        bare = "kind" not in match.re.groupindex
        following = (_BARE if bare else _ANY_WORD).finditer(text, match.end())
        ends = [each.start() for each in following if not bare or not self._is_inside(each["number"])]
        ends += [each.start() for each in _MARKED.finditer(text, match.end())]
        return match.start(), min(ends, default=len(text))

    def is_heading(self, heading: str) -> bool:
        """Return whether a heading is the part's."""
        return any(match.start() == 0 for match in self._headings(heading.strip()))

    def _headings(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the headings of the part in a text: those with its word, else those with its number alone."""
        named = list(_with_word(self).finditer(text))
        yield from named
        if named or self.kind not in _WITHOUT_WORD or not self.number[0].isdigit():
            return
        for match in _BARE.finditer(text):
            if match["number"] == self.number and ("." in self.number or _is_short(text, match.start())):
                yield match

    def _is_inside(self, number: str) -> bool:
        """Return whether a number is that of a part inside of this one: 7.2.1 of 7.2."""
        return number.startswith(f"{self.number}.")


def _is_short(text: str, start: int) -> bool:
    """Return whether a line is as short as a heading, and ends like one."""
    line = text[start:].partition("\n")[0].rstrip()
    return len(line) <= LONGEST_BARE and line[-1:] not in ".;,"


@lru_cache(maxsize=256)
def _with_word(part: NumberedPart) -> re.Pattern[str]:
    """Return a pattern for the headings of a part that begin with its word or with "§"."""
    kinds = sorted(_BY_SIGN) if part.kind in _BY_SIGN else [part.kind]
    number = re.escape(part.number)
    return re.compile(rf"{_LINE_START}(?P<kind>(?i:{'|'.join(kinds)}))\s?{number}{_BEHIND}", re.MULTILINE)


@lru_cache(maxsize=256)
def asked_parts(question: str) -> tuple[NumberedPart, ...]:
    """Return the numbered parts that a question names; none where it asks which other parts mention one."""
    if _ELSEWHERE.search(question):
        return ()
    found = [NumberedPart(match["kind"].lower(), match["number"]) for match in _ASKED.finditer(question)]
    return tuple(dict.fromkeys(found))


def asks_for_text(question: str) -> bool:
    """Return whether a question asks for nothing but what a numbered part says."""
    return bool(asked_parts(question)) and not _ASKS_TEXT.sub("", _ASKED.sub(" ", question))


def part_of(text: str, heading: str, part: NumberedPart) -> tuple[int, int] | None:
    """Return where a part stands in a passage; the passage may continue one whose heading stands before it.

    Args:
        text: The passage.
        heading: The heading above its first character.
        part: The part.
    """
    found = part.find(text)
    if found or not part.is_heading(heading):
        return found
    following = min(
        (match.start() for match in (*_ANY_WORD.finditer(text), *_MARKED.finditer(text))), default=len(text)
    )
    return (0, following) if following else None

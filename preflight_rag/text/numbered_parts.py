"""Numbered parts of a text, such as "Article 5", "§ 3 Notice", "7.2 Return": those a question names, and their text.

A sentence that mentions article 5 is not article 5: that is what stands from its heading up to the next one. A heading
in a table of contents has no text below it, and the items of a list are numbered as well: a part counts as found only
where its text surely is, since a question that is narrowed to anything else gets a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from preflight_rag.text.named_documents import is_of_named_document
from preflight_rag.text.words import STOP_WORDS, words

ITEM_NUMBER = re.compile(r"^[ \t]*\(?(?P<number>\d{1,3}[.)])(?=\s)", re.M)
"""The number of a list's item at the beginning of a line: the 3 of "3. Delay a vote"."""
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
_ANY_WORD = re.compile(
    rf"{_LINE_START}(?P<kind>(?i:{'|'.join(_KINDS)})|§)\s?(?P<number>{_NUMBER}){_BEHIND}", re.MULTILINE
)
_BARE = re.compile(
    rf"{_LINE_START}(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})\.?[ \t]{{1,4}}(?=[A-ZÀ-Þ])", re.MULTILINE
)
_MARKED = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]", re.MULTILINE)
LONGEST_BARE = 80
"""Characters of a line that begins with a single number and is a heading, not an item of a list; a guess."""
_ENDS_OF_TEXT = tuple('.!?;:”"')
_LEAST_WORDS = 3
"""Words behind a heading's number that are its text, not its name: "Article 5. Whoever owes, pays."; a guess."""
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
        """Return where the part stands in a text, from its heading up to the next one; None if that is not sure.

        A heading with no text below it, as in a table of contents, is not the part, and of two with text neither is.
        """
        found = [place for place in map(self._place, self._headings(text)) if _is_part(text, *place)]
        return (found[0][0].start(), found[0][1]) if len(found) == 1 else None

    def _place(self, match: re.Match[str]) -> tuple[re.Match[str], int]:
        """Return a heading of the part with the end of what stands below it."""
        return match, _end(match.string, match)

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
            if match["number"] == self.number and _is_bare_heading(match):
                yield match

    def is_bare(self, text: str) -> bool:
        """Return whether the part's heading in a text is a single number without a word, as that of a list's item."""
        return "." not in self.number and not _with_word(self).search(text)

    def is_mentioned(self, text: str) -> bool:
        """Return whether a text names the part by its word: "Rule 5 forbids bonfires"."""
        return self in _parts_in(text)


class Passage(Protocol):
    """A passage in which parts are looked for."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def heading(self) -> str:
        """The heading above its first character."""

    @property
    def title(self) -> str:
        """The title of its document."""

    @property
    def document_id(self) -> str:
        """The name of its document; "" if unknown."""


def _end(text: str, heading: re.Match[str]) -> int:
    """Return where the text below a heading ends: at the next one of the same form, or at a marked one."""
    bare = "kind" not in heading.re.groupindex
    inside = f"{heading['number']}." if bare else ""
    following = (_BARE if bare else _ANY_WORD).finditer(text, heading.end())
    ends = [each.start() for each in following if not bare or not each["number"].startswith(inside)]
    ends += [each.start() for each in _MARKED.finditer(text, heading.end())]
    return min(ends, default=len(text))


def _is_part(text: str, heading: re.Match[str], end: int) -> bool:
    """Return whether a heading is followed by its part's text, and is not an entry of a table of contents."""
    if _goes_on(text, heading.start()) or not _has_text(text, heading.end(), end):
        return False
    if "kind" not in heading.re.groupindex:
        return _is_in_order(text, heading)
    # The last entry of a table of contents has text below it: whatever follows the table.
    before = [each for each in _ANY_WORD.finditer(text, 0, heading.start()) if _same_kind(each, heading)]
    last = before[-1] if before else None
    if last is None or _has_text(text, last.end(), heading.start()):
        return True
    return any(each["number"] == _number(heading) for each in before)


def _same_kind(one: re.Match[str], other: re.Match[str]) -> bool:
    """Return whether two headings begin with the same word."""
    return one["kind"].casefold() == other["kind"].casefold()


def _number(heading: re.Match[str]) -> str:
    """Return the number of a heading that begins with a word."""
    found = _ANY_WORD.match(heading.string, heading.start())
    return found["number"] if found else ""


def _goes_on(text: str, start: int) -> bool:
    """Return whether a line goes on with a sentence of the line above it: "as is said in" above "Article 5."."""
    above = text[: max(start - 1, 0)].rpartition("\n")[2].rstrip()
    last = above.split()[-1:] or [""]
    return above.endswith(",") or last[0].casefold() in STOP_WORDS


def _has_text(text: str, start: int, end: int) -> bool:
    """Return whether there is a sentence, a long line or a table's row between a heading's number and an end.

    Behind the number only a sentence is text, since the name of a part may be long.
    """
    behind, *below = text[start:end].split("\n")
    if len(behind.split()) >= _LEAST_WORDS and _is_text(behind) and behind.rstrip().endswith(_ENDS_OF_TEXT):
        return True
    return any(map(_is_text, below))


def _is_text(line: str) -> bool:
    """Return whether a line is text: not a heading, nor an entry of a table of contents with dots up to a page."""
    line = line.strip().strip("*_ ")
    if "..." in line or ". . ." in line or not any(map(str.isalpha, line)):
        return False
    return line.endswith(_ENDS_OF_TEXT) or len(line) > LONGEST_BARE or " | " in line


def _is_bare_heading(match: re.Match[str]) -> bool:
    """Return whether a line that begins with a number may be a heading."""
    return "." in match["number"] or _is_short(match.string, match.start())


def _is_in_order(text: str, heading: re.Match[str]) -> bool:
    """Return whether the number of a heading goes on, or is gone on with, in one that has text below it as well.

    Items of a list have no text below them, or a line that goes on with the item.
    """
    *above, own = heading["number"].split(".")
    wanted = {".".join([*above, str(int(own) + step)]) for step in (-1, 1)}
    others = [each for each in _BARE.finditer(text) if each["number"] in wanted and _is_bare_heading(each)]
    return _begins_text(text, heading) and any(
        _has_text(text, each.end(), _end(text, each)) and _begins_text(text, each) for each in others
    )


def _begins_text(text: str, heading: re.Match[str]) -> bool:
    """Return whether the line below a heading is no continuation of it."""
    below = text[heading.end() :].partition("\n")[2].lstrip()
    return bool(below) and not below[0].islower()


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
    return _parts_in(question)


def _parts_in(text: str) -> tuple[NumberedPart, ...]:
    """Return the numbered parts that a text names."""
    found = [NumberedPart(match["kind"].lower(), match["number"]) for match in _outer(text)]
    return tuple(dict.fromkeys(found))


def _outer(text: str) -> list[re.Match[str]]:
    """Return where a text names numbered parts, without those that are only a part of another one it names.

    Of "paragraph 2 of article 5" that is article 5: other articles have a paragraph 2 as well.
    """
    matches = list(_ASKED.finditer(text))
    outer = matches[-1:]
    for match, following in reversed(list(pairwise(matches))):
        if text[match.end() : following.start()].strip().casefold() not in {"of", "in"}:
            outer.insert(0, match)
    return outer


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
    ends = [_ANY_WORD, _MARKED, _BARE] if part.is_bare(heading) else [_ANY_WORD, _MARKED]
    following = min((match.start() for each in ends for match in each.finditer(text)), default=len(text))
    return (0, following) if following else None


def find_parts(question: str, passages: Sequence[Passage]) -> list[list[tuple[int, int]]]:
    """Return for each passage where the numbered parts that a question names surely stand in it; often nowhere.

    Args:
        question: The standalone question.
        passages: The passages that were found for it.
    """
    found: list[list[tuple[int, int]]] = [[] for _ in passages]
    for part in asked_parts(question):
        headed = _headed(question, part, passages)
        for name in {_document(passages[at]) for at in headed}:
            own = [at for at in headed if _document(passages[at]) == name]
            if not _are_same([passages[at].text[slice(*headed[at])] for at in own]):
                continue
            for at, passage in enumerate(passages):
                if _document(passage) != name:
                    continue
                # A passage without the heading may go on with the part.
                if place := headed.get(at) or part_of(passage.text, passage.heading, part):
                    found[at].append(place)
    return found


def names_document_of(question: str, title: str, titles: Sequence[str]) -> bool:
    """Return whether the parts that a question names may be of a document, with the titles of all that were found."""
    places = [match.span() for match in _outer(question)]
    return is_of_named_document(question, places, title, titles)


def _headed(question: str, part: NumberedPart, passages: Sequence[Passage]) -> dict[int, tuple[int, int]]:
    """Return by the place of a passage where a part stands in it below its heading, in documents that may be meant.

    A number alone is a part of any kind, so what it numbers has to be called so if a text names the part by its word.
    """
    titles = [passage.title for passage in passages]
    places: dict[int, tuple[int, int]] = {}
    for at, passage in enumerate(passages):
        place = part.find(passage.text)
        if place and names_document_of(question, passage.title, titles):
            places[at] = place
    bare = {at for at in places if part.is_bare(passages[at].text)}
    if len(bare) < len(places):
        return {at: place for at, place in places.items() if at not in bare}
    if any(part.is_mentioned(passage.text) for passage in passages):
        called = set(words(part.kind))
        return {at: place for at, place in places.items() if at not in bare or called <= set(words(passages[at].title))}
    return places


def _document(passage: Passage) -> str:
    """Return what names the document of a passage."""
    return passage.document_id or passage.title


def _are_same(texts: Sequence[str]) -> bool:
    """Return whether all texts begin alike, as those do that overlapping passages have of one part."""
    longest = max(texts, key=len).strip()
    return all(longest.startswith(text.strip()) for text in texts)

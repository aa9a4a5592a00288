"""Numbered parts of a text, such as "Article 5", "§ 3 Notice", "7.2 Return": those a question names, and their text.

A part is the text from its heading up to the next one, not a sentence that mentions it. A heading in a table of
contents has no text below it, and the items of a list are numbered as well: a part counts as found only where its text
surely is, since a question that is narrowed to another text gets a wrong answer.
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
_KINDS_WITHOUT_WORD = frozenset({"article", "section", "clause", "paragraph", "regulation", "rule", "chapter", "§"})
"""Kinds whose headings may begin with the number alone: "7.2 Return"."""
_SIGN = "§"
_KINDS_WITH_SIGN = frozenset({"section", "paragraph", "paragraf", _SIGN})
_NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,4}[a-z]?|[IVXLC]{1,6}|[A-Z]"
_NAMED_PART = re.compile(
    rf"(?<![\w.])(?P<kind>(?i:{'|'.join(_KINDS)})|§)\s?(?P<number>{_NUMBER})(?![\w%])(?!\.\d)(?!\s?(?:%|per cent))"
)
"""A part in a question: "article 5", "§ 3", "clause 7.2", "Annex B"; not "section of 5", "part 50 %"."""
_ASKS_FOR_OTHER_PARTS = re.compile(
    r"\b(?:refers?|referring|mentions?|mentioning|cites?|citing|amends?|repeals?|replaces?)\b", re.I
)
"""A question for other parts: "Which articles refer to article 5?"."""
_LINE_START = r"^[ \t]{0,8}(?:#{1,6}[ \t]+|\*\*)?"
_AFTER_NUMBER = r"(?:\*\*)?(?:[ \t]{0,8}$|[ \t]{0,4}[.):–—][ \t]|[ \t]{0,4}[.:]$|[ \t]{1,4}(?=[A-ZÀ-Þ“\"(\[]))"
"""Matches what follows the number of a heading: the line's end, a mark, or a word with a capital, but no verb."""
_WORD_HEADING = re.compile(
    rf"{_LINE_START}(?P<kind>(?i:{'|'.join(_KINDS)})|§)\s?(?P<number>{_NUMBER}){_AFTER_NUMBER}", re.MULTILINE
)
_BARE_HEADING = re.compile(
    rf"{_LINE_START}(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})\.?[ \t]{{1,4}}(?=[A-ZÀ-Þ])", re.MULTILINE
)
_MARKDOWN_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]", re.MULTILINE)
MAX_HEADING_CHARS = 80
"""Most characters of a heading that begins with a number; a longer line is text. A guess."""
_TEXT_ENDINGS = tuple('.!?;:”"')
_MIN_TEXT_WORDS = 3
"""Least words of a sentence on a heading's line that is text, no name: "Article 5. Whoever owes, pays."; a guess."""
_WORDS_ASKING_FOR_TEXT = re.compile(
    r"\b(?:what|does|do|is|are|in|of|the|say|says|said|state|states|stated|provide|provides|contain|contains|cover"
    r"|covers|regulate|regulates|mean|means|about|deal|deals|with|content|contents|text|wording|read|reads|show|give"
    r"|quote|me|please|written|stand|stands|under|set|sets|out|it|how)\b|[\W_]+",
    re.IGNORECASE,
)
"""The words, beside the name of a part, of a question for its text: "What does article 5 say?"."""


@dataclass(frozen=True)
class NumberedPart:
    """A part that a question names: its kind in lower case, "article" or "§", and its number as it is written."""

    kind: str
    number: str

    def phrases(self) -> list[str]:
        """Return the phrases by which its heading is looked up in an index: "article 5", or "clause 7.2" and "7.2"."""
        with_kind = f"{self.kind} {self.number}".strip("§ ")
        return [with_kind, self.number] if "." in self.number else [with_kind]

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the span of the part in a text, from its heading up to the next one; None if that is not sure.

        A heading with no text below it, as in a table of contents, is not the part, and of two with text neither is.
        """
        spans = []
        for heading in self._headings(text):
            end = _end_of_part(text, heading)
            if _is_part(text, heading, end):
                spans.append((heading.start(), end))
        return spans[0] if len(spans) == 1 else None

    def is_heading(self, heading: str) -> bool:
        """Return whether a heading is the part's."""
        return any(match.start() == 0 for match in self._headings(heading.strip()))

    def _headings(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the headings of the part in a text: those with its word, else those with its number alone."""
        with_word = list(_word_heading_of(self).finditer(text))
        yield from with_word
        if with_word or self.kind not in _KINDS_WITHOUT_WORD or not self.number[0].isdigit():
            return
        for match in _BARE_HEADING.finditer(text):
            if match["number"] == self.number and _is_bare_heading(match):
                yield match

    def is_bare(self, text: str) -> bool:
        """Return whether a text has no heading of the part with its word, and its number alone may be a list item's.

        A number with a full stop in it, "7.2", is none of an item.
        """
        return "." not in self.number and not _word_heading_of(self).search(text)

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


def _end_of_part(text: str, heading: re.Match[str]) -> int:
    """Return where the text below a heading ends: at the next heading of the same form, or at a Markdown heading.

    Below a heading of a number alone, "7", the ones of its own parts, "7.1", do not end it.
    """
    is_number_alone = "kind" not in heading.re.groupindex
    if is_number_alone:
        own_parts = f"{heading['number']}."
        following = [m for m in _BARE_HEADING.finditer(text, heading.end()) if not m["number"].startswith(own_parts)]
    else:
        following = list(_WORD_HEADING.finditer(text, heading.end()))
    following += _MARKDOWN_HEADING.finditer(text, heading.end())
    return min((match.start() for match in following), default=len(text))


def _is_part(text: str, heading: re.Match[str], end: int) -> bool:
    """Return whether the part's text stands between its heading and an end, so that this is no table of contents."""
    if _continues_line_above(text, heading.start()) or not _has_text(text, heading.end(), end):
        return False
    if "kind" not in heading.re.groupindex:
        return _has_neighbouring_number(text, heading)
    # The last entry of a table of contents has text below it: whatever follows the table. So the heading counts if
    # the one above it has text as well, or if it is the second with its number.
    above = [match for match in _WORD_HEADING.finditer(text, 0, heading.start()) if _have_same_kind(match, heading)]
    if not above or _has_text(text, above[-1].end(), heading.start()):
        return True
    return any(match["number"] == _number_of_heading(heading) for match in above)


def _have_same_kind(one: re.Match[str], other: re.Match[str]) -> bool:
    """Return whether two matched headings begin with the same word, such as "Article"."""
    return one["kind"].casefold() == other["kind"].casefold()


def _number_of_heading(heading: re.Match[str]) -> str:
    """Return the number of a matched heading that begins with a word; "" if it has none."""
    match = _WORD_HEADING.match(heading.string, heading.start())
    return match["number"] if match else ""


def _continues_line_above(text: str, start: int) -> bool:
    """Return whether a line goes on with a sentence of the line above it: "as is said in" above "Article 5."."""
    line_above = text[: max(start - 1, 0)].rpartition("\n")[2].rstrip()
    last_word = line_above.split()[-1] if line_above else ""
    return line_above.endswith(",") or last_word.casefold() in STOP_WORDS


def _has_text(text: str, start: int, end: int) -> bool:
    """Return whether there is a sentence, a long line or a table's row between a heading's number and an end.

    On the heading's line only a sentence counts, since the name of a part may be long.
    """
    same_line, *lines_below = text[start:end].split("\n")
    is_sentence = _is_text(same_line) and same_line.rstrip().endswith(_TEXT_ENDINGS)
    if is_sentence and len(same_line.split()) >= _MIN_TEXT_WORDS:
        return True
    return any(map(_is_text, lines_below))


def _is_text(line: str) -> bool:
    """Return whether a line is text: not a heading, nor an entry of a table of contents with dots up to a page."""
    line = line.strip().strip("*_ ")
    if "..." in line or ". . ." in line or not any(map(str.isalpha, line)):
        return False
    return line.endswith(_TEXT_ENDINGS) or len(line) > MAX_HEADING_CHARS or " | " in line


def _is_bare_heading(match: re.Match[str]) -> bool:
    """Return whether a line that begins with a number may be a heading: "7.2" or a short line."""
    return "." in match["number"] or _is_short_line(match.string, match.start())


def _has_neighbouring_number(text: str, heading: re.Match[str]) -> bool:
    """Return whether a heading of a number alone, and one with the next or the previous number, both have text below.

    Items of a list have no text below them, or a line that continues the item.
    """
    if not _has_new_text_below(text, heading):
        return False
    *prefix, last = heading["number"].split(".")
    neighbours = {".".join([*prefix, str(int(last) + step)]) for step in (-1, 1)}
    for other in _BARE_HEADING.finditer(text):
        is_neighbour = other["number"] in neighbours and _is_bare_heading(other) and _has_new_text_below(text, other)
        if is_neighbour and _has_text(text, other.end(), _end_of_part(text, other)):
            return True
    return False


def _has_new_text_below(text: str, heading: re.Match[str]) -> bool:
    """Return whether there is text below the line of a heading that does not continue it with a small letter."""
    below = text[heading.end() :].partition("\n")[2].lstrip()
    return bool(below) and not below[0].islower()


def _is_short_line(text: str, start: int) -> bool:
    """Return whether the line from an offset on is as short as a heading, and ends like one."""
    line = text[start:].partition("\n")[0].rstrip()
    return len(line) <= MAX_HEADING_CHARS and line[-1:] not in ".;,"


@lru_cache(maxsize=256)
def _word_heading_of(part: NumberedPart) -> re.Pattern[str]:
    """Return a pattern for the headings of a part that begin with its word or with "§"."""
    kinds = sorted(_KINDS_WITH_SIGN) if part.kind in _KINDS_WITH_SIGN else [part.kind]
    number = re.escape(part.number)
    return re.compile(rf"{_LINE_START}(?P<kind>(?i:{'|'.join(kinds)}))\s?{number}{_AFTER_NUMBER}", re.MULTILINE)


@lru_cache(maxsize=256)
def asked_parts(question: str) -> tuple[NumberedPart, ...]:
    """Return the numbered parts that a question names; none where it asks which other parts mention one."""
    if _ASKS_FOR_OTHER_PARTS.search(question):
        return ()
    return _parts_in(question)


def _parts_in(text: str) -> tuple[NumberedPart, ...]:
    """Return the numbered parts that a text names."""
    parts = [NumberedPart(match["kind"].lower(), match["number"]) for match in _outermost_parts(text)]
    return tuple(dict.fromkeys(parts))


def _outermost_parts(text: str) -> list[re.Match[str]]:
    """Return the matches of numbered parts in a text, without those that are only a part of another one named there.

    "Paragraph 2 of article 5" gives article 5 alone: other articles have a paragraph 2 as well.
    """
    matches = list(_NAMED_PART.finditer(text))
    outer = matches[-1:]
    for match, following in reversed(list(pairwise(matches))):
        if text[match.end() : following.start()].strip().casefold() not in {"of", "in"}:
            outer.insert(0, match)
    return outer


def asks_for_text(question: str) -> bool:
    """Return whether a question asks for nothing but what a numbered part says."""
    return bool(asked_parts(question)) and not _WORDS_ASKING_FOR_TEXT.sub("", _NAMED_PART.sub(" ", question))


def part_of(text: str, heading: str, part: NumberedPart) -> tuple[int, int] | None:
    """Return the span of a part in a passage; None if it is not surely there.

    A passage without the part's heading continues the part up to its first heading if that of the part is above it.

    Args:
        text: The passage.
        heading: The heading above its first character.
        part: The part.
    """
    span = part.find(text)
    if span or not part.is_heading(heading):
        return span
    patterns = [_WORD_HEADING, _MARKDOWN_HEADING]
    if part.is_bare(heading):
        patterns.append(_BARE_HEADING)
    first_heading = min((match.start() for pattern in patterns for match in pattern.finditer(text)), default=len(text))
    return (0, first_heading) if first_heading else None


def find_parts(question: str, passages: Sequence[Passage]) -> list[list[tuple[int, int]]]:
    """Return for each passage the spans of the numbered parts that a question names, where they surely are; often [].

    Args:
        question: The standalone question.
        passages: The passages that were found for it.
    """
    spans: list[list[tuple[int, int]]] = [[] for _ in passages]
    for part in asked_parts(question):
        span_by_passage = _spans_below_heading(question, part, passages)
        for document in {_document_of(passages[index]) for index in span_by_passage}:
            copies = [
                passages[index].text[start:end]
                for index, (start, end) in span_by_passage.items()
                if _document_of(passages[index]) == document
            ]
            if not _begin_alike(copies):  # two parts of one document have that number
                continue
            for index, passage in enumerate(passages):
                if _document_of(passage) != document:
                    continue
                # A passage without the heading may go on with the part.
                if span := span_by_passage.get(index) or part_of(passage.text, passage.heading, part):
                    spans[index].append(span)
    return spans


def names_document_of(question: str, title: str, titles: Sequence[str]) -> bool:
    """Return whether the parts that a question names may be those of a document.

    `title` is its title, `titles` are those of all documents that were found.
    """
    spans = [match.span() for match in _outermost_parts(question)]
    return is_of_named_document(question, spans, title, titles)


def _spans_below_heading(question: str, part: NumberedPart, passages: Sequence[Passage]) -> dict[int, tuple[int, int]]:
    """Return, by index of the passage, the spans of a part that begin with its heading, in documents that may be meant.

    Headings with the number alone count only if none has the part's word. If a passage names the part by its word,
    "Rule 5 forbids …", they count only in documents whose title has the word.
    """
    titles = [passage.title for passage in passages]
    spans: dict[int, tuple[int, int]] = {}
    for index, passage in enumerate(passages):
        span = part.find(passage.text)
        if span and names_document_of(question, passage.title, titles):
            spans[index] = span
    bare = {index for index in spans if part.is_bare(passages[index].text)}
    if len(bare) < len(spans):
        return {index: span for index, span in spans.items() if index not in bare}
    if any(part.is_mentioned(passage.text) for passage in passages):
        kind_terms = set(words(part.kind))
        return {index: span for index, span in spans.items() if kind_terms <= set(words(passages[index].title))}
    return spans


def _document_of(passage: Passage) -> str:
    """Return the name of a passage's document, or its title if the name is unknown."""
    return passage.document_id or passage.title


def _begin_alike(texts: Sequence[str]) -> bool:
    """Return whether the longest of some texts begins with each of the others, as overlapping passages of a part do."""
    longest = max(texts, key=len).strip()
    return all(longest.startswith(text.strip()) for text in texts)

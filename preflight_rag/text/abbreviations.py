"""Abbreviations: which one a question wants spelled out, and where a text spells it out.

A text spells one out in brackets after the long form, in brackets after the abbreviation, or in a clause such as
"SEOS stands for …". Either way the abbreviation's letters occur in the long form in their order, the first at the
beginning of a word, and the shortest such part of the text is the long form (Schwartz and Hearst 2003, "A simple
algorithm for identifying abbreviation definitions in biomedical text").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight_rag.text.words import STOP_WORDS

Span = tuple[int, int]

_NOUN = r"(?:the )?(?:abbreviation |acronym |initialism |letters |short form |term )?"
_SHORT_FORM = r"[\"“'‘]?(?P<short>[^\W_][\w.&/+-]{1,11})[\"”'’]?"
_FORM = f"{_NOUN}{_SHORT_FORM}"
_ASKS_LONG_FORM = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bwhat (?:do|does|did) {_FORM} (?:stand for|abbreviate)\b",
        rf"\bwhat(?: is|['’]s) {_FORM} (?:short for|an? (?:abbreviation|acronym) (?:of|for)|standing for)\b",
        rf"\bwhat(?: is|['’]s) the (?:full|long|expanded) (?:form|name|version|meaning) of {_FORM}",
        rf"\b{_SHORT_FORM} (?:stands for|is short for|abbreviates) what\b",
        rf"\b(?:spell out|write out|expand) {_FORM}",
    )
)
"""Questions that can only be about an abbreviation, however it is written: "what does seos stand for"."""
_ASKS_MEANING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bwhat (?:do|does|did) {_FORM} (?:mean|refer to|denote|signify)\b",
        rf"\bwhat(?: is|['’]s) (?:the meaning of|meant by) {_FORM}\W*$",
        rf"\bwhat(?: is|['’]s) the (?:abbreviation|acronym|initialism) {_SHORT_FORM}\W*$",
    )
)
"""Questions that may be about any word; they are about an abbreviation if the word has two capitals."""
_TWO_CAPITALS = re.compile(r"[A-Z].*[A-Z]")
_MAX_BEFORE_ABBREVIATION, _MAX_LONG_FORM = 40, 200
"""Most characters between a long form and its abbreviation, and of the long form itself; guesses."""
_TOKEN = re.compile(r"[^\W_]+(?:[-‐–][^\W_]+)*")
_STANDS_FOR = re.compile(
    r",? (?:\(?which )?(?:stands for|is short for|is an? (?:abbreviation|acronym) (?:of|for)|means|denotes|abbreviates"
    r"|refers to|short for|meaning|i\.e\.,?) |: | [=–—] "
)
"""The text between an abbreviation and its long form after it, without brackets."""
_LONG_FORM_BEFORE = re.compile(
    r"[(\[][^()\[\]]{0,20}$|,? (?:abbreviated|shortened|known|referred to)(?: (?:as|to))? [\"“'‘]?$"
)
"""The text before an abbreviation whose long form precedes it: "… Segmentation (SEOS", "(hereafter SEOS"."""
_LONG_FORM_BOUNDARY = re.compile(r"[;:()\[\]\n|]|[.!?](?=\s|$)")
"""A sign that a long form cannot contain."""


def asked_abbreviation(question: str) -> str:
    """Return the abbreviation that a question wants spelled out; "" if it asks something else."""
    for pattern in _ASKS_LONG_FORM:
        if match := pattern.search(question):
            return match["short"].rstrip(".-/")
    for pattern in _ASKS_MEANING:
        match = pattern.search(question)
        if match and _TWO_CAPITALS.search(match["short"]):
            return match["short"].rstrip(".-/")
    return ""


def spelled_out(short: str, text: str) -> list[Span]:
    """Return the spans at which a text spells out an abbreviation, in order; [] if it does not."""
    # A user who types it in lower case still means the one with capitals.
    case = "" if _TWO_CAPITALS.search(short) else "(?i)"
    spans: list[Span | None] = []
    for match in re.finditer(rf"{case}(?<![\w-]){re.escape(short)}s?(?![\w-])", text):
        if _TWO_CAPITALS.search(match[0]):
            spans.append(_long_form_after(short, text, match.end()))
            spans.append(_long_form_before(short, text, match.start()))
    return list(dict.fromkeys(filter(None, spans)))


def compared_form(long: str) -> str:
    """Return a long form for comparison: only its letters, in lower case, without a plural ending."""
    return "".join(character for character in long.casefold() if character.isalnum()).removesuffix("s")


def _long_form_before(short: str, text: str, offset: int) -> Span | None:
    """Return the span of the long form before an abbreviation in brackets: "standard … (SEOS)"; None if there is none.

    Args:
        short: The abbreviation.
        text: The text.
        offset: Where the abbreviation begins in the text.
    """
    separator = _LONG_FORM_BEFORE.search(text, max(0, offset - _MAX_BEFORE_ABBREVIATION), offset)
    if separator is None:
        return None
    end = len(text[: separator.start()].rstrip(" \n\"”'’,"))
    begin = max(0, end - _MAX_LONG_FORM)
    begin = max((boundary.end() for boundary in _LONG_FORM_BOUNDARY.finditer(text, begin, end)), default=begin)
    words = list(_TOKEN.finditer(text, begin, end))[-_max_words(short) :]
    for word in reversed(words):
        if _abbreviates(short, text[word.start() : end]):
            return word.start(), end
    return None


def _long_form_after(short: str, text: str, offset: int) -> Span | None:
    """Return the span of the long form after an abbreviation, in brackets or in a clause; None if there is none.

    Of several possible ends, the first at which the words' initials are the abbreviation is taken, else the first.

    Args:
        short: The abbreviation.
        text: The text.
        offset: Where the abbreviation ends in the text.
    """
    separator = re.compile(r"[\"”'’]?\s?[(\[]\s?").match(text, offset) or _STANDS_FOR.match(text, offset)
    if separator is None:
        return None
    start = separator.end()
    if article := re.compile(r"(?:an? |the |[\"“'‘])+", re.IGNORECASE).match(text, start):
        start = article.end()
    boundary = _LONG_FORM_BOUNDARY.search(text, start)
    words = list(_TOKEN.finditer(text, start, boundary.start() if boundary else len(text)))[: _max_words(short)]
    ends = [word.end() for word in words if _abbreviates(short, text[start : word.end()])]
    for end in ends:
        if _initials(text[start:end]) == short.casefold():
            return start, end
    return (start, ends[0]) if ends else None


def _max_words(short: str) -> int:
    """Return the maximum number of words of an abbreviation's long form (Schwartz and Hearst)."""
    return min(len(short) + 5, 2 * len(short))


def _initials(text: str) -> str:
    """Return the initials of the words of a text, without stop words, in lower case."""
    return "".join(word[0] for word in _TOKEN.findall(text) if word.casefold() not in STOP_WORDS).casefold()


def _abbreviates(short: str, long: str) -> bool:
    """Return whether an abbreviation's letters occur in a text in their order, the first one at its beginning.

    The last word must contribute a letter, too: else the text would be longer than the long form.
    """
    letters = [character for character in short.casefold() if character.isalnum()]
    words = [word.casefold() for word in _TOKEN.findall(long)]
    # "IS (IS481 …" repeats the abbreviation, and spells out nothing.
    if not words or len(long) <= len(short) or any(word.startswith(short.casefold()) for word in words):
        return False
    return _letters_match_words(letters, words)


def _letters_match_words(letters: list[str], words: list[str]) -> bool:
    """Return whether words contribute letters in their order: each its first one, and perhaps some after it.

    Only stop words and numbers may contribute none.
    """
    if not letters:
        return not words
    if not words:
        return False
    word, *others = words
    for number in _contributed_letters(letters, word):
        if _letters_match_words(letters[number:], others):
            return True
    # A line or page number may be printed between two words of a long form.
    return (word in STOP_WORDS or word.isdigit()) and _letters_match_words(letters, others)


def _contributed_letters(letters: list[str], word: str) -> Iterator[int]:
    """Yield how many of the next letters a word can contribute, fewest first: 1 and 2 for "s", "e" and "segment"."""
    if word[0] != letters[0]:
        return
    position = 0
    for number, letter in enumerate(letters, 1):
        position = word.find(letter, position) + 1
        if not position:
            return
        yield number

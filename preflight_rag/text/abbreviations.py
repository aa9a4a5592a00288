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

_KIND = r"(?:the )?(?:abbreviation |acronym |initialism |letters |short form |term )?"
_SHORT = r"[\"“'‘]?(?P<short>[^\W_][\w.&/+-]{1,11})[\"”'’]?"
_SPELL_OUT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bwhat (?:do|does|did) {_KIND}{_SHORT} (?:stand for|abbreviate)\b",
        rf"\bwhat(?: is|['’]s) {_KIND}{_SHORT} (?:short for|an? (?:abbreviation|acronym) (?:of|for)|standing for)\b",
        rf"\bwhat(?: is|['’]s) the (?:full|long|expanded) (?:form|name|version|meaning) of {_KIND}{_SHORT}",
        rf"\b{_SHORT} (?:stands for|is short for|abbreviates) what\b",
        rf"\b(?:spell out|write out|expand) {_KIND}{_SHORT}",
    )
)
"""Questions that can only be about an abbreviation, however it is written: "what does seos stand for"."""
_MEANING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bwhat (?:do|does|did) {_KIND}{_SHORT} (?:mean|refer to|denote|signify)\b",
        rf"\bwhat(?: is|['’]s) (?:the meaning of|meant by) {_KIND}{_SHORT}\W*$",
        rf"\bwhat(?: is|['’]s) the (?:abbreviation|acronym|initialism) {_SHORT}\W*$",
    )
)
"""Questions that may be about any word; they are about an abbreviation if the word has two capitals."""
_CAPITALS = re.compile(r"[A-Z].*[A-Z]")
_TOKEN = re.compile(r"[^\W_]+(?:[-‐–][^\W_]+)*")
_STANDS_FOR = re.compile(
    r",? (?:\(?which )?(?:stands for|is short for|is an? (?:abbreviation|acronym) (?:of|for)|means|denotes|abbreviates"
    r"|refers to|short for|meaning|i\.e\.,?) |: | [=–—] "
)
"""The text between an abbreviation and its long form after it, without brackets."""
_BEFORE = re.compile(r"[(\[][^()\[\]]{0,20}$|,? (?:abbreviated|shortened|known|referred to)(?: (?:as|to))? [\"“'‘]?$")
"""The text before an abbreviation whose long form precedes it: "… Segmentation (SEOS", "(hereafter SEOS"."""
_STOPS = re.compile(r"[;:()\[\]\n|]|[.!?](?=\s|$)")


def asked_abbreviation(question: str) -> str:
    """Return the abbreviation that a question wants spelled out; "" if it asks something else."""
    for pattern in _SPELL_OUT:
        if match := pattern.search(question):
            return match["short"].rstrip(".-/")
    found = (match["short"] for pattern in _MEANING if (match := pattern.search(question)))
    return next((short.rstrip(".-/") for short in found if _CAPITALS.search(short)), "")


def spelled_out(short: str, text: str) -> list[Span]:
    """Return the spans of an abbreviation's long forms in a text, in order; [] if it has none."""
    # A user who types it in lower case still means the one with capitals.
    case = "" if _CAPITALS.search(short) else "(?i)"
    found = []
    for match in re.finditer(rf"{case}(?<![\w-]){re.escape(short)}s?(?![\w-])", text):
        if _CAPITALS.search(match[0]):
            found += [span for span in (_behind(short, text, match.end()), _before(short, text, match.start())) if span]
    return list(dict.fromkeys(found))


def compared_form(long: str) -> str:
    """Return a long form for comparison: only its letters, in lower case, without a plural ending."""
    return "".join(character for character in long.casefold() if character.isalnum()).removesuffix("s")


def _before(short: str, text: str, place: int) -> Span | None:
    """Return the long form before an abbreviation in brackets."""
    opening = _BEFORE.search(text, max(0, place - 40), place)
    if opening is None:
        return None
    end = len(text[: opening.start()].rstrip(" \n\"”'’,"))
    begin = max((stop.end() for stop in _STOPS.finditer(text, max(0, end - 200), end)), default=max(0, end - 200))
    words = list(_TOKEN.finditer(text, begin, end))[-_most_words(short) :]
    for word in reversed(words):
        if _abbreviates(short, text[word.start() : end]):
            return word.start(), end
    return None


def _behind(short: str, text: str, place: int) -> Span | None:
    """Return the long form after an abbreviation, in brackets or in a clause."""
    lead = re.compile(r"[\"”'’]?\s?[(\[]\s?").match(text, place) or _STANDS_FOR.match(text, place)
    if lead is None:
        return None
    start = lead.end()
    if article := re.compile(r"(?:an? |the |[\"“'‘])+", re.IGNORECASE).match(text, start):
        start = article.end()
    stop = _STOPS.search(text, start)
    words = list(_TOKEN.finditer(text, start, stop.start() if stop else len(text)))[: _most_words(short)]
    fitting = [word.end() for word in words if _abbreviates(short, text[start : word.end()])]
    in_initials = (end for end in fitting if _initials(text[start:end]) == short.casefold())
    end = next(in_initials, fitting[0] if fitting else None)
    return None if end is None else (start, end)


def _most_words(short: str) -> int:
    """Return the most words that a long form can have (Schwartz and Hearst)."""
    return min(len(short) + 5, 2 * len(short))


def _initials(text: str) -> str:
    """Return the initials of the words of a text, without stop words, in lower case."""
    return "".join(word[0] for word in _TOKEN.findall(text) if word.casefold() not in STOP_WORDS).casefold()


def _abbreviates(short: str, long: str) -> bool:
    """Return whether the letters of an abbreviation occur in a text in their order, with its first and last word used.

    The text begins with the first letter, and its last word contributes another one: else it would be longer than the
    long form, or match by chance.
    """
    letters = [character for character in short.casefold() if character.isalnum()]
    words = [word.casefold() for word in _TOKEN.findall(long)]
    # "IS (IS481 …" repeats the abbreviation, and spells out nothing.
    if not words or len(long) <= len(short) or any(word.startswith(short.casefold()) for word in words):
        return False
    return _fits(letters, words)


def _fits(letters: list[str], words: list[str]) -> bool:
    """Return whether letters can be matched with words, where each used word contributes its first letter."""
    if not letters:
        return not words
    if not words:
        return False
    word, *others = words
    for used in _taken(letters, word):
        if _fits(letters[used:], others):
            return True
    # A line or page number may be printed between two words of a long form.
    return (word in STOP_WORDS or word.isdigit()) and _fits(letters, others)


def _taken(letters: list[str], word: str) -> Iterator[int]:
    """Yield how many of the next letters a word can contribute, fewest first."""
    if word[0] != letters[0]:
        return
    place = 0
    for used, letter in enumerate(letters, 1):
        place = word.find(letter, place) + 1
        if not place:
            return
        yield used

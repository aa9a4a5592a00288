"""Sentences about another time than the question: another day, month, ordinal ("the third year"), or part of a year.

In "The rent is £385 a month" nothing says that it is so in the third year, and "In the second year it rises to £400"
says that it is not. Sales of a quarter are not those of the year, nor the other way round. By rule, in English; a wrong
claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.offline import row_times
from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH_NAMES
from preflight_rag.text.tables import parse_row
from preflight_rag.text.values import QUANTITY, asked_kind

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMED = tuple(
    re.compile(rf"(?<!^)\b(?:{'|'.join(map(str.capitalize, each))})s?\b", re.MULTILINE) for each in (_DAYS, MONTH_NAMES)
)
"""Days and months with their capitals, not at the beginning: "May I park here?" names no month."""
_RANGE = re.compile(r"\b(?:to|until|till|through|and|or|every|each|daily|all)\b|[-–—/]", re.I)
"""Of a sentence that may hold for more days or months than it names."""
_ORDINALS = "second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_MONTH = "|".join(MONTH_NAMES)
_ORDINAL = re.compile(
    rf"(?<!per )(?<!each )(?<!every )(?<!a )\b(?:{_ORDINALS}|[1-9]\d?(?:st|nd|rd|th))\b"
    rf"(?!-hand|\s(?:of\s)?(?:{_MONTH})| (?:in|of) command| century)",
    re.I,
)
_DAY_OF_MONTH = re.compile(rf"\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)\b", re.I)
_NUMBERED = re.compile(
    r"\b(?:year|quarter|month|week|day|term|semester|phase|stage|floor|class|grade|level|step|part|round|offence)s?"
    r" (\d{1,2})\b",
    re.I,
)
"""What is numbered in place of an ordinal: "year 2" is the second."""
_FIRST = re.compile(r"\bfirst (?=(?:year|quarter|half|month|week|day|term|semester|phase|stage|floor|class)\b)", re.I)
_PART = (
    r"(?:(?:first|second|third|fourth|1st|2nd|3rd|4th|last|prior|same|previous)[ -](?:fiscal )?(?:quarter|half)"
    r"|[QH][1-4]|[1-4][QH]|(?:three|six|nine|3|6|9)[ -]months?(?= (?:period )?(?:ended|to\b))"
    r"|(?:thirteen|twenty-six|thirty-nine|13|26|39)[ -]weeks?(?= (?:period )?(?:ended|to\b)))"
)
_PART_OF_YEAR = re.compile(
    rf"\b{_PART}\b(?: ended)?(?:,? (?:of|in|ended) (?:the )?(?:fiscal |financial )?(?:year )?(?:{_MONTH} \d{{1,2}}, )?"
    r"(?:19|20)\d\d\b)?",
    re.I,
)
"""A quarter or half with its year, which is no whole one: "the fourth quarter of fiscal 2022"."""
_WHOLE_YEAR = re.compile(
    r"\b(?:(?:fiscal|financial|full|whole|calendar)[ -](?:year\b|(?:19|20)\d\d)|(?:twelve|12)[ -]months?\b"
    r"|(?:fifty-two|52)[ -]weeks?\b|(?:in|during|for|of) (?:the year )?(?:19|20)\d\d\b)",
    re.I,
)
_AT_THE_END = re.compile(r"\b(?:as of|at (?:the )?(?:quarter|year|end|beginning|start|close))\b", re.I)
"""Matches a point in time: the end of the fourth quarter is that of the year."""
_ASKS_WHAT_WAS = re.compile(
    r"^\W*(?:(?:in|on|since) )?(?:when|what (?:day|date|year)|which (?:day|year)) (?:did|was|were)\b", re.I
)
_WILL_BE = re.compile(
    r"\b(?:will|shall|(?:is|are) (?:(?:going|due|planned|expected) )?to)(?: (?:not|also|then|only))? (?:be )?\w+", re.I
)
_WAS = re.compile(r"\b(?:did|was|were|has|have|had|\w+ed)\b", re.I)
"""What happened by the sentence, beside what will: a plan is no answer to when something did happen."""
_PLANNED = re.compile(r"\b(?:due|plan\w*|supposed|expect\w*|schedul\w*|say|will|announc\w*|promis\w*)\b", re.IGNORECASE)
"""Of a question for a plan that was: "When was it due to open?"."""
_WRITTEN = {word: str(place) for place, word in enumerate(("first", *_ORDINALS.split("|")), 1)}


def is_of_another_time(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence is about another day, month or ordinal than the question.

    Args:
        question: The question.
        source: The passage of the sentence.
        quote: The sentence; a table's row is left to `row_times`.
    """
    if (row := parse_row(quote)) is not None:
        return row_times.is_of_another_time(question, row)
    placed = f"{source.title} {source.heading} {quote}"
    if _ordinals(question) - _ordinals(placed) or _is_of_other_length(question, quote):
        return True
    if (
        _ASKS_WHAT_WAS.search(question)
        and not _PLANNED.search(question)
        and _WILL_BE.search(quote)
        and not _WAS.search(_WILL_BE.sub(" ", quote))
    ):
        return True
    for named in _NAMED:
        asked, stated = _found(named, question), _found(named, quote)
        if asked and stated and asked.isdisjoint(stated) and not _RANGE.search(quote):
            return True
    return False


def _is_of_other_length(question: str, quote: str) -> bool:
    """Return whether a figure is a quarter's where a year's is asked for, or a year's where a quarter's is."""
    if not (asked_kind(question) == "number" or QUANTITY.search(question)) or _AT_THE_END.search(f"{question} {quote}"):
        return False
    asked, stated = _lengths(question), _lengths(quote)
    return bool(asked and stated) and asked.isdisjoint(stated)


def _lengths(text: str) -> frozenset[str]:
    """Return which lengths of time a text names, "part" of a year and "whole"."""
    rest = _PART_OF_YEAR.sub(" ", text)
    return frozenset(["part"] * (rest != text) + ["whole"] * bool(_WHOLE_YEAR.search(rest)))


def _found(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """Return what a pattern finds in a text, in lower case and without a plural's "s"."""
    return frozenset(match.casefold().removesuffix("s") for match in pattern.findall(text))


def _ordinals(text: str) -> frozenset[str]:
    """Return the ordinals of a text as figures: of "third" and "3rd" it is 3."""
    text = _DAY_OF_MONTH.sub(" ", text)
    found = [*_ORDINAL.findall(text), *(match.strip() for match in _FIRST.findall(text)), *_NUMBERED.findall(text)]
    return frozenset(_WRITTEN.get(word.casefold()) or re.sub(r"\D", "", word) for word in found)

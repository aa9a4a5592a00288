"""Sentences about another time than the question: another day, month, ordinal ("the third year"), or part of a year.

In "The rent is £385 a month" nothing says that it is so in the third year, and "In the second year it rises to £400"
says that it is not. Sales of a quarter are not those of the year, nor the other way round. In "Fridays (3pm to 10pm),
Sundays (noon to 5pm)" each figure is of one day. By rule, in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from preflight_rag.offline import row_times
from preflight_rag.state.reading import Source
from preflight_rag.text.dates import MONTH_NAMES
from preflight_rag.text.tables import parse_row
from preflight_rag.text.values import DATE, QUANTITY, asked_kind, last_question

LONG_AGO = 90
"""Days after which what a document calls the next of something is likely over; a guess."""
_ASKS_NEXT = re.compile(
    r"\b(?:next|upcoming|forthcoming|tomorrow|tonight|this (?:week|weekend|month))\b", re.IGNORECASE
)
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
_ASKS_CLOCK = re.compile(
    r"\b(?:(?:what|which) (?:exact )?times? (?:do|did|is|are|was|were|will|can|may|must|should|shall|has|have|on|in|at)"
    r"|(?:what|which) (?:exact )?times? does|at (?:what|which) (?:time|hour)|what hours"
    r"|(?:what|which) (?:is|are|was|were) (?:the |its |their |your |our )?(?:\w+ )?"
    r"(?:opening|closing|visiting|office|business|start(?:ing)?|arrival|departure) (?:times?|hours))\b",
    re.IGNORECASE,
)
"""A question for a time of day; "what time of year" and "what time limit" are for something else."""
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_CLOCK = re.compile(rf"\d|\b(?:{_HOURS}|noon|mid(?:day|night)|o['’]clock|dawn|dusk|sun(?:rise|set))\b", re.IGNORECASE)
"""What every time of day has; days, months and years are left out before."""
_HOUR_OF_FOUR_DIGITS = re.compile(r"\b[0-2]\d[0-5]\d ?(?:hours|hrs?|h)\b", re.IGNORECASE)
_FIGURE = re.compile(rf"\d|\b(?:{_HOURS}|noon|mid(?:day|night)|free|closed)\b", re.IGNORECASE)
"""Begins what a sentence says of one day, and otherwise of another."""
_SETS_OF_DAYS = {
    "weekday": frozenset(_DAYS[:5]), "weekend": frozenset(_DAYS[5:]), "every day": frozenset(_DAYS),
    "daily": frozenset(_DAYS),
}  # fmt: skip
_DAY = re.compile(rf"\b(?:{'|'.join([*_DAYS, *_SETS_OF_DAYS])})s?\b", re.IGNORECASE)
_DAYS_BETWEEN = re.compile(r"\s*(?:to|till|until|through|[-–—])\s*", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;.]\s|\s(?:and|but|while|whereas)\s", re.IGNORECASE)


@dataclass(frozen=True)
class _DayRun:
    """Days of a sentence without a figure between them: their names and their place."""

    days: frozenset[str]
    start: int
    end: int


def is_next_of_the_past(question: str, source: Source, today: date | None = None) -> bool:
    """Return whether a question asks for what comes next, of a document that was dated long ago.

    The "next safety evening" of last year's mail is over. A document without a date may be of today.

    Args:
        question: The question.
        source: The passage.
        today: The day of the question, by default the present one.
    """
    since = ((today or date.today()) - timedelta(days=LONG_AGO)).isoformat()
    dated = source.date or ""
    # A date may be a year alone, which is compared with a year.
    return bool(dated) and dated < since[: len(dated)] and bool(_ASKS_NEXT.search(last_question(question)))


def is_no_time_of_day(question: str, answer: str) -> bool:
    """Return whether a question asks for a time of day, and an answer has none: "Thursdays" for "What time ...?"."""
    # "1800 hours" has the form of a year, which is left out below.
    if not _ASKS_CLOCK.search(last_question(question)) or _HOUR_OF_FOUR_DIGITS.search(answer):
        return False
    return _CLOCK.search(DATE.sub(" ", answer)) is None


def is_of_another_day(question: str, quote: str, answer: str) -> bool:
    """Return whether a sentence has figures for several weekdays, and an answer has one of another than the question.

    Where a question for a time of day names no day, none of them answers it alone.

    Args:
        question: The question.
        quote: The sentence, no row of a table.
        answer: The answer as it stands in the sentence.
    """
    start, asked_last = quote.find(answer), last_question(question)
    runs = _day_runs(quote) if start >= 0 else []
    if len({run.days for run in runs}) < 2:
        return False
    # Of "On Tuesday? And on Sunday?" the last fragment counts, which is no question by itself.
    asked = next((days for part in reversed(question.split("?")) if (days := _days_of(part))), frozenset[str]())
    if not asked and (not _ASKS_CLOCK.search(asked_last) or DATE.search(question)):
        return False
    places = [start + match.start() for match in _FIGURE.finditer(_without_dates(answer))]
    stated = [_run_of(quote, runs, place) for place in places]
    if not asked:
        return len({run.days for run in stated}) == 1
    return any(asked.isdisjoint(run.days) for run in stated)


def _day_runs(text: str) -> list[_DayRun]:
    """Return the days that a text names, those together that have no figure between them."""
    bare, runs = _without_dates(text), list[_DayRun]()
    for match in _DAY.finditer(bare):
        name = match[0].casefold().removesuffix("s")
        days = _SETS_OF_DAYS.get(name) or frozenset([name])
        between = bare[runs[-1].end : match.start()] if runs else ""
        if not runs or _FIGURE.search(between):
            runs.append(_DayRun(days, match.start(), match.end()))
            continue
        if _DAYS_BETWEEN.fullmatch(between):
            days |= _days_from(bare[: runs[-1].end], name)
        runs[-1] = _DayRun(runs[-1].days | days, runs[-1].start, match.end())
    return runs


def _days_from(before: str, last: str) -> frozenset[str]:
    """Return the days from the last one that a text names to another: of "Monday to Wednesday" three."""
    first = _DAY.findall(before)[-1].casefold().removesuffix("s")
    if first not in _DAYS or last not in _DAYS:
        return frozenset()
    begin, end = _DAYS.index(first), _DAYS.index(last)
    # The week twice, for "Saturday to Monday".
    return frozenset((_DAYS + _DAYS)[begin : end + 1 + (len(_DAYS) if end < begin else 0)])


def _run_of(text: str, runs: Sequence[_DayRun], place: int) -> _DayRun:
    """Return the days that a figure at a place of a text is of.

    They are those of its clause if it has no others; else the ones behind it, if the text begins with a time, or the
    ones before it.
    """
    begin = max((end.end() for end in _CLAUSE_END.finditer(text, 0, place)), default=0)
    end = _CLAUSE_END.search(text, place)
    own = [run for run in runs if run.end > begin and run.start < (end.start() if end else len(text))]
    if len(own) == 1:
        return own[0]
    before, behind = [run for run in runs if run.start <= place], [run for run in runs if run.start > place]
    begins_with_time = _CLOCK.search(_without_dates(text), 0, runs[0].start) is not None
    return behind[0] if behind and (not before or begins_with_time) else before[-1]


def _days_of(text: str) -> frozenset[str]:
    """Return the weekdays that a text names."""
    return frozenset[str]().union(*(run.days for run in _day_runs(text)))


def _without_dates(text: str) -> str:
    """Return a text with its dates blanked, each place as before."""
    return DATE.sub(lambda match: " " * len(match[0]), text)


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
    # The year of "the fourth quarter of fiscal 2022" is not meant as a whole.
    rest = _PART_OF_YEAR.sub(" ", text)
    return frozenset(["part"] * (rest != text) + ["whole"] * bool(_WHOLE_YEAR.search(rest)))


def _found(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """Return what a pattern finds in a text, in lower case and without a plural's "s"."""
    return frozenset(match.casefold().removesuffix("s") for match in pattern.findall(text))


def _ordinals(text: str) -> frozenset[str]:
    """Return the ordinals of a text as figures: of "third" and "3rd" it is 3."""
    # "December 24th" is a day, and no 24th of anything else.
    text = _DAY_OF_MONTH.sub(" ", text)
    found = [*_ORDINAL.findall(text), *(match.strip() for match in _FIRST.findall(text)), *_NUMBERED.findall(text)]
    return frozenset(_WRITTEN.get(word.casefold()) or re.sub(r"\D", "", word) for word in found)

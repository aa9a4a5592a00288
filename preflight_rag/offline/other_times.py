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

MAX_AGE_IN_DAYS = 90
"""Age of a document, in days, above which what it calls "the next evening" is likely over; a guess."""
_ASKS_NEXT = re.compile(
    r"\b(?:next|upcoming|forthcoming|tomorrow|tonight|this (?:week|weekend|month))\b", re.IGNORECASE
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_OR_MONTH_NAMES = tuple(
    re.compile(rf"(?<!^)\b(?:{'|'.join(map(str.capitalize, names))})s?\b", re.MULTILINE)
    for names in (_DAYS, MONTH_NAMES)
)
"""Patterns of days and of months with their capitals, not as first word: "May I park here?" names no month."""
_RANGE_OR_LIST = re.compile(r"\b(?:to|until|till|through|and|or|every|each|daily|all)\b|[-–—/]", re.I)
"""Matches what shows that a sentence may be for more days or months than it names: "Mon - Fri", "daily"."""
_ORDINAL_WORDS = "second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_MONTH = "|".join(MONTH_NAMES)
_ORDINAL = re.compile(
    rf"(?<!per )(?<!each )(?<!every )(?<!a )\b(?:{_ORDINAL_WORDS}|[1-9]\d?(?:st|nd|rd|th))\b"
    rf"(?!-hand|\s(?:of\s)?(?:{_MONTH})| (?:in|of) command| century)",
    re.I,
)
_DAY_OF_MONTH = re.compile(rf"\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)\b", re.I)
_NUMBERED_PART = re.compile(
    r"\b(?:year|quarter|month|week|day|term|semester|phase|stage|floor|class|grade|level|step|part|round|offence)s?"
    r" (\d{1,2})\b",
    re.I,
)
"""Matches a number in place of an ordinal: "year 2" is the second."""
_FIRST_PERIOD = re.compile(
    r"\bfirst (?=(?:year|quarter|half|month|week|day|term|semester|phase|stage|floor|class)\b)", re.I
)
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
"""Matches a quarter or half of a year, with its year: "the fourth quarter of fiscal 2022"."""
_WHOLE_YEAR = re.compile(
    r"\b(?:(?:fiscal|financial|full|whole|calendar)[ -](?:year\b|(?:19|20)\d\d)|(?:twelve|12)[ -]months?\b"
    r"|(?:fifty-two|52)[ -]weeks?\b|(?:in|during|for|of) (?:the year )?(?:19|20)\d\d\b)",
    re.I,
)
_POINT_IN_TIME = re.compile(r"\b(?:as of|at (?:the )?(?:quarter|year|end|beginning|start|close))\b", re.I)
"""Matches a point in time: the end of the fourth quarter is also the end of the year."""
_ASKS_WHAT_WAS = re.compile(
    r"^\W*(?:(?:in|on|since) )?(?:when|what (?:day|date|year)|which (?:day|year)) (?:did|was|were)\b", re.I
)
_STATES_FUTURE = re.compile(
    r"\b(?:will|shall|(?:is|are) (?:(?:going|due|planned|expected) )?to)(?: (?:not|also|then|only))? (?:be )?\w+", re.I
)
_STATES_PAST = re.compile(r"\b(?:did|was|were|has|have|had|\w+ed)\b", re.I)
"""Matches a past event: a sentence with nothing but a plan does not answer when something happened."""
_ASKS_FOR_PLAN = re.compile(
    r"\b(?:due|plan\w*|supposed|expect\w*|schedul\w*|say|will|announc\w*|promis\w*)\b", re.IGNORECASE
)
"""Matches words of a question for a plan: "When was it due to open?"."""
_FIGURE_OF_ORDINAL = {word: str(number) for number, word in enumerate(("first", *_ORDINAL_WORDS.split("|")), 1)}
_ASKS_TIME_OF_DAY = re.compile(
    r"\b(?:(?:what|which) (?:exact )?times? (?:do|did|is|are|was|were|will|can|may|must|should|shall|has|have|on|in|at)"
    r"|(?:what|which) (?:exact )?times? does|at (?:what|which) (?:time|hour)|what hours"
    r"|(?:what|which) (?:is|are|was|were) (?:the |its |their |your |our )?(?:\w+ )?"
    r"(?:opening|closing|visiting|office|business|start(?:ing)?|arrival|departure) (?:times?|hours))\b",
    re.IGNORECASE,
)
"""Matches a question for a time of day; "what time of year" and "what time limit" ask for something else."""
_HOUR_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_TIME_OF_DAY = re.compile(
    rf"\d|\b(?:{_HOUR_WORDS}|noon|mid(?:day|night)|o['’]clock|dawn|dusk|sun(?:rise|set))\b", re.IGNORECASE
)
"""Matches what every time of day has; days, months and years are removed from the text before."""
_HOUR_OF_FOUR_DIGITS = re.compile(r"\b[0-2]\d[0-5]\d ?(?:hours|hrs?|h)\b", re.IGNORECASE)
_DAY_VALUE = re.compile(rf"\d|\b(?:{_HOUR_WORDS}|noon|mid(?:day|night)|free|closed)\b", re.IGNORECASE)
"""Matches the beginning of what a sentence says of one day: "Fridays (3pm to 10pm), Sundays (noon to 5pm)"."""
_DAYS_OF_WORD = {
    "weekday": frozenset(_DAYS[:5]), "weekend": frozenset(_DAYS[5:]), "every day": frozenset(_DAYS),
    "daily": frozenset(_DAYS),
}  # fmt: skip
_DAY_WORD = re.compile(rf"\b(?:{'|'.join([*_DAYS, *_DAYS_OF_WORD])})s?\b", re.IGNORECASE)
_UNTIL = re.compile(r"\s*(?:to|till|until|through|[-–—])\s*", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;.]\s|\s(?:and|but|while|whereas)\s", re.IGNORECASE)


@dataclass(frozen=True)
class _DayRun:
    """Days of a sentence without a figure between them: their names, and where they start and end in it."""

    days: frozenset[str]
    start: int
    end: int


def is_next_of_the_past(question: str, source: Source, today: date | None = None) -> bool:
    """Return whether a question asks for what comes next, and the passage's document is dated long ago.

    The "next safety evening" of last year's mail is over. False for a document without a date, which may be of today.

    Args:
        question: The question.
        source: The passage.
        today: The day of the question, by default the present one.
    """
    oldest_date = ((today or date.today()) - timedelta(days=MAX_AGE_IN_DAYS)).isoformat()
    document_date = source.date or ""
    # A date may be a year alone, which is compared with a year.
    is_old = bool(document_date) and document_date < oldest_date[: len(document_date)]
    return is_old and bool(_ASKS_NEXT.search(last_question(question)))


def is_no_time_of_day(question: str, answer: str) -> bool:
    """Return whether a question asks for a time of day, and an answer has none: "Thursdays" for "What time ...?"."""
    # "1800 hours" has the form of a year, which is left out below.
    if not _ASKS_TIME_OF_DAY.search(last_question(question)) or _HOUR_OF_FOUR_DIGITS.search(answer):
        return False
    return _TIME_OF_DAY.search(DATE.sub(" ", answer)) is None


def is_of_another_day(question: str, quote: str, answer: str) -> bool:
    """Return whether a sentence has figures for several weekdays, and an answer has one of another than the question.

    If a question for a time of day names no day, an answer with figures of one day alone is refused, too.

    Args:
        question: The question.
        quote: The sentence, no row of a table.
        answer: The answer as it stands in the sentence.
    """
    start = quote.find(answer)
    runs = _day_runs(quote) if start >= 0 else []
    if len({run.days for run in runs}) < 2:
        return False
    # Of "On Tuesday? And on Sunday?" the last fragment counts, which is no question by itself.
    asked_days = next((days for part in reversed(question.split("?")) if (days := _days_in(part))), frozenset[str]())
    if not asked_days and (not _ASKS_TIME_OF_DAY.search(last_question(question)) or DATE.search(question)):
        return False
    positions = [start + match.start() for match in _DAY_VALUE.finditer(_without_dates(answer))]
    answer_runs = [_run_of_position(quote, runs, position) for position in positions]
    if not asked_days:
        return len({run.days for run in answer_runs}) == 1
    return any(asked_days.isdisjoint(run.days) for run in answer_runs)


def _day_runs(text: str) -> list[_DayRun]:
    """Return the runs of days in a text: days without a figure between them are one run; a range has all its days."""
    bare, runs = _without_dates(text), list[_DayRun]()
    for match in _DAY_WORD.finditer(bare):
        name = match[0].casefold().removesuffix("s")
        days = _DAYS_OF_WORD.get(name) or frozenset([name])
        previous = runs[-1] if runs else None
        if previous is None or _DAY_VALUE.search(between := bare[previous.end : match.start()]):
            runs.append(_DayRun(days, match.start(), match.end()))
            continue
        if _UNTIL.fullmatch(between):
            days |= _days_of_range(bare[: previous.end], name)
        runs[-1] = _DayRun(previous.days | days, previous.start, match.end())
    return runs


def _days_of_range(before: str, last: str) -> frozenset[str]:
    """Return the days from the last day that a text names to another: three of "Monday to Wednesday".

    Empty if one of the two is no single day, such as "weekend".
    """
    first = _DAY_WORD.findall(before)[-1].casefold().removesuffix("s")
    if first not in _DAYS or last not in _DAYS:
        return frozenset()
    begin, end = _DAYS.index(first), _DAYS.index(last)
    if end < begin:
        end += len(_DAYS)
    # The week twice, for "Saturday to Monday".
    return frozenset((_DAYS + _DAYS)[begin : end + 1])


def _run_of_position(text: str, runs: Sequence[_DayRun], position: int) -> _DayRun:
    """Return the run of days that the figure at a position of a text belongs to.

    It is the only run of the figure's clause. If the clause has none, or several, it is the next run behind the figure
    where the text begins with a time ("3pm on Fridays"), or no run is before it; else the last run before it.
    """
    clause_start = max((match.end() for match in _CLAUSE_END.finditer(text, 0, position)), default=0)
    following_end = _CLAUSE_END.search(text, position)
    clause_end = following_end.start() if following_end else len(text)
    runs_of_clause = [run for run in runs if run.end > clause_start and run.start < clause_end]
    if len(runs_of_clause) == 1:
        return runs_of_clause[0]
    before = [run for run in runs if run.start <= position]
    behind = [run for run in runs if run.start > position]
    begins_with_time = _TIME_OF_DAY.search(_without_dates(text), 0, runs[0].start) is not None
    return behind[0] if behind and (not before or begins_with_time) else before[-1]


def _days_in(text: str) -> frozenset[str]:
    """Return the weekdays that a text names."""
    return frozenset[str]().union(*(run.days for run in _day_runs(text)))


def _without_dates(text: str) -> str:
    """Return a text of the same length with spaces in place of its dates."""
    return DATE.sub(lambda match: " " * len(match[0]), text)


def is_of_another_time(question: str, source: Source, quote: str) -> bool:
    """Return whether a sentence is about another day, month, ordinal or part of the year than the question.

    True as well if the question asks what happened, and the sentence has only a plan.

    Args:
        question: The question.
        source: The passage of the sentence.
        quote: The sentence; a table's row is left to `row_times`.
    """
    if (row := parse_row(quote)) is not None:
        return row_times.is_of_another_time(question, row)
    quote_with_titles = f"{source.title} {source.heading} {quote}"
    if _ordinals(question) - _ordinals(quote_with_titles) or _is_for_other_length_of_time(question, quote):
        return True
    asks_past = _ASKS_WHAT_WAS.search(question) and not _ASKS_FOR_PLAN.search(question)
    if asks_past and _STATES_FUTURE.search(quote) and not _STATES_PAST.search(_STATES_FUTURE.sub(" ", quote)):
        return True
    for pattern in _DAY_OR_MONTH_NAMES:
        names_in_question, names_in_quote = _matches_of(pattern, question), _matches_of(pattern, quote)
        if (
            names_in_question
            and names_in_quote
            and names_in_question.isdisjoint(names_in_quote)
            and not _RANGE_OR_LIST.search(quote)
        ):
            return True
    return False


def _is_for_other_length_of_time(question: str, quote: str) -> bool:
    """Return whether a sentence is for a quarter or half where a number of a whole year is asked for, or the reverse.

    False for questions that ask for no number, and where either names a point in time ("at the end of").
    """
    asks_number = asked_kind(question) == "number" or QUANTITY.search(question)
    if not asks_number or _POINT_IN_TIME.search(f"{question} {quote}"):
        return False
    question_lengths, quote_lengths = _lengths_of_time(question), _lengths_of_time(quote)
    return bool(question_lengths and quote_lengths) and question_lengths.isdisjoint(quote_lengths)


def _lengths_of_time(text: str) -> frozenset[str]:
    """Return which lengths of time a text names: "part" of a year, "whole" for a year, both or none."""
    # The year of "the fourth quarter of fiscal 2022" is not meant as a whole.
    without_parts = _PART_OF_YEAR.sub(" ", text)
    lengths = {"part"} if without_parts != text else set()
    if _WHOLE_YEAR.search(without_parts):
        lengths.add("whole")
    return frozenset(lengths)


def _matches_of(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """Return the matches of a pattern in a text, in lower case and without a plural's "s"."""
    return frozenset(match.casefold().removesuffix("s") for match in pattern.findall(text))


def _ordinals(text: str) -> frozenset[str]:
    """Return the ordinals of a text as figures: "3" for "third", "3rd" and "year 3"."""
    # "December 24th" is a day, and no 24th of anything else.
    text = _DAY_OF_MONTH.sub(" ", text)
    first = [match.strip() for match in _FIRST_PERIOD.findall(text)]
    ordinals = [*_ORDINAL.findall(text), *first, *_NUMBERED_PART.findall(text)]
    return frozenset(_FIGURE_OF_ORDINAL.get(word.casefold()) or re.sub(r"\D", "", word) for word in ordinals)

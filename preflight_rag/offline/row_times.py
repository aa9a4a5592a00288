"""Rows of tables that are of another time than the question: another weekday, day, month or time of day.

"Who teaches the beginners on Sunday?" is not answered by a row of the beginners with "Day: Wednesday". A row that gives
no such time, or a range of them, may be of any. By rule, in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re
from calendar import day_name
from collections.abc import Sequence

from preflight_rag.text.dates import MONTH_NAMES, MONTHS
from preflight_rag.text.tables import TableRow
from preflight_rag.text.values import DATE

_WEEKDAY = re.compile(
    r"\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:days?)?\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
)
"""Matches a weekday, or its abbreviation with a capital: "sat", "sun" and "wed" are other words."""
_MONTH = re.compile(rf"\b(?:{'|'.join(map(str.capitalize, MONTH_NAMES))})\b")
_MONTH_NOT_FIRST = re.compile(rf"(?<!^){_MONTH.pattern}")
"""Matches a month that is not the first word: "May I park here?" names none."""
_ISO_DAY = re.compile(r"(?<![\d-])(?:19|20)\d\d-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?![\d-])")
_TIME_OF_DAY = re.compile(
    r"(?<![\d.:])(?:(?P<hour>1[0-2]|0?\d)(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?![\d:]))",
    re.IGNORECASE,
)
"""Matches a time of day: "5.30 pm", "9am", "17:30"."""
_RANGE_OR_LIST = re.compile(
    r"\b(?:to|until|till|through|and|or|every|each|daily|all|any|both|from|since|after|before|except|weekdays?"
    r"|weekends?|various)\b|[-–—/&+,;]",
    re.IGNORECASE,
)
"""Matches what shows that a cell is for more days, months or times than it names: "Mon - Fri", "daily", "from"."""
_MINUTES_PER_DAY = 24 * 60


def is_of_another_time(question: str, row: TableRow, column: str | None = None) -> bool:
    """Return whether the cells of a row name a weekday, day, month or time of day, and none that the question names.

    Args:
        question: The question; of several times of day the first one counts.
        row: The row.
        column: The name of the column of the cell that would answer; None to count the names of all columns.
    """
    columns = [cell.column for cell in row.cells if cell.column] if column is None else [column]
    texts = [*(cell.text for cell in row.cells), *columns]
    asked_times = _minutes_of_times(question)
    texts_with_times = [text for text in texts if _minutes_of_times(text)]
    if asked_times and texts_with_times and not any(_includes_time(text, asked_times[0]) for text in texts_with_times):
        return True
    return (
        _are_all_other_times(_weekdays(question), [(_weekdays(text), text) for text in texts])
        or _are_all_other_times(_months(question, _MONTH_NOT_FIRST), [(_months(text, _MONTH), text) for text in texts])
        or _are_all_other_times(_days_of_month(question), [(_days_of_month(text), text) for text in texts])
    )


def _are_all_other_times(asked: frozenset[str], times_of_texts: Sequence[tuple[frozenset[str], str]]) -> bool:
    """Return whether texts, each behind its times of one sort, name times, but none that is asked for.

    False if nothing is asked for or named, and if a text names several times, a range or a list.
    """
    named = [(times, text) for times, text in times_of_texts if times]
    if not asked or not named:
        return False
    return all(asked.isdisjoint(times) and len(times) == 1 and not _has_range_or_list(text) for times, text in named)


def _has_range_or_list(text: str) -> bool:
    """Return whether a cell has a word or sign of a range or list, besides the hyphens and commas of its dates."""
    without_dates = DATE.sub(" ", _ISO_DAY.sub(" ", text))
    return _RANGE_OR_LIST.search(_TIME_OF_DAY.sub(" ", without_dates)) is not None


def _weekdays(text: str) -> frozenset[str]:
    """Return the weekdays that a text names, by their first three letters: "mon"."""
    abbreviations = {name[:3].casefold() for name in day_name}
    return frozenset(match.casefold()[:3] for match in _WEEKDAY.findall(text)) & abbreviations


def _months(text: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the months that a pattern finds in a text, and those of its dates, by their first three letters."""
    names = [match.casefold()[:3] for match in pattern.findall(text)]
    iso_months = [MONTHS[int(match["month"]) - 1] for match in _ISO_DAY.finditer(text)]
    return frozenset([*names, *iso_months, *_months_of_dates(text)])


def _months_of_dates(text: str) -> list[str]:
    """Return the months of a text's dates, by their first three letters; ISO dates are left out."""
    months = [match["month1"] or match["month2"] or match["month3"] or "" for match in DATE.finditer(text)]
    return [month[:3].casefold() for month in months if month]


def _days_of_month(text: str) -> frozenset[str]:
    """Return the days of a text's dates, each with its month: "22 mar"."""
    days = [f"{int(match['day'])} {MONTHS[int(match['month']) - 1]}" for match in _ISO_DAY.finditer(text)]
    for match in DATE.finditer(text):
        day, month = match["day1"] or match["day2"], match["month1"] or match["month2"]
        if day and month:
            days.append(f"{int(day)} {month[:3].casefold()}")
    return frozenset(days)


def _minutes_of_times(text: str) -> list[int]:
    """Return the times of day that a text names, in minutes since midnight."""
    times = []
    for match in _TIME_OF_DAY.finditer(text):
        if match["half"]:
            hour = int(match["hour"]) % 12 + (12 if match["half"].casefold() == "p" else 0)
            times.append(hour * 60 + int(match["minute"] or 0))
        else:
            times.append(int(match["hour24"]) * 60 + int(match["minute24"]))
    return times


def _includes_time(text: str, minute: int) -> bool:
    """Return whether a cell names a time of day, in minutes since midnight, or may include it, as a range or list."""
    times = _minutes_of_times(text)
    if len(times) == 1:
        return minute == times[0] or _RANGE_OR_LIST.search(_TIME_OF_DAY.sub(" ", text)) is not None
    first, last = times[0], times[-1]
    # "10 pm to 2 am" ends on the next day, to which a time after midnight belongs.
    if last < first:
        last += _MINUTES_PER_DAY
    return minute in times or first <= minute <= last or first <= minute + _MINUTES_PER_DAY <= last

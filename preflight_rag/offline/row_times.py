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
"""A weekday, also a short one with its capital; "sat", "sun" and "wed" are other words."""
_MONTH = re.compile(rf"\b(?:{'|'.join(map(str.capitalize, MONTH_NAMES))})\b")
_MONTH_INSIDE = re.compile(rf"(?<!^){_MONTH.pattern}")
"""A month in a question: "May I park here?" names none."""
_ISO_DAY = re.compile(r"(?<![\d-])(?:19|20)\d\d-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?![\d-])")
_CLOCK = re.compile(
    r"(?<![\d.:])(?:(?P<hour>1[0-2]|0?\d)(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?![\d:]))",
    re.IGNORECASE,
)
"""A time of day: "5.30 pm", "9am", "17:30"."""
_OPEN = re.compile(
    r"\b(?:to|until|till|through|and|or|every|each|daily|all|any|both|from|since|after|before|except|weekdays?"
    r"|weekends?|various)\b|[-–—/&+,;]",
    re.IGNORECASE,
)
"""Of a cell that may hold for more days, months or times than it names."""
_MINUTES_OF_DAY = 24 * 60


def is_of_another_time(question: str, row: TableRow, column: str | None = None) -> bool:
    """Return whether the cells of a row name a weekday, day, month or time of day, and none that the question names.

    Args:
        question: The question.
        row: The row.
        column: The name of the column of the cell that would answer; None to count the names of all columns.
    """
    named = [cell.column for cell in row.cells if cell.column] if column is None else [column]
    texts = [*(cell.text for cell in row.cells), *named]
    asked, timed = _clocks(question)[:1], [text for text in texts if _clocks(text)]
    if asked and timed and not any(_holds(text, asked[0]) for text in timed):
        return True
    return (
        _is_other(_weekdays(question), [(_weekdays(text), text) for text in texts])
        or _is_other(_months(question, _MONTH_INSIDE), [(_months(text, _MONTH), text) for text in texts])
        or _is_other(_days(question), [(_days(text), text) for text in texts])
    )


def _is_other(asked: frozenset[str], stated: Sequence[tuple[frozenset[str], str]]) -> bool:
    """Return whether texts name times of one sort, none that is asked for, and none of them a range or a list."""
    named = [(own, text) for own, text in stated if own]
    if not asked or not named:
        return False
    return all(asked.isdisjoint(own) and not (len(own) > 1 or _is_open(text)) for own, text in named)


def _is_open(text: str) -> bool:
    """Return whether a cell may hold for more days than it names; the hyphens and commas of dates do not count."""
    return _OPEN.search(_CLOCK.sub(" ", DATE.sub(" ", _ISO_DAY.sub(" ", text)))) is not None


def _weekdays(text: str) -> frozenset[str]:
    """Return the weekdays that a text names, by their first three letters."""
    short = {name[:3].casefold() for name in day_name}
    return frozenset(match.casefold()[:3] for match in _WEEKDAY.findall(text)) & short


def _months(text: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the months that a text names, by their first three letters."""
    found = [match.casefold()[:3] for match in pattern.findall(text)]
    return frozenset([*found, *(MONTHS[int(match["month"]) - 1] for match in _ISO_DAY.finditer(text)), *_dated(text)])


def _dated(text: str) -> list[str]:
    """Return the months of a text's dates."""
    found = [match["month1"] or match["month2"] or match["month3"] or "" for match in DATE.finditer(text)]
    return [month[:3].casefold() for month in found if month]


def _days(text: str) -> frozenset[str]:
    """Return the days of a text's dates with their months, such as "22 mar"."""
    found = [f"{int(match['day'])} {MONTHS[int(match['month']) - 1]}" for match in _ISO_DAY.finditer(text)]
    for match in DATE.finditer(text):
        day, month = match["day1"] or match["day2"], match["month1"] or match["month2"]
        if day and month:
            found.append(f"{int(day)} {month[:3].casefold()}")
    return frozenset(found)


def _clocks(text: str) -> list[int]:
    """Return the times of day that a text names, in minutes."""
    found = []
    for match in _CLOCK.finditer(text):
        if match["half"]:
            hour = int(match["hour"]) % 12 + (12 if match["half"].casefold() == "p" else 0)
            found.append(hour * 60 + int(match["minute"] or 0))
        else:
            found.append(int(match["hour24"]) * 60 + int(match["minute24"]))
    return found


def _holds(text: str, asked: int) -> bool:
    """Return whether a cell's times are, or may include, one that is asked for."""
    times = _clocks(text)
    if len(times) == 1:
        return asked == times[0] or _OPEN.search(_CLOCK.sub(" ", text)) is not None
    # "10 pm to 2 am" ends on the next day, to which a time behind midnight belongs.
    last = times[-1] + (_MINUTES_OF_DAY if times[-1] < times[0] else 0)
    return asked in times or times[0] <= asked <= last or times[0] <= asked + _MINUTES_OF_DAY <= last

"""Parsing of dates as people and loaders write them.

A date is an interval of days: a year, a month, a season and a day can then be compared with each other. The day is the
written one, whatever the time zone. `03/04/2021` may be 4 March or 3 April: unless a part above 12 or the dots of
`03.04.2021` (day first) decide, the interval covers both readings.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from preflight_rag.state.errors import UsageError

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
MONTHS = tuple(name[:3] for name in MONTH_NAMES)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
YEAR = r"[12]\d{3}"
_DAY_RANGE = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?(?:\s?[-\u2013]\s?(?P<d2>\d{1,2})(?:st|nd|rd|th)?)?"
_MONTH_GROUP, _YEAR_GROUP = rf"(?P<m>{MONTH})", rf"(?P<y>{YEAR})"
_MONTH_RANGE = rf"{_MONTH_GROUP}(?:\s?[-/\u2013]\s?(?P<m2>{MONTH}))?"
_SEASON_GROUP = rf"(?P<season>{'|'.join(SEASONS)})"
_TIME = (
    r"(?:[T,\s]++(?:at\s++)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d++)?)?\s*+(?:[ap]\.?m\.?\s*+)?"
    r"(?:Z|[A-Z]{2,4}|[+-]\d{2}:?\d{2})?)?"
)
_MAX_CHARS = 80
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE)
_RANGE = re.compile(r"(?<!\s)\s++to\s++|[-/\u2013\u2014]")
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        _YEAR_GROUP,
        rf"{_YEAR_GROUP}(?P<s>[-/.])(?P<n>\d{{1,2}})",
        rf"{_YEAR_GROUP}(?P<s>[-/.])(?P<n>\d{{1,2}})(?P=s)(?P<d>\d{{1,2}}){_TIME}",
        rf"(?:D:)?{_YEAR_GROUP}(?P<n>\d{{2}})(?P<d>\d{{2}})(?:T?\d{{4,6}}(?:Z|[+-]\d{{2}}'?:?\d{{2}}'?)?)?",
        rf"(?P<a>\d{{1,2}})(?P<s>[-/.])(?P<b>\d{{1,2}})(?P=s){_YEAR_GROUP}{_TIME}",
        rf"{_DAY_RANGE}(?:\s+day)?(?:\s+of)?[\s-]*{_MONTH_GROUP}[\s,-]*{_YEAR_GROUP}{_TIME}",
        rf"{_MONTH_RANGE}\s*{_DAY_RANGE}\s*+(?:,\s*+)?{_YEAR_GROUP}{_TIME}",
        rf"{_MONTH_RANGE}[\s,-]*(?:of\s+)?{_YEAR_GROUP}",
        rf"{_YEAR_GROUP}[\s-]+{_MONTH_RANGE}",
        rf"{_YEAR_GROUP}[\s-]+{_MONTH_GROUP}[\s-]+{_DAY_RANGE}{_TIME}",
        rf"{_SEASON_GROUP}[\s,-]*(?:of\s+)?{_YEAR_GROUP}",
        rf"{_YEAR_GROUP}[\s-]+{_SEASON_GROUP}",
        rf"(?P<q>Q[1-4])[\s,/-]*{_YEAR_GROUP}",
        rf"{_YEAR_GROUP}[\s/-]*(?P<q>Q[1-4])",
    )
)


@dataclass(frozen=True, slots=True, order=True)
class PartialDate:
    """A date as exact as it was written: its first and its last possible day, by which dates are sorted."""

    earliest: date
    latest: date

    def __str__(self) -> str:
        """Return the date in ISO 8601: `2021`, `2021-03`, `2021-03-12`, or an interval, `2021-03-01/2021-04-30`."""
        first, last = self.earliest, self.latest
        if first == last:
            return first.isoformat()
        if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
            return f"{first.year:04d}"
        if (first, last) == _first_and_last_day(first.year, first.month):
            return f"{first:%Y-%m}"
        return f"{first.isoformat()}/{last.isoformat()}"

    def overlaps(self, other: PartialDate) -> bool:
        """Return whether both dates can be the same day."""
        return self.earliest <= other.latest and other.earliest <= self.latest


def parse_date(value: object) -> PartialDate:
    """Return the date that `value` states: text, a year as a number, or a `date`.

    Understands years from 1000, ISO 8601 with or without time, `20210312`, PDF's `D:2021…`, English month names in any
    of the usual orders, ranges (`2021 Mar-Apr`, `2020-2021`), quarters, and seasons of the northern half of the world
    (winter ends in the February of its year).

    Raises:
        UsageError: A date in no known form.
    """
    found = known_date(value)
    if found is None:
        raise UsageError(
            f"{value!r} is not a date in a known form",
            help="Write 2021, 2021-03, 2021-03-12 or March 2021 (--since, --where)",
        )
    return found


def known_date(value: object) -> PartialDate | None:
    """Return the result of `parse_date`, or None for a date in an unknown form."""
    if isinstance(value, date):
        day = value.date() if isinstance(value, datetime) else value
        return PartialDate(day, day)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return _parse_text(str(value))


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> PartialDate | None:
    """Return the date, or the interval of the range of dates, that a text states; None if it is in no known form."""
    text = " ".join(text.split())
    if len(text) > _MAX_CHARS:
        return None
    text = _WEEKDAY.sub("", text, count=1) if _WEEKDAY.match(text) else text
    if single := _parse_single(text):
        return single
    for separator in _RANGE.finditer(text):
        before, behind = text[: separator.start()].strip(), text[separator.end() :].strip()
        last = _parse_single(behind)
        if last is None:
            continue
        first = _parse_single(before) or _parse_single(f"{before} {last.earliest.year}")  # "3 May to 5 June 2021"
        if first and first <= last:
            return PartialDate(first.earliest, last.latest)
    return None


def _parse_single(text: str) -> PartialDate | None:
    """Return the date in one of the known forms, such as "12 March 2021" or "2021 Mar-Apr"; None for any other text."""
    for form in _DATE_FORMS:
        match = form.fullmatch(text)
        if match:
            try:
                return _interval_of_parts({key: part for key, part in match.groupdict().items() if part})
            except (ValueError, OverflowError):
                return None
    return None


def _interval_of_parts(parts: dict[str, str]) -> PartialDate:
    """Return the interval for the parts of a date; raise ValueError for a day or month that does not exist.

    Args:
        parts: The groups of a pattern of `_DATE_FORMS` that matched: y is the year, a and b are numbers of a day and a
            month in either order, s their separator, q is a quarter, m a month's name, n its number, m2 the last month
            of a range, d a day, and d2 the last day of a range.
    """
    year = int(parts["y"])
    if "a" in parts:
        return _interval_of_numbers(int(parts["a"]), int(parts["b"]), year, day_first=parts["s"] == ".")
    if "season" in parts:
        first_month = SEASONS[parts["season"].lower()]
        first = date(year - 1 if first_month == 12 else year, first_month, 1)
        _, last = _first_and_last_day(year, (first_month + 1) % 12 + 1)
        return PartialDate(first, last)
    if "q" in parts:
        first_month = 3 * int(parts["q"][1]) - 2
        _, last = _first_and_last_day(year, first_month + 2)
        return PartialDate(date(year, first_month, 1), last)
    if "m" not in parts and "n" not in parts:
        return PartialDate(date(year, 1, 1), date(year, 12, 31))
    month = int(parts["n"]) if "n" in parts else _month_number(parts["m"])
    last_month = _month_number(parts["m2"]) if "m2" in parts else month
    if "d" not in parts:
        first, _ = _first_and_last_day(year, month)
        _, last = _first_and_last_day(year, last_month)
    else:
        first, last = date(year, month, int(parts["d"])), date(year, last_month, int(parts.get("d2", parts["d"])))
    if last < first:
        raise ValueError("the range runs backwards")
    return PartialDate(first, last)


def _interval_of_numbers(a: int, b: int, year: int, *, day_first: bool) -> PartialDate:
    """Return the interval that covers the readings of "a/b/year" that exist: day before month, or month before day.

    Raise ValueError for a date that does not exist in either order, or, with `day_first`, in that one.
    """
    if day_first:
        day = date(year, b, a)
        return PartialDate(day, day)
    readings = sorted(date(year, month, day) for month, day in ((a, b), (b, a)) if month <= 12)
    if not readings:
        raise ValueError(f"neither {a} nor {b} is a month")
    return PartialDate(readings[0], readings[-1])


def _month_number(name: str) -> int:
    """Return the number of a month, 1 to 12, by its English name."""
    return MONTHS.index(name[:3].lower()) + 1


def _first_and_last_day(year: int, month: int) -> tuple[date, date]:
    """Return the first and last day of a month; raise ValueError for a number outside 1 to 12."""
    if not 1 <= month <= 12:
        raise ValueError(f"{month} is no month")
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])

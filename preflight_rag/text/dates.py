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
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?(?:\s?[-\u2013]\s?(?P<d2>\d{1,2})(?:st|nd|rd|th)?)?"
_M, _Y = rf"(?P<m>{MONTH})", rf"(?P<y>{YEAR})"
_MONTHS = rf"{_M}(?:\s?[-/\u2013]\s?(?P<m2>{MONTH}))?"
_SEASON = rf"(?P<season>{'|'.join(SEASONS)})"
_TIME = (
    r"(?:[T,\s]++(?:at\s++)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d++)?)?\s*+(?:[ap]\.?m\.?\s*+)?"
    r"(?:Z|[A-Z]{2,4}|[+-]\d{2}:?\d{2})?)?"
)
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE)
_RANGE = re.compile(r"(?<!\s)\s++to\s++|[-/\u2013\u2014]")
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        _Y,
        rf"{_Y}(?P<s>[-/.])(?P<n>\d{{1,2}})",
        rf"{_Y}(?P<s>[-/.])(?P<n>\d{{1,2}})(?P=s)(?P<d>\d{{1,2}}){_TIME}",
        rf"(?:D:)?{_Y}(?P<n>\d{{2}})(?P<d>\d{{2}})(?:T?\d{{4,6}}(?:Z|[+-]\d{{2}}'?:?\d{{2}}'?)?)?",
        rf"(?P<a>\d{{1,2}})(?P<s>[-/.])(?P<b>\d{{1,2}})(?P=s){_Y}{_TIME}",
        rf"{_DAY}(?:\s+day)?(?:\s+of)?[\s-]*{_M}[\s,-]*{_Y}{_TIME}",
        rf"{_MONTHS}\s*{_DAY}\s*+(?:,\s*+)?{_Y}{_TIME}",
        rf"{_MONTHS}[\s,-]*(?:of\s+)?{_Y}",
        rf"{_Y}[\s-]+{_MONTHS}",
        rf"{_Y}[\s-]+{_M}[\s-]+{_DAY}{_TIME}",
        rf"{_SEASON}[\s,-]*(?:of\s+)?{_Y}",
        rf"{_Y}[\s-]+{_SEASON}",
        rf"(?P<q>Q[1-4])[\s,/-]*{_Y}",
        rf"{_Y}[\s/-]*(?P<q>Q[1-4])",
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
        if (first, last) == _days(first.year, first.month):
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
    return _read(str(value))


@lru_cache(maxsize=4096)
def _read(text: str) -> PartialDate | None:
    """Return the date that a text states; of a range its whole span."""
    text = " ".join(text.split())
    if len(text) > 80:
        return None
    text = _WEEKDAY.sub("", text, count=1) if _WEEKDAY.match(text) else text
    if single := _single(text):
        return single
    for cut in _RANGE.finditer(text):
        last = _single(text[cut.end() :].strip())
        start = text[: cut.start()].strip()
        first = _single(start) or (_single(f"{start} {last.earliest.year}") if last else None)
        if first and last and first <= last:
            return PartialDate(first.earliest, last.latest)
    return None


def _single(text: str) -> PartialDate | None:
    """Return a date that is not a range of years."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            try:
                return _from_parts({key: part for key, part in match.groupdict().items() if part})
            except (ValueError, OverflowError):
                return None
    return None


def _from_parts(parts: dict[str, str]) -> PartialDate:
    """Return the interval for the parts of a date; raise ValueError for a day or month that does not exist."""
    year = int(parts["y"])
    if "a" in parts:
        return _numeric(int(parts["a"]), int(parts["b"]), year, day_first=parts["s"] == ".")
    if "season" in parts:
        start = SEASONS[parts["season"].lower()]
        begin = date(year - 1, 12, 1) if start == 12 else date(year, start, 1)
        return PartialDate(begin, _days(year, (start + 1) % 12 + 1)[1])
    if "q" in parts:
        month = 3 * int(parts["q"][1]) - 2
        return PartialDate(date(year, month, 1), _days(year, month + 2)[1])
    if "m" not in parts and "n" not in parts:
        return PartialDate(date(year, 1, 1), date(year, 12, 31))
    month = int(parts["n"]) if "n" in parts else _month(parts["m"])
    last_month = _month(parts["m2"]) if "m2" in parts else month
    if "d" not in parts:
        first, last = _days(year, month)[0], _days(year, last_month)[1]
    else:
        first, last = date(year, month, int(parts["d"])), date(year, last_month, int(parts.get("d2", parts["d"])))
    if last < first:
        raise ValueError("the range runs backwards")
    return PartialDate(first, last)


def _numeric(a: int, b: int, year: int, *, day_first: bool) -> PartialDate:
    """Return `a/b/year` in the readings that exist."""
    if day_first:
        day = date(year, b, a)
        return PartialDate(day, day)
    readings = sorted(date(year, month, day) for month, day in ((a, b), (b, a)) if month <= 12)
    if not readings:
        raise ValueError(f"neither {a} nor {b} is a month")
    return PartialDate(readings[0], readings[-1])


def _month(name: str) -> int:
    """Return the number of a month, 1 to 12, by its English name."""
    return MONTHS.index(name[:3].lower()) + 1


def _days(year: int, month: int) -> tuple[date, date]:
    """Return the first and last day of a month; raise ValueError for a number outside 1 to 12."""
    if not 1 <= month <= 12:
        raise ValueError(f"{month} is no month")
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])

"""Dates as people and loaders write them, and the date that a document states about itself.

A date is an interval of days: a year, a month, a season and a day can then be compared with each other. The day is the
one that is written, whatever the time zone. `03/04/2021` may be 4 March or 3 April: unless a part above 12 or the dots
of `03.04.2021` (day first) decide, the interval holds both readings.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
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
    """A date as exact as it was written: the first and the last day that it may be. Sorts by them."""

    earliest: date
    latest: date

    def __str__(self) -> str:
        """ISO 8601: `2021`, `2021-03`, `2021-03-12`, or an interval of days, `2021-03-01/2021-04-30`."""
        first, last = self.earliest, self.latest
        if first == last:
            return first.isoformat()
        if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
            return f"{first.year:04d}"
        if (first, last) == _days(first.year, first.month):
            return f"{first:%Y-%m}"
        return f"{first.isoformat()}/{last.isoformat()}"

    def overlaps(self, other: PartialDate) -> bool:
        """Whether both may be the same day."""
        return self.earliest <= other.latest and other.earliest <= self.latest


def parse_date(value: object) -> PartialDate:
    """The date that `value` states: text, a year as a number, or a `date`.

    Understands years from 1000, ISO 8601 with or without time, `20210312`, PDF's `D:2021…`, English month names in any
    of the usual orders, ranges (`2021 Mar-Apr`, `2020-2021`), quarters, and seasons of the northern half of the world
    (winter ends in the February of its year).

    Raises:
        UsageError: A date in no known form.
    """
    found = known_date(value)
    if found is None:
        raise UsageError(
            f"{value!r} is a date in no known form",
            help="Write 2021, 2021-03, 2021-03-12 or March 2021 (--since, --where)",
        )
    return found


def known_date(value: object) -> PartialDate | None:
    """As `parse_date`, with None for a date in no known form."""
    if isinstance(value, date):
        day = value.date() if isinstance(value, datetime) else value
        return PartialDate(day, day)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return _read(str(value))


@lru_cache(maxsize=4096)
def _read(text: str) -> PartialDate | None:
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
    """A date that is no range of years."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            try:
                return _from_parts({key: part for key, part in match.groupdict().items() if part})
            except (ValueError, OverflowError):
                return None
    return None


def _from_parts(parts: dict[str, str]) -> PartialDate:
    """The interval of a form's parts; ValueError for a day or month that does not exist."""
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
    """`a/b/year` in the readings that exist."""
    if day_first:
        day = date(year, b, a)
        return PartialDate(day, day)
    readings = sorted(date(year, month, day) for month, day in ((a, b), (b, a)) if month <= 12)
    if not readings:
        raise ValueError(f"neither {a} nor {b} is a month")
    return PartialDate(readings[0], readings[-1])


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _days(year: int, month: int) -> tuple[date, date]:
    """First and last day of a month; ValueError where there is none of that number."""
    if not 1 <= month <= 12:
        raise ValueError(f"{month} is no month")
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


HEAD, OPENING, TAIL = 6_000, 1_500, 3_000
BEFORE, AFTER = 160, 160
EARLIEST_YEAR, AHEAD = 1800, 31

_WEEK = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s++)?"
_DAYS = (
    rf"{_WEEK}(?:{YEAR}-\d{{2}}-\d{{2}}|{YEAR}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]{YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?:\s++of)?[\s-]++{MONTH}[\s,-]*+{YEAR}"
    rf"|{MONTH}\s*+\d{{1,2}}(?:st|nd|rd|th)?\s*+(?:,\s*+)?{YEAR}|{YEAR}[\s-]{MONTH}[\s-]\d{{1,2}})(?!\d)"
)
_MONTH_OR_DAY = rf"(?:{_DAYS}|(?:{'|'.join(SEASONS)}|{MONTH})[\s,]*+{YEAR}(?!\d)|{YEAR}-\d{{2}}(?![\d-]))"
_ANY = rf"(?:{_MONTH_OR_DAY}|{YEAR}(?![\d,./-]*\d))"
_START = r"(?:^|[|;\u2022\u00b7(\[]|\.\s)[ \t#>*_-]*+"
_GAP = r"[ \t*_]*+(?:(?::|\bon\b|\bas of\b|[\u2013\u2014-])[ \t*_]*+)?+(?:\n[ \t]*+)?+"


def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE | re.MULTILINE)


_PUBLISHED = _pattern(
    rf"{_START}(?:(?:first |originally |e)?published(?: online| in print| first)?|available online|posted|issued|dated"
    rf"|date of report(?: \([^()\n]{{3,60}}\))?){_GAP}(?P<date>{_ANY})"
    r"|(?:^|\|)[ \t#>*_-]*+(?:(?:e-?|pub|publication|published|online) ?)?date"
    rf"(?: (?:of (?:publication|issue)|published|posted|issued))?[*_ ]*+[:=][*_ \t\"']*+(?P<plain>{_ANY})"
    rf"|\b(?:print|report|issue|invoice|letter|order|visit|meeting) date[: \t]++(?P<kind>{_DAYS})"
)
_STAMP = re.compile(rf"\barXiv:(?i:\S{{1,60}}(?:\s{{0,9}}\[[^\]\n]{{1,60}}\])?\s++(?P<date>{_DAYS}))")
_ALONE = _pattern(
    rf"^\W{{0,80}}+(?P<date>{_MONTH_OR_DAY})(?:,? \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?: [ap]\.?m\.?)?(?: [A-Z]{{2,4}})?)?"
    rf"\W*$|^[ \t*_]*+by [^\n|]{{3,60}}?[\s|,\u2022\u00b7\u2013-]{{1,40}}+(?P<byline>{_DAYS})"
)
_EVENT = _pattern(
    r"\b(?:date|born|died|releases?d?|founded|established|launch(?:ed)?|formed|opened|aired|premiered)\W*$"
)
_DATELINE = _pattern(
    rf"^[ \t*_(]*+(?-i:(?:[A-Z][\w.'-]*[ ,(]++|of |de |and |[\u2013\u2014-] ?){{1,7}})(?P<date>{_DAYS})\)?[ \t]*+"
    r"(?:(?:\([^()\n]{2,40}\)|/[^/\n]{2,40}/)[ \t]*+)?(?:--|[\u2013\u2014:-])"
)
_PERIOD = _pattern(
    r"(?:^|\bor|[|\u2610-\u2612x)])\W{0,6}for the "
    r"(?:(?:fiscal|financial|first|second|third|fourth|three|six|nine|twelve|full|transition)[ -])?"
    rf"(?:year|quarter|half|months?|period|quarterly period|annual period)s? end(?:ed|ing)[:\s]++(?P<date>{_DAYS})"
)
_HISTORY = _pattern(
    rf"{_START}(?:accepted(?: for publication)?|(?:last |page last )?(?:updated|modified|revised|reviewed)"
    rf"|received(?: in revised form)?){_GAP}(?P<date>{_MONTH_OR_DAY})"
)
_SOME_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_ISO_NAME = re.compile(r"(?<![\d.])((?:19|20)\d\d)([-_])(\d\d)\2(\d\d)(?!\d)")
_ISO_PATH = re.compile(r"^https?://[^?#]*/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])(?:[/-](0?[1-9]|[12]\d|3[01]))?(?=/|$)")
_COPYRIGHT = _pattern(r"(?:\u00a9|\(c\) |\bcopyright )[^\d\n]{0,40}(?P<date>(?:19|20)\d\d)(?!\d|\s?[,\u2013-]\s?\d)")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date that a document states about itself.

    Attributes:
        date: The date.
        where: What makes it the document's: "published", "stamp", "name", "line", "dateline", "period",
            "history" or "copyright".
        quote: The words that were read.
    """

    date: PartialDate
    where: str
    quote: str


def find_date(text: str, *, title: str = "", url: str = "") -> FoundDate | None:
    """The date that a document states about itself, or None.

    Only the head of the text is read, and its tail for the history of a paper and for copyright: a date in running
    text is somebody else's. In this order: a publication label (`Published: ...`, `Date of report ...`), a preprint's
    stamp, an ISO date in the title, the file name or the web address, a line that is only a date (the one such line of
    the opening), a dateline, the period that a report covers, the history (`Accepted`, `Last updated`), and the one
    year of its copyright.
    """
    head, tail = text[:HEAD], text[max(HEAD, len(text) - TAIL) :]
    return (
        _first("published", _PUBLISHED, head)
        or _first("stamp", _STAMP, head)
        or _named(title, url)
        or _only("line", _ALONE, head[:OPENING])
        or _first("dateline", _DATELINE, head)
        or _first("period", _PERIOD, head)
        or _first("history", _HISTORY, head, tail)
        or _only("copyright", _COPYRIGHT, head, tail)
    )


def _matches(where: str, pattern: re.Pattern[str], stretches: Sequence[str]) -> Iterator[FoundDate]:
    for stretch in stretches:
        for start, end in _windows(stretch):
            for match in pattern.finditer(stretch, start, end):
                words = next(part for part in match.groupdict().values() if part)
                if (found := _plausible(words)) and not (where == "line" and _is_event(stretch, match.start())):
                    yield FoundDate(found, where, " ".join(match.group().split()))


def _is_event(stretch: str, start: int) -> bool:
    """Whether the line before is a label that makes the date another thing's: a birth, a release."""
    return _EVENT.search(stretch[:start].rstrip().rpartition("\n")[2]) is not None


@lru_cache(maxsize=4)
def _windows(stretch: str) -> list[tuple[int, int]]:
    """The parts of a text near a year, each up to the end of a line; dates and what labels them stand in no others."""
    windows: list[tuple[int, int]] = []
    for year in _SOME_YEAR.finditer(stretch):
        line_end = stretch.find("\n", year.end())
        start, end = max(0, year.start() - BEFORE), min(len(stretch) if line_end < 0 else line_end, year.end() + AFTER)
        if windows and start <= windows[-1][1]:
            start = windows.pop()[0]
        windows.append((start, end))
    return windows


def _first(where: str, pattern: re.Pattern[str], *stretches: str) -> FoundDate | None:
    return next(_matches(where, pattern, stretches), None)


def _only(where: str, pattern: re.Pattern[str], *stretches: str) -> FoundDate | None:
    """The first match where all matches agree on the date."""
    found = list(_matches(where, pattern, stretches))
    return found[0] if len({item.date for item in found}) == 1 else None


def _plausible(words: str) -> PartialDate | None:
    """The date, unless no document of today can have it."""
    found = known_date(words)
    latest = date.today() + timedelta(days=AHEAD)
    return found if found and date(EARLIEST_YEAR, 1, 1) <= found.earliest <= latest else None


def _named(title: str, url: str) -> FoundDate | None:
    """An ISO date in the title or the last part of the address, or year, month and day as parts of a web address."""
    for name in (title, re.split(r"[?#]", url)[0].replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]):
        match = _ISO_NAME.search(name)
        if match and (found := _plausible("-".join(match.group(1, 3, 4)))):
            return FoundDate(found, "name", match.group())
    match = _ISO_PATH.match(url)
    parts = [part.zfill(2) for part in match.groups() if part] if match else []
    found = _plausible("-".join(parts)) if parts else None
    return FoundDate(found, "name", "/".join(parts)) if found else None

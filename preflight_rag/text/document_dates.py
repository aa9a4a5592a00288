"""The date that a document states about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from preflight_rag.text.dates import MONTH, SEASONS, YEAR, PartialDate, known_date

HEAD_CHARS, OPENING_CHARS, TAIL_CHARS = 6_000, 1_500, 3_000
"""Characters at the beginning of a document, at its very beginning, and at its end that are read; guesses."""
VALIDITY_CHARS = 600
"""Characters at the beginning of a document in which it says from when on it is valid; a guess."""
CHARS_BEFORE_YEAR, CHARS_AFTER_YEAR = 160, 160
"""Characters around a year in which the rest of a date and its label are looked for; guesses."""
RECEIPT_CHARS = 200
"""Characters at the beginning of a document in which the word "receipt" or the like is looked for; a guess."""
SENTENCE_CHARS = 600
"""Most characters before a date at which its sentence begins; a guess."""
_LINE_MARKUP = " \t#>*_-(["
"""Marks that may stand before the words of a line."""
EARLIEST_YEAR, MAX_DAYS_AHEAD = 1800, 31

_WEEK = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s++)?"
_DAYS = (
    rf"{_WEEK}(?:{YEAR}-\d{{2}}-\d{{2}}|{YEAR}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}[/.-]\d{{1,2}}[/.-]{YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?:\s++of)?[\s-]++{MONTH}[\s,-]*+{YEAR}"
    rf"|{MONTH}\s*+\d{{1,2}}(?:st|nd|rd|th)?\s*+(?:,\s*+)?{YEAR}|{YEAR}[\s-]{MONTH}[\s-]\d{{1,2}})(?!\d)"
)
_MONTH_OR_DAY = rf"(?:{_DAYS}|(?:{'|'.join(SEASONS)}|{MONTH})[\s,]*+{YEAR}(?!\d)|{YEAR}-\d{{2}}(?![\d-]))"
_ANY_DATE = rf"(?:{_MONTH_OR_DAY}|{YEAR}(?![\d,./-]*\d))"
_LABEL_START = r"(?:^|[|;\u2022\u00b7(\[]|\.\s)[ \t#>*_-]*+"
_AFTER_LABEL = r"[ \t*_]*+(?>(?:(?::|\bon\b|\bas of\b|[\u2013\u2014-])[ \t*_]*+)?)(?>(?:\n[ \t]*+)?)"


def _compile(form: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case and matches at lines."""
    return re.compile(form, re.IGNORECASE | re.MULTILINE)


_PUBLISHED = _compile(
    rf"{_LABEL_START}(?:(?:first |originally |e)?published(?: online| in print| first)?|available online|posted|issued"
    r"|dated"
    r"|(?:e-?)?filed(?: electronically)?|printed"
    r"|date (?:filed|received|printed|issued|of (?:receipt|filing|letter|invoice))"
    rf"|date of report(?: \([^()\n]{{3,60}}\))?){_AFTER_LABEL}(?P<date>{_ANY_DATE})"
    r"|(?:^|\|)[ \t#>*_-]*+(?:(?:e-?|pub|publication|published|online) ?)?date"
    rf"(?: (?:of (?:publication|issue)|published|posted|issued))?[*_ ]*+[:=][*_ \t\"']*+(?P<plain>{_ANY_DATE})"
    rf"|\b(?:print|report|issue|invoice|receipt|statement|filing|letter) date[: \t]++(?P<kind>{_DAYS})"
)
_ORDER_DATE = _compile(rf"\b(?:order|visit|meeting) date[: \t]++(?P<date>{_DAYS})")
_WORD_FOR_RECEIPT = re.compile(r"\b(?:receipt|invoice|voucher|memo(?:randum)?|quotation|statement)\b", re.IGNORECASE)
_DATE_LABEL = re.compile(
    r"(?:(?P<before>(?<![A-Za-z-])[A-Za-z-]{1,30})[ \t]++)?\b[Dd]ate(?: and time)?[ \t]?:[ \t]*+"
    rf"(?i:(?P<date>{_DAYS}))"
)
_WORD_OF_OTHER_DATE = re.compile(
    r"(?:due|start|end|begin|expir\w+|deliver\w*|ship\w*|departure|arrival|return|birth|effective|maturity|event|travel"
    r"|check-?(?:in|out)|tax|from|to|by|next|last|pay(?:ment|able)?|closing|service|travel)",
    re.IGNORECASE,
)
_PREPRINT_STAMP = re.compile(rf"\barXiv:(?i:\S{{1,60}}(?:\s{{0,9}}\[[^\]\n]{{1,60}}\])?\s++(?P<date>{_DAYS}))")
_DATE_ALONE = _compile(
    rf"^\W{{0,80}}+(?P<date>{_MONTH_OR_DAY})(?:,? \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?: [ap]\.?m\.?)?(?: [A-Z]{{2,4}})?)?"
    rf"\W*$|(?:^[ \t*_]*+|{_LABEL_START}(?:prepared|written|compiled|drawn up) )by [^\n|]{{3,80}}?"
    rf"[\s|,\u2022\u00b7\u2013-]{{1,40}}+(?P<byline>{_DAYS})"
)
_LABEL_OF_EVENT = _compile(
    r"\b(?:date|born|died|releases?d?|founded|established|launch(?:ed)?|formed|opened|aired|premiered)\W*$"
)
_DATELINE = _compile(
    rf"^[ \t*_(]*+(?-i:(?:[A-Z][\w.'-]*[ ,(]++|of |de |and |[\u2013\u2014-] ?){{1,7}})(?P<date>{_DAYS})\)?[ \t]*+"
    r"(?:(?:\([^()\n]{2,40}\)|/[^/\n]{2,40}/)[ \t]*+)?(?:--|[\u2013\u2014:-])"
)
_REPORT_PERIOD = _compile(
    r"(?:^|\bor|\bact of 19\d\d|[|\u2610-\u2612x)])\W{0,6}for the "
    r"(?:(?:fiscal|financial|first|second|third|fourth|three|six|nine|twelve|full|transition)[ -])?"
    rf"(?:year|quarter|half|months?|period|quarterly period|annual period)s? end(?:ed|ing)[:\s]++(?P<date>{_DAYS})"
)
_ADOPTED = _compile(
    rf"{_LABEL_START}(?:approved|adopted|agreed|ratified|edition)(?: by [^.\n|]{{3,60}}?)?(?: on| of)? ?(?:\n[ \t]*)?"
    rf"(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
_VERSION_NUMBER = (
    r"\b(?:version|edition|release|revision|rev\.?|v\.?) ?(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})(?![\d.]*\d)"
)
_DATED_VERSION = _compile(
    rf"{_VERSION_NUMBER}(?!\s{{1,3}}{MONTH})[ \t]?[,:(\u2013-]?\s{{0,3}}"
    r"(?:(?:was |is )?(?:ratified|adopted|approved|agreed|published|released|issued|dated|effective|in force|of)"
    rf"(?: by [^.\n|]{{3,60}}?)?\s{{1,3}}(?:on |of |from |in )?)?\(?(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
"""A version and when it was made: "Version 1.9 ratified on March 26th, 2022"."""
_VERSION = _compile(_VERSION_NUMBER)
_REPLACED_VERSION = re.compile(
    r"\b(?:supersed|replac(?:es|ed|ing)\b|obsolet|(?:previous|earlier|former|old) (?:version|edition|one)|"
    r"(?:in place|instead) of\b)",
    re.IGNORECASE,
)
"""Words behind which, up to the sentence's end, dates are those of a document that this one replaces."""
_SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s|\n[ \t]*\n|\|")
_DOCUMENT_WORDS = (
    r"(?:bylaws|charges|code|conditions|constitution|directive|document|edition|fees|guide(?:lines?)?|handbook|instructions"
    r"|leaflet|list|manual|menu|notice|ordinance|page|plan|prices|procedures?|rates|regulations?|rules|schedule|standard"
    r"|statutes|tariffs?|terms|timetable|version)"
)
"""Words for a document, or for all that it states; not "policy" or "contract", which have terms of their own."""
_DOCUMENT_WORD = _compile(rf"\b{_DOCUMENT_WORDS}\b")
_VALID_FROM = _compile(
    rf"(?:{_LABEL_START}|, |[\u2013\u2014-] )"
    r"(?P<subject>(?:(?:these |this |the )?(?:[a-z]{3,20} )?[a-z]{3,20} (?:is |are )?)?)"
    r"(?:valid|in force|in effect|effective|applicable|applies|apply)(?: (?:as (?:of|from)|from|since|date|on))? ?:? ?"
    rf"(?:\n[ \t]*)?(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
_UPDATED = _compile(
    rf"(?:{_LABEL_START}|\b(?:this|the) {_DOCUMENT_WORDS} (?:was|is|has been) )(?:last |page last )?"
    rf"(?:updated|modified|revised){_AFTER_LABEL}(?P<date>{_MONTH_OR_DAY})"
)
_HISTORY = _compile(
    rf"{_LABEL_START}(?:accepted(?: for publication)?|(?:last |page last )?(?:updated|modified|revised|reviewed)"
    rf"|received in revised form){_AFTER_LABEL}(?P<date>{_MONTH_OR_DAY})"
)
_RECEIVED = _compile(rf"{_LABEL_START}received{_AFTER_LABEL}(?P<date>{_MONTH_OR_DAY})")
_YEAR_NUMBER = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_ISO_NAME = re.compile(r"(?<![\d.])((?:19|20)\d\d)([-_])(\d\d)\2(\d\d)(?!\d)")
_ISO_PATH = re.compile(r"^https?://[^?#]*/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])(?:[/-](0?[1-9]|[12]\d|3[01]))?(?=/|$)")
_COPYRIGHT = _compile(r"(?:\u00a9|\(c\) |\bcopyright )[^\d\n]{0,40}(?P<date>(?:19|20)\d\d)(?!\d|\s?[,\u2013-]\s?\d)")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date that a document states about itself.

    Attributes:
        date: The date.
        where: The kind of statement: "published", "stamp", "name", "line", "dateline", "adopted", "period", "version",
            "valid", "history" or "copyright".
        quote: The words that state it.
    """

    date: PartialDate
    where: str
    quote: str

    @classmethod
    def of_match(cls, date: PartialDate, where: str, match: re.Match[str]) -> FoundDate:
        """Return a date with the words of the match that states it, on one line."""
        return cls(date, where, " ".join(match.group().split()))


def find_date(text: str, *, title: str = "", url: str = "") -> FoundDate | None:
    """Return the date that a document states about itself, or None if there is none.

    Only the beginning of the text is read, and its end for the history of a paper and for copyright: a date in running
    text is mostly another thing's. In this order: a publication label (`Published: ...`, `Filed ...`, `Invoice date`),
    the "Date:" of a receipt or memorandum, the date of an order or a meeting, a preprint's stamp, an ISO date in the
    title, the file name or the web address, a line that is only a date (if the opening has one such line), a dateline,
    when its version, or it, was adopted, from when on it is valid (unless it was updated later), the period that a
    report covers, the latest of the history (`Accepted`, `Last updated`), when it was received, and the only year of
    its copyright.
    """
    head, tail = text[:HEAD_CHARS], text[max(HEAD_CHARS, len(text) - TAIL_CHARS) :]
    return (
        _find_first("published", _PUBLISHED, head)
        or _date_of_receipt(head[:OPENING_CHARS])
        or _find_first("published", _ORDER_DATE, head)
        or _find_first("stamp", _PREPRINT_STAMP, head)
        or _date_in_name(title, url)
        or _find_date_alone(head[:OPENING_CHARS])
        or _find_first("dateline", _DATELINE, head)
        or _later_of_two(
            _date_of_version(head[:OPENING_CHARS], title)
            or _find_latest("adopted", _ADOPTED, head[:OPENING_CHARS])
            or _date_of_validity(head[:VALIDITY_CHARS]),
            _find_latest("history", _UPDATED, head, tail),
        )
        or _find_first("period", _REPORT_PERIOD, head)
        or _find_latest("history", _HISTORY, head, tail)
        or _find_first("history", _RECEIVED, head, tail)
        or _find_unanimous("copyright", _COPYRIGHT, head, tail)
    )


def _date_of_receipt(opening: str) -> FoundDate | None:
    """Return the date after the "Date:" of a receipt or similar document; None for others, or if two such dates differ.

    The label may stand anywhere in a line of several fields. A "Due Date:" is left out by the word before "Date".
    """
    if not _WORD_FOR_RECEIPT.search(opening[:RECEIPT_CHARS]):
        return None
    found: list[FoundDate] = []
    for match in _DATE_LABEL.finditer(opening):
        stated = _parse_plausible(match["date"])
        if stated and not _WORD_OF_OTHER_DATE.fullmatch(match["before"] or ""):
            found.append(FoundDate.of_match(stated, "published", match))
    return _date_if_unanimous(found)


def _date_if_unanimous(found: Sequence[FoundDate]) -> FoundDate | None:
    """Return the first of several dates if all are the same day; None if they differ, or there is none."""
    return found[0] if len({item.date for item in found}) == 1 else None


def _find_all(where: str, pattern: re.Pattern[str], texts: Sequence[str]) -> Iterator[FoundDate]:
    """Yield the plausible dates of a document that a pattern finds in texts, but not those of a replaced version.

    `where` is the kind of statement that the pattern matches; in a "line", dates of events are left out, too.
    """
    for text in texts:
        for start, end in _windows_near_years(text):
            for match in pattern.finditer(text, start, end):
                words = next((part for part in match.groupdict().values() if part), "")
                is_event = where == "line" and _is_event(text, match.start())
                stated = _parse_plausible(words)
                if stated and not is_event and not _is_of_replaced_version(text, match):
                    yield FoundDate.of_match(stated, where, match)


def _date_of_version(opening: str, title: str) -> FoundDate | None:
    """Return the date of the version that a document is, if it dates versions: "Version 1.9 ratified on 26 March 2022".

    Its title or first line says which version it is; without that, only versions at the beginning of a line count.
    None if there is none, or several with different dates.
    """
    first_line = opening.lstrip().partition("\n")[0]
    own_versions = set(_VERSION.findall(f"{title}\n{first_line}"))
    found: list[FoundDate] = []
    for match in _DATED_VERSION.finditer(opening):
        is_own = match["number"] in own_versions if own_versions else _is_whole_line(opening, match)
        if is_own and not _is_of_replaced_version(opening, match) and (stated := _parse_plausible(match["date"])):
            found.append(FoundDate.of_match(stated, "version", match))
    return _date_if_unanimous(found)


def _date_of_validity(opening: str) -> FoundDate | None:
    """Return the date from which a document, or all that it states, is valid: "Prices valid from 1 May 2024".

    None if there is none, if dates differ, and for the validity of another thing, such as a ticket or a contract.
    """
    found: list[FoundDate] = []
    for match in _VALID_FROM.finditer(opening):
        before = opening[: match.start()].rpartition("\n")[2]
        behind = opening[match.end() :].partition("\n")[0]
        if subject := match["subject"].strip():
            is_own = _DOCUMENT_WORD.search(subject) is not None
        else:
            is_named = not before.strip(_LINE_MARKUP) or _DOCUMENT_WORD.search(before) is not None
            is_own = is_named and not any(map(str.isalpha, behind))
        if is_own and not _is_of_replaced_version(opening, match) and (stated := _parse_plausible(match["date"])):
            found.append(FoundDate.of_match(stated, "valid", match))
    return _date_if_unanimous(found)


def _later_of_two(stated: FoundDate | None, updated: FoundDate | None) -> FoundDate | None:
    """Return the later of the date that a document states and that of its update; None without the first one."""
    return max(stated, updated, key=lambda found: found.date) if stated and updated else stated


def _is_whole_line(opening: str, match: re.Match[str]) -> bool:
    """Return whether a match is a line of its own, or the first sentence or clause of one."""
    before = opening[: match.start()].rpartition("\n")[2].strip(_LINE_MARKUP)
    behind = opening[match.end() :].partition("\n")[0].lstrip(")] ")
    return not before and (not behind or behind[0] in ".,;")


def _is_of_replaced_version(text: str, match: re.Match[str]) -> bool:
    """Return whether the sentence of a matched date says that a document, such as an earlier version, was replaced."""
    if match.group()[0] in ".|;":  # the match itself begins a new sentence
        return False
    before = text[max(0, match.start() - SENTENCE_CHARS) : match.start()]
    return _REPLACED_VERSION.search(_SENTENCE_END.split(before)[-1]) is not None


def _is_event(text: str, start: int) -> bool:
    """Return whether the label before a date says that it is that of an event, such as a birth or a release."""
    return _LABEL_OF_EVENT.search(text[:start].rstrip().rpartition("\n")[2]) is not None


@lru_cache(maxsize=4)
def _windows_near_years(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text around its years, up to the end of a line; dates and their labels are only there."""
    windows: list[tuple[int, int]] = []
    for year in _YEAR_NUMBER.finditer(text):
        line_end = text.find("\n", year.end())
        start = max(0, year.start() - CHARS_BEFORE_YEAR)
        end = min(len(text) if line_end < 0 else line_end, year.end() + CHARS_AFTER_YEAR)
        if windows and start <= windows[-1][1]:
            start, _ = windows.pop()  # overlapping windows are joined
        windows.append((start, end))
    return windows


def _find_first(where: str, pattern: re.Pattern[str], *texts: str) -> FoundDate | None:
    """Return the first date that a pattern finds in texts; None without any."""
    return next(_find_all(where, pattern, texts), None)


def _find_latest(where: str, pattern: re.Pattern[str], *texts: str) -> FoundDate | None:
    """Return the latest date that a pattern finds in texts; None without any."""
    return max(_find_all(where, pattern, texts), key=lambda found: found.date, default=None)


def _find_unanimous(where: str, pattern: re.Pattern[str], *texts: str) -> FoundDate | None:
    """Return the date that a pattern finds in texts; None without any, or if two differ."""
    return _date_if_unanimous(list(_find_all(where, pattern, texts)))


def _find_date_alone(opening: str) -> FoundDate | None:
    """Return the only date that stands alone in a line; None without any, or if two differ.

    A season or month alone in a line is the heading of a plan if the opening also names a day: "Spring 2026" above a
    meeting on 4 June 2025.
    """
    found = _find_unanimous("line", _DATE_ALONE, opening)
    if found is None:
        return None
    names_day = re.search(_DAYS, found.quote, re.IGNORECASE)
    return found if names_day or not re.search(_DAYS, opening, re.IGNORECASE) else None


def _parse_plausible(words: str) -> PartialDate | None:
    """Return the date that words state; None if they state none, or one in the future or before `EARLIEST_YEAR`."""
    parsed = known_date(words)
    latest = date.today() + timedelta(days=MAX_DAYS_AHEAD)
    return parsed if parsed and date(EARLIEST_YEAR, 1, 1) <= parsed.earliest <= latest else None


def _date_in_name(title: str, url: str) -> FoundDate | None:
    """Return an ISO date in the title or the URL's last part, else year, month and day in a URL's path; None without.

    "https://example.org/2021/03/12/rain" has one in its path.
    """
    last_part = re.split(r"[?#]", url)[0].replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    for name in (title, last_part):
        match = _ISO_NAME.search(name)
        if match and (stated := _parse_plausible("-".join(match.group(1, 3, 4)))):
            return FoundDate(stated, "name", match.group())
    match = _ISO_PATH.match(url)
    if match is None:
        return None
    parts = [part.zfill(2) for part in match.groups() if part]
    stated = _parse_plausible("-".join(parts))
    return FoundDate(stated, "name", "/".join(parts)) if stated else None

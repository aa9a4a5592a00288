"""The date that a document states about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from preflight_rag.text.dates import MONTH, SEASONS, YEAR, PartialDate, known_date

HEAD, OPENING, TAIL = 6_000, 1_500, 3_000
FIRST_LINES = 600
"""Characters at the beginning of a document in which it says from when on it is valid; a guess."""
BEFORE, AFTER = 160, 160
CALLED = 200
"""Characters at the beginning of a document in which the word "receipt" or the like is looked for; a guess."""
SENTENCE = 600
"""Characters before a date in which its sentence begins; a guess."""
_MARKS = " \t#>*_-(["
"""What may stand before the words of a line."""
EARLIEST_YEAR, AHEAD = 1800, 31

_WEEK = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s++)?"
_DAYS = (
    rf"{_WEEK}(?:{YEAR}-\d{{2}}-\d{{2}}|{YEAR}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}[/.-]\d{{1,2}}[/.-]{YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?:\s++of)?[\s-]++{MONTH}[\s,-]*+{YEAR}"
    rf"|{MONTH}\s*+\d{{1,2}}(?:st|nd|rd|th)?\s*+(?:,\s*+)?{YEAR}|{YEAR}[\s-]{MONTH}[\s-]\d{{1,2}})(?!\d)"
)
_MONTH_OR_DAY = rf"(?:{_DAYS}|(?:{'|'.join(SEASONS)}|{MONTH})[\s,]*+{YEAR}(?!\d)|{YEAR}-\d{{2}}(?![\d-]))"
_ANY = rf"(?:{_MONTH_OR_DAY}|{YEAR}(?![\d,./-]*\d))"
_START = r"(?:^|[|;\u2022\u00b7(\[]|\.\s)[ \t#>*_-]*+"
_GAP = r"[ \t*_]*+(?>(?:(?::|\bon\b|\bas of\b|[\u2013\u2014-])[ \t*_]*+)?)(?>(?:\n[ \t]*+)?)"


def _pattern(form: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case and matches at lines."""
    return re.compile(form, re.IGNORECASE | re.MULTILINE)


_PUBLISHED = _pattern(
    rf"{_START}(?:(?:first |originally |e)?published(?: online| in print| first)?|available online|posted|issued|dated"
    r"|(?:e-?)?filed(?: electronically)?|printed"
    r"|date (?:filed|received|printed|issued|of (?:receipt|filing|letter|invoice))"
    rf"|date of report(?: \([^()\n]{{3,60}}\))?){_GAP}(?P<date>{_ANY})"
    r"|(?:^|\|)[ \t#>*_-]*+(?:(?:e-?|pub|publication|published|online) ?)?date"
    rf"(?: (?:of (?:publication|issue)|published|posted|issued))?[*_ ]*+[:=][*_ \t\"']*+(?P<plain>{_ANY})"
    rf"|\b(?:print|report|issue|invoice|receipt|statement|filing|letter) date[: \t]++(?P<kind>{_DAYS})"
)
_ORDERED = _pattern(rf"\b(?:order|visit|meeting) date[: \t]++(?P<date>{_DAYS})")
_RECEIPT = re.compile(r"\b(?:receipt|invoice|voucher|memo(?:randum)?|quotation|statement)\b", re.IGNORECASE)
_OWN_LABEL = re.compile(
    r"(?:(?P<before>(?<![A-Za-z-])[A-Za-z-]{1,30})[ \t]++)?\b[Dd]ate(?: and time)?[ \t]?:[ \t]*+"
    rf"(?i:(?P<date>{_DAYS}))"
)
_OTHER_LABEL = re.compile(
    r"(?:due|start|end|begin|expir\w+|deliver\w*|ship\w*|departure|arrival|return|birth|effective|maturity|event|travel"
    r"|check-?(?:in|out)|tax|from|to|by|next|last|pay(?:ment|able)?|closing|service|travel)",
    re.IGNORECASE,
)
_STAMP = re.compile(rf"\barXiv:(?i:\S{{1,60}}(?:\s{{0,9}}\[[^\]\n]{{1,60}}\])?\s++(?P<date>{_DAYS}))")
_ALONE = _pattern(
    rf"^\W{{0,80}}+(?P<date>{_MONTH_OR_DAY})(?:,? \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?: [ap]\.?m\.?)?(?: [A-Z]{{2,4}})?)?"
    rf"\W*$|(?:^[ \t*_]*+|{_START}(?:prepared|written|compiled|drawn up) )by [^\n|]{{3,80}}?"
    rf"[\s|,\u2022\u00b7\u2013-]{{1,40}}+(?P<byline>{_DAYS})"
)
_EVENT = _pattern(
    r"\b(?:date|born|died|releases?d?|founded|established|launch(?:ed)?|formed|opened|aired|premiered)\W*$"
)
_DATELINE = _pattern(
    rf"^[ \t*_(]*+(?-i:(?:[A-Z][\w.'-]*[ ,(]++|of |de |and |[\u2013\u2014-] ?){{1,7}})(?P<date>{_DAYS})\)?[ \t]*+"
    r"(?:(?:\([^()\n]{2,40}\)|/[^/\n]{2,40}/)[ \t]*+)?(?:--|[\u2013\u2014:-])"
)
_PERIOD = _pattern(
    r"(?:^|\bor|\bact of 19\d\d|[|\u2610-\u2612x)])\W{0,6}for the "
    r"(?:(?:fiscal|financial|first|second|third|fourth|three|six|nine|twelve|full|transition)[ -])?"
    rf"(?:year|quarter|half|months?|period|quarterly period|annual period)s? end(?:ed|ing)[:\s]++(?P<date>{_DAYS})"
)
_ADOPTED = _pattern(
    rf"{_START}(?:approved|adopted|agreed|ratified|edition)(?: by [^.\n|]{{3,60}}?)?(?: on| of)? ?(?:\n[ \t]*)?"
    rf"(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
_VERSION_NAMED = (
    r"\b(?:version|edition|release|revision|rev\.?|v\.?) ?(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})(?![\d.]*\d)"
)
_NUMBERED = _pattern(
    rf"{_VERSION_NAMED}(?!\s{{1,3}}{MONTH})[ \t]?[,:(\u2013-]?\s{{0,3}}"
    r"(?:(?:was |is )?(?:ratified|adopted|approved|agreed|published|released|issued|dated|effective|in force|of)"
    rf"(?: by [^.\n|]{{3,60}}?)?\s{{1,3}}(?:on |of |from |in )?)?\(?(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
"""A version and when it was made: "Version 1.9 ratified on March 26th, 2022"."""
_VERSION = _pattern(_VERSION_NAMED)
_OTHER_VERSION = re.compile(
    r"\b(?:supersed|replac(?:es|ed|ing)\b|obsolet|(?:previous|earlier|former|old) (?:version|edition|one)|"
    r"(?:in place|instead) of\b)",
    re.IGNORECASE,
)
"""Behind these words, up to the sentence's end, dates are those of what the document stands in the place of."""
_SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s|\n[ \t]*\n|\|")
_DOCUMENT = (
    r"(?:bylaws|charges|code|conditions|constitution|directive|document|edition|fees|guide(?:lines?)?|handbook|instructions"
    r"|leaflet|list|manual|menu|notice|ordinance|page|plan|prices|procedures?|rates|regulations?|rules|schedule|standard"
    r"|statutes|tariffs?|terms|timetable|version)"
)
"""Words for a document, or for all that it states; a policy, a cover or a contract has terms of its own."""
_OF_DOCUMENT = _pattern(rf"\b{_DOCUMENT}\b")
_VALID = _pattern(
    rf"(?:{_START}|, |[\u2013\u2014-] )"
    r"(?P<subject>(?:(?:these |this |the )?(?:[a-z]{3,20} )?[a-z]{3,20} (?:is |are )?)?)"
    r"(?:valid|in force|in effect|effective|applicable|applies|apply)(?: (?:as (?:of|from)|from|since|date|on))? ?:? ?"
    rf"(?:\n[ \t]*)?(?P<date>{_DAYS}|{MONTH} {YEAR}(?!\d))"
)
_UPDATED = _pattern(
    rf"(?:{_START}|\b(?:this|the) {_DOCUMENT} (?:was|is|has been) )(?:last |page last )?(?:updated|modified|revised)"
    rf"{_GAP}(?P<date>{_MONTH_OR_DAY})"
)
_HISTORY = _pattern(
    rf"{_START}(?:accepted(?: for publication)?|(?:last |page last )?(?:updated|modified|revised|reviewed)"
    rf"|received in revised form){_GAP}(?P<date>{_MONTH_OR_DAY})"
)
_RECEIVED = _pattern(rf"{_START}received{_GAP}(?P<date>{_MONTH_OR_DAY})")
_SOME_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_ISO_NAME = re.compile(r"(?<![\d.])((?:19|20)\d\d)([-_])(\d\d)\2(\d\d)(?!\d)")
_ISO_PATH = re.compile(r"^https?://[^?#]*/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])(?:[/-](0?[1-9]|[12]\d|3[01]))?(?=/|$)")
_COPYRIGHT = _pattern(r"(?:\u00a9|\(c\) |\bcopyright )[^\d\n]{0,40}(?P<date>(?:19|20)\d\d)(?!\d|\s?[,\u2013-]\s?\d)")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date that a document states about itself.

    Attributes:
        date: The date.
        where: Why it counts as the document's: "published", "stamp", "name", "line", "dateline", "adopted", "period",
            "version", "valid", "history" or "copyright".
        quote: The words that were read.
    """

    date: PartialDate
    where: str
    quote: str


def find_date(text: str, *, title: str = "", url: str = "") -> FoundDate | None:
    """Return the date that a document states about itself, or None.

    Only the beginning of the text is read, and its end for the history of a paper and for copyright: a date in running
    text is mostly another thing's. In this order: a publication label (`Published: ...`, `Filed ...`, `Invoice date`),
    the "Date:" of a receipt or memorandum, the date of an order or a meeting, a preprint's stamp, an ISO date in the
    title, the file name or the web address, a line that is only a date (if the opening has one such line), a dateline,
    when its version, or it, was adopted, from when on it is valid (unless it was updated later), the period that a
    report covers, the latest of the history (`Accepted`, `Last updated`), when it was received, and the only year of
    its copyright.
    """
    head, tail = text[:HEAD], text[max(HEAD, len(text) - TAIL) :]
    return (
        _first("published", _PUBLISHED, head)
        or _on_receipt(head[:OPENING])
        or _first("published", _ORDERED, head)
        or _first("stamp", _STAMP, head)
        or _named(title, url)
        or _alone(head[:OPENING])
        or _first("dateline", _DATELINE, head)
        or _later(
            _of_version(head[:OPENING], title)
            or _latest("adopted", _ADOPTED, head[:OPENING])
            or _of_validity(head[:FIRST_LINES]),
            _latest("history", _UPDATED, head, tail),
        )
        or _first("period", _PERIOD, head)
        or _latest("history", _HISTORY, head, tail)
        or _first("history", _RECEIVED, head, tail)
        or _only("copyright", _COPYRIGHT, head, tail)
    )


def _on_receipt(opening: str) -> FoundDate | None:
    """Return the date after the "Date:" of a receipt or similar document, anywhere in a line of several fields.

    A "Due Date:" is a deadline; it is recognised by the word before.
    """
    if not _RECEIPT.search(opening[:CALLED]):
        return None
    found = [
        FoundDate(date, "published", " ".join(match.group().split()))
        for match in _OWN_LABEL.finditer(opening)
        if not _OTHER_LABEL.fullmatch(match["before"] or "") and (date := _plausible(match["date"]))
    ]
    return found[0] if len({item.date for item in found}) == 1 else None


def _matches(where: str, pattern: re.Pattern[str], stretches: Sequence[str]) -> Iterator[FoundDate]:
    """Yield the plausible dates that a pattern finds in texts; `where` names the kind of place."""
    for stretch in stretches:
        for start, end in _windows(stretch):
            for match in pattern.finditer(stretch, start, end):
                words = next((part for part in match.groupdict().values() if part), "")
                is_others = _is_of_another(stretch, match) or (where == "line" and _is_event(stretch, match.start()))
                if (found := _plausible(words)) and not is_others:
                    yield FoundDate(found, where, " ".join(match.group().split()))


def _of_version(opening: str, title: str) -> FoundDate | None:
    """Return the date of the version that a document is, if it gives dates of versions.

    Which one it is says its title or first line; without that, lines begin with one alone.
    """
    own = set(_VERSION.findall(f"{title}\n{opening.lstrip().partition(chr(10))[0]}"))
    found: list[FoundDate] = []
    for match in _NUMBERED.finditer(opening):
        is_own = match["number"] in own if own else _is_line(opening, match)
        if is_own and not _is_of_another(opening, match) and (stated := _plausible(match["date"])):
            found.append(FoundDate(stated, "version", " ".join(match.group().split())))
    return found[0] if len({each.date for each in found}) == 1 else None


def _of_validity(opening: str) -> FoundDate | None:
    """Return from when on a document is valid, or all that it states; not a cover, a ticket or a contract in it."""
    found: list[FoundDate] = []
    for match in _VALID.finditer(opening):
        before = opening[: match.start()].rpartition("\n")[2]
        behind = opening[match.end() :].partition("\n")[0]
        if subject := match["subject"].strip():
            is_own = _OF_DOCUMENT.search(subject) is not None
        else:
            is_named = not before.strip(_MARKS) or _OF_DOCUMENT.search(before) is not None
            is_own = is_named and not any(map(str.isalpha, behind))
        if is_own and not _is_of_another(opening, match) and (stated := _plausible(match["date"])):
            found.append(FoundDate(stated, "valid", " ".join(match.group().split())))
    return found[0] if len({each.date for each in found}) == 1 else None


def _later(stated: FoundDate | None, updated: FoundDate | None) -> FoundDate | None:
    """Return the later of two dates of a document; none without the first, since others go before updates."""
    return max(stated, updated, key=lambda found: found.date) if stated and updated else stated


def _is_line(opening: str, match: re.Match[str]) -> bool:
    """Return whether a match is a line, or the first sentence of one."""
    before = opening[: match.start()].rpartition("\n")[2].strip(_MARKS)
    behind = opening[match.end() :].partition("\n")[0].lstrip(")] ")
    return not before and (not behind or behind[0] in ".,;")


def _is_of_another(stretch: str, match: re.Match[str]) -> bool:
    """Return whether a date is said of what the document stands in the place of, such as an earlier version."""
    if match.group()[0] in ".|;":
        return False
    before = stretch[max(0, match.start() - SENTENCE) : match.start()]
    return _OTHER_VERSION.search(_SENTENCE_END.split(before)[-1]) is not None


def _is_event(stretch: str, start: int) -> bool:
    """Return whether the label before a date says that it is another event's date, such as a birth or a release."""
    return _EVENT.search(stretch[:start].rstrip().rpartition("\n")[2]) is not None


@lru_cache(maxsize=4)
def _windows(stretch: str) -> list[tuple[int, int]]:
    """Return the parts of a text near a year, each up to the end of a line.

    Dates and their labels occur only there.
    """
    windows: list[tuple[int, int]] = []
    for year in _SOME_YEAR.finditer(stretch):
        line_end = stretch.find("\n", year.end())
        start, end = max(0, year.start() - BEFORE), min(len(stretch) if line_end < 0 else line_end, year.end() + AFTER)
        if windows and start <= windows[-1][1]:
            start = windows.pop()[0]
        windows.append((start, end))
    return windows


def _first(where: str, pattern: re.Pattern[str], *stretches: str) -> FoundDate | None:
    """Return the first date that a pattern finds in texts."""
    return next(_matches(where, pattern, stretches), None)


def _latest(where: str, pattern: re.Pattern[str], *stretches: str) -> FoundDate | None:
    """Return the latest date that a pattern finds in texts; None without any."""
    return max(_matches(where, pattern, stretches), key=lambda found: found.date, default=None)


def _only(where: str, pattern: re.Pattern[str], *stretches: str) -> FoundDate | None:
    """Return the first match if all matches agree on the date."""
    found = list(_matches(where, pattern, stretches))
    return found[0] if len({item.date for item in found}) == 1 else None


def _alone(opening: str) -> FoundDate | None:
    """Return the only date that stands alone in a line.

    A season or month there is the heading of a plan where the opening also names a day: "Spring 2026" of a meeting on
    4 June 2025.
    """
    found = _only("line", _ALONE, opening)
    if found is None or re.search(_DAYS, found.quote, re.IGNORECASE) or not re.search(_DAYS, opening, re.IGNORECASE):
        return found
    return None


def _plausible(words: str) -> PartialDate | None:
    """Return the date, or None if it lies in the future or too far in the past for a document."""
    found = known_date(words)
    latest = date.today() + timedelta(days=AHEAD)
    return found if found and date(EARLIEST_YEAR, 1, 1) <= found.earliest <= latest else None


def _named(title: str, url: str) -> FoundDate | None:
    """Return an ISO date in the title or the URL's last part, or year, month and day as parts of a URL's path."""
    for name in (title, re.split(r"[?#]", url)[0].replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]):
        match = _ISO_NAME.search(name)
        if match and (found := _plausible("-".join(match.group(1, 3, 4)))):
            return FoundDate(found, "name", match.group())
    match = _ISO_PATH.match(url)
    parts = [part.zfill(2) for part in match.groups() if part] if match else []
    found = _plausible("-".join(parts)) if parts else None
    return FoundDate(found, "name", "/".join(parts)) if found else None

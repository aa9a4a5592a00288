"""Calendars (.ics, RFC 5545) and address cards (.vcf, RFC 6350): an entry a row, with what its properties mean.

`20240517T091500` and `FREQ=WEEKLY;BYDAY=MO,TH` are found by nobody: times are written as dates with their day of the
week, and what recurs in words. Time zones' rules, alarms and pictures are no text.
"""

from __future__ import annotations

import calendar
import quopri
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import file_document, one_line
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.rows import row_lines
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_PROPERTY = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^\";:]*(?:\"[^\"]*\"[^\";:]*)*)*):(?P<value>.*)"
)
"""`DTSTART;TZID="Europe/Vienna":20240108T091500` and `item1.TEL:+43 1`, but no line without a colon."""
_PARAMETER = re.compile(r";([\w-]+)(?:=((?:\"[^\"]*\"|[^\";])*))?")
_TIME = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})?(Z)?)?")
_DURATION = re.compile(r"-?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_ESCAPED = re.compile(r"\\([nN,;:\\])")
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_DAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), calendar.day_name, strict=True))
_UNITS = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day", "HOURLY": "hour"}
_NUMBERS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "last but one"}
_KINDS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note", "VCARD": "Contact"}
_PICTURES = ("PHOTO", "LOGO")
_CARD_FIELDS = {
    "ORG": "Organisation",
    "TITLE": "Position",
    "ROLE": "Role",
    "NICKNAME": "Nickname",
    "TEL": "Phone",
    "EMAIL": "E-mail",
    "ADR": "Address",
    "URL": "Web page",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "LANG": "Language",
    "IMPP": "Messages",
    "RELATED": "Related",
    "MEMBER": "Member",
    "CATEGORIES": "Categories",
    "NOTE": "Notes",
}
_DAYS_OF_CARDS = ("BDAY", "ANNIVERSARY")
_PLACES = ("work", "home", "cell", "mobile", "fax", "pager")
"""What a number or an address is for, as far as a person is shown it."""
_RULE_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "WKST")


@dataclass(frozen=True)
class _Property:
    """A property of a calendar entry or address card: its parameters, and its raw value."""

    value: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the value on one line, with its escapes resolved."""
        return one_line(_ESCAPED.sub(lambda match: " " if match[1] in "nN" else match[1], self.value))

    @property
    def parts(self) -> list[str]:
        """Return the non-empty parts of a structured value such as an address."""
        parts = re.split(r"(?<!\\);", self.value)
        return [text for part in parts if (text := _Property(part).text)]


Entry = dict[str, list[_Property]]


def load_calendar_file(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a calendar or address file as one document, with a row for each entry.

    Raises:
        UnreadableDocument: It is no calendar and no address card.
    """
    text = decode(read_bytes(path, max_bytes), path)
    kind = "calendar" if path.suffix.lower() == ".ics" else "address card"
    if not re.search(r"^BEGIN:(?:VCALENDAR|VCARD)\s*$", text, re.MULTILINE | re.IGNORECASE):
        raise UnreadableDocument(f"{path} is no {kind}: nothing in it begins as one")
    report = ReadReport()
    lines: list[str] = []
    title = ""
    for name, entry in _entries(text, report):
        if name == "VCALENDAR":
            title = title or _first(entry, "X-WR-CALNAME") or _first(entry, "NAME")
        elif name in _KINDS:
            cells = _card_cells(entry) if name == "VCARD" else _entry_cells(name, entry)
            lines += row_lines((label, cell) for label, cell in cells if cell)
        report.count("pictures_without_text", sum(len(entry.get(each, ())) for each in _PICTURES))
    yield file_document(path, "\n".join(lines), title=title, if_empty="has no entries", report=report)


def _entries(text: str, report: ReadReport) -> Iterator[tuple[str, Entry]]:
    """Yield each component of the file with its name, inner components first; unfinished ones are reported."""
    around: list[tuple[str, Entry]] = []
    left_out: dict[str, int] = {}
    for line in _FOLD.sub("", _with_soft_breaks(text)).splitlines():
        match = _PROPERTY.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match["name"].upper(), match["value"]
        if name == "BEGIN":
            around.append((value.strip().upper(), {}))
        elif name == "END":
            if around:
                ended, entry = around.pop()
                if ended not in (*_KINDS, "VCALENDAR", "VTIMEZONE", "STANDARD", "DAYLIGHT", "VALARM"):
                    left_out[ended] = left_out.get(ended, 0) + 1
                yield ended, entry
        elif around:
            around[-1][1].setdefault(name, []).append(_property(match["parameters"], value))
    for name, count in left_out.items():
        report.leave_out(f"{count} {name.removeprefix('V').lower()}", "no entry of a calendar that a person reads")
    if around:
        report.less.append("it ends in the middle of an entry")
        yield from reversed(around)


def _property(written: str, value: str) -> _Property:
    """Parse a property from its parameters and value as written."""
    parameters = {key.upper(): part.strip('"') for key, part in _PARAMETER.findall(written)}
    if parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in parameters:
        decoded = quopri.decodestring(value.encode())
        try:
            value = decoded.decode(parameters.get("CHARSET") or "utf-8", "replace")
        except LookupError:  # no character set of this name
            value = decoded.decode("utf-8", "replace")
    return _Property(value, parameters)


def _with_soft_breaks(text: str) -> str:
    """Return the text of a vCard 2.1 without the line breaks that its quoted-printable encoding adds."""
    return _SOFT_BREAK.sub("", text) if "QUOTED-PRINTABLE" in text.upper() else text


def _first(entry: Entry, name: str) -> str:
    """Return the first non-empty value of a property; "" without one."""
    return next((each.text for each in entry.get(name, ()) if each.text), "")


def _entry_cells(kind: str, entry: Entry) -> list[tuple[str, str]]:
    """Return the table cells of an event, a task or a note, as `(column, text)`."""
    start = next(iter(entry.get("DTSTART", ())), None)
    zone = start.parameters.get("TZID", "") if start else ""
    people = [_person(each) for each in entry.get("ATTENDEE", ())]
    status = _first(entry, "STATUS").replace("-", " ").lower()
    return [
        (_KINDS[kind], _first(entry, "SUMMARY") or "without a title"),
        ("Instead of the one on", _time(_first(entry, "RECURRENCE-ID"))),
        ("Starts", _time(start.value) if start else ""),
        ("Ends", _end(entry)),
        ("Due", _time(_first(entry, "DUE"))),
        ("Lasts", _duration(_first(entry, "DURATION"))),
        ("Time zone", zone),
        ("Repeats", "; ".join(_rule(each.value) for each in entry.get("RRULE", ()))),
        ("Also on", _times(entry.get("RDATE", ()))),
        ("Not on", _times(entry.get("EXDATE", ()))),
        ("Place", _first(entry, "LOCATION")),
        ("Organizer", "; ".join(map(_person, entry.get("ORGANIZER", ())))),
        ("Invited", ", ".join(people)),
        ("Status", "" if status == "confirmed" else status),
        ("Done", f"{done} %" if (done := _first(entry, "PERCENT-COMPLETE")) else ""),
        ("Priority", _first(entry, "PRIORITY").removeprefix("0")),
        ("Link", _first(entry, "URL")),
        ("Completed", _time(_first(entry, "COMPLETED"))),
        ("Categories", ", ".join(each.text for each in entry.get("CATEGORIES", ()))),
        ("Notes", " ".join(each.text for each in (*entry.get("DESCRIPTION", ()), *entry.get("COMMENT", ())))),
    ]


def _card_cells(entry: Entry) -> list[tuple[str, str]]:
    """Return the table cells of an address card; several numbers of one kind share a cell."""
    names = [each.parts for each in entry.get("N", ())]
    name = _first(entry, "FN") or " ".join([*names[0][1:2], *names[0][:1]] if names else [])
    cells: dict[str, list[str]] = {"Contact": [name or _first(entry, "ORG") or "without a name"]}
    for field_name, label in _CARD_FIELDS.items():
        for each in entry.get(field_name, ()):
            words = re.findall(r"\w+", ",".join([each.parameters.get("TYPE", ""), *each.parameters]).lower())
            place = ", ".join(known for known in _PLACES if known in words)
            text = _time(each.text) if field_name in _DAYS_OF_CARDS else ", ".join(each.parts)
            text = text.replace(",", ", ") if field_name == "CATEGORIES" else text
            cells.setdefault(f"{label} ({place})" if place else label, []).append(text.removeprefix("tel:"))
    return [(label, ", ".join(filter(None, texts))) for label, texts in cells.items()]


def _person(given: _Property) -> str:
    """Return the name of an invited person, with the person's reply."""
    name = given.parameters.get("CN", "") or given.text.lower().removeprefix("mailto:")
    answer = given.parameters.get("PARTSTAT", "").replace("-", " ").lower()
    return f"{one_line(name)} ({answer})" if answer and answer != "needs action" else one_line(name)


def _times(given: Sequence[_Property]) -> str:
    """Return the times of properties, separated by commas."""
    return ", ".join(_time(value) for each in given for value in each.value.split(","))


def _parsed_time(value: str) -> datetime | date | None:
    """Return the date or time that a value states; None if it is neither."""
    match = _TIME.match(value.strip().replace("-", "").replace(":", ""))
    if match is None:
        return None
    year, month, day, hour, minute, _, _ = match.groups()
    try:
        if hour is None:
            return date(int(year), int(month), int(day))
        return datetime(int(year), int(month), int(day), int(hour), int(minute))
    except ValueError:
        return None


def _time(value: str) -> str:
    """Return a time as a date with its weekday; any other value unchanged."""
    found = _parsed_time(value)
    if found is None:
        return one_line(value)
    day = f"{found:%Y-%m-%d}"
    at = f" {found:%H:%M}{' UTC' if value.strip().endswith('Z') else ''}" if isinstance(found, datetime) else ""
    return f"{day}{at}, {_day_name(found)}"


def _day_name(day: date) -> str:
    """Return the name of a date's weekday."""
    return calendar.day_name[day.weekday()]


def _end(entry: Entry) -> str:
    """Return when an event ends; for whole days the last day, because the file names the day after it."""
    value, start = _first(entry, "DTEND"), _first(entry, "DTSTART")
    end = _parsed_time(value)
    if end is None or isinstance(end, datetime):
        return _time(value) if value else ""
    last = end - timedelta(days=1)
    return "" if last == _parsed_time(start) else f"{last:%Y-%m-%d}, {_day_name(last)}"


def _duration(value: str) -> str:
    """Return a duration in words: "1 hour 30 minutes"."""
    match = _DURATION.fullmatch(value.strip()) if value else None
    if match is None:
        return value
    named = zip(match.groups(), ("week", "day", "hour", "minute", "second"), strict=True)
    return " ".join(f"{number} {unit}{'' if number == '1' else 's'}" for number, unit in named if number)


def _rule(value: str) -> str:
    """Return a recurrence rule in words: "every second week on Monday and Thursday until 2024-12-20"."""
    parts = dict(part.partition("=")[::2] for part in value.upper().split(";") if "=" in part)
    unit, interval = _UNITS.get(parts.get("FREQ", "")), parts.get("INTERVAL", "1")
    if unit is None:
        return one_line(value)
    every = f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
    days = [_by_day(*match.groups()) for match in _BY_DAY.finditer(parts.get("BYDAY", ""))]
    in_month = [f"day {day}" if not day.startswith("-") else f"day {day} from the end of the month"
                for day in parts.get("BYMONTHDAY", "").split(",") if day]  # fmt: skip
    months = [
        calendar.month_name[int(each)] for each in parts.get("BYMONTH", "").split(",") if each in map(str, range(1, 13))
    ]
    words = [every, *([f"on {_and(days)}"] if days else []), *([f"on {_and(in_month)}"] if in_month else [])]
    words += [f"in {_and(months)}"] if months else []
    words += [f"{parts['COUNT']} times"] if parts.get("COUNT") else []
    words += [f"until {_time(parts['UNTIL']).split(',')[0].split(' ')[0]}"] if parts.get("UNTIL") else []
    words += [f"({name}={text})" for name, text in parts.items() if name not in _RULE_PARTS]
    return " ".join(words)


def _by_day(number: str | None, day: str) -> str:
    """Return a recurring weekday in words: "Monday", or with a number "the second Monday"."""
    if number is None:
        return _DAYS[day]
    return f"the {_NUMBERS.get(int(number), f'{int(number)}.')} {_DAYS[day]}"


def _and(words: Sequence[str]) -> str:
    """Return words as an enumeration: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

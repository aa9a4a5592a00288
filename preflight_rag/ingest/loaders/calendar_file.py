"""Read calendars (.ics, RFC 5545) and address cards (.vcf, RFC 6350): one row for each entry.

No search finds `20240517T091500` or `FREQ=WEEKLY;BYDAY=MO,TH`: times are written as dates with their weekday, and
recurrence in words. The rules of time zones, alarms and pictures are left out.
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

_FOLDED_LINE = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_PROPERTY = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^\";:]*(?:\"[^\"]*\"[^\";:]*)*)*):(?P<value>.*)"
)
"""`DTSTART;TZID="Europe/Vienna":20240108T091500` and `item1.TEL:+43 1`, but no line without a colon."""
_PARAMETER = re.compile(r";([\w-]+)(?:=((?:\"[^\"]*\"|[^\";])*))?")
_TIME_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})?(Z)?)?")
_DURATION = re.compile(r"-?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_ESCAPE = re.compile(r"\\([nN,;:\\])")
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_DAY_NAMES = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), calendar.day_name, strict=True))
_UNIT_OF_FREQUENCY = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day", "HOURLY": "hour"}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "last but one"}
_ENTRY_KINDS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note", "VCARD": "Contact"}
_PICTURE_PROPERTIES = ("PHOTO", "LOGO")
_CARD_FIELDS = {
    **{"ORG": "Organisation", "TITLE": "Position", "ROLE": "Role", "NICKNAME": "Nickname", "TEL": "Phone"},
    **{"EMAIL": "E-mail", "ADR": "Address", "URL": "Web page", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary"},
    **{"LANG": "Language", "IMPP": "Messages", "RELATED": "Related", "MEMBER": "Member"},
    **{"CATEGORIES": "Categories", "NOTE": "Notes"},
}
"""Labels of an address card's properties, in the order of its cells."""
_DATE_FIELDS = ("BDAY", "ANNIVERSARY")
_CONTACT_TYPES = ("work", "home", "cell", "mobile", "fax", "pager")
"""Types of a number or an address that are shown in the cell's label."""
_KNOWN_RULE_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "WKST")


@dataclass(frozen=True)
class _Property:
    """A property of a calendar entry or address card: its raw value, and its parameters by upper-case name."""

    value: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the value on one line, with its escaped commas, semicolons and line ends resolved."""
        return one_line(_ESCAPE.sub(lambda match: " " if match[1] in "nN" else match[1], self.value))

    @property
    def parts(self) -> list[str]:
        """Return the non-empty parts of a structured value such as an address, which semicolons separate."""
        parts = re.split(r"(?<!\\);", self.value)
        return [text for part in parts if (text := _Property(part).text)]


Entry = dict[str, list[_Property]]
"""The properties of a component of a file, by upper-case name."""


def load_calendar_file(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a calendar or address file as one document, with a row for each entry.

    Raises:
        UnreadableDocument: The file is no calendar and no address card.
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
            title = title or _first_text(entry, "X-WR-CALNAME") or _first_text(entry, "NAME")
        elif name in _ENTRY_KINDS:
            cells = _card_cells(entry) if name == "VCARD" else _entry_cells(name, entry)
            lines += row_lines((label, cell) for label, cell in cells if cell)
        report.count("pictures_without_text", sum(len(entry.get(key, ())) for key in _PICTURE_PROPERTIES))
    yield file_document(path, "\n".join(lines), title=title, if_empty="has no entries", report=report)


def _entries(text: str, report: ReadReport) -> Iterator[tuple[str, Entry]]:
    """Yield each component of the file with its name, inner components first.

    Components of unknown kinds, and those that the file's end cuts off, are yielded and reported.
    """
    open_components: list[tuple[str, Entry]] = []
    left_out: dict[str, int] = {}
    for line in _FOLDED_LINE.sub("", _join_soft_breaks(text)).splitlines():
        match = _PROPERTY.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match["name"].upper(), match["value"]
        if name == "BEGIN":
            open_components.append((value.strip().upper(), {}))
        elif name == "END":
            if open_components:
                component, entry = open_components.pop()
                if component not in (*_ENTRY_KINDS, "VCALENDAR", "VTIMEZONE", "STANDARD", "DAYLIGHT", "VALARM"):
                    left_out[component] = left_out.get(component, 0) + 1
                yield component, entry
        elif open_components:
            _, entry = open_components[-1]
            entry.setdefault(name, []).append(_parse_property(match["parameters"], value))
    for name, count in left_out.items():
        report.leave_out(f"{count} {name.removeprefix('V').lower()}", "no entry of a calendar that a person reads")
    if open_components:
        report.less.append("it ends in the middle of an entry")
        yield from reversed(open_components)


def _parse_property(parameter_text: str, value: str) -> _Property:
    """Return a property of its parameters (";TYPE=home") and its value, which is decoded if it is quoted-printable."""
    parameters = {key.upper(): part.strip('"') for key, part in _PARAMETER.findall(parameter_text)}
    if parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in parameters:
        decoded = quopri.decodestring(value.encode())
        try:
            value = decoded.decode(parameters.get("CHARSET") or "utf-8", "replace")
        except LookupError:  # There is no character set of this name.
            value = decoded.decode("utf-8", "replace")
    return _Property(value, parameters)


def _join_soft_breaks(text: str) -> str:
    """Return the text of a file without the line breaks that quoted-printable encoding (vCard 2.1) adds."""
    return _SOFT_BREAK.sub("", text) if "QUOTED-PRINTABLE" in text.upper() else text


def _first_text(entry: Entry, name: str) -> str:
    """Return the text of the first non-empty property with a name; "" if there is none."""
    return next((item.text for item in entry.get(name, ()) if item.text), "")


def _joined_texts(entry: Entry, *names: str, separator: str) -> str:
    """Return the texts of all properties with the given names, joined."""
    return separator.join(item.text for name in names for item in entry.get(name, ()))


def _entry_cells(kind: str, entry: Entry) -> list[tuple[str, str]]:
    """Return the cells of an event, a task or a note as `(column, text)`; `kind` is its component's name."""
    start = next(iter(entry.get("DTSTART", ())), None)
    zone = start.parameters.get("TZID", "") if start else ""
    status = _first_text(entry, "STATUS").replace("-", " ").lower()
    return [
        (_ENTRY_KINDS[kind], _first_text(entry, "SUMMARY") or "without a title"),
        ("Instead of the one on", _format_time(_first_text(entry, "RECURRENCE-ID"))),
        ("Starts", _format_time(start.value) if start else ""),
        ("Ends", _format_end(entry)),
        ("Due", _format_time(_first_text(entry, "DUE"))),
        ("Lasts", _format_duration(_first_text(entry, "DURATION"))),
        ("Time zone", zone),
        ("Repeats", "; ".join(_format_rule(rule.value) for rule in entry.get("RRULE", ()))),
        ("Also on", _join_times(entry.get("RDATE", ()))),
        ("Not on", _join_times(entry.get("EXDATE", ()))),
        ("Place", _first_text(entry, "LOCATION")),
        ("Organizer", "; ".join(map(_person_with_reply, entry.get("ORGANIZER", ())))),
        ("Invited", ", ".join(map(_person_with_reply, entry.get("ATTENDEE", ())))),
        ("Status", "" if status == "confirmed" else status),
        ("Done", f"{percent} %" if (percent := _first_text(entry, "PERCENT-COMPLETE")) else ""),
        ("Priority", _first_text(entry, "PRIORITY").removeprefix("0")),
        ("Link", _first_text(entry, "URL")),
        ("Completed", _format_time(_first_text(entry, "COMPLETED"))),
        ("Categories", _joined_texts(entry, "CATEGORIES", separator=", ")),
        ("Notes", _joined_texts(entry, "DESCRIPTION", "COMMENT", separator=" ")),
    ]


def _card_cells(entry: Entry) -> list[tuple[str, str]]:
    """Return the cells of an address card as `(column, text)`; several numbers of one kind share a cell."""
    # The parts of a structured name are the family name, the given name, and others.
    name_parts = entry["N"][0].parts if entry.get("N") else []
    name = _first_text(entry, "FN") or " ".join([*name_parts[1:2], *name_parts[:1]])
    cells: dict[str, list[str]] = {"Contact": [name or _first_text(entry, "ORG") or "without a name"]}
    for field_name, label in _CARD_FIELDS.items():
        for item in entry.get(field_name, ()):
            # A type is the value of TYPE, or in older cards a parameter of its own: "TEL;TYPE=home", "TEL;HOME".
            words = re.findall(r"\w+", ",".join([item.parameters.get("TYPE", ""), *item.parameters]).lower())
            types = ", ".join(contact_type for contact_type in _CONTACT_TYPES if contact_type in words)
            text = _format_time(item.text) if field_name in _DATE_FIELDS else ", ".join(item.parts)
            text = text.replace(",", ", ") if field_name == "CATEGORIES" else text
            cells.setdefault(f"{label} ({types})" if types else label, []).append(text.removeprefix("tel:"))
    return [(label, ", ".join(filter(None, texts))) for label, texts in cells.items()]


def _person_with_reply(person: _Property) -> str:
    """Return the name of an invited person, or the mail address, with the person's reply: "Ann Lee (accepted)"."""
    name = person.parameters.get("CN", "") or person.text.lower().removeprefix("mailto:")
    reply = person.parameters.get("PARTSTAT", "").replace("-", " ").lower()
    return f"{one_line(name)} ({reply})" if reply and reply != "needs action" else one_line(name)


def _join_times(properties: Sequence[_Property]) -> str:
    """Return the times in the values of properties, separated by commas."""
    return ", ".join(_format_time(value) for item in properties for value in item.value.split(","))


def _parse_time(value: str) -> datetime | date | None:
    """Return the date or time that a value states ("20240517T091500"); None if it is neither."""
    match = _TIME_STAMP.match(value.strip().replace("-", "").replace(":", ""))
    if match is None:
        return None
    year, month, day, hour, minute, _, _ = match.groups()
    try:
        if hour is None:
            return date(int(year), int(month), int(day))
        return datetime(int(year), int(month), int(day), int(hour), int(minute))
    except ValueError:
        return None


def _format_time(value: str) -> str:
    """Return a date or time with its weekday, "2024-05-17 09:15 UTC, Friday"; any other value on one line."""
    time = _parse_time(value)
    if time is None:
        return one_line(value)
    zone = " UTC" if value.strip().endswith("Z") else ""
    hour = f" {time:%H:%M}{zone}" if isinstance(time, datetime) else ""
    return f"{time:%Y-%m-%d}{hour}, {_day_name(time)}"


def _day_name(day: date) -> str:
    """Return the name of a date's weekday."""
    return calendar.day_name[day.weekday()]


def _format_end(entry: Entry) -> str:
    """Return when an event ends; for events of whole days the last day, since the file states the day after it.

    Return "" for an event of one day, or one without an end.
    """
    value, start = _first_text(entry, "DTEND"), _first_text(entry, "DTSTART")
    end = _parse_time(value)
    if end is None or isinstance(end, datetime):
        return _format_time(value) if value else ""
    last_day = end - timedelta(days=1)
    return "" if last_day == _parse_time(start) else f"{last_day:%Y-%m-%d}, {_day_name(last_day)}"


def _format_duration(value: str) -> str:
    """Return a duration in words, "1 hour 30 minutes" for "PT1H30M"; any other value unchanged."""
    match = _DURATION.fullmatch(value.strip()) if value else None
    if match is None:
        return value
    numbers = zip(match.groups(), ("week", "day", "hour", "minute", "second"), strict=True)
    return " ".join(f"{number} {unit}{'' if number == '1' else 's'}" for number, unit in numbers if number)


def _format_rule(value: str) -> str:
    """Return a recurrence rule in words: "every 2 weeks on Monday and Thursday until 2024-12-20".

    Parts that are not known here are appended as they are; a rule of an unknown frequency is unchanged.
    """
    parts = dict(part.partition("=")[::2] for part in value.upper().split(";") if "=" in part)
    unit, interval = _UNIT_OF_FREQUENCY.get(parts.get("FREQ", "")), parts.get("INTERVAL", "1")
    if unit is None:
        return one_line(value)
    every = f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
    days = [_format_weekday(*match.groups()) for match in _BY_DAY.finditer(parts.get("BYDAY", ""))]
    days_of_month = []
    for day in filter(None, parts.get("BYMONTHDAY", "").split(",")):
        days_of_month.append(f"day {day} from the end of the month" if day.startswith("-") else f"day {day}")
    month_names = {str(number): calendar.month_name[number] for number in range(1, 13)}
    months = [month_names[month] for month in parts.get("BYMONTH", "").split(",") if month in month_names]
    words = [every]
    words += [f"on {_join_with_and(names)}" for names in (days, days_of_month) if names]
    words += [f"in {_join_with_and(months)}"] if months else []
    words += [f"{parts['COUNT']} times"] if parts.get("COUNT") else []
    if parts.get("UNTIL"):
        last_day = re.split("[, ]", _format_time(parts["UNTIL"]), maxsplit=1)[0]  # without the time and the weekday
        words.append(f"until {last_day}")
    words += [f"({name}={text})" for name, text in parts.items() if name not in _KNOWN_RULE_PARTS]
    return " ".join(words)


def _format_weekday(number: str | None, day: str) -> str:
    """Return a recurring weekday ("MO") in words: "Monday", or with a number "the second Monday"."""
    if number is None:
        return _DAY_NAMES[day]
    return f"the {_ORDINALS.get(int(number), f'{int(number)}.')} {_DAY_NAMES[day]}"


def _join_with_and(words: Sequence[str]) -> str:
    """Return words as an enumeration: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

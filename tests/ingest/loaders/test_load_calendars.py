"""Calendars and address cards: what their properties mean, in words that are searched for."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight_rag.ingest.loaders import load
from preflight_rag.ingest.loaders.read_report import report_of
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document


def document_of(path: Path, content: str, encoding: str = "utf-8") -> Document:
    path.write_bytes(content.replace("\n", "\r\n").encode(encoding))
    (document,) = load(path)
    assert isinstance(document, Document)
    return document


def event(path: Path, properties: str) -> str:
    content = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Round\n{properties}\nEND:VEVENT\nEND:VCALENDAR\n"
    return document_of(path / "a.ics", content).text


def test_an_event_says_what_its_properties_mean(tmp_path: Path) -> None:
    document = document_of(
        tmp_path / "office.ics",
        """BEGIN:VCALENDAR
X-WR-CALNAME:Office Weiden
BEGIN:VTIMEZONE
TZID:Europe/Vienna
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID="Europe/Vienna":20240108T091500
DTEND;TZID=Europe/Vienna:20240108T100000
RRULE:FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20241220T000000Z
EXDATE;TZID=Europe/Vienna:20240401T091500
SUMMARY:Planning round
LOCATION:Room Enzian\\, 2nd floor
DESCRIPTION:Bring the open orders.\\nMinutes: Petra Zeman\\; no lap
 tops please.
ORGANIZER;CN=Petra Zeman:mailto:petra@example.org
ATTENDEE;CN="Kral, Josef";PARTSTAT=DECLINED:mailto:josef@example.org
ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ida@example.org
BEGIN:VALARM
DESCRIPTION:Reminder
TRIGGER:-PT15M
END:VALARM
END:VEVENT
BEGIN:VTODO
SUMMARY:Renew the certificate
DUE:20240630T120000
STATUS:NEEDS-ACTION
END:VTODO
END:VCALENDAR
""",
    )
    assert document.title == "Office Weiden"
    first, second = document.text.split("\n")
    for cell in (
        "Event: Planning round",
        "Starts: 2024-01-08 09:15, Monday",
        "Ends: 2024-01-08 10:00, Monday",
        "Time zone: Europe/Vienna",
        "Repeats: every week on Monday and Thursday until 2024-12-20",
        "Not on: 2024-04-01 09:15, Monday",
        "Place: Room Enzian, 2nd floor",
        "Organizer: Petra Zeman",
        "Invited: Kral, Josef (declined), ida@example.org",
        "Notes: Bring the open orders. Minutes: Petra Zeman; no laptops please.",
    ):
        assert cell in first.split(" | ")
    assert second == "Task: Renew the certificate | Due: 2024-06-30 12:00, Sunday | Status: needs action"
    assert "Reminder" not in document.text
    report = report_of(document.metadata)
    assert report is not None
    assert (report.counts["rows"], report.left_out, report.less) == (2, [], [])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;COUNT=5", "every day 5 times"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "every 2 weeks on Tuesday"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "every month on the last Friday"),
        (
            "FREQ=MONTHLY;BYDAY=2WE,4WE",
            "every month on the second Wednesday and the fourth Wednesday",
        ),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "every month on day 15"),
        ("FREQ=YEARLY;BYMONTH=3,9;BYMONTHDAY=1", "every year on day 1 in March and September"),
        ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", "every month on Monday and Tuesday (BYSETPOS=-1)"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_rule_of_recurrence_is_said_in_words(tmp_path: Path, rule: str, words: str) -> None:
    assert event(tmp_path, f"RRULE:{rule}") == f"Event: Round | Repeats: {words}"


@pytest.mark.parametrize(
    ("properties", "cells"),
    [
        ("DTSTART;VALUE=DATE:20240517\nDTEND;VALUE=DATE:20240518", "Starts: 2024-05-17, Friday"),
        ("DTSTART;VALUE=DATE:20240517\nDTEND;VALUE=DATE:20240520",
         "Starts: 2024-05-17, Friday | Ends: 2024-05-19, Sunday"),
        ("DTSTART:20240517T230000Z\nDURATION:P1DT1H30M",
         "Starts: 2024-05-17 23:00 UTC, Friday | Lasts: 1 day 1 hour 30 minutes"),
        ("DTSTART:20241399\nSTATUS:CANCELLED", "Starts: 20241399 | Status: cancelled"),
    ],
)  # fmt: skip
def test_times_are_dates_with_their_day(tmp_path: Path, properties: str, cells: str) -> None:
    assert event(tmp_path, properties) == f"Event: Round | {cells}"


def test_address_cards_of_both_versions(tmp_path: Path) -> None:
    document = document_of(
        tmp_path / "people.vcf",
        """BEGIN:VCARD
VERSION:3.0
FN:Ida Moser
N:Moser;Ida;;;
ORG:Auwinkel Housing;Repairs
TEL;TYPE=WORK,VOICE:+43 7242 5510
TEL;TYPE=cell:+43 664 91
item1.EMAIL;TYPE=INTERNET:ida@example.org
ADR;TYPE=HOME:;;Am Bach 4;Ried;;4910;Austria
BDAY:1979-04-02
PHOTO;ENCODING=b;TYPE=JPEG:AAAA
 BBBB
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=F6rg
NOTE;ENCODING=QUOTED-PRINTABLE:Has the key of the boi=
ler house
END:VCARD
""",
    )
    first, second = document.text.split("\n")
    assert first == (
        "Contact: Ida Moser | Organisation: Auwinkel Housing, Repairs | Phone (work): +43 7242 5510 | "
        "Phone (cell): +43 664 91 | E-mail: ida@example.org | Address (home): Am Bach 4, Ried, 4910, Austria | "
        "Birthday: 1979-04-02, Monday"
    )
    assert second == "Contact: Jörg Müller | Notes: Has the key of the boiler house"
    report = report_of(document.metadata)
    assert report is not None
    assert report.counts["pictures_without_text"] == 1


def test_what_is_damaged_or_none_is_said(tmp_path: Path) -> None:
    cut = document_of(tmp_path / "cut.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Fire drill\nLOCATION:Court")
    assert cut.text == "Event: Fire drill | Place: Court"
    report = report_of(cut.metadata)
    assert report is not None
    assert report.less == ["it ends in the middle of an entry"]
    with pytest.raises(UnreadableDocument, match="no calendar"):
        document_of(tmp_path / "none.ics", "SUMMARY:Fire drill\n")


def test_busy_times_are_left_out_with_a_word(tmp_path: Path) -> None:
    content = "BEGIN:VCALENDAR\nBEGIN:VFREEBUSY\nFREEBUSY:20240101T100000Z/PT1H\nEND:VFREEBUSY\n"
    document = document_of(tmp_path / "a.ics", f"{content}BEGIN:VEVENT\nSUMMARY:Round\nEND:VEVENT\nEND:VCALENDAR\n")
    report = report_of(document.metadata)
    assert report is not None
    assert report.left_out == [("1 freebusy", "no entry of a calendar that a person reads")]

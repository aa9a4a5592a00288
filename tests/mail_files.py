# ruff: noqa: E501 (mails as programs write them)
"""Mails in the forms of the programs that people write them with: quoted parts, stubs, attachments; all invented."""

from __future__ import annotations

import mailbox
from base64 import b64encode
from collections.abc import Callable
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from quopri import encodestring

HEAD = "From: Mira Holt <mira@harbour.example>\r\nTo: Jon Vale <jon@harbour.example>\r\nDate: Mon, 10 Mar 2025 09:00:00 +0100\r\nMIME-Version: 1.0\r\n"


def _raw(path: Path, subject: str, kind: str, body: bytes, encoding: str = "8bit", more: str = "") -> None:
    head = f"{HEAD}Subject: {subject}\r\n{more}Content-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    path.write_bytes(head.encode() + body)


def _message(subject: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = "Mira Holt <mira@harbour.example>", "Jon Vale <jon@harbour.example>"
    message["Subject"], message["Date"] = subject, "Mon, 10 Mar 2025 09:00:00 +0100"
    return message


def outlook_plain(path: Path) -> None:
    """Outlook's plain text: the quoted mail stands below with a head of its own, without marks before its lines."""
    text = (
        "The crane is repaired.\r\n\r\nMira\r\n\r\n-----Original Message-----\r\nFrom: Tomas Brandt <tomas@crane.example>\r\n"
        "Sent: Friday, 7 March 2025 16:12\r\nTo: Mira Holt\r\nSubject: Crane\r\n\r\nThe new gear of the crane costs 4180 crowns.\r\n"
    )
    _raw(path, "RE: Crane", 'text/plain; charset="utf-8"', text.encode())


def outlook_html(path: Path) -> None:
    """Outlook's HTML: Word's markup, conditional comments, the quoted head behind a line."""
    html = """<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><!--[if gte mso 9]><xml><o:shapedefaults/></xml><![endif]--><style>p.MsoNormal{margin:0cm}</style></head>
<body lang=EN-GB><div class=WordSection1><p class=MsoNormal>The pontoon is booked.<o:p></o:p></p>
<table class=MsoNormalTable border=1><tr><td><p class=MsoNormal>Berth<o:p></o:p></p></td><td><p class=MsoNormal>Tariff<o:p></o:p></p></td></tr><tr><td><p class=MsoNormal>P-41<o:p></o:p></p></td><td><p class=MsoNormal>2317<o:p></o:p></p></td></tr></table>
<div><div style='border:none;border-top:solid #E1E1E1 1.0pt'><p class=MsoNormal><b>From:</b> Olga Reimann &lt;olga@sail.example&gt;<br><b>Sent:</b> Friday, March 7, 2025 4:12 PM<br><b>To:</b> Mira Holt<br><b>Subject:</b> Pontoon<o:p></o:p></p></div></div>
<p class=MsoNormal>Our pontoon may weigh 6230 kilograms.<o:p></o:p></p></div></body></html>"""
    _raw(path, "RE: Pontoon", 'text/html; charset="utf-8"', encodestring(html.encode()), "quoted-printable")


def gmail(path: Path) -> None:
    """Gmail: plain part and HTML, the reply above, the quote in a block with who wrote it."""
    message = _message("Re: Ice on the slip")
    message.set_content(
        "Salt was spread at six.\n\nOn Fri, 7 Mar 2025 at 16:12, Elin Sand <elin@port.example> wrote:\n\n> The slip froze at 3190 seconds.\n> Please spread salt.\n"
    )
    message.add_alternative(
        '<div dir="ltr">Salt was spread at six.</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Fri, 7 Mar 2025 at 16:12, Elin Sand &lt;elin@port.example&gt; wrote:<br></div><blockquote class="gmail_quote">The slip froze at 3190 seconds.<br>Please spread salt.</blockquote></div>',
        subtype="html",
    )
    path.write_bytes(bytes(message))


def apple(path: Path) -> None:
    """Apple Mail: format=flowed, lines that go on, two writers quoted in each other."""
    text = (
        "Agreed, and \r\nthe buoy is paid from budget line 7752.\r\n\r\n> On 7 Mar 2025, at 16:12, Rolf Ek <rolf@port.example> wrote:\r\n> \r\n"
        "> The buoy costs 910 crowns.\r\n> \r\n>> On 6 Mar 2025, at 10:00, Ada Lund <ada@port.example> wrote:\r\n>> \r\n>> The old buoy sank in 8841 seconds.\r\n"
    )
    _raw(path, "Re: Buoy", "text/plain; charset=us-ascii; format=flowed; delsp=yes", text.encode())


def german(path: Path) -> None:
    """A German Outlook in Windows' letters, quoted-printable."""
    text = (
        "Die Schleuse ist wieder frei.\r\n\r\nVon: Jürgen Möller <juergen@schleuse.example>\r\nGesendet: Freitag, 7. März 2025 16:12\r\n"
        "An: Mira Holt\r\nBetreff: Schleuse\r\n\r\nDas Tor schließt nach 5526 Sekunden.\r\n"
    )
    _raw(path, "=?utf-8?q?AW=3A_Schleuse?=", 'text/plain; charset="windows-1252"',
         encodestring(text.encode("cp1252")), "quoted-printable")  # fmt: skip


def stub(path: Path) -> None:
    """A newsletter: its plain part says to look at the HTML."""
    message = _message("Harbour news of March")
    message.set_content("View this email in your browser: https://news.example/3")
    rows = "".join(
        f"<tr><td>{day}</td><td>{boat}</td></tr>"
        for day, boat in (("Monday", "Gullwing 1207"), ("Tuesday", "Petrel 1208"))
    )
    message.add_alternative(
        f"<html><body><h1>Ferries</h1><p>The night ferry leaves pier 6604.</p><table><tr><th>Day</th><th>Boat</th></tr>{rows}</table></body></html>",
        subtype="html",
    )
    path.write_bytes(bytes(message))


def forwarded(path: Path) -> None:
    """A mail that carries another one whole, with a table attached to that."""
    inner = _message("Offer for ropes")
    inner.set_content("The rope is sold by the coil of 2930 metres.")
    inner.add_attachment(b"rope;price\nmanila;7419\n", maintype="text", subtype="csv", filename="ropes.csv")
    message = _message("Fwd: Offer for ropes")
    message.set_content("See below, order number RO-5512.")
    message.add_attachment(inner)
    path.write_bytes(bytes(message))


def attachments(path: Path) -> None:
    """A sheet, a page and a calendar's entry are attached; a picture stands in the text."""
    message = _message("Tide tables and meeting")
    message.set_content("Both are attached; the gate opens at 3381.")
    message.add_attachment(
        b"port,high_water\nNorhaven,0917\nCaldria,1143\n", maintype="text", subtype="csv", filename="tides.csv"
    )
    message.add_attachment("<p>The pilot's boat is number 6178.</p>", subtype="html", filename="pilot.html")
    calendar = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Meeting in room 2245\r\nLOCATION:Pier 9\r\nDTSTART:20250401T090000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    message.add_attachment(calendar.encode(), maintype="text", subtype="calendar", filename="meeting.ics")
    path.write_bytes(bytes(message))


def invitation(path: Path) -> None:
    """An invitation of Outlook's: its calendar is a third form beside plain text and HTML, with lines that are folded."""
    message = _message("Inspection of the lock")
    message.set_content("See the invitation.")
    message.add_alternative("<p>See the invitation.</p>", subtype="html")
    calendar = (
        "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Inspection of the lock\r\n"
        "LOCATION:Gate 4\\, hall 90\r\n 35\r\nDESCRIPTION:Bring key 2871.\\nThe diver comes at 6652.\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    message.add_alternative(calendar.encode(), maintype="text", subtype="calendar")
    path.write_bytes(bytes(message))


def base64_latin(path: Path) -> None:
    """A mail in base64 and Latin letters, with a coded subject and an answer between the quoted lines."""
    text = "Ingrid Åberg schrieb am 7.3.2025:\n> Wie schwer ist der Anker?\nEr wiegt 4417 Pfund.\n> Und die Kette?\nSie ist 1566 Fuß lang.\n"
    _raw(path, "=?iso-8859-1?Q?Re:_Anker_f=FCr_die_M=F6we?=", 'text/plain; charset="iso-8859-1"',
         b64encode(text.encode("latin-1")) + b"\r\n", "base64")  # fmt: skip


def list_mails(path: Path) -> None:
    """A box of three mails, one of which begins a line with From."""
    box = mailbox.mbox(path)
    for number, text in enumerate(
        ("The lamp has 8102 candela.", "From 7203 on the tower is closed.", "The foghorn took 2604 litres.")
    ):
        message = _message(f"Lighthouse {number}")
        message.set_content(f"{text}\n\n-- \nMira Holt\nHarbour office, room 5{number}05")
        box.add(message)
    box.close()


MAILS: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "crane.eml": (outlook_plain, {"reply": "crane is repaired", "quoted": "4180 crowns", "its writer": "Tomas Brandt"}),
    "pontoon.eml": (outlook_html, {"table": "2317", "quoted": "6230 kilograms", "its writer": "Olga Reimann"}),
    "ice.eml": (gmail, {"reply": "spread at six", "quoted": "3190 seconds", "its writer": "Elin Sand"}),
    "buoy.eml": (apple, {"flowed": "the buoy is paid from budget line 7752", "quoted": "910 crowns", "twice": "8841", "its writer": "Ada Lund"}),
    "schleuse.eml": (german, {"reply": "Schleuse ist wieder frei", "quoted": "5526 Sekunden", "its writer": "Jürgen Möller"}),
    "news.eml": (stub, {"text": "pier 6604", "cell": "Gullwing 1207", "last": "Petrel 1208"}),
    "ropes.eml": (forwarded, {"text": "RO-5512", "carried": "2930 metres", "attached to it": "7419"}),
    "tides.eml": (attachments, {"text": "3381", "sheet": "1143", "page": "6178", "calendar": "2245"}),
    "lock.eml": (invitation, {"place": "Gate 4, hall 9035", "description": "key 2871", "its next line": "6652"}),
    "anker.eml": (base64_latin, {"subject": "Anker für die Möwe", "answer": "4417 Pfund", "second": "1566 Fuß", "question": "Wie schwer ist der Anker", "writer": "Ingrid Åberg"}),
    "lighthouse.mbox": (list_mails, {"first": "8102", "From": "7203", "last": "2604", "signature": "5205"}),
}  # fmt: skip
"""By name, what writes the file, and what it says by the place where that stands."""

"""Mail: a message (.eml, .msg) as a document, a mailbox (.mbox) as one for each message, and what is attached to them.

An attachment is a document of its own under the mail's id: `/mails/offer.eml/prices.xlsx`. What is quoted in a mail is
attributed to who wrote it (`mail_quotes.py`).
"""

from __future__ import annotations

import mailbox
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage, Message, MIMEPart
from email.policy import default
from email.utils import getaddresses
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.attachments import MOST_ATTACHMENTS, attached_documents, own_name, why_left_out
from preflight_rag.ingest.loaders.fields import absolute, file_document, iso_date, one_line, tidy
from preflight_rag.ingest.loaders.files import open_place, read_bytes
from preflight_rag.ingest.loaders.html import readable_text
from preflight_rag.ingest.loaders.mail_quotes import attributed, person
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from oxmsg import Message as OutlookMessage

_HEADERS = ("from", "to", "subject", "date")
"""A message has at least one of these; nonsense has none."""
DEEPEST = 5
"""Mails within each other whose attachments are read; a guess."""
STUB_CHARACTERS = 400
STUB_SHARE = 3
"""A plain part below so many characters stands for an HTML part of so many times its length; guesses."""
_STUB = re.compile(
    r"\bbrowsers?\b|navegador|navigateur|prohlížeč|przegl|webbläsare|\bhtml\b|web version|online version", re.I
)
_QUOTED_FROM = re.compile(rb"^(>*)>From ", re.MULTILINE)
"""How a mailbox writes a line of a mail that begins with "From ", which would begin the next one."""
_MARKUP = re.compile(r"<[^<>]*+>")
POORER = 0.3
"""Share of a page's words without which a mail's plain text says less than the page; a guess."""
_SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")
_ENCRYPTED = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
_CALENDARS = {"text/calendar": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf"}
"""Endings of calendars and address cards, by their kind: they may have none in a mail."""
_TECHNICAL = ("message/delivery-status", "message/disposition-notification", "text/rfc822-headers")


@dataclass
class _Attachment:
    """A file or mail attached to a mail.

    Attributes:
        problem: Why its content is missing.
        is_text: Whether the mail declares it as text, whatever its extension.
    """

    name: str
    data: bytes = b""
    mail: EmailMessage | None = None
    problem: str = ""
    is_text: bool = False


@dataclass
class _Letter:
    """A mail in a form that does not depend on the program that wrote it."""

    subject: str
    date: str | None
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    copies: tuple[str, ...]
    plain: str = ""
    html: str = ""
    attachments: list[_Attachment] = field(default_factory=list)
    pictures: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)


def load_mail(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the messages of a file, each followed by its attachments.

    Raises:
        UnreadableDocument: It is no mail.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    if path.suffix.lower() == ".msg":
        yield from _documents(path, _outlook_letter(path, max_bytes), absolute(path), max_bytes, 0)
        return
    if path.suffix.lower() == ".eml":
        message = message_from_bytes(read_bytes(path, max_bytes), policy=default)
        yield from _documents(path, _letter(path, message), absolute(path), max_bytes, 0)
        return
    box = mailbox.mbox(open_place(path), create=False)
    try:
        seen: set[str] = set()
        for number, key in enumerate(box.iterkeys(), 1):
            message = message_from_bytes(_QUOTED_FROM.sub(rb"\1From ", box.get_bytes(key)), policy=default)
            name = one_line(message.get("message-id", "")).strip("<>") or str(number)
            name = f"{absolute(path)}#{name if name not in seen else number}"
            seen.add(name.rsplit("#", 1)[-1])
            try:
                yield from _documents(path, _letter(path, message), name, max_bytes, 0)
            except DocumentError as error:
                yield type(error)(f"{path}, message {number}: {error.message}", help=error.help)
    finally:
        box.close()


def _documents(path: Path, letter: _Letter, name: str, max_bytes: int, depth: int) -> Iterator[Document]:
    """Yield the mail, then its attachments."""
    report, attached = ReadReport(), list[Document]()
    taken: set[str] = set()
    for each in letter.attachments[:MOST_ATTACHMENTS]:
        place = Path(name) / own_name(each.name, taken)
        try:
            attached += _attached(path, each, place, letter, max_bytes, depth)
            report.count("attachments")
        except DocumentError as error:
            report.leave_out(f"attachment {place.name}", why_left_out(place, error))
    if (more := len(letter.attachments) - MOST_ATTACHMENTS) > 0:
        report.leave_out(f"{more:,} more attachments", f"of one mail {MOST_ATTACHMENTS} are read")
    yield _mail(path, letter, name, report)
    yield from attached


def _mail(path: Path, letter: _Letter, name: str, report: ReadReport) -> Document:
    """Return a mail as a document."""
    for what, why in letter.left_out:
        report.leave_out(what, why)
    report.count("pictures_without_text", letter.pictures)
    body = attributed(_body(letter))
    report.count("quoted_parts", body.quoted)
    if body.own_lines <= 1 and not body.quoted:
        report.less.append("its text has one line" if body.own_lines else "it has no text of its own")
    people = (("From", letter.senders), ("To", letter.receivers), ("Cc", letter.copies))
    lines = [*((label, ", ".join(names)) for label, names in people), ("Date", letter.date)]
    head = "\n".join(f"{label}: {value}" for label, value in lines if value)
    names = [each.name for each in letter.attachments]
    return file_document(
        path,
        f"{head}\n\n{body.text}".strip(),
        title=letter.subject,
        date=letter.date,
        authors=letter.senders,
        metadata={
            **({"to": list(letter.receivers)} if letter.receivers else {}),
            **({"attachments": names} if names else {}),
        },
        id=name,
        source=absolute(path),
        report=report,
    )


def _attached(
    path: Path, attachment: _Attachment, place: Path, letter: _Letter, max_bytes: int, depth: int
) -> list[Document]:
    """Return the documents of an attachment, which say what they were attached to.

    Raises:
        DocumentError: It cannot be read.
    """
    if attachment.problem:
        raise UnreadableDocument(attachment.problem)
    if depth >= DEEPEST:
        raise UnreadableDocument(f"it lies {DEEPEST} mails deep")
    if attachment.mail is not None:
        return list(_documents(path, _letter(path, attachment.mail), str(place), max_bytes, depth + 1))
    about = letter.subject or ", ".join(letter.senders)
    return attached_documents(path, place, attachment.data, about, max_bytes, is_text=attachment.is_text)


def _letter(path: Path, message: EmailMessage) -> _Letter:
    """Return a message in internet format as a letter.

    Raises:
        UnreadableDocument: It is not a mail.
    """
    if not any(message.get(header) for header in _HEADERS):
        raise UnreadableDocument(f"{path} is no mail: it has none of the fields {', '.join(_HEADERS)}")
    people = {name: _people([_field(message, name)]) for name in ("from", "to", "cc")}
    letter = _Letter(
        _field(message, "subject"), iso_date(_field(message, "date")), people["from"], people["to"], people["cc"]
    )
    letter.plain, letter.html = _part(message, "plain"), _part(message, "html")
    if message.get_content_type() in ("multipart/encrypted", *_ENCRYPTED):
        letter.left_out.append(("the mail's text", "it is encrypted"))
    letter.pictures = sum(1 for part in message.walk() if _is_inline_picture(part))
    for part in (*message.iter_attachments(), *_invitations(message)):
        _take(part, letter)
    return letter


def _invitations(message: MIMEPart) -> Iterator[MIMEPart]:
    """Yield the calendar parts of a mail that are alternatives to its text, as in invitations."""
    if message.get_content_maintype() != "multipart":
        return
    for part in message.iter_parts():
        if message.get_content_subtype() == "alternative" and part.get_content_type() == "text/calendar":
            yield part
        yield from _invitations(part)


def _take(part: MIMEPart, letter: _Letter) -> None:
    """Add a further part of a mail to its letter: an attachment, or text that continues after a picture."""
    kind, name = part.get_content_type(), one_line(part.get_filename() or "")
    if kind in (*_SIGNATURES, *_TECHNICAL) or _is_inline_picture(part):
        return
    if kind == "message/rfc822":
        content = part.get_payload()
        inner = content[0] if isinstance(content, list) and content else None
        if isinstance(inner, EmailMessage):
            name = name or f"{_field(inner, 'subject')[:80].replace('/', '-') or 'message'}.eml"
            letter.attachments.append(_Attachment(name, mail=inner))
        return
    if not name and part.get_content_disposition() != "attachment" and kind in ("text/plain", "text/html"):
        text = _content(part)
        letter.plain += f"\n\n{readable_text(text) if kind == 'text/html' else text}"
        return
    if part.is_multipart():
        for inner in part.iter_parts():
            _take(inner, letter)
        return
    problem = "it is encrypted" if kind in _ENCRYPTED else ""
    data, is_text = bytes(part.get_payload(decode=True) or b""), part.get_content_maintype() == "text"
    if ending := _CALENDARS.get(kind):
        name = name or ("invitation.ics" if ending == ".ics" else "contact.vcf")
        name = name if name.lower().endswith(ending) else f"{name}{ending}"
        if any(each.data == data for each in letter.attachments):  # an invitation that is attached, too
            return
    letter.attachments.append(_Attachment(name or kind, data, problem=problem, is_text=is_text))


def _is_inline_picture(part: Message) -> bool:
    """Return whether a part is a picture shown within the text, such as a logo."""
    return part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"


def _part(message: EmailMessage, kind: str) -> str:
    """Return the body of a message as plain text or HTML; "" without one."""
    part = message.get_body(preferencelist=(kind,))
    return "" if part is None else _content(part)


def _content(part: MIMEPart) -> str:
    """Return the decoded text of a part."""
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # An unknown character set.
        content = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    text = content if isinstance(content, str) else ""
    flowed = str(part.get_param("format", "")).lower() == "flowed"
    return _unflowed(text) if flowed else text


def _unflowed(text: str) -> str:
    """Return a text with the soft line breaks of "format=flowed" (RFC 3676) removed."""
    lines: list[str] = []
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        marks, depth = _marks(line), _marks(before)
        if before.endswith(" ") and before != "-- " and marks == depth and line.strip():
            lines[-1] = before + line[len(marks) :].lstrip(" ")
        else:
            lines.append(line)
    return "\n".join(lines)


def _marks(line: str) -> str:
    """Return the quotation marks `>` at the beginning of a line."""
    return line[: len(line) - len(line.lstrip(">"))]


def _body(letter: _Letter) -> str:
    """Return the text that a person reads: the plain text, unless it is only a placeholder for the HTML."""
    plain = tidy(letter.plain)
    if not letter.html:
        return plain
    missing = _missing(_MARKUP.sub(" ", letter.html), plain) > POORER if plain else False
    if plain and len(plain) > STUB_CHARACTERS and not missing:
        return plain
    page = tidy(readable_text(letter.html))
    if missing and _missing(page, plain) > POORER:
        return page
    is_stub = len(page) >= STUB_SHARE * len(plain) or (len(page) > len(plain) and _STUB.search(plain) is not None)
    return page if page and (not plain or is_stub) else plain


def _missing(page: str, plain: str) -> float:
    """Return the share of the words of a mail's page that its plain text has not, such as those of a table."""
    words = set(re.findall(r"[^\W_]{2,}", unescape(page).casefold()))
    return len(words - set(re.findall(r"[^\W_]{2,}", plain.casefold()))) / len(words) if words else 0.0


def _field(message: EmailMessage, name: str) -> str:
    """Return a header field on one line; "" if it is damaged."""
    try:
        return one_line(message.get(name, ""))
    except (ValueError, IndexError, AttributeError):  # email's parser of damaged fields
        return ""


def _people(given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of people, or their addresses without a name."""
    found = getaddresses(list(given))
    return tuple(dict.fromkeys(one_line(label or address) for label, address in found if label or address))


def _outlook_letter(path: Path, max_bytes: int) -> _Letter:
    """Return a message saved by Outlook (`.msg`) as a letter.

    Raises:
        UnreadableDocument: It is not a mail of Outlook.
    """
    data = read_bytes(path, max_bytes)
    from oxmsg import Message as OutlookMessage

    try:
        return _from_outlook(OutlookMessage.load(data))
    except DocumentError:
        raise
    except Exception as error:
        raise UnreadableDocument(f"{path} is no mail of Outlook's: {type(error).__name__}: {error}") from error


def _from_outlook(message: OutlookMessage) -> _Letter:
    """Return the fields of an Outlook message as a letter."""
    headers = "\n".join(f"{name}: {value}" for name, value in message.message_headers.items())
    sent = message_from_bytes(headers.encode("utf-8", "replace"), policy=default)
    receivers, copies = _people([_field(sent, "to")]), _people([_field(sent, "cc")])
    if not receivers:
        names = (one_line(each.name or each.email_address or "") for each in message.recipients)
        receivers = tuple(dict.fromkeys(filter(None, names)))
    letter = _Letter(
        one_line(message.subject),
        iso_date(message.sent_date) or iso_date(_field(sent, "date")),
        _people([_field(sent, "from")]) or ((person(message.sender),) if message.sender else ()),
        receivers,
        copies,
        plain=message.body or "",
        html=message.html_body or "",
    )
    if not letter.plain and not letter.html and (packed := message.properties.binary_prop_value(_RTF)):
        letter.plain = _rich_text(packed)
    for each in message.attachments:
        name, data = one_line(each.file_name or ""), each.file_bytes
        if data is None:
            problem = "a mail or an object inside of Outlook's file; save it on its own"
            letter.attachments.append(_Attachment(name or "message", problem=problem))
        elif (each.mime_type or "").startswith("image/") and f"cid:{name}" in letter.html:
            letter.pictures += 1
        else:
            letter.attachments.append(_Attachment(name or "attachment", data))
    return letter


_RTF = 0x1009
"""The property of a message whose text is rich text, packed."""


def _rich_text(packed: bytes) -> str:
    """Return the words of a message's compressed rich text."""
    from compressed_rtf import decompress
    from striprtf.striprtf import rtf_to_text

    to_text: Callable[..., str] = rtf_to_text
    return str(to_text(decompress(packed).decode("latin-1"), errors="replace"))

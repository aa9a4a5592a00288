"""Read mail: a message (.eml, .msg) as a document, a mailbox (.mbox) as one document per message, and attachments.

An attachment is a document of its own under the mail's id: `/mails/offer.eml/prices.xlsx`. Quoted parts of a mail are
attributed to their writers (`mail_quotes.py`).
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
from preflight_rag.ingest.loaders.files import path_of_open_file, read_bytes
from preflight_rag.ingest.loaders.html import readable_text
from preflight_rag.ingest.loaders.mail_quotes import attribute_quotes, name_in_address
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from oxmsg import Message as OutlookMessage

_REQUIRED_HEADERS = ("from", "to", "subject", "date")
"""A mail has at least one of these header fields."""
MAXIMUM_DEPTH = 5
"""Maximum depth of mails attached to mails whose attachments are read; a guess."""
MAXIMUM_STUB_LENGTH = 400
MINIMUM_HTML_RATIO = 3
"""A plain part of at most so many characters is a placeholder for an HTML part of so many times its length; guesses."""
_STUB_WORDS = re.compile(
    r"\bbrowsers?\b|navegador|navigateur|prohlížeč|przegl|webbläsare|\bhtml\b|web version|online version", re.I
)
"""Words of a plain part that is a placeholder: "View this mail in your browser"."""
_QUOTED_FROM = re.compile(rb"^(>*)>From ", re.MULTILINE)
"""A mail's line that begins with "From ", as a mailbox escapes it: unescaped, it would begin the next mail."""
_MARKUP = re.compile(r"<[^<>]*+>")
MAXIMUM_MISSING_SHARE = 0.3
"""Maximum share of the HTML part's words that a complete plain part may lack; a guess."""
_SIGNATURE_TYPES = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")
_ENCRYPTED_TYPES = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
_CALENDAR_EXTENSIONS = {"text/calendar": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf"}
"""Extensions of calendars and address cards by content type; in a mail, their names may have none."""
_TECHNICAL_TYPES = ("message/delivery-status", "message/disposition-notification", "text/rfc822-headers")


@dataclass
class _Attachment:
    """A file (`data`) or mail attached to a mail.

    Attributes:
        problem: Why its content is missing; "" if it is not.
        is_text: Whether the mail declares it as text, whatever its extension.
    """

    name: str
    data: bytes = b""
    mail: EmailMessage | None = None
    problem: str = ""
    is_text: bool = False


@dataclass
class _Letter:
    """A mail in a form that does not depend on the program that wrote it.

    `pictures` is the number of pictures within the text; `left_out` names what is left out, each with the reason.
    """

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
    """Yield the messages of a file, each followed by its attachments; an error for a damaged message of a mailbox.

    Raises:
        UnreadableDocument: A single message is no mail.
        DocumentTooLarge: A single message is larger than `max_bytes`.
    """
    if path.suffix.lower() == ".msg":
        yield from _mail_with_attachments(path, _load_outlook_message(path, max_bytes), absolute(path), max_bytes, 0)
        return
    if path.suffix.lower() == ".eml":
        message = message_from_bytes(read_bytes(path, max_bytes), policy=default)
        yield from _mail_with_attachments(path, _parse_message(path, message), absolute(path), max_bytes, 0)
        return
    box = mailbox.mbox(path_of_open_file(path), create=False)
    try:
        seen: set[str] = set()
        for number, key in enumerate(box.iterkeys(), 1):
            message = message_from_bytes(_QUOTED_FROM.sub(rb"\1From ", box.get_bytes(key)), policy=default)
            message_id = one_line(message.get("message-id", "")).strip("<>") or str(number)
            name = f"{absolute(path)}#{message_id if message_id not in seen else number}"
            seen.add(name.rsplit("#", 1)[-1])
            try:
                yield from _mail_with_attachments(path, _parse_message(path, message), name, max_bytes, 0)
            except DocumentError as error:
                yield type(error)(f"{path}, message {number}: {error.message}", help=error.help)
    finally:
        box.close()


def _mail_with_attachments(path: Path, letter: _Letter, name: str, max_bytes: int, depth: int) -> Iterator[Document]:
    """Yield a mail as a document, then the documents of its attachments; unreadable ones are reported in the mail.

    `name` is the id of the mail, under which its attachments are; `depth` is the number of mails around it.
    """
    report, documents = ReadReport(), list[Document]()
    used_names: set[str] = set()
    for attachment in letter.attachments[:MOST_ATTACHMENTS]:
        attachment_path = Path(name) / own_name(attachment.name, used_names)
        try:
            documents += _read_attachment(path, attachment, attachment_path, letter, max_bytes, depth)
            report.count("attachments")
        except DocumentError as error:
            report.leave_out(f"attachment {attachment_path.name}", why_left_out(attachment_path, error))
    if (unread := len(letter.attachments) - MOST_ATTACHMENTS) > 0:
        report.leave_out(f"{unread:,} more attachments", f"of one mail {MOST_ATTACHMENTS} are read")
    yield _build_document(path, letter, name, report)
    yield from documents


def _build_document(path: Path, letter: _Letter, name: str, report: ReadReport) -> Document:
    """Return a mail as a document with the id `name`: its header as lines, then its text, with quotes attributed."""
    for part, reason in letter.left_out:
        report.leave_out(part, reason)
    report.count("pictures_without_text", letter.pictures)
    body = attribute_quotes(_readable_body(letter))
    report.count("quoted_parts", body.quoted)
    if body.own_lines <= 1 and not body.quoted:
        report.less.append("its text has one line" if body.own_lines else "it has no text of its own")
    people = {"From": letter.senders, "To": letter.receivers, "Cc": letter.copies}
    header = {label: ", ".join(names) for label, names in people.items()} | {"Date": letter.date or ""}
    header_text = "\n".join(f"{label}: {value}" for label, value in header.items() if value)
    metadata = {"to": list(letter.receivers), "attachments": [attachment.name for attachment in letter.attachments]}
    return file_document(
        path,
        f"{header_text}\n\n{body.text}".strip(),
        title=letter.subject,
        date=letter.date,
        authors=letter.senders,
        metadata={key: names for key, names in metadata.items() if names},
        id=name,
        source=absolute(path),
        report=report,
    )


def _read_attachment(
    path: Path, attachment: _Attachment, attachment_path: Path, letter: _Letter, max_bytes: int, depth: int
) -> list[Document]:
    """Return the documents of an attachment; those of a file name the mail that it was attached to.

    Raises:
        DocumentError: The attachment cannot be read.
    """
    if attachment.problem:
        raise UnreadableDocument(attachment.problem)
    if depth >= MAXIMUM_DEPTH:
        raise UnreadableDocument(f"it lies {MAXIMUM_DEPTH} mails deep")
    if attachment.mail is not None:
        inner_letter = _parse_message(path, attachment.mail)
        return list(_mail_with_attachments(path, inner_letter, str(attachment_path), max_bytes, depth + 1))
    about = letter.subject or ", ".join(letter.senders)
    return attached_documents(path, attachment_path, attachment.data, about, max_bytes, is_text=attachment.is_text)


def _parse_message(path: Path, message: EmailMessage) -> _Letter:
    """Return a message in the internet format (RFC 5322) as a letter.

    Raises:
        UnreadableDocument: The message has no header field of a mail.
    """
    if not any(message.get(header) for header in _REQUIRED_HEADERS):
        raise UnreadableDocument(f"{path} is no mail: it has none of the fields {', '.join(_REQUIRED_HEADERS)}")
    people = {name: _names_of_people([_header_field(message, name)]) for name in ("from", "to", "cc")}
    letter = _Letter(
        _header_field(message, "subject"),
        iso_date(_header_field(message, "date")),
        people["from"],
        people["to"],
        people["cc"],
    )
    letter.plain, letter.html = _body_part(message, "plain"), _body_part(message, "html")
    if message.get_content_type() in ("multipart/encrypted", *_ENCRYPTED_TYPES):
        letter.left_out.append(("the mail's text", "it is encrypted"))
    letter.pictures = sum(1 for part in message.walk() if _is_inline_picture(part))
    for part in (*message.iter_attachments(), *_calendar_parts(message)):
        _add_part(part, letter)
    return letter


def _calendar_parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """Yield the calendar parts of a mail that are alternatives to its text, as in invitations."""
    if message.get_content_maintype() != "multipart":
        return
    for part in message.iter_parts():
        if message.get_content_subtype() == "alternative" and part.get_content_type() == "text/calendar":
            yield part
        yield from _calendar_parts(part)


def _add_part(part: MIMEPart, letter: _Letter) -> None:
    """Add a further part of a message to its letter: an attachment, or text that continues after a picture.

    Signatures, technical parts and pictures within the text are left out.
    """
    kind, name = part.get_content_type(), one_line(part.get_filename() or "")
    if kind in (*_SIGNATURE_TYPES, *_TECHNICAL_TYPES) or _is_inline_picture(part):
        return
    if kind == "message/rfc822":
        content = part.get_payload()
        inner = content[0] if isinstance(content, list) and content else None
        if isinstance(inner, EmailMessage):
            name = name or f"{_header_field(inner, 'subject')[:80].replace('/', '-') or 'message'}.eml"
            letter.attachments.append(_Attachment(name, mail=inner))
        return
    if not name and part.get_content_disposition() != "attachment" and kind in ("text/plain", "text/html"):
        text = _decoded_text(part)
        letter.plain += f"\n\n{readable_text(text) if kind == 'text/html' else text}"
        return
    if part.is_multipart():
        for inner in part.iter_parts():
            _add_part(inner, letter)
        return
    problem = "it is encrypted" if kind in _ENCRYPTED_TYPES else ""
    data, is_text = bytes(part.get_payload(decode=True) or b""), part.get_content_maintype() == "text"
    if extension := _CALENDAR_EXTENSIONS.get(kind):
        name = name or ("invitation.ics" if extension == ".ics" else "contact.vcf")
        name = name if name.lower().endswith(extension) else f"{name}{extension}"
        if any(attachment.data == data for attachment in letter.attachments):  # an invitation that is attached, too
            return
    letter.attachments.append(_Attachment(name or kind, data, problem=problem, is_text=is_text))


def _is_inline_picture(part: Message) -> bool:
    """Return whether a part is a picture shown within the text, such as a logo."""
    return part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"


def _body_part(message: EmailMessage, kind: str) -> str:
    """Return the text of a message's body of a kind, "plain" or "html"; "" if there is none."""
    part = message.get_body(preferencelist=(kind,))
    return "" if part is None else _decoded_text(part)


def _decoded_text(part: MIMEPart) -> str:
    """Return the decoded text of a part, without soft line breaks; "" if it is no text."""
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # An unknown character set.
        content = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    text = content if isinstance(content, str) else ""
    is_flowed = str(part.get_param("format", "")).lower() == "flowed"
    return _join_flowed_lines(text) if is_flowed else text


def _join_flowed_lines(text: str) -> str:
    """Return a text with the soft line breaks of "format=flowed" (RFC 3676) removed."""
    lines: list[str] = []
    for line in text.splitlines():
        previous = lines[-1] if lines else ""
        marks = _quotation_marks(line)
        # A blank at a line's end marks a soft break; "-- " is the line above a signature.
        is_soft_break = previous.endswith(" ") and previous != "-- "
        if is_soft_break and marks == _quotation_marks(previous) and line.strip():
            lines[-1] = previous + line[len(marks) :].lstrip(" ")
        else:
            lines.append(line)
    return "\n".join(lines)


def _quotation_marks(line: str) -> str:
    """Return the marks ">" of quotation at the beginning of a line; "" if there are none."""
    return line[: len(line) - len(line.lstrip(">"))]


def _readable_body(letter: _Letter) -> str:
    """Return the text of a mail: its plain part, or its HTML part if the plain one lacks too many words of that.

    The HTML part is also returned if the plain part is empty, or a short placeholder for it.
    """
    plain = tidy(letter.plain)
    if not letter.html:
        return plain
    # The bare source of the HTML is compared first, since reading it takes long.
    may_lack_words = bool(plain) and _missing_word_share(_MARKUP.sub(" ", letter.html), plain) > MAXIMUM_MISSING_SHARE
    if len(plain) > MAXIMUM_STUB_LENGTH and not may_lack_words:
        return plain
    page = tidy(readable_text(letter.html))
    if may_lack_words and _missing_word_share(page, plain) > MAXIMUM_MISSING_SHARE:
        return page
    has_stub_words = len(page) > len(plain) and _STUB_WORDS.search(plain) is not None
    is_stub = len(page) >= MINIMUM_HTML_RATIO * len(plain) or has_stub_words
    return page if page and (not plain or is_stub) else plain


def _missing_word_share(page: str, plain: str) -> float:
    """Return the share of the distinct words of a mail's page that its plain text lacks; 0 for a page without words."""
    page_words = set(re.findall(r"[^\W_]{2,}", unescape(page).casefold()))
    plain_words = set(re.findall(r"[^\W_]{2,}", plain.casefold()))
    return len(page_words - plain_words) / len(page_words) if page_words else 0.0


def _header_field(message: EmailMessage, name: str) -> str:
    """Return a header field of a message on one line; "" if it is missing or damaged."""
    try:
        return one_line(message.get(name, ""))
    except (ValueError, IndexError, AttributeError):  # The standard library raises these for damaged fields.
        return ""


def _names_of_people(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the people in address fields, each once; the address of those without a name."""
    people = getaddresses(list(fields))
    return tuple(dict.fromkeys(one_line(name or address) for name, address in people if name or address))


def _load_outlook_message(path: Path, max_bytes: int) -> _Letter:
    """Return a message saved by Outlook (`.msg`) as a letter.

    Raises:
        UnreadableDocument: The file is not a message of Outlook.
    """
    data = read_bytes(path, max_bytes)
    from oxmsg import Message as OutlookMessage

    try:
        return _parse_outlook_message(OutlookMessage.load(data))
    except DocumentError:
        raise
    except Exception as error:
        raise UnreadableDocument(f"{path} is no mail of Outlook's: {type(error).__name__}: {error}") from error


def _parse_outlook_message(message: OutlookMessage) -> _Letter:
    """Return an Outlook message as a letter; attached mails and objects, which cannot be read, are noted in it."""
    headers = "\n".join(f"{name}: {value}" for name, value in message.message_headers.items())
    sent = message_from_bytes(headers.encode("utf-8", "replace"), policy=default)
    receivers, copies = _names_of_people([_header_field(sent, "to")]), _names_of_people([_header_field(sent, "cc")])
    if not receivers:
        names = (one_line(recipient.name or recipient.email_address or "") for recipient in message.recipients)
        receivers = tuple(dict.fromkeys(filter(None, names)))
    letter = _Letter(
        one_line(message.subject),
        iso_date(message.sent_date) or iso_date(_header_field(sent, "date")),
        _names_of_people([_header_field(sent, "from")])
        or ((name_in_address(message.sender),) if message.sender else ()),
        receivers,
        copies,
        plain=message.body or "",
        html=message.html_body or "",
    )
    if not letter.plain and not letter.html and (compressed := message.properties.binary_prop_value(_COMPRESSED_RTF)):
        letter.plain = _text_of_compressed_rtf(compressed)
    for attachment in message.attachments:
        name, data = one_line(attachment.file_name or ""), attachment.file_bytes
        if data is None:
            problem = "a mail or an object inside of Outlook's file; save it on its own"
            letter.attachments.append(_Attachment(name or "message", problem=problem))
        elif (attachment.mime_type or "").startswith("image/") and f"cid:{name}" in letter.html:
            letter.pictures += 1
        else:
            letter.attachments.append(_Attachment(name or "attachment", data))
    return letter


_COMPRESSED_RTF = 0x1009
"""The property of an Outlook message that holds its text as compressed rich text (RTF)."""


def _text_of_compressed_rtf(compressed: bytes) -> str:
    """Return the text of an Outlook message's compressed rich text."""
    from compressed_rtf import decompress
    from striprtf.striprtf import rtf_to_text

    to_text: Callable[..., str] = rtf_to_text
    return str(to_text(decompress(compressed).decode("latin-1"), errors="replace"))

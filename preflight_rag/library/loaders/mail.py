"""Mail: a message (.eml) as a document, a mailbox (.mbox) as one for each message."""

from __future__ import annotations

import mailbox
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses
from pathlib import Path

from preflight_rag.library.loaders.fields import absolute, file_document, iso_date, one_line, tidy
from preflight_rag.library.loaders.files import open_place, read_bytes
from preflight_rag.library.loaders.html import readable_text
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

_HEADERS = ("from", "to", "subject", "date")
"""A message has at least one of these; nonsense has none."""


def load_mail(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """The messages of a file; attachments are named in `metadata["attachments"]`, and not read.

    Raises:
        UnreadableDocument: It is no mail.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    if path.suffix.lower() == ".eml":
        yield _document(path, message_from_bytes(read_bytes(path, max_bytes), policy=default), absolute(path))
        return
    box = mailbox.mbox(open_place(path), create=False)
    try:
        seen: set[str] = set()
        for number, key in enumerate(box.iterkeys(), 1):
            message = message_from_bytes(box.get_bytes(key), policy=default)
            name = one_line(message.get("message-id", "")).strip("<>") or str(number)
            name = f"{absolute(path)}#{name if name not in seen else number}"
            seen.add(name.rsplit("#", 1)[-1])
            try:
                yield _document(path, message, name)
            except DocumentError as error:
                yield type(error)(f"{path}, message {number}: {error.message}", help=error.help)
    finally:
        box.close()


def _document(path: Path, message: EmailMessage, name: str) -> Document:
    if not any(message.get(header) for header in _HEADERS):
        raise UnreadableDocument(f"{path} is no mail: it has none of the fields {', '.join(_HEADERS)}")
    senders, receivers = _people(message, "from"), _people(message, "to")
    date = iso_date(_field(message, "date"))
    lines = (("From", ", ".join(senders)), ("To", ", ".join(receivers)), ("Cc", ", ".join(_people(message, "cc"))))
    head = "\n".join(f"{label}: {value}" for label, value in (*lines, ("Date", date)) if value)
    attachments = [one_line(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()]
    return file_document(
        path,
        f"{head}\n\n{_body(message)}".strip(),
        title=_field(message, "subject"),
        date=date,
        authors=senders,
        metadata={
            **({"to": list(receivers)} if receivers else {}),
            **({"attachments": attachments, "unread": f"attachments: {', '.join(attachments)}"} if attachments else {}),
        },
        id=name,
        source=absolute(path),
    )


def _body(message: EmailMessage) -> str:
    """The text that a person reads: the plain one, else that of the HTML."""
    for kind in ("plain", "html"):
        part = message.get_body(preferencelist=(kind,))
        if part is None:
            continue
        try:
            content = part.get_content()
        except (LookupError, ValueError):  # An unknown character set.
            content = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
        text = tidy(readable_text(content) if kind == "html" else content)
        if text:
            return text
    return ""


def _field(message: EmailMessage, name: str) -> str:
    try:
        return one_line(message.get(name, ""))
    except (ValueError, IndexError, AttributeError):  # email's parser of damaged fields
        return ""


def _people(message: EmailMessage, name: str) -> tuple[str, ...]:
    """Names, or addresses where there is no name."""
    given = getaddresses([_field(message, name)])
    return tuple(dict.fromkeys(one_line(label or address) for label, address in given if label or address))

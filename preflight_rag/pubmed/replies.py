"""Parsing of the replies of NCBI's E-utilities: result lists, warnings, and the many forms of refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from preflight_rag.state.errors import ExpressionRefused, PubMedRefused, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

TOO_FAST = "asks for fewer requests"
_PASSING = ("backend", "unable to", "can't", "cannot", "temporar", "timeout", "timed out", "unavailable", "exceeded")
_NOTES = {
    "PhraseNotFound": "not found",
    "FieldNotFound": "unknown field",
    "PhraseIgnored": "ignored",
    "QuotedPhraseNotFound": "phrase not found",
    "OutputMessage": "",
}
_NOTHING = "No items found."
_SHOWN = 200


class PassingFailure(Exception):
    """A reply that a retry may not get; `wait` is the number of seconds that the server requests."""

    def __init__(self, reason: str, *, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


@dataclass(frozen=True)
class SearchReply:
    """The result of one search expression.

    Attributes:
        ids: PMIDs, or PMC's numbers without their prefix, most relevant first.
        hits: How many there are in all.
        note: NCBI's warnings: terms that it does not know or left out.
    """

    ids: tuple[str, ...]
    hits: int
    note: str = ""


def read_search(body: bytes, expression: str) -> SearchReply:
    """Return the result list of an `esearch` reply.

    Raises:
        ExpressionRefused: NCBI does not accept the expression.
        PassingFailure: The reply is not a result list.
    """
    root = _checked(body, "eSearchResult")
    if message := _text(root, "ERROR"):
        raise_refusal(message, expression)
    count = _text(root, "Count")
    if not count.isdigit():
        raise PassingFailure("sent a result list without a count")
    ids = tuple(dict.fromkeys((element.text or "").strip() for element in root.iterfind("IdList/Id")))
    return SearchReply(ids, int(count), "; ".join(_notes(root)))


def check_records(body: bytes) -> bytes:
    """Return the records of an `efetch` reply, unchanged, after checking that they are records.

    Raises:
        PubMedRefused: NCBI does not have them.
        PassingFailure: The reply contains no records.
    """
    root = _checked(body, "PubmedArticleSet", "pmc-articleset", "eFetchResult")
    message = _text(root, "ERROR")
    if message and _is_passing(message):
        raise PassingFailure(f"answered {message[:_SHOWN]!r}")
    if message or root.tag == "eFetchResult":
        raise PubMedRefused(f"NCBI sent no records: {message[:_SHOWN] or 'an empty reply'}", help="Search again")
    return body


def raise_refusal(message: str, expression: str) -> NoReturn:
    """Raise the error that NCBI's message on an expression means."""
    message = " ".join(message.split())[:_SHOWN]
    if _is_passing(message):
        raise PassingFailure(f"answered {message!r}")
    raise ExpressionRefused(
        f"NCBI does not take the expression {expression!r}: {message}",
        help='Write it like "heart failure" AND (metformin OR insulin)',
    )


def error_in_json(body: bytes) -> str:
    """Return the message of a reply such as `{"error": "API rate limit exceeded"}`, or "" for any other reply."""
    if not body.lstrip().startswith(b"{"):
        return ""
    try:
        return str(json.loads(body).get("error", ""))[:_SHOWN]
    except (ValueError, RecursionError):
        return ""


def _checked(body: bytes, *roots: str) -> _Element:
    """Return the root element of a reply that is XML of the expected kind.

    Raises:
        PassingFailure: The reply is empty, a web page, JSON, cut off, or other XML.
    """
    from preflight_rag.ingest.loaders.xml import XMLSyntaxError, local, parse_xml

    if not body.strip():
        raise PassingFailure("sent an empty reply")
    if message := error_in_json(body):
        raise PassingFailure(f"{TOO_FAST} ({message})" if "rate limit" in message.lower() else f"answered {message!r}")
    start = body.lstrip()[:200].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise PassingFailure("sent a web page instead of XML")
    try:
        root = parse_xml(body)
    except XMLSyntaxError as error:
        raise PassingFailure(f"sent XML that is not well-formed ({first_line(error)})") from error
    if local(root) not in roots:
        raise PassingFailure(f"sent <{local(root)}> instead of <{roots[0]}>")
    return root


def _notes(root: _Element) -> Iterator[str]:
    """Yield each warning and each term that was not found, in the order of the reply."""
    for part in ("ErrorList", "WarningList"):
        for element in root.iterfind(f"{part}/*"):
            text = " ".join("".join(str(piece) for piece in element.itertext()).split())
            label = _NOTES.get(str(element.tag), str(element.tag))
            if text and text != _NOTHING:
                yield f"{label}: {text}" if label else text


def _text(root: _Element, name: str) -> str:
    """Return the text of an element's child; "" without one."""
    return " ".join((root.findtext(name) or "").split())


def _is_passing(message: str) -> bool:
    """Return whether an error message means a temporary failure."""
    return any(sign in message.lower() for sign in _PASSING)

"""The web address at which a document can be read: made from its identifiers, or its own, and nothing else.

Metadata of documents and records are not trusted: an identifier must have its form, and an address must be http or
https without a name or password in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from preflight_rag.text.values import asked_kind

_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[!-~]{1,200})", re.IGNORECASE)
_PMCID = re.compile(r"(?:PMCID:?\s*)?(?:PMC)?(\d{1,9})", re.IGNORECASE)
_PMID = re.compile(r"(?:PMID:?\s*)?(\d{1,9})", re.IGNORECASE)
_PUBMED_SOURCE = re.compile(r"PM(?:C|ID)", re.IGNORECASE)
TARGET_LINE = re.compile(r"(Link on “[^”\n]{1,200}”): \S+$")
"""The target of a link, which loaders write behind a text: "Link on “the form”: https://x.example/form"."""
_BARE_REFERENCE = re.compile(
    r"\W{0,3}(?:(?:(?:adapted|available|copied|retrieved|taken) )?(?:at|from|link|see(?: also)?|source|via):? )?"
    r"(?:(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w.-]{1,250}\W{0,3})",
    re.IGNORECASE,
)
"""A quote that is only a web or mail address with a word for its use: "(from https://x.example/faq)"."""
_ASKS_ADDRESS = re.compile(
    r"\b(?:address|ask|contact|(?:e-?)?mail(?:box)?|find|homepage|internet|link|online|reach|receives?|request"
    r"|responsible|sen[dt]|site|source|touch|url|web ?(?:page|site)|where|whom|write)\b",
    re.IGNORECASE,
)
_BARE_PHONE = re.compile(
    r"\W{0,3}(?:(?:tele)?(?:phone|fax)|tel)?[.: ]{0,3}[+(]?0?[+0]\d[\d ()/.-]{4,20}\d\W{0,3}", re.IGNORECASE
)
"""A quote that is only a telephone number: "Tel. 01794 550 880"."""
_ASKS_PHONE = re.compile(
    r"\b(?:call|contact|dial|fax|get hold|help ?line|hotline|mobile|numbers?|(?:tele)?phone|reach|ring|touch)\b",
    re.IGNORECASE,
)
_MAX_URL_CHARS = 2000
"""Most characters of an address, as many as all browsers accept."""


def link_of(source: str, metadata: Mapping[str, Any]) -> str | None:
    """Return the web address at which a document can be read; None if neither source nor metadata give one.

    Args:
        source: The document's source: `PMC…`, `PMID …`, an address, or a path, which gives no link.
        metadata: Its metadata, of which `doi`, `pmcid`, `pmid` and `url` are used, in this order.
    """
    identifiers = {key: str(metadata.get(key) or "").strip() for key in ("doi", "pmcid", "pmid", "url")}
    if prefix := _PUBMED_SOURCE.match(source):
        key = "pmcid" if prefix[0].upper() == "PMC" else "pmid"
        identifiers[key] = identifiers[key] or source.strip()
    if match := _DOI.fullmatch(identifiers["doi"]):
        return f"https://doi.org/{quote(match[1], safe='/:;()._-')}"
    if match := _PMCID.fullmatch(identifiers["pmcid"]):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/PMC{match[1]}/"
    if match := _PMID.fullmatch(identifiers["pmid"]):
        return f"https://pubmed.ncbi.nlm.nih.gov/{match[1]}/"
    return next((address for address in (identifiers["url"], source.strip()) if is_web_address(address)), None)


def is_bare_reference(question: str, quote: str) -> bool:
    """Return whether a quote is only an address or a telephone number, which does not answer the question.

    A telephone number may answer any question ("What do I do if …?") but one for a number or a date that names no
    telephone.
    """
    text = quote.strip()
    if _BARE_PHONE.fullmatch(text):
        return asked_kind(question) in ("number", "date") and not _ASKS_PHONE.search(question)
    return _BARE_REFERENCE.fullmatch(text) is not None and not _ASKS_ADDRESS.search(question)


def is_web_address(text: str) -> bool:
    """Return whether a text is an http or https address that is safe to link to: without a name or password in it."""
    if len(text) > _MAX_URL_CHARS or not text.isprintable() or any(mark in text for mark in " \"'<>\\`"):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False

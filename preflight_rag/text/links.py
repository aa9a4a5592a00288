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
_NAMED = re.compile(r"PM(?:C|ID)", re.IGNORECASE)
TARGET_LINE = re.compile(r"(Link on “[^”\n]{1,200}”): \S+$")
"""Where a link in a text leads, as loaders write it behind the text: "Link on “the form”: https://x.example/form"."""
_BARE_REFERENCE = re.compile(
    r"\W{0,3}(?:(?:(?:adapted|available|copied|retrieved|taken) )?(?:at|from|link|see(?: also)?|source|via):? )?"
    r"(?:(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w.-]{1,250}\W{0,3})",
    re.IGNORECASE,
)
"""A quote that is nothing but where something else is to be read, or whom to write to: "(from https://x.example/faq)"."""
_ASKS_ADDRESS = re.compile(
    r"\b(?:address|ask|contact|(?:e-?)?mail(?:box)?|find|homepage|internet|link|online|reach|receives?|request"
    r"|responsible|sen[dt]|site|source|touch|url|web ?(?:page|site)|where|whom|write)\b",
    re.IGNORECASE,
)
_BARE_PHONE = re.compile(
    r"\W{0,3}(?:(?:tele)?(?:phone|fax)|tel)?[.: ]{0,3}[+(]?0?[+0]\d[\d ()/.-]{4,20}\d\W{0,3}", re.IGNORECASE
)
"""A quote that is nothing but a telephone number: "Tel. 01794 550 880"."""
_ASKS_PHONE = re.compile(
    r"\b(?:call|contact|dial|fax|get hold|help ?line|hotline|mobile|numbers?|(?:tele)?phone|reach|ring|touch)\b",
    re.IGNORECASE,
)
_LONGEST = 2000
"""Most characters of an address, as many as all browsers accept."""


def link_of(source: str, metadata: Mapping[str, Any]) -> str | None:
    """Return the address at which a document can be read, or None.

    Args:
        source: The document's source: `PMC…`, `PMID …`, an address, or a path, which gives no link.
        metadata: Its metadata, of which `doi`, `pmcid`, `pmid` and `url` are used, in this order.
    """
    named = _NAMED.match(source)
    identifiers = {key: str(metadata.get(key) or "").strip() for key in ("doi", "pmcid", "pmid", "url")}
    if named:
        key = "pmcid" if named[0].upper() == "PMC" else "pmid"
        identifiers[key] = identifiers[key] or source.strip()
    if found := _DOI.fullmatch(identifiers["doi"]):
        return f"https://doi.org/{quote(found[1], safe='/:;()._-')}"
    if found := _PMCID.fullmatch(identifiers["pmcid"]):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/PMC{found[1]}/"
    if found := _PMID.fullmatch(identifiers["pmid"]):
        return f"https://pubmed.ncbi.nlm.nih.gov/{found[1]}/"
    return next((address for address in (identifiers["url"], source.strip()) if is_web_address(address)), None)


def is_bare_reference(question: str, quote: str) -> bool:
    """Return whether a quote has an address or a telephone number alone, for which a question does not ask."""
    bare = quote.strip()
    if _BARE_PHONE.fullmatch(bare):
        # Who asks what to do may have to ring; how many there are, no telephone number says.
        return asked_kind(question) in ("number", "date") and not _ASKS_PHONE.search(question)
    return _BARE_REFERENCE.fullmatch(bare) is not None and not _ASKS_ADDRESS.search(question)


def is_web_address(text: str) -> bool:
    """Return whether a text is an address of http or https that may be linked to."""
    if len(text) > _LONGEST or not text.isprintable() or any(mark in text for mark in " \"'<>\\`"):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False

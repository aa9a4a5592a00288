"""Kinds of documents, as people call them: "that list", "this letter"; and whether a document is of such a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.text.words import words

_SHEETS = ("csv", "tsv", "xlsx", "xls", "ods")
_CALLED = {
    "list": "list prices tariff fees charges rota stock inventory register catalogue accessions",
    "report": "report assessment survey review evaluation",
    "minutes": "minutes meeting committee",
    "notes": "notes minutes",
    "calendar": "calendar events",
    "accounts": "accounts budget",
    "contract": "contract agreement lease",
    "agreement": "agreement contract lease",
    "release": "release",
    "slides": "slides presentation",
    "presentation": "presentation slides",
}
"""Kinds whose documents are seldom called so in their titles, with words that stand there instead."""
_ENDINGS = {
    "list": _SHEETS,
    "table": _SHEETS,
    "spreadsheet": _SHEETS,
    "sheet": _SHEETS,
    "mail": ("eml", "msg", "mbox"),
    "email": ("eml", "msg", "mbox"),
    "e-mail": ("eml", "msg", "mbox"),
    "message": ("eml", "msg", "mbox"),
    "slides": ("pptx", "ppt", "odp"),
    "presentation": ("pptx", "ppt", "odp"),
    "page": ("html", "htm"),
    "calendar": ("ics",),
}
"""Kinds that the ending of a file shows."""
KINDS = (
    r"(?:lists?|tariff|report|letter|e?-?mail|message|minutes|notes|policy|plan|handbook|manual|guide|programme|program"
    r"|release|interview|budget|accounts|register|rota|calendar|newsletter|notice|leaflet|brochure|flyer|contract"
    r"|agreement|lease|invoice|receipt|agenda|memo|slides|presentation|spreadsheet|page|assessment"
    r"|survey|review|catalogue|inventory|article|paper|study|document|file|text)"
)
"""Words by which a question points to a document; a pattern."""
_ANY = frozenset({"document", "file", "text", "paper", "article", "study"})
"""Words that any document may be called by."""
_FIRST_PASSAGES = 2


def is_of_kind(kind: str, title: str, file: str, passages: Sequence[str]) -> bool:
    """Return whether a document is what a question calls it.

    Args:
        kind: What the question calls it, such as "price list".
        title: Its title.
        file: Its path or file name; "" if it came from no file.
        passages: Its text, in order; what calls itself "this list" in the first of it is a list.
    """
    *more, noun = kind.casefold().split()
    noun = noun if noun in _CALLED or noun in _ENDINGS else noun.removesuffix("s")
    name, _, ending = re.split(r"[/\\]", file)[-1].rpartition(".")
    called = set(words(re.sub(r"[_-]", " ", f"{title} {name}")))
    if not called.issuperset(words(" ".join(more))):
        return False
    begins = " ".join(passages[:_FIRST_PASSAGES])
    calls_itself = noun in {match.casefold() for match in re.findall(r"\b[Tt]his ([\w-]+)", begins)}
    if noun == "letter" and re.search(r"^(?:Dear|To whom) ", begins, re.MULTILINE):
        return ending.casefold() not in _ENDINGS["mail"]
    of_kind = set(words(_CALLED.get(noun, noun)))
    return noun in _ANY or calls_itself or bool(of_kind & called) or ending.casefold() in _ENDINGS.get(noun, ())

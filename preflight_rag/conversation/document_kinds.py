"""Kinds of documents, as people call them: "that list", "this letter"; and whether a document is of such a kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight_rag.text.words import words

_SHEET_EXTENSIONS = ("csv", "tsv", "xlsx", "xls", "ods")
_TITLE_WORDS = {
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
"""Kinds of documents whose titles seldom say the kind, with the words that such titles have instead."""
_MAIL_EXTENSIONS = ("eml", "msg", "mbox")
_EXTENSIONS = {
    "list": _SHEET_EXTENSIONS, "table": _SHEET_EXTENSIONS, "spreadsheet": _SHEET_EXTENSIONS, "sheet": _SHEET_EXTENSIONS,
    "mail": _MAIL_EXTENSIONS, "email": _MAIL_EXTENSIONS, "e-mail": _MAIL_EXTENSIONS, "message": _MAIL_EXTENSIONS,
    "slides": ("pptx", "ppt", "odp"), "presentation": ("pptx", "ppt", "odp"),
    "page": ("html", "htm"), "calendar": ("ics",),
}  # fmt: skip
"""The kinds of documents that an extension shows, with the extensions."""
KINDS = (
    r"(?:lists?|tariff|report|letter|e?-?mail|message|minutes|notes|policy|plan|handbook|manual|guide|programme|program"
    r"|release|interview|budget|accounts|register|rota|calendar|newsletter|notice|leaflet|brochure|flyer|contract"
    r"|agreement|lease|invoice|receipt|agenda|memo|slides|presentation|spreadsheet|page|assessment"
    r"|survey|review|catalogue|inventory|article|paper|study|document|file|text)"
)
"""A pattern for the nouns by which questions call a document."""
_GENERAL_KINDS = frozenset({"document", "file", "text", "paper", "article", "study"})
"""Nouns by which any document may be called."""
_FIRST_PASSAGES = 2
"""Passages at a document's beginning in which it may call itself "this list"; a guess."""


def is_of_kind(kind: str, title: str, file: str, passages: Sequence[str]) -> bool:
    """Return whether a document is of the kind, and on the topic, by which a question calls it: "price list".

    Its title or file name must have all words before the noun, "price"; and the noun must be shown by the title, by the
    file's extension, or by the text, which says "this list" or begins a letter with "Dear". A letter is no mail.

    Args:
        kind: The words by which the question calls it.
        title: The document's title.
        file: Its path or file name; "" if it came from no file.
        passages: Its text, in order.
    """
    *topic_words, noun = kind.casefold().split()
    noun = noun if noun in _TITLE_WORDS or noun in _EXTENSIONS else noun.removesuffix("s")
    name, _, extension = re.split(r"[/\\]", file)[-1].rpartition(".")
    extension = extension.casefold()
    title_words = set(words(re.sub(r"[_-]", " ", f"{title} {name}")))
    if not title_words.issuperset(words(" ".join(topic_words))):
        return False
    beginning = " ".join(passages[:_FIRST_PASSAGES])
    if noun == "letter" and re.search(r"^(?:Dear|To whom) ", beginning, re.MULTILINE):
        return extension not in _MAIL_EXTENSIONS
    self_descriptions = {match.casefold() for match in re.findall(r"\b[Tt]his ([\w-]+)", beginning)}
    is_kind_in_title = not title_words.isdisjoint(words(_TITLE_WORDS.get(noun, noun)))
    is_kind_by_extension = extension in _EXTENSIONS.get(noun, ())
    return noun in _GENERAL_KINDS or noun in self_descriptions or is_kind_in_title or is_kind_by_extension

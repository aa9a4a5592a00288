"""Documents that a question names as its source, by kind and name: "under the 2024 policy", "per the safety plan"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.state.reading import Source
from preflight_rag.text.values import years
from preflight_rag.text.versions import dated, supersedes
from preflight_rag.text.words import STOP_WORDS, words_by_token

_DOCUMENT_KIND = (
    r"(?:policy|plan|rules|report|minutes|agreement|contract|letter|handbook|newsletter|lease|guide|guidelines|manual"
    r"|charter|constitution|statutes|assessment|specification|tender|licence|license|leaflet|brochure|prospectus|tariff"
    r"|bye?-?laws|procedure|protocol|regulations|terms)"
)
_NAMED_DOCUMENT = re.compile(
    r"(?:,\s*)?\b(?:under|according to|as per|per|by|in|from) (?:(?:the|our|your|its|their|this|that) )"
    rf"(?P<name>(?:[\w'’&/-]+ ){{0,6}}?{_DOCUMENT_KIND})\b(?P<when> (?:of|for|from) (?:19|20)\d\d)?"
    r"(?=\s*(?:[,?.!;]|$)|\s(?:is|are|was|were|do|does|did|can|may|must|will|would|should|has|have|how|what|when|where|who"
    r"|which|why|and)\b),?",
    re.IGNORECASE,
)
_TITLE_OF_RESPONSE = re.compile(
    r"^\W*(?:comments?|notes?|repl(?:y|ies)|responses?|letters?|minutes|amendments?|objections?|reviews?|summary)\b"
    r"[^\n]{0,60}\b(?:on|about|to|of|re)\b",
    re.IGNORECASE,
)
"""Begins the title of a text about another document: "Comments on the village plan"."""
_WORDS_FOR_CURRENT = frozenset({"current", "latest", "newest", "new", "present", "existing", "valid"})
_WORDS_FOR_FORMER = frozenset({"old", "previous", "former", "earlier"})
MIN_NAME_WORDS = 2
"""Least words of a name that identifies a document without a year or "current": "the policy" may be any. A guess."""


def asked_documents(question: str, sources: Sequence[Source]) -> frozenset[int]:
    """Return the numbers of the passages of the document that a question names as its source; empty if none is named.

    A document is meant if its title has all words of the name. If the name has a year, that year is in the title too,
    or is the document's; "the current plan" is the one that none of the others replaces, "the old plan" one that is
    replaced.
    """
    match = _NAMED_DOCUMENT.search(question)
    if match is None:
        return frozenset()
    asked_years = frozenset(years(f"{match['name']}{match['when'] or ''}"))
    tokens = frozenset(match["name"].casefold().split())
    time_words = tokens & (_WORDS_FOR_CURRENT | _WORDS_FOR_FORMER)
    name = " ".join(token for token in match["name"].split() if token.casefold() not in time_words)
    name_terms = frozenset(word for word in words_by_token(name) if not word.isdigit()) - STOP_WORDS
    is_short = len(name_terms) < MIN_NAME_WORDS
    named = [source for source in sources if _may_be_named(source, name, name_terms)]
    if asked_years:
        # "The 2024 policy" has its year in the title or the file's name; "the letter of 2021" may be any letter.
        named = [
            source
            for source in named
            if asked_years & years(f"{source.title} {_stated_date(source, is_short=is_short)}")
        ]
    elif time_words:
        replaced = [source for source in named if any(supersedes(other, source) for other in named)]
        if is_short and not replaced:
            return frozenset()
        named = replaced if tokens & _WORDS_FOR_FORMER else [source for source in named if source not in replaced]
    elif is_short:
        return frozenset()
    return frozenset(source.n for source in named)


def _may_be_named(source: Source, name: str, name_terms: frozenset[str]) -> bool:
    """Return whether a document's title has all terms of a name, and is no comment on the named document."""
    if not name_terms <= frozenset(words_by_token(source.title.replace("_", " "))):
        return False
    return not _TITLE_OF_RESPONSE.search(source.title) or _TITLE_OF_RESPONSE.search(name) is not None


def _stated_date(source: Source, *, is_short: bool) -> str:
    """Return the date of a document; if its name is short, only the year in its file's name. "" without any."""
    return dated(replace(source, date=None)) if is_short else dated(source)


def without_document(question: str) -> str:
    """Return a question without the phrase that names its source: "under the 2024 policy"."""
    return " ".join(_NAMED_DOCUMENT.sub(" ", question).split())

"""Documents that a question asks of by their kind and name: "under the 2024 policy", "according to the safety plan"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from preflight_rag.state.reading import Source
from preflight_rag.text.values import years
from preflight_rag.text.versions import dated, supersedes
from preflight_rag.text.words import STOP_WORDS, words_by_token

_KIND = (
    r"(?:policy|plan|rules|report|minutes|agreement|contract|letter|handbook|newsletter|lease|guide|guidelines|manual"
    r"|charter|constitution|statutes|assessment|specification|tender|licence|license|leaflet|brochure|prospectus|tariff"
    r"|bye?-?laws|procedure|protocol|regulations|terms)"
)
_OF_DOCUMENT = re.compile(
    r"(?:,\s*)?\b(?:under|according to|as per|per|by|in|from) (?:(?:the|our|your|its|their|this|that) )"
    rf"(?P<name>(?:[\w'’&/-]+ ){{0,6}}?{_KIND})\b(?P<when> (?:of|for|from) (?:19|20)\d\d)?"
    r"(?=\s*(?:[,?.!;]|$)|\s(?:is|are|was|were|do|does|did|can|may|must|will|would|should|has|have|how|what|when|where|who"
    r"|which|why|and)\b),?",
    re.IGNORECASE,
)
_ABOUT_ANOTHER = re.compile(
    r"^\W*(?:comments?|notes?|repl(?:y|ies)|responses?|letters?|minutes|amendments?|objections?|reviews?|summary)\b"
    r"[^\n]{0,60}\b(?:on|about|to|of|re)\b",
    re.IGNORECASE,
)
"""Title of what is written about a document: "Comments on the village plan"."""
_NOW = frozenset({"current", "latest", "newest", "new", "present", "existing", "valid"})
_BEFORE = frozenset({"old", "previous", "former", "earlier"})
LEAST_NAME = 2
"""Words of a name without a year or "current", as "the policy" may be any; a guess."""


def asked_documents(question: str, sources: Sequence[Source]) -> frozenset[int]:
    """Return the numbers of the passages whose document a question names to be asked of; empty if it names none.

    All words of the name stand in the title. A year in it stands in the title or is the document's; "the current plan"
    is the one that none replaces.
    """
    match = _OF_DOCUMENT.search(question)
    if match is None:
        return frozenset()
    phrase = f"{match['name']}{match['when'] or ''}"
    asked, tokens = frozenset(years(phrase)), frozenset(match["name"].casefold().split())
    kinds_of_time = tokens & (_NOW | _BEFORE)
    spoken = " ".join(token for token in match["name"].split() if token.casefold() not in kinds_of_time)
    name = frozenset(word for word in words_by_token(spoken) if not word.isdigit()) - STOP_WORDS
    is_short = len(name) < LEAST_NAME
    named = [source for source in sources if name <= frozenset(words_by_token(source.title.replace("_", " ")))]
    named = [source for source in named if not _ABOUT_ANOTHER.search(source.title) or _ABOUT_ANOTHER.search(spoken)]
    if asked:
        # "The 2024 policy" has its year in the title or the file's name; "the letter of 2021" may be any letter.
        named = [source for source in named if asked & frozenset(years(f"{source.title} {_when(source, is_short)}"))]
    elif kinds_of_time:
        replaced = [source for source in named if any(supersedes(other, source) for other in named)]
        if is_short and not replaced:
            return frozenset()
        named = replaced if tokens & _BEFORE else [source for source in named if source not in replaced]
    elif is_short:
        return frozenset()
    return frozenset(source.n for source in named)


def _when(source: Source, is_short: bool) -> str:
    """Return the year that may be meant by a year in a document's name: for a short name not its date alone."""
    return dated(replace(source, date=None)) if is_short else dated(source)


def without_document(question: str) -> str:
    """Return a question without the phrase that names the document to be asked of."""
    return " ".join(_OF_DOCUMENT.sub(" ", question).split())

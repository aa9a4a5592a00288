"""Figures that are only a part of the amount that a question asks for, or a difference: an extra, "1 dB better than".

The extractive reader takes "10" of "an extra 10 points for every second left" for "How many points does a level
bring?", and the "1 dB" of "1 dB more sensitive than the older mode" for how sensitive a mode is. By rule, in English;
such an answer is shown and not claimed.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import PassageAnswer

_EXTRA_BEFORE = re.compile(r"\b(?:extra|additional|further|another|bonus of) $", re.IGNORECASE)
_EXTRA_WORDS = re.compile(
    r"\b(?:extra|additional(?:ly)?|further|another|more|bonus|surcharge|supplement|on top)\b", re.I
)
_FOR_EACH = re.compile(r"[^.;:]{0,60}\b(?:every|each|per)\b", re.IGNORECASE)
_COMPARATIVES = (
    r"(?:more|less|better|worse|higher|lower|greater|larger|smaller|longer|shorter|older|younger|taller|faster|slower"
    r"|cheaper|wider|narrower|deeper|heavier|lighter|stronger|weaker|warmer|colder|hotter|brighter|thicker|thinner)"
)
_IS_A_DIFFERENCE = re.compile(rf" (?!or )(?:[\w-]+ ){{0,2}}?{_COMPARATIVES}(?: [\w-]+){{0,3}}? than\b", re.IGNORECASE)
"""Matches the words behind a figure that make it a difference. "18 or older than that" is a bound and no difference."""
_ASKS_FOR_COMPARISON = re.compile(
    rf"\b(?:than|by how|fewer|difference|compar\w+|gain\w*|improve\w*|increas\w+|decreas\w+"
    rf"|rise|rose|fall|fell|drop\w*|grow\w*|grew|{_COMPARATIVES})\b",
    re.IGNORECASE,
)


def is_partial_figure(question: str, found: PassageAnswer) -> bool:
    """Return whether an answer's figure is an extra for each unit or a difference, and the question asks for neither.

    False for an answer without a digit, and for one that is not in the sentence as it is written.
    """
    quote, answer = found.quote, found.span.text
    start = quote.find(answer)
    if start < 0 or not any(map(str.isdigit, answer)):
        return False
    end = start + len(answer)
    is_extra = _EXTRA_BEFORE.search(quote, 0, start) is not None or _EXTRA_WORDS.match(answer) is not None
    # "A further 300 people died" counts people; ten extra points for each second are a part of a sum.
    if is_extra and _FOR_EACH.match(quote, end) and not _EXTRA_WORDS.search(question):
        return True
    return _IS_A_DIFFERENCE.match(quote, end) is not None and not _ASKS_FOR_COMPARISON.search(question)

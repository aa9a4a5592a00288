"""Figures that are a part of what a question asks for, or a difference: an extra on top, "1 dB better than".

The extractive reader takes "10" of "an extra 10 points for every second left" for "How many points does a level
bring?", and the "1 dB" of "1 dB more sensitive than the older mode" for how sensitive a mode is. By rule, in English;
such an answer is shown and not claimed.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import PassageAnswer

_EXTRA_BEFORE = re.compile(r"\b(?:extra|additional|further|another|bonus of) $", re.IGNORECASE)
_EXTRA = re.compile(r"\b(?:extra|additional(?:ly)?|further|another|more|bonus|surcharge|supplement|on top)\b", re.I)
_FOR_EACH = re.compile(r"[^.;:]{0,60}\b(?:every|each|per)\b", re.IGNORECASE)
_HIGHER = (
    r"(?:more|less|better|worse|higher|lower|greater|larger|smaller|longer|shorter|older|younger|taller|faster|slower"
    r"|cheaper|wider|narrower|deeper|heavier|lighter|stronger|weaker|warmer|colder|hotter|brighter|thicker|thinner)"
)
# "18 or older than that" is a bound and no difference.
_DIFFERENCE = re.compile(rf" (?!or )(?:[\w-]+ ){{0,2}}?{_HIGHER}(?: [\w-]+){{0,3}}? than\b", re.IGNORECASE)
"""Behind a figure: what it is compared with."""
_COMPARES = re.compile(
    rf"\b(?:than|by how|fewer|difference|compar\w+|gain\w*|improve\w*|increas\w+|decreas\w+"
    rf"|rise|rose|fall|fell|drop\w*|grow\w*|grew|{_HIGHER})\b",
    re.IGNORECASE,
)


def is_partial_figure(question: str, found: PassageAnswer) -> bool:
    """Return whether an answer's figure is an extra or a difference, and the question asks for neither."""
    quote, answer = found.quote, found.span.text
    start = quote.find(answer)
    if start < 0 or not any(map(str.isdigit, answer)):
        return False
    is_extra = _EXTRA_BEFORE.search(quote, 0, start) is not None or _EXTRA.match(answer) is not None
    end = start + len(answer)
    # "A further 300 people died" counts people; ten extra points for each second are a part of a sum.
    if is_extra and _FOR_EACH.match(quote, end) and not _EXTRA.search(question):
        return True
    return _DIFFERENCE.match(quote, end) is not None and not _COMPARES.search(question)

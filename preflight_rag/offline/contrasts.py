"""Answers from the part of a sentence that contrasts the question's subject with something else.

"The game starts with Black moving first (unlike in international chess, where White moves first)" answers "Who moves
first?" with Black, though the extractive reader takes White. By rule, in English.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.text.quotes import quote_around
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_CONTRAST = re.compile(
    r"\b(?:unlike|in contrast (?:to|with)|as opposed to|contrary to|rather than|instead of)\b"
    r"(?P<thing>[^(),.;\n]{1,200})"
    r"(?:, (?:in )?(?:where|which|who|whose)\b[^(),.;\n]{1,200})?",
    re.IGNORECASE,
)
_ASKS_FORMER_STATE = re.compile(
    r"\b(?:before|former(?:ly)?|previous(?:ly)?|until|used to|replace[ds]?|originally)\b", re.I
)
"""Words of a question for a former state, which a contrast answers: "Who signed before Mrs Orr?" and "Mrs Orr signs
instead of Mr Brook"."""


def stands_in_contrast(question: str, answer: PassageAnswer) -> bool:
    """Return whether an answer stands in a contrast, "unlike in chess, where White begins", that the question excludes.

    It does not if the question names the contrasted thing, or asks for a former state.
    """
    if _ASKS_FORMER_STATE.search(question):
        return False
    start, end = quote_around(answer.source.text, answer.span.start, answer.span.end)
    first, last = answer.span.start - start, answer.span.end - start
    quote = answer.source.text[start:end]
    asked = frozenset(words(last_question(question)))
    for match in _CONTRAST.finditer(quote):
        if match.start() <= first and last <= match.end():
            # For "Peverell Roofing" in "instead of Peverell Roofing" no word is left: the answer itself is excluded.
            thing = frozenset(words(match["thing"])) - STOP_WORDS - frozenset(words(answer.span.text))
            return thing.isdisjoint(asked)
    return False

"""Sentences for the opposite of the case that a question gives: "If you made this change" for "if it wasn't me"."""

from __future__ import annotations

import re

from preflight_rag.text.negation import DENIAL
from preflight_rag.text.words import STOP_WORDS, words

_IF_CLAUSE = re.compile(r"\bif\b(?P<clause>[^,.;:?!]{2,200})", re.IGNORECASE)


def is_for_opposite_case(question: str, sentence: str) -> bool:
    """Return whether a question's and a sentence's if-clause are about one thing, and only one of them denies it."""
    asked, stated = _IF_CLAUSE.search(question), _IF_CLAUSE.search(sentence)
    if asked is None or stated is None:
        return False
    common = frozenset(words(asked["clause"])) & frozenset(words(stated["clause"])) - STOP_WORDS
    return bool(common) and bool(DENIAL.search(asked["clause"])) != bool(DENIAL.search(stated["clause"]))

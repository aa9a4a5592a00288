"""Sentences for the opposite of the case that a question gives: "If you made this change" for "if it wasn't me"."""

from __future__ import annotations

import re

from preflight_rag.text.negation import DENIAL
from preflight_rag.text.words import STOP_WORDS, words

_IF_CLAUSE = re.compile(r"\bif\b(?P<clause>[^,.;:?!]{2,200})", re.IGNORECASE)
_VERB_OF_LACK = re.compile(
    r"\b(?:los[et]s?|miss(?:es|ed)?|forg[eo]t(?:s|ten)?|refus(?:e|es|ed)|without|unable|unpaid|away|absent)\b",
    re.IGNORECASE,
)
_CASE_END = re.compile(
    r"\b(?:and|then|there|no later than|not later than|you (?:get|pay|can|must|will|may|should))\b", re.IGNORECASE
)
"""Where a clause without a comma ends: "If it rains there is no concert"."""


def is_for_opposite_case(question: str, sentence: str) -> bool:
    """Return whether a question's and a sentence's if-clause are about one thing, and only one of them denies it."""
    asked, stated = _IF_CLAUSE.search(question), _IF_CLAUSE.search(sentence)
    if asked is None or stated is None:
        return False
    case, other_case = (_CASE_END.split(match["clause"])[0] for match in (asked, stated))
    common = frozenset(words(case)) & frozenset(words(other_case)) - STOP_WORDS
    return bool(common) and _denies(case) != _denies(other_case)


def _denies(clause: str) -> bool:
    """Return whether a clause denies something, in so many words or by its verb: who loses a card does not have it."""
    return DENIAL.search(clause) is not None or _VERB_OF_LACK.search(clause) is not None

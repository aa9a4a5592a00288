"""Negations in English sentences: three patterns, for as wide as their users need them, and whether a text denies."""

from __future__ import annotations

import re

_WORDS = "not?|never|none|neither|nor|without|cannot"
NEGATION = re.compile(rf"\b(?:{_WORDS})\b|n['’]t\b", re.IGNORECASE)
"""Words that deny the sentence they stand in."""
DENIAL = re.compile(rf"\b(?:{_WORDS}|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.IGNORECASE)
"""Also the words by which studies report that something is not so: "failed to reduce", "lack of effect"."""
_NOT_ONLY = re.compile(r"\bnot (?:only|just|merely|simply)\b", re.IGNORECASE)
TYPED_NEGATION = re.compile(
    rf"\b(?:{_WORDS}|non|\w+n['’]t"
    r"|(?:do|does|did|is|are|was|were|ca|wo|should|could|would|has|have|had|need|must|ai)nt)\b",
    re.IGNORECASE,
)
"""As people type them into a search box, also without the apostrophe: "dont", "cant"."""


def denies(text: str) -> bool:
    """Whether a text has a denial; "not only" is none."""
    return bool(DENIAL.search(_NOT_ONLY.sub(" ", text)))

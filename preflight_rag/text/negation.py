"""Negations in English sentences: three patterns, for as wide as their users need them."""

from __future__ import annotations

import re

_WORDS = "not?|never|none|neither|nor|without|cannot"
NEGATION = re.compile(rf"\b(?:{_WORDS})\b|n['’]t\b", re.IGNORECASE)
"""Words that deny the sentence they stand in."""
DENIAL = re.compile(rf"\b(?:{_WORDS}|fail\w*|lack\w*|unlikely)\b|n['’]t\b", re.IGNORECASE)
"""Also the words by which studies report that something is not so: "failed to reduce", "lack of effect"."""
TYPED_NEGATION = re.compile(
    rf"\b(?:{_WORDS}|non|\w+n['’]t"
    r"|(?:do|does|did|is|are|was|were|ca|wo|should|could|would|has|have|had|need|must|ai)nt)\b",
    re.IGNORECASE,
)
"""As people type them into a search box, also without the apostrophe: "dont", "cant"."""

"""A question in words that answer it beside its own: who speaks is a speaker, a study of men says enough of women."""

from __future__ import annotations

import re

from preflight_rag.text.populations import counterparts
from preflight_rag.text.question_forms import form_of
from preflight_rag.text.words import STOP_WORDS, words

LEAST_LETTERS = 4
"""Letters of a verb whose agent is looked for; a guess. Shorter stems have "-er" in words of other meanings."""
_WORD = re.compile(r"[^\W\d_]+")
_WORD_OR_OTHER = re.compile(r"[^\W\d_]+|[\W\d_]+")


def variants(question: str, known: frozenset[str]) -> list[str]:
    """Return the question with one of its words replaced by another that some texts use.

    Args:
        question: The question.
        known: The index terms of the texts.
    """
    found = []
    is_yes_no = form_of(question) == "verdict"
    for word in dict.fromkeys(_WORD.findall(question)):
        plain = word.casefold()
        others = [f"{plain}er", f"{plain}r"] if len(plain) >= LEAST_LETTERS and plain not in STOP_WORDS else []
        # Whether there were women follows from who else was meant: "limited to male workers".
        others += counterparts(plain) if is_yes_no else []
        parts = _WORD_OR_OTHER.findall(question)
        # "male" and "males" are one term.
        known_forms = {tuple(words(other)): other for other in reversed(others) if known & frozenset(words(other))}
        for other in reversed(known_forms.values()):
            found.append("".join(other if part == word else part for part in parts))
    return found

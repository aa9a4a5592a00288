"""A question in words that answer it beside its own: who speaks is a speaker, a study of men says enough of women."""

from __future__ import annotations

import re

from preflight_rag.text.question_forms import form_of
from preflight_rag.text.words import STOP_WORDS, words

LEAST_LETTERS = 4
"""Letters of a verb whose agent is looked for; a guess. Shorter stems have "-er" in words of other meanings."""
_WORD = re.compile(r"[^\W\d_]+")
_WORD_OR_OTHER = re.compile(r"[^\W\d_]+|[\W\d_]+")
_COUNTERPARTS = (
    ({"woman", "women", "female", "females"}, ("male", "men", "boys", "gender", "sex")),
    ({"man", "men", "male", "males"}, ("female", "women", "girls", "gender", "sex")),
    ({"child", "children", "kids", "under-18s"}, ("adults", "minors")),
)
"""People, and the words of a text that says who else was meant. For yes/no questions: "Were there any women?"."""


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
        for group, counterparts in _COUNTERPARTS if is_yes_no else ():
            others += counterparts if plain in group else ()
        parts = _WORD_OR_OTHER.findall(question)
        for other in others:
            if known & frozenset(words(other)):
                found.append("".join(other if part == word else part for part in parts))
    return found

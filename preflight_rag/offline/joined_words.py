"""Two words of a question that the passages write as one: "pet care" of "PetCare", "working days" of "workdays"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from preflight_rag.state.reading import Source
from preflight_rag.text.words import STOP_WORDS, words

LEAST_LETTERS = 3
"""Letters of each of the two words; a guess. Of shorter ones, "in to" and "into" are different words."""
_WORD = re.compile(r"[^\W\d_]+")


def with_joined_words(question: str, sources: Sequence[Source]) -> str:
    """Return the question with two adjacent words as one, where the passages only have that one word.

    Titles are passages' words, too. The question is returned unchanged where the two words also stand side by side.

    Args:
        question: The question.
        sources: The passages.
    """
    texts = [f"{source.title} {source.text}".casefold() for source in sources]
    known: dict[str, list[str]] = {}
    for word in dict.fromkeys(word for text in texts for word in _WORD.findall(text)):
        known.setdefault(_stem(word), []).append(word)
    spelled = question
    for first, second in pairwise(_WORD.findall(question)):
        pair = f"{first} {second}"
        is_content = min(len(first), len(second)) >= LEAST_LETTERS and not STOP_WORDS & {
            first.casefold(),
            second.casefold(),
        }
        if not is_content or pair not in spelled or any(pair.casefold() in text for text in texts):
            continue
        joined = _known_form(first.casefold(), second.casefold(), known)
        if joined:
            spelled = spelled.replace(pair, joined, 1)
    return spelled


def _known_form(first: str, second: str, known: Mapping[str, Sequence[str]]) -> str:
    """Return the passages' word that joins two words, the first one also without "-ing"; "" if they have none.

    Args:
        first: The first word in lower case.
        second: The second word in lower case.
        known: The words of the passages by their stems.
    """
    for beginning in dict.fromkeys((first, first.removesuffix("ing"))):
        forms = known.get(_stem(f"{beginning}{second}"), ())
        if len(beginning) >= LEAST_LETTERS and forms:
            # "Working days" are rather "workdays" than a "workday".
            return next((form for form in forms if form.endswith(second)), forms[0])
    return ""


def _stem(word: str) -> str:
    """Return a word's index term."""
    return next(iter(words(word)), word)

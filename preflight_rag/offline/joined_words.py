"""Two words of a question that the passages write as one: "pet care" of "PetCare", "working days" of "workdays"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from preflight_rag.state.reading import Source
from preflight_rag.text.words import STOP_WORDS, words

LEAST_LETTERS = 3
"""Minimum length of each of the two words; a guess. Of shorter ones, "in to" and "into" are different words."""
_WORD = re.compile(r"[^\W\d_]+")


def with_joined_words(question: str, sources: Sequence[Source]) -> str:
    """Return a question with two adjacent words joined, if the passages or their titles have only the joined word.

    Words that also stand side by side in a passage are left as they are.

    Args:
        question: The question.
        sources: The passages.
    """
    texts = [" ".join(f"{source.title} {source.text}".replace("-", " ").casefold().split()) for source in sources]
    known: dict[str, list[str]] = {}
    for word in dict.fromkeys(word for text in texts for word in _WORD.findall(text)):
        known.setdefault(_stem(word), []).append(word)
    result = question
    for first, second in pairwise(_WORD.findall(question)):
        pair = f"{first} {second}"
        is_short = min(len(first), len(second)) < LEAST_LETTERS
        has_stop_word = not STOP_WORDS.isdisjoint(pair.casefold().split())
        is_name = second[0].isupper()  # "Mary Land" is nobody's Maryland
        if (
            is_short
            or has_stop_word
            or is_name
            or f" {pair}" not in result
            or any(pair.casefold() in text for text in texts)
        ):
            continue
        if joined := _find_joined_form(first.casefold(), second.casefold(), known):
            result = result.replace(f" {pair}", f" {joined}", 1)
    return result


def _find_joined_form(first: str, second: str, known: Mapping[str, Sequence[str]]) -> str:
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
    """Return a word's index term; the word itself if it has none."""
    return next(iter(words(word)), word)

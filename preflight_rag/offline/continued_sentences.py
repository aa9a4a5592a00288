"""Quotes with the sentence that goes on about the same thing.

"Fourteen parking spaces will be built behind hall 3. They will not be ready before September." answers "When will the
parking spaces be ready?" with its two sentences alone: the one has the subject, the other the rest of the question.
By rule, in English.
"""

from __future__ import annotations

import re

from preflight_rag.state.reading import Source
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import STOP_WORDS, words_by_token

LONGEST = 400
"""Characters of a quote of two sentences, at most; a guess."""
LEAST_MISSING = 2
"""Words that a quote has to lack for a next sentence without a pronoun; a guess."""
_POINTS_BACK = re.compile(r"(?:it|its|they|their|he|his|she|her|this|these|those|both)\b", re.IGNORECASE)
_BREAK = re.compile(r"\n\s*\n|\n[#|*-]")


def with_neighbour(question: str, quote: str, source: Source) -> str:
    """Return a quote; if it and a neighbouring sentence are about the same thing, both.

    The neighbour is in the same paragraph, the later sentence of the two begins with a pronoun, and the neighbour
    contains a word of the question that is missing in the quote, its title and its heading; or the next sentence
    contains all that is missing: "In the attic it is 55 %."

    Args:
        question: The question.
        quote: A part of the passage, verbatim.
        source: The passage.
    """
    start = source.text.find(quote)
    if start < 0:
        return quote
    end = start + len(quote)
    spans = sentence_spans(source.text)
    asked = frozenset(words_by_token(question)) - STOP_WORDS
    missing = asked.difference(words_by_token(f"{source.title} {source.heading} {quote}"))
    behind = next((span for span in spans if span[0] >= end), None)
    before = next((span for span in reversed(spans) if span[1] <= start), None)
    if behind and _POINTS_BACK.match(source.text[slice(*behind)].strip()) and _adds(missing, source, behind):
        return _joined(source, start, behind[1], quote)
    if behind and len(missing) >= LEAST_MISSING and missing <= frozenset(words_by_token(source.text[slice(*behind)])):
        return _joined(source, start, behind[1], quote)
    if before and _POINTS_BACK.match(quote) and _adds(missing, source, before):
        return _joined(source, before[0], end, quote)
    return quote


def _adds(missing: frozenset[str], source: Source, span: tuple[int, int]) -> bool:
    """Return whether a part of a passage contains one of the missing words."""
    return bool(missing.intersection(words_by_token(source.text[slice(*span)])))


def _joined(source: Source, start: int, end: int, quote: str) -> str:
    """Return a part of a passage; only the quote if the part is too long or crosses the end of a paragraph."""
    whole = source.text[start:end].strip()
    return quote if len(whole) > LONGEST or _BREAK.search(whole) else whole

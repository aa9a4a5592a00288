"""Answers out of a sentence beside the one that says what is asked.

For "Who hands over the Larkspur Prize?" the extractive reader takes its winner out of "The Larkspur Prize goes to
Mireille Tanaka", though the passage goes on: "The prize will be handed over by Samir Haddad". By rule, in English; a
wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.state.reading import Source
from preflight_rag.text.other_things import NO_SUBJECT
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

LEAST_MISSING = 1 / 3
"""Least share of a question's words that a quote lacks. With any word, 3 right claims of 44 development questions of
`preflight eval trust` went, whose sentences lacked one word of four to seven."""

_PREDICATE = re.compile(
    r"\W*who (?!(?:is|was|are|were|has|have|had|did|does|do|will|would|can|could|may|must|should)\b)(?P<verb>[a-z]+)\b"
    r"|\W*(?:when|where|how|why|by whom)\b.{0,200}? (?P<last>[a-z]+)\W*$",
    re.IGNORECASE,
)
"""The verb of a question: behind "who", or at the end of "When was the mill sold?"."""


def is_said_beside(question: str, source: Source, quote: str) -> bool:
    """Return whether another sentence of a passage has what a quote lacks of a question, its verb, and one more word.

    Args:
        question: The standalone question.
        source: The passage.
        quote: A sentence of the passage.
    """
    asked_last = last_question(question)
    match = _PREDICATE.match(asked_last)
    verb = frozenset(words(match["verb"] or match["last"])) if match else frozenset[str]()
    asked = frozenset(words(asked_last)) - STOP_WORDS - NO_SUBJECT
    around = frozenset(words(f"{source.title} {source.heading}"))
    missing = asked - frozenset(words(quote)) - around
    if not verb or not verb <= missing or len(missing) < LEAST_MISSING * len(asked) or is_row(quote):
        return False
    for start, end in sentence_spans(source.text):
        sentence = source.text[start:end]
        if sentence in quote or quote in sentence or is_row(sentence):
            continue
        terms = frozenset(words(sentence))
        # A sentence with none of the other words may be about something else that was sold.
        if missing <= terms and (asked - missing) & terms:
            return True
    return False

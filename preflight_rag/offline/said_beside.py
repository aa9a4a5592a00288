"""Answers out of a sentence beside the one that says what is asked.

For "Who hands over the Larkspur Prize?" the extractive reader takes its winner out of "The Larkspur Prize goes to
Mireille Tanaka", though the passage goes on: "The prize will be handed over by Samir Haddad". By rule, in English; a
wrong claim costs more than a missing one.
"""

from __future__ import annotations

from preflight_rag.state.reading import Source
from preflight_rag.text.other_things import NO_SUBJECT
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.tables import is_row
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

LEAST_MISSING = 1 / 3
"""Least share of a question's words that a quote lacks. With any word, 3 right claims of 44 development questions of
`preflight eval trust` went, whose sentences lacked one word of four to seven."""


def is_said_beside(question: str, source: Source, quote: str) -> bool:
    """Return whether another sentence of a passage has the many words of a question that a quote lacks, and one more.

    Args:
        question: The standalone question.
        source: The passage.
        quote: A sentence of the passage.
    """
    asked = frozenset(words(last_question(question))) - STOP_WORDS - NO_SUBJECT
    around = frozenset(words(f"{source.title} {source.heading}"))
    missing = asked - frozenset(words(quote)) - around
    if len(missing) < LEAST_MISSING * len(asked) or not missing or is_row(quote):
        return False
    for start, end in sentence_spans(source.text):
        sentence = source.text[start:end]
        if sentence in quote or quote in sentence or is_row(sentence):
            continue
        terms = frozenset(words(sentence))
        if missing <= terms and (asked - missing) & terms:
            return True
    return False

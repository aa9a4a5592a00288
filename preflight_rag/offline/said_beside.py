"""Answers out of one sentence of a passage where another sentence has the question's verb.

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

MIN_MISSING_SHARE = 1 / 3
"""Least share of a question's words that a quote lacks for its answer to be refused. With one missing word as limit, 3
right claims of 44 development questions of `preflight eval trust` were lost: they lacked one word of four to seven."""

_VERB_OF_QUESTION = re.compile(
    r"\W*who (?!(?:is|was|are|were|has|have|had|did|does|do|will|would|can|could|may|must|should)\b)(?P<verb>[a-z]+)\b"
    r"|\W*(?:when|where|how|why|by whom)\b.{0,200}? (?P<last>[a-z]+)\W*$",
    re.IGNORECASE,
)
"""Matches the verb of a question: behind "who", or at the end of "When was the mill sold?"."""


def is_said_beside(question: str, source: Source, quote: str) -> bool:
    """Return whether the quote lacks the question's verb, and another sentence of the passage has it.

    That sentence needs all words of the question that the quote lacks, and one that the quote has. False for a row of a
    table, for a question without a recognised verb, and if the quote lacks few of the question's words.

    Args:
        question: The standalone question.
        source: The passage.
        quote: A sentence of the passage.
    """
    final_question = last_question(question)
    match = _VERB_OF_QUESTION.match(final_question)
    verb = frozenset(words(match["verb"] or match["last"])) if match else frozenset[str]()
    question_terms = frozenset(words(final_question)) - STOP_WORDS - NO_SUBJECT
    title_terms = frozenset(words(f"{source.title} {source.heading}"))
    missing = question_terms - frozenset(words(quote)) - title_terms
    if not verb or not verb <= missing or len(missing) < MIN_MISSING_SHARE * len(question_terms) or is_row(quote):
        return False
    for start, end in sentence_spans(source.text):
        sentence = source.text[start:end]
        if sentence in quote or quote in sentence or is_row(sentence):
            continue
        sentence_terms = frozenset(words(sentence))
        # A sentence with none of the other words may be about something else that was sold.
        if missing <= sentence_terms and (question_terms - missing) & sentence_terms:
            return True
    return False

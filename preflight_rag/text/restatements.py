"""Whether a sentence of a passage says what a statement says, nearly in its words.

The small reader's verdict on a statement is sometimes no although the passage has it word for word ("Either party may
terminate by giving ten weeks' written notice"). Words decide where they are plain: most of the statement's words and
all its names and figures stand in one sentence, which denies nothing that the statement affirms, and the other way
round.
"""

from __future__ import annotations

import re

from preflight_rag.text.directions import says
from preflight_rag.text.names import surface_names
from preflight_rag.text.negation import denies, polarity
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

LEAST_SHARED = 0.75
"""Least share of the statement's words in the sentence and its document's title. Set on development statements of
`preflight eval statements`."""
LEAST_WORDS = 6
"""Words of a statement below which its words decide nothing: a bare answer stands in many passages that do not give it.
Set with the share."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|shall|should|will|would|does|do|did"
    r"|costs?|gives?|takes?|needs?|comes?|goes|says?|shows?|means?|lies|stands?|holds?|makes?|[a-z]{2,}ed)\b"
)
"""A verb: words without one are a bare answer, however many they are."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")


def is_restated(statement: str, title: str, text: str) -> bool:
    """Return whether a sentence of a passage says the same as a statement.

    Args:
        statement: The statement, without citation marks.
        title: The title of the passage's document.
        text: The passage.
    """
    if len(statement.split()) < LEAST_WORDS or not _VERB.search(statement):
        return False
    wanted = frozenset(words(statement)) - STOP_WORDS
    names = frozenset(word for name in surface_names(statement) for word in words(" ".join(name)))
    figures = frozenset(_FIGURE.findall(statement))
    titled = frozenset(words_by_token(title))
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        own = frozenset(words_by_token(sentence))
        shared = wanted & (own | titled)
        if len(shared) < LEAST_SHARED * len(wanted) or not shared or not names <= own | titled:
            continue
        if not figures <= frozenset(_FIGURE.findall(sentence)) or denies(statement) != denies(sentence):
            continue
        if polarity(statement, sentence) >= 0 and says(statement, sentence) >= 0:
            return True
    return False

"""Whether a sentence of a passage says what a statement says, in its words or nearly so.

The small reader's verdict on a statement is sometimes no although the passage has it nearly word for word ("Either
party may terminate by giving ten weeks' written notice"). A statement whose words stand in one sentence in the same
order is said there. One of which a few words are missing may be a paraphrase, or the opposite ("enter" for "leave"), so
words alone show neither.
"""

from __future__ import annotations

import re
from typing import Literal

from preflight_rag.text.directions import says
from preflight_rag.text.names import surface_names
from preflight_rag.text.negation import denies, polarity
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.values import with_digits
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
_DOUBT = re.compile(
    r"\b(?:myth|rumou?rs?|lies?|wrong(?:ly)?|false(?:ly)?|untrue|alleged(?:ly)?|claim(?:s|ed)?|suppos\w+|if|unless"
    r"|whether|would|once|plan(?:s|ned)|hop(?:es?|ed)|used to|formerly)\b",
    re.I,
)
"""Words by which a sentence does not state what it says."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")

Restatement = Literal["whole", "near"]


def restatement(statement: str, title: str, text: str) -> Restatement | None:
    """Return whether a sentence of a passage says a statement in its words ("whole"), or nearly so ("near").

    Args:
        statement: The statement, without citation marks.
        title: The title of the passage's document.
        text: The passage.

    Returns:
        The nearest of its sentences; None if none is near.
    """
    if len(statement.split()) < LEAST_WORDS or not _VERB.search(statement):
        return None
    statement = with_digits(statement)
    wanted = [word for word in words(statement) if word not in STOP_WORDS]
    names = frozenset(word for name in surface_names(statement) for word in words(" ".join(name)))
    figures = frozenset(_FIGURE.findall(statement))
    titled = frozenset(words_by_token(title))
    found: Restatement | None = None
    for start, end in sentence_spans(text):
        sentence = with_digits(text[start:end])
        own = words_by_token(sentence)
        placed = titled.union(own)
        shared = placed.intersection(wanted)
        if not shared or len(shared) < LEAST_SHARED * len(frozenset(wanted)) or not names <= placed:
            continue
        if not figures <= frozenset(_FIGURE.findall(sentence)) or denies(statement) != denies(sentence):
            continue
        if _doubts(sentence) - _doubts(statement) or polarity(statement, sentence) < 0 or says(statement, sentence) < 0:
            continue
        if _are_in_order(wanted, own):
            return "whole"
        found = "near"
    return found


def _doubts(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _DOUBT.findall(text))


def _are_in_order(wanted: list[str], own: list[str]) -> bool:
    """Return whether all words stand in a sentence, one behind the other."""
    rest = iter(own)
    return all(word in rest for word in wanted)

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

MIN_SHARED = 0.75
"""Least share of the statement's words in the sentence and its document's title. Set on development statements of
`preflight eval statements`."""
MIN_WORDS = 6
"""Words of a statement below which its words decide nothing: a bare answer stands in many passages that do not give it.
Set with the share."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|shall|should|will|would|does|do|did"
    r"|costs?|gives?|takes?|needs?|comes?|goes|says?|shows?|means?|lies|stands?|holds?|makes?|[a-z]{2,}ed)\b"
)
"""A verb: without one, a text is a bare answer, however many words it has."""
_DOUBT_WORD = re.compile(
    r"\b(?:myth|rumou?rs?|lies?|wrong(?:ly)?|false(?:ly)?|untrue|alleged(?:ly)?|claim(?:s|ed)?|suppos\w+|if|unless"
    r"|whether|would|once|plan(?:s|ned)|hop(?:es?|ed)|used to|formerly)\b",
    re.I,
)
"""Words by which a sentence reports a claim, a plan or a condition, but states no fact."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")

Restatement = Literal["whole", "near"]


def restatement(statement: str, title: str, text: str) -> Restatement | None:
    """Return "whole" if a sentence of a passage has all words of a statement in their order, "near" if most of them.

    None if there is no such sentence, if the best one lacks a name or number, denies or doubts the statement, or if the
    statement is too short or has no verb.

    Args:
        statement: The statement, without citation marks.
        title: The title of the passage's document, whose words count as well.
        text: The passage.
    """
    if len(statement.split()) < MIN_WORDS or not _VERB.search(statement):
        return None
    statement = with_digits(statement)
    statement_terms = [word for word in words(statement) if word not in STOP_WORDS]
    name_terms = frozenset(word for name in surface_names(statement) for word in words(" ".join(name)))
    title_terms = frozenset(words_by_token(title))
    is_near = False
    for start, end in sentence_spans(text):
        sentence = with_digits(text[start:end])
        sentence_terms = words_by_token(sentence)
        all_terms = title_terms.union(sentence_terms)
        shared = all_terms.intersection(statement_terms)
        if not shared or len(shared) < MIN_SHARED * len(frozenset(statement_terms)) or not name_terms <= all_terms:
            continue
        if _contradicts(statement, sentence):
            continue
        if _occur_in_order(statement_terms, sentence_terms):
            return "whole"
        is_near = True
    return "near" if is_near else None


def _contradicts(statement: str, sentence: str) -> bool:
    """Return whether a sentence lacks a number of a statement, or denies or doubts what the statement does not."""
    if not frozenset(_FIGURE.findall(statement)) <= frozenset(_FIGURE.findall(sentence)):
        return True
    if denies(statement) != denies(sentence) or _doubt_words(sentence) - _doubt_words(statement):
        return True
    return polarity(statement, sentence) < 0 or says(statement, sentence) < 0


def _doubt_words(text: str) -> frozenset[str]:
    """Return the words of a text, casefolded, by which it states no fact."""
    return frozenset(word.casefold() for word in _DOUBT_WORD.findall(text))


def _occur_in_order(terms: list[str], sentence_terms: list[str]) -> bool:
    """Return whether all terms are in a sentence, one behind the other; others may be between them."""
    remaining = iter(sentence_terms)  # `in` moves it behind the term that was found
    return all(term in remaining for term in terms)

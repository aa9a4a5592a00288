"""Answers to "who wrote it?" that name the author of a part, or of another work.

"This section was written by Ada Roth" does not say who wrote the handbook, and "Ada Roth wrote the original Hack" does
not say who wrote the NetHack guidebook. By rule, in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_MADE = (
    r"(?:wrote|written|authored|composed|created|designed|developed|invented|edited|compiled|translated|drawn|drew"
    r"|founded|built|painted|made|maintains?|maintained)"
)
_ASKS_WHO_MADE = re.compile(
    rf"\bwho(?: (?:first|originally|once|now|currently))? {_MADE} (?P<work>[^?]+)", re.IGNORECASE
)
_PART = (
    r"(?:sub)?section|chapter|appendix|part|paragraph|page|example|patch|translation|figure|table|illustrations?|cover"
    r"|foreword|preface|introduction|index"
)
_PART_OF_WORK = re.compile(rf"\b(?:this|these|that|the following|the above|the) (?P<part>{_PART})s?\b", re.IGNORECASE)
_PREPOSITION = r"(?:by|in|for|with|at|on|from|to|as|of|under|after|before|during|since|and|who|which|that|when|where)"
# Must not match "written by Jane Doe" and "Ann Lee founded it", which name no work behind the verb.
_WORK_AS_OBJECT = re.compile(
    rf"\b{_MADE} (?:(?:the|an?|his|her|its|their|this|that) )?(?!{_PREPOSITION}\b|it\b)(?P<work>[^.,;:()]{{1,80}}+)",
    re.IGNORECASE,
)
_PREPOSITIONAL_PHRASE = re.compile(rf" {_PREPOSITION}\b.*", re.IGNORECASE | re.DOTALL)
_WORK_AS_SUBJECT = re.compile(
    rf"(?P<work>[^.,;:()]{{1,80}}?) (?:was|were|is|are|has been|have been) (?:\w+ ){{0,2}}{_MADE} by\b",
    re.IGNORECASE,
)
_WORK_BEFORE_PARTICIPLE = re.compile(rf"(?P<work>(?:\b[^\W\d_][\w’'-]{{0,30}} ){{1,2}}){_MADE} by\b", re.IGNORECASE)
"""A work before a participle: "informative lists maintained by"."""
_IN_APPOSITION = re.compile(r", (?:[\w'’-]{1,30} ){0,2}$")
_UNSPECIFIC_WORDS = frozenset(
    words(
        "it this that which original first document text manual guide handbook book booklet paper article report file"
        " program software work one whole version edition wrote written author"
    )
)
"""Words that do not say which work is meant."""


def is_of_another_work(question: str, sentence: str) -> bool:
    """Return whether a question asks who made a work, and a sentence says who made a part of it, or another work.

    False if the sentence does not say which work it is about: "It was written by Jane Doe".
    """
    asked = _ASKS_WHO_MADE.search(last_question(question))
    if asked is None:
        return False
    asked_work = frozenset(words(asked["work"]))
    part = _PART_OF_WORK.search(sentence)
    # "Who wrote the section on fire?" asks for the author of a part.
    if part and frozenset(words(part["part"])).isdisjoint(asked_work):
        return True
    match = _WORK_AS_SUBJECT.search(sentence)
    if match is None:
        match = _WORK_BEFORE_PARTICIPLE.search(sentence)
        # "The guide, a short text written by Jane Doe": the words before the participle describe the work again.
        if match and _IN_APPOSITION.search(sentence, 0, match.start()):
            return False
    match = match or _WORK_AS_OBJECT.search(sentence)
    if match is None:
        return False
    work = frozenset(words(_PREPOSITIONAL_PHRASE.sub("", match["work"]))) - STOP_WORDS - _UNSPECIFIC_WORDS
    return bool(work) and work.isdisjoint(asked_work)

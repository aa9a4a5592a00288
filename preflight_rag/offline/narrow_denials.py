"""Whether a sentence denies less than a question asks about: "No" from it would deny what it does not speak of.

"The plan does not cover theft of bicycles" does not say that bicycles are not covered, and "Dogs are not allowed in the
restaurant" not that a hotel allows none. By rule, in English; wrong for paraphrases, which then stay unclaimed.
"""

from __future__ import annotations

import re

from preflight_rag.text.negation import DENIAL
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_ASKS_RULE = re.compile(
    r"^\W*(?:is|are|am|can|could|may|must|shall|should|will|do|does|has|have|isn['’]t|aren['’]t|can['’]t|don['’]t"
    r"|doesn['’]t)\b",
    re.IGNORECASE,
)
"""Questions for what holds now: rules, terms, facilities."""
_ASKS_LEAVE = re.compile(
    r"^\W*(?:(?:can|could|may|might|must|shall|should|am|are|do|is it) "
    r"(?:i|we|you|one|anyone|anybody|possible|allowed|permitted|ok|okay)\b"
    r"|(?:can|could|may)\b.{1,80}? be (?:raised|increased|lowered|reduced|changed|extended)\b)",
    re.IGNORECASE,
)
"""Questions for what somebody may or can do; no sentence answers them by the direction of an effect: that a limit "can
be lowered" does not say that it cannot be raised."""
_FINDING = re.compile(
    r"\b(?:significan\w*|evidence|differen\w*|associat\w*|correlat\w*|effect\w*|improv\w*|reduc\w*|increas\w*"
    r"|decreas\w*|stud(?:y|ies)|trials?|patients?|participants?)\b|\d ?%|\bp ?[<=>]",
    re.IGNORECASE,
)
"""Sentences of studies. Their "not" is read with directions of effects (`text/directions.py`)."""
_MAYBE_FINDING = re.compile(r"\b(?:relat\w*|chang\w*|found|show\w*|groups?|unlikely|aware)\b", re.IGNORECASE)
"""Words of such sentences that others have, too: "As the show went on, we cannot refund the tickets"."""
_CLAUSE_END = re.compile(
    r";|,? \b(?:but|while|whereas|although|though|because|since|so that|therefore)\b", re.IGNORECASE
)
_NEUTRAL = frozenset(
    words(
        "also at all any anyone anything anywhere anymore currently either even ever generally longer normally note now"
        " permitted please possible strictly under usually whatsoever yet unfortunately sorry guest visitor customer"
        " policy plan contract agreement rule"
    )
)
"""Words that make a denial no narrower."""
# Verbs of one rule in other words: what is not permitted is not allowed.
_SAME = (
    "allow permit admit welcome may tolerate accept prohibit forbid ban",
    "cover insure include exclude contain",
    "offer provide available have there exist sell",
    "free charge cost",
    "own have possess",
)
_CLASS = {word: line.split()[0] for line in _SAME for word in words(line)}


def asks_leave(question: str) -> bool:
    """Return whether a yes/no question is for what somebody may or can do."""
    return bool(_ASKS_LEAVE.search(last_question(question)))


def denies_less(question: str, sentence: str, title: str = "") -> bool:
    """Return whether a sentence with a denial is about a narrower case, or something else, than the question.

    Sentences of studies are not judged here, unless the question is for what somebody may do.

    Args:
        question: A yes/no question. If it is about the past, or the sentence may be of a study, the denying clause has
        to name half of its content; if it is about the present, all of it and nothing else.
        sentence: The sentence with the denial.
        title: The title of the sentence's document, which may name the subject of the question.
    """
    if _FINDING.search(sentence) and not asks_leave(question):
        return False
    around = _NEUTRAL | _terms(title)
    asked = _terms(question) - around
    is_rule = bool(_ASKS_RULE.search(last_question(question))) and not _MAYBE_FINDING.search(sentence)
    # "The sauna is heated, but the pool is not heated" denies nothing of the sauna.
    for clause in _CLAUSE_END.split(sentence):
        stated = _terms(DENIAL.sub(" ", clause)) - around
        # The same words on both sides: "not free on Sundays" denies less than "Is parking free?" asks.
        whole = not asked ^ stated if is_rule else 2 * len(asked & stated) >= len(asked)
        if whole and DENIAL.search(clause):
            return False
    return True


def _terms(text: str) -> frozenset[str]:
    """Return the content words of a text, with one word for all verbs of a class."""
    return frozenset(_CLASS.get(word, word) for word in words(text)) - STOP_WORDS

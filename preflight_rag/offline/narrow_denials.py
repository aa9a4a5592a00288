"""Denials of a narrower case than a question asks about: answering "No" from them would deny too much.

"The plan does not cover theft of bicycles" does not say that bicycles are not covered, and "Dogs are not allowed in the
restaurant" not that a hotel allows none. By rule, in English; wrong for paraphrases, which then stay unclaimed.
"""

from __future__ import annotations

import re

from preflight_rag.text.negation import DENIAL
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_ASKS_ABOUT_A_RULE = re.compile(
    r"^\W*(?:is|are|am|can|could|may|must|shall|should|will|do|does|has|have|isn['’]t|aren['’]t|can['’]t|don['’]t"
    r"|doesn['’]t)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a yes/no question on what holds now: rules, terms, facilities."""
_ASKS_FOR_PERMISSION = re.compile(
    r"^\W*(?:(?:can|could|may|might|must|shall|should|am|are|do|is it) "
    r"(?:i|we|you|one|anyone|anybody|possible|allowed|permitted|ok|okay)\b"
    r"|(?:can|could|may)\b.{1,80}? be (?:raised|increased|lowered|reduced|changed|extended)\b)",
    re.IGNORECASE,
)
"""Matches a question for what somebody may or can do. The direction of an effect never answers it: that a limit "can be
lowered" does not say that it cannot be raised."""
_STUDY_WORDS = re.compile(
    r"\b(?:significan\w*|evidence|differen\w*|associat\w*|correlat\w*|effect\w*|improv\w*|reduc\w*|increas\w*"
    r"|decreas\w*|stud(?:y|ies)|trials?|patients?|participants?)\b|\d ?%|\bp ?[<=>]",
    re.IGNORECASE,
)
"""Matches words of scientific studies. Their "not" is read with directions of effects (`text/directions.py`)."""
_AMBIGUOUS_STUDY_WORDS = re.compile(r"\b(?:relat\w*|chang\w*|found|show\w*|groups?|unlikely|aware)\b", re.IGNORECASE)
"""Matches words of studies that other sentences have, too: "As the show went on, we cannot refund the tickets"."""
_CLAUSE_END = re.compile(
    r";|,? \b(?:but|while|whereas|although|though|because|since|so that|therefore)\b", re.IGNORECASE
)
_NEUTRAL_WORDS = frozenset(
    words(
        "also at all any anyone anything anywhere anymore currently either even ever generally longer normally note now"
        " permitted please possible strictly under usually whatsoever yet unfortunately sorry guest visitor customer"
        " policy plan contract agreement rule"
    )
)
"""Index terms that do not narrow a denial: "Dogs are generally not allowed" denies as much as without "generally"."""
_VERB_CLASSES = (
    "allow permit admit welcome may tolerate accept prohibit forbid ban",
    "cover insure include exclude contain",
    "offer provide available have there exist sell",
    "free charge cost",
    "own have possess",
)
"""Verbs that state one rule in other words, a class per line: what is not permitted is not allowed."""
_CLASS_OF_VERB = {word: line.split()[0] for line in _VERB_CLASSES for word in words(line)}


def asks_for_permission(question: str) -> bool:
    """Return whether a yes/no question asks what somebody may or can do: "Can I bring a dog?"."""
    return bool(_ASKS_FOR_PERMISSION.search(last_question(question)))


def denies_narrower_case(question: str, sentence: str, title: str = "") -> bool:
    """Return whether a sentence with a denial is about a narrower case, or something else, than the question.

    False for a sentence with words of scientific studies, unless the question asks what somebody may do: denials in
    studies are judged by the direction of an effect.

    Args:
        question: A yes/no question. If it is about the past, or the sentence may be of a study, the denying clause has
        to name half of its content; if it is about the present, all of it and nothing else.
        sentence: The sentence with the denial.
        title: The title of the sentence's document, which may name the subject of the question.
    """
    if _STUDY_WORDS.search(sentence) and not asks_for_permission(question):
        return False
    ignored_terms = _NEUTRAL_WORDS | _content_terms(title)
    question_terms = _content_terms(question) - ignored_terms
    needs_equal_terms = bool(_ASKS_ABOUT_A_RULE.search(last_question(question))) and not _AMBIGUOUS_STUDY_WORDS.search(
        sentence
    )
    # "The sauna is heated, but the pool is not heated" denies nothing of the sauna.
    for clause in _CLAUSE_END.split(sentence):
        if not DENIAL.search(clause):
            continue
        clause_terms = _content_terms(DENIAL.sub(" ", clause)) - ignored_terms
        if needs_equal_terms:
            # "not free on Sundays" denies less than "Is parking free?" asks.
            denies_whole_question = clause_terms == question_terms
        else:
            denies_whole_question = 2 * len(question_terms & clause_terms) >= len(question_terms)
        if denies_whole_question:
            return False
    return True


def _content_terms(text: str) -> frozenset[str]:
    """Return the index terms of a text without stop words; verbs of one class become the first verb of their class."""
    return frozenset(_CLASS_OF_VERB.get(word, word) for word in words(text)) - STOP_WORDS

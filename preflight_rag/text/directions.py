"""The direction of an effect that a sentence reports: up, down, better, worse, an association, or none.

Reports answer questions such as "Does it raise blood pressure?" by the direction of their result. The words are grouped
by what they claim; a negation shortly before a word, or a phrase such as "no significant difference", denies it. By
rule, in English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from preflight_rag.text.negation import denies
from preflight_rag.text.words import STOP_WORDS, words

_NEGATION_REACH = 40
"""Characters before a word in which a negation denies it: about six words; a guess."""
_STEMS_OF_DIRECTION = {
    "up": r"increas\w*|rais(?:e|es|ed|ing)|ris(?:e|es|ing|en)|rose|elevat\w*|higher|greater|enhanc\w*|boost\w*|"
    r"up-?regulat\w*|augment\w*|exceed\w*",
    "down": r"decreas\w*|reduc\w*|lower(?:s|ed|ing)?|declin\w*|f[ae]ll(?:s|en|ing)?|diminish\w*|fewer|less|smaller|"
    r"suppress\w*|inhibit\w*|attenuat\w*|down-?regulat\w*|drop(?:s|ped|ping)?|prevent\w*|protect\w*|shorten\w*",
    "better": r"improv\w*|benefi\w*|effective\w*|efficac\w*|superior\w*|better|useful\w*|successful\w*|"
    r"feasibl\w*|safe\w*",
    "worse": r"worse\w*|impair\w*|inferior\w*|harm\w*|deteriorat\w*|detriment\w*|ineffective\w*|unsafe|poorer",
    "linked": r"associat\w*|correlat\w*|link(?:s|ed)?|relat(?:es?|ed|ionship)|predict\w*|affect(?:s|ed)?|influenc\w*|"
    r"caus(?:e|es|ed|ing)|contribut\w*|differ(?:s|ed|ent|ences?)?|depend(?:s|ed|ent)?|determin\w*|risk factor",
}
_WORDS_OF_DIRECTION = {name: re.compile(rf"\b(?:{stems})\b", re.I) for name, stems in _STEMS_OF_DIRECTION.items()}
NO_EFFECT = re.compile(
    r"\bno(?:t|n)?[- ](?:\w+ ){0,3}?(?:significan\w*|differen\w*|effects?|associat\w*|evidence|benefit\w*|impact|"
    r"chang\w*|correlat\w*|influence|improv\w*|advantage)\b"
    r"|\b(?:did|does|do|was|were|is|are|has|have)(?:n['’]t| not) (?:\w+ ){0,2}?"
    # "Did not differ according to country" says nothing about whether there is an effect.
    r"(?:differ\w*\b(?! (?:according to|depending on|by|across)\b)|chang\w*|affect\w*|"
    r"alter\w*|influenc\w*|significan\w*|associat\w*|correlat\w*|improv\w*|increas\w*|reduc\w*|decreas\w*)\b"
    r"|\b(?:unchanged|unaffected|comparable|indistinguishable|similar(?:ly)?(?! to those who)|failed to)\b"
    r"|\bp ?(?:=|>) ?(?:n\.?s\.?|0?\.(?:0[6-9]|[1-9])\d*)",
    re.I,
)
"""Statements that no effect was found: in words, or by a p-value above 0.05."""


@dataclass(frozen=True)
class Direction:
    """The effect that a sentence reports.

    Attributes:
        claimed: The directions that the sentence claims: "up", "down", "better", "worse" or "linked".
        denied: The directions that it denies.
        none: Whether it says that there is no effect or difference.
    """

    claimed: frozenset[str]
    denied: frozenset[str]
    none: bool


def direction_of(sentence: str) -> Direction:
    """Return the direction of the effect that a sentence reports."""
    claimed: set[str] = set()
    denied: set[str] = set()
    for direction, pattern in _WORDS_OF_DIRECTION.items():
        for match in pattern.finditer(sentence):
            before = sentence[max(0, match.start() - _NEGATION_REACH) : match.start()]
            clause_before = re.split("[,;]", before)[-1]
            (denied if denies(clause_before) else claimed).add(direction)
    return Direction(frozenset(claimed), frozenset(denied), bool(NO_EFFECT.search(sentence)))


_OBJECT_END = re.compile(
    r"\b(?:compared|than|versus|vs|relative|in|among|for|when|after|during|at|with|by|from|if|over|within)\b|[,;:?(]",
    re.I,
)
_HYPHENATED_WORD = re.compile(r"\b\w+(?:-\w+)+")


def speaks_of_object(question: str, sentence: str) -> bool:
    """Return whether a sentence contains half of the words for the object of the question's effect.

    In "Does it reduce costs?" the object is "costs", the words behind the first one for a direction. A hyphenated word
    that is not in the question, such as "cost-effectively", does not count. True for a question without an object.
    """
    matches = [match for pattern in _WORDS_OF_DIRECTION.values() if (match := pattern.search(question))]
    if not matches:
        return True
    first = min(matches, key=lambda match: match.start())
    object_phrase, *_ = _OBJECT_END.split(question[first.end() :], maxsplit=1)
    object_terms = frozenset(words(object_phrase)) - STOP_WORDS
    folded_question = question.casefold()
    text = _HYPHENATED_WORD.sub(lambda word: word[0] if word[0].casefold() in folded_question else " ", sentence)
    return 2 * len(object_terms & frozenset(words(text))) >= len(object_terms)


_OPPOSITE = {"up": "down", "down": "up", "better": "worse", "worse": "better"}


def says(question: str, sentence: str) -> int:
    """Return a sentence's answer to a yes/no question about an effect: 1 for yes, -1 for no, 0 for none.

    The sentence is compared with the first direction that the question names ("up" in "Does it raise …?"). A question
    whether two things are linked is answered by any direction that the sentence claims.
    """
    asked, stated = direction_of(question), direction_of(sentence)
    asked_directions = asked.claimed | asked.denied
    if not asked_directions:
        return 0
    yes = -1 if asked.denied or asked.none else 1  # a question that denies something turns the answer round
    for direction, opposite in _OPPOSITE.items():
        if direction not in asked_directions:
            continue
        is_claimed, is_opposite_claimed = direction in stated.claimed, opposite in stated.claimed
        if is_claimed and not is_opposite_claimed:
            # "No significant improvement" claims "better" and denies it.
            return -yes if stated.none and direction in ("better", "worse") else yes
        if is_opposite_claimed and not is_claimed:
            return -yes
        return -yes if direction in stated.denied or stated.none else 0
    if stated.none or "linked" in stated.denied:
        return -yes
    return yes if stated.claimed else 0

"""The form of answer that a question asks for: a value, several values, a verdict, or an explanation.

By rule, in English. A question that fits no rule asks for a value: a reader can then still find a part of the passage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from preflight_rag.text.values import asked_kind, last_question

Form = Literal["value", "list", "verdict", "explanation"]

_POLITE_OPENING = re.compile(
    r"^(?:please|kindly|(?:can|could|would|will) (?:you|anyone|somebody|someone)(?: please| kindly)?|i (?:want|need|"
    r"would like|['’]d like) to know|do you know|does anyone know|tell (?:me|us)(?! (?:about|more)))[\s,:]+",
    re.I,
)
_ABSTRACT_NOUNS = (
    r"(?:symptom|sign|cause|effect|side[ -]effect|adverse effect|complication|role|mechanism|function|purpose|"
    r"difference|meaning|definition|treatment|therap|outlook|prognosis|risk factor|advantage|disadvantage|benefit|"
    r"reason|consequence|implication|principle|process|impact|influence|importance|significance|relationship|link|"
    r"connection|association)\w*"
)
_ASKS_EXPLANATION = re.compile(
    r"(?:why\b|how come\b|for what reasons?\b"
    r"|how (?:do|does|did|is|are|was|were|can|could|should|would|will|to|has|have|had|might|may)\b"
    r"|what (?:causes?|caused|triggers?|triggered|happens?|happened|leads?|led|makes|made)\b"
    r"|(?:describe|explain|summari[sz]e|discuss|outline|compare|define|elaborate|tell (?:me|us) (?:about|more))\b"
    rf"|what (?:is|are|was|were) (?:the |an? )?(?:[\w-]+ ){{0,3}}?{_ABSTRACT_NOUNS}"
    r" (?:of|for|between|in|behind|on|to)\b"
    r"|what (?:do|does|did) .+ (?:(?:do|mean|look like|stand for)\W*$|say about\b)"
    r"|in what ways?\b"
    r"|what (?:can|could|should|must|do|shall|would) (?:i|we|you|one|they|people|users?|members?) do\b)",
    re.I,
)
_ASKS_DEFINITION = re.compile(
    r"(?:what(?: is| are| was| were|['’]s) (?!the\b)(?:an? )?|who (?:is|are|was|were) (?!the\b|\w{2,}ing\b))"
    r"(?P<what>[\w'’()/+-]+(?:[\s,]+[\w'’()/+-]+){0,4})\W*$",
    re.I,
)
_PART_OF_LONGER_QUESTION = re.compile(
    r"(?:['’]s?\b|\b(?:of|for|in|by|with|from|to|at|on|as|called|named|known|made|used|your|its|their|his|her|this|that|"
    r"it|than|most|does|do|did|is|are|was|were)\b)",
    re.I,
)
_PLURAL = r"(?:[\w-]*[^\W\daius]s|[\w-]+ies|people|men|women|children|bacteria|criteria|mice|species|data)"
_ASKS_LIST = re.compile(
    r"(?:(?:list|name|enumerate|give|mention|identify)\b"
    rf"|(?:which|what) (?!(?:is|was|does|has|as|its|this|thus)\b){_PLURAL}\b"
    rf"|(?:which|what) (?:[\w-]+ ){{1,3}}?{_PLURAL} (?:are|were|have|can|could|do|did|may|might|of|in|that)\b"
    r"|what (?:are|were) the\b|who (?:are|were) the\b|which are\b)",
    re.I,
)
_ASKS_EXISTENCE = re.compile(r"\b(?:are there|exist|are (?:available|offered|possible|supported))\b", re.I)
_LIST_SEPARATOR = re.compile(r"[,;/&\n]|\b(?:and|or|as well as)\b")
_GERMAN_QUESTION = re.compile(r"was (?:ist|sind|war|waren|hat|haben|macht|bedeutet|kann|wird|werden|passiert)\b", re.I)


_ASKS_WHY = re.compile(
    r"(?:why\b|how come\b|for what reasons?\b|what (?:is|was) the (?:cause|reason)\b|what (?:caused|led to|made)\b)",
    re.I,
)
_GIVES_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|on account of|thanks to|cause[ds]?|led to|reasons?|therefore|as a result"
    r"|in order to|so that|after (?:an? |the )?\w+|for lack of|as (?:I|he|she|it|they|we|you|there|nobody))\b",
    re.I,
)


def asks_why(question: str) -> bool:
    """Return whether a question asks for a reason."""
    return _ASKS_WHY.match(_POLITE_OPENING.sub("", last_question(" ".join(question.split())))) is not None


def may_answer(question: str, row: str) -> bool:
    """Return whether a table's row or a sentence may answer a question: one for a reason needs words that give one.

    "Cancelled because of ice" has them. True for any other question.
    """
    return not asks_why(question) or _GIVES_REASON.search(row) is not None


def form_of(question: str) -> Form:
    """Return the form of answer that a question asks for; of several questions, that of the last one.

    "What is dengue?" asks for an explanation, as "Why is the sky blue?" does; "What is the capital of France?" for a
    value.
    """
    polite = last_question(" ".join(question.split()))
    question = _POLITE_OPENING.sub("", _POLITE_OPENING.sub("", polite))  # "Could you please | tell me …"
    if _ASKS_EXPLANATION.match(question):
        return "explanation"
    if asked_kind(question) == "verdict" and not _GERMAN_QUESTION.match(question):
        return "verdict"
    if (definition := _ASKS_DEFINITION.match(question)) and not _PART_OF_LONGER_QUESTION.search(definition["what"]):
        return "explanation"
    return "list" if _ASKS_LIST.match(question) and asked_kind(question) == "name" else "value"


def asks_what_exists(question: str) -> bool:
    """Return whether a question asks for all existing things of a kind: "Which boats are there?"."""
    question = last_question(question)
    return bool(_ASKS_LIST.match(question)) and _ASKS_EXISTENCE.search(question) is not None


def is_list(text: str) -> bool:
    """Return whether an answer may name more than one thing, by a comma, a similar sign, or "and" or "or"."""
    return _LIST_SEPARATOR.search(text) is not None


_MORE = (
    r"more|most|larger|largest|bigger|biggest|higher|highest|greater|greatest|longer|longest|taller|tallest|heavier"
    r"|heaviest|wider|widest|deeper|deepest"
)
_LESS = r"fewer|fewest|less|least|smaller|smallest|lower|lowest|shorter|shortest|lighter|lightest|cheaper|cheapest"
_COMPARING_WORD = re.compile(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b", re.I)
_ASKS_ONE_OF_TWO = re.compile(
    r"^(?P<rest>(?:which|what|who)\b[^?,:]*)[,:]\s(?:the\s)?(?P<one>[^,?]{1,60}?),?\sor\s(?:the\s)?"
    r"(?P<other>[^,?]{1,60}?)\W*$",
    re.I,
)


@dataclass(frozen=True)
class Comparison:
    """A question that compares two things.

    Attributes:
        things: The two things, as written in the question.
        rest: The question without the things and without the comparing word: "Which branch sold bicycles".
        more: Whether it asks for the thing with more, not the one with less.
    """

    things: tuple[str, str]
    rest: str
    more: bool


def comparison_of(question: str) -> Comparison | None:
    """Return the comparison in a question such as "Which branch sold more bicycles, north or south?"; else None."""
    match = _ASKS_ONE_OF_TWO.match(_POLITE_OPENING.sub("", last_question(" ".join(question.split()))))
    comparing_word = _COMPARING_WORD.search(match["rest"]) if match else None
    if match is None or comparing_word is None:
        return None
    rest = match["rest"].replace(comparing_word.group(), " ", 1)
    return Comparison((match["one"].strip(), match["other"].strip()), rest, comparing_word["more"] is not None)

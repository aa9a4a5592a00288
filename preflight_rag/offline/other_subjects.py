"""Answers out of sentences about somebody or something else than the question: about another person, place or event.

The extractive reader finds what is of the asked kind, a date or a name, wherever it stands: for "When is Jonas on
leave?" in "Beatrix is on leave from 9 to 20 November", for "When did Roberts retire?" in the sentence on his birth. By
rule, in English; a wrong claim costs more than a missing one.
"""

from __future__ import annotations

import re

from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.text.dates import MONTH_NAMES
from preflight_rag.text.names import numbered_places, surface_names
from preflight_rag.text.offices import attached_names, names_office, spelled_out
from preflight_rag.text.tables import is_row
from preflight_rag.text.words import STOP_WORDS, words, words_by_token

_DAY_OR_MONTH = re.compile(
    rf"{'|'.join(MONTH_NAMES)}"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
)
_GOES_ON = re.compile(
    r"^\W*(?:it|its|they|their|he|his|she|her|this|that|these|those|we|our|the|a|an|there|in|on|at|since|after|before"
    r"|during|by|from|as|when|while|for|with|to)\b",
    re.IGNORECASE,
)
"""A sentence that begins so may be about what the one before it names."""
_ASKS_PERSON = re.compile(r"\b(?:who|whom|which person)\b(?! (?:may|can|must|should|has to|have to)\b)", re.IGNORECASE)
_ROLE = re.compile(r"(?<=[\w.]) ?\((?P<role>[A-Za-z][a-z’' -]{2,60})\)")
"""A role in brackets, in small letters."""
_NAME_BEFORE = re.compile(r"(?<![\w'’.-])[A-ZÀ-Ý][\w'’.-]{0,40} ?$")
"""A name before the bracket: "guard (night shift)" tells guards apart, and gives nobody a role."""
_ASKS_EVENT = re.compile(r"\b(?:when|where)\b", re.IGNORECASE)


def is_about_another(question: str, answer: PassageAnswer, office: tuple[str, ...] = ()) -> bool:
    """Return whether the sentence of an answer is about another name, event or office than the question.

    Args:
        question: The question.
        answer: An answer in a passage; one in a table's row is left to the rules for rows.
        office: Words of the office that is asked for (`text.offices.asked_office`).
    """
    if is_row(answer.quote):
        return False
    return (
        _lacks_a_name(question, answer)
        or _lacks_the_event(question, answer)
        or _has_another_role(question, answer, office)
        or bool(office and _is_of_another_house(question, answer, office))
    )


def _names_of(question: str) -> list[str]:
    """Return the names in a question, in lower case, without months, weekdays and abbreviations of offices."""
    found = surface_names(spelled_out(question))
    named = [" ".join(name) for name in found if not _DAY_OR_MONTH.fullmatch(name[0])]
    return [*named, *(code.lower() for code in numbered_places(question))]


def _lacks_a_name(question: str, answer: PassageAnswer) -> bool:
    """Return whether a name of the question is neither in the sentence nor, if this continues another, before it."""
    source = answer.source
    placed = frozenset(words_by_token(f"{source.title} {source.heading} {answer.quote}"))
    # One word of a name suffices: "McIlroy has won four titles" is about Rory McIlroy.
    missing = [name for name in _names_of(question) if placed.isdisjoint(words_by_token(name))]
    if not missing:
        return False
    passage = frozenset(words_by_token(source.text))
    # "She lives in Bath" may be about somebody whom the passage names, but not about a name that is nowhere in it.
    return not _GOES_ON.match(answer.quote) or any(passage.isdisjoint(words_by_token(name)) for name in missing)


def _lacks_the_event(question: str, answer: PassageAnswer) -> bool:
    """Return whether the sentence has none of the words, other than names, of a question for a time or place."""
    if not _ASKS_EVENT.search(question):
        return False
    named = frozenset(words_by_token(" ".join(_names_of(question))))
    event = frozenset(words(question)) - STOP_WORDS - named
    source = answer.source
    return bool(event) and event.isdisjoint(words_by_token(f"{source.title} {source.heading} {answer.quote}"))


def _has_another_role(question: str, answer: PassageAnswer, office: tuple[str, ...]) -> bool:
    """Return whether what stands in brackets behind names gives an answer another role than the one asked for.

    In "Tunde Afolabi (musical director), Greta Lindqvist (librarian)" the director is the one before the bracket.
    """
    quote, asked = answer.quote, frozenset(words(question))
    start = quote.find(answer.span.text)
    if not _ASKS_PERSON.search(question):
        return False
    found = [match for match in _ROLE.finditer(quote) if _NAME_BEFORE.search(quote[: match.start()])]
    roles = [(match, frozenset(words(match["role"]))) for match in found]
    asked_roles = [match for match, role in roles if role and role <= asked]
    if start < 0 or not roles:
        return False
    end = start + len(answer.span.text)
    if asked_roles:
        # Between the end of the name and the bracket is at most a space.
        return not any(start < match.end() and match.start() - end <= 1 for match in asked_roles)
    behind = next((role for match, role in roles if 0 <= match.start() - end <= 1), frozenset())
    return bool(office and behind) and asked.isdisjoint(behind)


def _is_of_another_house(question: str, answer: PassageAnswer, office: tuple[str, ...]) -> bool:
    """Return whether the office nearest to an answer belongs to another organisation than the question's.

    "Norwich City manager Mike Walker" does not name the manager of Wolves.
    """
    asked = frozenset(words_by_token(" ".join(_names_of(question))))
    if not asked or not names_office(answer.quote, office):
        return False
    houses = attached_names(answer.quote, office, near=answer.span.text)
    return bool(houses) and asked.isdisjoint(words_by_token(" ".join(houses)))

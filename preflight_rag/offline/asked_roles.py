"""Answers that repeat the role whose holder a question asks for: "Head Gardener" to "Who is the head gardener?".

The name stands across the verb of the sentence: "The Head Gardener is Ola Lind." By rule, in English.
"""

from __future__ import annotations

import re
from dataclasses import replace

from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.text.quotes import quote_around
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_WHO = re.compile(r"^\W*(?:(?:and|so|but|then) )?who(?:['’]s| (?:is|was|are|were)) ", re.IGNORECASE)
"""Asks who somebody is: "And who was the head gardener in 2019?"."""
_ASIDE = re.compile(r"\b(?:of|for|at|in|on|from|to|by|since|until|before|after|during|when)\b|[,;(]", re.IGNORECASE)
"""Where what the question calls the person ends."""
_TIMES = frozenset(words("current currently now present new former previous then"))
_HOUSES = frozenset(
    words(
        "club society company firm association trust school college university village parish council city town team"
        " board committee centre hospital union museum library church choir group department branch"
    )
)
"""What may stand before a role and makes no other one of it, unlike "deputy"."""
_NAME = (
    r"(?:(?:Mr|Mrs|Ms|Dr|Prof|Sir|Dame)\.? )?[A-ZÀ-Þ][\w'’-]{0,30}"
    r"(?: (?:(?:van|von|de|la|da) )?[A-ZÀ-Þ][\w'’.-]{0,30}){1,3}"
)
_BEHIND = re.compile(rf"(?: (?:is|was|are|were)|:) (?P<name>{_NAME})(?=\.?\s*$|[,;:(]| \(| and\b)")
_BEFORE = re.compile(rf"(?:^|[,;:] )(?P<name>{_NAME}) (?:is|was) (?:(?:the|our|its|a|an) )?$")
_OPENS = re.compile(r"^(?:the|our|its|their|a|an) ", re.IGNORECASE)


def repeats_asked_role(question: str, answer: PassageAnswer) -> bool:
    """Return whether an answer to "who is …" is no more than a role, as a rule the one that the question names."""
    role, stated = _role(question), _terms(answer.text)
    if stated and (_is_of_owner(question, answer) or _is_past_or_owner(question, answer)):
        return True
    if not role or not stated or role.isdisjoint(stated):
        return False
    # "The Estate's Head Gardener is Ola Lind": what stands around the role is its house, and no name of a person.
    return stated <= role or (role <= stated and _is_subject(answer))


def replace_role_with_holder(question: str, answer: PassageAnswer) -> PassageAnswer:
    """Return the name across the verb from an answer that repeats the role; the answer itself if there is none."""
    # "The organist is Ola Lind" has a name across the verb, which is not that of the deputy organist.
    if not repeats_asked_role(question, answer) or not _is_of_role(question, answer):
        return answer
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    behind, before = _BEHIND.match(text[span.end : last]), _BEFORE.search(text[first : span.start])
    # "The organist is Ola Lind", or the other way round: "Ola Lind is the organist".
    at, found = (span.end, behind) if behind else (first, before)
    if found is None:
        return answer
    start = at + found.start("name")
    end = start + len(found["name"].rstrip("."))
    return replace(answer, span=replace(span, start=start, end=end, text=text[start:end]))


def _role(question: str) -> frozenset[str]:
    """Return the index terms of the role in a question for its holder; none of another question."""
    # "Who is the head gardener, Lind or Vale?" offers the answers, so that none of them repeats the role.
    if " or " in question:
        return frozenset()
    parts = question.strip(" ?").split("?")
    roles = [_terms(_ASIDE.split(part[match.end() :])[0]) if (match := _WHO.match(part)) else None for part in parts]
    # "Who is the beekeeper? And who was it in 2019?" leaves the role to the question before.
    return next((role for role in reversed(roles) if role), frozenset()) if roles[-1] is not None else frozenset()


def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a role."""
    return frozenset(words(text)) - STOP_WORDS - _TIMES


def _is_of_role(question: str, answer: PassageAnswer) -> bool:
    """Return whether a sentence names all of the role and no other: the deputy head gardener is another."""
    role, house = _role(question), _HOUSES | frozenset(words(f"{question} {answer.source.title}"))
    return role <= _terms(answer.quote) and _terms(answer.text) - role <= house


def _is_of_owner(question: str, answer: PassageAnswer) -> bool:
    """Return whether a question asks for somebody of a person, whom the sentence gives for the answer itself.

    "The Head Gardener is Ola Lind" does not answer "Who is Ola Lind's deputy?".
    """
    last = quote_around(answer.source.text, answer.span.start, answer.span.end)[1]
    found = _BEHIND.match(answer.source.text[answer.span.end : last])
    name = found["name"].rstrip(".") if found and _WHO.match(question) else ""
    return bool(name) and any(f"{name}{mark}s" in question for mark in "'’")


def _is_past_or_owner(question: str, answer: PassageAnswer) -> bool:
    """Return whether a sentence says who it was, and a question who it is; or gives the name as an owner's.

    "The Warden is Bo Roth's deputy" does not answer "Who is the warden?".
    """
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    if not _WHO.match(question):
        return False
    if re.match(r"['’]s ", text[span.end : last]):
        return True
    was = re.search(r"\b(?:was|were) (?:(?:the|our) )?$", text[first : span.start]) or re.match(
        r" (?:was|were)\b", text[span.end : last]
    )
    asks_now = re.search(r"\bwho(?:['’]s| (?:is|are)) ", last_question(question), re.IGNORECASE)
    return was is not None and asks_now is not None


def _is_subject(answer: PassageAnswer) -> bool:
    """Return whether an answer is the subject of its sentence, with an article: "The Head Gardener" before "is"."""
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    has_article = _OPENS.match(span.text) or _OPENS.fullmatch(text[first : span.start])
    return bool(has_article) and _BEHIND.match(text[span.end : last]) is not None

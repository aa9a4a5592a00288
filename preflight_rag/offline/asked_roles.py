"""Answers that repeat the role whose holder a question asks for: "Head Gardener" to "Who is the head gardener?".

The name stands on the other side of the verb: "The Head Gardener is Ola Lind." By rule, in English.
"""

from __future__ import annotations

import re
from dataclasses import replace

from preflight_rag.offline.found_answers import PassageAnswer
from preflight_rag.text.quotes import quote_around
from preflight_rag.text.values import last_question
from preflight_rag.text.words import STOP_WORDS, words

_ASKS_WHO = re.compile(r"^\W*(?:(?:and|so|but|then) )?who(?:['’]s| (?:is|was|are|were)) ", re.IGNORECASE)
"""The beginning of a question for a person: "And who was the head gardener in 2019?"."""
_END_OF_ROLE = re.compile(
    r"\b(?:of|for|at|in|on|from|to|by|since|until|before|after|during|when)\b|[,;(]", re.IGNORECASE
)
"""A word or mark at which the role in a question ends."""
_TIME_WORDS = frozenset(words("current currently now present new former previous then"))
_ORGANISATIONS = frozenset(
    words(
        "club society company firm association trust school college university village parish council city town team"
        " board committee centre hospital union museum library church choir group department branch"
    )
)
"""Words that may stand beside a role without making another role of it, unlike "deputy"."""
_NAME = (
    r"(?:(?:Mr|Mrs|Ms|Dr|Prof|Sir|Dame)\.? )?[A-ZÀ-Þ][\w'’-]{0,30}"
    r"(?: (?:(?:van|von|de|la|da) )?[A-ZÀ-Þ][\w'’.-]{0,30}){1,3}"
)
_NAME_BEHIND_VERB = re.compile(rf"(?: (?:is|was|are|were)|:) (?P<name>{_NAME})(?=\.?\s*$|[,;:(]| \(| and\b)")
_NAME_BEFORE_VERB = re.compile(rf"(?:^|[,;:] )(?P<name>{_NAME}) (?:is|was) (?:(?:the|our|its|a|an) )?$")
_ARTICLE = re.compile(r"^(?:the|our|its|their|a|an) ", re.IGNORECASE)


def repeats_asked_role(question: str, answer: PassageAnswer) -> bool:
    """Return whether an answer to "who is …" is a role and no name, or its sentence names someone else than asked for.

    Most such answers repeat the role in the question.
    """
    asked_role, answer_terms = _find_asked_role(question), _role_terms(answer.text)
    if answer_terms and (_asks_about_named_person(question, answer) or _is_past_holder_or_owner(question, answer)):
        return True
    if asked_role.isdisjoint(answer_terms):
        return False
    # "The Estate's Head Gardener is Ola Lind": the words around the role name its organisation, and no person.
    return answer_terms <= asked_role or (asked_role <= answer_terms and _is_subject_of_sentence(answer))


def replace_role_with_holder(question: str, answer: PassageAnswer) -> PassageAnswer:
    """Return the name on the other side of the verb as the answer, if an answer only repeats the role.

    Any other answer is returned unchanged, and one whose sentence has no name there or is about another role.
    """
    # "The organist is Ola Lind" does not name the deputy organist.
    if not repeats_asked_role(question, answer) or not _names_only_asked_role(question, answer):
        return answer
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    # "The organist is Ola Lind", or the other way round: "Ola Lind is the organist".
    offset, name = span.end, _NAME_BEHIND_VERB.match(text[span.end : last])
    if name is None:
        offset, name = first, _NAME_BEFORE_VERB.search(text[first : span.start])
    if name is None:
        return answer
    start = offset + name.start("name")
    end = start + len(name["name"].rstrip("."))
    return replace(answer, span=replace(span, start=start, end=end, text=text[start:end]))


def _find_asked_role(question: str) -> frozenset[str]:
    """Return the index terms of the role in a question for its holder; an empty set for any other question."""
    # "Who is the head gardener, Lind or Vale?" offers the answers, so that none of them repeats the role.
    if " or " in question:
        return frozenset()
    matches = [_ASKS_WHO.match(part) for part in question.strip(" ?").split("?")]
    if matches[-1] is None:
        return frozenset()
    # "Who is the beekeeper? And who was it in 2019?": the last question leaves the role to the one before.
    for match in filter(None, reversed(matches)):
        role = _END_OF_ROLE.split(match.string[match.end() :])[0]
        if terms := _role_terms(role):
            return terms
    return frozenset()


def _role_terms(text: str) -> frozenset[str]:
    """Return the index terms of a role, without words of time such as "current"."""
    return frozenset(words(text)) - STOP_WORDS - _TIME_WORDS


def _names_only_asked_role(question: str, answer: PassageAnswer) -> bool:
    """Return whether a sentence has the role in the question, and the answer none beside it, as "deputy" would make.

    Words for organisations, of the question and of the document's title make no other role.
    """
    role = _find_asked_role(question)
    harmless = role | _ORGANISATIONS | frozenset(words(f"{question} {answer.source.title}"))
    return role <= _role_terms(answer.quote) and _role_terms(answer.text) <= harmless


def _asks_about_named_person(question: str, answer: PassageAnswer) -> bool:
    """Return whether a sentence names the person by whom the question describes another one.

    "The Head Gardener is Ola Lind" does not answer "Who is Ola Lind's deputy?".
    """
    _, last = quote_around(answer.source.text, answer.span.start, answer.span.end)
    named = _NAME_BEHIND_VERB.match(answer.source.text[answer.span.end : last])
    if named is None or not _ASKS_WHO.match(question):
        return False
    name = named["name"].rstrip(".")
    return any(f"{name}{apostrophe}s" in question for apostrophe in "'’")


def _is_past_holder_or_owner(question: str, answer: PassageAnswer) -> bool:
    """Return whether a sentence says who somebody was and the question asks who it is, or the answer is a possessor.

    "The Warden is Bo Roth's deputy" does not answer "Who is the warden?" with "Bo Roth".
    """
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    if not _ASKS_WHO.match(question):
        return False
    if re.match(r"['’]s ", text[span.end : last]):
        return True
    past_before = re.search(r"\b(?:was|were) (?:(?:the|our) )?$", text[first : span.start])
    past_behind = re.match(r" (?:was|were)\b", text[span.end : last])
    asks_present = re.search(r"\bwho(?:['’]s| (?:is|are)) ", last_question(question), re.IGNORECASE)
    return bool(past_before or past_behind) and asks_present is not None


def _is_subject_of_sentence(answer: PassageAnswer) -> bool:
    """Return whether an answer has an article and stands before a verb and a name: "The Head Gardener is Ola Lind"."""
    text, span = answer.source.text, answer.span
    first, last = quote_around(text, span.start, span.end)
    has_article = _ARTICLE.match(span.text) or _ARTICLE.fullmatch(text[first : span.start])
    return bool(has_article) and _NAME_BEHIND_VERB.match(text[span.end : last]) is not None

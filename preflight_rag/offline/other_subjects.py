"""Answers out of sentences about another person, place, event or office than the question.

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
_CONTINUES_A_SENTENCE = re.compile(
    r"^\W*(?:it|its|they|their|he|his|she|her|this|that|these|those|we|our|the|a|an|there|in|on|at|since|after|before"
    r"|during|by|from|as|when|while|for|with|to)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a sentence that may be about what the sentence before it names."""
_ASKS_PERSON = re.compile(r"\b(?:who|whom|which person)\b(?! (?:may|can|must|should|has to|have to)\b)", re.IGNORECASE)
_ROLE_IN_BRACKETS = re.compile(r"(?<=[\w.]) ?\((?P<role>[A-Za-z][a-z’' -]{2,60})\)")
"""Matches a role in brackets behind a name: "(musical director)"."""
_NAME_BEFORE = re.compile(r"(?<![\w'’.-])[A-ZÀ-Ý][\w'’.-]{0,40} ?$")
"""Matches a name at the end of the text before a bracket. "guard (night shift)" has none: its bracket is no role of a
person."""
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
        or bool(office and _is_of_another_organisation(question, answer, office))
    )


def _names_in(question: str) -> list[str]:
    """Return the names in a question, in lower case, and its numbered places, such as "flat 5A".

    Names that begin with a month or weekday are left out, and abbreviations of offices ("CEO") are spelled out first.
    """
    names = [" ".join(name) for name in surface_names(spelled_out(question)) if not _DAY_OR_MONTH.fullmatch(name[0])]
    return [*names, *(place.lower() for place in numbered_places(question))]


def _lacks_a_name(question: str, answer: PassageAnswer) -> bool:
    """Return whether a name of the question is missing from the answer's sentence, its title and heading.

    If the sentence continues another ("She lives in Bath"), the name has to be missing from the whole passage.
    """
    source = answer.source
    sentence_words = frozenset(words_by_token(f"{source.title} {source.heading} {answer.quote}"))
    # One word of a name suffices: "McIlroy has won four titles" is about Rory McIlroy.
    missing = [name for name in _names_in(question) if sentence_words.isdisjoint(words_by_token(name))]
    if not missing:
        return False
    if not _CONTINUES_A_SENTENCE.match(answer.quote):
        return True
    passage_words = frozenset(words_by_token(source.text))
    return any(passage_words.isdisjoint(words_by_token(name)) for name in missing)


def _lacks_the_event(question: str, answer: PassageAnswer) -> bool:
    """Return whether a "when" or "where" question names an event of which the answer's sentence has no word.

    The event's words are those of the question without names and stop words: "retire" of "When did Roberts retire?".
    False for other questions, and without such words.
    """
    if not _ASKS_EVENT.search(question):
        return False
    name_words = frozenset(words_by_token(" ".join(_names_in(question))))
    event_words = frozenset(words(question)) - STOP_WORDS - name_words
    source = answer.source
    sentence_words = words_by_token(f"{source.title} {source.heading} {answer.quote}")
    return bool(event_words) and event_words.isdisjoint(sentence_words)


def _has_another_role(question: str, answer: PassageAnswer, office: tuple[str, ...]) -> bool:
    """Return whether a bracket gives the answered person another role than the question asks for.

    In "Tunde Afolabi (musical director), Greta Lindqvist (librarian)" the director is the name before the bracket. If
    no bracket has the role of the question, the bracket behind the answer counts, and only for a known office.

    Args:
        question: The question; the result is False if it does not ask for a person.
        answer: The answer, a name in its sentence.
        office: Words of the office that is asked for.
    """
    quote, question_terms = answer.quote, frozenset(words(question))
    start = quote.find(answer.span.text)
    if not _ASKS_PERSON.search(question):
        return False
    brackets = [match for match in _ROLE_IN_BRACKETS.finditer(quote) if _NAME_BEFORE.search(quote[: match.start()])]
    roles = [(bracket, frozenset(words(bracket["role"]))) for bracket in brackets]
    if start < 0 or not roles:
        return False
    end = start + len(answer.span.text)
    asked_brackets = [bracket for bracket, role in roles if role and role <= question_terms]
    if asked_brackets:
        # Between the end of the name and the bracket is at most a space.
        return not any(start < bracket.end() and bracket.start() - end <= 1 for bracket in asked_brackets)
    answer_role = next((role for bracket, role in roles if 0 <= bracket.start() - end <= 1), frozenset[str]())
    return bool(office and answer_role) and question_terms.isdisjoint(answer_role)


def _is_of_another_organisation(question: str, answer: PassageAnswer, office: tuple[str, ...]) -> bool:
    """Return whether the office nearest to an answer belongs to another organisation than the question's.

    "Norwich City manager Mike Walker" does not name the manager of Wolves. False if the question has no name, or the
    sentence names no office, or no organisation beside it.
    """
    question_words = frozenset(words_by_token(" ".join(_names_in(question))))
    if not question_words or not names_office(answer.quote, office):
        return False
    organisations = attached_names(answer.quote, office, near=answer.span.text)
    return bool(organisations) and question_words.isdisjoint(words_by_token(" ".join(organisations)))

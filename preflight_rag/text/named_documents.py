"""The document of which a question wants a numbered part: "article 5 of the data law" is no article of a treaty."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.text.words import STOP_WORDS, words

_PREPOSITIONS = frozenset({"of", "in", "from", "under", "to"})
_DETERMINERS = frozenset({"the", "our", "this", "that", "a", "an", "your", "its", "their", "his", "her", "my"})
_LINKING_WORDS = frozenset({"of", "the", "for", "and", "on"})
_VERBS_BEHIND_NAME = frozenset(
    {"allow", "apply", "concern", "contain", "cover", "deal", "demand", "describe", "forbid"}
    | {"govern", "grant", "mean", "order", "permit", "prescribe", "prohibit", "provide", "regulate"}
    | {"require", "say", "set", "state", "allows", "applies", "concerns", "contains", "covers"}
    | {"deals", "demands", "describes", "forbids", "governs", "grants", "means", "orders", "permits"}
    | {"prescribes", "prohibits", "provides", "regulates", "requires", "says", "sets", "states"}
)
"""Verbs that may follow a document's name: "What does article 5 of the data law require?"."""
_AUXILIARIES = frozenset({"do", "does", "did", "can", "may", "must", "will", "would", "should", "could", "shall"})
_WORDS_FOR_ANY_DOCUMENT = frozenset({"document", "text", "file"})
_MAX_OPENING_WORDS = 6
"""Most words of a phrase at the beginning of a question, up to its comma, that names a document; a guess."""


def is_of_named_document(question: str, parts: Sequence[tuple[int, int]], title: str, titles: Sequence[str]) -> bool:
    """Return whether a document may be the one that a question names for its numbered parts; True if it names none.

    Args:
        question: The standalone question.
        parts: The spans of the question that name numbered parts.
        title: The document's title.
        titles: The titles of all documents that were found.
    """
    title_terms = set(words(title))
    question_terms = set(words(_without_spans(question, parts)))
    shared_terms = question_terms & title_terms
    if any(len(question_terms & set(words(other))) > len(shared_terms) for other in titles):
        return False
    for start, end in parts:
        before, behind = question[:start].split(), question[end:].split()
        if not _fits_name_behind_part(behind, before[-1:], title_terms):
            return False
        if not _fits_name_before_part(before, title_terms):
            return False
    opening, comma, _ = question.partition(",")
    names_part = any(start < len(opening) for start, _ in parts)
    return not comma or names_part or _fits_opening_phrase(opening.split(), title_terms)


def _without_spans(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a question with spaces in place of some spans."""
    for start, end in sorted(spans, reverse=True):
        question = f"{question[:start]} {question[end:]}"
    return question


def _fits_name_behind_part(tokens: Sequence[str], before: Sequence[str], title_terms: set[str]) -> bool:
    """Return whether a phrase behind a part, "of the data law", names a document; True if there is no such phrase.

    Args:
        tokens: The words of the question behind the part.
        before: The last word before the part, if there is one.
        title_terms: The index terms of the document's title.
    """
    if not tokens or tokens[0].casefold() not in _PREPOSITIONS:
        return True
    phrase = list(tokens[1:])
    has_determiner = bool(phrase) and phrase[0].casefold() in _DETERMINERS
    phrase = phrase[1:] if has_determiner else phrase
    if not phrase or not (has_determiner or tokens[0].casefold() == "of" or phrase[0][:1].isupper()):
        return True
    name, ends_with_verb = _name_up_to_verb(phrase)
    if not name:  # "article 5 of the state constitution": "state" is no verb there.
        return False
    if not ends_with_verb and _has_auxiliary(before) and len(name) > 1 and not _is_in_title(name[-1:], title_terms):
        name = name[:-1]  # "What does article 5 of the treaty punish?": a verb has to follow the name.
    return _is_in_title(name, title_terms)


def _fits_name_before_part(tokens: Sequence[str], title_terms: set[str]) -> bool:
    """Return whether a name right before a part, "GDPR article 5" or "GDPR's article 5", names a document.

    True if there is no name. `tokens` are the words of the question before the part, `title_terms` the index terms of
    the document's title.
    """
    if not tokens:
        return True
    last = tokens[-1]
    if last.endswith(("'s", "’s", "s'", "s’")):
        owner: list[str] = []
        for token in reversed(tokens):
            if token.casefold() in STOP_WORDS:
                break
            owner.insert(0, token)
        return _is_in_title([*owner[:-1], last.rstrip("s").rstrip("'’")], title_terms)
    is_name = len(tokens) > 1 and last[:1].isupper() and last.casefold() not in STOP_WORDS
    return not is_name or _is_in_title([last], title_terms)


def _fits_opening_phrase(tokens: Sequence[str], title_terms: set[str]) -> bool:
    """Return whether the phrase that opens a question, "Under the data law, …", names a document.

    True if the words up to the comma are no such phrase: without a preposition, or too many.
    """
    if not tokens or len(tokens) > _MAX_OPENING_WORDS or tokens[0].casefold() not in _PREPOSITIONS:
        return True
    return _is_in_title([token for token in tokens[1:] if token.casefold() not in STOP_WORDS], title_terms)


def _name_up_to_verb(tokens: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words of the name with which a phrase begins, casefolded, and whether a verb ends it.

    A punctuation mark or a stop word that links no names ends it as well.
    """
    name: list[str] = []
    for token in tokens:
        word = token.strip("?!.,;:()\"“”'‘’").casefold()
        if word in _VERBS_BEHIND_NAME:
            return name, True
        if word in STOP_WORDS and word not in _LINKING_WORDS:
            break
        if word not in STOP_WORDS:
            name.append(word)
        if token[-1:] in "?!.,;:)":
            break
    return name, False


def _is_in_title(name: Sequence[str], title_terms: set[str]) -> bool:
    """Return whether every word of a name is in a document's title, or stands for any document ("text")."""
    return all(set(words(token)) <= title_terms or token.casefold() in _WORDS_FOR_ANY_DOCUMENT for token in name)


def _has_auxiliary(tokens: Sequence[str]) -> bool:
    """Return whether one of some words is an auxiliary, behind which a verb follows: "does"."""
    return any(token.casefold() in _AUXILIARIES for token in tokens)

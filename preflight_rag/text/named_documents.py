"""The document of which a question wants a numbered part: "article 5 of the data law" is no article of a treaty."""

from __future__ import annotations

from collections.abc import Sequence

from preflight_rag.text.words import STOP_WORDS, words

_PREPOSITIONS = frozenset({"of", "in", "from", "under", "to"})
_DETERMINERS = frozenset({"the", "our", "this", "that", "a", "an", "your", "its", "their", "his", "her", "my"})
_LINKS = frozenset({"of", "the", "for", "and", "on"})
_VERBS = frozenset(
    {"allow", "apply", "concern", "contain", "cover", "deal", "demand", "describe", "forbid"}
    | {"govern", "grant", "mean", "order", "permit", "prescribe", "prohibit", "provide", "regulate"}
    | {"require", "say", "set", "state", "allows", "applies", "concerns", "contains", "covers"}
    | {"deals", "demands", "describes", "forbids", "governs", "grants", "means", "orders", "permits"}
    | {"prescribes", "prohibits", "provides", "regulates", "requires", "says", "sets", "states"}
)
"""Verbs that may follow a document's name: "What does article 5 of the data law require?"."""
_HELPING = frozenset({"do", "does", "did", "can", "may", "must", "will", "would", "should", "could", "shall"})
_ANY_DOCUMENT = frozenset({"document", "text", "file"})
_LONGEST_OPENING = 6
"""Words of a phrase at the beginning of a question, up to its comma, that names a document; a guess."""


def is_of_named_document(question: str, parts: Sequence[tuple[int, int]], title: str, titles: Sequence[str]) -> bool:
    """Return whether a document may be the one that a question names for its numbered parts; True if it names none.

    Args:
        question: The standalone question.
        parts: Where numbered parts are named in the question.
        title: The document's title.
        titles: Those of all documents that were found.
    """
    own = set(words(title))
    asked = set(words(_without(question, parts)))
    if any(len(asked & set(words(other))) > len(asked & own) for other in titles):
        return False
    for start, end in parts:
        before, behind = question[:start].split(), question[end:].split()
        if not (_is_named_behind(behind, own, before[-1:]) and _is_named_before(before, own)):
            return False
    opening, comma, _ = question.partition(",")
    return not comma or any(start < len(opening) for start, _ in parts) or _is_named_first(opening.split(), own)


def _without(question: str, parts: Sequence[tuple[int, int]]) -> str:
    """Return a question without the names of its parts."""
    for start, end in sorted(parts, reverse=True):
        question = f"{question[:start]} {question[end:]}"
    return question


def _is_named_behind(tokens: Sequence[str], own: set[str], before: Sequence[str]) -> bool:
    """Return whether a phrase behind a part, "of the data law", is the document's name; True if there is none."""
    if not tokens or tokens[0].casefold() not in _PREPOSITIONS:
        return True
    rest = list(tokens[1:])
    has_determiner = bool(rest) and rest[0].casefold() in _DETERMINERS
    rest = rest[1:] if has_determiner else rest
    if not rest or not (has_determiner or tokens[0].casefold() == "of" or rest[0][:1].isupper()):
        return True
    name, ended = _phrase(rest)
    if not name:  # "article 5 of the state constitution": "state" is no verb there.
        return False
    if not ended and _helps(before) and len(name) > 1 and not _is_own(name[-1:], own):
        name = name[:-1]  # "What does article 5 of the treaty punish?": a verb has to follow the name.
    return _is_own(name, own)


def _is_named_before(tokens: Sequence[str], own: set[str]) -> bool:
    """Return whether a name right before a part, as in "GDPR article 5", is the document's; True if there is none."""
    if not tokens:
        return True
    last = tokens[-1]
    possessive = last.endswith(("'s", "’s", "s'", "s’"))
    if possessive:
        name: list[str] = []
        for token in reversed(tokens):
            if token.casefold() in STOP_WORDS:
                break
            name.insert(0, token)
        return _is_own([*name[:-1], last.rstrip("s").rstrip("'’")], own)
    is_name = len(tokens) > 1 and last[:1].isupper() and last.casefold() not in STOP_WORDS
    return not is_name or _is_own([last], own)


def _is_named_first(tokens: Sequence[str], own: set[str]) -> bool:
    """Return whether a phrase that opens a question, "Under the data law, …", is the document's name, if there is."""
    if not tokens or len(tokens) > _LONGEST_OPENING or tokens[0].casefold() not in _PREPOSITIONS:
        return True
    return _is_own([token for token in tokens[1:] if token.casefold() not in STOP_WORDS], own)


def _phrase(tokens: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words of a name up to a verb, a mark or a word of no name, and whether a verb ends it."""
    name: list[str] = []
    for token in tokens:
        bare = token.strip("?!.,;:()\"“”'‘’").casefold()
        if bare in _VERBS:
            return name, True
        if bare in STOP_WORDS and bare not in _LINKS:
            break
        if bare not in STOP_WORDS:
            name.append(bare)
        if token[-1:] in "?!.,;:)":
            break
    return name, False


def _is_own(name: Sequence[str], own: set[str]) -> bool:
    """Return whether every word of a name is one of the document's title."""
    return all(set(words(token)) <= own or token.casefold() in _ANY_DOCUMENT for token in name)


def _helps(tokens: Sequence[str]) -> bool:
    """Return whether a word before a part asks for a verb behind it: "What does article 5 of the law punish?"."""
    return any(token.casefold() in _HELPING for token in tokens)

"""Offices: which one a question asks for the holder of, whether a text names it, and its long or short form.

"Who is the CEO of Adobe?" is answered by a sentence about the chief executive officer, and not by one about the chief
marketing officer. By rule, in English.
"""

from __future__ import annotations

import re

_LONG_FORMS = {
    "ceo": "chief executive officer",
    "cfo": "chief financial officer",
    "coo": "chief operating officer",
    "cto": "chief technology officer",
    "cio": "chief information officer",
    "cmo": "chief marketing officer",
}
"""Abbreviations of offices, each with its one usual long form."""
_OFFICE_NOUNS = (
    r"officer|executive|president|director|manager|chair|chairman|chairwoman|chairperson|secretary|minister|treasurer"
    r"|editor|head|lead|leader|partner|counsel|auditor|engineer|physician|investigator|captain|coach|mayor|governor|dean"
    r"|principal|caretaker|curator"
)
_ABBREVIATION = re.compile(rf"\b(?:{'|'.join(_LONG_FORMS)})\b", re.IGNORECASE)
_LONG_FORM = re.compile(rf"\b(?:{'|'.join(_LONG_FORMS.values())})\b", re.IGNORECASE)
_ASKS_HOLDER = re.compile(
    r"^\W*who(?:['’]s| (?:is|are|was|were|will be|became|serves as|works as))\b(?: [\w.&’'-]{1,40}){0,5}?"
    rf"(?: (?:the|our|your|a|an|its|their|current|new|present|acting|interim)|['’]s?)* "
    rf"(?P<office>(?:(?!the |of |for |at )[a-z-]{{2,20}} (?:and )?){{0,2}}(?:{_OFFICE_NOUNS}))\b",
    re.IGNORECASE,
)
"""Asks who holds an office: "Who is the chief executive officer of Adobe?", "Who is Adobe's finance director?"."""
_DEPUTY_WORDS = frozenset(("vice", "deputy", "assistant", "associate"))
"""Words that, before the name of an office, name another one: "vice president"."""
_ARTICLES = frozenset(("the", "our", "your", "a", "an", "its", "their", "s"))
_TIME_WORDS = frozenset(
    ("current", "new", "present", "acting", "interim", "former", "first", "second", "third", "next", "last")
)
_NO_OFFICE_WORDS = _ARTICLES | _TIME_WORDS | {"female", "male", "youngest", "oldest"}
_ORGANISATION = r"(?P<organisation>[A-Z][\w&.-]{0,30}(?: (?:& )?[A-Z][\w&.-]{0,30}){0,4})"
_ORGANISATION_BEFORE = re.compile(rf"{_ORGANISATION}(?:['’]s?)? (?:former |new |then |current )?$")
_ORGANISATION_BEHIND = re.compile(rf" (?:of|at|for) (?:the )?{_ORGANISATION}")
_WORD = re.compile(r"[^\W_]+")


def other_spelling(question: str) -> str:
    """Return a question with an office's abbreviation spelled out, or its long form abbreviated; "" without either."""
    if _ABBREVIATION.search(question):
        return spelled_out(question)
    if not _LONG_FORM.search(question):
        return ""
    abbreviations = {long_form: abbreviation.upper() for abbreviation, long_form in _LONG_FORMS.items()}
    return _LONG_FORM.sub(lambda match: abbreviations[match[0].casefold()], question)


def spelled_as_in(question: str, text: str) -> str:
    """Return a question with its office abbreviated, or spelled out, if a text has only that other spelling.

    A text that has both spellings, or neither, leaves the question as it is.
    """
    is_abbreviated = _ABBREVIATION.search(question) is not None
    own_pattern, other_pattern = (_ABBREVIATION, _LONG_FORM) if is_abbreviated else (_LONG_FORM, _ABBREVIATION)
    other_question = other_spelling(question)
    text_has_other_only = other_pattern.search(text) and not own_pattern.search(text)
    return other_question if other_question and text_has_other_only else question


def asked_office(question: str) -> tuple[str, ...]:
    """Return the words of the office whose holder a question asks for, e.g. ("finance", "director"); () if none.

    An abbreviation is spelled out: ("chief", "executive", "officer") for "CEO".
    """
    match = _ASKS_HOLDER.search(spelled_out(question))
    if match is None:
        return ()
    return tuple(word for word in _tokens(match["office"]) if word not in _NO_OFFICE_WORDS)


def names_office(text: str, office: tuple[str, ...]) -> bool:
    """Return whether a text names an office, given as words, in their order or as "director of finance".

    "Chief executive" is enough for a chief executive officer; a vice president is not a president.
    """
    if not office:
        return False
    tokens = _tokens(spelled_out(text))
    *first_words, last_word = office
    may_omit_last = len(office) > 2 and last_word == "officer"
    names = [tuple(first_words) if may_omit_last else office]
    if first_words:
        names.append((last_word, "of", *first_words))
    return any(_is_named_at(tokens, index, name) for name in names for index in range(len(tokens)))


def attached_names(text: str, office: tuple[str, ...], *, near: str) -> list[str]:
    """Return the names of organisations beside the mention of an office that is nearest to some words of a text.

    This is "Norwich City" in "Norwich City manager", "Norwich City's manager" and "manager of Norwich City". [] if the
    text does not have both.

    Args:
        text: A sentence.
        office: The words of the office.
        near: Words of the sentence, e.g. the name of the office's holder.
    """
    near_start, spans = text.find(near), _spans_of_office(text, office)
    if near_start < 0 or not spans:
        return []
    near_end = near_start + len(near)
    start, end = min(spans, key=lambda span: min(abs(span[1] - near_start), abs(span[0] - near_end)))
    matches = (_ORGANISATION_BEFORE.search(text[:start]), _ORGANISATION_BEHIND.match(text[end:]))
    names = [match["organisation"] for match in matches if match]
    return [name for name in names if name != near and any(map(_may_be_organisation_word, _tokens(name)))]


def _spans_of_office(text: str, office: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the spans in which a text names an office, by its words in their order or by its abbreviation."""
    matches = list(_WORD.finditer(text))
    spans = []
    for index, match in enumerate(matches):
        run = matches[index : index + len(office)]
        if _LONG_FORMS.get(match[0].casefold()) == " ".join(office):
            spans.append(match.span())
        elif tuple(word[0].casefold() for word in run) == office:
            spans.append((match.start(), run[-1].end()))
    return spans


def _may_be_organisation_word(token: str) -> bool:
    """Return whether a word in lower case can be part of an organisation's name, and not of an office or a title."""
    return token not in _NO_OFFICE_WORDS | _DEPUTY_WORDS | {"executive", "mr", "mrs", "ms", "dr", "sir", "board", "i"}


def _is_named_at(tokens: list[str], index: int, office: tuple[str, ...]) -> bool:
    """Return whether an office is named at an index of some words, and not a deputy of it or somebody reporting to it.

    "Chief of Staff to the Chief Executive Officer" names no chief executive officer.
    """
    second_previous, previous = ["", "", *tokens[:index]][-2:]
    is_other_office = previous in _DEPUTY_WORDS or (second_previous == "to" and previous in _ARTICLES)
    return not is_other_office and tuple(tokens[index : index + len(office)]) == office


def spelled_out(text: str) -> str:
    """Return a text with all abbreviations of offices spelled out."""
    return _ABBREVIATION.sub(lambda match: _LONG_FORMS[match[0].casefold()], text)


def _tokens(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [token.casefold() for token in _WORD.findall(text)]

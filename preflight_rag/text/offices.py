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
"""Long forms of the abbreviations of which each has one usual meaning."""
_HEADS = (
    r"officer|executive|president|director|manager|chair|chairman|chairwoman|chairperson|secretary|minister|treasurer"
    r"|editor|head|lead|leader|partner|counsel|auditor|engineer|physician|investigator"
)
_ABBREVIATION = re.compile(rf"\b(?:{'|'.join(_LONG_FORMS)})\b", re.IGNORECASE)
_LONG_FORM = re.compile(rf"\b(?:{'|'.join(_LONG_FORMS.values())})\b", re.IGNORECASE)
_ASKED = re.compile(
    r"^\W*who(?:['’]s| (?:is|are|was|were|will be|became|serves as|works as))\b(?: [\w.&’'-]{1,40}){0,5}?"
    rf"(?: (?:the|our|your|a|an|its|their|current|new|present|acting|interim)|['’]s?)* "
    rf"(?P<office>(?:(?!the |of |for |at )[a-z-]{{2,20}} (?:and )?){{0,2}}(?:{_HEADS}))\b",
    re.IGNORECASE,
)
"""Asks who holds an office: "Who is the chief executive officer of Adobe?", "Who is Adobe's finance director?"."""
_DEPUTY = frozenset(("vice", "deputy", "assistant", "associate"))
"""Words before an office that make another one of it, as in "vice president"."""
_ARTICLES = frozenset(("the", "our", "your", "a", "an", "its", "their", "s"))
_TIMES = frozenset(
    ("current", "new", "present", "acting", "interim", "former", "first", "second", "third", "next", "last")
)
_NO_PART_OF_IT = _ARTICLES | _TIMES | {"female", "male", "youngest", "oldest"}
_WORD = re.compile(r"[^\W_]+")


def other_spelling(question: str) -> str:
    """Return a question with an office's abbreviation spelled out, or its long form abbreviated; "" without either."""
    if _ABBREVIATION.search(question):
        return _ABBREVIATION.sub(lambda match: _LONG_FORMS[match[0].casefold()], question)
    short = {long: abbreviation.upper() for abbreviation, long in _LONG_FORMS.items()}
    return _LONG_FORM.sub(lambda match: short[match[0].casefold()], question) if _LONG_FORM.search(question) else ""


def spelled_as_in(question: str, text: str) -> str:
    """Return a question with an office's abbreviation spelled out, or its long form abbreviated, where a text does so.

    A text that has both, or neither, leaves the question as it is.
    """
    other = other_spelling(question)
    mine = _ABBREVIATION if _ABBREVIATION.search(question) else _LONG_FORM
    theirs = _LONG_FORM if mine is _ABBREVIATION else _ABBREVIATION
    return other if other and theirs.search(text) and not mine.search(text) else question


def asked_office(question: str) -> tuple[str, ...]:
    """Return the words of the office that a question asks for the holder of, e.g. ("finance", "director"); () if none.

    An abbreviation is spelled out: ("chief", "executive", "officer") for "CEO".
    """
    spelled = _ABBREVIATION.sub(lambda match: _LONG_FORMS[match[0].casefold()], question)
    match = _ASKED.search(spelled)
    if match is None:
        return ()
    return tuple(word for word in _tokens(match["office"]) if word not in _NO_PART_OF_IT)


def names_office(text: str, office: tuple[str, ...]) -> bool:
    """Return whether a text names an office, in the order of its words or as "director of finance".

    "Chief executive" is enough for a chief executive officer; a vice president is not a president.
    """
    tokens = _tokens(_ABBREVIATION.sub(lambda match: _LONG_FORMS[match[0].casefold()], text))
    needed = office[:-1] if len(office) > 2 and office[-1] == "officer" else office
    if any(_stands_at(tokens, place, needed) for place in range(len(tokens))):
        return True
    return len(office) > 1 and any(
        _stands_at(tokens, place, (office[-1], "of", *office[:-1])) for place in range(len(tokens))
    )


def _stands_at(tokens: list[str], place: int, office: tuple[str, ...]) -> bool:
    """Return whether an office's words stand at a place, and are no deputy's and nobody's who serves under it.

    "Chief of Staff to the Chief Executive Officer" names no chief executive officer.
    """
    earlier, before = ["", "", *tokens[:place]][-2:]
    another = before in _DEPUTY or (earlier == "to" and before in _ARTICLES)
    return not another and tuple(tokens[place : place + len(office)]) == office


def _tokens(text: str) -> list[str]:
    return [token.casefold() for token in _WORD.findall(text)]

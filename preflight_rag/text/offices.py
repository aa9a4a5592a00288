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
    r"|editor|head|lead|leader|partner|counsel|auditor|engineer|physician|investigator|captain|coach|mayor|governor|dean"
    r"|principal|caretaker|curator"
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
_HOUSE = r"(?P<house>[A-Z][\w&.-]{0,30}(?: (?:& )?[A-Z][\w&.-]{0,30}){0,4})"
_HOUSE_BEFORE = re.compile(rf"{_HOUSE}(?:['’]s?)? (?:former |new |then |current )?$")
_HOUSE_BEHIND = re.compile(rf" (?:of|at|for) (?:the )?{_HOUSE}")
_WORD = re.compile(r"[^\W_]+")


def other_spelling(question: str) -> str:
    """Return a question with an office's abbreviation spelled out, or its long form abbreviated; "" without either."""
    if _ABBREVIATION.search(question):
        return spelled_out(question)
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
    """Return the words of the office whose holder a question asks for, e.g. ("finance", "director"); () if none.

    An abbreviation is spelled out: ("chief", "executive", "officer") for "CEO".
    """
    match = _ASKED.search(spelled_out(question))
    if match is None:
        return ()
    return tuple(word for word in _tokens(match["office"]) if word not in _NO_PART_OF_IT)


def names_office(text: str, office: tuple[str, ...]) -> bool:
    """Return whether a text names an office, in the order of its words or as "director of finance".

    "Chief executive" is enough for a chief executive officer; a vice president is not a president.
    """
    tokens = _tokens(spelled_out(text))
    needed = office[:-1] if len(office) > 2 and office[-1] == "officer" else office
    turned = (office[-1], "of", *office[:-1]) if len(office) > 1 else ()
    places = range(len(tokens))
    return any(_stands_at(tokens, place, words) for words in (needed, turned) if words for place in places)


def attached_names(text: str, office: tuple[str, ...], *, near: str) -> list[str]:
    """Return the names that a text attaches to the mention of an office nearest to another stretch of it.

    That is the house of "Norwich City manager", "Norwich City's manager" and "manager of Norwich City".

    Args:
        text: A sentence.
        office: The words of the office.
        near: A stretch of the sentence, e.g. the office's holder.
    """
    at, mentions = text.find(near), _mentions(text, office)
    if at < 0 or not mentions:
        return []
    end = at + len(near)
    begins, ends = min(mentions, key=lambda span: min(abs(span[1] - at), abs(span[0] - end)))
    names = [match["house"] for match in (_HOUSE_BEFORE.search(text[:begins]),) if match]
    names += [match["house"] for match in (_HOUSE_BEHIND.match(text[ends:]),) if match]
    return [name for name in names if name != near and any(_is_a_house(token) for token in _tokens(name))]


def _mentions(text: str, office: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the spans in which a text names an office, by its words in their order or its abbreviation."""
    tokens = [(match[0].casefold(), match.span()) for match in _WORD.finditer(text)]
    found = []
    for place, (token, span) in enumerate(tokens):
        run = tokens[place : place + len(office)]
        if _LONG_FORMS.get(token) == " ".join(office):
            found.append(span)
        elif tuple(each for each, _ in run) == office:
            found.append((span[0], run[-1][1][1]))
    return found


def _is_a_house(token: str) -> bool:
    """Return whether a token can be part of an organisation's name."""
    return token not in _NO_PART_OF_IT | _DEPUTY | {"executive", "mr", "mrs", "ms", "dr", "sir", "board", "i"}


def _stands_at(tokens: list[str], place: int, office: tuple[str, ...]) -> bool:
    """Return whether an office is named at a place, and not a deputy of it or somebody reporting to it.

    "Chief of Staff to the Chief Executive Officer" names no chief executive officer.
    """
    earlier, before = ["", "", *tokens[:place]][-2:]
    another = before in _DEPUTY or (earlier == "to" and before in _ARTICLES)
    return not another and tuple(tokens[place : place + len(office)]) == office


def spelled_out(text: str) -> str:
    """Return a text with all abbreviations of offices spelled out."""
    return _ABBREVIATION.sub(lambda match: _LONG_FORMS[match[0].casefold()], text)


def _tokens(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [token.casefold() for token in _WORD.findall(text)]

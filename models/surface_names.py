"""The names that a question speaks of, and what a passage says to tell its bearer of a name from others.

"Broken Bow, Oklahoma", "Bobby Carpenter (American football)" and "Araki Station is a railway station in Abiko" each
hold a surface name and a descriptor (COrg, section 2.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .words import STOP_WORDS, words

Name = tuple[str, ...]

_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{2,80})[\"”»]")
_OPENERS = STOP_WORDS | {"name", "list", "tell", "give", "describe", "explain", "define", "compare", "show", "find"}
_LINKS = frozenset({"of", "the", "de", "la", "van", "von"})
_SEPARATORS = re.compile(r"\s+[-–—|:]\s+|\s*[|·]\s*|:\s+")
_PARENTHESIS = re.compile(r"\s?\(\s?([^()]{2,80}?)\s?\)")
_APPOSITION = re.compile(r"\s?,\s(?:(?:in|near) )?((?:[^\W\d_a-zß-ÿ][\w'’.-]*[ ,]{0,2}){1,4})")
_DESCRIBING = re.compile(r"(?=[^a-z]*[A-Za-z]?[a-z]{2})[\w\s,.'’&/-]{3,60}")
_CAPITALISED = re.compile(r"(?:(?:[^\W\d_a-zß-ÿ][\w'’.-]*|\d+(?:st|nd|rd|th)?|of|the) ){1,4}")
_MOST_TERMS = 4
_ABBREVIATION = 5
_RELATING = frozenset(
    {"for", "with", "and", "or", "by", "from", "on", "at", "to", "after", "during", "among", "between", "as", "vs"}
    | {"versus", "is", "are", "was", "how"}
)
_SECTIONS = STOP_WORDS | {
    "background", "introduction", "objective", "objectives", "aim", "aims", "purpose", "methods", "results",
    "conclusion", "conclusions", "although",
}  # fmt: skip
_SAME_THING = re.compile(
    r"(?:also|formerly|previously|known|called|or|aka|abbreviated|born|b\.|c\.|e\.g|i\.e|see|fig)\b", re.I
)
_RANKS = frozenset(
    {"general", "judge", "justice", "governor", "admiral", "captain", "colonel", "major", "senator", "president"}
    | {"attorney", "minister", "king", "queen", "prince", "princess", "duke", "count", "lord", "lady", "sir", "saint"}
    | {"st", "pope", "bishop", "archbishop", "cardinal", "dr", "doctor", "professor", "mr", "mrs", "miss"}
)
_TITLE_END = re.compile(r"[(,|:]|\s[-–—]\s")
_LEAD_END = re.compile(r"\s?[(,:]|\s(?:is|was|are|were)\s")
_LEAD = 60
_SITE = frozenset(words("wikipedia britannica encyclopedia free edit redirect disambiguation born pronounced com org"))


@dataclass(frozen=True)
class Bearer:
    """What a passage tells a bearer of a name by: index terms of the descriptor, and the words that show it."""

    words: frozenset[str]
    shown: str


def surface_names(question: str) -> list[Name]:
    """Quoted phrases and runs of capitalised words of a question, casefolded, longest first; none in lower case."""
    found = [tokens(quoted) for quoted in _QUOTED.findall(question)]
    rest = _QUOTED.sub(" . ", question)
    run: list[str] = []
    for token in [*re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", rest), "."]:
        starts = token[0].isupper() or any(map(str.isdigit, token))
        if token.casefold() in _LINKS if run and not starts else starts and (run or token.casefold() not in _OPENERS):
            run.append(token)
        elif token not in {"-", "."} or not run or len(run[-1]) > 1:
            found.append(_trimmed(run))
            run = []
    found += [_unranked(name) for name in found]
    named = {name for name in found if any(not token.isdigit() for token in name)}
    return sorted(named, key=lambda name: (-len(name), name))


def _trimmed(run: Sequence[str]) -> Name:
    while run and run[-1].casefold() in _LINKS:
        run = run[:-1]
    if not any(token[0].isupper() for token in run):
        return ()
    return tokens(" ".join(run))


def _unranked(name: Name) -> Name:
    """A person's name without rank or title: passages call General Bryan by his first names."""
    while len(name) > 1 and name[0] in _RANKS:
        name = name[1:]
    return name


def tokens(text: str) -> Name:
    """The words of a text as they are compared here: casefolded, possessive endings dropped."""
    return tuple(re.sub(r"['’]s?$", "", token) for token in _TOKEN.findall(text.casefold()))


def leading_names(title: str, text: str, question: Name) -> list[Name]:
    """What stands before the descriptor in a title and in the text's opening, where the question holds it."""
    found = []
    for head in (tokens(_TITLE_END.split(title, maxsplit=1)[0]), tokens(_LEAD_END.split(text[:_LEAD], maxsplit=1)[0])):
        if any(token not in STOP_WORDS for token in head) and position(head, question) >= 0:
            found.append(head)
    return found


def position(name: Name, within: Name) -> int:
    """Where a name stands in a sequence of words, or -1."""
    size = len(name)
    return next((i for i in range(len(within) - size + 1) if within[i : i + size] == name), -1)


def bearer(name: Name, title: str, text: str, asked: frozenset[str]) -> Bearer | None:
    """What the passage says to tell the bearer of a name from others, or None where it says nothing.

    Args:
        name: The surface name.
        title: The passage's title.
        text: The passage's text.
        asked: Index terms of the question; they describe nothing.
    """
    pattern = _pattern(name)
    if match := pattern.search(title):
        head = _SEPARATORS.split(title, maxsplit=1)[0]
        around = f"{title[: match.start()]} {head[match.end() :]}" if match.end() <= len(head) else ""
        found = _terms(around, name, asked)
        if 0 < len(found) <= _MOST_TERMS and not _RELATING & set(tokens(around)):
            return Bearer(found, head.strip())
    lead = pattern.search(text, 0, _LEAD)
    if lead and lead.group()[0].isupper() and _CAPITALISED.fullmatch(text, 0, lead.start()):
        found = _terms(text[: lead.start()], name, asked)
        if 0 < len(found) <= _MOST_TERMS and not _SECTIONS & set(tokens(text[: lead.start()])):
            return Bearer(found, text[: lead.end()].strip())
    for match in pattern.finditer(text):
        after = _PARENTHESIS.match(text, match.end()) or (
            _APPOSITION.match(text, match.end()) if match.start() <= _LEAD else None
        )
        if after and _describes(after[1], name) and (found := _terms(after[1], name, asked)):
            return Bearer(found, text[match.start() : after.end()].strip(" ,"))
    return None


def _pattern(name: Name) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)" + r"\W{1,2}".join(map(re.escape, name)) + r"(?!\w)", re.I)


def _describes(aside: str, name: Name) -> bool:
    """Whether a parenthesis holds a descriptor: neither dates of life, nor figures, nor another name of the same."""
    if re.fullmatch(r"[12]\d{3}", aside):
        return True
    if not _DESCRIBING.fullmatch(aside) or len(re.findall(r"\d{3,4}", aside)) > 1 or _SAME_THING.match(aside):
        return False
    abbreviates = aside[0].isupper() and len(aside) <= _ABBREVIATION and aside[0].casefold() == name[0][0]
    return " " in aside or not abbreviates


def _terms(descriptor: str, name: Name, asked: frozenset[str]) -> frozenset[str]:
    """Index terms of a descriptor, without the name, the question and what sites add to titles."""
    return frozenset(words(descriptor)) - asked - _SITE - frozenset(words(" ".join(name)))

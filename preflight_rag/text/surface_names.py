"""The names that a question asks about, and whether a context may be about them (COrg, section 2.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from preflight_rag.text.answer_values import CAPITAL, NAME
from preflight_rag.text.words import STOP_WORDS, words

Name = tuple[str, ...]

_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_QUOTED = re.compile(r"[\"“«]\s*([^\"”»]{2,80}?)\s*[\"”»]|(?<!\w)['‘]([^'’]{2,60})['’](?!\w)")
_INTERROGATIVE = re.compile(
    r"^(?:(?:in|on|at|of|for|by|to|from)\s)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|"
    r"can|could|will|would|should|has|have|had|tell|name|list|give)\b(?:['’]s)?\s?",
    re.I,
)
_OPENERS = STOP_WORDS | {"name", "list", "tell", "give", "describe", "explain", "define", "compare", "show", "find"}
_LINKS = frozenset({"of", "the", "de", "la", "van", "von"})
RANKS = frozenset(
    {"general", "judge", "justice", "governor", "admiral", "captain", "colonel", "major", "senator", "president"}
    | {"attorney", "minister", "king", "queen", "prince", "princess", "duke", "count", "lord", "lady", "sir", "saint"}
    | {"st", "pope", "bishop", "archbishop", "cardinal", "dr", "doctor", "professor", "mr", "mrs", "miss"}
)


def surface_name(question: str) -> str:
    """The name that a question asks about: what it puts in quotation marks, else its longest run of capitals."""
    quoted = _QUOTED.search(question)
    if quoted:
        return " ".join((quoted[1] or quoted[2]).split())
    rest = _INTERROGATIVE.sub("", question.strip().rstrip("?.! "), count=1)
    runs = [match.group().rstrip(".'’-") for match in re.finditer(rf"{NAME.pattern}(?:, {CAPITAL})*", rest)]
    named = [run for run in runs if re.search(r"[^\W\d_]", run)]
    return max(named, key=lambda run: (len(run.split()), len(run)), default="")


def surface_names(question: str) -> list[Name]:
    """Quoted phrases and runs of capitalised words of a question, casefolded, longest first; none in lower case."""
    found = [tokens(double or single) for double, single in _QUOTED.findall(question)]
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
    while len(name) > 1 and name[0] in RANKS:
        name = name[1:]
    return name


def tokens(text: str) -> Name:
    """The words of a text as they are compared here: casefolded, possessive endings dropped."""
    return tuple(re.sub(r"['’]s?$", "", token) for token in _TOKEN.findall(text.casefold()))


def position(name: Name, within: Name) -> int:
    """Where a name stands in a sequence of words, or -1."""
    size = len(name)
    return next((i for i in range(len(within) - size + 1) if within[i : i + size] == name), -1)


def speaks_of(name: str, title: str, text: str) -> bool:
    """Whether a context may be about a name.

    It is about something else if its document has a title, and title and text hold no more than half of the name's
    words. Without a title, what the document is about is not known.
    """
    wanted = frozenset(words(name))
    return not wanted or not title or 2 * len(wanted & frozenset(words(f"{title}\n{text}"))) > len(wanted)


def proper_terms(text: str) -> frozenset[str]:
    """Terms of the names and numbers of a text."""
    tokens = re.findall(r"\S+", text)
    inner = (token for before, token in pairwise(["", *tokens]) if token[:1].isupper() or token[:1].isdigit())
    return frozenset(term for token in inner for term in words(token))

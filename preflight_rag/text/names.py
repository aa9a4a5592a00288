"""Names: those in a question, whether a context may be about them (COrg, section 2.1), and whether two are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, pairwise

from preflight_rag.text.words import STOP_WORDS, words

Name = tuple[str, ...]

CAPITAL = r"[A-Z0-9À-Ý][\w.'’&-]*"
NAME = re.compile(rf"(?<![\w@]){CAPITAL}(?:\s(?:(?:of|the|and|de|la|von|van|du|for|&)\s){{0,2}}{CAPITAL})*")

RELATIVES = "father|mother|parents?|wife|husband|partner|sons?|daughters?|child(?:ren)?|brothers?|sisters?"
"""Who belongs to somebody's family, for a pattern."""
_TOKEN = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_QUOTED = re.compile(r"[\"“«]([^\"”»]{2,80})[\"”»]|(?<!\w)['‘]([^'’]{2,60})['’](?!\w)")
_INTERROGATIVE = re.compile(
    r"^(?:(?:in|on|at|of|for|by|to|from)\s)?(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|"
    r"can|could|will|would|should|may|might|must|shall|has|have|had|tell|name|list|give)\b(?:['’]s)?\s?",
    re.I,
)
_PROPERTY_OF = re.compile(
    r"^what(?:['’]s| is| are| was| were)\s(?:the |a |an )?(?:[\w-]+\s){1,3}?of\s(?P<subject>[\w-]+)", re.I
)
_AMOUNT_OF = re.compile(r"how much\s(?P<subject>[\w-]+)\s(?:should|can|may|do|does|is|are|was|were)\b", re.I)
_NUMBERED_PLACE = re.compile(
    r"\b(?:flats?|apartments?|rooms?|units?|houses?|blocks?|gates?|bays?|desks?|lockers?|seats?|halls?|platforms?|suites?"
    r"|studios?|offices?|buildings?|plots?|berths?|pitch(?:es)?|stands?|buses|bus|routes?)\s"
    r"(?P<code>\d{1,4}[a-z]|[a-z]\d{1,4})\b",
    re.I,
)
LONGEST_INITIALS = 8
"""Most letters of an abbreviation; longer runs of capitals are words (a guess)."""
_LEAD_IN = re.compile(r"(?:And|But|So|Or|Then|Also)\b,? *")
"""A follow-up's first word, which is no name: "And what did it cost?"."""
_OPENERS = STOP_WORDS | {"name", "list", "tell", "give", "describe", "explain", "define", "compare", "show", "find"}
_ASKING = frozenset(
    words("stand short mean meaning abbreviation acronym name term word define definition explain describe tell know")
)
"""Terms that ask what a name stands for, and are not part of the subject."""
_LINKS = frozenset({"of", "the", "de", "la", "van", "von"})
RANKS = frozenset(
    {"general", "judge", "justice", "governor", "admiral", "captain", "colonel", "major", "senator", "president"}
    | {"attorney", "minister", "king", "queen", "prince", "princess", "duke", "count", "lord", "lady", "sir", "saint"}
    | {"st", "pope", "bishop", "archbishop", "cardinal", "dr", "doctor", "professor", "mr", "mrs", "miss"}
)


def surface_name(question: str) -> str:
    """Return the name in a question: its quoted words, else its longest capitalised run."""
    quoted = _QUOTED.search(question)
    if quoted:
        return " ".join((quoted[1] or quoted[2]).split())
    rest = _INTERROGATIVE.sub("", _LEAD_IN.sub("", question.strip().rstrip("?.! "), count=1), count=1)
    runs = [match.group().rstrip(".'’-") for match in re.finditer(rf"{NAME.pattern}(?:, {CAPITAL})*", rest)]
    named = [run for run in runs if re.search(r"[^\W\d_]", run) and not re.fullmatch(r"I(?:['’]\w+)?", run)]
    return max(named, key=lambda run: (len(run.split()), len(run)), default="")


def subject_of(question: str) -> str:
    """Return the subject of a question: its name, or, in lower case, the thing whose property or amount it asks for."""
    if name := surface_name(question):
        return name
    found = _PROPERTY_OF.search(question) or _AMOUNT_OF.match(question.strip())
    terms = [word for word in found["subject"].split() if word.casefold() not in STOP_WORDS] if found else []
    return " ".join(terms)


def only_subject(question: str) -> str:
    """Return the name, code or abbreviation that a question asks about as a whole; "" for questions about a property.

    "Who is Mara Lindqvist?", "What does GX-2290 mean?", but not "Who painted the Mona Lisa?".
    """
    left: list[str] = []
    for token in (token.strip("?!.,;:()\"“”'‘’") for token in question.split()):
        # After a capitalised word, "He" is a family name, too: "Who is Maolin He?"
        is_name = bool(left) and token[:1].isupper()
        if token and (is_name or (token.casefold() not in _OPENERS and not set(words(token)) <= _ASKING)):
            left.append(token)
    subject = " ".join(left)
    return subject if left and all(re.search(r"[A-Z0-9]", token) for token in left) and subject in question else ""


def mentions(text: str, name: str) -> bool:
    """Return whether a text contains a name, with its capitals or, if the name is in lower case, with any."""
    case = "(?i)" if name.islower() else ""
    found = re.finditer(rf"{case}(?<!\w){re.escape(name)}(?!\w)", text)
    return any(match[0][:1].isupper() or not case for match in found)


def surface_names(question: str) -> list[Name]:
    """Return quoted phrases and runs of capitalised words of a question, casefolded, longest first."""
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
    named = set()
    for name in found:
        if any(not token.isdigit() for token in name):
            named.add(name)
    return sorted(named, key=lambda name: (-len(name), name))


def numbered_places(text: str) -> list[str]:
    """Return the codes of places and parts in a text, a number and a letter behind what they number: "flat 5A"."""
    return [match["code"] for match in _NUMBERED_PLACE.finditer(text)]


def _trimmed(run: Sequence[str]) -> Name:
    """Return a run of tokens as a name, without linking words at its end; () if nothing is capitalised."""
    while run and run[-1].casefold() in _LINKS:
        run = run[:-1]
    if not any(token[0].isupper() for token in run):
        return ()
    return tokens(" ".join(run))


def _unranked(name: Name) -> Name:
    """Return a person's name without rank or title: passages call General Bryan by his first names."""
    while len(name) > 1 and name[0] in RANKS:
        name = name[1:]
    return name


def tokens(text: str) -> Name:
    """Return the words of a text in the form for comparing names: casefolded, without possessive endings."""
    found = _TOKEN.findall(text.casefold())
    # Checked first because almost no word has an apostrophe: the expression took a tenth of a turn's work over
    # passages.
    return tuple(_POSSESSIVE.sub("", token) if "'" in token or "’" in token else token for token in found)


def position(name: Name, within: Name) -> int:
    """Return the position of a name in a sequence of words, or -1."""
    if not name:
        return 0
    at = -1
    with suppress(ValueError):  # from `index`, if the first word does not occur
        while True:
            at = within.index(name[0], at + 1)
            if within[at : at + len(name)] == name:
                return at
    return -1


def speaks_of(name: str, title: str, text: str) -> bool:
    """Return whether a context may be about a name.

    A context is about something else if its document has a title, and title and text contain no more than half of the
    name's words. Without a title, the document's subject is unknown.
    """
    wanted = frozenset(words(name))
    return not wanted or not title or 2 * len(wanted & frozenset(words(f"{title}\n{text}"))) > len(wanted)


def proper_terms(text: str) -> frozenset[str]:
    """Return the terms of the names and numbers of a text."""
    tokens = re.findall(r"\S+", text)
    inner = (token for before, token in pairwise(["", *tokens]) if token[:1].isupper() or token[:1].isdigit())
    return frozenset(chain.from_iterable(map(words, inner)))


def abbreviates(short: str, name: str) -> bool:
    """Return whether a text is the initials of a name: "WHO" of "World Health Organization"."""
    letters = short.strip(" .").replace(".", "")
    if not (2 <= len(letters) <= LONGEST_INITIALS and letters.isalpha() and letters.isupper()):
        return False
    parts = [part for part in re.findall(r"[^\W\d_]+", name) if part.casefold() not in STOP_WORDS]
    return letters.casefold() == "".join(part[0] for part in parts).casefold()


def folded(text: str) -> str:
    """Return the text casefolded and without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return plain.replace("&", " and ")


def same_name(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether one list of name words contains the other, without titles, initials matching full names."""
    first, second = (_untitled(tokens) for tokens in (a, b))
    fewer, more = sorted((first, second), key=len)
    left = list(more)
    whole = False
    for token in sorted(fewer, key=len, reverse=True):
        same = next((other for other in left if other == token), None) or next(
            (other for other in left if _initial(token, other)), None
        )
        if same is None:
            return False
        left.remove(same)
        whole = whole or (same == token and len(token) > 1)
    return whole


def _initial(a: str, b: str) -> bool:
    """Return whether one of two words is the other's first letter."""
    return 1 in (len(a), len(b)) and a[0] == b[0] and a.isalpha() and b.isalpha()


def _untitled(tokens: Sequence[str]) -> list[str]:
    """Return the tokens without ranks and titles such as Dr; all of them if nothing else is left."""
    return [token for token in tokens if token not in RANKS] or list(tokens)

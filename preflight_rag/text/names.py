"""Names: those in a question, whether a context may be about them (COrg, section 2.1), and whether two are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from preflight_rag.text.words import STOP_WORDS, words

Name = tuple[str, ...]

CAPITAL = r"[A-Z0-9À-Ý][\w.'’&-]*"
NAME = re.compile(rf"(?<![\w@]){CAPITAL}(?:\s(?:(?:of|the|and|de|la|von|van|du|for|&)\s){{0,2}}{CAPITAL})*")

RELATIVES = "father|mother|parents?|wife|husband|partner|sons?|daughters?|child(?:ren)?|brothers?|sisters?"
"""Words for members of a person's family, as alternatives of a regular expression."""
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
_FOLLOW_UP_WORD = re.compile(r"(?:And|But|So|Or|Then|Also)\b,? *")
"""The first word of a follow-up question, which is no name: "And what did it cost?"."""
_NO_NAME_AT_START = STOP_WORDS | {
    "name",
    "list",
    "tell",
    "give",
    "describe",
    "explain",
    "define",
    "compare",
    "show",
    "find",
}
_ASKING_TERMS = frozenset(
    words("stand short mean meaning abbreviation acronym name term word define definition explain describe tell know")
)
"""Terms that ask what a name stands for, and are not part of the subject."""
_LINKING_WORDS = frozenset({"of", "the", "de", "la", "van", "von"})
RANKS = frozenset(
    {"general", "judge", "justice", "governor", "admiral", "captain", "colonel", "major", "senator", "president"}
    | {"attorney", "minister", "king", "queen", "prince", "princess", "duke", "count", "lord", "lady", "sir", "saint"}
    | {"st", "pope", "bishop", "archbishop", "cardinal", "dr", "doctor", "professor", "mr", "mrs", "miss"}
)


def surface_name(question: str) -> str:
    """Return the name in a question: its first quoted words, else its longest run of capitalised words; "" if none."""
    quoted = _QUOTED.search(question)
    if quoted:
        return " ".join((quoted[1] or quoted[2]).split())
    without_follow_up_word = _FOLLOW_UP_WORD.sub("", question.strip().rstrip("?.! "), count=1)
    body = _INTERROGATIVE.sub("", without_follow_up_word, count=1)
    runs = [match.group().rstrip(".'’-") for match in re.finditer(rf"{NAME.pattern}(?:, {CAPITAL})*", body)]
    names = [run for run in runs if re.search(r"[^\W\d_]", run) and not re.fullmatch(r"I(?:['’]\w+)?", run)]
    return max(names, key=lambda name: (len(name.split()), len(name)), default="")


def subject_of(question: str) -> str:
    """Return the subject of a question: its name, or, in lower case, the thing whose property or amount it asks for.

    "" if there is neither. The subject of "What is the boiling point of ethanol?" is "ethanol".
    """
    if name := surface_name(question):
        return name
    match = _PROPERTY_OF.search(question) or _AMOUNT_OF.match(question.strip())
    if match is None:
        return ""
    return " ".join(word for word in match["subject"].split() if word.casefold() not in STOP_WORDS)


def only_subject(question: str) -> str:
    """Return the name, code or abbreviation that a question asks about as a whole; "" for questions about a property.

    "Who is Mara Lindqvist?", "What does GX-2290 mean?", but not "Who painted the Mona Lisa?".
    """
    subject_tokens: list[str] = []
    for word in question.split():
        token = word.strip("?!.,;:()\"“”'‘’")
        # After a capitalised word, "He" is a family name, too: "Who is Maolin He?"
        continues_name = bool(subject_tokens) and token[:1].isupper()
        is_asking = token.casefold() in _NO_NAME_AT_START or set(words(token)) <= _ASKING_TERMS
        if token and (continues_name or not is_asking):
            subject_tokens.append(token)
    subject = " ".join(subject_tokens)
    is_name = bool(subject_tokens) and all(re.search(r"[A-Z0-9]", token) for token in subject_tokens)
    return subject if is_name and subject in question else ""


def mentions(text: str, name: str) -> bool:
    """Return whether a text contains a name with its capitals.

    A name in lower case, as typed by a user, is found in the text with a capital at its beginning.
    """
    case = "(?i)" if name.islower() else ""
    matches = re.finditer(rf"{case}(?<!\w){re.escape(name)}(?!\w)", text)
    return any(match[0][:1].isupper() or not case for match in matches)


def surface_names(question: str) -> list[Name]:
    """Return quoted phrases and runs of capitalised words of a question, casefolded, longest first.

    A name with a rank, "General Bryan", is returned with and without it.
    """
    names = [tokens(double or single) for double, single in _QUOTED.findall(question)]
    without_quotes = _QUOTED.sub(" . ", question)
    run: list[str] = []
    for token in [*re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", without_quotes), "."]:
        is_name_word = token[0].isupper() or any(map(str.isdigit, token))
        if is_name_word:
            belongs_to_run = bool(run) or token.casefold() not in _NO_NAME_AT_START
        else:
            belongs_to_run = bool(run) and token.casefold() in _LINKING_WORDS
        if belongs_to_run:
            run.append(token)
        elif token not in {"-", "."} or not run or len(run[-1]) > 1:  # the full stop of an initial ends no name
            names.append(_name_of_run(run))
            run = []
    names += [_without_ranks(name) for name in names]
    with_letters = {name for name in names if not all(map(str.isdigit, name))}
    return sorted(with_letters, key=lambda name: (-len(name), name))


def numbered_places(text: str) -> list[str]:
    """Return the codes of places in a text, a number with a letter behind a word for a place: "5A" of "flat 5A"."""
    return [match["code"] for match in _NUMBERED_PLACE.finditer(text)]


def _name_of_run(run: Sequence[str]) -> Name:
    """Return a run of tokens as a name, without linking words at its end; () if nothing is capitalised."""
    while run and run[-1].casefold() in _LINKING_WORDS:
        run = run[:-1]
    if not any(token[0].isupper() for token in run):
        return ()
    return tokens(" ".join(run))


def _without_ranks(name: Name) -> Name:
    """Return a person's name without ranks or titles before it; the last word stays, even if it is one."""
    while len(name) > 1 and name[0] in RANKS:
        name = name[1:]
    return name


def tokens(text: str) -> Name:
    """Return the words of a text in the form for comparing names: casefolded, without possessive endings."""
    # Almost no word has an apostrophe: without the check, the pattern took a tenth of a turn's work over passages.
    return tuple(
        _POSSESSIVE.sub("", token) if "'" in token or "’" in token else token
        for token in _TOKEN.findall(text.casefold())
    )


def position(name: Name, within: Name) -> int:
    """Return the index at which a name begins in a sequence of words; -1 if it is not there, 0 for an empty name."""
    if not name:
        return 0
    index = -1
    with suppress(ValueError):  # from `index`, if the first word does not occur
        while True:
            index = within.index(name[0], index + 1)
            if within[index : index + len(name)] == name:
                return index
    return -1


def speaks_of(name: str, title: str, text: str) -> bool:
    """Return whether a context may be about a name.

    A context is about something else if its document has a title, and title and text contain no more than half of the
    name's words. Without a title, the document's subject is unknown.
    """
    name_terms = frozenset(words(name))
    if not name_terms or not title:
        return True
    return 2 * len(name_terms & frozenset(words(f"{title}\n{text}"))) > len(name_terms)


def proper_terms(text: str) -> frozenset[str]:
    """Return the index terms of the words of a text that begin with a capital or a digit."""
    proper = (token for token in text.split() if token[0].isupper() or token[0].isdigit())
    return frozenset(chain.from_iterable(map(words, proper)))


def abbreviates(short: str, name: str) -> bool:
    """Return whether a text is the initials of a name: "WHO" of "World Health Organization"."""
    letters = short.strip(" .").replace(".", "")
    if not (2 <= len(letters) <= LONGEST_INITIALS and letters.isalpha() and letters.isupper()):
        return False
    parts = [part for part in re.findall(r"[^\W\d_]+", name) if part.casefold() not in STOP_WORDS]
    return letters.casefold() == "".join(part[0] for part in parts).casefold()


def folded(text: str) -> str:
    """Return a text casefolded, without accents, and with "and" for "&"."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return plain.replace("&", " and ")


def same_name(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether one of two names, given as words, contains the other: ("j", "smith") and ("john", "smith").

    Titles do not count, an initial stands for a full name, and at least one full word must be in both.
    """
    fewer, more = sorted((_without_titles(a), _without_titles(b)), key=len)
    unmatched = list(more)
    shares_full_word = False
    for token in sorted(fewer, key=len, reverse=True):
        if token in unmatched:
            match = token
            shares_full_word = shares_full_word or len(token) > 1
        else:
            match = next((other for other in unmatched if _is_initial_of(token, other)), "")
        if not match:
            return False
        unmatched.remove(match)
    return shares_full_word


def _is_initial_of(a: str, b: str) -> bool:
    """Return whether one of two words is a single letter, and the first letter of the other."""
    return 1 in (len(a), len(b)) and a[0] == b[0] and a.isalpha() and b.isalpha()


def _without_titles(tokens: Sequence[str]) -> list[str]:
    """Return the tokens without ranks and titles such as Dr; all of them if nothing else is left."""
    return [token for token in tokens if token not in RANKS] or list(tokens)

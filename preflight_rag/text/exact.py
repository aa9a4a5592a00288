"""Exact strings: part numbers, error codes, versions, addresses, which must match letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]{1,200}")
_EDGES = ".,;:!?()[]{}<>\"'“”‘’«»„`*"
_CALLED = re.compile(
    r"\b(?:jobs?|tickets?|orders?|invoices?|cases?|errors?|codes?|parts?|items?|articles?|numbers?|no\.?|nr\.?|ids?|issues?"
    r"|bugs?|records?|rows?|serial|accounts?|customers?|requests?|contracts?|batch|lots?|skus?|models?|events?|pids?|ports?"
    r"|status|http|process|task|build|release|transaction|claim|policy|form|exit|signal)"
    r" ?(?:number |code |id |no\.? ?)?#?(?!(?:19|20)\d\d\b)(\d{3,20})\b(?![.,%]?\d)",
    re.IGNORECASE,
)
"""A number used as a name: "job 9871" and "error 404", not "2 jobs"."""
_PARTS_OF_TEXTS = r"(?:sub-?)?(?:clauses?|sections?|articles?|paragraphs?|regulations?)"
_CLAUSE = re.compile(
    rf"(?:\b{_PARTS_OF_TEXTS} |§{{1,2}} ?)(\d{{1,3}}(?:\.\d{{1,3}}){{1,4}})(?![\d.]*\d|%)", re.IGNORECASE
)
"""The number of a clause: "clause 4.2", "§ 12.1.3", "section 2.2"; not "article 5"."""
_CLAUSE_SIGN = "§ "
"""Stands before the number of a clause, which is no amount: "2.2" at the beginning of a line, not "2.2 million"."""
_NUMBERED = re.compile(r"(?<!\w)#(\d{1,20})\b")
_VERSION = re.compile(r"[vV]?\d{1,6}(?:\.\d{1,6}){2,4}(?:[-+][\w.]{1,30})?|[vV]\d{1,6}(?:\.\d{1,6}){1,3}")
_HEX = re.compile(r"0[xX][0-9A-Fa-f]{2,32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,8}")
_CODE = re.compile(r"(?=[^\d]{0,40}\d)(?=[^A-Za-z]{0,40}[A-Za-z])[A-Za-z0-9]{1,40}(?:[-_./:#+][A-Za-z0-9]{1,40}){0,6}")
_NO_CODE = re.compile(
    r"\d+(?:st|nd|rd|th|s|x|k|m|b|g|d|f|c|t)"  # 21st, 1990s, 5G
    r"|\d[\d.,]*(?:[a-zµ°]{1,4}|[kKMG]?[WVAHJNLBb](?:h|z|ps)?|°?[CF])"  # 10mg, 5kW
    r"|(?:FY|CY|Q|H|W|KW|p|pp|fig|sec|ch)\.?['’]?\d{1,4}"  # fiscal years, quarters, pages
    r"|\d+[-/](?:[a-z]+(?:[-/][a-z]+)*|[KQS])"  # 12-month, 10-K
    r"|[a-z]{5,}[-/]?\d{1,2}"  # omega-3
    r"|[A-Za-z]+-(?:the|to|of)-\w+|\d{4}-\d{2}-\d{2}(?:[T ]\S+)?",
    re.IGNORECASE,
)
"""Mixtures of letters and digits that are not identifiers: amounts, ordinals, periods, dates."""
_RUN = re.compile(r"[A-Za-z]+|\d+")
_FILE = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|txt|md|csv|tsv|jsonl?|html?|xml|log|eml|rtf|od[tsp]|epub|rst|adoc)$", re.I
)
_OTHER_CLAUSE = re.compile(r"^[ \t#*]*\d{1,3}(?:\.\d{1,3}){0,4}[.):]?[ \t]+(?=[^\d\s])", re.MULTILINE)
LONG_DIGITS, FEW_LETTERS = 4, 2
"""Least digits of a code that is not a common name such as IL-6; and most letters of a common name with one digit less,
e.g. I-131, also written as 131I. Guesses."""


@lru_cache(maxsize=256)
def exact_strings(question: str) -> tuple[str, ...]:
    """Return the strings of a question that must match letter by letter, each once, in their order.

    They are addresses, DOIs, versions, part numbers and codes (letters with digits), constants (ERR_TIMEOUT), and
    numbers used as names ("job 9871", "#1234", or a number that is the whole question).
    """
    found: list[tuple[int, str]] = [
        (match.start(), match.group().rstrip(_EDGES))
        for pattern in (_DOI, _ADDRESS)
        for match in pattern.finditer(question)
    ]
    found += [(match.start(1), match[1]) for pattern in (_CALLED, _NUMBERED) for match in pattern.finditer(question)]
    found += [(match.start(1), _CLAUSE_SIGN + match[1]) for match in _CLAUSE.finditer(question)]
    taken = [(start, start + len(text)) for start, text in found]
    alone = len(question.split()) == 1
    for match in re.finditer(r"\S+", question):
        word = match.group().strip(_EDGES)
        word = re.sub(r"['’]s$|-[a-z]{4,}$", "", word)  # GX-2290's, ADCY5-related
        start = match.start() + match.group().find(word)
        if word and not any(left <= start < right for left, right in taken) and _is_exact(word, alone=alone):
            found.append((start, word))
    return tuple(dict.fromkeys(text for _, text in sorted(found) if text))


def _is_exact(word: str, *, alone: bool) -> bool:
    """Return whether a word of a question must match letter by letter; `alone` if it is called a number."""
    if _FILE.search(word):
        return False
    if word.isdigit():
        return len(word) >= 6 or (alone and len(word) > 2)
    if _VERSION.fullmatch(word) or _HEX.fullmatch(word):
        return True
    if _CONSTANT.fullmatch(word):
        return True
    if not _CODE.fullmatch(word) or _NO_CODE.fullmatch(word):
        return False
    letters, digits = re.sub(r"[^A-Za-z]", "", word), re.sub(r"\D", "", word)
    # "gx2290" in lower case is a code; a common word with a digit or two is not.
    return any(map(str.isupper, word)) or (len(letters) <= 4 and len(digits) >= 2)


def is_clause(exact: str) -> bool:
    """Return whether an exact string is the number of a clause or a section."""
    return exact.startswith(_CLAUSE_SIGN)


def is_doi(text: str) -> bool:
    """Return whether a string is a DOI, which belongs to a document's metadata rather than its text."""
    return _DOI.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def exact_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a string letter by letter, in any case, but not inside longer strings.

    The number of a clause has to begin a line, or to stand behind a word for a clause.
    """
    if text.startswith(_CLAUSE_SIGN):
        number = re.escape(text.removeprefix(_CLAUSE_SIGN))
        begins = rf"^[ \t#*]*(?:§ ?)?{number}[.):]?(?=[ \t]+[^\d\s]|$)"
        named = rf"(?:\b{_PARTS_OF_TEXTS} |§ ?){number}(?![\d.]*\d)"
        return re.compile(f"{begins}|{named}", re.IGNORECASE | re.MULTILINE)
    return re.compile(rf"(?<![\w@])(?<!\w[.\-/:@]){re.escape(text)}(?!\w)(?![.\-/:@]\w)", re.IGNORECASE)


@lru_cache(maxsize=1024)
def alike_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a string in any spelling: GX-2290, GX2290, gx 2290.

    It also matches if more text follows after a hyphen.
    """
    if "@" in text or "/" in text or text.startswith(_CLAUSE_SIGN) or _VERSION.fullmatch(text):
        return exact_pattern(text)
    runs = _RUN.findall(text)
    return re.compile(rf"(?<![^\W_]){'[-_./:#+ ]?'.join(map(re.escape, runs))}(?![^\W_])", re.IGNORECASE)


def holds(text: str, exact: str) -> bool:
    """Return whether a text contains an exact string in any spelling."""
    return alike_pattern(exact).search(text) is not None


def count_held(text: str, strings: Iterable[str]) -> float:
    """Return how many exact strings a text contains; one in another spelling counts half."""
    return sum(1.0 if exact_pattern(each).search(text) else 0.5 if holds(text, each) else 0.0 for each in strings)


def spellings(exact: str) -> list[str]:
    """Return the phrases by which a string is looked up in an index: with and without punctuation, and as its parts."""
    runs = _RUN.findall(exact)
    if exact.startswith(_CLAUSE_SIGN):
        return [exact.removeprefix(_CLAUSE_SIGN), " ".join(runs)]
    return list(dict.fromkeys((exact, "".join(runs), " ".join(runs))))


def others_like(exact: str) -> re.Pattern[str]:
    """Return a pattern for strings of the same form: other addresses, other versions, other letters and digits."""
    if "@" in exact:
        return _ADDRESS
    if exact.startswith(_CLAUSE_SIGN):
        return _OTHER_CLAUSE
    if _HEX.fullmatch(exact):
        return _HEX
    runs = re.findall(r"[A-Za-z]+|\d+|[^A-Za-z\d]+", exact)
    parts = [r"\d+" if run.isdigit() else "[A-Za-z]+" if run.isalpha() else re.escape(run) for run in runs]
    return re.compile(rf"(?<![\w-]){''.join(parts)}(?![\w-])")


def is_definite(exact: str, texts: Sequence[str]) -> bool:
    """Return whether a string identifies one thing, so that a text without it is about something else.

    It does if it has four or more digits, is an address or a constant, or if the texts contain others of its form:
    PU-09 beside PU-07 and PU-08. IL-6 alone may be written as a word.
    """
    if exact.startswith(_CLAUSE_SIGN):  # a printed document may have lost its numbers
        return any(holds(text, exact) for text in texts)
    digits, letters = sum(map(str.isdigit, exact)), sum(map(str.isalpha, exact))
    is_long = digits >= LONG_DIGITS or (digits == LONG_DIGITS - 1 and letters > FEW_LETTERS)
    if is_long or "@" in exact or "_" in exact or _VERSION.fullmatch(exact) or _HEX.fullmatch(exact):
        return True
    shape = "".join(rf"\d{{{len(run)}}}" if run.isdigit() else re.escape(run) for run in re.findall(r"\d+|\D+", exact))
    like = re.compile(rf"(?<![\w-]){shape}(?![\w-])", re.IGNORECASE)
    return any(match.group().casefold() != exact.casefold() for match in chain.from_iterable(map(like.finditer, texts)))

"""Exact strings: part numbers, error codes, versions, addresses, which must match letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]{1,200}")
_EDGES = ".,;:!?()[]{}<>\"'“”‘’«»„`*"
_NUMBER_AS_NAME = re.compile(
    r"\b(?:jobs?|tickets?|orders?|invoices?|cases?|errors?|codes?|parts?|items?|articles?|numbers?|no\.?|nr\.?|ids?|issues?"
    r"|bugs?|records?|rows?|serial|accounts?|customers?|requests?|contracts?|batch|lots?|skus?|models?|events?|pids?|ports?"
    r"|status|http|process|task|build|release|transaction|claim|policy|form|exit|signal)"
    r" ?(?:number |code |id |no\.? ?)?#?(?!(?:19|20)\d\d\b)(\d{3,20})\b(?![.,%]?\d)",
    re.IGNORECASE,
)
"""A number used as a name: "job 9871" and "error 404", not "2 jobs"."""
_CLAUSE_WORDS = r"(?:sub-?)?(?:clauses?|sections?|articles?|paragraphs?|regulations?)"
_CLAUSE = re.compile(
    rf"(?:\b{_CLAUSE_WORDS} |§{{1,2}} ?)(\d{{1,3}}(?:\.\d{{1,3}}){{1,4}})(?![\d.]*\d|%)", re.IGNORECASE
)
"""The number of a clause: "clause 4.2", "§ 12.1.3", "section 2.2"; not "article 5"."""
_CLAUSE_SIGN = "§ "
"""Stands before the number of a clause, which is no amount: "2.2" at the beginning of a line, not "2.2 million"."""
_HASH_NUMBER = re.compile(r"(?<!\w)#(\d{1,20})\b")
_VERSION = re.compile(r"[vV]?\d{1,6}(?:\.\d{1,6}){2,4}(?:[-+][\w.]{1,30})?|[vV]\d{1,6}(?:\.\d{1,6}){1,3}")
_HEX = re.compile(r"0[xX][0-9A-Fa-f]{2,32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,8}")
_CODE = re.compile(r"(?=[^\d]{0,40}\d)(?=[^A-Za-z]{0,40}[A-Za-z])[A-Za-z0-9]{1,40}(?:[-_./:#+][A-Za-z0-9]{1,40}){0,6}")
_MEASURE_OR_DATE = re.compile(
    r"\d+(?:st|nd|rd|th|s|x|k|m|b|g|d|f|c|t)"  # 21st, 1990s, 5G
    r"|\d[\d.,]*(?:[a-zµ°]{1,4}|[kKMG]?[WVAHJNLBb](?:h|z|ps)?|°?[CF])"  # 10mg, 5kW
    r"|(?:FY|CY|Q|H|W|KW|p|pp|fig|sec|ch)\.?['’]?\d{1,4}"  # fiscal years, quarters, pages
    r"|\d+[-/](?:[a-z]+(?:[-/][a-z]+)*|[KQS])"  # 12-month, 10-K
    r"|[a-z]{5,}[-/]?\d{1,2}"  # omega-3
    r"|[A-Za-z]+-(?:the|to|of)-\w+|\d{4}-\d{2}-\d{2}(?:[T ]\S+)?",
    re.IGNORECASE,
)
"""Mixtures of letters and digits that are not identifiers: amounts, ordinals, periods, dates."""
_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|\d+")
_FILE_ENDING = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|txt|md|csv|tsv|jsonl?|html?|xml|log|eml|rtf|od[tsp]|epub|rst|adoc)$", re.I
)
_NUMBER_AT_LINE_START = re.compile(r"^[ \t#*]*\d{1,3}(?:\.\d{1,3}){0,4}[.):]?[ \t]+(?=[^\d\s])", re.MULTILINE)
LEAST_DIGITS, LEAST_DIGITS_ALONE = 6, 3
"""Least digits of a number that counts as a name, within a question and as the whole of it; guesses."""
MOST_LETTERS, LEAST_CODE_DIGITS = 4, 2
"""Most letters and least digits of a code in lower case, such as "gx2290"; guesses."""
LONG_DIGITS, FEW_LETTERS = 4, 2
"""Least digits of a code that is not a common name such as IL-6; and most letters of a common name with one digit less,
e.g. I-131, also written as 131I. Guesses."""


@lru_cache(maxsize=256)
def exact_strings(question: str) -> tuple[str, ...]:
    """Return the strings of a question that must match letter by letter, each once, in their order.

    They are addresses, DOIs, versions, part numbers and codes (letters with digits), constants (ERR_TIMEOUT), and
    numbers used as names ("job 9871", "#1234", or a number that is the whole question).
    """
    found: list[tuple[int, str]] = []
    for pattern in (_DOI, _ADDRESS):
        found += [(match.start(), match.group().rstrip(_EDGES)) for match in pattern.finditer(question)]
    for pattern in (_NUMBER_AS_NAME, _HASH_NUMBER):
        found += [(match.start(1), match[1]) for match in pattern.finditer(question)]
    found += [(match.start(1), _CLAUSE_SIGN + match[1]) for match in _CLAUSE.finditer(question)]
    spans = [(start, start + len(text)) for start, text in found]
    is_whole_question = len(question.split()) == 1
    for match in re.finditer(r"\S+", question):
        word = match.group().strip(_EDGES)
        word = re.sub(r"['’]s$|-[a-z]{4,}$", "", word)  # GX-2290's, ADCY5-related
        start = match.start() + match.group().find(word)
        is_in_other = any(left <= start < right for left, right in spans)
        if word and not is_in_other and _is_exact_string(word, is_whole_question=is_whole_question):
            found.append((start, word))
    return tuple(dict.fromkeys(text for _, text in sorted(found) if text))


def _is_exact_string(word: str, *, is_whole_question: bool) -> bool:
    """Return whether a word must match letter by letter; a short number does only if it is the whole question."""
    if _FILE_ENDING.search(word):
        return False
    if word.isdigit():
        return len(word) >= LEAST_DIGITS or (is_whole_question and len(word) >= LEAST_DIGITS_ALONE)
    if _VERSION.fullmatch(word) or _HEX.fullmatch(word):
        return True
    if _CONSTANT.fullmatch(word):
        return True
    if not _CODE.fullmatch(word) or _MEASURE_OR_DATE.fullmatch(word):
        return False
    letters, digits = re.sub(r"[^A-Za-z]", "", word), re.sub(r"\D", "", word)
    # "gx2290" in lower case is a code; a common word with a digit or two is not.
    return any(map(str.isupper, word)) or (len(letters) <= MOST_LETTERS and len(digits) >= LEAST_CODE_DIGITS)


def is_clause(exact: str) -> bool:
    """Return whether an exact string is the number of a clause or a section."""
    return exact.startswith(_CLAUSE_SIGN)


def is_doi(text: str) -> bool:
    """Return whether a string is a DOI, which belongs to a document's metadata rather than its text."""
    return _DOI.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def exact_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a string letter by letter, in any case, but not inside longer strings.

    The number of a clause must begin a line, or stand behind a word for a clause.
    """
    if text.startswith(_CLAUSE_SIGN):
        number = re.escape(text.removeprefix(_CLAUSE_SIGN))
        at_line_start = rf"^[ \t#*]*(?:§ ?)?{number}[.):]?(?=[ \t]+[^\d\s]|$)"
        behind_word = rf"(?:\b{_CLAUSE_WORDS} |§ ?){number}(?![\d.]*\d)"
        return re.compile(f"{at_line_start}|{behind_word}", re.IGNORECASE | re.MULTILINE)
    return re.compile(rf"(?<![\w@])(?<!\w[.\-/:@]){re.escape(text)}(?!\w)(?![.\-/:@]\w)", re.IGNORECASE)


@lru_cache(maxsize=1024)
def any_spelling_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches a string in any spelling, GX-2290, GX2290, gx 2290, also before a hyphen."""
    if "@" in text or "/" in text or text.startswith(_CLAUSE_SIGN) or _VERSION.fullmatch(text):
        return exact_pattern(text)
    runs = _LETTERS_OR_DIGITS.findall(text)
    return re.compile(rf"(?<![^\W_]){'[-_./:#+ ]?'.join(map(re.escape, runs))}(?![^\W_])", re.IGNORECASE)


def holds(text: str, exact: str) -> bool:
    """Return whether a text contains an exact string in any spelling."""
    return any_spelling_pattern(exact).search(text) is not None


def count_held(text: str, strings: Iterable[str]) -> float:
    """Return how many exact strings a text contains; one in another spelling counts half."""
    total = 0.0
    for string in strings:
        if exact_pattern(string).search(text):
            total += 1.0
        elif holds(text, string):
            total += 0.5
    return total


def spellings(exact: str) -> list[str]:
    """Return the phrases by which a string is looked up in an index: with and without punctuation, and as its parts."""
    runs = _LETTERS_OR_DIGITS.findall(exact)
    if exact.startswith(_CLAUSE_SIGN):
        return [exact.removeprefix(_CLAUSE_SIGN), " ".join(runs)]
    return list(dict.fromkeys((exact, "".join(runs), " ".join(runs))))


def others_like(exact: str) -> re.Pattern[str]:
    """Return a pattern for strings of the same form as one: any address, or letters and digits in the same order.

    For the number of a clause, the pattern matches any number at the beginning of a line.
    """
    if "@" in exact:
        return _ADDRESS
    if exact.startswith(_CLAUSE_SIGN):
        return _NUMBER_AT_LINE_START
    if _HEX.fullmatch(exact):
        return _HEX
    any_of_form = ""
    for run in re.findall(r"[A-Za-z]+|\d+|[^A-Za-z\d]+", exact):
        if run.isdigit():
            any_of_form += r"\d+"
        else:
            any_of_form += "[A-Za-z]+" if run.isalpha() else re.escape(run)
    return re.compile(rf"(?<![\w-]){any_of_form}(?![\w-])")


def is_definite(exact: str, texts: Sequence[str]) -> bool:
    """Return whether a string identifies one thing, so that a text without it is about something else.

    It does if it has four or more digits, is an address, a constant or a version, or if the texts contain others of its
    form: PU-09 beside PU-07 and PU-08. IL-6 alone may be written as a word. The number of a clause does if a text has
    it: a printed document may have lost its numbers.
    """
    if exact.startswith(_CLAUSE_SIGN):
        return any(holds(text, exact) for text in texts)
    digits, letters = sum(map(str.isdigit, exact)), sum(map(str.isalpha, exact))
    is_long = digits >= LONG_DIGITS or (digits == LONG_DIGITS - 1 and letters > FEW_LETTERS)
    if is_long or "@" in exact or "_" in exact or _VERSION.fullmatch(exact) or _HEX.fullmatch(exact):
        return True
    runs = re.findall(r"\d+|\D+", exact)
    form = "".join(rf"\d{{{len(run)}}}" if run.isdigit() else re.escape(run) for run in runs)
    same_form = re.compile(rf"(?<![\w-]){form}(?![\w-])", re.IGNORECASE)
    matches = chain.from_iterable(map(same_form.finditer, texts))
    return any(match.group().casefold() != exact.casefold() for match in matches)

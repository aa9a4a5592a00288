"""The lexical analyser: the index terms by which BM25 and lexical overlap compare texts.

Unicode NFKC, case folding, accents of Latin letters removed, English stop words dropped, English Snowball stems.
Codes have one form however they are written (`IL-6`, `IL6` → `il6`; `COVID-19` → `covid19 covid`), a single Greek
letter becomes its name (`TNF-α` → `tnf alpha`), dotted acronyms lose their dots (`U.S.` → `us`), and scripts without
spaces (Chinese, Japanese) become character bigrams, as in Lucene's CJK analyser.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tantivy

_COMBINING_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e00-\u0e4e\u0e80-\u0ece"
    "\u0f71-\u0f84\u1000-\u109f\u1780-\u17d3"
)


def _token_pattern(letter: str, run: str) -> str:
    """Return a regular expression that finds acronyms ("U.S."), numbers and words, one group each.

    Args:
        letter: A pattern for a letter of an acronym.
        run: A pattern for the letters and digits of a word up to an apostrophe or hyphen.
    """
    return (
        rf"(\b(?:{letter}\.){{2,}}(?:{letter}\b)?)"
        rf"|(\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?\b|\d+(?:\.\d+)+)"
        rf"|({run}(?:['’]{run})*(?:[-‐]{run})*)"
    )


_TOKEN = re.compile(_token_pattern(r"[^\W\d_]", rf"[^\W_]+(?:[{_COMBINING_MARKS}][^\W_]*)*"))
_ASCII_TOKEN = re.compile(_token_pattern("[A-Za-z]", "[A-Za-z0-9]+"), re.ASCII)
"""The token pattern for texts of ASCII alone, which takes half of the time."""
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_RUN_OF_SCRIPT = re.compile(rf"[{_CJK}]+|[α-ω](?![α-ωά-ώ])|[^{_CJK}α-ω]+|[α-ω]+[^{_CJK}]*")
_COMBINING_ACCENTS = re.compile("[\u0300-\u036f]")


def _split_list(entries: str) -> list[str]:
    """Return the entries of a list separated by spaces."""
    return entries.split()


_GREEK_NAMES = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        _split_list(
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon "
            "phi chi psi omega"
        ),
        strict=True,
    )
)
RAISED_LETTERS = "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
_NOTE_MARKS = re.compile(
    rf"(?:(?:(?<=[^\W\d_]{{3}})|(?<=\d)|(?<=[)%]))[{RAISED_LETTERS}]|(?<=[^\W\d_])[{RAISED_LETTERS[10:]}])"
    rf"[{RAISED_LETTERS}]{{0,2}}(?:,[{RAISED_LETTERS}]){{0,5}}(?!\w)"
)
"""Marks of notes behind a word or a number: "locksᵃ", "640¹"; the "²" of "m²" is part of its unit."""
_APOSTROPHE = re.compile("['’]")
_MICRO_SIGN = re.compile("μ(?=[A-Za-z])")
_ACRONYMS = frozenset({"WHO", "US", "IT", "ALL"})
_MAX_TERM_CHARS = 64
"""Most characters of a term; longer ones are sequences, hashes or addresses. A guess."""
_MAX_COMPOUND_PARTS = 3
"""Most parts of a hyphenated word that may be a code, such as `IL-6`; a guess."""
MOST_TERMS = 1000
"""Most terms of a passage that are compared with a question; a guess."""

STOP_WORDS = frozenset(
    _split_list(
        "a about above after again against ain all also am an and any are aren as at be because been before being "
        "below between both but by can cannot could couldn did didn do does doesn doing don down during each eg etc "
        "few for from further had hadn has hasn have haven having he her here hers herself him himself his how i ie "
        "if in into is isn it its itself just ll may me might mightn more most must mustn my myself needn no nor not "
        "now of off on once only or other our ours ourselves out over own re same shan she should shouldn so some "
        "such than that the their theirs them themselves then there these they this those through to too under until "
        "up us ve very was wasn we were weren what when where which while who whom why will with won would wouldn you "
        "your yours yourself yourselves"
    )
)

_stemmer_lock = threading.Lock()


def without_note_marks(text: str) -> str:
    """Return a text without the raised marks of notes, which NFKC would join with their word: "640¹" is not 6401."""
    return text if text.isascii() else _NOTE_MARKS.sub("", text)


def words(text: str) -> list[str]:
    """Return the index terms of a text in order, with repetitions; stop words are left out, and words stemmed."""
    is_ascii = text.isascii()
    normal = text if is_ascii else _MICRO_SIGN.sub("u", unicodedata.normalize("NFKC", without_note_marks(text)))
    is_in_capitals = not any(map(str.islower, normal))
    terms: list[str] = []
    for acronym, number, word in (_ASCII_TOKEN if is_ascii else _TOKEN).findall(normal):
        if word:
            terms.extend(_terms_of_word(word, is_in_capitals))
        elif number:
            terms.append(number.replace(",", "")[:_MAX_TERM_CHARS])
        else:
            terms.extend(_stem_or_nothing(acronym.replace(".", ""), acronym=acronym[0].isupper()))
    return terms


def words_by_token(text: str) -> list[str]:
    """Return nearly the same terms as `words`, cached by token: much faster over the passages of one question.

    A token is a run without spaces, analysed in lower case, so that capitals alone make no acronym.
    """
    return list(chain.from_iterable(map(_terms_of_token, text.split())))


def passage_terms(title: str, text: str) -> list[str]:
    """Return the first `MOST_TERMS` terms of a passage's title and text; the title not twice."""
    return words_by_token(text if text.startswith(title) else f"{title} {text}")[:MOST_TERMS]


@lru_cache(maxsize=1 << 17)
def _terms_of_token(token: str) -> tuple[str, ...]:
    """Return the index terms of a token, as in the middle of a sentence in small letters."""
    return tuple(words(f"a {token}"))


@lru_cache(maxsize=1 << 17)
def _terms_of_word(word: str, is_in_capitals: bool) -> tuple[str, ...]:
    """Return the terms of a plain or hyphenated word; a code, "COVID-19", is a term as a whole before its long parts.

    `is_in_capitals` tells whether all of the text is, so that capitals alone make no acronym.
    """
    parts = re.split("[-‐]", word)
    joined = "".join(parts)
    is_code = any(map(str.isdigit, joined)) and not joined.isdigit()
    if 1 < len(parts) <= _MAX_COMPOUND_PARTS and is_code:
        long_parts = [part for part in parts if len(part) > 2]
        return (_without_accents(joined)[:_MAX_TERM_CHARS], *chain.from_iterable(map(_terms_of_part, long_parts)))
    terms: list[str] = []
    for part in parts:
        terms += _terms_of_part(part, acronym=not is_in_capitals and part in _ACRONYMS)
    return tuple(terms)


def _terms_of_part(part: str, *, acronym: bool = False) -> list[str]:
    """Return the terms of a word without hyphens; CJK runs become bigrams, single Greek letters their names.

    What follows an apostrophe is dropped, "patient's", unless a single letter is before it: "O'Brien".
    """
    head, *tail = _APOSTROPHE.split(part)
    folded = _without_accents(head if len(head) > 1 else head + "".join(tail))
    if folded.isascii():
        return _stem_or_nothing(folded, acronym=acronym)
    terms: list[str] = []
    for run in _RUN_OF_SCRIPT.findall(folded):
        if re.match(f"[{_CJK}]", run):
            terms.extend([run[i : i + 2] for i in range(len(run) - 1)] or [run])
        else:
            terms.extend(_stem_or_nothing(_GREEK_NAMES.get(run, run)))
    return terms


def _without_accents(word: str) -> str:
    """Return a word casefolded and, in Latin script, without accents."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _COMBINING_ACCENTS.sub("", unicodedata.normalize("NFD", folded)))


def _stem_or_nothing(word: str, *, acronym: bool = False) -> list[str]:
    """Return a list with the stem of a word; [] for a stop word, unless it is an acronym, which is not stemmed."""
    word = word.casefold()
    if not acronym and word in STOP_WORDS:
        return []
    return [
        _stem(word[:_MAX_TERM_CHARS]) if word.isascii() and word.isalpha() and not acronym else word[:_MAX_TERM_CHARS]
    ]


def _stem(word: str) -> str:
    """Return Snowball's English stem of a word, by tantivy's analyser, which can be used by one thread at a time."""
    with _stemmer_lock:
        return _stemmer().analyze(word)[0] if word else ""


@lru_cache(maxsize=1)
def _stemmer() -> tantivy.TextAnalyzer:
    """Return tantivy's stemmer, which takes a thirtieth of the time of the same algorithm in Python."""
    import tantivy

    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stemmer("english")).build()


def encodable(text: str) -> str:
    """Return a text of the same length without lone surrogates, which no tokenizer accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unicode_text(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, at the same length."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_REMOVED_CONTROLS = {
    code: None for code in (*range(9), *range(11, 13), *range(14, 32), *range(127, 160)) if code != 0x85
}
_ESCAPED_CONTROLS = {code: f"\\x{code:02x}" for code in (*_REMOVED_CONTROLS, 9, 10, 13)}
# Lone surrogates, by which Python represents bytes of a file name that are not UTF-8, and characters that change the
# direction of a line.
_ESCAPED_CONTROLS |= {
    code: f"\\x{code & 0xFF:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
    for code in (*range(0xD800, 0xE000), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def without_controls(text: str) -> str:
    """Return a text without control characters, which a terminal would obey; tabs and line ends stay."""
    return text.translate(_REMOVED_CONTROLS)


def on_one_line(name: str) -> str:
    """Return a file's name for printing on one line, with line ends and terminal controls escaped."""
    return name.translate(_ESCAPED_CONTROLS)

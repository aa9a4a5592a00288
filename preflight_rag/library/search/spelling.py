"""Correction of spelling in questions, by the words of the library and with symspellpy.

A word is a suspect if neither the library nor general English knows it. Codes, abbreviations, names, negations,
quoted text, other scripts, and words that are built like the name of a drug are never suspects. A suspect is
corrected only if one word is clearly meant, and never to a word that differs in a part which carries the meaning:
`hypo` and `hyper`, `-ectomy` and `-ostomy`, the vowel of `nitrate` and `nitrite`.

The rules and their numbers were set by hand on the development parts of the questions of BioASQ, SciFact and
NFCorpus, with vocabularies of SciFact, NFCorpus and Cranfield.
"""

from __future__ import annotations

import importlib.util
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal, Protocol

from preflight_rag.library.index.vocabulary import HEAD, TAIL, WordCount, neighbours
from preflight_rag.text.drugs import DRUG
from preflight_rag.text.negation import TYPED_NEGATION
from preflight_rag.text.words import STOP_WORDS, words

Edit = Literal["swapped", "missing", "doubled", "extra", "vowel", "near", "other", "two"]

COSTS: dict[Edit, float] = {
    "swapped": 0.0, "doubled": 0.7, "missing": 0.7, "vowel": 1.0, "extra": 2.0, "near": 2.5, "two": 3.0,
}  # fmt: skip
"""Penalty of each kind of slip, subtracted from the logarithm of a word's frequency; set by hand."""
LEAST_LEAD = math.log(10)
"""Least lead of the best word's score over the second best."""
LEAST_FREQUENCY = 1e-6
"""Least relative frequency of a word that may be a correction."""
COMMON_COUNT = 1_000_000
"""Least count in the English dictionary at which a word that the library lacks may be a correction."""
SHORTEST_WORD, LONG_WORD = 5, 8
"""Least letters of a word with one slip, and with two; shorter words are corrected only to stop words with two letters
swapped."""
SHORT_LIBRARY_WORD = 7
"""To a word of at most this many letters that only the library knows, no other vowel or neighbouring key is corrected.
"""
_ENGLISH_TOTAL = 541_808_760_578
"""Sum of the counts in symspellpy's English dictionary."""

_CHUNK = re.compile(r"\S+")
_CORE = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|`[^`]*`")
_SENTENCE_END = re.compile(r"[.?!:;]['\")”]*\s+$")
_SENTENCE_END_CHARACTERS = 100
"""Characters from the end of a sentence to the next word; a guess."""
_CHEMICAL_ENDING = re.compile(r"(?:ine|ide|ate|ite|ane|ene|yne|one|ol|ase|in|ium|yl|ose|amide|amine|oic|ic)s?$")
_PREFIX = re.compile(
    r"hypo|hyper|inter|intra|infra|supra|super|macro|micro|anti|ante|endo|ecto|mono|poly|oligo|peri|post"
)
_SUFFIX = re.compile(
    r"(?:ectomy|ostomy|otomy|itis|osis|[ae]emia|emia|oma|pathy|plasty|scopy|graphy|gram|penia|philia|uria|algia|ology"
    r"|tropic|trophic|tropin|trophin|osus|us|um|ae|logist|genic|lysis|rrhage|rrhea|trophy|plasia|tomy|phage|cyte|blast|some|somal)s?$"
)
_REPETITION = re.compile(r"(..)\1|(.)\2.*(.)\3")
_VOWELS = frozenset("aeiouy")
_KEYBOARD_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ALIKE_LETTERS = ("ck", "cs", "sz", "fv", "mn", "dt", "bp", "gj", "kq")
_NEIGHBOURS_IN_ROWS = [a + b for row in _KEYBOARD_ROWS for a, b in pairwise(row)]
_NEIGHBOURS_BELOW = [a + b for a, b in zip(*_KEYBOARD_ROWS[:2], strict=False)]
_CONFUSED_LETTERS = frozenset(frozenset(pair) for pair in (*_ALIKE_LETTERS, *_NEIGHBOURS_IN_ROWS, *_NEIGHBOURS_BELOW))
"""Pairs of letters that are neighbours on a keyboard or sound alike."""


class WordSource(Protocol):
    """The methods of a vocabulary that spelling needs; `Vocabulary` implements them."""

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Return the words that the vocabulary does not contain."""
        ...

    def similar(self, word: str, distance: int) -> list[WordCount]:
        """Return words of which `word` may be another spelling."""
        ...

    def passages(self) -> int:
        """Return the sum of all words' passage counts."""
        ...


@dataclass(frozen=True)
class SpellingCorrection:
    """A corrected text, and the changed words as `(as written, corrected)`."""

    text: str
    corrections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SuspectWord:
    """A word that may be a slip.

    Attributes:
        word: The word as written.
        start: Its offset in the text.
        opens_sentence: Whether it begins a sentence with a capital letter.
    """

    word: str
    start: int
    opens_sentence: bool


class Speller:
    """Corrects questions by a vocabulary.

    Args:
        vocabulary: The library's words, as `Library.vocabulary`.
    """

    def __init__(self, vocabulary: WordSource) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def _total(self) -> int:
        """The sum of the library's word counts, at least 1."""
        return max(self.vocabulary.passages(), 1)

    def suspects(self, text: str) -> list[SuspectWord]:
        """Return the words that neither the library nor general English knows and that may be slips, in order."""
        unprotected = [suspect for suspect in _plain_words(text) if not _is_protected(suspect)]
        forms = set(chain.from_iterable(_base_forms(suspect.word) for suspect in unprotected))
        unknown = {form for form in self.vocabulary.unknown(forms) if not is_english(form)}
        return [suspect for suspect in unprotected if unknown.issuperset(_base_forms(suspect.word))]

    def correct(self, text: str) -> SpellingCorrection:
        """Return the text with its clear slips corrected.

        If at least half of three or more suspects have no correction, the text is in another language or from another
        field, and is left unchanged.
        """
        text = unicodedata.normalize("NFC", text)
        suspects = self.suspects(text)
        corrected = {suspect: word for suspect in suspects if (word := self._find_correction(suspect))}
        if len(suspects) > 2 and 2 * len(corrected) <= len(suspects):
            return SpellingCorrection(text)
        pieces, copied_until = [], 0
        for suspect, word in corrected.items():
            pieces += [text[copied_until : suspect.start], word]
            copied_until = suspect.start + len(suspect.word)
        corrections = dict.fromkeys((suspect.word, word) for suspect, word in corrected.items())
        return SpellingCorrection("".join([*pieces, text[copied_until:]]), tuple(corrections))

    def _find_correction(self, suspect: SuspectWord) -> str | None:
        """Return the word that is clearly meant, in the suspect's case; None if there is none, or it is no slip."""
        typed = suspect.word.lower()
        candidates = self._candidates(typed, suspect.opens_sentence)
        ranked = sorted(candidates, key=lambda candidate: (-candidate[1], candidate[0]))
        if not ranked:
            return None
        best, score = ranked[0]
        # A plural, or a British spelling, is no slip.
        if _stem(best) == _stem(typed) or _american_spelling(best) == _american_spelling(typed):
            return None
        # Other forms of the best word mean the same.
        rival_scores = [other for word, other in ranked[1:] if _stem(word) != _stem(best)]
        if rival_scores and score - max(rival_scores) < LEAST_LEAD:
            return None
        return best.capitalize() if suspect.word[0].isupper() else best

    def _candidates(self, typed: str, opens_sentence: bool) -> Iterator[tuple[str, float]]:
        """Yield the words of which the suspect can be a slip, at the least edit distance, each with its score.

        The first word of a sentence may be a name, so it is corrected only to words of general English.
        """
        from symspellpy import SymSpell, Verbosity

        distance = 2 if len(typed) >= LONG_WORD else 1
        in_library = {entry.word: entry.passages / self._total for entry in self.vocabulary.similar(typed, distance)}
        english = _similar_english_words(typed, distance)
        symspell = SymSpell(max_dictionary_edit_distance=distance)
        for word in {**in_library, **english}:
            symspell.create_dictionary_entry(word, 1)
        allowed = []
        for suggestion in symspell.lookup(typed, Verbosity.ALL, max_edit_distance=distance):
            word = suggestion.term
            edit = kind_of_edit(typed, word) if suggestion.distance == 1 else "two"
            frequency = (in_library.get(word, 0.0) + english.get(word, 0) / _ENGLISH_TOTAL) / 2
            is_general = is_english(word)
            if edit == "other" or frequency < LEAST_FREQUENCY / 2 or (opens_sentence and not is_general):
                continue
            if _is_possible_slip(typed, word, edit, is_general):
                allowed.append((suggestion.distance, word, math.log(frequency) - COSTS[edit]))
        least_distance = min((distance for distance, _, _ in allowed), default=0)
        yield from ((word, score) for distance, word, score in allowed if distance == least_distance)


def kind_of_edit(typed: str, word: str) -> Edit:
    """Return how `typed` differs from `word`, which is one edit away."""
    # The index of the first letter that differs.
    at = min(len(typed), len(word))
    for index, (typed_letter, letter) in enumerate(zip(typed, word, strict=False)):
        if typed_letter != letter:
            at = index
            break
    if len(typed) < len(word):
        return "missing"
    if len(typed) > len(word):
        return "doubled" if at and typed[at] == typed[at - 1] else "extra"
    if typed[at + 1 : at + 2] == word[at] and word[at + 1 : at + 2] == typed[at]:
        return "swapped"
    pair = frozenset((typed[at], word[at]))
    if pair <= _VOWELS:
        return "vowel"
    return "near" if pair in _CONFUSED_LETTERS else "other"


def is_english(word: str) -> bool:
    """Return whether general English knows a word, by the frequency dictionary that symspellpy ships."""
    return _count_in_lines(word.lower(), _english_lines()) > 0


def _count_in_lines(word: str, lines: str) -> int:
    """Return the count of a word in the lines `word count` of a dictionary; 0 if the word is not in them."""
    # The text is searched as it is: a dict of its 82,765 words takes 35 ms to make, and a look-up here a third of one.
    at = lines.find(f"\n{word} ")
    return int(lines[at + len(word) + 2 : lines.index("\n", at + 1)]) if at >= 0 else 0


def _is_possible_slip(typed: str, word: str, edit: Edit, is_general: bool) -> bool:
    """Return whether `typed` can be a slip of `word`, rather than another word that looks similar.

    Args:
        typed: The word as typed, in lower case.
        word: The possible correction.
        edit: How they differ.
        is_general: Whether general English knows the correction; else only the library does.
    """
    if typed[0] != word[0] and not (edit == "swapped" and sorted(typed[:2]) == sorted(word[:2])):
        return False
    if len(typed) < SHORTEST_WORD:
        return edit == "swapped" and word in STOP_WORDS
    prefix, suffix = _PREFIX.match(typed), _SUFFIX.search(typed)
    if (prefix and not word.startswith(prefix[0])) or (suffix and not word.endswith(suffix[0])):
        return False
    if edit == "two" and not (_are_two_slips(typed, word) and (is_general or len(typed) >= LONG_WORD + 2)):
        return False
    is_substitution = edit in {"vowel", "near"}
    # Of names of substances, one letter makes another substance, as in nitrate and nitrite.
    if _CHEMICAL_ENDING.search(typed):
        return not is_substitution and edit != "two" and not word.startswith(typed) and not word.endswith("ion")
    return is_general or not (is_substitution and len(typed) <= SHORT_LIBRARY_WORD)


def _are_two_slips(typed: str, word: str) -> bool:
    """Return whether two edits are slips: beginning, end and consonants agree; only repeated letters are inserted."""
    if typed[:3] != word[:3] or typed[-2:] != word[-2:]:
        return False
    if len(typed) - len(word) > 1 and not _REPETITION.search(typed):
        return False
    typed_consonants = Counter(letter for letter in typed if letter not in _VOWELS)
    consonants = Counter(letter for letter in word if letter not in _VOWELS)
    return typed_consonants <= consonants or consonants <= typed_consonants


def _plain_words(text: str) -> Iterator[SuspectWord]:
    """Yield the words of a text that are neither quoted nor part of a code, a contraction, an address or a path."""
    text = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    for number, chunk in enumerate(_CHUNK.finditer(text)):
        core = _CORE.search(chunk[0])
        if not core:
            continue
        around = chunk[0][: core.start()] + chunk[0][core.end() :]
        if any(character.isalnum() or character in "'’@_\\/" for character in around):
            continue
        start = chunk.start() + core.start()
        before = text[max(0, chunk.start() - _SENTENCE_END_CHARACTERS) : chunk.start()]
        opens_sentence = number == 0 or bool(_SENTENCE_END.search(before))
        parts = re.split("[-‐]", core[0])
        if len(parts) > 1 and any(len(part) < SHORTEST_WORD - 1 or not part.islower() for part in parts):
            continue
        for part in parts:
            yield SuspectWord(part, start, opens_sentence and part[0].isupper())
            start += len(part) + 1


def _is_protected(suspect: SuspectWord) -> bool:
    """Return whether a word is never corrected: a short one, a negation, a name, an abbreviation, or a drug."""
    word = suspect.word
    lower = word.lower()
    if (
        len(word) < SHORTEST_WORD - 2
        or TYPED_NEGATION.fullmatch(lower)
        or (word[0].isupper() and not suspect.opens_sentence)
    ):
        return True
    if any(letter.isupper() for letter in word[1:]) or not all(_is_latin(letter) for letter in lower):
        return True
    # Without a vowel it is an abbreviation.
    is_abbreviation = SHORTEST_WORD <= len(word) < SHORT_LIBRARY_WORD and not _VOWELS & set(lower)
    return is_abbreviation or DRUG.search(lower) is not None


@lru_cache(maxsize=512)
def _is_latin(char: str) -> bool:
    """Return whether a character is a Latin letter."""
    return unicodedata.name(char, "").startswith("LATIN")


@lru_cache(maxsize=1)
def _english_lines() -> str:
    """Return the lines `word count` of symspellpy's English frequency dictionary, each after a newline."""
    spec = importlib.util.find_spec("symspellpy")
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "")
    return "\n" + (folder / "frequency_dictionary_en_82_765.txt").read_text(encoding="utf-8-sig")


@lru_cache(maxsize=1)
def _common_english_lines() -> str:
    """Return the lines of the dictionary's words whose count is at least `COMMON_COUNT`."""
    # The lines are ordered by count, and `COMMON_COUNT` is a power of ten: the first count with fewer digits ends them.
    rare = re.search(rf"\n\S+ \d{{1,{len(str(COMMON_COUNT)) - 1}}}\n", _english_lines())
    return _english_lines()[: rare.start() + 1] if rare else _english_lines()


def _similar_english_words(word: str, distance: int) -> dict[str, int]:
    """Return the counts of common English words that `word` may be a misspelling of.

    These have a similar length and the same first or last letters, or are its `neighbours`.
    """
    fewest, most = max(len(word) - distance, 1), len(word) + distance
    head, tail = re.escape(word[:HEAD]), re.escape(word[-TAIL:])
    pattern = rf"\n(?=[^ \n]{{{fewest},{most}}} )({head}[^ \n]*|[^ \n]*{tail}) (\d+)(?=\n)"
    lines = _common_english_lines()
    counts = {match[1]: int(match[2]) for match in re.finditer(pattern, lines)}
    for neighbour in neighbours(word):
        if count := _count_in_lines(neighbour, lines):
            counts[neighbour] = count
    return counts


def _american_spelling(word: str) -> str:
    """Return a word with British spellings made American, e.g. "tumor" for "tumour", so that both compare equal."""
    return re.sub(r"[ao]e", "e", re.sub(r"our", "or", re.sub(r"is(?=e[drs]?$|ing$|ation)", "iz", word)))


def _base_forms(word: str) -> set[str]:
    """Return a word in lower case, and the words of which it is the plural or the genitive."""
    lower = word.lower()
    return {lower, lower.removesuffix("s")} if len(lower) >= SHORTEST_WORD else {lower}


def _stem(word: str) -> Sequence[str]:
    """Return the stemmed words of a word; if there are none, the word itself."""
    return words(word) or [word]

"""Whether two answers say the same, decided by rule without a reader."""

from __future__ import annotations

import re
from functools import lru_cache

from preflight_rag.text.names import abbreviates, folded, same_name
from preflight_rag.text.negation import NEGATION
from preflight_rag.text.values import figures_of
from preflight_rag.text.words import words

SAME_WORDS = 0.8
"""Least share of all words of two answers that both contain for them to be the same; a guess."""
LONGEST_NAME = 6
"""Most words of an answer that may be a name, in which initials can stand for words; a guess."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+(?:[’'-]\w+)*")
_ARTICLES = frozenset({"a", "an", "the", "of", "about", "approximately", "around", "circa", "c"})
_EDGES = " \t\n\"'“”‘’()"
_VERDICTS = frozenset({"yes", "no"})


def same_answer(a: str, b: str) -> bool:
    """Return whether two short answers say the same.

    Dates agree if the parts that both state are equal, amounts if they are equal in a common unit; yes agrees with yes;
    names agree if one contains the other's words, or initials for them, or if one consists of the other's initials.
    """
    first, second = _tokens(a), _tokens(b)
    if not first or not second:
        return first == second
    # A figure decides by its value alone: the words beside it differ between passages ("40 mg", "40 mg daily").
    figures = figures_of(a), figures_of(b)
    if any(figures) and not (_named(a) and _named(b)):
        return all(figures) and figures[0].agree(figures[1])
    verdicts = [tokens[0] for tokens in (first, second) if tokens[0] in _VERDICTS]
    # "No. 5" and "No. 7" begin with "no", but are names: their figures show it.
    if len(verdicts) == 2 and not any(figures):
        return verdicts[0] == verdicts[1]
    # Two denials cancel out, so only an odd number of them reverses an answer.
    if len(NEGATION.findall(a)) % 2 != len(NEGATION.findall(b)) % 2:
        return False
    # "follow up", "follow-up" and "followup" are spellings of one answer.
    if "".join(first).replace("-", "") == "".join(second).replace("-", ""):
        return True
    return _same_words(a, b) or abbreviates(a, b) or abbreviates(b, a)


@lru_cache(maxsize=1024)
def _named(text: str) -> bool:
    """Return whether an answer is a name, which may contain numbers ("Apollo 11"), rather than an amount or a date."""
    opening = text.lstrip(_EDGES).split()[:3]
    # "About 65 days" and "the 1990s" begin with a word that the comparison leaves out: they are amounts or dates.
    if not opening or not opening[0][0].isalpha() or _all_tokens(text)[:1] != _tokens(text)[:1]:
        return False
    return not (opening[0].isalpha() and figures_of(opening[0])) and not figures_of(" ".join(opening)).dates


def _same_words(a: str, b: str) -> bool:
    """Return whether one answer contains all words of the other, in any form, with the same numbers."""
    tokens = _tokens(a), _tokens(b)
    left, right = frozenset(words(a)) or frozenset(tokens[0]), frozenset(words(b)) or frozenset(tokens[1])
    digits = []
    for side in (left, right):
        digits.append({word for word in side if any(map(str.isdigit, word))})
    # "Type 1 diabetes" and "type 2 diabetes" share most words and are two answers.
    if all(digits) and digits[0] != digits[1]:
        return False
    if left <= right or right <= left or len(left & right) >= SAME_WORDS * len(left | right):
        return True
    return max(map(len, tokens)) <= LONGEST_NAME and same_name(*tokens)


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers in a text, without thousands' separators."""
    return frozenset(re.sub(r",(?=\d{3})", "", found) for found in _NUMBER.findall(text))


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[str, ...]:
    """Return the words and numbers of an answer without articles, or all if there are only articles."""
    found = _all_tokens(text)
    return tuple(word for word in found if word not in _ARTICLES) or found


def _all_tokens(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in lower case, thousands without commas."""
    return tuple(_WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", folded(text))))

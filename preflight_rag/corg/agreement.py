"""Comparison of two answers: whether they are the same, by rule and without a reader."""

from __future__ import annotations

import re
from functools import lru_cache

from preflight_rag.text.names import abbreviates, folded, same_name
from preflight_rag.text.negation import NEGATION
from preflight_rag.text.values import figures_of
from preflight_rag.text.words import words

MIN_SHARED_WORDS = 0.8
"""Least share of the words of two answers that both have, at which they are the same; a guess."""
MAX_NAME_WORDS = 6
"""Largest number of words of an answer that may be a name, in which initials can stand for words; a guess."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+(?:[’'-]\w+)*")
_ARTICLES = frozenset({"a", "an", "the", "of", "about", "approximately", "around", "circa", "c"})
_OUTER_CHARACTERS = " \t\n\"'“”‘’()"
_VERDICTS = frozenset({"yes", "no"})


def same_answer(a: str, b: str) -> bool:
    """Return whether two short answers are the same.

    Dates agree if the parts that both state are equal, amounts if they are equal in a common unit; yes agrees with yes;
    names agree if one contains the other's words, or initials for them, or if one consists of the other's initials.
    """
    first, second = _tokens(a), _tokens(b)
    if not first or not second:
        return first == second
    # A figure decides by its value alone: the words beside it differ between passages ("40 mg", "40 mg daily").
    figures = figures_of(a), figures_of(b)
    if any(figures) and not (_is_name(a) and _is_name(b)):
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
    return _have_same_words(a, b) or abbreviates(a, b) or abbreviates(b, a)


@lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    """Return whether an answer is a name, which may contain numbers ("Apollo 11"), rather than an amount or a date."""
    first_words = text.lstrip(_OUTER_CHARACTERS).split()[:3]
    if not first_words or not first_words[0][0].isalpha():
        return False
    # "About 65 days" and "the 1990s" begin with a word that the comparison leaves out: they are amounts or dates.
    if _all_tokens(text)[:1] != _tokens(text)[:1]:
        return False
    is_number_word = first_words[0].isalpha() and bool(figures_of(first_words[0]))
    return not is_number_word and not figures_of(" ".join(first_words)).dates


def _have_same_words(a: str, b: str) -> bool:
    """Return whether two answers with the same numbers share most words, or one has all words of the other.

    In short names, initials count as the words that they stand for.
    """
    tokens_a, tokens_b = _tokens(a), _tokens(b)
    terms_a, terms_b = frozenset(words(a)) or frozenset(tokens_a), frozenset(words(b)) or frozenset(tokens_b)
    numbers_a, numbers_b = ({term for term in terms if any(map(str.isdigit, term))} for terms in (terms_a, terms_b))
    # "Type 1 diabetes" and "type 2 diabetes" share most words and are two answers.
    if numbers_a and numbers_b and numbers_a != numbers_b:
        return False
    if terms_a <= terms_b or terms_b <= terms_a:
        return True
    if len(terms_a & terms_b) >= MIN_SHARED_WORDS * len(terms_a | terms_b):
        return True
    return max(len(tokens_a), len(tokens_b)) <= MAX_NAME_WORDS and same_name(tokens_a, tokens_b)


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers in a text, without thousands' separators."""
    return frozenset(re.sub(r",(?=\d{3})", "", number) for number in _NUMBER.findall(text))


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[str, ...]:
    """Return the words and numbers of an answer without articles, or all if there are only articles."""
    all_tokens = _all_tokens(text)
    return tuple(word for word in all_tokens if word not in _ARTICLES) or all_tokens


def _all_tokens(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in lower case, thousands without commas."""
    return tuple(_WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", folded(text))))

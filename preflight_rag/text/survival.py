"""Checks of a rewritten question: whether its numbers, codes and negations survive, and which words were corrected."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from preflight_rag.text.negation import TYPED_NEGATION
from preflight_rag.text.words import words

_TOKEN = re.compile(r"[^\W_]+(?:[-‐.,/'’+][^\W_]+)*")
_NUMBER_OR_CODE = re.compile(r"\d|^[^\W\d_a-zß-ÿ]{2,}s?$|[a-z][A-Z]")
_MIN_SIMILARITY = 0.6
"""Least similarity (0 to 1) at which one word counts as a correction of another; a guess."""


def lost(message: str, rewritten: str) -> list[str]:
    """Return the numbers and codes of a message that its rewrite lacks, and "a negation" if only the message has one.

    In a message in capitals, only words with digits are codes.
    """
    rewritten_words = {_compared_form(token) for token in _TOKEN.findall(rewritten)}
    is_in_capitals = not any(char.islower() for char in message)
    tokens = [token for token in _TOKEN.findall(message) if _NUMBER_OR_CODE.search(token)]
    codes = [token for token in tokens if not is_in_capitals or any(map(str.isdigit, token))]
    missing = [token for token in dict.fromkeys(codes) if _compared_form(token) not in rewritten_words]
    return missing + (["a negation"] if has_negation(message) and not has_negation(rewritten) else [])


def strays(message: str, rewritten: str) -> bool:
    """Return whether a rewrite has less than half of the index terms of a standalone message; corrected typos count."""
    terms, rewritten_terms = words(message), words(rewritten)
    survived = [any(term == other or _are_similar(term, other) for other in rewritten_terms) for term in terms]
    return 2 * sum(survived) < len(terms)


def has_negation(text: str) -> bool:
    """Return whether a text contains a negation, also one without its apostrophe."""
    return TYPED_NEGATION.search(text) is not None


def corrections(message: str, rewritten: str) -> tuple[tuple[str, str], ...]:
    """Return the words that a rewrite replaces by similarly spelled ones, as `(as written, corrected)` pairs."""
    before, after = (_TOKEN.findall(text) for text in (message, rewritten))
    matcher = SequenceMatcher(None, [word.casefold() for word in before], [word.casefold() for word in after], False)
    pairs: list[tuple[str, str]] = []
    for kind, before_start, before_end, after_start, after_end in matcher.get_opcodes():
        if kind == "replace" and before_end - before_start == after_end - after_start:
            pairs += zip(before[before_start:before_end], after[after_start:after_end], strict=True)
    return tuple(pair for pair in dict.fromkeys(pairs) if _are_similar(*pair))


def _are_similar(a: str, b: str) -> bool:
    """Return whether two words are spelled alike, in any case: by at least `_MIN_SIMILARITY`."""
    return SequenceMatcher(None, a.casefold(), b.casefold()).ratio() >= _MIN_SIMILARITY


def _compared_form(token: str) -> str:
    """Return a token for comparison: without case, grouping commas, hyphens and the possessive ending."""
    return re.sub(r"['’]s$|[-‐,]", "", token.casefold())

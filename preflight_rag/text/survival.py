"""Checks of a rewritten question: its numbers, codes and negations must survive; and which words were corrected."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from preflight_rag.text.negation import TYPED_NEGATION
from preflight_rag.text.words import words

_TOKEN = re.compile(r"[^\W_]+(?:[-‐.,/'’+][^\W_]+)*")
_CODE = re.compile(r"\d|^[^\W\d_a-zß-ÿ]{2,}s?$|[a-z][A-Z]")
_LIKE = 0.6
"""Least similarity (0 to 1) at which one word counts as a correction of another; a guess."""


def lost(message: str, rewritten: str) -> list[str]:
    """Return the numbers and codes that a rewrite lost, and "a negation" if it lost the only one or all."""
    kept_words = {_plain(token) for token in _TOKEN.findall(rewritten)}
    shouted = not any(char.islower() for char in message)
    tokens = [token for token in _TOKEN.findall(message) if _CODE.search(token)]
    codes = [token for token in tokens if not shouted or any(map(str.isdigit, token))]
    missing = [token for token in dict.fromkeys(codes) if _plain(token) not in kept_words]
    return missing + (["a negation"] if negated(message) and not negated(rewritten) else [])


def strays(message: str, rewritten: str) -> bool:
    """Return whether a rewrite of a standalone message keeps less than half of its content words, except for typos."""
    asked, kept_words = words(message), words(rewritten)
    survived = []
    for word in asked:
        survived.append(any(word == other or _alike(word, other) for other in kept_words))
    kept = sum(survived)
    return 2 * kept < len(asked)


def negated(text: str) -> bool:
    """Return whether a text contains a negation, also one without its apostrophe."""
    return TYPED_NEGATION.search(text) is not None


def corrections(message: str, rewritten: str) -> tuple[tuple[str, str], ...]:
    """Return `(as written, corrected)` pairs: words that a similarly spelled word has replaced."""
    before, after = (_TOKEN.findall(text) for text in (message, rewritten))
    matcher = SequenceMatcher(None, [word.casefold() for word in before], [word.casefold() for word in after], False)
    pairs: list[tuple[str, str]] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "replace" and end - start == last - first:
            pairs += zip(before[start:end], after[first:last], strict=True)
    return tuple(pair for pair in dict.fromkeys(pairs) if _alike(*pair))


def _alike(a: str, b: str) -> bool:
    """Return whether two texts are nearly equal."""
    return SequenceMatcher(None, a.casefold(), b.casefold()).ratio() >= _LIKE


def _plain(token: str) -> str:
    """Return a token for comparison: without case, grouping commas, hyphens and the possessive ending."""
    return re.sub(r"['’]s$|[-‐,]", "", token.casefold())

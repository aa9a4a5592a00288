"""Finding the words of a passage that a quote or a statement rests on.

`locate` takes a quote as a model copied it and finds it in the passage: exactly, then with spaces, quotation marks and
case made alike, then within a few edits. `support` takes a statement and finds the passage's own sentences that say it.
Both return character offsets, so that `text[start:end]` is always the passage's own wording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

FUZZY_SCORE = 88.0
"""Least similarity (0 to 100, normalised edit distance of the best window) at which a quote counts as found; set by
hand."""
SHORTEST_FUZZY = 12
"""Characters below which a quote has to be found as it is: a few edits turn a short one into another. A guess."""
SUPPORT_COVERAGE = 0.6
"""Least share of a statement's content words that a supporting sentence holds; set by hand."""

_SAME = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ELLIPSIS = re.compile(r"(?<!\s)\s*+(?:\.{3}|…|\[\.{3}\]|\[…\])\s*")

Span = tuple[int, int]


def locate(quote: str, text: str) -> Span | None:
    """Return where a passage holds a quote, or None.

    A quote with an ellipsis is found by its longest part. Numbers must be the same: a quote that differs in one is not
    found, however alike the words are.
    """
    part = max(_ELLIPSIS.split(quote.strip()), key=len).strip()
    if not part:
        return None
    at = text.find(part)
    if at >= 0:
        return at, at + len(part)
    return _locate_alike(part, text) or _locate_fuzzy(part, text)


def support(statement: str, text: str) -> Span | None:
    """Return the sentence, or two in a row, of a passage that hold most of a statement's words and all its numbers."""
    wanted = set(words(statement))
    numbers = set(_NUMBER.findall(statement))
    if not wanted:
        return None
    spans = sentence_spans(text)
    pairs = [(a[0], b[1]) for a, b in pairwise(spans)]
    return _best_window(wanted, numbers, text, spans) or _best_window(wanted, numbers, text, pairs)


def strongest(statement: str, texts: Sequence[str]) -> int | None:
    """Index of the text that supports a statement with the largest share of its words; the first of equals."""
    found = [(i, span) for i, text in enumerate(texts) if (span := support(statement, text))]
    if not found:
        return None
    wanted = set(words(statement))
    return max(found, key=lambda item: (len(wanted & set(words(texts[item[0]][slice(*item[1])]))), -item[0]))[0]


def _best_window(wanted: set[str], numbers: set[str], text: str, windows: Sequence[Span]) -> Span | None:
    """The first of the windows that hold all the numbers and the largest share of the words, if it is large enough."""
    best: tuple[float, Span] | None = None
    for start, end in windows:
        window = text[start:end]
        if not numbers <= set(_NUMBER.findall(window)):
            continue
        coverage = len(wanted & set(words(window))) / len(wanted)
        if coverage >= SUPPORT_COVERAGE and (best is None or coverage > best[0]):
            best = (coverage, (start, end))
    return best[1] if best else None


def _alike(text: str) -> tuple[str, list[int]]:
    """Text with runs of space as one, quotation marks and case alike, and each character's offset in the original."""
    out: list[str] = []
    offsets: list[int] = []
    for i, character in enumerate(text.translate(_SAME)):
        if character.isspace():
            if out and out[-1] == " ":
                continue
            character = " "
        lowered = character.lower()
        out.append(lowered if len(lowered) == 1 else character)
        offsets.append(i)
    return "".join(out), offsets


def _locate_alike(quote: str, text: str) -> Span | None:
    haystack, offsets = _alike(text)
    needle = _alike(quote)[0].strip().strip("\"'").strip(" .;,")
    at = haystack.find(needle) if needle else -1
    return (offsets[at], offsets[at + len(needle) - 1] + 1) if at >= 0 else None


def _locate_fuzzy(quote: str, text: str) -> Span | None:
    haystack, offsets = _alike(text)
    needle = _alike(quote)[0].strip()
    if len(needle) < SHORTEST_FUZZY:
        return None
    from rapidfuzz import fuzz  # not above: most quotes are found word for word

    found = fuzz.partial_ratio_alignment(needle, haystack, score_cutoff=FUZZY_SCORE)
    if found is None or found.dest_end <= found.dest_start:
        return None
    start, end = _whole_words(text, offsets[found.dest_start], offsets[found.dest_end - 1] + 1)
    if start >= end:  # nothing but space is like nothing
        return None
    if set(_NUMBER.findall(quote)) - set(_NUMBER.findall(text[start:end])):
        return None
    return start, end


def _whole_words(text: str, start: int, end: int) -> Span:
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end

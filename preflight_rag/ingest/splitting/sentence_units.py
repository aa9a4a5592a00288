"""What is packed into passages: sentences with their token counts, and pieces of those that are too long.

Token counts are the embedder's own. A sentence that is longer than the window is cut after a clause, else between
words, else inside one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from preflight_rag.text.sentences import sentence_spans

CHARACTERS_PER_TOKEN = 10
HEADING_LEVELS = 3
"""Headings in a row that stay with the text under them; a guess, as is the number above."""

_BATCH_CHARACTERS = 100_000
_HEADING_CHARACTERS = 120
_SENTENCE_END = re.compile(r"[.!?:;,…。！？؟][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"(?<=[;:,.!?—–)\]。，、；])\s+|(?<=[。，、；])")
_SPACE = re.compile(r"\s+")


class TokenCounter(Protocol):
    """The interface of an embedder for the splitter."""

    max_tokens: int

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces, without special tokens."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the character offsets of each word piece."""


@dataclass(frozen=True, slots=True)
class SentenceUnit:
    """A sentence, or a piece of one that is longer than the window."""

    start: int
    end: int
    tokens: int
    page: int
    heading: bool


class UnitReader:
    """Divides texts into units that fit `window` word pieces and ten times as many characters.

    Args:
        embedder: Whose tokens are counted.
        window: Longest unit in word pieces, without special tokens; `longest` is its length in characters.
    """

    def __init__(self, embedder: TokenCounter, window: int) -> None:
        self._embedder = embedder
        self._window = window
        self.longest = window * CHARACTERS_PER_TOKEN

    def units(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> list[SentenceUnit]:
        """Return the sentences with their token counts; sentences longer than the window in pieces that fit."""
        spans = sentence_spans(text)
        units: list[SentenceUnit] = []
        for batch in self._batches(spans):
            base = batch[0][0]
            starts = [
                base + start for start, end in self._embedder.token_offsets(text[base : batch[-1][1]]) if end > start
            ]
            for start, end in batch:
                page = bisect_right(page_starts, start)
                tokens = bisect_left(starts, end) - bisect_left(starts, start)
                if tokens <= self._window and end - start <= self.longest and self._is_short(text[start:end], tokens):
                    heading = start in headings or _looks_like_heading(text, start, end)
                    units.append(SentenceUnit(start, end, tokens, page, heading))
                else:
                    units.extend(
                        SentenceUnit(left, right, count, bisect_right(page_starts, left), False)
                        for left, right, count in self._pieces(text, start, end)
                    )
        return units

    def _is_short(self, sentence: str, tokens: int) -> bool:
        """Return whether a sentence, which has so many tokens within its text, fits into the window by itself.

        At its ends it may be divided in another way there; a sentence of half a window cannot come to a whole one.
        """
        return 2 * tokens <= self._window or self._embedder.count_tokens(sentence) <= self._window

    def _batches(self, spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        """Yield runs of sentences of some 100,000 characters, so that memory stays bounded."""
        batch: list[tuple[int, int]] = []
        for span in spans:
            if batch and span[1] - batch[0][0] > _BATCH_CHARACTERS:
                yield batch
                batch = []
            batch.append(span)
        if batch:
            yield batch

    def _pieces(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield `(start, end, tokens)` of the pieces of a sentence that is longer than the window."""
        while start < end:
            limit = self._reach(text, start, min(end, start + self.longest))
            cut = limit if limit == end else _best_cut(text, start, limit)
            tokens = self._embedder.count_tokens(text[start:cut].rstrip())
            while tokens > self._window and cut > start + 1:
                cut = start + max(1, (cut - start) * self._window // (tokens + 1))
                tokens = self._embedder.count_tokens(text[start:cut].rstrip())
            yield start, start + len(text[start:cut].rstrip()), tokens
            space = _SPACE.match(text, cut, end)
            start = space.end() if space else cut

    def _reach(self, text: str, start: int, limit: int) -> int:
        """Return the furthest end at most `limit` such that `text[start:end]` has no more tokens than the window."""
        offsets = [offset for offset in self._embedder.token_offsets(text[start:limit]) if offset[1] > offset[0]]
        if len(offsets) <= self._window:
            return limit
        return start + max(1, offsets[self._window][0])

    def fits(self, text: str, first: SentenceUnit, last: SentenceUnit) -> bool:
        """Return whether the text from unit `first` to `last`, tokenized as a whole, fits the window."""
        if last.end - first.start > self.longest:
            return False
        return self._embedder.count_tokens(text[first.start : last.end]) <= self._window


def _looks_like_heading(text: str, start: int, end: int) -> bool:
    """Return whether a sentence is alone on a short line without a full stop, with more text below it."""
    if end - start > _HEADING_CHARACTERS or _SENTENCE_END.search(text[start:end]):
        return False
    before = text[max(0, start - 3) : start].rstrip(" \t")
    after = text[end : end + 3].lstrip(" \t")
    return (
        (not before or before.endswith("\n"))
        and after.startswith(("\n", "\r"))
        and (text[start].isalnum() or text[start] == "#")
    )


def _best_cut(text: str, start: int, limit: int) -> int:
    """Return where to cut before `limit`: after a clause in the second half, else between words, else at `limit`."""
    half = start + (limit - start) // 2
    for pattern in (_CLAUSE_END, _SPACE):
        cuts = [match.end() for match in pattern.finditer(text, half, limit)]
        if cuts:
            return cuts[-1]
    return limit

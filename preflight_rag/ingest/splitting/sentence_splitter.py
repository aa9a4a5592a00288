"""Splitting documents into passages: whole sentences, packed up to what the embedder reads.

Sentences are packed greedily. A passage ends early where a new page begins, and may end early before a heading, which
stays with the text under it. Token counts are the embedder's own, taken on the passage's joined text, so nothing that
is stored is cut off when it is embedded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from preflight_rag.ingest.splitting.passage_splitter import TINY_PASSAGE, PassageSplitter, Span, longest_passage
from preflight_rag.ingest.splitting.sentence_units import HEADING_LEVELS, SentenceUnit, TokenCounter
from preflight_rag.state.errors import UsageError


class SentenceSplitter(PassageSplitter):
    """LangChain text splitter that keeps sentences whole.

    Neighbouring passages do not overlap by default: a sentence is never cut in two where it can be avoided, and copies
    of the same sentence in several retrieved passages would take the place of other evidence.

    Args:
        embedder: Whose tokens are counted.
        chunk_tokens: Longest passage in word pieces, without special tokens; default: all that the embedder reads.
        overlap: Number of sentences that a passage repeats from the one before it, where they fit.

    Raises:
        UsageError: `chunk_tokens` is below 8 or above what the embedder reads, or `overlap` is negative.
    """

    def __init__(self, embedder: TokenCounter, *, chunk_tokens: int | None = None, overlap: int = 0) -> None:
        window = longest_passage(embedder) if chunk_tokens is None else chunk_tokens
        super().__init__(embedder, window, window)
        if overlap < 0:
            raise UsageError(f"overlap is {overlap!r}", help="Choose the number of sentences to repeat, 0 or more")
        self.overlap = overlap

    def settings(self) -> dict[str, Any]:
        """Return the settings on which passage boundaries depend, as the library records them."""
        return {"name": "sentence", "chunk_tokens": self.chunk_tokens, "overlap": self.overlap}

    def _spans(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> Iterator[Span]:
        """Yield the passages of a text."""
        units = self._units.units(text, page_starts, headings)
        for first, last in self._rebalanced(text, units, self._checked(text, units, self._packed(units))):
            start, end = units[first].start, units[last].end
            yield Span(start, end, self.embedder.count_tokens(text[start:end]))

    def _packed(self, units: Sequence[SentenceUnit]) -> Iterator[tuple[int, int]]:
        """Yield `(first, last)` of each passage's units, both inclusive."""
        first, tokens = 0, 0
        for index, unit in enumerate(units):
            if index > first and not self._fits(units, first, index, tokens):
                last = self._without_trailing_headings(units, first, index - 1, unit)
                yield first, last
                first = self._overlapping(units, first, last + 1, index)
                tokens = sum(member.tokens for member in units[first:index])
            tokens += unit.tokens
        if units:
            yield first, len(units) - 1

    def _overlapping(self, units: Sequence[SentenceUnit], previous: int, following: int, index: int) -> int:
        """Return the first unit of the passage with units `following` to `index` if it repeats some before them."""
        first = following
        tokens = sum(unit.tokens for unit in units[following : index + 1])
        while first > max(previous + 1, following - self.overlap) and units[first - 1].page == units[index].page:
            tokens += units[first - 1].tokens
            if tokens > self.chunk_tokens:
                break
            first -= 1
        return first

    def _fits(self, units: Sequence[SentenceUnit], first: int, index: int, tokens: int) -> bool:
        """Return whether unit `index` may join the passage of `units[first:index]`, which has `tokens`."""
        unit = units[index]
        if unit.page != units[first].page:
            return False
        if unit.heading and tokens * 2 >= self.chunk_tokens and not units[index - 1].heading:
            return False
        return tokens + unit.tokens <= self.chunk_tokens and unit.end - units[first].start <= self._units.longest

    def _without_trailing_headings(
        self, units: Sequence[SentenceUnit], first: int, last: int, following: SentenceUnit
    ) -> int:
        """Return `last`, moved up past headings that belong to the following text on the same page."""
        if following.page != units[last].page:
            return last
        kept = last
        while kept > max(first, last - HEADING_LEVELS) and units[kept].heading:
            kept -= 1
        moved = sum(unit.tokens for unit in units[kept + 1 : last + 1])
        return kept if not units[kept].heading and moved + following.tokens <= self.chunk_tokens else last

    def _checked(
        self, text: str, units: Sequence[SentenceUnit], groups: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the groups, divided if their joined text has more tokens than the sum of their units."""
        for first, last in groups:
            while first <= last:
                end = last
                while end > first and not self._units.fits(text, units[first], units[end]):
                    end -= 1
                yield first, end
                first = end + 1

    def _rebalanced(
        self, text: str, units: Sequence[SentenceUnit], groups: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return the groups; tiny ones on one page with the group before are joined to it or filled up from it."""
        balanced: list[tuple[int, int]] = []
        for first, last in groups:
            tokens = sum(unit.tokens for unit in units[first : last + 1])
            if tokens >= TINY_PASSAGE or not balanced or units[balanced[-1][0]].page != units[first].page:
                balanced.append((first, last))
                continue
            before, end = balanced.pop()
            if self._units.fits(text, units[before], units[last]):
                balanced.append((before, last))
                continue
            while first > before + 1 and tokens < TINY_PASSAGE:
                if not self._units.fits(text, units[first - 1], units[last]):
                    break
                first -= 1
                tokens += units[first].tokens
            balanced.extend([(before, end if self.overlap else first - 1), (first, last)])
        return balanced

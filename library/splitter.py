"""Splitting documents into passages: whole sentences, packed up to what the embedder reads.

Sentences are packed greedily. A passage ends early where a new page begins, and may end early before a heading, which
stays with the text under it. Token counts are the embedder's own, taken on the passage's joined text, so nothing that
is stored is cut off when it is embedded.
"""

from __future__ import annotations

import copy
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import TextSplitter

from ..models.sentences import sentence_spans
from ..state.errors import UsageError
from ..state.values import Document, Passage
from .identity import passage_id

SPECIAL_TOKENS = 2
TINY_PASSAGE = 20
CHARACTERS_PER_TOKEN = 10

_BATCH_CHARACTERS = 100_000
_HEADING_CHARACTERS = 120
_HEADING_LEVELS = 3
_SENTENCE_END = re.compile(r"[.!?:;,…。！？؟][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"(?<=[;:,.!?—–)\]。，、；])\s+|(?<=[。，、；])")
_SPACE = re.compile(r"\s+")


class TokenCounter(Protocol):
    """What the splitter needs of an embedder."""

    max_tokens: int

    def count_tokens(self, text: str) -> int:
        """Number of word pieces, without special tokens."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of each word piece."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or a piece of one that is longer than the window."""

    start: int
    end: int
    tokens: int
    page: int
    heading: bool


class SentenceSplitter(TextSplitter):
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
        longest = embedder.max_tokens - SPECIAL_TOKENS
        window = longest if chunk_tokens is None else chunk_tokens
        if not 8 <= window <= longest:
            raise UsageError(f"chunk_tokens is {window!r}", help=f"Choose a number from 8 to {longest}")
        if overlap < 0:
            raise UsageError(f"overlap is {overlap!r}", help="Choose the number of sentences to repeat, 0 or more")
        super().__init__(
            chunk_size=window, chunk_overlap=0, length_function=embedder.count_tokens, add_start_index=True
        )
        self.embedder = embedder
        self.chunk_tokens = window
        self.overlap = overlap
        self._longest_unit = window * CHARACTERS_PER_TOKEN

    def settings(self) -> dict[str, Any]:
        """What decides where passages begin and end, as the library records it."""
        return {"name": "sentence", "chunk_tokens": self.chunk_tokens, "overlap": self.overlap}

    def split(self, document: Document) -> list[Passage]:
        """The document's passages in order; `document.text[start:end] == text` for each.

        `page` is the page of the first character. `metadata["section"]` is the last heading at or before it, when the
        loader recorded `(offset, heading)` pairs under `metadata["sections"]`.
        """
        sections = sorted((int(offset), str(heading)) for offset, heading in document.metadata.get("sections", ()))
        offsets = [offset for offset, _ in sections]
        page_starts = [start for _, start in document.pages]
        passages = []
        for start, end, tokens in self._spans(document.text, page_starts, frozenset(offsets)):
            text = document.text[start:end]
            section = bisect_right(offsets, start) - 1
            page = bisect_right(page_starts, start) - 1
            passages.append(
                Passage(
                    id=passage_id(document.id, start, text),
                    document_id=document.id,
                    text=text,
                    title=document.title,
                    source=document.source,
                    date=document.date,
                    page=document.pages[page][0] if page >= 0 else None,
                    start=start,
                    end=end,
                    tokens=tokens,
                    metadata={"section": sections[section][1]} if section >= 0 else {},
                )
            )
        return passages

    def split_text(self, text: str) -> list[str]:
        """The passages' texts."""
        return [text[start:end] for start, end, _ in self._spans(text, [], frozenset())]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[LangChainDocument]:
        """LangChain documents, one per passage, with the exact offset as `start_index`."""
        return [
            LangChainDocument(page_content=text[start:end], metadata={**copy.deepcopy(metadata), "start_index": start})
            for text, metadata in zip(texts, metadatas or [{} for _ in texts], strict=True)
            for start, end, _ in self._spans(text, [], frozenset())
        ]

    def _spans(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> Iterator[tuple[int, int, int]]:
        """`(start, end, tokens)` of each passage."""
        units = self._units(text, page_starts, headings)
        for first, last in self._rebalanced(text, units, self._checked(text, units, self._packed(units))):
            start, end = units[first].start, units[last].end
            yield start, end, self.embedder.count_tokens(text[start:end])

    def _units(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> list[_Unit]:
        """Sentences with their token counts; those longer than the window in pieces that fit."""
        spans = sentence_spans(text)
        units: list[_Unit] = []
        for batch in self._batches(spans):
            base = batch[0][0]
            starts = [
                base + start for start, end in self.embedder.token_offsets(text[base : batch[-1][1]]) if end > start
            ]
            for start, end in batch:
                page = bisect_right(page_starts, start)
                tokens = bisect_left(starts, end) - bisect_left(starts, start)
                if tokens <= self.chunk_tokens and end - start <= self._longest_unit:
                    heading = start in headings or _looks_like_heading(text, start, end)
                    units.append(_Unit(start, end, tokens, page, heading))
                else:
                    units.extend(
                        _Unit(left, right, count, bisect_right(page_starts, left), False)
                        for left, right, count in self._pieces(text, start, end)
                    )
        return units

    def _batches(self, spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        """Runs of sentences of some 100,000 characters, so that memory stays bounded."""
        batch: list[tuple[int, int]] = []
        for span in spans:
            if batch and span[1] - batch[0][0] > _BATCH_CHARACTERS:
                yield batch
                batch = []
            batch.append(span)
        if batch:
            yield batch

    def _pieces(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """`(start, end, tokens)` of the pieces of a sentence that is longer than the window."""
        while start < end:
            limit = self._reach(text, start, min(end, start + self._longest_unit))
            cut = limit if limit == end else _best_cut(text, start, limit)
            tokens = self.embedder.count_tokens(text[start:cut].rstrip())
            while tokens > self.chunk_tokens and cut > start + 1:
                cut = start + max(1, (cut - start) * self.chunk_tokens // (tokens + 1))
                tokens = self.embedder.count_tokens(text[start:cut].rstrip())
            yield start, start + len(text[start:cut].rstrip()), tokens
            space = _SPACE.match(text, cut, end)
            start = space.end() if space else cut

    def _reach(self, text: str, start: int, limit: int) -> int:
        """The furthest end at most `limit` such that `text[start:end]` has no more tokens than the window."""
        offsets = [offset for offset in self.embedder.token_offsets(text[start:limit]) if offset[1] > offset[0]]
        if len(offsets) <= self.chunk_tokens:
            return limit
        return start + max(1, offsets[self.chunk_tokens][0])

    def _packed(self, units: Sequence[_Unit]) -> Iterator[tuple[int, int]]:
        """Index ranges `(first, last)` of the units of each passage, both inclusive."""
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

    def _overlapping(self, units: Sequence[_Unit], previous: int, following: int, index: int) -> int:
        """Where the passage begins whose own units are `following` to `index`, when it repeats some before them."""
        first = following
        tokens = sum(unit.tokens for unit in units[following : index + 1])
        while first > max(previous + 1, following - self.overlap) and units[first - 1].page == units[index].page:
            tokens += units[first - 1].tokens
            if tokens > self.chunk_tokens:
                break
            first -= 1
        return first

    def _fits(self, units: Sequence[_Unit], first: int, index: int, tokens: int) -> bool:
        """Whether unit `index` may join the passage of `units[first:index]`, which has `tokens`."""
        unit = units[index]
        if unit.page != units[first].page:
            return False
        if unit.heading and tokens * 2 >= self.chunk_tokens and not units[index - 1].heading:
            return False
        return tokens + unit.tokens <= self.chunk_tokens and unit.end - units[first].start <= self._longest_unit

    def _without_trailing_headings(self, units: Sequence[_Unit], first: int, last: int, following: _Unit) -> int:
        """`last`, moved up past headings that belong to the text which comes next on the same page."""
        if following.page != units[last].page:
            return last
        kept = last
        while kept > max(first, last - _HEADING_LEVELS) and units[kept].heading:
            kept -= 1
        moved = sum(unit.tokens for unit in units[kept + 1 : last + 1])
        return kept if not units[kept].heading and moved + following.tokens <= self.chunk_tokens else last

    def _checked(
        self, text: str, units: Sequence[_Unit], groups: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """The groups, divided where the joined text has more tokens than its units together."""
        for first, last in groups:
            while first <= last:
                end = last
                while end > first and not self._within(text, units[first], units[end]):
                    end -= 1
                yield first, end
                first = end + 1

    def _within(self, text: str, first: _Unit, last: _Unit) -> bool:
        if last.end - first.start > self._longest_unit:
            return False
        return self.embedder.count_tokens(text[first.start : last.end]) <= self.chunk_tokens

    def _rebalanced(
        self, text: str, units: Sequence[_Unit], groups: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """The groups without tiny ones that share a page with the one before: joined to it, or filled up from it."""
        balanced: list[tuple[int, int]] = []
        for first, last in groups:
            tokens = sum(unit.tokens for unit in units[first : last + 1])
            if tokens >= TINY_PASSAGE or not balanced or units[balanced[-1][0]].page != units[first].page:
                balanced.append((first, last))
                continue
            before, end = balanced.pop()
            if self._within(text, units[before], units[last]):
                balanced.append((before, last))
                continue
            while first > before + 1 and tokens < TINY_PASSAGE and self._within(text, units[first - 1], units[last]):
                first -= 1
                tokens += units[first].tokens
            balanced.extend([(before, end if self.overlap else first - 1), (first, last)])
        return balanced


def _looks_like_heading(text: str, start: int, end: int) -> bool:
    """Whether the sentence stands alone on a short line without a full stop, with more text under it."""
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
    """Where to cut before `limit`: after a clause in the second half, else between words, else at `limit`."""
    half = start + (limit - start) // 2
    for pattern in (_CLAUSE_END, _SPACE):
        cuts = [match.end() for match in pattern.finditer(text, half, limit)]
        if cuts:
            return cuts[-1]
    return limit

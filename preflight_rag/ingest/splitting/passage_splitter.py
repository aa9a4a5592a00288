"""What the splitters share: passages with their offsets, pages and sections, LangChain's interface."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import TextSplitter

from preflight_rag.ingest.identity import passage_id
from preflight_rag.ingest.splitting.sentence_units import TokenCounter, UnitReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document, Passage

SPECIAL_TOKENS = 2
"""What a BERT-like tokenizer adds to a passage: [CLS] and [SEP]."""
TINY_PASSAGE = 20
"""Passages of fewer word pieces join a neighbour: headings and list marks; a guess."""
SHORTEST_CHUNK = 8
"""Least chunk size that can be asked for; a guess, below which passages are no sentences."""


class Span(NamedTuple):
    """One passage: its characters, word pieces, and the beginning of the sentence repeated by the next passage."""

    start: int
    end: int
    tokens: int
    overlap_start: int | None = None


class PassageSplitter(TextSplitter, ABC):
    """A LangChain text splitter that also makes the library's passages.

    Args:
        embedder: Whose tokens are counted.
        chunk_tokens: The chunk size in word pieces, without special tokens.
        window: Longest passage; default: all that the embedder reads.

    Raises:
        UsageError: `chunk_tokens` is below 8 or above what the embedder reads.
    """

    def __init__(self, embedder: TokenCounter, chunk_tokens: int, window: int | None = None) -> None:
        longest = longest_passage(embedder)
        if not SHORTEST_CHUNK <= chunk_tokens <= longest:
            raise UsageError(
                f"chunk_tokens is {chunk_tokens!r}", help=f"Choose a number from {SHORTEST_CHUNK} to {longest}"
            )
        super().__init__(
            chunk_size=chunk_tokens, chunk_overlap=0, length_function=embedder.count_tokens, add_start_index=True
        )
        self.embedder = embedder
        self.chunk_tokens = chunk_tokens
        self._units = UnitReader(embedder, window or longest)

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings on which passage boundaries depend, as the library records them."""

    @abstractmethod
    def _spans(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> Iterable[Span]:
        """Return the passages of a text in order."""

    def split(self, document: Document) -> list[Passage]:
        """Return the document's passages in order; `document.text[start:end] == text` for each.

        `page` is the page of the first character. `metadata["section"]` is the last heading at or before it, when the
        loader recorded `(offset, heading)` pairs under `metadata["sections"]`. `metadata["overlap_start"]` is the
        offset in the document from which on the passage repeats the beginning of the next one, where it does.
        `metadata["page_starts"]` are the `[offset, page]` at which further pages begin in the passage.
        """
        sections = sorted((int(offset), str(heading)) for offset, heading in document.metadata.get("sections", ()))
        offsets = [offset for offset, _ in sections]
        page_starts = [start for _, start in document.pages]

        def page_of(offset: int) -> int | None:
            """Return the page of a character; None without pages."""
            place = bisect_right(page_starts, offset) - 1
            return document.pages[place][0] if place >= 0 else None

        passages = []
        for span in self._spans(document.text, page_starts, frozenset(offsets)):
            text, page = document.text[span.start : span.end], page_of(span.start)
            section = bisect_right(offsets, span.start) - 1
            metadata: dict[str, Any] = {"section": sections[section][1]} if section >= 0 else {}
            if span.overlap_start is not None:
                metadata["overlap_start"] = span.overlap_start
            inside = slice(bisect_right(page_starts, span.start), bisect_left(page_starts, span.end))
            if further := [[start, number] for number, start in document.pages[inside]]:
                metadata["page_starts"] = further
            passages.append(
                Passage(
                    id=passage_id(document.id, span.start, text),
                    document_id=document.id,
                    text=text,
                    title=document.title,
                    source=document.source,
                    date=document.date,
                    page=page,
                    start=span.start,
                    end=span.end,
                    tokens=span.tokens,
                    metadata=metadata,
                )
            )
        return passages

    def split_text(self, text: str) -> list[str]:
        """Return the texts of the passages."""
        return [text[span.start : span.end] for span in self._spans(text, [], frozenset())]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[LangChainDocument]:
        """LangChain documents, one per passage, with the exact offset as `start_index`.

        A passage that repeats the beginning of the next one has its `overlap_start`, an offset in the same text.
        """
        documents = []
        for text, metadata in zip(texts, metadatas or [{} for _ in texts], strict=True):
            for span in self._spans(text, [], frozenset()):
                about = {**copy.deepcopy(metadata), **_places(span)}
                documents.append(LangChainDocument(page_content=text[span.start : span.end], metadata=about))
        return documents


def longest_passage(embedder: TokenCounter) -> int:
    """Return the number of word pieces that the embedder reads, without special tokens."""
    return embedder.max_tokens - SPECIAL_TOKENS


def _places(span: Span) -> dict[str, int]:
    """Return the metadata of a passage: its offset, and that of a repeated sentence."""
    places = {"start_index": span.start}
    return places if span.overlap_start is None else {**places, "overlap_start": span.overlap_start}

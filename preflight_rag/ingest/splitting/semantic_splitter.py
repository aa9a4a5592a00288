"""Semantic Enhanced Overlap Segmentation: chunks that end where the text turns to something else (CPQA, section III.D).

The steps of Algorithm 1, as they are done here for the units (sentences) of a document:

1. A unit's group is the unit with its k neighbours on either side, of the text that stands there; where that is more
   than the embedder reads, with fewer. Each group is embedded as one text.
2. The distance at the boundary of two units is 1 minus the cosine of their groups.
3. Inflection points are the boundaries at which the distance stops rising, which is where the curve of accumulated
   distance has its inflections.
4. The inflection points of the document with the greatest distances are its breakpoints, as many as the chunk size goes
   into the document's word pieces. There is none behind a heading, so that it stays with the text under it.
5. A chunk that the embedder would not read to its end is divided in the same way, or, without an inflection point in
   it, in the middle; one of a few words joins a neighbour.
6. Each chunk goes on to the end of the next one's first sentence, with the heading over that.

Time is linear in the length of the document: what is embedded is 2k + 1 times its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from preflight_rag.ingest.splitting.passage_splitter import TINY_PASSAGE, PassageSplitter, Span, longest_passage
from preflight_rag.ingest.splitting.sentence_units import HEADING_LEVELS, SentenceUnit, TokenCounter, UnitReader
from preflight_rag.models.embedding.torch_embedders import normalize
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.embeddings import Embeddings

    from preflight_rag.models.embedding.embedder import Embedder

NEIGHBOURS = 1
"""The k of the algorithm; CPQA names none, and it was not tuned."""
BERT_CHUNK, LONG_CHUNK = 192, 512
BERT_WINDOW = 512
CHUNK_SHARE = 0.75
"""See `default_chunk_tokens` for these numbers."""

_DECIMALS = 6


class SemanticOverlapSplitter(PassageSplitter):
    """LangChain text splitter that breaks where the meaning changes, and repeats a sentence over each break.

    A chunk may go over a page's end; `Passage.page_at` knows the page of each of its characters.

    Args:
        embedder: What `open_embedder` takes: a name, a LangChain `Embeddings` object, or None for the default one.
        chunk_tokens: The chunk size in word pieces; default: `default_chunk_tokens`. It decides how many breakpoints
            there are, so chunks are about as long on average; each may have up to what the embedder reads, the repeated
            sentence included.
        neighbours: The k of the algorithm: how many sentences on either side of one make up its group.

    Raises:
        UsageError: `chunk_tokens` is below 8 or above what the embedder reads, or `neighbours` is negative.
        EmbedderError: The embedder cannot be opened.
    """

    def __init__(
        self,
        embedder: Embeddings | str | None = None,
        *,
        chunk_tokens: int | None = None,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        if neighbours < 0:
            raise UsageError(
                f"neighbours is {neighbours!r}", help="Choose the number of sentences on either side, 0 or more"
            )
        opened = open_embedder(embedder)
        super().__init__(opened, default_chunk_tokens(opened) if chunk_tokens is None else chunk_tokens)
        self.neighbours = neighbours
        self._encoder = opened

    def settings(self) -> dict[str, Any]:
        """Return the settings on which passage boundaries depend, as the library records them."""
        return {"name": "semantic", "chunk_tokens": self.chunk_tokens, "neighbours": self.neighbours}

    def _spans(self, text: str, page_starts: Sequence[int], headings: frozenset[int]) -> Iterator[Span]:
        """Yield the chunks of a text, each with the first sentence of the next chunk appended."""
        units = self._units.units(text, page_starts, headings)
        cutting = _Cutting(text, units, self._units, self._encoder, self.chunk_tokens, self.neighbours)
        for first, last in cutting.chunks():
            opening = cutting.opening_after(first, last)
            start, end = units[first].start, units[last if opening is None else opening].end
            overlap = None if opening is None else units[last + 1].start
            yield Span(start, end, self.embedder.count_tokens(text[start:end]), overlap)


def default_chunk_tokens(embedder: TokenCounter) -> int:
    """Return the chunk size for an embedder, in word pieces.

    For BERT-like ones, which read 512 pieces at most, CPQA takes 128 words: 192 pieces at one and a half a word. For
    those that read more, such as OpenAI's, it takes 512 tokens. An embedder that reads little gets three quarters of
    what it reads, which leaves room for the repeated sentence.
    """
    chunk = BERT_CHUNK if embedder.max_tokens <= BERT_WINDOW else LONG_CHUNK
    return min(chunk, int(longest_passage(embedder) * CHUNK_SHARE))


def group_distances(groups: np.ndarray) -> np.ndarray:
    """Return the distances between adjacent groups: 1 minus their cosine, shape (n - 1,).

    Args:
        groups: A vector for each sentence's group, shape (n, d), of any length.
    """
    import numpy as np

    unit = normalize(groups).astype(np.float64)
    distances: np.ndarray = np.round(1 - np.einsum("nd,nd->n", unit[:-1], unit[1:]), _DECIMALS)
    return distances


def inflection_points(distances: np.ndarray) -> np.ndarray:
    """Return at which places a curve stops rising, shape (n,), bool: of equal values the first, never an end."""
    import numpy as np

    rises = np.diff(distances, prepend=np.inf) > 0
    goes_on = np.diff(distances, append=np.inf) > 0
    found: np.ndarray = rises & ~goes_on
    return found


class _Cutting:
    """The chunks of one document; each is given by its first and last unit."""

    def __init__(
        self,
        text: str,
        units: Sequence[SentenceUnit],
        reader: UnitReader,
        embedder: Embedder,
        chunk_tokens: int,
        neighbours: int,
    ) -> None:
        import numpy as np

        self._text, self._units, self._reader, self._embedder = text, units, reader, embedder
        self._chunk_tokens, self._neighbours = chunk_tokens, neighbours
        self._weights = np.array([max(1, unit.tokens) for unit in units])
        self._before = np.concatenate([[0], np.cumsum(self._weights)])

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield the chunks without the repeated sentences."""
        if self._units:
            first, last = 0, len(self._units) - 1
            cut = self._cut(first, last, self._tokens(first, last) // self._chunk_tokens)
            yield from self._joined([part for chunk in cut for part in self._fitting(*chunk)])

    def opening_after(self, first: int, last: int) -> int | None:
        """Return the last unit of the next chunk's first sentence; None if there is none or it does not fit."""
        if last + 1 == len(self._units):
            return None
        end = self._opening(last + 1)
        return end if self._reader.fits(self._text, self._units[first], self._units[end]) else None

    @cached_property
    def _distances(self) -> np.ndarray:
        """The distance between each unit's group and the next."""
        texts = [self._group(place) for place in range(len(self._units))]
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = self._embedder.encode_passages(list(rows))
        return group_distances(vectors[[rows[text] for text in texts]])

    def _group(self, place: int) -> str:
        """Return the text of a unit with its neighbours, which are embedded together."""
        for reach in range(self._neighbours, -1, -1):
            first, last = max(0, place - reach), min(place + reach, len(self._units) - 1)
            if reach == 0 or self._tokens(first, last) <= longest_passage(self._embedder):
                break
        return self._text[self._units[first].start : self._units[last].end]

    @cached_property
    def _inflections(self) -> np.ndarray:
        """The units after which a chunk may end: inflection points that are not headings."""
        import numpy as np

        found: np.ndarray = inflection_points(self._distances) & ~np.array([unit.heading for unit in self._units[:-1]])
        return found

    def _cut(self, first: int, last: int, count: int) -> list[tuple[int, int]]:
        """Return a chunk divided at its `count` greatest inflection points, or in the middle without any."""
        import numpy as np

        if count == 0 or first == last:
            return [(first, last)]
        places = first + np.flatnonzero(self._inflections[first:last])
        if len(places):
            ends = sorted(places[np.argsort(-self._distances[places], kind="stable")[:count]].tolist())
        else:
            ends = [self._middle(first, last)]
        return list(zip([first, *(end + 1 for end in ends)], [*ends, last], strict=True))

    def _fitting(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the chunk, divided until each part fits the embedder together with its repeated sentence."""
        waiting = [(first, last)]
        while waiting:
            first, last = waiting.pop()
            if first == last or self._fits(first, last):
                yield first, last
            else:
                count = max(1, self._tokens(first, last) // self._chunk_tokens)
                waiting.extend(reversed(self._cut(first, last, count)))

    def _joined(self, chunks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the chunks, with very short ones joined to the nearer neighbour if they fit."""
        joined: list[tuple[int, int]] = []
        for first, last in chunks:
            if joined and self._belongs(joined[-1], first, last, chunks[-1][1]) and self._fits(joined[-1][0], last):
                joined[-1] = (joined[-1][0], last)
            else:
                joined.append((first, last))
        return joined

    def _belongs(self, before: tuple[int, int], first: int, last: int, end: int) -> bool:
        """Return whether to merge a tiny chunk with its neighbour, rather than with the chunk after."""
        if self._tokens(*before) < TINY_PASSAGE:
            return True
        tiny = self._tokens(first, last) < TINY_PASSAGE
        return tiny and (last == end or bool(self._distances[first - 1] <= self._distances[last]))

    def _fits(self, first: int, last: int) -> bool:
        """Return whether a chunk with its repeated sentence fits the embedder."""
        end = last if last + 1 == len(self._units) else self._opening(last + 1)
        return self._reader.fits(self._text, self._units[first], self._units[end])

    def _opening(self, first: int) -> int:
        """Return the last unit of the first sentence from `first` on, including headings before it."""
        last = first
        while self._units[last].heading and last < min(first + HEADING_LEVELS, len(self._units) - 1):
            last += 1
        return last

    def _middle(self, first: int, last: int) -> int:
        """Return the unit from `first` to `last - 1` that ends nearest to the middle, if possible not a heading."""
        import numpy as np

        away = np.abs(2 * self._before[first + 1 : last + 1] - self._before[first] - self._before[last + 1])
        headings = np.array([unit.heading for unit in self._units[first:last]])
        return first + int(np.argmin(np.where(headings & ~headings.all(), away + self._before[-1] * 2, away)))

    def _tokens(self, first: int, last: int) -> int:
        """Return the number of word pieces from one unit to another."""
        return int(self._before[last + 1] - self._before[first])

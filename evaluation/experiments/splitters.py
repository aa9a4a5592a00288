"""Experiment `splitters`: how much of an answer's span the chunks of each splitter bring into a token budget.

A question's chunks are ranked by cosine within its own document, and taken in that order until the budget is spent; the
last one is cut. Text that two chunks share counts twice, as in a prompt. CPQA's chunks of 512 tokens are embedded by a
model that reads 512, if the run's embedder reads less.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from evaluation.compare import compare
from evaluation.report import Report, Table
from evaluation.rows import ScoreRow, samples_of
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, Spans
from evaluation.searching import described
from evaluation.vector_cache import cached_embedder
from preflight_rag.ingest.splitting.semantic_splitter import CHUNK_SHARE, SemanticOverlapSplitter
from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.ingest.splitting.sentence_units import UnitReader
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.embedding.minilm import LongMiniLM, MiniLM
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.values import Document

BUDGETS = (256, 512, 1024, 2048)
FIXED = ((512, 0), (512, 32), (512, 128), (256, 0))
WINDOW_NEIGHBOURS = 3
OURS = "SEOS"
LONG = 512
"""Tokens of CPQA's fixed chunks (Table IV), which an embedder should read to their end."""


class Chunk(NamedTuple):
    """The text that is embedded, and the larger span around it that is passed to the reader."""

    start: int
    end: int
    given_start: int
    given_end: int


@dataclass(frozen=True)
class WordPieces:
    """A document's word pieces: the start and end of each in characters, in order."""

    starts: Sequence[int]
    ends: Sequence[int]

    def count(self, start: int, end: int) -> int:
        """Return how many word pieces begin in a span."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)

    def cut(self, start: int, end: int, count: int) -> int:
        """Return the end of a span that is cut after `count` pieces."""
        first = bisect_left(self.starts, start)
        return end if self.count(start, end) <= count else max(start, *self.ends[first + count - 1 : first + count])


Split = Callable[["Document", WordPieces], list[Chunk]]


@dataclass(frozen=True)
class Method:
    """A way to split, and the embedder of its chunks."""

    split: Split
    embedder: Embedder


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Split the sampled documents with each splitter, and compare how well the best passages cover the answers."""
    samples = found.select(run.part, run.limit)
    with ExitStack() as stack:
        embedder = stack.enter_context(cached_embedder(run))
        long = long_embedder(embedder, run)
        kept = stack.enter_context(cached_embedder(run, long)) if long else None
        rows, sizes, documents = _measured(found, samples, embedder, kept, run)
        given = described(found, embedder, budgets=BUDGETS, seos=SemanticOverlapSplitter(embedder).settings())
    asked = len(samples_of(rows))
    missing = len(samples) - asked
    left_out = f" {missing} more are left out: their answer is not found." * bool(missing)
    tables, figures = [], {}
    for title, values in (
        ("Span recall", rows),
        ("Share of questions with the whole span", [replace(r, score=float((r.score or 0) >= 1)) for r in rows]),
    ):
        arms = dict.fromkeys(row.arm for row in rows)
        pairs = [(OURS, name) for name in arms if name != OURS]
        compared = compare(values, pairs=pairs, seed=run.seed, wilson=False)
        shown = f"{title}, by tokens of retrieved text"
        tables.append(compared.means(shown, head="splitter", percent=False, intervals="", differences=True))
        figures[title] = compared.figures
    return Report(
        experiment="splitters",
        dataset=found.title,
        about=f"{asked:,} questions ({run.part} part), each asked of its own of {documents} documents.{left_out}",
        tables=(*tables, _sizes_table(sizes)),
        rows=tuple(rows),
        figures={**figures, "chunks": sizes},
        inputs=given,
    )


def methods(embedder: Embedder, long: Embedder | None = None) -> dict[str, Method]:
    """Return the splitters that are compared, by name.

    Args:
        embedder: The embedder of the chunks, whose tokens are counted.
        long: The embedder of chunks that `embedder` does not read to their end; None: they are not compared.
    """
    reads = embedder.max_tokens - embedder.special_tokens

    def fitting(size: int) -> Embedder | None:
        return embedder if size <= reads + embedder.special_tokens else long

    def whole(splitter: SentenceSplitter | SemanticOverlapSplitter) -> Split:
        return lambda document, _: [Chunk(p.start, p.end, p.start, p.end) for p in splitter.split(document)]

    found = {
        f"fixed {size}, overlap {overlap}": Method(_fixed(size - embedder.special_tokens, overlap), reader)
        for size, overlap in FIXED
        if (reader := fitting(size))
    }
    found["sentences, packed"] = Method(whole(SentenceSplitter(embedder)), embedder)
    found["sentence windows"] = Method(_windows(UnitReader(embedder, reads)), embedder)
    found[OURS] = Method(whole(SemanticOverlapSplitter(embedder)), embedder)
    if long is not None:
        size = int((long.max_tokens - long.special_tokens) * CHUNK_SHARE)
        splitter = SemanticOverlapSplitter(long, chunk_tokens=size)
        found[f"{OURS}, chunks of {size}"] = Method(whole(splitter), long)
    return found


def long_embedder(embedder: Embedder, run: ExperimentRun) -> Embedder | None:
    """Return an embedder that reads 512 tokens if the run's is the default one, which reads less; else None."""
    if embedder.max_tokens >= LONG or not isinstance(open_embedder(run.embedder), MiniLM):
        return None
    return LongMiniLM()


def word_pieces(embedder: Embedder, text: str) -> WordPieces:
    """Return the word pieces of a text."""
    offsets = [(start, end) for start, end in embedder.token_offsets(text) if end > start]
    return WordPieces([start for start, _ in offsets], [end for _, end in offsets])


def best_first(pieces: WordPieces, chunks: Sequence[Chunk], order: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Return the spans that the chunks pass on, in the given order, up to `budget` word pieces in all."""
    taken = []
    for place in order:
        start, end = chunks[place].given_start, chunks[place].given_end
        taken.append((start, pieces.cut(start, end, budget)))
        budget -= pieces.count(start, end)
        if budget <= 0:
            break
    return taken


def span_recall(text: str, answers: Spans, taken: Sequence[tuple[int, int]]) -> float:
    """Return the share of an answer's characters, spaces not counted, that the spans cover.

    Of several alternatives, the best.
    """
    covered = np.zeros(len(text) + 1, dtype=np.int32)
    for start, end in taken:
        covered[start] += 1
        covered[end] -= 1
    inside = np.cumsum(covered) > 0
    shares = []
    for stretches in answers:
        characters = chain.from_iterable(range(start, end) for start, end in stretches)
        wanted = [at for at in characters if not text[at].isspace()]
        shares.append(float(inside[wanted].mean()) if wanted else 0.0)
    return max(shares)


def _fixed(size: int, overlap: int) -> Split:
    """Return a splitter into windows of `size` word pieces that share `overlap` of them with the previous one."""

    def split(document: Document, pieces: WordPieces) -> list[Chunk]:
        chunks, count, first = [], len(pieces.starts), 0
        while first < count:
            start, end = pieces.starts[first], pieces.ends[min(first + size, count) - 1]
            chunks.append(Chunk(start, end, start, end))
            first = first + size - overlap if first + size < count else count
        return chunks

    return split


def _windows(reader: UnitReader) -> Split:
    """Return a splitter into single sentences, each passed on with its neighbours."""

    def split(document: Document, pieces: WordPieces) -> list[Chunk]:
        units = reader.units(document.text, [], frozenset())
        last = len(units) - 1
        return [
            Chunk(
                unit.start,
                unit.end,
                units[max(0, place - WINDOW_NEIGHBOURS)].start,
                units[min(last, place + WINDOW_NEIGHBOURS)].end,
            )
            for place, unit in enumerate(units)
        ]

    return split


def _measured(
    found: DataSet, samples: Sequence[Sample], embedder: Embedder, long: Embedder | None, run: ExperimentRun
) -> tuple[list[ScoreRow], dict[str, dict[str, float]], int]:
    """Return recall by sample, splitter and budget, the sizes of each splitter's chunks, and the document count."""
    splitters = methods(embedder, long)
    rows: dict[str, list[ScoreRow]] = {}
    lengths: dict[str, list[int]] = {name: [] for name in splitters}
    wanted = dict.fromkeys(sample.document for sample in samples)
    for done, (document, answers) in enumerate(found.read(list(wanted)), 1):
        asked = [sample for sample in samples if sample.id in answers]
        pieces = word_pieces(embedder, document.text)
        for name, method in splitters.items() if asked else ():
            chunks = method.split(document, pieces)
            matrix = method.embedder.encode_passages([document.text[chunk.start : chunk.end] for chunk in chunks])
            lengths[name] += [pieces.count(chunk.given_start, chunk.given_end) for chunk in chunks]
            for sample in asked:
                vector = method.embedder.encode_query(sample.question)
                order, text, details = _ranked(matrix, vector), document.text, {"question": sample.question}
                for budget in BUDGETS:
                    recall = span_recall(text, answers[sample.id], best_first(pieces, chunks, order, budget))
                    row = ScoreRow(sample.id, str(budget), name, round(recall, 6), details=details)
                    rows.setdefault(sample.id, []).append(row)
        run.progress(f"{found.name}: documents", done, len(wanted))
    ordered = [row for sample in samples for row in rows.get(sample.id, [])]
    return ordered, {name: _sizes(counts) for name, counts in lengths.items()}, len(wanted)


def _ranked(matrix: np.ndarray, vector: np.ndarray) -> list[int]:
    """Return the indices of the rows from the most to the least similar; equal ones in order."""
    order: list[int] = np.argsort(-np.round(matrix @ vector, 6), kind="stable").tolist()
    return order


def _sizes(counts: Sequence[int]) -> dict[str, float]:
    """Return the number of chunks, and their mean and extreme sizes in word pieces."""
    values = np.array(counts) if counts else np.zeros(1)
    return {
        "chunks": len(counts),
        "mean": round(float(values.mean()), 1),
        "95th percentile": round(float(np.percentile(values, 95)), 1),
        "in all": int(values.sum()),
    }


def _sizes_table(sizes: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table of the chunk sizes of each splitter."""
    columns = tuple(next(iter(sizes.values())))
    note = (
        "Word pieces of the embedder. Of sentence windows: the sentence with its neighbours; the sentence alone is "
        "embedded. Special tokens count to fixed chunks, so that the embedder reads all of each."
    )
    rows = []
    for name, row in sizes.items():
        rows.append((name, *(f"{value:,}" for value in row.values())))
    return Table("Chunks and their tokens", ("splitter", *columns), tuple(rows), note)

"""Experiment `pruning`: the share of the passages' tokens that pruning saves, and the answers that it loses.

For each question passages are retrieved and selected as in a turn, and the extractive reader judges each. An answer
counts as kept if one of its forms is, as whole words, in a passage that stays. Thresholds of answerability are compared
with a way that needs no reader: only the first n passages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.compare import compare
from evaluation.datasets.pairs import spans_of
from evaluation.experiments.reading import open_named
from evaluation.intervals import bootstrap
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from evaluation.searching import collection_library, inputs
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.library.search.pruning import LEAST, answerability, kept_places
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.reading.bundled_reader import reader_settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.context import Settings

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
FIRST = (3, 4, 6, 8, 12)
"""Numbers of passages that a shorter ranking would keep."""
ALL = "all passages"

Keep = Callable[["PruningQuestion"], Sequence[int]]


@dataclass(frozen=True)
class PruningQuestion:
    """A question with the selected passages, in the order of the prompt.

    Attributes:
        id, question: The question.
        answerable: The reader's probability for each passage.
        tokens: Length of each passage.
        holds: Whether each contains an answer.
    """

    id: str
    question: str
    answerable: tuple[float, ...]
    tokens: tuple[int, ...]
    holds: tuple[bool, ...]

    def tokens_of(self, places: Sequence[int]) -> int:
        """Return the tokens of the passages at these places."""
        return sum(self.tokens[place] for place in places)

    def answered(self, places: Sequence[int]) -> bool:
        """Return whether one of the passages at these places contains an answer."""
        return any(self.holds[place] for place in places)


def above(threshold: float) -> Keep:
    """Return the way that keeps the passages that pruning at a threshold keeps."""
    return lambda asked: kept_places(asked.answerable, threshold)


def first(count: int) -> Keep:
    """Return the way that keeps the first passages."""
    return lambda asked: range(min(count, len(asked.tokens)))


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Retrieve for each question, and measure how many tokens and answers each way of keeping passages leaves."""
    with collection_library(collection, run) as library:
        asked = ask_all(collection, library, run)
        given = inputs(collection, library, k=Settings().k, least=LEAST)
    lossless = reader_settings().prunes_lossless
    ways: dict[str, Keep] = {ALL: first(Settings().k)}
    ways |= {f"answerability {threshold:g}": above(threshold) for threshold in sorted({*THRESHOLDS, lossless})}
    ways |= {f"the first {count}": first(count) for count in FIRST}
    rows = rows_of(asked, ways)
    table, figures = curve(asked, rows, run.seed)
    return Report(
        experiment="pruning",
        dataset=collection.title,
        about=f"{len(asked):,} questions ({run.part} part), {given['library']['documents']:,} documents; the largest "
        f"threshold without a loss on the development parts is {lossless:g}.",
        tables=(table,),
        rows=tuple(rows),
        figures={"curve": figures},
        inputs=given,
    )


def ask_all(collection: DataSet, library: Library, run: ExperimentRun) -> list[PruningQuestion]:
    """Return the part's questions with their passages and the reader's judgements."""
    reader = open_named(run.extractive_reader)
    queries = collection.select(run.part, run.limit)
    found = []
    for query in run.each(queries, f"{collection.name}: questions"):
        text = normalised(query.question)
        passages = [candidate.passage for candidate in retrieve_passages(library, [text], Settings()).chosen]
        found.append(_asked(reader, query.id, text, passages, query.names))
    return found


def _asked(
    reader: ExtractiveReader, name: str, question: str, passages: Sequence[Any], answers: Sequence[str]
) -> PruningQuestion:
    """Return a question with probability, tokens, and whether it holds an answer, for each passage."""
    texts = [(passage.title, passage.text) for passage in passages]
    return PruningQuestion(
        id=name,
        question=question,
        answerable=tuple(answerability(reader, [question], texts)) if texts else (),
        tokens=tuple(passage.tokens for passage in passages),
        holds=tuple(bool(spans_of(f"{title}\n{text}", answers)) for title, text in texts),
    )


def rows_of(asked: Sequence[PruningQuestion], ways: Mapping[str, Keep]) -> list[ScoreRow]:
    """Return whether an answer is in the passages that each way keeps."""
    rows = []
    for item in asked:
        kept = {name: keep(item) for name, keep in ways.items()}
        for name, places in kept.items():
            details = {"question": item.question, "passages": list(places), "tokens": item.tokens_of(places)}
            rows.append(ScoreRow(item.id, arm=name, score=float(item.answered(places)), details=details))
    return rows


def curve(asked: Sequence[PruningQuestion], rows: Sequence[ScoreRow], seed: int) -> tuple[Table, dict[str, Any]]:
    """Return the share of the tokens and of the answers that each way keeps, and its loss against keeping all."""
    found = compare(rows, baseline=ALL, seed=seed, wilson=False)
    cells, figures = [], {}
    whole = [sum(item.tokens) for item in asked]
    for name, estimates in found.estimates.items():
        of_way = [row.details for row in rows if row.arm == name]
        tokens = bootstrap(_share, [details["tokens"] for details in of_way], whole, seed=seed)
        kept = sum(len(details["passages"]) for details in of_way) / max(len(asked), 1)
        test = found.tests.get(f"{name} − {ALL}")
        change, lost = (number(test.difference, percent=True, signed=True), test.losses) if test else ("–", 0)
        recall = number(estimates[""], percent=True)
        cells.append((name, f"{kept:.1f}", number(tokens, percent=True), recall, change, str(lost)))
        figures[name] = {"tokens": tokens.as_json(), "recall": estimates[""].as_json(), "lost": lost}
    columns = ("kept", "passages", "tokens kept, %", "answer in what is kept, %", "difference", "lost")
    note = (
        "[95 % bootstrap interval, differences to all passages paired.] Lost: questions whose answer stands in a "
        f"passage found, and in none that is kept. The first {LEAST} always stay beside those that reach the "
        "threshold; where none reaches it, all do."
    )
    return Table("Tokens and answers kept", columns, tuple(cells), note), figures


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the sum of parts as a share of the sum of wholes, along the last axis."""
    shares: np.ndarray = part.sum(axis=-1) / whole.sum(axis=-1)
    return shares

"""Experiment `pruning`: which share of the passages' tokens a language model is spared, and which answers are lost.

For each question the passages that would go on are retrieved as in a turn, and the extractive reader judges each. An
answer counts as kept while one of its forms stands, as whole words, in a passage that stays. Beside thresholds of
answerability stands what needs no reader: the first n passages alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.experiments.reading import open_named
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.reader_examples import spans_of
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.evaluation.searching import collection_library, inputs
from preflight_rag.library.search.pruning import LEAST, answerability, kept_places
from preflight_rag.models.reading.bundled_reader import settings as reader_settings
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.context import Settings

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.library import Library

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
FIRST = (3, 4, 6, 8, 12)
"""Numbers of passages that a shorter ranking would keep."""
GRID = tuple(round(step / 1000, 3) for step in range(1, 1000))
"""Thresholds among which the largest without a loss is looked for."""

Keep = Callable[["Asked"], Sequence[int]]


@dataclass(frozen=True)
class Asked:
    """A question with the passages that would go on, in the order of the prompt.

    Attributes:
        id, question: Of the question.
        answerable: What the reader says of each passage.
        tokens: Of each passage.
        holds: Whether an answer stands in it.
    """

    id: str
    question: str
    answerable: tuple[float, ...]
    tokens: tuple[int, ...]
    holds: tuple[bool, ...]

    def tokens_of(self, places: Sequence[int]) -> int:
        """Tokens of the passages in these places."""
        return sum(self.tokens[place] for place in places)

    def answered(self, places: Sequence[int]) -> bool:
        """Whether one of them holds an answer."""
        return any(self.holds[place] for place in places)


def above(threshold: float) -> Keep:
    """Keeps what pruning at a threshold keeps."""
    return lambda asked: kept_places(asked.answerable, threshold)


def first(count: int) -> Keep:
    """Keeps the first passages."""
    return lambda asked: range(min(count, len(asked.tokens)))


def run(collection: DataSet, run: Run) -> Report:
    """Retrieve for each question, and count what each way of keeping passages leaves of tokens and answers."""
    with collection_library(collection, run) as library:
        asked = ask_all(collection, library, run)
        given = inputs(collection, library, k=Settings().k, least=LEAST)
    lossless = float(reader_settings()["prune"]["lossless"])
    ways: dict[str, Keep] = {"all passages": first(Settings().k)}
    ways |= {f"answerability {threshold:g}": above(threshold) for threshold in sorted({*THRESHOLDS, lossless})}
    ways |= {f"the first {count}": first(count) for count in FIRST}
    table, found = curve(asked, ways, run.seed)
    return Report(
        experiment="pruning",
        dataset=collection.title,
        about=f"{len(asked):,} questions ({run.part} part), {given['library']['documents']:,} documents; the largest "
        f"threshold without a loss on the development parts is {lossless:g}.",
        tables=(table,),
        rows=tuple(_row(item) for item in asked),
        figures={"curve": found},
        inputs=given,
    )


def ask_all(collection: DataSet, library: Library, run: Run) -> list[Asked]:
    """The part's questions with their passages as the reader judges them."""
    from preflight_rag.library.search.retrieval import retrieve_passages
    from preflight_rag.nodes.rewrite import normalised

    reader = open_named(run.extractive_reader)
    queries = collection.select(run.part, run.limit)
    found = []
    for done, query in enumerate(queries, 1):
        text = normalised(query.question)
        passages = [candidate.passage for candidate in retrieve_passages(library, [text], Settings()).chosen]
        found.append(_asked(reader, query.id, text, passages, query.names))
        run.progress(f"{collection.name}: questions", done, len(queries))
    return found


def _asked(
    reader: ExtractiveReader, name: str, question: str, passages: Sequence[Any], answers: Sequence[str]
) -> Asked:
    texts = [(passage.title, passage.text) for passage in passages]
    return Asked(
        id=name,
        question=question,
        answerable=tuple(answerability(reader, [question], texts)) if texts else (),
        tokens=tuple(passage.tokens for passage in passages),
        holds=tuple(bool(spans_of(f"{title}\n{text}", answers)) for title, text in texts),
    )


def curve(asked: Sequence[Asked], ways: dict[str, Keep], seed: int) -> tuple[Table, dict[str, Any]]:
    """Share of the tokens and of the answers that each way keeps, with what it loses against keeping all."""
    everything = [item.answered(range(len(item.tokens))) for item in asked]
    rows, found = [], {}
    for name, keep in ways.items():
        places = [keep(item) for item in asked]
        tokens = [item.tokens_of(kept) for item, kept in zip(asked, places, strict=True)]
        answered = [item.answered(kept) for item, kept in zip(asked, places, strict=True)]
        lost = sum(was and not still for was, still in zip(everything, answered, strict=True))
        estimates: dict[str, Estimate] = {
            "tokens": bootstrap(_share, tokens, [sum(item.tokens) for item in asked], seed=seed),
            "recall": bootstrap(mean, [float(value) for value in answered], seed=seed),
            "change": bootstrap(mean_difference, [*map(float, answered)], [*map(float, everything)], seed=seed),
        }
        kept = sum(map(len, places)) / max(len(asked), 1)
        found[name] = {**figures(estimates), "lost": lost, "passages": round(kept, 3)}
        cells = (number(estimates["tokens"], percent=True), number(estimates["recall"], percent=True))
        rows.append((name, f"{kept:.1f}", *cells, number(estimates["change"], percent=True, signed=True), str(lost)))
    columns = ("kept", "passages", "tokens kept, %", "answer in what is kept, %", "difference", "lost")
    note = (
        "[95 % bootstrap interval, differences to all passages paired.] Lost: questions whose answer stands in a "
        f"passage found, and in none that is kept. The first {LEAST} always stay beside those that reach the "
        "threshold; where none reaches it, all do."
    )
    return Table("Tokens and answers kept", columns, tuple(rows), note), found


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    shares: np.ndarray = part.sum(axis=-1) / whole.sum(axis=-1)
    return shares


def largest_lossless(asked: Sequence[Asked]) -> float:
    """The largest threshold of `GRID` at which, and below which, no answer of these questions is lost."""
    best = 0.0
    for threshold in GRID:
        keep = above(threshold)
        if any(item.answered(range(len(item.tokens))) and not item.answered(keep(item)) for item in asked):
            break
        best = threshold
    return best


def _row(item: Asked) -> dict[str, Any]:
    passages = zip(item.answerable, item.tokens, item.holds, strict=True)
    return {
        "id": item.id,
        "question": item.question,
        "passages": [{"answerable": a, "tokens": t, "holds": h} for a, t, h in passages],
    }

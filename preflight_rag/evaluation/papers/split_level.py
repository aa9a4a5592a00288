"""Experiment `split-level`: what single sentences, stretches of them, passages or lines bring within a token budget.

Diversity (Tables 7 and 8) compares levels at which documents are split. Here a document is split at each level, its
units are picked by similarity, by MMR and by modified farthest point sampling, and what is measured is the share of the
marked answer that the picks cover; the last one is cut where the budget ends. With a language model, the picks of one
budget are also read, and what the reply holds of the answer is measured.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from preflight_rag.evaluation.experiments.splitters import BUDGETS, Chunk, Pieces, best_first, span_recall, word_pieces
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import bootstrap, mean, mean_difference
from preflight_rag.evaluation.papers.after_reading import NOT_READ, Read, read_selections
from preflight_rag.evaluation.plots import Lines, over_budgets
from preflight_rag.evaluation.report import Report, Table, checksums, figures, number
from preflight_rag.evaluation.samples import Context, DataSet, Sample, Spans
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.library.search.diversity import fps, mmr
from preflight_rag.library.search.selection import preset
from preflight_rag.library.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.state.reading import Source
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.state.values import Document

READ_BUDGET = 1024
STRETCH = 3
SIMILARITY = "similarity"
BASE = ("passage", SIMILARITY)
_LINE = re.compile(r"[^\n]*\S[^\n]*")

Order = Callable[["np.ndarray", "np.ndarray", Sequence[int]], list[int]]
"""Places of units in the order of picking, given their vectors (n, d), the question's (d,), and their tokens (n,)."""
Name: TypeAlias = tuple[str, str]
"""Level and selection."""


@dataclass
class Measured:
    """What the picks of each level and selection cover and hand on.

    Attributes:
        recalls: Level and selection to question id to budget to recall.
        handed: The same to the passages within `READ_BUDGET`.
        questions: Question id to the question with its answer in words, and the marked text as given.
    """

    recalls: dict[Name, dict[str, dict[int, float]]]
    handed: dict[Name, dict[str, tuple[Source, ...]]]
    questions: dict[str, Sample]


def run(collection: DataSet, run: Run) -> Report:
    """Split the documents at each level, pick, and measure what the picks cover and, with a model, what is answered."""
    with cached_embedder(run) as embedder:
        found = _measured(collection, collection.select(run.part, run.limit), embedder, run)
        given = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    asked = list(found.questions.values())
    table, numbers = _table(found, run.seed)
    read = _read(found, asked, run)
    rows = (
        {
            "id": q.id,
            "question": q.question,
            "recall": {", ".join(arm): by_id[q.id] for arm, by_id in found.recalls.items()},
        }
        | (read.rows[q.id] if read else {})
        for q in asked
    )
    return Report(
        experiment="split-level",
        dataset=collection.title,
        about=f"{len(asked):,} questions ({run.part} part), each asked of its own document."
        + ("" if read else f" {NOT_READ}"),
        tables=(table, *(read.tables if read else ())),
        rows=tuple(rows),
        figures={"questions": len(asked), "recall": numbers} | ({"after reading": read.figures} if read else {}),
        inputs={
            "source": collection.source,
            "licence": collection.licence,
            "sha256": checksums(collection.files),
            "embedder": given,
            "model": read.model if read else OFFLINE,
            "settings": {"budgets": BUDGETS, "read_budget": READ_BUDGET, "stretch": STRETCH},
        },
        plots=(_plot(numbers, list(found.recalls)),),
    )


def levels(embedder: Embedder) -> dict[str, Callable[[Document], list[Chunk]]]:
    """The levels at which a document is split, by name."""
    splitter = SentenceSplitter(embedder)

    def sentences(count: int) -> Callable[[Document], list[Chunk]]:
        def split(document: Document) -> list[Chunk]:
            spans = sentence_spans(document.text)
            groups = [spans[at : at + count] for at in range(0, len(spans), count)]
            return [_chunk(group[0][0], group[-1][1]) for group in groups]

        return split

    return {
        "sentence": sentences(1),
        f"{STRETCH} sentences": sentences(STRETCH),
        "passage": lambda document: [_chunk(p.start, p.end) for p in splitter.split(document)],
        "line": lambda document: [_chunk(*found.span()) for found in _LINE.finditer(document.text)],
    }


def _chunk(start: int, end: int) -> Chunk:
    return Chunk(start, end, start, end)


def selections() -> dict[str, Order]:
    """Ways to pick, by name."""
    chosen = preset("one-document-qa")
    most = max(BUDGETS)

    def by_mmr(alpha: float, window: int | None) -> Order:
        return lambda vectors, asked, tokens: mmr(
            vectors, asked, alpha=alpha, window=window, tokens=[min(t, most) for t in tokens], budget=most
        )

    return {
        SIMILARITY: by_mmr(1.0, None),
        f"MMR, α {chosen.alpha:g}, w {chosen.window or '∞'}": by_mmr(chosen.alpha, chosen.window),
        "modified FPS, α 0.9": lambda vectors, asked, tokens: fps(
            vectors, asked, alpha=0.9, tokens=[min(t, most) for t in tokens], budget=most
        ),
    }


def _measured(collection: DataSet, questions: Sequence[Sample], embedder: Embedder, run: Run) -> Measured:
    """Split, pick and measure; questions whose answer is not found in their document are left out."""
    splits, picks = levels(embedder), selections()
    arms = [(level, name) for level in splits for name in picks]
    found = Measured({arm: {} for arm in arms}, {arm: {} for arm in arms}, {})
    wanted = dict.fromkeys(question.document for question in questions)
    for done, (document, answers) in enumerate(collection.read(list(wanted)), 1):
        here = [question for question in questions if question.id in answers]
        found.questions |= {q.id: _worded(q, document, answers[q.id]) for q in here}
        pieces = word_pieces(embedder, document.text)
        for level, split in splits.items() if here else ():
            chunks = split(document)
            vectors = embedder.encode_passages([document.text[chunk.start : chunk.end] for chunk in chunks])
            tokens = [max(1, pieces.count(chunk.start, chunk.end)) for chunk in chunks]
            for question in here:
                asked = embedder.encode_query(question.question)
                for name, order in picks.items():
                    picked = order(vectors, asked, tokens)
                    spans = answers[question.id]
                    found.recalls[level, name][question.id] = _recalls(document, pieces, chunks, picked, spans)
                    found.handed[level, name][question.id] = _sources(document, pieces, chunks, picked)
        run.progress(f"{collection.name}: documents", done, len(wanted))
    return found


def _recalls(
    document: Document, pieces: Pieces, chunks: Sequence[Chunk], picked: Sequence[int], answers: Spans
) -> dict[int, float]:
    taken = {budget: best_first(pieces, chunks, picked, budget) for budget in BUDGETS}
    return {budget: round(span_recall(document.text, answers, spans), 6) for budget, spans in taken.items()}


def _sources(document: Document, pieces: Pieces, chunks: Sequence[Chunk], picked: Sequence[int]) -> tuple[Source, ...]:
    taken = best_first(pieces, chunks, picked, READ_BUDGET)
    return tuple(
        Source(n, f"{document.id}:{start}", document.title, document.text[start:end])
        for n, (start, end) in enumerate(taken, 1)
    )


def _worded(question: Sample, document: Document, answers: Spans) -> Sample:
    """The question with its answers in words, else as marked, and the marked text as the passage that answers it."""
    marked = tuple(" ".join(document.text[start:end] for start, end in stretches) for stretches in answers)
    given = tuple(Context(f"{question.id}/{n}", "", text, role="gold") for n, text in enumerate(marked))
    return Sample(question.id, question.question, "long", answers=question.answers or (marked,), given=given)


def _read(found: Measured, asked: Sequence[Sample], run: Run) -> Read | None:
    """The picks of one budget as the model reads them; None without a model."""
    with open_asking(run, asked) as asking:
        if asking.chat_model is None:
            return None
        named = {", ".join(arm): by_id for arm, by_id in found.handed.items()}
        title = f"After reading {READ_BUDGET:,} tokens"
        return asyncio.run(read_selections(named, asked, asking, baseline=", ".join(BASE), title=title))


def _table(found: Measured, seed: int) -> tuple[Table, dict[str, Any]]:
    """Mean recall at each budget, and paired differences to passages by similarity."""
    recalls, ids = found.recalls, list(found.questions)
    rows, numbers = [], {}
    for arm, by_id in recalls.items():
        estimates = {str(b): bootstrap(mean, [by_id[i][b] for i in ids], seed=seed) for b in BUDGETS}
        rows.append((", ".join(arm), *map(number, estimates.values())))
        numbers[", ".join(arm)] = figures(estimates)
    for arm, by_id in recalls.items():
        if arm != BASE:
            paired = {
                str(b): bootstrap(
                    mean_difference, [by_id[i][b] for i in ids], [recalls[BASE][i][b] for i in ids], seed=seed
                )
                for b in BUDGETS
            }
            name = f"{', '.join(arm)} − {', '.join(BASE)}"
            rows.append((name, *(number(e, signed=True) for e in paired.values())))
            numbers[name] = figures(paired)
    note = (
        "Share of the marked answer's characters, mean over questions [95 %: bootstrap, differences paired]. Of a line "
        "that is longer than the embedder reads, its beginning is embedded."
    )
    head = ("split level, selection", *(f"{budget} tokens" for budget in BUDGETS))
    return Table("Span recall before reading", head, tuple(rows), note), numbers


def _plot(numbers: Mapping[str, Any], arms: Sequence[Name]) -> Lines:
    """Levels by similarity, and the other selections of passages."""
    shown = [", ".join(arm) for arm in arms if SIMILARITY in arm or arm[0] == BASE[0]]
    return over_budgets("Span recall within a token budget", "recall of the marked answer", numbers, shown, BUDGETS)

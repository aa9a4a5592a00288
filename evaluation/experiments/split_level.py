"""Experiment `split-level`: single sentences, groups of them, passages or lines within a token budget.

Diversity (Tables 7 and 8) compares levels at which documents are split. Here a document is split at each level, its
units are picked by similarity, by MMR and by modified farthest point sampling, and the share of the marked answer that
the picks cover is measured; the last pick is cut where the budget ends. With a language model, the picks of one budget
are also read, and the share of the answer in the reply is measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evaluation.after_reading import BUDGET, NOT_READ, SelectionReading, Selections, read_selections
from evaluation.bench import data_inputs
from evaluation.compare import compare
from evaluation.experiments.splitters import BUDGETS, Chunk, WordPieces, best_first, span_recall, word_pieces
from evaluation.harness.asking import open_asking
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample, Spans
from evaluation.vector_cache import cached_embedder
from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.library.search.diversity import fps, mmr
from preflight_rag.library.search.selection import preset
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

STRETCH = 3
"""Sentences of a group, between one and a passage of several (a guess)."""
SIMILARITY = "similarity"
PASSAGE = "passage"
BASE = f"{PASSAGE}, {SIMILARITY}"
_LINE = re.compile(r"[^\n]*\S[^\n]*")

Order = Callable[["np.ndarray", "np.ndarray", Sequence[int]], list[int]]
"""Returns the indices of units in the order of picking, given their vectors (n, d), the question's (d,), and their
tokens (n,)."""


@dataclass
class MeasuredPicks:
    """The measures of the picks of each level and selection.

    Attributes:
        rows: Recall of the marked answer by level and selection, under each budget.
        handed: The passages within `BUDGET` by question id, by level and selection.
        questions: The questions with their answers in words, and the marked text as given.
    """

    rows: list[ScoreRow] = field(default_factory=list)
    handed: dict[str, dict[str, tuple[Source, ...]]] = field(default_factory=dict)
    questions: list[Sample] = field(default_factory=list)


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Split the documents at each level, pick, and measure the covered share and, with a model, the answers."""
    with cached_embedder(run) as embedder:
        measured = _measured(collection, collection.select(run.part, run.limit), embedder, run)
        given = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    found = compare(measured.rows, baseline=BASE, seed=run.seed, wilson=False)
    note = (
        "Share of the marked answer's characters, mean over questions [95 %: bootstrap, differences paired]. Of a line "
        "that is longer than the embedder reads, its beginning is embedded."
    )
    head = "split level, selection"
    table = found.means("Span recall before reading", note, head=head, percent=False, differences=True, intervals="")
    plot = found.lines(
        "Span recall within a token budget",
        "budget (tokens)",
        {_condition(budget): budget for budget in BUDGETS},
        "recall of the marked answer",
        "Mean over questions. Intervals: 95 % bootstrap over questions.",
    )
    drawn = tuple(one for one in plot.series if SIMILARITY in one.name or one.name.startswith(PASSAGE))
    read = _read(measured.handed, measured.questions, run)
    return Report(
        experiment="split-level",
        dataset=collection.title,
        about=f"{len(measured.questions):,} questions ({run.part} part), each asked of its own document."
        + ("" if read else f" {NOT_READ}"),
        tables=(table, *(read.tables if read else ())),
        rows=(*measured.rows, *(read.rows if read else ())),
        figures={**found.figures, **({"after reading": read.figures} if read else {})},
        inputs={
            **data_inputs(collection),
            "embedder": given,
            "model": read.model if read else OFFLINE,
            "settings": {"budgets": BUDGETS, "read_budget": BUDGET, "stretch": STRETCH},
        },
        plots=(replace(plot, series=drawn),),
    )


def levels(embedder: Embedder) -> dict[str, Callable[[Document], list[Chunk]]]:
    """Return the levels at which a document is split, by name."""
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
    """Return a chunk from start to end, without an overlap."""
    return Chunk(start, end, start, end)


def selections() -> dict[str, Order]:
    """Return the ways to pick, by name."""
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


def _measured(
    collection: DataSet, questions: Sequence[Sample], embedder: Embedder, run: ExperimentRun
) -> MeasuredPicks:
    """Split, pick and measure; questions whose answer is not found in their document are left out."""
    splits, picks = levels(embedder), selections()
    found = MeasuredPicks(handed={f"{level}, {name}": {} for level in splits for name in picks})
    wanted = dict.fromkeys(question.document for question in questions)
    for done, (document, answers) in enumerate(collection.read(list(wanted)), 1):
        here = [question for question in questions if question.id in answers]
        found.questions += [_worded(question, document, answers[question.id]) for question in here]
        pieces = word_pieces(embedder, document.text)
        for level, split in splits.items() if here else ():
            chunks = split(document)
            vectors = embedder.encode_passages([document.text[chunk.start : chunk.end] for chunk in chunks])
            tokens = [max(1, pieces.count(chunk.start, chunk.end)) for chunk in chunks]
            for question in here:
                asked = embedder.encode_query(question.question)
                for name, order in picks.items():
                    arm, picked = f"{level}, {name}", order(vectors, asked, tokens)
                    for budget in BUDGETS:
                        taken = best_first(pieces, chunks, picked, budget)
                        recall = round(span_recall(document.text, answers[question.id], taken), 6)
                        found.rows.append(ScoreRow(question.id, _condition(budget), arm, recall))
                    found.handed[arm][question.id] = _sources(document, pieces, chunks, picked)
        run.progress(f"{collection.name}: documents", done, len(wanted))
    return found


def _condition(budget: int) -> str:
    """Return the condition's name for a budget."""
    return f"{budget} tokens"


def _sources(
    document: Document, pieces: WordPieces, chunks: Sequence[Chunk], picked: Sequence[int]
) -> tuple[Source, ...]:
    """Return the selected chunks up to the budget as numbered sources."""
    taken = best_first(pieces, chunks, picked, BUDGET)
    return tuple(
        Source(n, f"{document.id}:{start}", document.title, document.text[start:end])
        for n, (start, end) in enumerate(taken, 1)
    )


def _worded(question: Sample, document: Document, answers: Spans) -> Sample:
    """Return the question with its answers in words, else as marked, and the marked text as answering passage."""
    marked = []
    for stretches in answers:
        marked.append(" ".join(document.text[start:end] for start, end in stretches))
    given = tuple(Context(f"{question.id}/{n}", "", text, role="gold") for n, text in enumerate(marked))
    return Sample(question.id, question.question, "long", answers=question.answers or (tuple(marked),), given=given)


def _read(handed: Selections, asked: Sequence[Sample], run: ExperimentRun) -> SelectionReading | None:
    """Return the model's readings of the picks of one budget; None without a model."""
    with open_asking(run, asked) as asking:
        if asking.chat_model is None:
            return None
        return read_selections(handed, asked, asking, baseline=BASE, title=f"After reading {BUDGET:,} tokens")

"""Experiment `summaries`: how near the sentences that are selected without a query come to summaries people wrote.

Every method takes sentences from the same candidates until a token budget is filled, passing over what does not fit,
and gives them in the document's order; so lengths are alike, and only the choice differs. With a language model, the
summaries are also judged in pairs (`evaluation.judging`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.judging import NOT_JUDGED, Verdicts, judge_summaries
from preflight_rag.evaluation.reading_metrics import rouge
from preflight_rag.evaluation.report import Report, Table
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample, passages_as_corpus
from preflight_rag.evaluation.searching import described
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.library.search import summary
from preflight_rag.library.search.diversity import within_budget
from preflight_rag.library.search.summary import Statement
from preflight_rag.models.embedding.embedder import Embedder

OURS, LEAD, RANDOM, CLOSEST = "MMR", "lead", "random", "closest to the mean"
BUDGET = 192
"""Tokens of a summary, near the mean length of the references of both data sets."""
DRAWS = 5
NOTE = (
    "F1 of stemmed words, mean over documents [95 % bootstrap interval, differences paired]; random is the mean of "
    f"{DRAWS} draws."
)
GRID = tuple((alpha, window) for window in (None, 1, 2, 3) for alpha in (0.5, 0.6, 0.7, 0.8, 0.9))
"""What was tried on the development halves: α and the window."""

Method = Callable[[Sequence["Statement"], "np.ndarray", int], list[list[int]]]


def run(found: DataSet, run: Run) -> Report:
    """Select from each document with every method and compare with the references."""
    samples = found.select(run.part, run.limit)
    chosen = (summary.SUMMARY_ALPHA, summary.SUMMARY_WINDOW)
    methods = _methods(run.seed, GRID if run.part == "development" else (chosen,))
    rows: list[Row] = []
    texts: dict[str, dict[str, str]] = {}
    with cached_embedder(run) as embedder:
        for done, sample in enumerate(samples):
            run.progress(f"{found.name}: documents", done, len(samples))
            rows += _measured(sample, embedder, methods)
            texts[sample.id] = {row.arm: row.details["summary"] for row in rows if row.sample == sample.id}
        given = described(found, embedder, budget=BUDGET)
    ours = next(iter(methods))
    tables, figures = [], {}
    for kind in sorted(samples[0].summaries):
        of_kind = [row for row in rows if row.condition == kind]
        pairs = [(ours, other) for other in (LEAD, CLOSEST, RANDOM)]
        compared = compare(of_kind, by="measure", pairs=pairs, seed=run.seed, wilson=False)
        title = f"Against the {kind} summaries"
        tables.append(_with_words(compared.means(title, NOTE, head="method", percent=False, intervals="",
                                                 differences=True), of_kind))  # fmt: skip
        figures[kind] = compared.figures
    judged, model = _judged(samples, texts, ours, run)
    if judged:
        verdicts = (Row(name, arm="judge", details=verdict) for name, verdict in judged.rows.items())
        rows, figures = [*rows, *verdicts], {**figures, "judged": judged.figures}
    return Report(
        experiment="summaries",
        dataset=found.title,
        about=f"{len(samples)} documents ({run.part} part), {BUDGET} tokens of each."
        + ("" if judged else f" {NOT_JUDGED}"),
        tables=(*tables, judged.table) if judged else tuple(tables),
        rows=tuple(rows),
        figures=figures,
        inputs=given | {"model": model},
    )


def _with_words(table: Table, rows: Sequence[Row]) -> Table:
    """The table with the mean length of each method's summaries."""
    words: dict[str, list[float]] = {}
    for row in rows:
        words.setdefault(row.arm, []).append(row.details["words"])
    cells = ((*line, f"{fmean(words[line[0]]):.0f}" if line[0] in words else "") for line in table.rows)
    return replace(table, columns=(*table.columns, "words"), rows=tuple(cells))


def _judged(
    samples: Sequence[Sample], texts: Mapping[str, Mapping[str, str]], ours: str, run: Run
) -> tuple[Verdicts | None, str]:
    """Our summaries judged against the others', and by whom; None without a language model."""
    kind = min(samples[0].summaries)
    asked = [Sample(sample.id, sample.question, "long", answers=((sample.summaries[kind],),)) for sample in samples]
    with open_asking(run, asked) as asking:
        if asking.chat_model is None:
            return None, asking.name
        return judge_summaries(asking, asked, texts, ours, title=f"Judged beside the {kind} summaries"), asking.name


def _methods(seed: int, grid: Sequence[tuple[float, int | None]]) -> dict[str, Method]:
    """Ways to fill a budget from statements and their vectors; several selections where chance decides."""

    def ours(alpha: float, window: int | None) -> Method:
        return lambda statements, vectors, budget: [
            summary.select(statements, vectors, budget=budget, alpha=alpha, window=window)
        ]

    def drawn(statements: Sequence[Statement], vectors: np.ndarray, budget: int) -> list[list[int]]:
        rng, found = random.Random(seed), []  # noqa: S311
        for _ in range(DRAWS):
            order = rng.sample(range(len(statements)), len(statements))
            picked = within_budget([statements[i].tokens for i in order], budget)
            found.append(sorted(order[i] for i in picked))
        return found

    def named(alpha: float, window: int | None) -> str:
        return OURS if len(grid) == 1 else f"{OURS}, α = {alpha:g}, w = {window or 'all'}"

    return {
        **{named(*pair): ours(*pair) for pair in grid},
        LEAD: lambda statements, vectors, budget: [within_budget([s.tokens for s in statements], budget)],
        CLOSEST: ours(1.0, None),
        RANDOM: drawn,
    }


def _measured(sample: Sample, embedder: Embedder, methods: Mapping[str, Method]) -> Iterator[Row]:
    """F1 of each method against each reference, by measure; with its words and its summary: of several, the first."""
    (whole,) = passages_as_corpus([sample])()
    statements = summary.of_document(whole, embedder.count_tokens)
    vectors = embedder.encode_passages([statement.text for statement in statements])
    budget = max(BUDGET, min(statement.tokens for statement in statements))
    for method, select in methods.items():
        texts = [" ".join(statements[i].text for i in chosen) for chosen in select(statements, vectors, budget)]
        details = {"summary": texts[0], "words": fmean(len(text.split()) for text in texts)}
        for kind, reference in sample.summaries.items():
            measured = [rouge(text, reference) for text in texts]
            for name in measured[0]:
                score = sum(row[name] for row in measured) / len(measured)
                yield Row(sample.id, kind, method, score, measure=name, details=details)

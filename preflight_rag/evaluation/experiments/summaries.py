"""Experiment `summaries`: how near the sentences that are selected without a query come to summaries people wrote.

Every method takes sentences from the same candidates until a token budget is filled, passing over what does not fit,
and gives them in the document's order; so lengths are alike, and only the choice differs. With a language model, the
summaries are also judged in pairs (`papers.judged_summaries`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.papers.judged_summaries import NOT_JUDGED, Verdicts, judge_summaries
from preflight_rag.evaluation.report import Report, Table, checksums, figures, number
from preflight_rag.evaluation.rouge import rouge
from preflight_rag.evaluation.samples import DataSet, Sample, passages_as_corpus
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.library.search import summary
from preflight_rag.library.search.diversity import within_budget

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.evaluation.runs import Run
    from preflight_rag.library.search.summary import Statement
    from preflight_rag.models.embedding.embedder import Embedder

OURS, LEAD, RANDOM, CLOSEST = "MMR", "lead", "random", "closest to the mean"
BUDGET = 192
"""Tokens of a summary, near the mean length of the references of both data sets."""
DRAWS = 5
GRID = tuple((alpha, window) for window in (None, 1, 2, 3) for alpha in (0.5, 0.6, 0.7, 0.8, 0.9))
"""What was tried on the development halves: α and the window."""

Method = Callable[[Sequence["Statement"], "np.ndarray", int], list[list[int]]]


def run(collection: DataSet, run: Run) -> Report:
    """Select from each document with every method and compare with the references."""
    queries = collection.select(run.part, run.limit)
    chosen = (summary.SUMMARY_ALPHA, summary.SUMMARY_WINDOW)
    methods = _methods(run.seed, GRID if run.part == "development" else (chosen,))
    rows = []
    with cached_embedder(run) as embedder:
        for done, query in enumerate(queries):
            run.progress(f"{collection.name}: documents", done, len(queries))
            rows.append({"id": query.id} | _measured(query, embedder, methods))
    tables, numbers = _compared(rows, [*methods], sorted(queries[0].summaries), run.seed)
    judged, model = _judged(collection, queries, rows, run)
    return Report(
        experiment="summaries",
        dataset=collection.title,
        about=f"{len(rows)} documents ({run.part} part), {BUDGET} tokens of each."
        + ("" if judged else f" {NOT_JUDGED}"),
        tables=(*tables, judged.table) if judged else tables,
        rows=tuple({**row, "judged": judged.rows.get(row["id"], {})} if judged else row for row in rows),
        figures={**numbers, "judged": judged.figures} if judged else numbers,
        inputs={
            "data": checksums(collection.files),
            "embedder": embedder.name,
            "budget": BUDGET,
            "model": model,
        },
    )


def _judged(
    collection: DataSet, queries: Sequence[Sample], rows: Sequence[Mapping[str, Any]], run: Run
) -> tuple[Verdicts | None, str]:
    """The first method's summaries judged against the others', and by whom; None without a language model."""
    kind = min(queries[0].summaries)
    asked = [Sample(query.id, query.question, "long", answers=((query.summaries[kind],),)) for query in queries]
    with open_asking(run, asked) as asking:
        if asking.chat_model is None:
            return None, asking.name
        texts = {row["id"]: row["summaries"] for row in rows}
        title = f"Judged beside the {kind} summaries"
        return judge_summaries(asking, asked, texts, next(iter(rows[0]["summaries"])), title=title), asking.name


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


def _measured(sample: Sample, embedder: Embedder, methods: Mapping[str, Method]) -> dict[str, Any]:
    """Method to reference to measure to F1, each method's words, and its summary: of several, the first."""
    (whole,) = passages_as_corpus([sample])()
    statements = summary.of_document(whole, embedder.count_tokens)
    vectors = embedder.encode_passages([statement.text for statement in statements])
    budget = max(BUDGET, min(statement.tokens for statement in statements))
    scores: dict[str, Any] = {}
    words: dict[str, float] = {}
    summaries: dict[str, str] = {}
    for method, select in methods.items():
        texts = [" ".join(statements[i].text for i in chosen) for chosen in select(statements, vectors, budget)]
        summaries[method] = texts[0]
        words[method] = sum(len(text.split()) for text in texts) / len(texts)
        scores[method] = {}
        for kind, reference in sample.summaries.items():
            measured = [rouge(text, reference) for text in texts]
            scores[method][kind] = {m: sum(row[m] for row in measured) / len(measured) for m in measured[0]}
    return {"statements": len(statements), "words": words, "scores": scores, "summaries": summaries}


def _compared(
    rows: Sequence[Mapping[str, Any]], methods: Sequence[str], kinds: Sequence[str], seed: int
) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """A table for each kind of reference: means with intervals, and paired differences to the first method."""
    tables, numbers = [], {}
    words = {method: sum(row["words"][method] for row in rows) / len(rows) for method in methods}
    for kind in kinds:
        measures = [*rows[0]["scores"][methods[0]][kind]]
        columns = {
            method: {m: [row["scores"][method][kind][m] for row in rows] for m in measures} for method in methods
        }
        estimates: dict[str, dict[str, Estimate]] = {
            method: {m: bootstrap(mean, values, seed=seed) for m, values in found.items()}
            for method, found in columns.items()
        }
        cells = [
            (method, *(number(estimate) for estimate in found.values()), f"{words[method]:.0f}")
            for method, found in estimates.items()
        ]
        for other in (LEAD, CLOSEST, RANDOM):
            paired = {
                m: bootstrap(mean_difference, columns[methods[0]][m], columns[other][m], seed=seed) for m in measures
            }
            estimates[f"{methods[0]} - {other}"] = paired
            cells.append((f"{methods[0]} − {other}", *(number(e, signed=True) for e in paired.values()), ""))
        tables.append(Table(f"Against the {kind} summaries", ("method", *measures, "words"), tuple(cells), _NOTE))
        numbers[kind] = {name: figures(found) for name, found in estimates.items()}
    return tuple(tables), numbers


_NOTE = (
    "F1 of stemmed words, mean over documents [95 % bootstrap interval, differences paired]; random is the mean of "
    f"{DRAWS} draws."
)

"""Experiment `languages`: does a question find the document that answers it in another language?

`--embedder` takes several, separated by commas; for each the dense and the fused ranking are measured, and the order in
which a turn reads, after its second stage; and BM25's, which does not depend on the embedder. Hit@k: the document is
among the first k, each from its best passage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evaluation.compare import compare
from evaluation.experiments.retrieval import ARMS
from evaluation.metrics import by_document, gold_ranks
from evaluation.report import Report, Table
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, inputs, search_all
from preflight_rag.conversation.questions import normalised
from preflight_rag.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.state.context import Settings

DEPTHS = (1, 5, 10)
DEPTH = 50
"""Passages of each ranking."""
SAME = "en → en"
NOTE = "Share of questions whose document is among the first k [95 %: Wilson]."


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Search for each question with each embedder, and count hits by direction."""
    samples = found.select(run.part, run.limit)
    rows: list[ScoreRow] = []
    given: dict[str, Any] = {}
    names = [name.strip() or None for name in (run.embedder or "").split(",")]
    for name in dict.fromkeys(names):
        with collection_library(found, replace(run, embedder=name)) as library:
            asked = search_all(library, samples, run.progress, name=f"{found.name}, {name or 'default'}", k=DEPTH)
            searched = {sample.id: rankings for sample, rankings in asked}
            turns = {sample.id: _turn(library, sample) for sample in samples}
            given[name or "default"] = inputs(found, library, k=DEPTH)
        for sample in samples:
            rows += _hits(sample, f"{name or 'default'}, turn", gold_ranks(turns[sample.id], found.relevant(sample.id)))
            for ranking, ranked in ARMS.items():
                arm = ranking if ranking == "BM25" else f"{name or 'default'}, {ranking}"
                if ranking != "BM25" or name == names[0]:
                    order = by_document(ranked(searched[sample.id]))
                    rows += _hits(sample, arm, gold_ranks(order, found.relevant(sample.id)))
    directions = list(dict.fromkeys(sample.label for sample in samples))
    across = [direction for direction in directions if direction != SAME]
    groups = {"from one language to another": across, **{direction: [direction] for direction in directions}}
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    for title, labels in groups.items():
        chosen = [row for row in rows if row.condition in labels]
        if chosen:
            counted = compare([replace(row, condition="") for row in chosen], by="measure", pairs=[], seed=run.seed)
            tables.append(counted.means(f"{title}: {counted.samples} questions", NOTE, head="ranking", intervals=""))
            figures[title] = counted.figures
    return Report(
        experiment="languages",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part).",
        tables=tuple(tables),
        rows=tuple(rows),
        figures=figures,
        inputs=given,
    )


def _turn(library: Library, sample: Sample) -> list[str]:
    """Return the documents in the order in which a turn with the default settings reads them."""
    chosen = retrieve_passages(library, [normalised(sample.question)], Settings()).chosen
    return list(dict.fromkeys(candidate.passage.document_id for candidate in chosen))


def _hits(sample: Sample, arm: str, ranks: list[int]) -> list[ScoreRow]:
    """Return a row for each depth: whether a relevant document is among so many first ones."""
    details = {"question": sample.question, "ranks": ranks}
    return [
        ScoreRow(
            sample.id,
            condition=sample.label,
            arm=arm,
            measure=f"hit@{depth}",
            score=float(min(ranks, default=DEPTH + 1) <= depth),
            details=details,
        )
        for depth in DEPTHS
    ]

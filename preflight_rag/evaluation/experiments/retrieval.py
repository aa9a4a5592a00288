"""Experiment `retrieval`: how well the dense, the BM25 and the fused ranking find the relevant documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.metrics import by_document, gold_ranks, measure_rankings
from preflight_rag.evaluation.plots import Axis, Bars, Plot, Series, recorded
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.evaluation.searching import collection_library, inputs, search_all
from preflight_rag.library.search.fusion import RRF_K

if TYPE_CHECKING:
    from preflight_rag.library.search.hybrid import Found
    from preflight_rag.state.values import Ranking

DEPTH = 100
PASSAGES = 16
AGREEMENT_DEPTHS = (3, 10, 16)
RANKINGS: dict[str, Callable[[Found], Ranking]] = {
    "dense": lambda found: found.dense,
    "BM25": lambda found: found.lexical,
    "fused": lambda found: found.fused,
}
IN_PASSAGES = "recall of 16 passages"
MEASURES = {"recall@16": "R@16", "MRR": "RR", "nDCG@10": "nDCG@10", IN_PASSAGES: IN_PASSAGES}
PAIRS = (("dense", "BM25"), ("dense", "fused"), ("BM25", "fused"))

Values = Mapping[str, Mapping[str, Mapping[str, float]]]


def run(collection: DataSet, run: Run) -> Report:
    """Rank the collection for each query and compare the three rankings."""
    queries = collection.select(run.part, run.limit)
    with collection_library(collection, run) as library:
        sizes = {"k": DEPTH, "candidates": DEPTH, "rrf_k": RRF_K}
        searched = search_all(library, queries, run.progress, name=collection.name, **sizes)
        found = {query.id: result for query, result in searched}
        given = inputs(collection, library, **sizes)
    values = {name: _measure(collection, name, found) for name in RANKINGS}
    quality, quality_figures = _quality(values, run.seed)
    agreement, agreement_figures = _agreement(found)
    return Report(
        experiment="retrieval",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(quality, agreement),
        rows=tuple(
            {
                "id": query.id,
                "question": query.question,
                "gold_ranks": {
                    name: gold_ranks(by_document(ranking(found[query.id])), collection.relevant(query.id))
                    for name, ranking in RANKINGS.items()
                },
                "measures": {name: {m: round(v[query.id], 6) for m, v in values[name].items()} for name in RANKINGS},
            }
            for query in queries
        ),
        figures={"quality": quality_figures, "agreement": agreement_figures},
        inputs=given,
        plots=(_plot(quality_figures),),
    )


def _measure(collection: DataSet, name: str, found: Mapping[str, Found]) -> dict[str, dict[str, float]]:
    """Measure to query id to value, for one ranking."""
    rankings = {query: RANKINGS[name](result) for query, result in found.items()}
    documents = {query: by_document(ranking) for query, ranking in rankings.items()}
    measured = measure_rankings(collection.relevance, documents)
    reached = {}
    for query, ranking in rankings.items():
        relevant = collection.relevant(query)
        reached[query] = len(relevant.intersection(by_document(ranking[:PASSAGES]))) / len(relevant)
    by_measure = {**measured, IN_PASSAGES: reached}
    return {column: by_measure[measure] for column, measure in MEASURES.items()}


def _quality(values: Values, seed: int) -> tuple[Table, dict[str, Any]]:
    """Means with intervals, and the fused ranking's paired differences to both others."""
    estimates: dict[str, dict[str, Estimate]] = {
        name: {measure: bootstrap(mean, list(v.values()), seed=seed) for measure, v in measured.items()}
        for name, measured in values.items()
    }
    rows = [(name, *(number(e) for e in measured.values())) for name, measured in estimates.items()]
    for other in ("dense", "BM25"):
        differences = {
            measure: bootstrap(mean_difference, list(v.values()), list(values[other][measure].values()), seed=seed)
            for measure, v in values["fused"].items()
        }
        estimates[f"fused - {other}"] = differences
        rows.append((f"fused − {other}", *(number(e, signed=True) for e in differences.values())))
    note = (
        f"Mean over questions [95 % bootstrap interval, differences paired]. Documents count from their best passage "
        f"in rankings {DEPTH} passages deep; the last column is the share of relevant documents among the first "
        f"{PASSAGES} passages, which is what goes on to a model."
    )
    table = Table("Retrieval quality", ("ranking", *MEASURES), tuple(rows), note)
    return table, {name: figures(measured) for name, measured in estimates.items()}


def _plot(quality: Mapping[str, Any]) -> Plot:
    """The rankings side by side, measure by measure."""
    return Bars(
        "Retrieval quality",
        Axis("mean over questions"),
        tuple(MEASURES),
        tuple(Series(name, tuple(recorded(quality[name][measure]) for measure in MEASURES)) for name in RANKINGS),
        note="Intervals: 95 % bootstrap over questions.",
    )


def _agreement(found: Mapping[str, Found]) -> tuple[Table, dict[str, Any]]:
    """How alike the rankings are: mean IoU of their first passages, and how often the first is the same."""
    from preflight_rag.nodes.preflight import agreement

    results: dict[str, dict[str, float]] = {}
    for a, b in PAIRS:
        ids = [(_passages(RANKINGS[a](result)), _passages(RANKINGS[b](result))) for result in found.values()]
        overlaps = {f"IoU@{n}": sum(agreement(x, y, n) for x, y in ids) / len(ids) for n in AGREEMENT_DEPTHS}
        results[f"{a}, {b}"] = {"same first": sum(x[:1] == y[:1] for x, y in ids) / len(ids), **overlaps}
    columns = tuple(next(iter(results.values())))
    rows = tuple((pair, *(f"{value:.3f}" for value in row.values())) for pair, row in results.items())
    rounded = {pair: {name: round(value, 6) for name, value in row.items()} for pair, row in results.items()}
    return Table("Agreement of the rankings, by passage", ("rankings", *columns), rows), rounded


def _passages(ranking: Ranking) -> list[Any]:
    return [hit.passage_id for hit in ranking]

"""Experiment `reranking`: what the second stage adds to the dense, the BM25 and the fused ranking.

Of a known collection, the reranker without a model and the fusions that are compared with it take the weights of the
fold that was trained without the collection's group; of any other, those in use. The extractive reader's relevance is
a second stage as well; it was trained on parts of MedQuAD, SciFact and other sets (`reader_data.py`), so that only
collections beside these are a fair test of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.experiments.reading import open_named
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.metrics import measure_rankings
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.evaluation.searching import collection_library, inputs, search_all
from preflight_rag.models.reranking.feature_reranker import ALL, FeatureReranker, trained
from preflight_rag.models.reranking.reader_reranker import ReaderReranker
from preflight_rag.models.reranking.rerankers import READER, Reranker, rerank

if TYPE_CHECKING:
    from preflight_rag.library.library import Library
    from preflight_rag.library.search.hybrid import Found

DEPTH = 100
PASSAGES = 16
GROUPS = {
    "bioasq": "bioasq",
    "biomix-bioasq": "bioasq",
    "scifact": "scifact",
    "biomix-scifact": "scifact",
    "nfcorpus": "nfcorpus",
    "cranfield": "cranfield",
    "cisi": "cisi",
    "medquad": "medquad",
}
"""Collection to its group: what shares questions or documents with another is never trained on when that is tested."""
FUSIONS = {
    "CombSUM": ("dense share", "bm25 share"),
    "weighted RRF": ("dense reciprocal rank", "bm25 reciprocal rank"),
}
"""Weighted fusions as features of the dense and the BM25 ranking; scores are brought to [0, 1] (Fox and Shaw 1994)."""
FIRST_STAGE = ("dense", "BM25", "fused")
RERANKED = "reranked"
MEASURES = {"nDCG@10": "nDCG@10", "MRR": "RR", "recall@16": "R@16"}
IN_PASSAGES = "recall of 16 passages"
NO_DEADLINE = float("inf")

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Ranking to measure to query id to value."""


def group_of(name: str) -> str:
    """The fold that a collection is tested with: its group, or "all" for a collection that nothing was trained on."""
    return GROUPS.get(name, ALL)


def fusion(name: str, dense: float) -> FeatureReranker:
    """The fusion `name` with this weight of the dense ranking."""
    first, second = FUSIONS[name]
    return FeatureReranker({first: dense, second: 1 - dense}, name=name)


def run(collection: DataSet, run: Run, *, reranker: Reranker | None = None) -> Report:
    """Rank the collection for each query in all ways; `reranker` adds another second stage, such as a cross-encoder."""
    from preflight_rag.state.context import Settings

    limit, fold = Settings().rerank_candidates, group_of(collection.name)
    stages: dict[str, Reranker] = {name: fusion(name, row[fold]) for name, row in trained()["fusions"].items()}
    stages[RERANKED] = FeatureReranker.shipped(fold)
    stages[READER] = ReaderReranker(open_named(run.extractive_reader))
    if reranker is not None:
        stages[reranker.name] = reranker
    queries = collection.select(run.part, run.limit)
    documents: dict[str, dict[str, list[str]]] = {name: {} for name in (*FIRST_STAGE, *stages)}
    with collection_library(collection, run) as library:
        sizes = {"k": DEPTH, "candidates": DEPTH}
        for query, found in search_all(library, queries, run.progress, name=collection.name, **sizes):
            for name, order in _orders(library, query.question, found, stages, limit).items():
                documents[name][query.id] = order
        given = inputs(collection, library, **sizes, rerank_candidates=limit, fold=fold)
    values = {name: _measure(collection, ranked) for name, ranked in documents.items()}
    quality, quality_figures = _quality(values, run.seed)
    return Report(
        experiment="reranking",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(quality,),
        rows=tuple(
            {
                "id": query.id,
                "question": query.question,
                "measures": {name: {m: round(v[query.id], 6) for m, v in row.items()} for name, row in values.items()},
            }
            for query in queries
        ),
        figures={"quality": quality_figures},
        inputs=given,
    )


def _orders(
    library: Library, question: str, found: Found, stages: Mapping[str, Reranker], limit: int
) -> dict[str, list[str]]:
    """The document of each passage, in each ranking's order."""
    ids = [hit.passage_id for hit in found.fused]
    candidates = found.candidates(library.passages(ids))
    orders = {
        name: [hit.document_id for hit in ranking]
        for name, ranking in zip(FIRST_STAGE, (found.dense, found.lexical, found.fused), strict=True)
    }
    for name, stage in stages.items():
        done = rerank(stage, question, candidates, limit=limit, deadline=NO_DEADLINE)
        orders[name] = [candidate.passage.document_id for candidate in done.order]
    return orders


def _measure(collection: DataSet, passages: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Measure to query id to value, for one ranking; a document counts from its best passage."""
    documents = {query: list(dict.fromkeys(order)) for query, order in passages.items()}
    by_measure = measure_rankings(collection.relevance, documents)
    measured = {column: by_measure[measure] for column, measure in MEASURES.items()}
    reached = {}
    for query, order in passages.items():
        relevant = collection.relevant(query)
        reached[query] = len(relevant.intersection(order[:PASSAGES])) / len(relevant)
    return {**measured, IN_PASSAGES: reached}


def _quality(values: Values, seed: int) -> tuple[Table, dict[str, Any]]:
    """Means with intervals, the reranked order's paired differences to each first-stage ranking, the reader's to it."""
    estimates: dict[str, dict[str, Estimate]] = {
        name: {measure: bootstrap(mean, list(v.values()), seed=seed) for measure, v in measured.items()}
        for name, measured in values.items()
    }
    rows = [(name, *(number(e) for e in measured.values())) for name, measured in estimates.items()]
    for name, other in (*((RERANKED, ranking) for ranking in FIRST_STAGE), (READER, RERANKED)):
        differences = {
            measure: bootstrap(mean_difference, list(v.values()), list(values[other][measure].values()), seed=seed)
            for measure, v in values[name].items()
        }
        estimates[f"{name} - {other}"] = differences
        rows.append((f"{name} − {other}", *(number(e, signed=True) for e in differences.values())))
    note = (
        "Mean over questions [95 % bootstrap interval, differences paired]. Reranked: by features, without a model, "
        "with weights that were trained without this collection's group, as were the weights of the two fusions. "
        "Reader: by the extractive reader's relevance."
    )
    return Table("Second stage", ("ranking", *MEASURES, IN_PASSAGES), tuple(rows), note), {
        name: figures(measured) for name, measured in estimates.items()
    }

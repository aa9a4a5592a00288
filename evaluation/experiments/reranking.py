"""Experiment `reranking`: what the second stage adds to the dense, the BM25 and the fused ranking.

For a known collection, the reranker without a model and the fusions compared with it use the weights of the fold that
was trained without the collection's group; for any other, those in use. The extractive reader's relevance is a second
stage as well; it was trained on parts of MedQuAD, SciFact and other sets, so that only other collections are a fair
test of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from evaluation.compare import compare
from evaluation.experiments.reading import open_named
from evaluation.experiments.retrieval import DEPTH, PASSAGES
from evaluation.metrics import ranking_rows
from evaluation.report import Report
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from evaluation.searching import collection_library, group_of, inputs, search_all
from preflight_rag.library.library import Library
from preflight_rag.library.search.hybrid import Rankings
from preflight_rag.models.reranking.feature_reranker import FeatureReranker, trained
from preflight_rag.models.reranking.reader_reranker import ReaderReranker
from preflight_rag.models.reranking.rerankers import READER, Reranker, rerank
from preflight_rag.state.context import Settings

FUSIONS = {
    "CombSUM": ("dense share", "bm25 share"),
    "weighted RRF": ("dense reciprocal rank", "bm25 reciprocal rank"),
}
"""Weighted fusions as features of the dense and the BM25 ranking; scores are scaled to [0, 1] (Fox and Shaw 1994)."""
MEASURES = {"nDCG@10": "nDCG@10", "MRR": "RR", "recall@16": "R@16"}
RERANKED = "reranked"
NO_DEADLINE = float("inf")
PAIRS = [*((RERANKED, ranking) for ranking in ("dense", "BM25", "fused")), (READER, RERANKED)]
NOTE = (
    "Mean over questions [95 % bootstrap interval, differences paired]. Reranked: by features, without a model, with "
    "weights that were trained without this collection's group, as were the weights of the two fusions. Reader: by the "
    "extractive reader's relevance."
)


def fusion(name: str, dense: float) -> FeatureReranker:
    """Return the fusion `name` with this weight of the dense ranking."""
    first, second = FUSIONS[name]
    return FeatureReranker({first: dense, second: 1 - dense}, name=name)


def run(found: DataSet, run: ExperimentRun, *, reranker: Reranker | None = None) -> Report:
    """Rank the collection for each query in all ways; `reranker` adds another second stage, such as a cross-encoder."""
    limit, fold = Settings().rerank_candidates, group_of(found.name)
    stages: dict[str, Reranker] = {name: fusion(name, row[fold]) for name, row in trained()["fusions"].items()}
    stages[RERANKED] = FeatureReranker.shipped(fold)
    stages[READER] = ReaderReranker(open_named(run.extractive_reader))
    if reranker is not None:
        stages[reranker.name] = reranker
    samples = found.select(run.part, run.limit)
    questions = {sample.id: sample.question for sample in samples}
    orders: dict[str, dict[str, list[str]]] = {}
    with collection_library(found, run) as library:
        sizes = {"k": DEPTH, "candidates": DEPTH}
        for sample, result in search_all(library, samples, run.progress, name=found.name, **sizes):
            for name, order in _orders(library, sample.question, result, stages, limit).items():
                orders.setdefault(name, {})[sample.id] = order
        given = inputs(found, library, **sizes, rerank_candidates=limit, fold=fold)
    details = lambda _, name: {"question": questions[name]}  # noqa: E731
    rows = ranking_rows(found.relevance, orders, MEASURES, first=PASSAGES, details=details)
    quality = compare(rows, by="measure", pairs=PAIRS, seed=run.seed, wilson=False)
    return Report(
        experiment="reranking",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(quality.means("Second stage", NOTE, head="ranking", percent=False, intervals="", differences=True),),
        rows=tuple(rows),
        figures={"quality": quality.figures},
        inputs=given,
    )


def _orders(
    library: Library, question: str, found: Rankings, stages: Mapping[str, Reranker], limit: int
) -> dict[str, list[str]]:
    """Return the document of each passage, in each ranking's order."""
    candidates = found.candidates(library.passages([hit.passage_id for hit in found.fused]))
    first = {"dense": found.dense, "BM25": found.lexical, "fused": found.fused}
    orders = {name: [hit.document_id for hit in ranking] for name, ranking in first.items()}
    for name, stage in stages.items():
        done = rerank(stage, question, candidates, limit=limit, deadline=NO_DEADLINE)
        orders[name] = [candidate.passage.document_id for candidate in done.order]
    return orders

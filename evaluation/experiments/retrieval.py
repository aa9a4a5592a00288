"""Experiment `retrieval`: how well the dense, the BM25 and the fused ranking find the relevant documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluation.compare import compare
from evaluation.metrics import gold_ranks, ranking_rows
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from evaluation.searching import collection_library, inputs, search_all
from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.library.search.hybrid import Rankings
from preflight_rag.routing.decision import rank_agreement
from preflight_rag.state.values import Hit

DEPTH = 100
PASSAGES = 16
AGREEMENT_DEPTHS = (3, 10, 16)
ARMS: dict[str, Callable[[Rankings], Sequence[Hit]]] = {
    "dense": lambda found: found.dense,
    "BM25": lambda found: found.lexical,
    "fused": lambda found: found.fused,
}
MEASURES = {"recall@16": "R@16", "MRR": "RR", "nDCG@10": "nDCG@10"}
NOTE = (
    f"Mean over questions [95 % bootstrap interval, differences paired]. Documents count from their best passage in "
    f"rankings {DEPTH} passages deep; the last column is the share of relevant documents among the first {PASSAGES} "
    "passages, which is what goes on to a model."
)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Rank the collection for each query and compare the three rankings."""
    samples = found.select(run.part, run.limit)
    with collection_library(found, run) as library:
        sizes = {"k": DEPTH, "candidates": DEPTH, "rrf_k": RRF_K}
        asked = search_all(library, samples, run.progress, name=found.name, **sizes)
        searched = {sample.id: result for sample, result in asked}
        given = inputs(found, library, **sizes)
    rankings: dict[str, dict[str, Sequence[Hit]]] = {arm: {} for arm in ARMS}
    documents: dict[str, dict[str, list[str]]] = {arm: {} for arm in ARMS}
    for arm, ranked in ARMS.items():
        for name, result in searched.items():
            rankings[arm][name] = ranked(result)
            documents[arm][name] = [hit.document_id for hit in rankings[arm][name]]
    questions = {sample.id: sample.question for sample in samples}

    def details(arm: str, name: str) -> dict[str, object]:
        ranks = gold_ranks(dict.fromkeys(documents[arm][name]), found.relevant(name))
        return {"question": questions[name], "gold_ranks": ranks}

    rows = ranking_rows(found.relevance, documents, MEASURES, first=PASSAGES, details=details)
    quality = compare(rows, by="measure", pairs=[("fused", "dense"), ("fused", "BM25")], seed=run.seed, wilson=False)
    agreeing = compare(list(_agreement(rankings)), by="measure", pairs=[], seed=run.seed, wilson=False)
    return Report(
        experiment="retrieval",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(
            quality.means("Retrieval quality", NOTE, head="ranking", percent=False, intervals="", differences=True),
            agreeing.means(
                "Agreement of the rankings, by passage", head="rankings", percent=False, intervals="[95 %: bootstrap.]"
            ),
        ),
        rows=tuple(rows),
        figures={"quality": quality.figures, "agreement": agreeing.figures},
        inputs=given,
        plots=(quality.bars("Retrieval quality", "mean over questions", percent=False),),
    )


def _agreement(rankings: dict[str, dict[str, Sequence[Hit]]]) -> list[ScoreRow]:
    """Return rows on the similarity of two rankings: same first passage or not, and IoU of the first ones."""
    rows = []
    for one, other in (("dense", "BM25"), ("dense", "fused"), ("BM25", "fused")):
        for name, ranking in rankings[one].items():
            a = [hit.passage_id for hit in ranking]
            b = [hit.passage_id for hit in rankings[other][name]]
            scores = {"same first": float(a[:1] == b[:1])}
            scores |= {f"IoU@{depth}": rank_agreement(a, b, depth) for depth in AGREEMENT_DEPTHS}
            rows += [ScoreRow(name, arm=f"{one}, {other}", measure=key, score=score) for key, score in scores.items()]
    return rows

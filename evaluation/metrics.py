"""Metrics: of rankings (through ir-measures, which computes what trec_eval does) and of a yes/no prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.intervals import Estimate, bootstrap, wilson
from evaluation.rows import ScoreRow
from preflight_rag.state.values import Hit

RANKING_MEASURES = ("R@16", "RR", "nDCG@10")


def by_document(hits: Iterable[Hit]) -> list[str]:
    """Return document ids in the order of each document's first passage."""
    return list(dict.fromkeys(hit.document_id for hit in hits))


def gold_ranks(ranking: Iterable[str], relevant: Iterable[str]) -> list[int]:
    """Return the ranks, from 1, of the relevant ids in the ranking, ascending."""
    wanted = set(relevant)
    return [rank for rank, name in enumerate(ranking, 1) if name in wanted]


def measure_rankings(
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    measures: Sequence[str] = RANKING_MEASURES,
) -> dict[str, dict[str, float]]:
    """Return the value of each measure for each query of `rankings`, by measure and query id.

    A relevant document that the ranking does not contain counts as not found; an empty ranking scores 0.

    Args:
        qrels: Grades by query id and document id.
        rankings: Document ids by query id, best first, none twice.
        measures: Names in ir-measures' spelling. "RR" is the reciprocal rank over the whole ranking.
    """
    import ir_measures

    parsed = {name: ir_measures.parse_measure(name) for name in measures}
    asked = {query: dict(qrels.get(query, {})) for query in rankings}
    run = {}
    for query, ranking in rankings.items():
        run[query] = {name: float(-rank) for rank, name in enumerate(ranking)}
    values = {name: dict.fromkeys(rankings, 0.0) for name in measures}
    names = {measure: name for name, measure in parsed.items()}
    for metric in ir_measures.iter_calc(list(parsed.values()), asked, run):
        values[names[metric.measure]][metric.query_id] = float(metric.value)
    return values


def ranking_rows(
    relevance: Mapping[str, Mapping[str, int]] | None,
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    measures: Mapping[str, str],
    *,
    first: int | None = None,
    details: Callable[[str, str], Mapping[str, Any]] = lambda arm, query: {},
) -> list[ScoreRow]:
    """Return a row for each ranking, query and measure; a document counts from its best passage.

    Args:
        relevance: Grades by sample id and document id.
        rankings: The document of each passage, best first, by arm and sample id.
        measures: ir-measures' names by our names of the measures.
        first: If given, also measure the share of relevant documents among this many first passages, which a model
            would get.
        details: Returns details of an arm and a query, for the row of the first measure.
    """
    rows = []
    for arm, ranked in rankings.items():
        documents = {query: list(dict.fromkeys(order)) for query, order in ranked.items()}
        values = measure_rankings(relevance or {}, documents, list(measures.values()))
        columns = {name: values[measure] for name, measure in measures.items()}
        if first is not None:
            columns[f"recall of {first} passages"] = {
                query: recall((relevance or {}).get(query, {}), order[:first]) for query, order in ranked.items()
            }
        rows += [
            ScoreRow(query, arm=arm, measure=name, score=by_query[query], details={} if place else details(arm, query))
            for query in ranked
            for place, (name, by_query) in enumerate(columns.items())
        ]
    return rows


def recall(grades: Mapping[str, int], found: Iterable[str]) -> float:
    """Return the share of the documents with a grade above 0 that are found."""
    relevant = {name for name, grade in grades.items() if grade > 0}
    return len(relevant.intersection(found)) / len(relevant)


def prediction(flagged: Sequence[bool], issue: Sequence[bool], *, seed: int) -> dict[str, Estimate]:
    """Return measures of a yes/no prediction: precision, recall, F1, and the shares of issues and of flagged cases.

    Shares have Wilson's interval, F1 a bootstrap's. Precision is undefined if nothing was flagged, recall without an
    issue.

    Args:
        flagged: The predictions.
        issue: The truth.
        seed: Seed of the bootstrap.
    """
    hits, total = sum(a and b for a, b in zip(flagged, issue, strict=True)), len(issue)
    return {
        "precision": wilson(hits, sum(flagged)),
        "recall": wilson(hits, sum(issue)),
        "f1": f1(flagged, issue, seed=seed),
        "issue_rate": wilson(sum(issue), total),
        "flagged_share": wilson(sum(flagged), total),
    }


def f1(flagged: Sequence[bool], issue: Sequence[bool], *, seed: int) -> Estimate:
    """Return 2 TP / (2 TP + FP + FN) with its bootstrap interval; undefined without flagged cases and issues."""
    return bootstrap(_f1, flagged, issue, seed=seed)


def roc_area(score: Sequence[float], issue: Sequence[bool], *, seed: int) -> Estimate:
    """Return the area under the ROC curve, with its bootstrap interval.

    The probability that an issue scores above a non-issue, ties half (the Mann-Whitney statistic; Hanley and McNeil
    1982); undefined unless there are both.
    """
    return bootstrap(_roc_area, score, issue, seed=seed)


def roc_area_gain(score: Sequence[float], other: Sequence[float], issue: Sequence[bool], *, seed: int) -> Estimate:
    """Return by how much the area of `score` exceeds that of `other` on the same cases, with its bootstrap interval."""

    def gain(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> np.ndarray:
        difference: np.ndarray = _roc_area(a, y) - _roc_area(b, y)
        return difference

    return bootstrap(gain, score, other, issue, seed=seed)


def _f1(flagged: np.ndarray, issue: np.ndarray) -> np.ndarray:
    """Return the F1 of a prediction, along the last axis."""
    hits = (flagged & issue).sum(axis=-1)
    return _ratio(2 * hits, flagged.sum(axis=-1) + issue.sum(axis=-1))


def _roc_area(score: np.ndarray, issue: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve, along the last axis."""
    from scipy.stats import rankdata

    positives = issue.sum(axis=-1)
    negatives = issue.shape[-1] - positives
    rank_sum = (rankdata(score, axis=-1) * issue).sum(axis=-1)
    return _ratio(rank_sum - positives * (positives + 1) / 2, positives * negatives)


def _ratio(numerator: Any, denominator: Any) -> np.ndarray:
    """Return the elementwise quotient; NaN for a denominator of 0."""
    undefined = np.full(np.shape(numerator), np.nan)
    result: np.ndarray = np.divide(numerator, denominator, out=undefined, where=np.asarray(denominator) != 0)
    return result

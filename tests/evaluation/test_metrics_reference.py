"""Measures of rankings against trec_eval's own expected outputs, and ROUGE against known values, both from the data."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from evaluation.metrics import measure_rankings
from evaluation.reading_metrics import ROUGE, rouge

pytestmark = pytest.mark.slow

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NAMES = {
    "recip_rank": "RR",
    "map": "AP",
    "ndcg": "nDCG",
    "Rprec": "Rprec",
    "success_1": "Success@1",
    "success_5": "Success@5",
    "success_10": "Success@10",
    **{f"recall_{k}": f"R@{k}" for k in CUTOFFS},
    **{f"P_{k}": f"P@{k}" for k in CUTOFFS},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTOFFS},
    **{f"map_cut_{k}": f"AP@{k}" for k in CUTOFFS},
}
"""trec_eval's names of measures, and those of ir-measures."""
ROUNDED = 5.1e-5
"""trec_eval prints four places."""
Values = dict[tuple[str, str], float]


@pytest.fixture(scope="session")
def folder(data_dir: Path) -> Path:
    return data_dir / "trec_eval_cases"


def judged(path: Path) -> dict[str, dict[str, int]]:
    """Grades by query and document."""
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for query, _, document, grade in map(str.split, path.read_text(encoding="utf-8").splitlines()):
        qrels[query][document] = int(grade)
    return qrels


def ranked(path: Path) -> dict[str, list[str]]:
    """Documents by query, best first; equal scores by name, the later one first, as trec_eval does."""
    scored: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for query, _, document, _, score, *_ in map(str.split, path.read_text(encoding="utf-8").splitlines()):
        scored[query].append((float(score), document))
    return {query: [document for _, document in sorted(pairs, reverse=True)] for query, pairs in scored.items()}


def expected(path: Path) -> Values:
    """What trec_eval printed, by our name of the measure and the query; the mean's query is `all`."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {(NAMES[name], query): float(value) for name, query, value in rows if name in NAMES}


def measured(qrels: dict[str, dict[str, int]], rankings: dict[str, list[str]], names: list[str]) -> Values:
    """The same by ours."""
    found = measure_rankings(qrels, rankings, names)
    each = {(name, query): value for name, values in found.items() for query, value in values.items()}
    means = {(name, "all"): sum(values.values()) / len(values) for name, values in found.items()}
    return each | means


def test_every_measure_of_every_query_is_trec_evals(folder: Path) -> None:
    wanted = expected(folder / "out.test.aq")
    assert len(wanted) == len(NAMES) * 4
    found = measured(judged(folder / "qrels.test"), ranked(folder / "results.test"), list(NAMES.values()))
    assert found == pytest.approx(wanted, abs=ROUNDED)
    assert len({value for value in wanted.values() if 0 < value < 1}) > 80


def test_a_query_without_a_ranking_counts_as_nothing_found(folder: Path) -> None:
    """The mean over all queries that were judged: trec_eval's option -c."""
    qrels = judged(folder / "qrels.test")
    rankings = {query: [] for query in qrels} | ranked(folder / "results.trunc")
    found = measured(qrels, rankings, list(NAMES.values()))
    for key, value in expected(folder / "out.test.aqc").items():
        assert found[key] == pytest.approx(value, abs=ROUNDED), key


@pytest.mark.parametrize("stemmed", [False, True])
def test_every_known_rouge_value_is_met(data_dir: Path, stemmed: bool) -> None:
    path = data_dir / "rouge_cases" / "rouge_score_0.1.2_cases.jsonl"
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(cases) == 39
    for case in cases:
        wanted = case["scores"]["stemmed" if stemmed else "plain"]
        found = rouge(case["hypothesis"], case["reference"], stemmed=stemmed)
        assert found == pytest.approx({name: wanted[key][2] for key, name in ROUGE.items()}), case["id"]

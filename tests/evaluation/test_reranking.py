"""The experiment on reranking, and the training of the reranker without a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evaluation.experiments import run
from evaluation.experiments.reranking import FUSIONS, fusion
from evaluation.runs import ExperimentRun
from evaluation.searching import GROUPS, group_of, left_out
from preflight_rag.models.opening import open_reranker
from preflight_rag.models.reranking.feature_reranker import ALL, FEATURES, WEIGHTS, FeatureReranker
from preflight_rag.state.errors import RerankerError
from training import train_reranker
from training.train_reranker import Example, fit, folds, main, quality, train

pytestmark = pytest.mark.slow

HELPS = FEATURES.index("coverage")


def example(rng, candidates=12):
    """Candidates of which the relevant one has the largest coverage; the rest is noise."""
    values = rng.normal(size=(candidates, len(FEATURES))).astype(np.float32)
    grades = np.zeros(candidates, dtype=np.float32)
    grades[values[:, HELPS].argmax()] = 1
    return Example(values, grades, tuple(f"d{i}" for i in range(candidates)), 1.0)


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    return {group: [[example(rng) for _ in range(60)]] for group in ("one", "two", "three")}


def test_the_feature_that_tells_gets_the_weight(examples):
    weights = fit(examples, 0.01)
    assert weights.argmax() == HELPS
    assert quality(examples["one"], weights) > 0.9 > 0.6 > quality(examples["one"], np.zeros(len(FEATURES)))


def test_a_column_that_never_changes_gets_none(examples):
    for questions in examples.values():
        for one in questions[0]:
            one.features[:, 0] = 7
    assert fit(examples, 0.01)[0] == 0


def test_quality_counts_a_document_once():
    grades = np.array([0, 1, 1], dtype=np.float32)
    one = Example(np.zeros((3, len(FEATURES)), np.float32), grades, ("a", "b", "b"), 1.0)
    assert quality([[one]], np.zeros(len(FEATURES))) == pytest.approx(1 / np.log2(3))


def test_folds_leave_one_group_out():
    assert dict(folds(["b", "a"])) == {ALL: {"a", "b"}, "a": {"b"}, "b": {"a"}}


def test_a_fold_never_sees_its_group(examples):
    lines = []
    found = train(examples, lines.append)
    for one in examples["one"][0]:
        one.grades[:] = one.grades[::-1].copy()
    again = train(examples, lines.append)
    assert [row["one"] for row in found["weights"].values()] == [row["one"] for row in again["weights"].values()]
    assert [row[ALL] for row in found["weights"].values()] != [row[ALL] for row in again["weights"].values()]
    assert set(found["fusions"]) == set(FUSIONS)


def test_groups():
    assert group_of("biomix-scifact") == group_of("scifact") == "scifact"
    assert group_of("anything else") == ALL
    assert fusion("CombSUM", 0.25).weights == {"dense share": 0.25, "bm25 share": 0.75}


@pytest.mark.parametrize(
    ("collection", "column"),
    [("bioasq", "bioasq"), ("biomix-bioasq", "bioasq"), ("medquad", "medquad"), ("anything else", "all")],
)
def test_left_out_weights_are_their_column_of_the_file(collection, column):
    table = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    found = open_reranker(left_out(collection))
    assert found.weights == {name: row[column] for name, row in table.items()}
    assert (found.weights == open_reranker("features").weights) == (column == "all")


def test_a_fold_that_there_is_not_is_one_clear_line():
    with pytest.raises(RerankerError, match="without 'nq'"):
        open_reranker("features:nq")


@pytest.mark.parametrize("experiment", ["pairs", "cpqa"])
def test_figures_about_bioasq_come_from_weights_that_never_saw_it(data_dir, library_cache, monkeypatch, experiment):
    asked: list[dict[str, float]] = []
    score = FeatureReranker.score
    monkeypatch.setattr(
        FeatureReranker, "score", lambda self, *given: asked.append(dict(self.weights)) or score(self, *given)
    )
    (report,) = run(
        experiment,
        data_dir,
        ["bioasq"],
        ExperimentRun(limit=1, documents=60, library_cache=library_cache, rerankers=("features",)),
    )
    table = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    assert asked
    assert all(weights == {name: row["bioasq"] for name, row in table.items()} for weights in asked)
    assert "features:bioasq" in json.dumps(report.inputs["settings"])


def test_the_report(beir_data, library_cache):
    (report,) = run("reranking", beir_data, ["small"], ExperimentRun(part="all", library_cache=library_cache))
    rankings = [row[0] for row in report.tables[0].rows]
    assert rankings[:7] == ["dense", "BM25", "fused", "CombSUM", "weighted RRF", "reranked", "reader"]
    assert rankings[7:] == ["reranked − dense", "reranked − BM25", "reranked − fused", "reader − reranked"]
    assert report.figures["quality"]["means"]["reranked"]["recall@16"]["value"] == 1
    assert report.inputs["settings"]["fold"] == ALL
    assert {row.sample for row in report.rows} == {"q1", "q2", "q3", "q4"}


def test_the_command_writes_a_file_that_can_be_read(beir_data, library_cache, tmp_path, monkeypatch, capsys):
    names = ["small", str(beir_data / "small"), f"{beir_data}//small"]
    monkeypatch.setattr(train_reranker, "GROUPS", dict.fromkeys(names))
    monkeypatch.setattr(train_reranker, "group_of", str)
    out = tmp_path / "weights.json"
    given = ["--data", str(beir_data), "--library-cache", str(library_cache), "--out", str(out)]
    assert main(given) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert tuple(found["weights"]) == FEATURES
    assert "nDCG@10 by penalty" in capsys.readouterr().err


def test_missing_data_is_one_clear_line(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 1
    assert "bioasq" in capsys.readouterr().err
    assert set(GROUPS.values()) == {"bioasq", "scifact", "nfcorpus", "cranfield", "cisi", "medquad"}

"""Pairs of embedder and reranker: whose questions they are, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.experiments import pairs, run
from evaluation.experiments.pairs import HITS, MRR, RERANKERS, graded, read_question
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from preflight_rag.state.errors import RerankerError, UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(library_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "LEAST_WORDS", 8)
    return ExperimentRun(part="all", library_cache=library_cache, reply_cache=tmp_path / "replies.db")


def written(body):
    """A question about the passage's title, and none about Venus."""
    prompt = body["messages"][-1]["content"]
    title = prompt.split('title="')[1].split('"')[0]
    return f'1. "What is {title} about?"' if title else "There is nothing to ask."


def test_without_a_model_the_set_asks(beir_data, settings):
    (report,) = run("pairs", beir_data, ["small"], settings)
    assert pairs.OWN in report.about
    assert pairs.OWN in report.tables[0].title
    assert [name.split(" + ")[1] for name in report.figures["means"]] == list(RERANKERS)
    assert {row.sample for row in report.rows} == {"q1", "q2", "q3", "q4"}
    assert report.inputs["model"] is None


class ByNumber:
    """Ranks passages by the number that their text ends with, the smallest first."""

    name = "by number"
    batch_size = None

    def score(self, question, candidates):
        return np.array([-float(candidate.passage.text.split()[-1]) for candidate in candidates])


def test_hits_and_reciprocal_ranks_are_those_counted_by_hand(tmp_path, write_lines, settings, monkeypatch):
    """Twelve documents, ranked by number for every question: what answers comes 1st, 3rd, 7th and 6th."""
    wanted = {"first": "d1", "third": "d3", "seventh": "d7", "sixth": "d6"}
    numbers = range(1, 13)
    folder = tmp_path / "twelve"
    write_lines(folder / "corpus.jsonl", ({"_id": f"d{n}", "title": "", "text": f"House number {n}"} for n in numbers))
    write_lines(folder / "queries.jsonl", ({"_id": name, "text": f"Which house is the {name}?"} for name in wanted))
    (folder / "qrels").mkdir()
    judged = "".join(f"{name}\t{document}\t1\n" for name, document in wanted.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    monkeypatch.setattr(pairs, "open_reranker", lambda name: ByNumber())
    (report,) = run("pairs", tmp_path, ["twelve"], replace(settings, rerankers=("by number",)))
    (means,) = report.figures["means"].values()
    assert means[HITS]["value"] == 2 / 4
    assert means[MRR]["value"] == pytest.approx((1 + 1 / 3) / 4, abs=1e-6)
    assert {tuple(row.details["found"]) for row in report.rows if row.measure == HITS} == {
        ("d1", "d2", "d3", "d4", "d5")
    }


def test_a_model_writes_a_question_for_each_document(beir_data, settings, monkeypatch):
    with ScriptedServer(written) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        asked = replace(settings, model="openai:scripted", rerankers=("none", "features"))
        (report,) = run("pairs", beir_data, ["small"], asked)
        assert server.count() == 5
    assert "written by openai:scripted" in report.about
    assert "1 documents gave none" in report.about
    hits = [row for row in report.rows if row.measure == HITS]
    questions = {row.sample: row.details["question"] for row in hits}
    assert questions["aspirin"] == "What is Aspirin about?"
    assert all(row.details["relevant"] == [row.sample] for row in hits)
    assert {row.arm for row in hits} == set(report.figures["means"])


def test_the_first_stage_is_the_embedders_ranking_alone(beir_data, settings):
    (report,) = run("pairs", beir_data, ["small"], replace(settings, rerankers=("none",)))
    from evaluation.datasets import open_dataset
    from evaluation.searching import collection_library

    with collection_library(open_dataset("small", beir_data), settings) as library:
        for row in (row for row in report.rows if row.measure == HITS):
            dense = [hit.document_id for hit in library.search(row.details["question"]).dense][:5]
            assert row.details["found"] == dense


@pytest.mark.parametrize(("rank", "value"), [(1, 1.0), (2, 0.5), (5, 0.2), (6, 0.0)])
def test_the_reciprocal_rank_ends_at_five(rank, value):
    order = [f"d{place}" for place in range(1, 8)]
    hits, reciprocal = graded(Sample("q", "?"), "pair", order, frozenset({f"d{rank}"}))
    assert (hits.score, reciprocal.score) == (float(value > 0), value)


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("What does aspirin do?", "What does aspirin do?"),
        ("Here it is:\n1) **Does aspirin thin blood?**", "Does aspirin thin blood?"),
        ('Question: "Which vitamin cures scurvy?"', "Which vitamin cures scurvy?"),
        ("Why?", ""),
        ("I cannot write one.", ""),
    ],
)
def test_a_question_is_read_from_a_reply(reply, question):
    assert read_question(reply) == question


def test_what_cannot_be_done_is_said(beir_data, settings, monkeypatch):
    with pytest.raises(RerankerError):
        run("pairs", beir_data, ["small"], replace(settings, rerankers=("no/such-reranker",)))
    with ScriptedServer(default="no") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(UsageError, match="wrote no question about small"):
            run("pairs", beir_data, ["small"], replace(settings, model="openai:scripted"))

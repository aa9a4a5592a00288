"""Pairs of embedder and reranker: whose questions they are, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_server import ScriptedServer

from preflight_rag.evaluation.experiments import run
from preflight_rag.evaluation.papers import pairs
from preflight_rag.evaluation.papers.pairs import RERANKERS, read_question
from preflight_rag.evaluation.runs import Run
from preflight_rag.state.errors import RerankerError, UsageError


@pytest.fixture
def settings(library_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "LEAST_WORDS", 8)
    return Run(part="all", library_cache=library_cache, reply_cache=tmp_path / "replies.db")


def written(body):
    """A question about the passage's title, and none about Venus."""
    prompt = body["messages"][-1]["content"]
    title = prompt.split('title="')[1].split('"')[0]
    return f'1. "What is {title} about?"' if title else "There is nothing to ask."


def test_without_a_model_the_set_asks(beir_data, settings):
    (report,) = run("pairs", beir_data, ["small"], settings)
    assert pairs.OWN in report.about
    assert pairs.OWN in report.tables[0].title
    assert [name.split(" + ")[1] for name in report.figures] == list(RERANKERS)
    assert {row["id"] for row in report.rows} == {"q1", "q2", "q3", "q4"}
    assert all(figures["hits"]["value"] == 1.0 for figures in report.figures.values())
    assert report.inputs["model"] is None


def test_a_model_writes_a_question_for_each_document(beir_data, settings, monkeypatch):
    with ScriptedServer(written) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        asked = replace(settings, model="openai:scripted", rerankers=("none", "features"))
        (report,) = run("pairs", beir_data, ["small"], asked)
        assert server.count() == 5
    assert "written by openai:scripted" in report.about
    assert "1 documents gave none" in report.about
    questions = {row["id"]: row["question"] for row in report.rows}
    assert questions["aspirin"] == "What is Aspirin about?"
    assert all(row["relevant"] == [row["id"]] for row in report.rows)
    assert {pair for row in report.rows for pair in row["found"]} == set(report.figures)


def test_the_first_stage_is_the_embedders_ranking_alone(beir_data, settings):
    (report,) = run("pairs", beir_data, ["small"], replace(settings, rerankers=("none",)))
    from preflight_rag.evaluation.datasets import open_dataset
    from preflight_rag.evaluation.searching import collection_library

    with collection_library(open_dataset("small", beir_data), settings) as library:
        for row in report.rows:
            dense = [hit.document_id for hit in library.search(row["question"]).dense][:5]
            assert next(iter(row["found"].values())) == dense


@pytest.mark.parametrize(("rank", "value"), [(1, 1.0), (2, 0.5), (5, 0.2), (6, 0.0)])
def test_the_reciprocal_rank_ends_at_five(rank, value):
    order = [f"d{place}" for place in range(1, 8)]
    assert pairs._reciprocal(order, frozenset({f"d{rank}"})) == value


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

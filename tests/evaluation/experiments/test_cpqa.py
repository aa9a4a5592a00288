"""The experiment `cpqa`: its questions, what each method reads, and hard negatives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paper_files import answers, passages, prompts
from scripted_server import ScriptedServer

from preflight_rag.evaluation.datasets import QUESTIONS, open_dataset
from preflight_rag.evaluation.experiments import cpqa
from preflight_rag.evaluation.experiments.cpqa import FOUND, HARD, NAIVE, PIPELINE, TOP, on_subject
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import passages_as_corpus
from preflight_rag.evaluation.stages import CLOSED_BOOK, NO_CLOSED_BOOK

SUBSET = 24


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return Run(limit=3, library_cache=tmp_path_factory.mktemp("cpqa"))


@pytest.fixture(scope="module")
def pubmedqa(data_dir):
    """PubMedQA with the abstracts of a few questions on neoplasms as the corpus."""
    found = open_dataset("pubmedqa", data_dir, QUESTIONS)
    chosen = on_subject(found)[1].select("all", SUBSET)
    tests = on_subject(found)[1].select("test", 3)
    return replace(found, samples=tests, corpus=passages_as_corpus((*tests, *chosen)))


def test_only_questions_on_neoplasms_are_asked(data_dir):
    found = open_dataset("pubmedqa", data_dir, QUESTIONS)
    told, chosen = on_subject(found)
    assert "MeSH" in told
    assert 0 < len(chosen.samples) < len(found.samples) / 2
    other = open_dataset("ramdocs", data_dir, QUESTIONS)
    assert on_subject(other) == ("all subjects (no MeSH headings)", other)


def test_each_method_reads_its_own_passages(pubmedqa, settings):
    report = cpqa.run(pubmedqa, replace(settings, model="simulated"))
    for arms in answers(report).values():
        assert list(arms) == [CLOSED_BOOK, NAIVE, PIPELINE]
        assert passages(arms[CLOSED_BOOK]) == []
        assert all(len(passages(arms[name])) == TOP for name in (NAIVE, PIPELINE))
        assert all(1 <= arms[name].details["hard_negatives"] <= HARD + 1 for name in (NAIVE, PIPELINE))
        assert all(len(prompts(arm)) == 1 for arm in arms.values())
    assert len(report.figures["paired"]) == 3
    assert report.figures["retrieval"]["means"][PIPELINE][FOUND]["value"] > 0


def test_without_a_model_closed_book_is_left_out(pubmedqa, settings):
    notes = []
    report = cpqa.run(pubmedqa, replace(settings, limit=1, warn=notes.append))
    assert [row.arm for row in report.rows] == [NAIVE, PIPELINE]
    assert NO_CLOSED_BOOK in report.about
    assert any(NO_CLOSED_BOOK in note for note in notes)


def test_only_the_closed_book_is_asked_without_passages(pubmedqa, settings, monkeypatch, tmp_path):
    with ScriptedServer(default="CHOICE: A") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run = replace(settings, limit=2, model="openai:scripted", reply_cache=tmp_path / "replies.db")
        report = cpqa.run(pubmedqa, run)
        assert server.count() == 6
    for arms in answers(report).values():
        shown = {name: "<passage n=" in prompts(arm)[0] for name, arm in arms.items()}
        assert shown == {CLOSED_BOOK: False, NAIVE: True, PIPELINE: True}

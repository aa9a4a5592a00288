"""The abstention experiment: what a question is put to, and that both ways to answer are asked of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paper_files import answers, prompts

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import run
from evaluation.experiments.abstention import KINDS, PASSAGES, PLAIN, REDUCED, cases, decided, open_pool
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.vector_cache import cached_embedder
from preflight_rag.state.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return ExperimentRun(limit=2, library_cache=tmp_path_factory.mktemp("vectors"))


@pytest.fixture(scope="module")
def clapnq(data_dir, settings):
    """ClapNQ, and six cases: one question with an answer put twice, one without put once, for each of the two."""
    found = open_dataset("clapnq", data_dir, QUESTIONS)
    chosen = found.select("test")
    questions = [next(q for q in chosen if bool(q.answers) is answerable) for answerable in (True, False)]
    found = replace(found, samples=tuple(found.samples[:100]) + tuple(questions))
    with cached_embedder(settings) as embedder:
        pool = open_pool(found, questions, embedder, settings)
        return found, questions, dict(cases(questions, pool, embedder))


def test_the_answering_passage_is_there_only_where_it_is_answerable(clapnq):
    _, (asked, _), put = clapnq
    gold = {passage.text for passage in asked.given}
    held = {question.label: bool(gold & {s.text for s in sources}) for question, sources in put.items()
            if question.question == asked.question}  # fmt: skip
    assert held == {"answerable": True, "removed": False}
    assert [question.label for question in put] == list(KINDS)
    assert {len(sources) for sources in put.values()} == {PASSAGES}


def test_the_simulated_reader_abstains_where_the_passage_is_gone(data_dir, settings):
    (report,) = run("abstention", data_dir, ["clapnq"], replace(settings, model="simulated"))
    assert report.inputs["model"].startswith("simulated")
    found = answers(report)
    assert {kind for _, kind in found} > {"removed"}
    for (_, kind), arms in found.items():
        assert arms[PLAIN].details["abstained"] or kind == "answerable"
        assert len(prompts(arms[PLAIN])) == 1
        assert len(prompts(arms[REDUCED])) in (4, 5)


def test_it_runs_without_a_model(data_dir, settings):
    (report,) = run("abstention", data_dir, ["nq_open_oracle"], settings)
    assert report.figures["answerable"]["cases"] == 2
    assert {kind for _, kind in answers(report)} == {"answerable", "removed"}
    assert [row[0] for row in report.tables[0].rows] == ["answerable: answered", "removed: abstained"]


@pytest.mark.parametrize(("label", "abstained", "expected"), [
    ("answerable", False, True), ("answerable", True, False), ("removed", True, True), ("unanswerable", False, False),
])  # fmt: skip
def test_a_decision_is_right_when_it_fits_the_passages(label, abstained, expected):
    details = {"abstained": abstained, "refused": False, "unreadable": False, "error": ""}
    assert decided(ScoreRow("q", label, "a", 0.0, details=details)) is expected


def test_too_few_passages_are_refused(clapnq, settings):
    found, questions, _ = clapnq
    few = replace(found, samples=tuple(questions))
    with cached_embedder(settings) as embedder, pytest.raises(UsageError, match="2 passages, too few"):
        open_pool(few, questions, embedder, settings)

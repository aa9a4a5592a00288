"""More passages, and other passages, beside the one that answers."""

from __future__ import annotations

from math import ceil
from statistics import fmean

import pytest
from paper_files import answers, passages, prompts, report_of

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments.context_length import LENGTHS
from evaluation.experiments.distractors import RANDOM, RETRIEVED, SIZE
from evaluation.experiments.positions import condition
from evaluation.reading_metrics import holds
from evaluation.runs import ExperimentRun
from evaluation.searched import open_searched
from evaluation.stages import CLOSED_BOOK, MAP_REDUCE, ORACLE, RAG
from preflight_rag.state.errors import UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

PLACES = {2: (0, 0, 1, 1, 1), 4: (0, 1, 2, 2, 3), 8: (0, 2, 4, 5, 7), 16: (0, 4, 8, 11, 15), 32: (0, 8, 16, 23, 31)}
"""Of 0, 25, 50, 75 and 100 %, by hand: the percentile of the last place, rounded, halves up."""


def test_the_same_key_passage_stands_at_each_percentile_of_each_length(small, library_cache) -> None:
    """BriefContext, section 5.3: strategically placed at the 0th to the 100th percentile, whatever the number."""
    report = report_of("context-length", "nq_open_oracle", small, library_cache, model="simulated", limit=3)
    found = answers(report)
    for name in {sample for sample, _ in found}:
        (key,) = passages(found[name, ""][ORACLE])
        for k in LENGTHS:
            for at, place in zip((0, 25, 50, 75, 100), PLACES[k], strict=True):
                plain, parts = (found[name, condition(k, at)][arm] for arm in (RAG, MAP_REDUCE))
                assert passages(plain) == passages(parts)
                assert [n for n, text in enumerate(passages(plain)) if text == key] == [place]
                assert len(passages(plain)) == k
                assert len(prompts(plain)) == 1
                assert len(prompts(parts)) - ceil(k / 4) in (0, 1)
        assert passages(found[name, ""][CLOSED_BOOK]) == []
    (plot,) = report.plots
    assert [line.name for line in plot.references] == [ORACLE, CLOSED_BOOK]
    assert [series.name for series in plot.series] == [RAG, MAP_REDUCE]
    lines = {row[0]: row[1:] for row in report.tables[0].rows}
    assert len(set(lines[ORACLE])) == 1
    for arm in (RAG, MAP_REDUCE):
        means = report.figures["means"][arm]
        scores = {
            at: [one[arm].score for (_, c), one in found.items() if c == at] for at in {c for _, c in found} - {""}
        }
        for k in LENGTHS:
            mean = fmean(score for at in (0, 25, 50, 75, 100) for score in scores[condition(k, at)])
            assert means[f"k = {k}"]["value"] == pytest.approx(mean)


def test_offline_the_oracle_is_there_and_the_closed_book_is_not(small, library_cache) -> None:
    report = report_of("context-length", "mirage", small, library_cache, limit=2)
    assert [row[0] for row in report.tables[0].rows][:3] == [RAG, MAP_REDUCE, ORACLE]
    assert [line.name for line in report.plots[0].references] == [ORACLE]
    assert "Closed book is left out" in report.tables[0].note


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_the_key_is_at_one_place_among_two_kinds_of_others(small, library_cache, model) -> None:
    report = report_of("distractors", "nq_open_oracle", small, library_cache, model=model, limit=4)
    questions = {question.id: question for question in open_dataset("nq_open_oracle", small, QUESTIONS).samples}
    found = answers(report)
    for name in {sample for sample, _ in found}:
        near, drawn = (passages(found[name, kind][RAG]) for kind in (RETRIEVED, RANDOM))
        assert len(near) == len(drawn) == SIZE
        same = [place for place in range(SIZE) if near[place] == drawn[place]]
        keys = [place for place in same if near[place] in questions[name].given[0].text]
        assert keys == [SIZE // 2]
        others = [text for texts in (near, drawn) for place, text in enumerate(texts) if place != keys[0]]
        assert not any(holds(text, questions[name].answers[0]) for text in others)


def test_random_passages_are_those_of_the_seed(small, library_cache) -> None:
    def drawn(seed: int) -> list[list[str]]:
        report = report_of("distractors", "mirage", small, library_cache, model="simulated", limit=3, seed=seed)
        return [passages(arms[RAG]) for (_, kind), arms in answers(report).items() if kind == RANDOM]

    assert drawn(0) == drawn(0) != drawn(1)


def test_what_cannot_be_asked_is_told(small, library_cache) -> None:
    with pytest.raises(UsageError, match="no question of the test part of mirage-medqa"):
        report_of("distractors", "mirage-medqa", small, library_cache, limit=2)


@pytest.mark.parametrize(
    ("experiment", "lines"),
    [
        ("context-length", [*(f"{RAG}, k = {k}" for k in LENGTHS), ORACLE]),
        ("distractors", [f"{RAG}, {RETRIEVED}", f"{RAG}, {RANDOM}"]),
    ],
)
def test_repeated_runs_have_a_standard_deviation(
    small, library_cache, monkeypatch, tmp_path, experiment, lines
) -> None:
    """The journal's Figures 5 and 6 show one. Right in the first of two runs alone: mean 50 %, SD 70.71 by hand."""
    found = open_dataset("nq_open_oracle", small, QUESTIONS)
    with open_searched(found, ExperimentRun(library_cache=library_cache)) as searched:
        (question,) = searched.with_key(found, ExperimentRun(limit=1))
    right, asked = question.answers[0][0], list[str]()

    def reply(prompt: str) -> str:
        asked.append(prompt)
        # A run that needs a prompt twice takes the second reply from its cache: what comes again is of the second run.
        return f"ANSWER: {right if asked.count(prompt) == 1 else 'nobody knows'}"

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        report = report_of(
            experiment, "nq_open_oracle", small, library_cache, limit=1, repeats=2, model="openai:scripted",
            reply_cache=tmp_path / "replies.db", concurrency=1,
        )  # fmt: skip
    (table,) = (table for table in report.tables if table.title == "Over repeated runs")
    for line in lines:
        assert report.figures["repeats"][line]["runs"] == [1.0, 0.0]
        assert (line, "50.00", "70.71", "100.00 / 0.00") in table.rows

"""The key passage is where it should be, both arms read the same, and a simulated dip is found."""

from __future__ import annotations

from math import ceil, sqrt
from statistics import fmean

import pytest
from paper_files import answers, passages, prompts, report_of

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments import positions
from evaluation.experiments.positions import PERCENTILES, SIZES, condition, place_of
from evaluation.harness.simulated import ReadingBias
from evaluation.published import PUBLISHED
from evaluation.reading_metrics import holds
from evaluation.runs import ExperimentRun
from evaluation.searched import open_searched
from evaluation.stages import MAP_REDUCE, RAG
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.state.errors import UsageError
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

SEEDS = (0, 1, 2)
ASKED = 15


@pytest.fixture(scope="module")
def reports(small, library_cache) -> list:
    """The simulated reader, with the draws of three seeds."""
    return [
        report_of("positions", "nq_open_oracle", small, library_cache, model="simulated", seed=seed, limit=ASKED)
        for seed in SEEDS
    ]


@pytest.mark.parametrize(
    ("count", "places"), [(8, (0, 2, 4, 5, 7)), (16, (0, 4, 8, 11, 15)), (5, (0, 1, 2, 3, 4)), (1, (0,) * 5)]
)
def test_percentiles_are_places(count, places) -> None:
    assert tuple(place_of(percentile, count) for percentile in PERCENTILES) == places


def test_the_key_passage_is_at_its_place_and_nowhere_else(reports, small) -> None:
    questions = {question.id: question for question in open_dataset("nq_open_oracle", small, QUESTIONS).samples}
    found = answers(reports[0])
    assert len(found) == ASKED * len(SIZES) * len(PERCENTILES)
    for (name, at), arms in found.items():
        size, percentile = (int(part.strip("k=%")) for part in at.split(","))
        texts, place = passages(arms[RAG]), place_of(percentile, size)
        assert len(set(texts)) == size
        assert texts[place] in questions[name].given[0].text
        assert not any(holds(text, questions[name].answers[0]) for text in texts[:place] + texts[place + 1 :])


UNSEEN = dict.fromkeys([0x200B, *range(0x202A, 0x202F)])
"""Spaces of no width and marks of direction, as some articles have them: a prompt goes without."""


def test_both_arms_read_the_same_passages(reports) -> None:
    for arms in answers(reports[0]).values():
        (whole,), parts, texts = prompts(arms[RAG]), prompts(arms[MAP_REDUCE]), passages(arms[RAG])
        mapped = parts[: ceil(len(texts) / 4)]
        assert len(parts) - len(mapped) in (0, 1)
        for text in texts:
            text = text.translate(UNSEEN)
            assert text in whole
            assert sum(text in prompt for prompt in mapped) == 1


def test_a_simulated_dip_shows_in_plain_rag_and_less_in_map_reduce(reports) -> None:
    accuracy = {
        arm: {at: fmean(r.figures["accuracy"]["k=16"][arm][f"{at} %"]["value"] for r in reports) for at in PERCENTILES}
        for arm in (RAG, MAP_REDUCE)
    }
    for at in PERCENTILES:
        expected = ReadingBias().noticed(place_of(at, 16), 16)
        spread = sqrt(expected * (1 - expected) / (ASKED * len(SEEDS)))
        assert abs(accuracy[RAG][at] - expected) < 3.5 * spread
    dip = {arm: (row[0] + row[100]) / 2 - row[50] for arm, row in accuracy.items()}
    assert dip[RAG] > 0.2
    assert dip[MAP_REDUCE] < dip[RAG] - 0.15


def test_the_plots_and_tables_hold_every_position(reports) -> None:
    report = reports[0]
    assert [table.title for table in report.tables][:2] == ["8 passages (top_k = 8)", "16 passages (top_k = 16)"]
    assert len(report.tables[3].rows) == len(SIZES) * (len(PERCENTILES) + 1)
    for plot, table in zip(report.plots, report.tables, strict=False):
        assert plot.at == tuple(map(float, PERCENTILES))
        assert [series.name for series in plot.series] == [row[0] for row in table.rows] == [RAG, MAP_REDUCE]
        assert "simulated" in plot.note


@pytest.mark.parametrize(("dataset", "model"), [("nq_open_oracle", "offline"), ("mirage", "simulated")])
def test_it_runs_on_each_data_set(small, library_cache, dataset, model) -> None:
    report = report_of("positions", dataset, small, library_cache, model=model, limit=2)
    assert report.figures["questions"] == 2
    assert {at for _, at in answers(report)} == {condition(size, at) for size in SIZES for at in PERCENTILES}
    assert "not from the paper's own collection" in report.tables[0].note


def test_distractors_come_by_the_dense_ranking_where_that_is_asked_for(small, library_cache) -> None:
    """BriefContext: the order of the dense ranking is kept, and its passages are the ones around the key."""
    found = open_dataset("nq_open_oracle", small, QUESTIONS)
    with open_searched(found, ExperimentRun(library_cache=library_cache, order="dense")) as searched:
        question = next(q for q in found.samples if searched.documents(q))
        dense = [
            hit.passage_id
            for hit in searched.library.search(SearchQuery(question.question, k=100, candidates=100)).dense
        ]
        assert [source.passage_id for source in searched.retrieved(question, 5)] == dense[:5]
        near = [passage.id for passage in searched.nearest(question, searched.key(question), 7)]
        assert [name for name in dense if name in near] == near
        assert "dense ranking" in searched.where


def test_repeats_are_asked_anew_and_have_a_standard_deviation(small, library_cache, monkeypatch, tmp_path) -> None:
    """The model answers rightly in the first run and not in the second: 100 and 0 %, so mean 50, SD 70.71 by hand."""
    found = open_dataset("nq_open_oracle", small, QUESTIONS)
    with open_searched(found, ExperimentRun(library_cache=library_cache)) as searched:
        (question,) = searched.with_key(found, ExperimentRun(limit=1))
    right = question.answers[0][0]
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        # Each of RAG's prompts comes once a run; what comes again is of the second.
        return f"ANSWER: {right if asked.count(prompt) == 1 else 'nobody knows'}"

    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        report = positions.run(
            found,
            ExperimentRun(limit=1, repeats=2, library_cache=library_cache, model="openai:scripted",
                reply_cache=tmp_path / "replies.db", concurrency=1),
        )  # fmt: skip
    assert report.figures["repeats"][f"{RAG}, k = 8"]["runs"] == [1.0, 0.0]
    (table,) = (table for table in report.tables if table.title == "Over repeated runs")
    assert (f"{RAG}, k = 8", "50.00", "70.71", "100.00 / 0.00") in table.rows
    (table,) = (table for table in report.tables if table.title == "Over repeated runs, by place")
    for place in PERCENTILES:
        assert (f"{RAG}, {condition(8, place)}", "50.00", "70.71", "100.00 / 0.00") in table.rows


def test_the_arms_are_compared_by_the_mean_of_the_places(reports) -> None:
    """The journal's p < .05 and p < .01 are of the accuracy averaged over the positions."""
    for report in reports:
        for size in SIZES:
            rows = [row for row in report.rows if row.condition.startswith(f"k={size},")]
            means = {arm: fmean(row.score for row in rows if row.arm == arm) for arm in (RAG, MAP_REDUCE)}
            paired = report.figures["paired"][f"k = {size}, mean of the places"]
            assert paired["difference"]["value"] == pytest.approx(means[MAP_REDUCE] - means[RAG], abs=1e-6)


def test_repeats_without_a_model_are_refused(small, library_cache) -> None:
    found = open_dataset("nq_open_oracle", small, QUESTIONS)
    with pytest.raises(UsageError, match="2 repeats"):
        positions.run(found, ExperimentRun(limit=1, repeats=2, library_cache=library_cache))


def test_the_preprints_places_average_as_its_row_says() -> None:
    """The journal's text and the preprint's Supplementary Table 1 disagree; the latter's means by hand."""
    places, _ = PUBLISHED["positions"]
    means = [round(fmean(column), 2) for column in zip(*places.rows.values(), strict=True)]
    assert [means[2:4], means[4:6], means[6:8]] == [[56.38, 60.0], [53.33, 59.51], [52.0, 58.86]]

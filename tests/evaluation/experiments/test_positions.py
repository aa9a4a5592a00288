"""The key passage is where it should be, both arms read the same, and a simulated dip is found."""

from __future__ import annotations

from math import ceil, sqrt
from statistics import fmean

import pytest
from paper_files import answers, passages, prompts, report_of

from preflight_rag.evaluation.datasets import QUESTIONS, open_dataset
from preflight_rag.evaluation.experiments.positions import PERCENTILES, SIZES, condition, place_of
from preflight_rag.evaluation.harness.simulated import Bias
from preflight_rag.evaluation.reading_metrics import holds
from preflight_rag.evaluation.stages import MAP_REDUCE, RAG

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
        expected = Bias().noticed(place_of(at, 16), 16)
        spread = sqrt(expected * (1 - expected) / (ASKED * len(SEEDS)))
        assert abs(accuracy[RAG][at] - expected) < 3.5 * spread
    dip = {arm: (row[0] + row[100]) / 2 - row[50] for arm, row in accuracy.items()}
    assert dip[RAG] > 0.2
    assert dip[MAP_REDUCE] < dip[RAG] - 0.15


def test_the_plots_and_tables_hold_every_position(reports) -> None:
    report = reports[0]
    assert [table.title for table in report.tables][:2] == ["8 passages (top_k = 8)", "16 passages (top_k = 16)"]
    assert len(report.tables[3].rows) == len(SIZES) * len(PERCENTILES)
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

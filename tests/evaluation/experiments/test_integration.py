"""Closed book, RAG, map/reduce and the auto route on subsets of MIRAGE; what each way to read costs."""

from __future__ import annotations

import pytest
from paper_files import answers, passages, prompts, report_of

from evaluation.datasets import MIRAGE_PARTS, QUESTIONS, open_dataset
from evaluation.experiments.cost import EQUATION, ROUTER, saved
from evaluation.experiments.integration import ALL, MEAN, OF_THE_PAPER, spread
from evaluation.harness.budget import Budget, Price
from evaluation.report import Report
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from evaluation.stages import AUTO, CLOSED_BOOK, MAP_REDUCE, RAG, closed_book_prompt

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(small, library_cache) -> Report:
    return report_of("integration", "mirage", small, library_cache, model="simulated", limit=6)


def test_all_arms_read_the_passages_of_the_turn(report) -> None:
    for arms in answers(report).values():
        assert list(arms) == [CLOSED_BOOK, RAG, MAP_REDUCE, AUTO]
        shown = passages(arms[RAG])
        assert len(shown) == 16
        assert passages(arms[AUTO]) == shown
        for text in shown:
            assert text in prompts(arms[RAG])[0]
            assert sum(text in prompt for prompt in prompts(arms[MAP_REDUCE])[:4]) == 1
            assert any(text in prompt for prompt in prompts(arms[AUTO]))


def test_the_closed_book_has_the_options_and_no_passage(report) -> None:
    for arms in answers(report).values():
        (prompt,) = prompts(arms[CLOSED_BOOK])
        assert "<passage" not in prompt
        assert all(option in prompt for option in arms[CLOSED_BOOK].details["options"])
        assert passages(arms[CLOSED_BOOK]) == []


def test_a_short_answer_stands_on_a_line_of_its_own() -> None:
    asked = closed_book_prompt(Sample("s", "Who wrote it?", "short"))
    assert "ANSWER:" in asked[-1].text
    assert "CHOICE" not in asked[-1].text


def test_each_subset_has_a_column_and_the_limit_is_spread(report) -> None:
    assert report.tables[0].columns == ("right %", *MIRAGE_PARTS.values(), ALL)
    subsets = [subset for _, subset in answers(report)]
    counts = [subsets.count(part) for part in MIRAGE_PARTS.values()]
    assert sorted(counts) == [1, 1, 1, 1, 2]
    assert report.tables[1].title == "As MIRAGE's scorer counts"
    assert "PubMedQA* " in report.tables[0].note
    assert "not from the paper's own collection" in report.tables[0].note


def test_the_papers_mean_is_of_three_sets_that_count_the_same(report) -> None:
    """Supplementary Table 3, Llama2 with RAG: (43.08 + 50.40 + 73.95) / 3 = 55.81."""
    (table,) = (table for table in report.tables if table.title == "The mean of the paper's three sets")
    assert [row[0] for row in table.rows] == [CLOSED_BOOK, RAG, MAP_REDUCE, AUTO]
    for arm, mean in report.figures[MEAN].items():
        sets = [[row.score for row in report.rows if row.arm == arm and row.condition == name] for name in OF_THE_PAPER]
        assert all(sets)
        assert mean["value"] == pytest.approx(sum(sum(scores) / len(scores) for scores in sets) / 3, abs=1e-6)
    beside = next(table for table in report.tables if "Llama2" in table.title)
    assert beside.columns[-1] == f"here: {MEAN}"
    assert dict(zip(beside.columns, beside.rows[1], strict=True))["paper: mean"] == "55.81"


@pytest.mark.parametrize("limit", [1, 7, None])
def test_a_limit_takes_that_many_questions(small, limit) -> None:
    found = open_dataset("mirage", small, QUESTIONS)
    chosen = spread(found, ExperimentRun(limit=limit))
    assert len(chosen) == (limit or len(found.select("test")))
    assert set(chosen) <= set(found.select("test"))


def test_offline_there_is_no_closed_book(small, library_cache) -> None:
    report = report_of("integration", "mirage-bioasq", small, library_cache, limit=2)
    assert [row[0] for row in report.tables[0].rows] == [RAG, MAP_REDUCE, AUTO]
    assert "Closed book is left out" in report.tables[0].note
    assert report.tables[0].columns == ("right %", ALL)


def test_saved_is_a_share_of_what_map_reduce_takes() -> None:
    estimate = saved([1, 5, 1, 5], [5, 5, 5, 5], 0)
    assert estimate.value == pytest.approx(0.4)
    assert estimate.low <= 0.4 <= estimate.high
    assert saved([0, 0], [0, 0], 0).value != saved([0, 0], [0, 0], 0).value


def test_the_router_costs_what_its_route_costs(small, library_cache) -> None:
    budget = Budget(price=Price(1.0, 2.0))
    report = report_of("cost", "mirage", small, library_cache, model="simulated", limit=5, budget=budget)
    for arms in answers(report).values():
        plan, routed = arms[RAG].details["planned"], arms[ROUTER]
        chosen = RAG if plan["route"] == "plain" else MAP_REDUCE
        assert plan["costs"][ROUTER] == plan["costs"][chosen]
        assert plan["costs"][MAP_REDUCE]["calls"] == 5
        if routed.details["route"] == plan["route"]:
            assert (routed.calls, routed.tokens) == (arms[chosen].calls, arms[chosen].tokens)
        else:
            assert routed.calls > arms[RAG].calls
    assert [table.title.split(" (")[0] for table in report.tables[:2]] == ["By the cost model", "As asked"]
    assert all(row.details["route"] != "corg" for row in report.rows if row.arm == ROUTER)
    paper = next(table for table in report.tables if table.title == "Beside BriefContext, section 5.2")
    assert [row[1:3] for row in paper.rows] == [("3066.0", "183.0"), ("5496.5", "247.5")]
    measured = report.figures["measured"]
    assert measured[MAP_REDUCE]["saved_calls"]["value"] == 0
    assert measured[RAG]["usd"] == pytest.approx(
        (measured[RAG]["input_tokens"]["value"] + 2 * measured[RAG]["output_tokens"]["value"]) / 1e6
    )


def test_what_a_router_saves_is_known_offline(small, library_cache) -> None:
    report = report_of("cost", "mirage-bioasq", small, library_cache, limit=3)
    assert "measured" not in report.figures
    planned = report.figures["planned"]
    assert planned[RAG]["calls"]["value"] == 1
    assert 1 <= planned[ROUTER]["calls"]["value"] <= planned[MAP_REDUCE]["calls"]["value"] == 5
    assert planned[RAG]["saved_input_tokens"]["value"] > 0


def test_beside_the_papers_tokens_stand_those_of_eight_passages(small, library_cache) -> None:
    """BriefContext, section 5.2: 8 records a question, in 2 partitions of 4, so 3 calls."""
    report = report_of("cost", "mirage-bioasq", small, library_cache, limit=3)
    few, whole = report.figures["of_few"], report.figures["planned"]
    assert {arm: row["calls"]["value"] for arm, row in few.items()} == {RAG: 1, MAP_REDUCE: 3, EQUATION: 3}
    for arm in (RAG, MAP_REDUCE, EQUATION):
        assert few[arm]["input_tokens"]["value"] < whole[arm]["input_tokens"]["value"]
    paper = next(table for table in report.tables if table.title == "Beside BriefContext, section 5.2")
    read = {row[0]: row[3].partition(" ")[0] for row in paper.rows}
    assert read == {arm: f"{few[arm]['input_tokens']['value']:.3f}" for arm in (RAG, MAP_REDUCE)}
    assert "8 passages" in paper.note

"""The corg-ablation and corg-cost experiments: what a variant leaves out, what a call costs, and whole runs."""

from __future__ import annotations

import pytest
from broken_bow import QUESTION, documents, relation_calls, script
from paper_files import answers, passages

from evaluation.corg_systems import CORG, SYSTEMS
from evaluation.experiments import corg, run
from evaluation.experiments.corg import SPENT, variants
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

PLURAL = "How many people live in the Broken Bows?"
FACTS = ["A1", "A1", "A2", "B5", "-5"]
"""Two contexts that say the same, one against them, one of another town, and one that says not which it is about."""


@pytest.fixture
def bow(as_set) -> DataSet:
    given = tuple(Context(d.id, d.title, d.text, role="gold") for d in documents(FACTS))
    return as_set(Sample("bow", QUESTION, "list", answers=(("1,001",), ("1,005",)), given=given))


def grouped(row):
    """The prompts of an answer that answer a group."""
    asked = ["\n".join(message["content"] for message in call["messages"]) for call in row.details["prompts"]]
    return [prompt for prompt in asked if "Context2\n" not in prompt]


def test_each_part_that_is_taken_away_shows_in_the_prompts(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        (arms,) = answers(corg.ablation(bow, scripted(server))).values()

    def contexts(arm):
        return sorted(prompt.count("<passage n=") for prompt in grouped(arms[arm]))

    assert contexts(CORG) == [1, 2]
    assert contexts("duplicates kept") == [2, 2]
    assert contexts("undescribed kept") == [2, 2]
    assert contexts("no grouping") == [3]
    assert any(PLURAL in prompt for prompt in grouped(arms[CORG]))
    assert not any(PLURAL in prompt for prompt in grouped(arms["no reformulation"]))


def test_without_all_is_one_prompt_with_every_context_in_the_singular(bow, scripted):
    """Row 5 of the paper's Table 11: none of reranker and aggregator is left."""
    with ScriptedServer(script(FACTS, notes=True)) as server:
        (arms,) = answers(corg.ablation(bow, scripted(server))).values()
    (prompt,) = grouped(arms["without all"])
    assert prompt.count("<passage n=") == len(FACTS)
    assert PLURAL not in prompt
    assert QUESTION in prompt


def test_costs_are_told_with_the_relating_calls_and_without_them(bow, scripted):
    """Table 12 counts the answers alone; GPT-4's calls come on top."""
    with ScriptedServer(script(FACTS, notes=True)) as server:
        report = corg.cost(bow, scripted(server))
    (arms,) = answers(report).values()
    means = {arm: {name: cell["value"] for name, cell in row.items()} for arm, row in report.figures["means"].items()}
    relating = [call for call in arms[CORG].details["prompts"] if "Context2\n" in call["messages"][-1]["content"]]
    assert relating
    own = means[CORG]
    assert own["calls"] - own["calls, without relating"] == len(relating)
    assert own["tokens read"] - own["read, without relating"] == sum(call["input_tokens"] for call in relating)
    assert own["tokens written"] - own["written, without relating"] == sum(c["output_tokens"] for c in relating)
    assert means["Base"]["calls"] == means["Base"]["calls, without relating"] == 1
    assert {name: part["value"] for name, part in report.figures["groups"].items()} == {
        "1 group": 0, "2 groups": 1, "3 groups": 0, "4 groups or more": 0
    }  # fmt: skip
    paper = next(table for table in report.tables if table.title == "Beside COrg, Table 12")
    assert next(row[1:4] for row in paper.rows if row[0] == CORG) == ("752.18", "35.02", "22.0")


def test_variants_that_relate_alike_pay_once(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        (arms,) = answers(corg.ablation(bow, scripted(server))).values()
        asked = relation_calls(server)
    counted = sum(row.calls - len(grouped(row)) for row in arms.values())
    assert asked < counted


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_the_ablation_runs_on_the_published_file(data_dir, model):
    (report,) = run("corg-ablation", data_dir, ["ramdocs"], ExperimentRun(limit=2, model=model))
    assert [row[0] for row in report.tables[0].rows] == [*variants(0)]
    assert len(report.tables[1].rows) == len(variants(0)) - 1


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_the_costs_run_on_the_published_file(data_dir, model):
    (report,) = run("corg-cost", data_dir, ["ramdocs"], ExperimentRun(limit=1, model=model))
    assert [row[0] for row in report.tables[0].rows] == list(SYSTEMS)
    spent = report.figures["means"]
    contexts = len(passages(report.rows[0]))
    assert spent["Separate"]["calls"]["value"] == contexts
    assert spent["Base"]["calls"]["value"] == 1
    assert all(spent[name][unit]["value"] > 0 for name in SYSTEMS for unit in SPENT.values() if unit != "seconds")
    assert [trace.name for trace in report.plots[0].traces] == list(SYSTEMS)


def test_tokens_are_those_that_the_server_counted(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        report = corg.cost(bow, scripted(server))
    (arms,) = answers(report).values()
    spent, asked = report.figures["means"][CORG], arms[CORG].details["prompts"]
    assert spent["tokens read"]["value"] == sum(call["input_tokens"] for call in asked)
    assert not arms[CORG].details["estimated"]
    assert spent["seconds"]["value"] > 0

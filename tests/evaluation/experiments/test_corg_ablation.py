"""The corg-ablation and corg-cost experiments: what a variant leaves out, what a call costs, and whole runs."""

from __future__ import annotations

import pytest
from broken_bow import QUESTION, documents, relation_calls, script
from paper_files import answers, passages
from scripted_server import ScriptedServer

from preflight_rag.evaluation.corg_systems import CORG, SYSTEMS
from preflight_rag.evaluation.experiments import corg, run
from preflight_rag.evaluation.experiments.corg import SPENT, variants
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, DataSet, Sample

PLURAL = "How many people live in each Broken Bow?"
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


def test_variants_that_relate_alike_pay_once(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        (arms,) = answers(corg.ablation(bow, scripted(server))).values()
        asked = relation_calls(server)
    counted = sum(row.calls - len(grouped(row)) for row in arms.values())
    assert asked < counted


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_the_ablation_runs_on_the_published_file(data_dir, model):
    (report,) = run("corg-ablation", data_dir, ["ramdocs"], Run(limit=2, model=model))
    assert [row[0] for row in report.tables[0].rows] == [*variants(0)]
    assert len(report.tables[1].rows) == len(variants(0)) - 1


@pytest.mark.parametrize("model", ["offline", "simulated"])
def test_the_costs_run_on_the_published_file(data_dir, model):
    (report,) = run("corg-cost", data_dir, ["ramdocs"], Run(limit=1, model=model))
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

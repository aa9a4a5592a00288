"""The corg-ablation and corg-cost experiments: what a variant leaves out, what a call costs, and whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_bow import QUESTION, documents, relation_calls, script
from scripted_server import ScriptedServer

from preflight_rag.evaluation.experiments import run
from preflight_rag.evaluation.papers import corg_ablation, corg_cost
from preflight_rag.evaluation.papers.corg_ablation import variants
from preflight_rag.evaluation.papers.corg_arms import CORG, SYSTEMS
from preflight_rag.evaluation.papers.corg_cost import SPENT
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, DataSet, Sample
from preflight_rag.prompts.answer_group import PLURAL

FACTS = ["A1", "A1", "A2", "B5", "-5"]
"""Two contexts that say the same, one against them, one of another town, and one that says not which it is about."""


@pytest.fixture
def bow(tmp_path: Path) -> DataSet:
    given = tuple(Context(d.id, d.title, d.text, role="gold") for d in documents(FACTS))
    (tmp_path / "made.jsonl").write_text("{}\n", encoding="utf-8")
    asked = Sample("bow", QUESTION, "list", answers=(("1,001",), ("1,005",)), given=given)
    return DataSet("made", "Made", "here", "none", (tmp_path / "made.jsonl",), (asked,))


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """Runs an experiment over a server that knows the facts."""

    def ask(experiment, found, server):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        return experiment.run(found, Run(part="all", model="openai:scripted", reply_cache=tmp_path / "replies.db"))

    return ask


def grouped(row, arm):
    """The prompts of an arm that answer a group."""
    prompts = ["\n".join(message["content"] for message in call["messages"]) for call in row["arms"][arm]["calls"]]
    return [prompt for prompt in prompts if "Context2\n" not in prompt]


def test_each_part_that_is_taken_away_shows_in_the_prompts(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        (row,) = scripted(corg_ablation, bow, server).rows

    def contexts(arm):
        return sorted(prompt.count("<passage n=") for prompt in grouped(row, arm))

    assert contexts(CORG) == [1, 2]
    assert contexts("duplicates kept") == [2, 2]
    assert contexts("undescribed kept") == [2, 2]
    assert contexts("no grouping") == [3]
    assert any(PLURAL in prompt for prompt in grouped(row, CORG))
    assert not any(PLURAL in prompt for prompt in grouped(row, "no reformulation"))


def test_variants_that_relate_alike_pay_once(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        report = scripted(corg_ablation, bow, server)
        asked = relation_calls(server)
    counted = sum(
        len(arm["calls"]) - len(grouped(report.rows[0], name)) for name, arm in report.rows[0]["arms"].items()
    )
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
    spent = report.figures["spent"]
    contexts = sum(len(row["passages"]) for row in report.rows) / len(report.rows)
    assert spent["Separate"]["calls"]["value"] == pytest.approx(contexts)
    assert spent["Base"]["calls"]["value"] == 1
    assert all(spent[name][unit]["value"] > 0 for name in SYSTEMS for unit in SPENT if unit != "seconds")
    assert [trace.name for trace in report.plots[0].traces] == list(SYSTEMS)


def test_tokens_are_those_that_the_server_counted(bow, scripted):
    with ScriptedServer(script(FACTS, notes=True)) as server:
        report = scripted(corg_cost, bow, server)
    (row,) = report.rows
    calls = row["arms"][CORG]["calls"]
    assert report.figures["spent"][CORG]["input_tokens"]["value"] == sum(call["input_tokens"] for call in calls)
    assert not row["arms"][CORG]["usage"]["estimated"]
    assert report.figures["spent"][CORG]["seconds"]["value"] > 0

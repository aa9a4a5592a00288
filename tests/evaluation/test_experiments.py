"""Both experiments over a small collection, through the library and the embedder that people use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.datasets import open_dataset
from evaluation.experiments import EXPERIMENTS, preflight, run
from evaluation.experiments.preflight import PRODUCT, ROUTES, branch
from evaluation.report import Report
from evaluation.runs import ExperimentRun
from evaluation.searching import collection_library, library_folder
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import LibraryError, UnreadableDocument, UsageError
from preflight_rag.state.values import Document, RouteDecision

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(library_cache: Path) -> ExperimentRun:
    return ExperimentRun(part="all", library_cache=library_cache)


def test_retrieval_finds_every_answer_first(beir_data: Path, settings: ExperimentRun) -> None:
    (report,) = run("retrieval", beir_data, ["small", "small"], settings)
    assert report.figures["quality"]["means"]["fused"]["MRR"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    ranks = {row.sample: row.details["gold_ranks"] for row in report.rows if row.arm == "fused" and row.details}
    assert ranks == {q: [1] for q in ("q1", "q2", "q3", "q4")}
    assert report.inputs["library"]["documents"] == 5


def outcomes(report: Report) -> dict[str, dict[str, Any]]:
    """What the rule said of the product's passages, by question."""
    return {row.sample: dict(row.details) for row in report.rows if row.condition == PRODUCT}


def test_preflight_counts_every_question_once(beir_data: Path, settings: ExperimentRun) -> None:
    (report,) = run("preflight", beir_data, ["small"], settings)
    product = report.figures["product"]
    assert product["tp"] + product["fp"] + product["fn"] + product["tn"] == len(outcomes(report)) == 4
    assert not any(told["issue"] for told in outcomes(report).values())
    assert all(told["flagged"] == (told["iou"] <= 0.2) for told in outcomes(report).values())
    assert sum(route["questions"] for route in report.figures["routes"].values()) == 4
    assert report.figures["routes"][ROUTES["short"]]["questions"] == 4


def test_the_gold_passage_at_the_fourth_dense_place_is_an_issue(beir_data: Path, settings: ExperimentRun) -> None:
    collection = open_dataset("small", beir_data)
    (before,) = run("preflight", beir_data, ["small"], settings)
    far = replace(collection, samples=collection.samples[:1], relevance={"q1": {"boiling": 1}})
    after = preflight.run(far, settings)
    (told,) = outcomes(after).values()
    assert told["gold"][0] > 3
    assert told["issue"]
    assert after.figures["levels"][f"{told['iou']:.2g}"]["gold_further_down"]["value"] == 1.0
    assert outcomes(before)["q1"]["issue"] is False


def test_what_the_rule_for_short_contexts_keeps_from_map_reduce_is_counted(
    beir_data: Path, settings: ExperimentRun
) -> None:
    (report,) = run("preflight", beir_data, ["small"], settings)
    told = outcomes(report).values()
    # Five short documents, so every question is short, and nothing but the rankings' agreement is left to decide.
    assert [o["branch"] for o in told] == ["short"] * 4
    assert [o["sent_if_longer"] for o in told] == [o["iou"] <= 0.2 for o in told]
    assert report.figures["short"]["questions"] == 4
    assert report.figures["short"]["else_to_parts"] == sum(o["iou"] <= 0.2 for o in told)
    assert report.figures["at_any_length"]["tp"] + report.figures["at_any_length"]["fp"] == sum(
        o["sent_if_longer"] for o in told
    )


@pytest.mark.parametrize("experiment", [name for name, entry in EXPERIMENTS.items() if entry.datasets == ".datasets"])
def test_a_second_run_gives_the_same_numbers(beir_data: Path, settings: ExperimentRun, experiment: str) -> None:
    assert run(experiment, beir_data, ["small"], settings) == run(experiment, beir_data, ["small"], settings)


def test_the_library_is_built_once(beir_data: Path, settings: ExperimentRun) -> None:
    collection = open_dataset("small", beir_data)
    with collection_library(collection, settings) as library:
        first = library.stats()["generation"]
    with collection_library(collection, settings) as library:
        assert library.stats()["generation"] == first
    folder = library_folder(collection, "someone/some model abc", settings.library_cache)
    assert folder.name.startswith("small-")
    assert folder.name.endswith("-some-model-abc")


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ([("a", "One."), ("a", "Two.")], UnreadableDocument, "'a' stands twice"),
        ([("a", "One."), ("b", " ")], LibraryError, "1 documents of small could not be taken in"),
    ],
)
def test_a_corpus_that_is_not_whole_gives_no_numbers(
    beir_data: Path, tmp_path: Path, documents: list[tuple[str, str]], error: type[Exception], message: str
) -> None:
    made = [Document(id=name, text=text, source=name) for name, text in documents]
    collection = replace(open_dataset("small", beir_data), corpus=lambda: iter(made))
    with pytest.raises(error, match=message), collection_library(collection, ExperimentRun(library_cache=tmp_path)):
        pass


def test_an_unknown_experiment_says_where_the_known_ones_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'magic' is unknown\. `preflight eval list` names them all"):
        run("magic", tmp_path, ["small"], ExperimentRun())


@pytest.mark.parametrize(
    ("name", "passages", "tokens", "expected"),
    [
        ("abstain", 0, 0, "abstain"),
        ("plain", 3, 5000, "few"),
        ("plain", 16, 1023, "short"),
        ("plain", 16, 1024, "agree"),
        ("map_reduce", 16, 1024, "disagree"),
    ],
)
def test_the_rule_that_decided_is_named(name: str, passages: int, tokens: int, expected: str) -> None:
    signals = {"passages": float(passages), "context_tokens": float(tokens)}
    decision = RouteDecision.model_validate(
        {"name": name, "reason": "", "iou": 0.5, "top_n": 3, "threshold": 0.2, "signals": signals}
    )
    assert branch(decision, Settings()) == expected

"""`preflight eval` with a model, and `preflight eval show`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner, Result

from evaluation import experiments
from evaluation.command import PAPERS
from evaluation.compare import compare
from evaluation.experiments import Experiment
from evaluation.harness.arms import Arm, ArmAnswer, run_arms
from evaluation.harness.asking import open_asking
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Sample
from preflight_rag.cli import app
from preflight_rag.prompts import answer_plain
from preflight_rag.state.reading import Source
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

PASSAGE = Source(1, "doc-1", "Numbers", "Even numbers are divisible by 2.")


def parity(collection: list[Sample], run: ExperimentRun) -> Report:
    """A whole experiment in a few lines: one arm, one passage."""
    with open_asking(run, collection) as asking:

        async def answer(question, sources):
            prompt = answer_plain.render(question=question.question, sources=sources, options=question.options)
            return ArmAnswer((await asking.prompts.reply(prompt))[0], route="plain")

        rows = asyncio.run(run_arms([Arm("plain", answer)], collection, lambda _: [PASSAGE], asking))
    found = compare(rows, seed=run.seed)
    inputs = {"model": asking.name}
    return Report("parity", "Numbers", "Ten questions.", found.tables(), tuple(rows), found.figures, inputs)


@pytest.fixture(autouse=True)
def experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers `parity` over two sets of ten questions."""
    module = ModuleType("evaluation.experiments.parity")
    module.run = parity
    module.ADAPTERS = {"first": 0, "second": 1}
    options = ("yes", "no")
    module.open_dataset = lambda name, data: [
        Sample(f"{name}{n}", f"{name}: is {n} even?", "yes/no", options, options[n % 2]) for n in range(10)
    ]
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    entry = Experiment(".parity", "whether numbers are even", ".parity", ("first",), asks=True)
    monkeypatch.setitem(experiments.EXPERIMENTS, "parity", entry)


def invoke(*arguments: object, url: str = "") -> Result:
    environment = {"PREFLIGHT_DATA": "", "COLUMNS": "300", "OPENAI_BASE_URL": url or "http://127.0.0.1:9/v1"}
    return CliRunner().invoke(app, ["eval", *map(str, arguments)], env=environment)


def run_parity(server: ScriptedServer, folder: Path, *options: object) -> Result:
    model = ("--model", "openai:scripted", "--reply-cache", folder / "replies.db", "--out", folder / "out")
    return invoke("parity", *model, *options, url=server.url)


def manifest(folder: Path) -> dict:
    return json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))


def test_a_run_says_what_it_asked_and_what_it_cost(tmp_path: Path) -> None:
    with ScriptedServer(default="CHOICE: A") as server:
        result = run_parity(server, tmp_path, "--price", "1/2")
        assert result.exit_code == 0, result.output
        assert server.count() == 10
    assert "model: openai:scripted" in result.stderr
    assert "10 calls" in result.stderr
    assert "USD 0.00" in result.stderr
    told = manifest(tmp_path)
    assert told["model"] == "openai:scripted"
    assert (told["replies"]["asked"], told["replies"]["cached"]) == (10, 0)
    assert told["replies"]["cost_usd"] > 0
    assert len(told["prompts"]["answer_plain"]) == 64


def test_a_budget_that_is_used_up_is_one_line_and_more_goes_on(tmp_path: Path) -> None:
    with ScriptedServer(default="CHOICE: A") as server:
        result = run_parity(server, tmp_path, "--max-calls", 4, "--concurrency", 2)
        assert result.exit_code == 1
        line = result.stderr.strip().splitlines()[-1]
        assert line.startswith("preflight: 4 of 10 cases answered; the budget is used up: 4 calls")
        assert "6 questions that not every arm has answered" in result.stdout
        assert len((tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()) == 10
        assert run_parity(server, tmp_path).exit_code == 0
        assert server.count() == 10
    assert manifest(tmp_path)["replies"]["cached"] == 4


def test_the_first_data_set_is_told_when_the_budget_ends_before_the_second(tmp_path: Path) -> None:
    with ScriptedServer(default="CHOICE: A") as server:
        result = run_parity(server, tmp_path, "--dataset", "first", "--dataset", "second", "--max-calls", 10)
    assert result.exit_code == 1
    assert "10 of 20 cases answered" in result.stderr
    assert len(manifest(tmp_path)["reports"]) == 1


def test_a_simulated_model_is_named_so(tmp_path: Path) -> None:
    result = invoke("parity", "--model", "simulated", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "model: simulated" in result.stderr
    assert manifest(tmp_path)["reports"][0]["model"].startswith("simulated")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("party",), "the experiment 'party' is unknown. Did you mean parity"),
        (("magic",), "the experiment 'magic' is unknown. `preflight eval list` names them all"),
        (("parity", "--max-cost", "1"), "--max-cost 1.0 needs the model's price. Add --price IN/OUT"),
        (("parity", "--price", "cheap"), "the price 'cheap' cannot be read"),
        (("parity", "--model", "magic"), "model 'magic' is unknown"),
        (("parity", "--model", "offline"), "this needs a language model"),
        (("parity", "--model", "openai:x"), "cannot be reached"),
        (("show", "nowhere", "q1"), "there is no results.jsonl in 'nowhere'"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code in (1, 2)
    last = result.stderr.strip().splitlines()[-1]
    assert message in last
    assert last.startswith("preflight: ")
    assert "Traceback" not in result.stderr


def test_a_case_is_shown(tmp_path: Path) -> None:
    with ScriptedServer([("first: is 3 even?", "They are [1].\nCHOICE: A")], default="CHOICE: B") as server:
        assert run_parity(server, tmp_path).exit_code == 0
    result = invoke("show", tmp_path / "out", "first3")
    assert result.exit_code == 0, result.output
    for part in (
        "parity: Numbers, case first3", "Question (yes/no): first: is 3 even?", "B. no   <- right", "[1] doc-1 Numbers",
        "=== plain: score 0.0: chose 'yes', right is 'no'", "route: plain", "system:", "human:", "CHOICE: A",
    ):  # fmt: skip
        assert part in result.stdout
    (row,) = json.loads(invoke("show", tmp_path / "out", "first3", "--json", "--arm", "plain").stdout)
    assert row["details"]["prompts"][0]["messages"][0]["role"] == "system"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("first99",), "there is no case 'first99'"),
        (("first3", "--arm", "none"), "the case has no arm 'none'. Choose plain"),
        (("first3", "--dataset", "other"), "is not in the data set 'other'"),
    ],
)
def test_a_case_that_is_not_there_is_a_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    with ScriptedServer(default="CHOICE: B") as server:
        run_parity(server, tmp_path, "--limit", 1)
    result = invoke("show", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_rows_of_other_experiments_are_shown_as_they_are(tmp_path: Path) -> None:
    row = ScoreRow("q1", arm="fused", score=1.0, measure="MRR", details={"question": "Why?", "gold_ranks": [1]})
    line = {"experiment": "retrieval", "dataset": "small", **row.to_json()}
    (tmp_path / "results.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    shown = invoke("show", tmp_path, "q1").stdout
    assert all(
        part in shown for part in ("retrieval: small, case q1", "Why?", "fused, MRR: score 1.0", "gold_ranks: [1]")
    )


def test_a_record_of_a_data_set_that_was_made_is_shown(tmp_path: Path) -> None:
    """`corg-build` writes a corpus in RAMDocs' form, whose lines are no rows."""
    line = {"experiment": "corg-build", "dataset": "made", "id": "q1", "question": "Why?", "gold_answers": ["so"]}
    (tmp_path / "results.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    shown = invoke("show", tmp_path, "q1").stdout
    assert all(part in shown for part in ("corg-build: made, case q1", "Why?", 'gold_answers: ["so"]'))


def test_every_experiment_and_data_set_is_listed_once() -> None:
    listed = invoke("list")
    assert listed.exit_code == 0
    assert invoke().stdout == listed.stdout
    lines = [line for line in listed.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    heads = [line.split()[0].rstrip("*") for line in lines]
    assert all(heads.count(name) == 1 for name in experiments.EXPERIMENTS)
    for names in experiments.dataset_names().values():
        assert ", ".join(names) in " ".join(listed.stdout.split())
    told = json.loads(invoke("list", "--json").stdout)
    assert {row["name"]: row["asks_model"] for row in told} == {n: e.asks for n, e in experiments.EXPERIMENTS.items()}
    assert {row["paper"] for row in told} == set(PAPERS)


def test_the_help_is_short_and_names_the_other_commands() -> None:
    told = invoke("--help").stdout
    assert len(told.splitlines()) < 70
    assert all(name in told for name in ("--max-cost", "--concurrency", "--reply-cache", "show", "list"))

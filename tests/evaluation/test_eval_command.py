"""`preflight eval` on the command line: tables, files, and one line for each mistake."""

from __future__ import annotations

import json
from io import StringIO
from math import nan
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import evaluation.command  # noqa: F401  # registers the command
from evaluation.intervals import Estimate
from evaluation.report import Report, Table, drawn, number
from preflight_rag.cli.main import app


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)], env={"PREFLIGHT_DATA": "", "COLUMNS": "200"})


@pytest.mark.parametrize("experiment", ["retrieval", "preflight"])
def test_an_experiment_writes_its_three_files(
    beir_data: Path, library_cache: Path, tmp_path: Path, experiment: str
) -> None:
    options = ("--dataset", "small", "--part", "all", "--limit", "3", "--library-cache", library_cache)
    result = invoke(experiment, "--data", beir_data, *options, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    table = (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert table.startswith(f"## {experiment}: small")
    assert table in result.stdout
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text("utf-8").splitlines()]
    assert {row["dataset"] for row in rows} == {"small"}
    assert len({row.get("sample") or row["id"] for row in rows}) == 3
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["part"], manifest["limit"], manifest["seed"]) == ("all", 3, 0)
    assert len(manifest["reports"][0]["sha256"]["corpus.jsonl"]) == 64


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("magic",), 2, "the experiment 'magic' is unknown"),
        (("retrieval",), 2, "--data DIR or PREFLIGHT_DATA"),
        (("retrieval", "--data", "nowhere"), 2, "github.com/Teddy-XiongGZ/MIRAGE"),
        (("retrieval", "--data", "nowhere", "--dataset", "x"), 2, "the data set 'x' is unknown"),
        (("preflight", "--data", "nowhere", "--dataset", "scifact"), 2, "github.com/allenai/scifact"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_damaged_corpus_is_one_line(beir_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    for name in ("queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_bytes((beir_data / "small" / name).read_bytes())
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n{"_id": "b"', encoding="utf-8")
    result = invoke("retrieval", "--data", tmp_path, "--dataset", "set", "--part", "all", "--library-cache", tmp_path)
    assert result.exit_code == 1
    assert "corpus.jsonl line 2 is not JSON" in result.stderr


def test_an_output_folder_that_cannot_be_made_is_one_line(beir_data: Path, library_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    options = ("--dataset", "small", "--part", "all", "--library-cache", library_cache)
    result = invoke("retrieval", "--data", beir_data, *options, "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize(
    ("estimate", "options", "expected"),
    [
        (Estimate(0.8421, 0.82, 0.863), {}, "0.842 [0.820, 0.863]"),
        (Estimate(0.8421, 0.82, 0.863), {"percent": True}, "84.2 [82.0, 86.3]"),
        (Estimate(-0.01, -0.02, 0.0), {"signed": True}, "-0.010 [-0.020, +0.000]"),
        (Estimate(0.5, nan, nan), {}, "0.500"),
        (Estimate(nan, nan, nan), {"percent": True}, "–"),
    ],
)
def test_cells(estimate: Estimate, options: dict[str, bool], expected: str) -> None:
    assert number(estimate, **options) == expected


def test_a_terminal_gets_drawn_tables() -> None:
    table = Table("Quality", ("ranking", "MRR"), (("dense", "0.5 [0.4, 0.6]"),), "A note.")
    console = Console(width=100, file=StringIO())
    for item in drawn([Report("retrieval", "[Small]", "4 questions.", (table,), (), {})]):
        console.print(item)
    text = console.file.getvalue()
    assert all(part in text for part in ("retrieval: [Small]", "Quality", "0.5 [0.4, 0.6]", "A note."))


@pytest.mark.parametrize(
    ("experiment", "option"),
    [
        ("retrieval", ("--order", "dense")),
        ("cost", ("--repeats", "2")),
        ("positions", ("--fill",)),
        ("pairs", ("--document-embedder", "default")),
        ("sources", ("--passage-embedder", "default")),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(experiment: str, option: tuple[str, ...]) -> None:
    result = invoke(experiment, *option)
    assert result.exit_code != 0
    assert f"{option[0]} changes nothing in {experiment}" in result.output

"""Every experiment through the command, on the published files: without a model, and through a scripted server.

Collections are searched in part (`--documents`) and vectors are kept between experiments, so that the whole suite
embeds a few thousand passages.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest
import scripted_model
from typer.testing import CliRunner, Result

from evaluation.experiments import EXPERIMENTS
from preflight_rag.cli import app
from preflight_rag.models import opening
from preflight_rag.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.slow

LIMIT = 2
"""Questions of each experiment's first data set that are asked offline."""
ASKED = 2
"""Questions of each of its usual sets that a scripted server is asked."""
LIMITS = {"keyless-abstention": 6, "off-topic": 2, "splitters": 1, "trust": 1}
"""Of one that is about five data sets, and of those whose questions are about documents of a hundred passages."""
DOCUMENTS = 60
NEED_A_MODEL = {"corg-build"}
"""Those that have nothing to do without one."""
RELATING = {"corg", "corg-ablation", "corg-cost", "corg-stats", "routes"}
"""Those in which a model compares contexts."""
ANSWERING = {
    "corg",
    "corg-ablation",
    "corg-build",
    "corg-cost",
    "corg-factors",
    "conflicts",
    "context-length",
    "integration",
    "positions",
    "routes",
}
"""Those in which it answers from passages."""
ASKING = [name for name, entry in EXPERIMENTS.items() if entry.asks]
OFFLINE = [name for name in EXPERIMENTS if name not in NEED_A_MODEL]

Invoke = Callable[..., Result]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where libraries, vectors and replies are kept for all experiments."""
    return tmp_path_factory.mktemp("all-experiments")


@pytest.fixture(scope="module", autouse=True)
def one_reader() -> Iterator[None]:
    """The small reader is loaded once, and what it has read for one experiment serves the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "open_extractive_reader", lru_cache(opening.open_extractive_reader))
        yield


@pytest.fixture
def invoke(data_dir: Path, kept: Path, tmp_path: Path) -> Invoke:
    """Runs an experiment and writes its files to `tmp_path / "out"`."""

    def run(name: str, limit: int, *options: object, url: str = "http://127.0.0.1:9/v1") -> Result:
        told = (
            "--data",
            data_dir,
            "--limit",
            limit,
            "--documents",
            DOCUMENTS,
            "--out",
            tmp_path / "out",
        )
        places = ("--library-cache", kept, "--reply-cache", kept / "replies.db")
        given = map(str, (name, *told, *places, *options))
        return CliRunner().invoke(app, ["eval", *given], env={"OPENAI_BASE_URL": url, "COLUMNS": "300"})

    return run


def check(result: Result, name: str, folder: Path, sets: int) -> list[dict]:
    """The rows of a run over so many data sets, whose four files hold what they should."""
    assert result.exit_code == 0, result.output
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    reports = manifest["reports"]
    assert [report["experiment"] for report in reports] == [name] * sets
    assert all(report["figures"] for report in reports)
    assert all(manifest[part] for part in ("command", "versions", "prompts", "split"))
    tables = (folder / "table.md").read_text(encoding="utf-8")
    assert tables.count(f"## {name}: ") == sets
    for told in tables.split(f"## {name}: ")[1:]:
        cells = [line for line in told.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
        assert sum(bool(re.search(r"\| [^|]*\d", line)) for line in cells) > 1, told
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["experiment"] for row in rows} == {name}
    assert {row["dataset"] for row in rows} == {report["dataset"] for report in reports}
    assert all(row.get("sample") or row["id"] for row in rows)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<table") >= sets
    assert not re.search(r"""(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//""", page)
    return rows


def questions_of(rows: list[dict]) -> set[str]:
    """What was asked: a row says its question once for all measures of its sample, or is named after it."""
    samples = [row.get("sample") or row["id"] for row in rows]
    questions = {
        sample: row["details"]["question"]
        for sample, row in zip(samples, rows, strict=True)
        if "question" in row.get("details", {})
    }
    return {questions.get(sample, sample) for sample in samples}


@pytest.mark.parametrize("name", OFFLINE)
def test_it_runs_offline(invoke: Invoke, name: str, tmp_path: Path) -> None:
    first = EXPERIMENTS[name].usual[0]
    limit = LIMITS.get(name, LIMIT)
    rows = check(invoke(name, limit, "--model", "offline", "--dataset", first), name, tmp_path / "out", 1)
    assert 1 <= len(questions_of(rows)) <= limit


@pytest.mark.parametrize("name", ASKING)
def test_it_runs_with_a_model(invoke: Invoke, name: str, tmp_path: Path) -> None:
    """Every relation and every answer that a model gives is read by the product's parsers; they are counted."""
    replies: Counter[str] = Counter()
    unread: list[str] = []

    def script(body: dict) -> str:
        said = scripted_model.reply(body)
        kind, parsed = scripted_model.read(body, said)
        replies[kind] += 1
        unread.extend([] if parsed else [f"{kind}: {said}"])
        return said

    with ScriptedServer(script) as server:
        result, sets = invoke(name, ASKED, "--model", "openai:scripted", url=server.url), len(EXPERIMENTS[name].usual)
        rows = check(result, name, tmp_path / "out", sets)
        asked = server.count()
        assert unread == []
        assert replies["relation"] > 0 or name not in RELATING
        assert replies["answer"] > 0 or name not in ANSWERING
        assert sum(replies.values()) == asked
        first = (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
        assert asked
        assert not any(row.get("error") for row in rows)
        assert invoke(name, ASKED, "--model", "openai:scripted", url=server.url).exit_code == 0
        assert server.count() == asked
    told = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["replies"]
    assert told["asked"] == 0
    assert told["cached"] >= asked
    assert (tmp_path / "out" / "table.md").read_text(encoding="utf-8") == first


@pytest.mark.parametrize("name", sorted(NEED_A_MODEL))
def test_what_needs_a_model_says_so(invoke: Invoke, name: str) -> None:
    result = invoke(name, LIMIT, "--model", "offline")
    assert result.exit_code == 2
    assert "needs a language model" in result.stderr.strip().splitlines()[-1]


def test_a_part_of_a_collection_is_told(invoke: Invoke, tmp_path: Path) -> None:
    """The documents that answer are searched, whatever the part."""
    assert invoke("retrieval", LIMIT).exit_code == 0
    table = (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert f"Searched are {DOCUMENTS} documents: those that answer and a sample of the others" in table
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text("utf-8").splitlines()]
    found = [rank for row in rows if row["arm"] == "fused" for rank in row.get("details", {}).get("gold_ranks", [])]
    assert sum(rank is not None for rank in found) > 0.9 * len(found)

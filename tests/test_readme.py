"""README's examples run as they stand."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from preflight_rag.cli import app

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def here(own_folder, tmp_path, monkeypatch):
    """A folder with a library and the files that README's commands name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "dose.txt").write_text("Children were given a dose of 5 mg a day.", encoding="utf-8")
    (tmp_path / "notes.md").write_text("# Notes\n\nAdults were given a dose of 20 mg a day.", encoding="utf-8")
    with gzip.open(tmp_path / "records.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "1", "title": "Trial", "text": "The trial had two arms."}))
    return own_folder.rename(tmp_path / "my-library")


def test_documents_in_three_lines(here):
    lines = [line for line in COMMANDS if line.startswith("preflight ") and "--model" not in line][:3]
    assert [line.split()[1] for line in lines] == ["ingest", "ask", "chat"]
    for line in lines:
        result = CliRunner().invoke(app, shlex.split(line)[1:], input="\n")
        assert result.exit_code == 0, result.output
    answer = CliRunner().invoke(app, [*shlex.split(lines[1])[1:], "--json"])
    assert "5 mg" in json.loads(answer.stdout)["answer"]


@pytest.mark.parametrize("code", PYTHON)
def test_python(here, code, capsys):
    scope: dict[str, object] = {}
    try:
        exec(code.replace("Which dose was given to children?", "How hot is the planet Venus?"), scope)
    finally:
        if opened := scope.get("app"):
            opened.close()


def test_every_make_target_that_is_named_exists():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)$", "\n".join(COMMANDS), re.MULTILINE):
        assert f"\n{target}:" in makefile

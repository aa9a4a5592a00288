"""A door whose extra is not installed says so in one line, and the others work."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from preflight_rag.state.errors import UsageError
from preflight_rag.state.extras import EXTRAS, require_extra

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULE = {
    "ir-measures": "ir_measures",
    "langgraph-checkpoint-postgres": "langgraph.checkpoint.postgres",
    "python-oxmsg": "oxmsg",
    "python-pptx": "pptx",
    "scikit-learn": "sklearn",
}
"""Modules by distribution, where the name differs in more than a hyphen."""
WITHOUT = """
import sys
for name in {modules}:
    sys.modules[name] = None
from preflight_rag.cli import app
app({arguments})
"""
"""As where the packages are not installed: an import of theirs fails."""


def names(requirements):
    return [re.split(r"[\[<>=!~ ]", each)[0] for each in requirements]


def run_without(modules, *arguments, cwd):
    code = WITHOUT.format(modules=list(modules), arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, env=os.environ)


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_names_are_those_of_pyproject(extra):
    declared = PYPROJECT["optional-dependencies"][extra]
    assert {MODULE.get(name, name.replace("-", "_")) for name in names(declared)} == set(EXTRAS[extra])


def test_no_door_needs_what_only_another_doors_extra_brings():
    core = set(names(PYPROJECT["dependencies"]))
    for extra in ("mcp", "serve"):
        assert not core & set(names(PYPROJECT["optional-dependencies"][extra]))
    assert PYPROJECT["optional-dependencies"]["all"]


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("serve", ["serve", "--library", "none"]),
        ("mcp", ["mcp", "--library", "none"]),
        ("eval", ["eval", "retrieval", "--data", "none"]),
        ("eval", ["calibrate", "--library", "none"]),
    ],
)
def test_a_door_without_its_extra_gives_one_line(extra, arguments, tmp_path):
    done = run_without(EXTRAS[extra], *arguments, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"preflight: preflight {arguments[0]} needs packages that are not installed: ")
    assert line.endswith(f"pip install 'preflight-rag[{extra}]'")


@pytest.mark.slow
def test_a_question_needs_no_extra(demo_folder, tmp_path):
    missing = {name for modules in EXTRAS.values() for name in modules}
    question = ("ask", "How hot is the planet Venus?", "--library", str(demo_folder), "--model", "offline")
    done = run_without(missing | {"onnx", "opentelemetry"}, *question, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Venus" in done.stdout


def test_office_files_are_passed_over_with_the_extra_that_reads_them(demo_folder, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("Moss has no roots.", encoding="utf-8")
    for name in ("b.xlsx", "c.pptx", "d.rtf"):
        (folder / name).write_text("x")
    done = run_without(EXTRAS["office"], "ingest", str(folder), "--library", str(tmp_path / "l"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'preflight-rag[office]'") == 3


def test_the_python_door_of_the_server_says_it_too(monkeypatch):
    import preflight_rag.server

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError, match=r"uvicorn\. pip install 'preflight-rag\[serve\]'"):
        preflight_rag.server.create_app  # noqa: B018
    with pytest.raises(UsageError, match="mine needs"):
        require_extra("mcp", "mine", ["nothing_of_this_name"])

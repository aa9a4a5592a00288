"""docs/papers.md: every row names a command that there is, with its options, and tests that pytest collects."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

from evaluation.command import USED_BY
from evaluation.datasets import ROLES
from evaluation.experiments import EXPERIMENTS
from preflight_rag.cli import app

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
_CELL = re.compile(r"(?<!\\)\|")
_SEVERITY = re.compile(
    r"\b(?:exact(?:ly)?|minor|major|slight(?:ly)?|serious|critical|negligible|severe|trivial)\b", re.I
)


def tables():
    """The page's tables as lists of rows, each a dictionary by the names of the columns."""
    found, head = [], []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in _CELL.split(line)[1:-1]] if line.startswith("|") else []
        if not cells:
            head = []
        elif not head:
            head = cells
            found.append([])
        elif not set(line) <= set("|-: "):
            found[-1].append(dict(zip(head, cells, strict=True)))
    return found


ROWS = [row for table in tables() for row in table]
COMMANDS = sorted(
    {text.replace("\\|", "|") for row in ROWS for text in re.findall(r"`([^`]+)`", row.get("command", ""))}
)


def of(program):
    """The arguments of the page's commands of a program."""
    return [shlex.split(text)[1:] for text in COMMANDS if text.startswith(f"{program} ")]


def test_the_page_has_the_four_papers():
    assert len(tables()) >= 9
    assert len(ROWS) > 100


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "command" in row], ids=lambda row: next(iter(row.values()))[:40]
)
def test_every_row_names_a_command(row):
    assert re.search(r"`(?:preflight|pytest|python) [^`]+`", row["command"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: next(iter(row.values()))[:40])
def test_every_row_says_what_differs_in_words(row):
    assert row["what differs"].strip("–- ")


def test_the_page_weighs_no_difference():
    assert not _SEVERITY.findall(PAGE)


PLACES = ("", "preflight_rag", "evaluation", "tests")
NAMES = [
    (path, name)
    for row in ROWS
    for column, cell in row.items()
    if column != "command"
    for path, name in re.findall(r"`((?:[\w.]+/)*\w+\.py)`(?: `([\w.]+)(?:\([^`]*\))?`)?", cell)
]
"""The files that the rows name beside their commands, each with the name behind it, if any."""


def test_rows_name_files_and_functions():
    assert len(NAMES) > 15
    assert sum(bool(name) for _, name in NAMES) > 4


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_a_named_file_is_there_with_what_is_named_of_it(path, name):
    # A file named without its folder stands behind one of the same folder, as in "a/b.py, c.py".
    found = [ROOT / place / path for place in PLACES if (ROOT / place / path).is_file()]
    found = found or [file for file in (ROOT / "prompts").glob(path)]
    assert found, path
    for part in name.split(".") if name else ():
        assert re.search(rf"\b{part}\b", found[0].read_text(encoding="utf-8")), f"{path} has no {part}"


def test_every_command_is_one_of_the_three():
    assert {text.split(" ")[0] for text in COMMANDS if " " in text and text.split(" ")[0].isalpha()} <= {
        "preflight", "pytest", "python", "triviaqa", "narrativeqa",
    }  # fmt: skip


@pytest.mark.parametrize("arguments", of("preflight"), ids=" ".join)
def test_a_command_takes_the_options_that_it_is_given(arguments):
    command, rest = get_command(app), list(arguments)
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    assert {word for word in rest if word.startswith("--")} <= known
    if command.name == "eval":
        name = rest[0]
        assert name in EXPERIMENTS
        entry = EXPERIMENTS[name]
        sets = [word for before, word in pairwise(rest) if before == "--dataset"]
        for option in (word for word in rest if word in USED_BY):
            assert name in USED_BY[option], f"{option} changes nothing in {name}"
        usual = tuple(ROLES.get(entry.datasets, entry.usual))
        # A part of a set, as mirage-pubmedqa, is taken from the set's own file.
        assert all(any(one == known or one.startswith(f"{known}-") for known in usual) for one in sets)


@cache
def collected():
    """The ids of all tests in the folders and files that the page names."""
    paths = sorted({word for arguments in of("pytest") for word in paths_of(arguments)})
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=-q --import-mode=importlib", *paths],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return [line for line in run.stdout.splitlines() if "::" in line]


def paths_of(arguments):
    """The arguments before -k."""
    return arguments[: arguments.index("-k")] if "-k" in arguments else arguments


@pytest.mark.parametrize("arguments", of("pytest"), ids=" ".join)
def test_a_named_test_is_collected(arguments):
    paths = paths_of(arguments)
    words = arguments[arguments.index("-k") + 1].split(" or ") if "-k" in arguments else [""]
    for path in paths:
        assert (ROOT / path).exists()
        assert any(line.startswith(path) for line in collected())
    for word in words:
        found = [line for line in collected() if line.startswith(tuple(paths)) and word in line.partition("::")[2]]
        assert found, f"-k {word} selects nothing"


@pytest.mark.parametrize("arguments", of("python"), ids=" ".join)
def test_a_script_is_there_and_knows_its_options(arguments):
    source = (ROOT / arguments[0]).read_text(encoding="utf-8")
    for option in (word for word in arguments if word.startswith("--")):
        assert f'"{option}"' in source or option in ("--data", "--dataset"), option

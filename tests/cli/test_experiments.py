"""`preflight eval` where the experiments are not installed, as from the wheel."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
from importlib.metadata import entry_points
for entry in entry_points(group="preflight_rag.commands"):
    sys.modules[entry.module] = None
from preflight_rag.cli import main
main()
"""


@pytest.mark.parametrize("arguments", [[], ["list"], ["corg", "--data", "x", "--limit", "3"]])
def test_without_the_experiments_one_line_says_where_they_are(arguments):
    done = subprocess.run([sys.executable, "-c", WITHOUT, "eval", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install -e '.[eval]'" in done.stderr


def test_the_overview_names_the_command_without_them_too():
    done = subprocess.run([sys.executable, "-c", WITHOUT, "--help"], capture_output=True, text=True)
    assert "eval" in done.stdout

"""Fixtures of the tests of commands."""

import pytest
from typer.testing import CliRunner

from preflight_rag.cli import app


@pytest.fixture
def run(monkeypatch):
    """Runs a command on a terminal of 120 columns, with some variables of the environment."""
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments, **environment):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)

    return invoke

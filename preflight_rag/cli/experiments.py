"""`eval`: the experiments, which are not part of the installed package; a clone registers them, as its metadata say."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from preflight_rag.cli.main import app, command
from preflight_rag.state.errors import UsageError

GROUP, NAME = "preflight_rag.commands", "eval"
"""The entry point in pyproject.toml: a module that adds its command to `app` when it is imported."""


def is_registered() -> bool:
    """Import the package that registers `preflight eval`; return whether it is installed."""
    for entry in entry_points(group=GROUP, name=NAME):
        try:
            entry.load()
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] != entry.module.split(".")[0]:  # it is there, and lacks what it needs
                raise
        else:
            return True
    return False


def run_without_experiments(_context: typer.Context) -> None:
    """Run an experiment over data sets with known answers and report the numbers."""
    raise UsageError(
        "the experiments are not part of the installed package",
        help="Clone the repository and run, in it: pip install -e '.[eval]' (docs/evaluation.md).",
    )


if not is_registered():
    app.command(
        NAME,
        epilog="Example: preflight eval list",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(command(run_without_experiments))

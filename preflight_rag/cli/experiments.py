"""`eval list`: the experiments by the paper that they are from, and the data sets that they read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from textwrap import fill
from typing import Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import JsonOption
from preflight_rag.evaluation.experiments import EXPERIMENTS, OWN, dataset_names

PAPERS = ("BriefContext", "COrg", "CPQA", "Diversity", OWN)
"""In the order of the list."""
ASKS = "*"
WIDEST = 110
MANY = 10
"""More experiments than so many read the same data sets only where they are those of questions."""


def list_experiments(json: JsonOption = False) -> None:
    """List the experiments by paper, and the data sets that each can be run on."""
    if json:
        show.as_json([described(name) for names in by_paper().values() for name in names])
        return
    typer.echo("\n".join(lines(min(WIDEST, shutil.get_terminal_size().columns))))


def by_paper() -> dict[str, list[str]]:
    """Every experiment's name, by paper; those of no paper last."""
    return {paper: [name for name, entry in EXPERIMENTS.items() if entry.paper == paper] for paper in PAPERS}


def described(name: str) -> dict[str, Any]:
    """An experiment as JSON."""
    entry = EXPERIMENTS[name]
    return {
        "name": name,
        "paper": entry.paper,
        "measures": entry.summary,
        "usual_datasets": list(entry.usual),
        "asks_model": entry.asks,
    }


def lines(width: int) -> Iterator[str]:
    """The list, at most so many characters wide."""
    column = max(map(len, EXPERIMENTS)) + 4
    for paper, names in by_paper().items():
        yield typer.style(paper, bold=True)
        for name in names:
            entry = EXPERIMENTS[name]
            head = f"  {name}{ASKS if entry.asks else ''}".ljust(column + 1)
            yield _wrapped(f"{entry.summary} ({', '.join(entry.usual)})", head, width)
        yield ""
    yield _wrapped("asks the model of --model; the others need none. In brackets: the usual data sets.", "* ", width)
    yield "\nData sets that --dataset takes:"
    for users, sets in sorted(dataset_names().items(), key=lambda item: len(item[0]) > MANY):
        others = len(users) > MANY
        yield "  all others; besides, one's own questions (docs/evaluation.md):" if others else f"  {', '.join(users)}:"
        yield _wrapped(", ".join(sets), "    ", width)


def _wrapped(text: str, head: str, width: int) -> str:
    """A paragraph that hangs from its head."""
    hang = " " * len(head)
    return fill(
        text, width, initial_indent=head, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False
    )

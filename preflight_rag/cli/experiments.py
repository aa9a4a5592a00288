"""`eval list`: the experiments by the paper that they are from, and the data sets that they read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from textwrap import fill
from typing import Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import JsonOption
from preflight_rag.evaluation.experiments import EXPERIMENTS, dataset_names

PAPERS = {
    "BriefContext": (
        "positions", "conflicts", "integration", "context-length", "distractors", "preflight", "cost", "open-ended",
    ),
    "COrg": ("corg", "corg-factors", "corg-ablation", "corg-cost", "corg-stats", "corg-build"),
    "CPQA": ("sources", "pairs", "splitters", "cpqa"),
    "Diversity": ("diversity", "split-level", "summaries"),
}  # fmt: skip
OWN = "Preflight's own"
ASKS = "*"
WIDEST = 110
MANY = 10
"""More experiments than so many read the same data sets only where they are those of questions."""


def list_experiments(json: JsonOption = False) -> None:
    """List the experiments by paper, and the data sets that each can be run on."""
    if json:
        show.as_json([told(name, paper) for paper, names in by_paper().items() for name in names])
        return
    typer.echo("\n".join(lines(min(WIDEST, shutil.get_terminal_size().columns))))


def by_paper() -> dict[str, list[str]]:
    """Every experiment's name, by paper; those of no paper last."""
    found = {paper: list(names) for paper, names in PAPERS.items()}
    placed = {name for names in found.values() for name in names}
    return found | {OWN: [name for name in EXPERIMENTS if name not in placed]}


def told(name: str, paper: str) -> dict[str, Any]:
    """An experiment as JSON."""
    entry = EXPERIMENTS[name]
    usual = list(entry.usual)
    return {"name": name, "paper": paper, "measures": entry.summary, "usual_datasets": usual, "asks_model": entry.asks}


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

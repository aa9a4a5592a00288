"""Draws the risk-coverage curve of `preflight eval reading`, over all data sets that it was run on.

    python -m preflight_rag.evaluation.risk_coverage RESULTS.jsonl --figure docs/risk-coverage.png

Answering only where a reader is sure enough: how large a share of the pairs of question and passage can be answered,
and how many of these answers are wrong. Half of the pairs, or nearly, have no answer in the passage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.drawing import DOTS, open_figure
from preflight_rag.evaluation.experiments.reading import (
    READER,
    SELECTIVE_COLUMNS,
    SELECTIVE_NOTE,
    SENTENCES,
    selective,
    selective_cells,
)
from preflight_rag.evaluation.reading_metrics import risk_curve
from preflight_rag.evaluation.records import json_lines
from preflight_rag.evaluation.report import Report, Table, figures, markdown
from preflight_rag.state.errors import UsageError

POOLED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs")
"""The sets that hold questions with known spans and passages without an answer."""
DRAWN = {READER: "#2f6db3", SENTENCES: "#b0563b"}


def known_pairs(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of the pooled sets whose answer, or that there is none, is known.

    Raises:
        UsageError: There is none.
    """
    found = [row for row in rows if row["details"].get("known") and row["sample"].split()[0] in POOLED]
    if not found:
        raise UsageError("no row is of a set with known answers", help=f"Run `reading` on {', '.join(POOLED)}.")
    return found


def columns(rows: Sequence[Mapping[str, Any]], system: str) -> tuple[list[float], list[bool]]:
    """A system's confidence in each pair, and whether its answer is wrong."""
    mine = [row for row in rows if row["arm"] == system]
    return [row["details"]["confidence"] for row in mine], [not row["score"] for row in mine]


def report(rows: Sequence[Mapping[str, Any]], seed: int = 0) -> Report:
    """The table of the pooled sets."""
    known = known_pairs(rows)
    cells, numbers = [], {}
    for system in DRAWN:
        found = selective(*columns(known, system), seed)
        cells.append((system, f"{len(known) // len(DRAWN):,}", *selective_cells(found)))
        numbers[system] = figures(found)
    known_once = [row for row in known if row["arm"] == READER]
    answerable = sum(bool(row["details"]["gold"]) for row in known_once)
    return Report(
        experiment="risk and coverage",
        dataset=", ".join(POOLED),
        about=f"{len(known_once):,} pairs of question and passage, of which {answerable:,} hold the answer.",
        tables=(Table("Answering some, leaving the rest", SELECTIVE_COLUMNS, tuple(cells), SELECTIVE_NOTE),),
        rows=(),
        figures=numbers,
    )


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the curve as a PNG.

    Raises:
        UsageError: matplotlib is not installed.
    """
    known = known_pairs(rows)
    share = sum(bool(row["details"]["gold"]) for row in known) / len(known)
    figure = open_figure()
    axes = figure.subplots()
    best = [(step / 100, max(0.0, 1 - share / (step / 100))) for step in range(1, 101)]
    axes.plot(*zip(*best, strict=True), color="#999999", linewidth=1, linestyle="--", label="perfect")
    for system, colour in DRAWN.items():
        points = risk_curve(*columns(known, system))
        axes.plot(*zip(*points, strict=True), color=colour, label=system)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="coverage: share of pairs answered", ylabel="risk: share of these wrong")
    axes.legend(loc="upper left", fontsize=8, frameon=False)
    axes.grid(color="#eeeeee")
    figure.savefig(path, dpi=DOTS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the rows, print the table and draw."""
    parser = argparse.ArgumentParser(description="Draw the risk-coverage curve of the reading experiment.")
    parser.add_argument("results", type=Path, help="results.jsonl of `preflight eval reading --out DIR`.")
    parser.add_argument("--figure", type=Path, required=True, help="The PNG to write.")
    options = parser.parse_args(arguments)
    rows = [row for _, row in json_lines(options.results)]
    sys.stdout.write(markdown([report(rows)]))
    draw(rows, options.figure)


if __name__ == "__main__":
    main()

"""Draws the diagrams of the docs from the rows of a run, pooled over the data sets that it was run on.

    python docs/diagrams.py RESULTS.jsonl --figure docs/reliability.png

Of `preflight eval calibration` the reliability: each question's risk, as rules that never saw its collection gave it,
against how often the key passage was lost. Of `preflight eval reading` risk and coverage, with the table: where only
those pairs of question and passage are answered that a reader is sure enough of, how many are, and how many of these
answers are wrong. Half of the pairs, or nearly, have no answer in the passage. Of `preflight eval router` right answers
against calls: a colour for each simulated reader, a mark for each rule.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evaluation.datasets.files import json_lines
from evaluation.experiments.calibration import IOU, OWN, SHIPPED, reliability
from evaluation.experiments.reading import (
    READER,
    SELECTIVE_COLUMNS,
    SELECTIVE_NOTE,
    SENTENCES,
    selective,
    selective_cells,
)
from evaluation.experiments.router import BOUND
from evaluation.intervals import wilson
from evaluation.plots import PALETTE
from evaluation.reading_metrics import risk_curve
from evaluation.report import Report, Table, figures, markdown
from evaluation.rows import ScoreRow
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES, DOTS = (6.0, 4.2), 90
"""Width and height of a diagram, and dots per inch of a PNG."""
COLOURS = {IOU: "#b0563b", SHIPPED: "#2f6db3", OWN: "#3a8f5c", READER: "#2f6db3", SENTENCES: "#b0563b"}
MARKS = {"never": "o", "always": "s", "IoU rule": "^", "router": "*", BOUND: "x"}
"""Of the rules of `router` that are drawn."""
FEWEST = 10
"""Questions of a bin that is drawn."""
POOLED = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs")
"""The sets that hold questions with known spans and passages without an answer."""


def open_figure(inches: tuple[float, float] = INCHES) -> Figure:
    """An empty diagram of a width and height in inches.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "the diagram needs matplotlib, which is not installed", help="pip install matplotlib"
        ) from None
    return Figure(figsize=inches, layout="constrained")


def draw_reliability(rows: Sequence[ScoreRow], axes: Axes) -> None:
    """Risk against the share of lost key passages; a rule that is missing for a collection lacks its questions."""
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--", label="perfect")
    for rule in (IOU, SHIPPED, OWN):
        judged = [row.details for row in rows if row.arm == rule]
        if not judged:
            continue
        bins = reliability([each["risk"] for each in judged], [each["issue"] for each in judged])
        bins = [found for found in bins if found[0] >= FEWEST]
        means, shares = [risk for _, risk, _ in bins], [share for _, _, share in bins]
        spread = [wilson(round(share * count), count) for count, _, share in bins]
        low = [share - one.low for share, one in zip(shares, spread, strict=True)]
        high = [one.high - share for share, one in zip(shares, spread, strict=True)]
        look: Any = {"color": COLOURS[rule], "marker": "o", "markersize": 4, "capsize": 2}
        axes.errorbar(means, shares, yerr=[low, high], label=f"{rule} ({len(judged):,} questions)", **look)
    axes.set(xlabel="risk that the rule gave", ylabel="share with the key passage lost", xlim=(0, 1), ylim=(0, 1))


def known_pairs(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """The rows of the pooled sets whose answer, or that there is none, is known.

    Raises:
        UsageError: There is none.
    """
    found = [row for row in rows if row.details.get("known") and row.sample.split()[0] in POOLED]
    if not found:
        raise UsageError("no row is of a set with known answers", help=f"Run `reading` on {', '.join(POOLED)}.")
    return found


def columns(rows: Sequence[ScoreRow], system: str) -> tuple[list[float], list[bool]]:
    """A system's confidence in each pair, and whether its answer is wrong."""
    mine = [row for row in rows if row.arm == system]
    return [row.details["confidence"] for row in mine], [not row.score for row in mine]


def risk_and_coverage(rows: Sequence[ScoreRow], seed: int = 0) -> Report:
    """The table of the pooled sets."""
    known = known_pairs(rows)
    cells, numbers = [], {}
    for system in (READER, SENTENCES):
        confidence, wrong = columns(known, system)
        found = selective(confidence, wrong, seed)
        cells.append((system, f"{len(wrong):,}", *selective_cells(found)))
        numbers[system] = figures(found)
    pairs = [row for row in known if row.arm == READER]
    answerable = sum(bool(row.details["gold"]) for row in pairs)
    return Report(
        experiment="risk and coverage",
        dataset=", ".join(POOLED),
        about=f"{len(pairs):,} pairs of question and passage, of which {answerable:,} hold the answer.",
        tables=(Table("Answering some, leaving the rest", SELECTIVE_COLUMNS, tuple(cells), SELECTIVE_NOTE),),
        rows=(),
        figures=numbers,
    )


def draw_risk(rows: Sequence[ScoreRow], axes: Axes) -> None:
    """Risk over coverage, and what a reader would do that is sure of all right answers first."""
    known = known_pairs(rows)
    share = sum(bool(row.details["gold"]) for row in known) / len(known)
    best = [(step / 100, max(0.0, 1 - share / (step / 100))) for step in range(1, 101)]
    axes.plot(*zip(*best, strict=True), color="#999999", linewidth=1, linestyle="--", label="perfect")
    for system in (READER, SENTENCES):
        points = risk_curve(*columns(known, system))
        axes.plot(*zip(*points, strict=True), color=COLOURS[system], label=system)
    axes.set(xlabel="coverage: share of pairs answered", ylabel="risk: share of these wrong", xlim=(0, 1), ylim=(0, 1))


def draw_router(rows: Sequence[ScoreRow], axes: Axes) -> None:
    """Right answers against calls: a colour for each reader, a mark for each rule."""
    for reader, colour in zip(dict.fromkeys(row.condition for row in rows), PALETTE, strict=False):
        axes.plot([], [], color=colour, label=reader)
        for rule, mark in MARKS.items():
            mine = [row for row in rows if (row.condition, row.arm) == (reader, rule)]
            if mine:
                at = fmean(row.details["calls"] for row in mine), fmean(row.score or 0.0 for row in mine)
                axes.scatter(*at, color=colour, marker=mark, s=120 if mark == "*" else 40)
    for rule, mark in MARKS.items():
        axes.scatter([], [], color="#444444", marker=mark, label=rule)
    axes.set(xlabel="calls a turn", ylabel="right answers", xlim=(0.5, 5.5))


def draw(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the diagram of a run's experiment as a PNG.

    Raises:
        UsageError: matplotlib is not installed, or the rows are of no experiment that is drawn.
    """
    kinds = {line.get("experiment") for line in lines}
    drawings = {"calibration": draw_reliability, "reading": draw_risk, "router": draw_router}
    if len(kinds) != 1 or not kinds <= drawings.keys():
        raise UsageError("the rows are of no run that is drawn", help=f"Give those of {' or '.join(drawings)}.")
    figure = open_figure()
    axes = figure.subplots()
    kind = str(kinds.pop())
    drawings[kind]([ScoreRow.from_json(line) for line in lines], axes)
    if kind == "router":  # whose points leave no room
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    else:
        axes.legend(loc="upper left", fontsize=8, frameon=False)
    axes.grid(color="#eeeeee")
    figure.savefig(path, dpi=DOTS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the rows, print the table where there is one, and draw."""
    parser = argparse.ArgumentParser(description="Draw the diagram of a run of calibration, reading or router.")
    parser.add_argument("results", type=Path, help="results.jsonl of `preflight eval … --out DIR`.")
    parser.add_argument("--figure", type=Path, required=True, help="The PNG to write.")
    options = parser.parse_args(arguments)
    lines = [line for _, line in json_lines(options.results)]
    if lines and lines[0].get("experiment") == "reading":
        sys.stdout.write(markdown([risk_and_coverage([ScoreRow.from_json(line) for line in lines])]))
    draw(lines, options.figure)


if __name__ == "__main__":
    main()

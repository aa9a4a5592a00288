"""Draws the reliability diagram of `preflight eval calibration`.

    python -m preflight_rag.evaluation.reliability RESULTS.jsonl --figure docs/reliability.png

Each question's risk, as rules that never saw its collection gave it, against how often the key passage was lost.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.drawing import DOTS, open_figure
from preflight_rag.evaluation.experiments.calibration import IOU, OWN, SHIPPED, reliability
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.records import json_lines

DRAWN = {IOU: "#b0563b", SHIPPED: "#2f6db3", OWN: "#3a8f5c"}
FEWEST = 10
"""Questions of a bin that is drawn."""


def drawn_rules(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[float], list[bool]]]:
    """Risks and issues of all questions by rule; a rule that is missing for a collection lacks its questions."""
    found: dict[str, tuple[list[float], list[bool]]] = {name: ([], []) for name in DRAWN}
    for row in rows:
        if row["arm"] in found:
            found[row["arm"]][0].append(row["details"]["risk"])
            found[row["arm"]][1].append(row["details"]["issue"])
    return found


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the diagram as a PNG.

    Raises:
        UsageError: matplotlib is not installed.
    """
    figure = open_figure()
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--", label="perfect")
    for name, (risks, issue) in drawn_rules(rows).items():
        if not risks:
            continue
        bins = [found for found in reliability(risks, issue) if found[0] >= FEWEST]
        means, shares = [risk for _, risk, _ in bins], [share for _, _, share in bins]
        spread = [wilson(round(share * count), count) for count, _, share in bins]
        errors = [
            [s - e.low for s, e in zip(shares, spread, strict=True)],
            [e.high - s for s, e in zip(shares, spread, strict=True)],
        ]
        label = f"{name} ({len(risks):,} questions)"
        axes.errorbar(means, shares, yerr=errors, color=DRAWN[name], marker="o", markersize=4, capsize=2, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="risk that the rule gave", ylabel="share with the key passage lost")
    axes.legend(loc="upper left", fontsize=7, frameon=False)
    axes.grid(color="#eeeeee")
    figure.savefig(path, dpi=DOTS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the rows and draw."""
    parser = argparse.ArgumentParser(description="Draw the reliability diagram of the calibration experiment.")
    parser.add_argument("results", type=Path, help="results.jsonl of `preflight eval calibration --out DIR`.")
    parser.add_argument("--figure", type=Path, required=True, help="The PNG to write.")
    options = parser.parse_args(arguments)
    draw([row for _, row in json_lines(options.results)], options.figure)


if __name__ == "__main__":
    main()

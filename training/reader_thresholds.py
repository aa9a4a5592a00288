"""Choose the reader's thresholds for a language model's turns, and write them to `reader.json`.

    python -m training.reader_thresholds --data DIR [--library-cache DIR]

"support" is the least probability of yes at which a statement counts as supported, with the best balanced accuracy over
the validation parts of four kinds of statements, and the least of no at which it counts as contradicted, so that most
statements shown as such are. "prune" is the largest answerability at which pruning loses no answer of the development
parts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation import datasets
from evaluation.experiments.pruning import PruningQuestion, above, ask_all
from evaluation.experiments.reading import open_named
from evaluation.experiments.statements import USED, CheckedStatement, judge
from evaluation.runs import ExperimentRun
from evaluation.searching import collection_library
from preflight_rag.models.reading.bundled_reader import SETTINGS
from preflight_rag.models.reading.extractive_reader import BUNDLED
from preflight_rag.state.errors import PreflightError

STATEMENTS = 250
"""Statements of each kind."""
QUESTIONS = 120
"""Questions of each collection."""


SUPPORT_GRID = tuple(round(0.02 * step, 2) for step in range(1, 50))
PRUNE_GRID = tuple(round(step / 1000, 3) for step in range(1, 1000))
"""Candidate thresholds for pruning."""
CLEAR = 0.7
"""Least share of the statements shown as contradicted that must be so; a guess of what users accept."""


def support_levels(data: Path) -> dict[str, float]:
    """Return the least probability of yes of a supported statement, and the least of no of a contradicted one."""
    reader = open_named(BUNDLED)
    sets = [datasets.open_dataset(name, data, datasets.STATEMENTS) for name in datasets.ROLES[datasets.STATEMENTS]]
    found = [judge(reader, chosen.select("development", STATEMENTS)) for chosen in sets]
    threshold = best_threshold(found)
    return {"threshold": threshold, "contradicted": clear_level(found, threshold)}


def best_threshold(found: Sequence[Sequence[CheckedStatement]]) -> float:
    """Return the threshold with the highest balanced accuracy, averaged over several sets; of equal ones the lowest."""

    def quality(threshold: float) -> float:
        total = 0.0
        for judged in found:
            for known in (True, False):
                mine = [item.scores[USED] >= threshold for item in judged if item.known == known]
                total += mine.count(known) / max(len(mine), 1)
        return round(total / (2 * len(found)), 6)

    return max(SUPPORT_GRID, key=lambda threshold: (quality(threshold), -threshold))


def clear_level(found: Sequence[Sequence[CheckedStatement]], threshold: float) -> float:
    """Return the lowest probability of no at which `CLEAR` of the statements shown as contradicted are so; 1 if none.

    The share is averaged over the sets in which any are shown.
    """
    for level in SUPPORT_GRID:
        shares = []
        for statements in found:
            shown = [item for item in statements if item.scores[USED] < threshold and item.against >= level]
            if shown:
                shares.append(sum(item.case.passage.verdict == "no" for item in shown) / len(shown))
        if shares and round(sum(shares) / len(shares), 6) >= CLEAR:
            return level
    return 1.0


def largest_lossless(asked: Sequence[PruningQuestion]) -> float:
    """Return the largest threshold of `PRUNE_GRID` up to which no answer to these questions is lost."""
    best = 0.0
    for threshold in PRUNE_GRID:
        keep = above(threshold)
        if any(item.answered(range(len(item.tokens))) and not item.answered(keep(item)) for item in asked):
            break
        best = threshold
    return best


def prune_threshold(data: Path, library_cache: Path | None) -> float:
    """Return the largest pruning threshold that loses nothing."""
    asked: list[PruningQuestion] = []
    run = ExperimentRun(part="development", limit=QUESTIONS, library_cache=library_cache)
    for name in datasets.ROLES[datasets.SHORT_ANSWERS]:
        collection = datasets.open_dataset(name, data, datasets.SHORT_ANSWERS)
        with collection_library(collection, run) as library:
            asked += ask_all(collection, library, run)
    return largest_lossless(asked)


def store(file: Path, support: dict[str, float], lossless: float) -> None:
    """Store the thresholds in the reader's settings; the rest of the file is kept."""
    known = json.loads(file.read_text(encoding="utf-8"))
    known |= {"support": support, "prune": {"lossless": lossless}}
    file.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Find and write the thresholds; return 1 if the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m training.reader_thresholds", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--library-cache", type=Path, help="where the collections' libraries are kept")
    parser.add_argument("--out", type=Path, default=SETTINGS, help="the reader's settings")
    options = parser.parse_args(arguments)
    try:
        support = support_levels(options.data)
        lossless = prune_threshold(options.data, options.library_cache)
        store(options.out, support, lossless)
    except PreflightError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stderr.write(f"support: {support}; pruning loses nothing up to {lossless:g}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fusion by ranks or by scores, and 50 or 100 candidates for the second stage, chosen with each collection left out.

    python benchmarks/second_stage.py --data DIR --library-cache DIR [--documents 3500] [--questions 250]

For each group of collections: the reranker's weights are fitted, anew for each fusion, on the development parts of the
other groups, and the setting is chosen there by nDCG@10; what is printed is of the group's own test part.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np

from evaluation.datasets import open_dataset
from evaluation.runs import ExperimentRun
from evaluation.searching import searched_part
from training.train_reranker import Example, fit, gather, quality

NAMES = ("cranfield", "cisi", "nfcorpus", "scifact", "bioasq", "medquad")
FUSIONS = ("rrf", "combsum")
LIMITS = (50, 100)
PENALTY = 0.1
"""What most folds of the shipped weights have."""


def reranked(examples: list[Example], weights: np.ndarray, limit: int) -> float:
    """nDCG@10 where the first `limit` candidates are put into the order of the weights."""
    cut = [Example(each.features[:limit], each.grades[:limit], each.documents[:limit], each.ideal) for each in examples]
    return quality([cut], weights)


def as_found(examples: list[Example]) -> float:
    """nDCG@10 of the fused order itself."""
    places = [
        Example(-np.arange(len(e.grades), dtype=np.float32)[:, None], e.grades, e.documents, e.ideal) for e in examples
    ]
    return quality([places], np.ones(1))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--library-cache", type=Path)
    parser.add_argument("--documents", type=int, help="of each larger collection; all when not given")
    parser.add_argument("--questions", type=int, default=250, help="of each part of a collection")
    given = parser.parse_args()
    found: dict[tuple[str, str, str], list[Example]] = {}
    for name in NAMES:
        whole = open_dataset(name, given.data)
        few = given.documents if len(list(whole.documents())) > 2 * (given.documents or 10**9) else None
        every = ExperimentRun(part="all", limit=given.questions, documents=few, library_cache=given.library_cache)
        part_of = searched_part(whole, every)
        for part, fusion in product(("development", "test"), FUSIONS):
            run = ExperimentRun(part=part, limit=given.questions, library_cache=given.library_cache)
            found[name, part, fusion] = gather(part_of, run, fusion)
        sys.stderr.write(f"{name}: {len(found[name, 'test', 'rrf'])} test questions\n")
    settings = list(product(FUSIONS, LIMITS))
    print("| collection |", " | ".join([*FUSIONS, *(f"{f}, second stage of {n}" for f, n in settings), "chosen"]), "|")
    print("| --- |", " | ".join(["---:"] * (len(FUSIONS) + len(settings))), "| --- |")
    taken = []
    for name in NAMES:
        others = [other for other in NAMES if other != name]
        weights = {f: fit({o: [found[o, "development", f]] for o in others}, PENALTY) for f in FUSIONS}
        on_others = {
            (f, n): fmean(reranked(found[o, "development", f], weights[f], n) for o in others) for f, n in settings
        }
        best = max(settings, key=lambda setting: on_others[setting])
        scores = {(f, n): reranked(found[name, "test", f], weights[f], n) for f, n in settings}
        taken.append((scores[best], scores["rrf", 50]))
        cells = [*(as_found(found[name, "test", f]) for f in FUSIONS), *(scores[setting] for setting in settings)]
        print(f"| {name} |", " | ".join(f"{cell:.3f}" for cell in cells), f"| {best[0]}, {best[1]} |")
    chosen, today = (fmean(column) for column in zip(*taken, strict=True))
    print(f"\nMean nDCG@10: chosen without the collection {chosen:.4f}, rrf with 50 {today:.4f}")


if __name__ == "__main__":
    main()

"""What retrieval chooses, with which scores and which risk, before and after a change that is to leave it as it is.

    python benchmarks/same_passages.py write FILE LIBRARY --data DIR --dataset bioasq [--questions 250]
    python benchmarks/same_passages.py compare OLD NEW

`write` searches a library with the questions of a data set, without any reader: fusion, second stage, selection and the
calibrated risk. It writes a line a question. `compare` prints the questions whose passages, order or risk differ, and
the largest difference of a score among the others, which is rounding where it is below `--rounding`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from evaluation.datasets import open_dataset
from preflight_rag.library.collection import indexed_terms
from preflight_rag.library.library import Library
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.routing.decision import predict_loss
from preflight_rag.routing.risk import shipped_model
from preflight_rag.state.context import Settings

ROUNDING = 1e-4
"""Of scores of about 1 that are sums of 40 numbers of 32 bits."""


def write(out: Path, folder: Path, questions: list[str]) -> None:
    """Search for every question and write a line for each."""
    settings, model = Settings(), shipped_model()
    with Library.open(folder) as library, out.open("w", encoding="utf-8") as lines:
        for question in questions:
            found = retrieve_passages(library, [question], settings)
            refs, sources = found.references(), found.sources()
            terms = indexed_terms(library, [ref["id"] for ref in refs])
            risk = predict_loss(question, refs, sources, settings, model, terms)
            line = {
                "question": question,
                "chosen": [ref["id"] for ref in refs],
                "pool": [hit.passage_id for hit in found.found.fused],
                "risk": [risk.lost, risk.risk, risk.iou],
                "scores": [[ref["score"], ref["cosine"], ref["bm25"], ref["relevance"]] for ref in refs],
            }
            lines.write(json.dumps(line) + "\n")


def compare(old: Path, new: Path, rounding: float) -> int:
    """Print what differs; how many questions do."""
    before, after = ([json.loads(line) for line in path.open(encoding="utf-8")] for path in (old, new))
    if [line["question"] for line in before] != [line["question"] for line in after]:
        sys.exit("the files are of different questions")
    different, largest = 0, 0.0
    for first, second in zip(before, after, strict=True):
        parts = [part for part in ("chosen", "pool", "risk") if first[part] != second[part]]
        if not parts:
            apart = _apart(first["scores"], second["scores"])
            largest = max(largest, apart)
            parts = ["scores"] if apart > rounding else []
        if parts:
            different += 1
            print(f"{first['question']}: {', '.join(parts)}")
    print(f"{different} of {len(before)} questions differ; of the others, scores by {largest:.1g} at most")
    return different


def _apart(first: list[Any], second: list[Any]) -> float:
    """The largest difference of two lists of rows of numbers, or of nothing in the same places."""
    pairs = [(a, b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True)]
    if any((a is None) != (b is None) for a, b in pairs):
        return float("inf")
    return max((abs(a - b) for a, b in pairs if a is not None), default=0.0)


def main() -> None:
    """Write what is chosen, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    searching = modes.add_parser("write", help="search, and write a file")
    searching.add_argument("file", type=Path)
    searching.add_argument("library", type=Path)
    searching.add_argument("--data", type=Path, required=True)
    searching.add_argument("--dataset", required=True)
    searching.add_argument("--questions", type=int, default=250)
    comparing = modes.add_parser("compare", help="say what differs between two files")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--rounding", type=float, default=ROUNDING, help="largest difference of scores")
    given = parser.parse_args()
    if given.mode == "compare":
        sys.exit(bool(compare(given.old, given.new, given.rounding)))
    asked = [sample.question for sample in open_dataset(given.dataset, given.data).samples]
    write(given.file, given.library, asked[:: max(1, len(asked) // given.questions)][: given.questions])


if __name__ == "__main__":
    main()

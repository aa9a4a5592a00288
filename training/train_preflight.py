"""Fit the weights of the calibrated preflight.

    python -m training.train_preflight --data DIR --library-cache DIR

Fitted on the development questions of all data sets of `TRAINING`, at most `SAMPLE` of each, with their passages in the
order that the reader gets: the second stage's, with weights trained without the data set's group. Besides the model in
use, one is fitted without each group of data sets that share questions, so that `preflight eval calibration` can
evaluate collections that its weights never saw. Features, penalty and balance were chosen on the same development
questions, leaving one group out each time; the test questions were used only for the report.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets import open_dataset
from evaluation.experiments.calibration import SAMPLE, reader_order
from evaluation.runs import ExperimentRun, Progress, no_progress
from evaluation.samples import DataSet
from evaluation.searching import GROUPS, collection_library, searched_part
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.routing.calibration import CalibrationCase, measure, turn_passages
from preflight_rag.routing.known_questions import KnownQuestion
from preflight_rag.routing.risk import LOST, NO_PRIOR, WEIGHTS, RiskModel, evenly, fit, recalibrate

TRAINING = GROUPS
"""Groups of data sets that share questions or documents, by data set."""
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def cases_of(
    collection: DataSet, library: Library, part: str, limit: int | None, progress: Progress = no_progress
) -> list[CalibrationCase]:
    """Return features and labels of a collection's questions, from the passages that a reader gets."""
    known = [
        KnownQuestion(normalised(query.question), collection.relevant(query.id))
        for query in collection.select(part, limit)
    ]
    stage = f"{collection.name}: {part} questions"
    order = turn_passages(library, reader_order(collection.name))
    return measure(known, order, lambda done, total: progress(stage, done, total))


def train(
    cases: Mapping[str, Sequence[CalibrationCase]], embedder: str, start: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of the weights' file: the model in use, and one without each group.

    Args:
        cases: The cases by data set.
        embedder: The revision of the embedder with which they were measured.
        start: The content of such a file, whose weights keep their proportions: only offset, slope and threshold are
            fitted.
    """
    groups = list(dict.fromkeys([*(TRAINING[name] for name in cases), *(start["without"] if start else ())]))
    without = {group: _fitted(cases, embedder, group, start).to_json() for group in groups} if len(groups) > 1 else {}
    counts = {name: len(rows) for name, rows in cases.items()}
    weights = {"weights_of": start.get("weights_of", start["trained_on"])} if start else {}
    return {
        "trained_on": counts,
        **weights,
        "model": _fitted(cases, embedder, "", start).to_json(),
        "without": without,
    }


def _fitted(
    cases: Mapping[str, Sequence[CalibrationCase]], embedder: str, leave: str, start: Mapping[str, Any] | None
) -> RiskModel:
    """Fit the risk model on all collections but those of one left out."""
    chosen = {name: rows for name, rows in cases.items() if TRAINING[name] != leave}
    count = len({TRAINING[name] for name in chosen})
    number = NUMBERS[count - 2] if count > 1 else "one"
    values = [case.values for rows in chosen.values() for case in rows]
    issues = [case.issue for rows in chosen.values() for case in rows]
    names = [name for name, rows in chosen.items() for _ in rows]
    grounds = f"calibrated on {number} collection{'s' if count > 1 else ''}"
    if start is None:
        return fit(values, issues, names, grounds=grounds, embedder=embedder)
    first = RiskModel.from_json(start["without"][leave] if leave else start["model"])
    first = replace(first, grounds=grounds, embedder=embedder, event=LOST)
    return recalibrate(first, values, issues, evenly(names), prior=NO_PRIOR)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the development questions and write the weights."""
    parser = argparse.ArgumentParser(description="Set the weights of the calibrated preflight.")
    parser.add_argument("--data", type=Path, required=True, help="The folder that holds a folder of each data set.")
    parser.add_argument("--library-cache", type=Path, required=True, help="Where the collections' libraries are kept.")
    parser.add_argument("--dataset", action="append", choices=TRAINING, help="Repeat; without it, all of them.")
    parser.add_argument("--limit", type=int, default=SAMPLE, help="Development questions of each data set.")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="Where the weights are written.")
    parser.add_argument(
        "--documents", type=int, help="Of each data set: those that answer, and a sample of the others; without it all."
    )
    parser.add_argument(
        "--recalibrate",
        action="store_true",
        help="Keep the proportions of the weights that are there: offset, slope and threshold alone, where questions "
        "with an issue are few.",
    )
    options = parser.parse_args(arguments)
    run = ExperimentRun("development", options.limit, documents=options.documents, library_cache=options.library_cache)
    cases: dict[str, list[CalibrationCase]] = {}
    revision = ""
    for name in options.dataset or TRAINING:
        collection = searched_part(open_dataset(name, options.data), run)
        with collection_library(collection, run) as library:
            cases[name] = cases_of(collection, library, "development", options.limit)
            revision = library.embedder.revision
        issues, absent = sum(case.issue for case in cases[name]), sum(case.absent for case in cases[name])
        counts = f"of {issues} the first passage that answers is below three, of {absent} none is there"
        sys.stdout.write(f"{name}: {len(cases[name])} development questions, {counts}\n")
    found = train(cases, revision, json.loads(WEIGHTS.read_text(encoding="utf-8")) if options.recalibrate else None)
    options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(found["model"], indent=2) + "\n")


if __name__ == "__main__":
    main()

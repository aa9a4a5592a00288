"""Evaluate the risk of a lost passage on whole documents, each collection with a calibration that never saw it.

    python -m training.calibrate_whole --data DIR --library-cache DIR --dataset covidqa --dataset evidence_inference

Two events are predicted: that the answering passage is not among the first three that are read (the router's), and that
none of the three passages nearest in meaning answers (BriefContext's). For each named collection, offset and slope of
the shipped weights are fitted on the development questions of all others, and evaluated on its own test questions,
beside the shipped calibration. The passage with the marked answer counts, in whole documents if the set has them
(`evaluation.experiments.router`). No file is written: figures are printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evaluation.experiments import router
from evaluation.metrics import roc_area
from evaluation.report import number
from evaluation.runs import ExperimentRun
from evaluation.searching import collection_library
from preflight_rag.routing.risk import (
    EVENTS,
    LOST,
    NO_PRIOR,
    NOT_NEAREST,
    RiskModel,
    evenly,
    recalibrate,
    shipped_model,
)

BINS = 10
PARTS = ("development", "test")
Cases = Mapping[str, Mapping[str, Sequence[router.RoutingCase]]]
"""Cases by collection, then by part."""


@dataclass(frozen=True)
class RiskJudgement:
    """How well risks predict an event on questions with which they were not calibrated.

    Attributes:
        area: Area under the ROC curve, with its interval, as a text.
        mean: Mean risk.
        share: Share of the questions with the event.
        brier: Mean squared distance of risk and event.
        error: Expected calibration error, over ten bins.
    """

    area: str
    mean: float
    share: float
    brier: float
    error: float


def happened(case: router.RoutingCase, event: str) -> bool:
    """Return whether an event happened for a question: the answer was lost, or its passage was not the nearest."""
    return case.lost if event == LOST else case.not_nearest


def of_event(cases: Sequence[router.RoutingCase], event: str) -> list[router.RoutingCase]:
    """Return the questions for which the event is defined: the router's for those whose answer was retrieved."""
    return [case for case in cases if event != LOST or case.place is not None]


def without(cases: Cases, left: str, event: str) -> RiskModel:
    """Return the shipped weights with offset and slope from the other collections' development questions."""
    names, values, truth = [], [], []
    for name in cases:
        if name != left:
            for case in of_event(cases[name]["development"], event):
                names.append(name)
                values.append(case.values)
                truth.append(happened(case, event))
    first = replace(shipped_model(), event=event)
    return recalibrate(first, values, truth, evenly(names), prior=NO_PRIOR)


def judge(model: RiskModel, cases: Sequence[router.RoutingCase], event: str, *, seed: int = 0) -> RiskJudgement:
    """Return how well a model predicts an event on questions."""
    risks = np.array([model.risk(case.values) for case in cases])
    truth = [happened(case, event) for case in cases]
    return RiskJudgement(
        area=number(roc_area(risks.tolist(), truth, seed=seed)),
        mean=float(risks.mean()),
        share=float(np.mean(truth)),
        brier=float(((risks - truth) ** 2).mean()),
        error=calibration_error(risks, np.array(truth, dtype=float)),
    )


def calibration_error(risks: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean distance of risk and share over ten bins of equal width, weighted by their numbers of risks."""
    bins = np.minimum((risks * BINS).astype(int), BINS - 1)
    return float(sum(abs((risks - truth)[bins == one].sum()) for one in range(BINS)) / len(risks))


def table(cases: Cases) -> list[str]:
    """Return the figures of every collection and event, one line each."""
    lines = ["collection | event | questions | event % | calibration | mean risk % | ROC area | Brier | ECE"]
    for name, parts in cases.items():
        for event in (LOST, NOT_NEAREST):
            asked = of_event(parts["test"], event)
            models = {"shipped": shipped_model(), "of the others": without(cases, name, event)}
            for grounds, model in models.items():
                found = judge(model, asked, event)
                figures = f"{found.share * 100:.1f} | {grounds} | {found.mean * 100:.1f} | {found.area}"
                kind = f"{name} | {EVENTS[event].removeprefix('that ')} | {len(asked)}"
                lines.append(f"{kind} | {figures} | {found.brier:.3f} | {found.error:.3f}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the questions of both parts, and print the figures."""
    parser = argparse.ArgumentParser(description="Judge the risk of a lost passage on whole documents.")
    parser.add_argument("--data", type=Path, required=True, help="The folder that holds a folder of each data set.")
    parser.add_argument("--library-cache", type=Path, required=True, help="Where the collections' libraries are kept.")
    parser.add_argument("--dataset", action="append", required=True, help="Repeat: two at least.")
    parser.add_argument("--limit", type=int, default=200, help="Questions of each part of each data set.")
    options = parser.parse_args(arguments)
    if len(set(options.dataset)) < 2:
        parser.error("one collection alone leaves none to calibrate on: name two at least")
    cases: dict[str, dict[str, Sequence[router.RoutingCase]]] = {}
    for name in options.dataset:
        found = router.open_dataset(name, options.data)
        cases[name] = {}
        for part in PARTS:
            run = ExperimentRun(part, options.limit, library_cache=options.library_cache)
            samples = found.select(part, options.limit)
            with collection_library(found, run) as library:
                cases[name][part] = router.measure(found, library, samples, run, looks=False)
        counts = {part: len(rows) for part, rows in cases[name].items()}
        sys.stderr.write(f"{name}: {json.dumps(counts)} questions\n")
    sys.stdout.write("\n".join(table(cases)) + "\n")


if __name__ == "__main__":
    main()

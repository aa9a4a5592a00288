"""Fit the weights of the signals that decide which questions need COrg: `preflight_rag/corg/signals.json`.

    python -m training.signals --data DIR [--library-cache DIR] [--extractive-reader none]

Cases, parts and the fit are those of `preflight eval routing`, which shows how accurate the signals are. With a reader,
the intercept is moved so that the threshold in use, `Settings.corg_threshold`, keeps false alarms rare; without one,
the threshold that does so is printed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.experiments.routing import NAME, choose_threshold, fit, measured, open_dataset, parts
from evaluation.runs import ExperimentRun
from evaluation.searching import collection_library
from preflight_rag.corg.signals import ANSWERS, SIGNALS, WEIGHTS, Model
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import BUNDLED, NO_READER
from preflight_rag.state.context import Settings


def put_at(model: Model, threshold: float, wanted: float) -> Model:
    """Return the model with its intercept moved so that the score `threshold` becomes `wanted`."""
    at, to = (math.log(p / (1 - p)) for p in (min(max(threshold, 0.001), 0.999), wanted))
    return replace(model, bias=round(model.bias + to - at, 3))


def differing_answers_suffice(model: Model, wanted: float) -> Model:
    """Return the model with its intercept raised, if necessary, so that fully differing answers alone score `wanted`.

    The fit would leave this to a few questions near the threshold, but comparing passages which answer differently is
    the purpose of the gate.
    """
    least = math.log(wanted / (1 - wanted)) - model.weights[ANSWERS]
    return replace(model, bias=max(model.bias, math.ceil(1000 * least) / 1000))


def write(name: str, model: Model, path: Path) -> None:
    """Store one of the two models in the file of weights."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found[name] = {"bias": model.bias, "weights": model.weights}
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the training questions, fit, and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m training.signals", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder of each data set")
    parser.add_argument("--library-cache", type=Path, help="where the library is kept")
    parser.add_argument("--extractive-reader", default=BUNDLED, help="what reads the passages; none: four signals")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the weights are written")
    options = parser.parse_args(arguments)
    extractive = open_extractive_reader(options.extractive_reader)
    found = open_dataset(NAME, options.data)
    training, _ = parts(found, read=extractive is not None)
    with collection_library(found, ExperimentRun(library_cache=options.library_cache)) as library:
        rows = [measured(case, library, extractive) for case in training]
    model = fit(rows, SIGNALS if extractive is None else (*SIGNALS, ANSWERS))
    threshold, wanted = choose_threshold(rows, model), Settings().corg_threshold
    if extractive is not None:
        model, threshold = differing_answers_suffice(put_at(model, threshold, wanted), wanted), wanted
    write(NO_READER if extractive is None else "reader", model, options.out)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in model.weights.items())
    sys.stderr.write(f"{options.out}: {weights}; bias {model.bias:g}; threshold {threshold:g}\n")


if __name__ == "__main__":
    main()

"""Fit the conversion of the reader's logits into a probability, and the least probability of an answering passage.

    python -m training.calibrate_reader --data DIR [--write]

Logistic regression of "the passage contains the answer" on the answerability logit and the best span's margin over the
validation parts of five sets. The sets have equal weight, and in each so have passages with and without an answer, so
the probability is one at even odds. The threshold is chosen in the situation of a user: each validation question is
asked of `PASSAGES` passages of its set, the nearest to it, once including one that answers and once without any. Of the
thresholds that keep `KEPT` of the answerable questions, the one with the highest balanced accuracy is chosen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.datasets import examples
from evaluation.metrics import roc_area
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, markdown
from evaluation.samples import Sample
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.models.opening import open_embedder
from preflight_rag.models.reading.bundled_reader import MODEL, SETTINGS, BundledReader, Calibration

SETS = ("nq_open_oracle", "xquad_en", "covidqa", "ramdocs", "clapnq")
POOLED = SETS[:4]
"""Sets with marked answers, for which it is known which passages answer a question."""
PASSAGES = 16
QUESTIONS = 25
"""Questions of each set with which the threshold is chosen."""
KEPT = 0.90
"""Least share of answerable questions, in the mean over the sets, that are answered."""
PENALTY = 1.0
BATCH = 32
NO_SPAN = -30.0
"""Margin of a passage without a span."""

Logits = tuple[float, float | None]


@dataclass(frozen=True)
class ValidationCase:
    """A validation question with 16 passages: their logits, and whether one of them answers."""

    dataset: str
    answerable: bool
    logits: tuple[Logits, ...]

    def probability(self, calibration: Calibration) -> float:
        """Return the probability of the passage that most probably answers."""
        return max(calibration.probability(*logits) for logits in self.logits)


def logits_of(reader: BundledReader, pairs: Sequence[tuple[str, str, str]], stage: str) -> list[Logits]:
    """Return the answerability logit and the best span's margin of each pair."""
    found: list[Logits] = []
    for start in range(0, len(pairs), BATCH):
        for spans, _, scores in reader.decoded(pairs[start : start + BATCH]):
            found.append((scores["answerable"], spans[0].margin if spans else None))
        sys.stderr.write(f"\r{stage}: {len(found)} of {len(pairs)} pairs")
    sys.stderr.write("\n")
    return found


def fit(rows: Mapping[str, Sequence[tuple[Logits, bool]]]) -> Calibration:
    """Fit the calibration by logistic regression; each set, and each class in it, has equal weight.

    The weights have an L2 penalty of `PENALTY` against all rows; a weight that would be negative is left out.

    Args:
        rows: For each set the pairs' logits, and whether they answer.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    x = np.array([[a, NO_SPAN if m is None else m] for found in rows.values() for (a, m), _ in found])
    y = np.array([known for found in rows.values() for _, known in found])
    parts = []
    for found in rows.values():
        counts = [sum(known for _, known in found), sum(not known for _, known in found)]
        parts += [0.5 / counts[0] if known else 0.5 / counts[1] for _, known in found]
    balance = np.array(parts) * len(y) / len(rows)
    weights, used = [0.0, 0.0], [0, 1]
    while used:
        fitted = LogisticRegression(C=1 / PENALTY, solver="newton-cholesky", tol=1e-10)
        fitted.fit(x[:, used], y, sample_weight=balance)
        least = int(fitted.coef_[0].argmin())
        if fitted.coef_[0][least] >= 0:
            for place, weight in zip(used, fitted.coef_[0].tolist(), strict=True):
                weights[place] = round(weight, 4)
            break
        used.pop(least)
    # The classes have equal weight, so if all weights are 0 the intercept is 0.
    bias = round(float(fitted.intercept_[0]), 4) if used else 0.0
    return Calibration(weights[0], weights[1], bias, 0.5)


def put_cases(
    name: str, found: Sequence[Sample], reader: BundledReader, embedder: Embedder, limit: int
) -> list[ValidationCase]:
    """Return questions of a set, each asked of the nearest passages, once with one that answers and once without."""
    passages = list(dict.fromkeys((example.passage.title, example.passage.text) for example in found))
    vectors = embedder.encode_passages(passages)
    own = {example.id: example for example in found if example.passage.spans and example.names}
    chosen = sorted(own.values(), key=lambda example: hashlib.sha256(example.id.encode()).digest())[:limit]
    put: list[tuple[bool, list[tuple[str, str, str]]]] = []
    for example in chosen:
        nearest = (-(vectors @ embedder.encode_query(example.question))).argsort(kind="stable").tolist()
        same_question = [other for other in found if other.id == example.id]
        theirs = {(other.passage.title, other.passage.text) for other in same_question if other.answerable}
        gold = list(chain.from_iterable(other.names for other in same_question))
        others = [passages[i] for i in nearest if passages[i] not in theirs and not holds(passages[i][1], gold)]
        for answerable in (True, False):
            first = [(example.passage.title, example.passage.text)] if answerable else []
            put.append((answerable, [(example.question, *text) for text in [*first, *others][:PASSAGES]]))
    distinct = list(dict.fromkeys(pair for _, pairs in put for pair in pairs))
    known = dict(zip(distinct, logits_of(reader, distinct, f"{name}, {PASSAGES} passages a question"), strict=True))
    cases = []
    for answerable, pairs in put:
        cases.append(ValidationCase(name, answerable, tuple(known[pair] for pair in pairs)))
    return cases


def shares(cases: Sequence[ValidationCase], calibration: Calibration, threshold: float) -> tuple[float, float]:
    """Return the shares of answerable and of unanswerable questions that are answered, averaged over the sets."""
    found = []
    for answerable in (True, False):
        answered: dict[str, list[bool]] = {}
        for case in cases:
            if case.answerable == answerable:
                answered.setdefault(case.dataset, []).append(case.probability(calibration) >= threshold)
        found.append(fmean(fmean(values) for _, values in sorted(answered.items())))
    return found[0], found[1]


def choose_threshold(cases: Sequence[ValidationCase], calibration: Calibration) -> float:
    """Return the threshold, in steps of 0.01, with the highest balanced accuracy among those that answer `KEPT`.

    If none does, the lowest one. Of equal ones, the highest.
    """
    steps = [step / 100 for step in range(1, 100)]
    answered = {step: shares(cases, calibration, step) for step in steps}
    good = [step for step in steps if round(answered[step][0], 6) >= KEPT]
    return max(good, key=lambda step: (round(answered[step][0] - answered[step][1], 6), step), default=steps[0])


def report(
    rows: Mapping[str, Sequence[tuple[Logits, bool]]], cases: Sequence[ValidationCase], found: Calibration
) -> str:
    """Return the fitted values, and the figures with them on the validation parts, as Markdown."""
    by_set = []
    for name, pairs in rows.items():
        known = [answers for _, answers in pairs]
        probabilities = [found.probability(*logits) for logits, _ in pairs]
        kept = fmean(p >= found.threshold for p, answers in zip(probabilities, known, strict=True) if answers)
        false = fmean(p >= found.threshold for p, answers in zip(probabilities, known, strict=True) if not answers)
        area = roc_area(probabilities, known, seed=0).value
        by_set.append((name, str(len(pairs)), f"{area:.3f}", f"{kept:.1%}", f"{false:.1%}"))
    grid = sorted({0.1, 0.3, 0.5, 0.7, 0.9, found.threshold})
    steps = []
    for at in grid:
        steps.append((f"{at:.2f}", *(f"{share:.1%}" for share in shares(cases, found, at))))
    pairs_table = Table("Single pairs", ("set", "pairs", "ROC area", "answered: with", "without an answer"),
                        tuple(by_set))  # fmt: skip
    cases_table = Table(f"Questions with {PASSAGES} passages", ("threshold", "answered: with", "without an answer"),
                        tuple(steps))  # fmt: skip
    about = (
        f"P = sigmoid({found.answerable} x answerability {found.margin:+} x margin {found.bias:+}), threshold "
        f"{found.threshold}; {sum(map(len, rows.values()))} pairs and {len(cases)} cases of the validation parts."
    )
    return markdown([Report("calibration", "the reader", about, (pairs_table, cases_table), (), {})])


def write(path: Path, found: Calibration) -> None:
    """Store the calibration in the reader's settings; the rest of the file is kept."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    kept["calibration"] = {
        "answerable": found.answerable, "margin": found.margin, "bias": found.bias, "threshold": found.threshold,
    }  # fmt: skip
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def calibrate(data: Path, reader: BundledReader, embedder: Embedder, questions: int) -> tuple[Calibration, str]:
    """Return the calibration of a reader on the validation parts, with its report."""
    rows: dict[str, list[tuple[Logits, bool]]] = {}
    cases: list[ValidationCase] = []
    found = {name: examples(name, data, "validation") for name in SETS}
    for name, put in found.items():
        known = [example for example in put if example.answerable is not None]
        logits = logits_of(reader, [(e.question, e.passage.title, e.passage.text) for e in known], name)
        rows[name] = [(pair, bool(e.answerable)) for pair, e in zip(logits, known, strict=True)]
    for name in POOLED:
        cases += put_cases(name, found[name], reader, embedder, questions)
    fitted = fit(rows)
    threshold = choose_threshold(cases, fitted)
    chosen = Calibration(fitted.answerable, fitted.margin, fitted.bias, threshold)
    return chosen, report(rows, cases, chosen)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and print the calibration, and with `--write` store it beside the model."""
    parser = argparse.ArgumentParser(prog="python -m training.calibrate_reader", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument("--model", type=Path, default=MODEL, help="another network of the project's than the package's")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each set, for the threshold")
    parser.add_argument("--write", action="store_true", help=f"write {SETTINGS.name}")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    found, text = calibrate(options.data, BundledReader(options.model), open_embedder(), options.questions)
    sys.stdout.write(text)
    if options.write:
        write(SETTINGS, found)


if __name__ == "__main__":
    main()

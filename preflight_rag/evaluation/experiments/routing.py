"""Which questions need COrg? How well the router's signals tell, and the script that sets their weights.

    python -m preflight_rag.evaluation.experiments.routing --data DIR --library-cache DIR \
      [--extractive-reader none] [--train]

One library holds the documents of all data sets. A question is put to 16 passages: the nearest of its own documents,
then what search finds; once more to the 16 that search finds by itself. It needs COrg when RAMDocs gives it several
right answers or a wrong one, and when DRAGged gives it any type of conflict; complementary information counts, since
its answers belong side by side. It does not when RAMDocs gives it one right answer and no wrong one, nor in PubMedQA,
NQ-Open and XQuAD. Two comparisons stay within the data sets of conflicts, so that telling data sets apart earns
nothing: with their own questions that need no COrg, and with each RAMDocs question that needs it, put once more with
the documents of one right answer and the noise, the others kept from it. BioASQ's questions come with several
documents that agree; they count in training and for the threshold, and are compared by themselves.

Without a reader (`--extractive-reader none`) questions fall into halves by the first byte of the SHA-256 of their text:
even is the development half, on which weights and threshold are set; odd is the test half. With one, its own parts
count (`reader_examples.part_of`), because it says too much of what it was trained on: weights and threshold are set on
the validation part; tables are of the test part, of questions that are in the test half besides.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from preflight_rag.corg.signals import ANSWERS, SIGNALS, WEIGHTS, Model, measure, trained
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.metrics import roc_area, roc_area_gain
from preflight_rag.evaluation.report import number
from preflight_rag.evaluation.routing_sets import DATASETS, Case, CaseSet, digest
from preflight_rag.library.library import Library
from preflight_rag.library.search.gather import reference
from preflight_rag.models.reading.extractive_reader import NONE, OWN, ExtractiveReader, open_extractive_reader
from preflight_rag.state.context import Settings
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.schema import PassageRef

PASSAGES = 16
SAMPLE = 300
"""Questions of each set that holds no question in need of COrg, taken by the hashes of their texts."""
READ_SAMPLE = 100
"""As many of each part, where a reader reads their passages."""
DEPTH = 1000
"""How deep a question's own documents are looked for."""
NEGATIVES = ("PubMedQA", "NQ-Open", "XQuAD")
EXPERT = "BioASQ"
MIXED = ("RAMDocs", "DRAGged")
"""Sets that hold questions of both classes."""
FALSE_ALARMS = 0.05
PENALTY = 1.0
STEPS = 25
SEED = 0

Passages: TypeAlias = tuple[list[PassageRef], list[Source]]


def sampled(cases: Sequence[Case], most: int = SAMPLE) -> list[Case]:
    """All cases of the sets that hold questions of both classes, the first `most` by hash of the others."""
    if any(case.needs for case in cases):
        return list(cases)
    return sorted(cases, key=lambda case: digest(case.question))[:most]


def open_library(folder: Path, parts: Sequence[CaseSet]) -> Library:
    """One library of the documents of all data sets."""
    library = Library.open(folder, create=True)
    library.add([document for part in parts for document in part.documents])
    return library


def put(case: Case, library: Library) -> Passages:
    """The passages that a question is put to: the nearest of its own documents, filled up with what search finds."""
    found = library.search(case.question, k=DEPTH, candidates=DEPTH)
    own = set(case.documents)
    hits = [hit for hit in found.fused if hit.document_id not in case.without]
    mine = [hit.passage_id for hit in hits if hit.document_id in own][:PASSAGES]
    others = [hit.passage_id for hit in hits if hit.document_id not in own][: PASSAGES - len(mine)]
    return _passages(library, [*mine, *others], found.dense_scores)


def searched(case: Case, library: Library) -> Passages:
    """The passages that search finds for a question by itself."""
    found = library.search(case.question, k=PASSAGES)
    return _passages(library, [hit.passage_id for hit in found.fused], found.dense_scores)


def _passages(library: Library, ids: Sequence[str], cosines: Mapping[str, float]) -> Passages:
    passages = library.passages(sorted(ids, key=lambda name: -cosines[name]))
    refs = [
        reference(Candidate(passage, rank, score=0.0, cosine=cosines[passage.id]), rank)
        for rank, passage in enumerate(passages, 1)
    ]
    return refs, [Source.of(passage, rank) for rank, passage in enumerate(passages, 1)]


@dataclass(frozen=True)
class Measured:
    """A case with the signals' scores: of the passages it was put to, and of those that search finds by itself."""

    case: Case
    scores: dict[str, float]
    searched: dict[str, float]


def measured(case: Case, library: Library, extractive: ExtractiveReader | None = None) -> Measured:
    """The signals of a case."""
    own, found = (
        {name: signal.score for name, signal in measure(case.question, *passages, extractive).items()}
        for passages in (put(case, library), searched(case, library))
    )
    return Measured(case, own, found)


def fit(rows: Sequence[Measured], names: Sequence[str] = SIGNALS) -> Model:
    """Logistic regression by Newton's method; both classes weigh the same, weights have an L2 penalty.

    A signal whose weight would be negative is left out and the others are fitted anew: that passages differ must not
    speak against COrg.
    """
    import numpy as np

    x = np.array([[row.scores[name] for name in names] + [1.0] for row in rows])
    y = np.array([float(row.case.needs) for row in rows])
    balance = np.where(y > 0, 0.5 / y.sum(), 0.5 / (1 - y).sum()) * len(y)
    penalty = np.diag([PENALTY] * len(names) + [0.0])
    weights = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (balance * (y - chance)) - penalty @ weights
        weights = weights + np.linalg.solve((x.T * (balance * chance * (1 - chance))) @ x + penalty, gradient)
    if (weights[:-1] < 0).any():
        kept = fit(rows, [name for name, weight in zip(names, weights[:-1], strict=True) if weight >= 0])
        return Model(kept.bias, {name: kept.weights.get(name, 0.0) for name in names})
    found = {name: round(weight, 3) for name, weight in zip(names, weights.tolist(), strict=False)}
    return Model(round(float(weights[-1]), 3), found)


def put_at(model: Model, threshold: float, wanted: float) -> Model:
    """The model with its intercept moved so that what scored `threshold` scores `wanted`."""
    at, to = (math.log(p / (1 - p)) for p in (min(max(threshold, 0.001), 0.999), wanted))
    return replace(model, bias=round(model.bias + to - at, 3))


def choose_threshold(rows: Sequence[Measured], model: Model) -> float:
    """The least threshold, in steps of 0.01, that keeps false alarms at `FALSE_ALARMS` in the mean over the sets."""
    scores = [[model.score(row.scores) for row in rows if row.case.dataset == name] for name in (*NEGATIVES, EXPERT)]
    sets = [found for found in scores if found]
    shares = ((at / 100, [fmean(score >= at / 100 for score in scores) for scores in sets]) for at in range(102))
    return next(at for at, alarms in shares if not alarms or fmean(alarms) <= FALSE_ALARMS)


def contrasts(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    """The comparisons by name: questions that need COrg, each time against others that don't."""
    needing = [row for row in rows if row.case.needs]
    plain = [row for row in rows if not row.case.needs]

    def against(*kinds: str) -> list[Measured]:
        return [row for row in plain if f"{row.case.dataset}/{row.case.kind}" in kinds]

    main = against(*(f"{name}/" for name in NEGATIVES), "RAMDocs/single")
    ramdocs_needing = [row for row in needing if row.case.dataset == "RAMDocs"]
    return {
        "all": needing + main,
        "all, complementary information left out": [r for r in needing if not r.case.kind.startswith("Compl")] + main,
        "within RAMDocs and DRAGged": needing + against("RAMDocs/single", "DRAGged/No conflict"),
        "RAMDocs, the same questions with one answer left": ramdocs_needing + against("RAMDocs/one answer left"),
        "against BioASQ": needing + against("BioASQ/"),
    }


def area(rows: Sequence[Measured], model: Model, *, by_search: bool = False) -> str:
    """Area under the ROC curve with its bootstrap interval."""
    scores = [model.score(row.searched if by_search else row.scores) for row in rows]
    return number(roc_area(scores, [row.case.needs for row in rows], seed=SEED))


def report(training: Sequence[Measured], test: Sequence[Measured], model: Model, threshold: float) -> str:
    """The tables for the test questions, as Markdown; models that lack a signal are fitted on the training ones."""
    parts = [_areas(test, model), _each_signal(training, test, list(model.weights)), _threshold(test, model, threshold)]
    if ANSWERS in model.weights:
        parts.insert(1, _beside(test, model))
    return "\n\n".join(parts)


def _beside(test: Sequence[Measured], model: Model) -> str:
    """The model without a reader on the same questions, and what the reader adds to it, paired."""
    plain = trained()["none"]
    cells = []
    for name, rows in contrasts(test).items():
        scores = [[other.score(row.scores) for row in rows] for other in (model, plain)]
        gain = roc_area_gain(scores[0], scores[1], [row.case.needs for row in rows], seed=SEED)
        cells.append((name, area(rows, plain), area(rows, model), number(gain)))
    return table(("comparison", "four signals, no reader", "five signals", "difference, paired"), cells)


def _areas(test: Sequence[Measured], model: Model) -> str:
    cells = [
        (
            name,
            f"{sum(row.case.needs for row in rows)} / {sum(not row.case.needs for row in rows)}",
            area(rows, model),
            "–" if "one answer left" in name else area(rows, model, by_search=True),
        )
        for name, rows in contrasts(test).items()
    ]
    return table(("comparison", "needs / does not", "own documents first", "search alone"), cells)


def _each_signal(training: Sequence[Measured], test: Sequence[Measured], names: Sequence[str]) -> str:
    compared = contrasts(test)
    rows, control = compared["all"], compared["RAMDocs, the same questions with one answer left"]
    cells = []
    for name in names:
        alone = Model(0.0, {name: 1.0})
        without = fit(training, [other for other in names if other != name])
        fired = [
            fmean(row.scores[name] > 0 for row in rows if row.case.needs is needs) * 100 for needs in (True, False)
        ]
        areas = (area(among, model) for among in (rows, control) for model in (alone, without))
        cells.append((name, f"{fired[0]:.0f} / {fired[1]:.0f}", *areas))
    full = fit(training, names)
    cells.append((f"all {len(names)}", "", area(rows, full), "", area(control, full), ""))
    columns = ("signal", "fires: needs / does not, %", "alone", "all but it", "one answer left: alone", "all but it")
    return table(columns, cells)


def _threshold(test: Sequence[Measured], model: Model, threshold: float) -> str:
    kinds: dict[str, list[Measured]] = {}
    for row in test:
        kind = ("needs" if row.case.needs else row.case.kind) if row.case.dataset in MIXED else ""
        kinds.setdefault(f"{row.case.dataset} {kind}".strip(), []).append(row)
    cells = []
    for name, rows in kinds.items():
        shares = [
            wilson(sum(model.score(scores) >= threshold for scores in chosen), len(rows))
            for chosen in ([row.scores for row in rows], [row.searched for row in rows])
        ]
        cells.append((name, str(len(rows)), *(number(share, percent=True) for share in shares)))
    main = contrasts(test)["all"]
    sent = [row for row in main if model.score(row.scores) >= threshold]
    right = sum(row.case.needs for row in sent)
    precision, recall = wilson(right, len(sent)), wilson(right, sum(row.case.needs for row in main))
    summary = (
        f"Threshold {threshold:g}: precision {number(precision, percent=True)}, recall {number(recall, percent=True)}."
    )
    return f"{summary}\n\n{table(('test questions', 'n', 'to COrg, %', 'search alone, %'), cells)}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rows_of(
    sets: Sequence[CaseSet], library: Library, extractive: ExtractiveReader | None
) -> tuple[list[Measured], list[Measured]]:
    """The training and the test questions, measured: halves, or with a reader its validation and test parts."""
    if extractive is None:
        rows = [measured(case, library) for part in sets for case in sampled(part.cases)]
        return [row for row in rows if row.case.development], [row for row in rows if not row.case.development]
    found: tuple[list[Measured], list[Measured]] = ([], [])
    for part in sets:
        validation = [case for case in part.cases if case.part == "validation"]
        test = [case for case in part.cases if case.part == "test" and not case.development]
        for cases, into in zip((validation, test), found, strict=True):
            into += [measured(case, library, extractive) for case in sampled(cases, READ_SAMPLE)]
    return found


def write(name: str, model: Model) -> None:
    """Put one of the two models into the file of weights."""
    found = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    found[name] = {"bias": model.bias, "weights": model.weights}
    WEIGHTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and with `--train` write the weights first."""
    parser = argparse.ArgumentParser(description="How well the signals tell which questions need COrg.")
    parser.add_argument("--data", type=Path, required=True, help="The folder that holds a folder of each data set.")
    parser.add_argument("--library-cache", type=Path, required=True, help="Where the library is kept.")
    parser.add_argument("--extractive-reader", default=OWN, help="What reads the passages; none: four signals.")
    parser.add_argument("--train", action="store_true", help="Set the weights on the training questions.")
    options = parser.parse_args(arguments)
    extractive = open_extractive_reader(options.extractive_reader)
    kind, wanted = (NONE if extractive is None else "reader"), Settings().corg_threshold
    sets = [read(options.data) for read in DATASETS]
    with open_library(options.library_cache, sets) as library:
        training, test = rows_of(sets, library, extractive)
    model = fit(training, SIGNALS if extractive is None else (*SIGNALS, ANSWERS)) if options.train else trained()[kind]
    chosen = choose_threshold(training, model)
    if options.train:
        if extractive is not None:
            model, chosen = put_at(model, chosen, wanted), wanted
        write(kind, model)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in model.weights.items())
    lines = (
        f"{len(training)} training and {len(test)} test questions. Weights: {weights}; bias {model.bias:g}.",
        f"Threshold for false alarms of {FALSE_ALARMS:.0%} in the mean over the training sets: {chosen:g}.",
        report(training, test, model, wanted),
    )
    sys.stdout.write("\n\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

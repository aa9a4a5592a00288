"""Fit the weights by which readings select the passages for a model without room or time for all of them.

    python -m training.reading_order --data DIR --library-cache DIR

Fitted on development questions: of COVID-QA and Evidence Inference over whole articles, where the passage with the
marked answer counts, and of NQ-Open and BioASQ over short passages, where those of the right documents count. The
weights maximise the share of the answering passages (the softmax of all scores; Plackett and Luce's first choice), with
equal weight for each collection. That the search's first passage stays, and that the answerability has no weight beside
the relevance, was decided on the same development questions. The printed figures leave each collection out: how often
an answering passage is among the first, by the search and by weights of the other collections, on its development and
its test questions. Test questions are used for nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evaluation import datasets
from evaluation.experiments import router
from evaluation.experiments.calibration import reader_order
from evaluation.intervals import bootstrap, mean
from evaluation.report import number
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from evaluation.searching import collection_library, searched_part
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.search.reading_order import DECIMALS, TERMS, WEIGHTS, ReadingOrder, evidence
from preflight_rag.models.opening import open_extractive_reader
from preflight_rag.models.reading.extractive_reader import ExtractiveReader, PassageReading, pairs
from preflight_rag.routing.calibration import turn_passages
from preflight_rag.routing.risk import evenly
from preflight_rag.state.context import Settings

PARTS = ("development", "test")
WHOLE = ("covidqa", "evidence_inference")
SHORT = ("nq_open_oracle", "bioasq")
SEARCHED = 1500
"""Documents of a collection of short passages: those that answer, and a sample of the others."""
QUESTIONS = 100
PENALTY = 1.0
"""Penalty of the squared weights; a guess, against some hundred questions."""
START = 0.3
FIRST = (2, 3, 4, 6, 8)
"""Numbers of selected passages for which figures are printed."""


@dataclass(frozen=True)
class ReadQuestion:
    """A question with the readings of its passages.

    Attributes:
        readings: Readings of its passages, in the search's order.
        right: Whether each answers.
    """

    readings: tuple[PassageReading, ...]
    right: tuple[bool, ...]


Questions = Mapping[str, Sequence[ReadQuestion]]
"""Questions by collection."""


def open_collection(name: str, data: Path | None, run: ExperimentRun) -> DataSet:
    """Return the whole documents of a set, or a part of a collection of short passages."""
    if name in WHOLE:
        return router.open_dataset(name, data)
    role = datasets.SHORT_ANSWERS if name in datasets.ROLES[datasets.SHORT_ANSWERS] else datasets.RETRIEVAL
    return searched_part(datasets.open_dataset(name, data, role), replace(run, part="all", documents=SEARCHED))


def read_questions(found: DataSet, part: str, run: ExperimentRun, reader: ExtractiveReader) -> list[ReadQuestion]:
    """Return a part's questions with readings of their passages in the search's order."""
    samples = found.select(part, run.limit)
    answers = router.answering(found, samples)
    settings = reader_order(found.name) if found.relevance else Settings(rerank_deadline=router.DEADLINE)
    read = []
    with collection_library(found, replace(run, documents=SEARCHED if found.relevance else None)) as library:
        retrieve = turn_passages(library, settings)
        for sample in samples:
            if (holds := answers.get(sample.id)) is None:
                continue
            question = normalised(sample.question)
            refs, sources = retrieve(question)
            passages = library.passages([ref["id"] for ref in refs])
            right = tuple(holds(passage.document_id, passage.start, passage.end) for passage in passages)
            read.append(ReadQuestion(tuple(reader.read(pairs(question, sources))), right))
    return read


def fit_order(questions: Questions) -> ReadingOrder:
    """Return the weights that maximise the share of the answering passages, with equal weight for each collection."""
    from scipy.optimize import minimize

    found = {}
    for name, each in questions.items():
        found[name] = [one for one in each if any(one.right)]
    rows = evenly([name for name, each in found.items() for _ in each])
    asked = [
        (np.array(evidence(one.readings)) * (-1, 1), np.array(one.right)) for each in found.values() for one in each
    ]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = PENALTY / 2 * float(weights @ weights), PENALTY * weights
        for row, (features, right) in zip(rows, asked, strict=True):
            scores = features @ weights
            odds = np.exp(scores - scores.max())
            share, of_right = odds / odds.sum(), odds * right / (odds * right).sum()
            value -= row * math.log((share * right).sum())
            slope = slope - row * ((of_right - share) @ features)
        return value, slope

    start, bounds = np.full(len(TERMS), START), [(0, None)] * len(TERMS)
    place, relevant = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x.tolist()
    return ReadingOrder(round(place, DECIMALS), round(relevant, DECIMALS))


def places_of(order: ReadingOrder, asked: Sequence[ReadQuestion]) -> list[tuple[float, float]]:
    """Return, for each question, the rank of the first answering passage in the search's and in the preferred order.

    It is infinite if no passage answers.
    """
    found = []
    for one in asked:
        preferred = order.preferred(one.readings)
        found.append((_first(one.right), _first([one.right[at] for at in preferred])))
    return found


def _first(right: Sequence[bool]) -> float:
    """Return the place of the first answering passage; infinity if there is none."""
    return right.index(True) + 1 if True in right else math.inf


def gains(order: ReadingOrder, asked: Sequence[ReadQuestion], *, seed: int = 0) -> str:
    """Return the shares of questions with an answering passage among the first, by both orders, and the gain."""
    places = places_of(order, asked)
    cells = []
    for most in FIRST:
        before = np.array([place <= most for place, _ in places], dtype=float)
        after = np.array([place <= most for _, place in places], dtype=float)
        gain = number(bootstrap(mean, after - before, seed=seed), percent=True, signed=True)
        cells.append(f"{before.mean() * 100:.1f} / {after.mean() * 100:.1f} ({gain})")
    return " | ".join([str(len(asked)), *cells])


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the questions, write the weights, and print their figures."""
    parser = argparse.ArgumentParser(description="Set the weights by which a reading chooses among passages.")
    parser.add_argument("--data", type=Path, required=True, help="The folder that holds a folder of each data set.")
    parser.add_argument("--library-cache", type=Path, required=True, help="Where the collections' libraries are kept.")
    parser.add_argument("--dataset", action="append", choices=(*WHOLE, *SHORT), help="Repeat; without it, all.")
    parser.add_argument("--limit", type=int, default=QUESTIONS, help="Questions of each part of each data set.")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="Where the weights are written.")
    options = parser.parse_args(arguments)
    names = tuple(dict.fromkeys(options.dataset or (*WHOLE, *SHORT)))
    if len(names) < 2:
        parser.error("one collection alone leaves none to judge by: name two at least")
    reader = open_extractive_reader()
    if reader is None:
        parser.error("the package has no reader of its own")
    questions: dict[str, dict[str, list[ReadQuestion]]] = {part: {} for part in PARTS}
    for name in names:
        run = ExperimentRun("all", options.limit, library_cache=options.library_cache)
        found = open_collection(name, options.data, run)
        for part in PARTS:
            questions[part][name] = read_questions(found, part, run, reader)
        sys.stderr.write(f"{name}: {len(questions['development'][name])} development questions\n")
    sys.stdout.write("\n".join(report(questions)) + "\n")
    options.out.write_text(json.dumps(trained(questions["development"]), indent=2) + "\n", encoding="utf-8")


def trained(questions: Questions) -> dict[str, object]:
    """Return the content of the weights' file."""
    order = fit_order(questions)
    counts = {name: sum(any(one.right) for one in each) for name, each in questions.items()}
    return {"trained_on": counts, "weights": {name: getattr(order, name) for name in TERMS}}


def report(questions: Mapping[str, Questions]) -> list[str]:
    """Return the figures of each collection with weights of the others: one line for each part."""
    firsts = " | ".join(f"among the first {most}, %: search / reading" for most in FIRST)
    lines = [f"collection | part | questions | {firsts}"]
    for name in questions["development"]:
        others = {other: each for other, each in questions["development"].items() if other != name}
        order = fit_order(others)
        lines += [f"{name} | {part} | {gains(order, each[name])}" for part, each in questions.items()]
    return lines


if __name__ == "__main__":
    main()

"""Train the reranker without a language model: the command that writes `feature_reranker.json`.

    python -m training.train_reranker --data DIR --library-cache DIR [--out FILE]

Only development parts are read. Collections that share questions or documents make one group; groups have equal weight,
and so have the questions of a collection. The loss is the listwise softmax cross-entropy of Cao et al. (ListNet, ICML
2007) with a ridge penalty on the weights of standardised features. For each group the file has weights that were
trained without it, with a penalty that was chosen without it too: by nDCG@10 on each of the other groups, trained
without both. The weights in use are trained on all groups, with the penalty that is best when each is left out in turn.
The two weighted fusions with which the reranker is compared get their weight in the same way.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.datasets import open_dataset
from evaluation.experiments.reranking import FUSIONS, fusion
from evaluation.experiments.retrieval import DEPTH
from evaluation.runs import ExperimentRun, Progress
from evaluation.samples import DataSet
from evaluation.searching import GROUPS, collection_library, group_of, search_all
from preflight_rag.library.search.query import FUSION
from preflight_rag.models.reranking.feature_reranker import ALL, FEATURES, WEIGHTS, features
from preflight_rag.state.context import Fusion
from preflight_rag.state.errors import PreflightError

if TYPE_CHECKING:
    import numpy as np

QUESTIONS = 200
"""Questions of each collection, a fixed sample."""
CANDIDATES = 50
"""First candidates of each question that count in the loss; features are relative to all of them."""
PENALTIES = (0.1, 0.3, 1.0)
FUSION_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
STEPS = 200


@dataclass(frozen=True)
class Example:
    """One question's candidates: features (n, f), grades (n,), document ids, and the best possible DCG@10."""

    features: np.ndarray
    grades: np.ndarray
    documents: tuple[str, ...]
    ideal: float


Examples: TypeAlias = Mapping[str, Sequence[Sequence[Example]]]
"""Examples by group: a list of collections, each a list of questions."""


def gather(collection: DataSet, run: ExperimentRun, fusion: Fusion = FUSION) -> list[Example]:
    """Return a part's questions that have a relevant document, with their candidates' features."""
    import numpy as np

    found = []
    queries = collection.select(run.part, run.limit)
    with collection_library(collection, run) as library:
        sizes = {"k": DEPTH, "candidates": DEPTH}
        for query, result in search_all(library, queries, run.progress, name=collection.name, fusion=fusion, **sizes):
            ids = [hit.passage_id for hit in result.fused]
            candidates = result.candidates(library.passages(ids))
            grades = {name: max(0, grade) for name, grade in collection.relevance[query.id].items()}
            documents = tuple(hit.document_id for hit in result.fused)
            found.append(
                Example(
                    features(query.question, candidates).astype(np.float32),
                    np.array([grades.get(name, 0) for name in documents], dtype=np.float32),
                    documents,
                    _dcg(sorted(grades.values(), reverse=True)),
                )
            )
    return found


def fit(examples: Examples, penalty: float) -> np.ndarray:
    """Return the weights (f,) of the unscaled features, fitted to all questions with a relevant candidate."""
    import numpy as np
    from scipy.optimize import minimize

    rows, targets, sizes, shares = [], [], [], []
    for collections in examples.values():
        for questions in collections:
            useful = [example for example in questions if example.grades[:CANDIDATES].any()]
            for example in useful:
                grades = example.grades[:CANDIDATES]
                rows.append(example.features[:CANDIDATES])
                targets.append(grades / grades.sum())
                sizes.append(len(grades))
                shares.append(1 / (len(examples) * len(collections) * len(useful)))
    matrix, target = np.vstack(rows), np.concatenate(targets)
    spread = matrix.std(axis=0)
    spread[spread < 1e-6] = np.inf
    scaled = (matrix - matrix.mean(axis=0)) / spread
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of = np.repeat(np.arange(len(sizes)), sizes)
    share = np.array(shares)[of]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = (scaled @ weights.astype(np.float32)).astype(float)
        scores -= np.maximum.reduceat(scores, starts)[of]
        mass = np.exp(scores)
        total = np.add.reduceat(mass, starts)[of]
        value = -(share * target * (scores - np.log(total))).sum() + penalty * (weights @ weights) / 2
        slope = scaled.T @ (share * (mass / total - target)).astype(np.float32) + penalty * weights
        return float(value), slope.astype(float)

    best = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    weights: np.ndarray = best.x / spread
    return weights


def quality(collections: Sequence[Sequence[Example]], weights: np.ndarray) -> float:
    """Return the mean nDCG@10 by document, over the questions of each collection, then over the collections."""
    means = []
    for questions in collections:
        values = []
        for example in questions:
            order = (-(example.features @ weights)).argsort(kind="stable")
            grades = {example.documents[i]: float(example.grades[i]) for i in order}
            values.append(_dcg(list(grades.values())) / example.ideal)
        means.append(sum(values) / len(values))
    return sum(means) / len(means)


def train(examples: Examples, report: Callable[[str], object]) -> dict[str, dict[str, Any]]:
    """Return the content of the file of weights, without its heading."""
    fits: dict[tuple[frozenset[str], float], np.ndarray] = {}

    def fitted(groups: frozenset[str], penalty: float) -> np.ndarray:
        if (groups, penalty) not in fits:
            fits[groups, penalty] = fit({group: examples[group] for group in sorted(groups)}, penalty)
        return fits[groups, penalty]

    def left_out(groups: frozenset[str], penalty: float) -> float:
        values = [quality(examples[group], fitted(groups - {group}, penalty)) for group in sorted(groups)]
        return sum(values) / len(values)

    weights: dict[str, np.ndarray] = {}
    penalties: dict[str, float] = {}
    fusions: dict[str, dict[str, float]] = {name: {} for name in FUSIONS}
    for fold, groups in folds(examples):
        scores = {penalty: left_out(groups, penalty) for penalty in PENALTIES}
        penalties[fold] = max(PENALTIES, key=lambda penalty: scores[penalty])
        weights[fold] = fitted(groups, penalties[fold])
        for name in FUSIONS:
            fusions[name][fold] = _fusion_weight(name, [examples[group] for group in sorted(groups)])
        report(f"{fold}: nDCG@10 by penalty { ({p: round(v, 4) for p, v in scores.items()}) }")
    table = {}
    for i, name in enumerate(FEATURES):
        table[name] = {fold: round(float(values[i]), 3) for fold, values in weights.items()}
    return {"weights": table, "penalties": penalties, "fusions": fusions}


def folds(groups: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the name of each fold (the group that is left out, or all) and the groups on which it is trained."""
    everything = frozenset(groups)
    yield ALL, everything
    for group in sorted(everything):
        yield group, everything - {group}


def as_json(trained: Mapping[str, Mapping[str, Any]], examples: Examples) -> str:
    """Return the text of the file: a heading, then one line for each feature."""
    counts = {group: sum(map(len, found)) for group, found in sorted(examples.items())}
    about = (
        "Weights of feature_reranker.py, set by training/train_reranker.py on development parts. "
        "'all' is in use; the others were trained without the group that they are named after."
    )
    lines = [f' "{name}": {json.dumps(value)},' for name, value in (("about", about), ("questions", counts))]
    lines += [f' "{name}": {json.dumps(trained[name])},' for name in ("penalties", "fusions")]
    weights = trained["weights"].items()
    rows = ",\n".join(f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(row)}" for name, row in weights)
    return "{\n" + "\n".join(lines) + '\n "weights": {\n' + rows + "\n }\n}\n"


def _fusion_weight(name: str, groups: Sequence[Sequence[Sequence[Example]]]) -> float:
    """Return the dense ranking's weight with the best mean nDCG@10 over the groups."""
    import numpy as np

    def mean_quality(weight: float) -> float:
        parts = fusion(name, weight).weights
        vector = np.array([parts.get(feature, 0.0) for feature in FEATURES])
        return sum(quality(collections, vector) for collections in groups)

    return max(FUSION_WEIGHTS, key=mean_quality)


def _dcg(grades: Sequence[float]) -> float:
    """Return DCG@10 of grades in ranked order."""
    return sum(grade / log2(place + 1) for place, grade in enumerate(grades[:10], 1))


def _gathered(data: Path, cache: Path | None, questions: int, progress: Progress) -> Examples:
    """Return the examples of the development questions, by group of collections."""
    run = ExperimentRun(part="development", limit=questions, library_cache=cache, progress=progress)
    found: dict[str, list[list[Example]]] = {}
    for name in GROUPS:
        found.setdefault(group_of(name), []).append(gather(open_dataset(name, data), run))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 if data are missing."""
    parser = argparse.ArgumentParser(prog="python -m training.train_reranker", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder for each data set")
    parser.add_argument("--library-cache", type=Path, help="where libraries of collections are kept")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each collection")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="the file to write")
    given = parser.parse_args(arguments)

    def progress(stage: str, done: int, total: int) -> None:
        if done == total:
            sys.stderr.write(f"{stage}: {done}\n")

    try:
        examples = _gathered(given.data, given.library_cache, given.questions, progress)
        found = train(examples, lambda line: sys.stderr.write(f"{line}\n"))
    except PreflightError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    given.out.write_text(as_json(found, examples), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

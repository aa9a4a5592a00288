"""Fit the keyless reader's models of relations between contexts on RAMDocs: `preflight_rag/offline/relations.json`.

    python -m training.relations --data DIR [--extractive-reader none]

Labels and parts are those of `preflight eval relations`, which shows how accurate the models are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.datasets import QUESTIONS, open_dataset
from evaluation.experiments.relations import MODELS, chosen, rows, way_of
from evaluation.samples import Sample
from evaluation.vector_cache import CachedEmbedder
from preflight_rag.models.opening import open_embedder, open_extractive_reader
from preflight_rag.models.reading.extractive_reader import BUNDLED
from preflight_rag.offline import relations
from preflight_rag.offline.context_readings import Features
from preflight_rag.offline.reader import OfflineReader

PENALTY = 1.0
"""L2 penalty on the weights of features that lie in about [0, 1]."""
THRESHOLDS = {
    relations.SENTENCES: {"answers": 0.7, "same_entity": 0.6, "same_answer": 0.7},
    relations.SPANS: {"same_entity": 0.4, "same_answer": 0.7},
}
"""Least probability at which each model says yes, by way of reading; for sentences chosen by the tables of `preflight
eval corg --part development`, for spans on the validation part, each fourth of it judged by models fitted on the
rest."""
UNDESCRIBED = 0.3
"""The same for "one thing" if a context of spans has no descriptor."""
FURTHER_SPANS = {"behind": 2.0}
"""How far behind the best answer, in logits, a further answer of a context may lie, chosen there too."""
FITTED_ON = {
    relations.SENTENCES: "the development half of RAMDocs (even first byte of the question's SHA-256)",
    relations.SPANS: "the validation part of RAMDocs",
}

SIGNS: dict[str, dict[str, int]] = {
    "answers": {"score": 1, "similarity": 1, "typed": 1, "named": 1, "lowest": 1},
    "same_entity": {
        **dict.fromkeys(("descriptors_shared", "descriptor_held", "descriptors_held", "names_shared", "copied"), 1),
        **dict.fromkeys(("passages_alike", "value_held", "value_held_both", "names_same", "edited"), 1),
        "descriptors_differ": -1,
    },
    "same_answer": {
        **dict.fromkeys(("typed_same", "names_same", "value_held", "value_held_both", "answers_quoted"), 1),
        **dict.fromkeys(("sentence_terms", "sentences_alike", "passages_alike", "terms_shared", "names_shared"), 1),
        **dict.fromkeys(("descriptors_shared", "descriptor_held", "descriptors_held", "copied"), 1),
        **dict.fromkeys(("typed_differ", "copied_differ", "edited", "sentence_edited", "descriptors_differ"), -1),
    },
}
"""The sign that a feature's weight must have, if there is a reason for one."""

Example = tuple[Features, bool]


def fit(name: str, examples: Sequence[Example]) -> dict[str, float]:
    """Return weights of a logistic model, rounded to two decimals.

    Features whose fitted weight has the wrong sign (`SIGNS`) get 0.
    """
    free = sorted(examples[0][0])
    weights = _fitted(examples, free)
    while wrong := [feature for feature in free if weights[feature] * SIGNS[name].get(feature, 0) < 0]:
        free.remove(max(wrong, key=lambda feature: abs(weights[feature])))
        weights = _fitted(examples, free)
    return {feature: round(weights.get(feature, 0.0), 2) for feature in [*sorted(examples[0][0]), "bias"]}


def _fitted(examples: Sequence[Example], names: Sequence[str]) -> dict[str, float]:
    """Return the weights of a logistic regression on the named features, with its bias."""
    from sklearn.linear_model import LogisticRegression

    x = [[features[name] for name in names] for features, _ in examples]
    y = [label for _, label in examples]
    found = LogisticRegression(C=1 / PENALTY, solver="newton-cholesky", tol=1e-10).fit(x, y)
    return dict(zip(names, found.coef_[0].tolist(), strict=True)) | {"bias": float(found.intercept_[0])}


def train(samples: Sequence[Sample], reader: OfflineReader) -> dict[str, dict[str, float]]:
    """Return the models of the reader's way of reading, fitted on the given questions."""
    way = way_of(reader)
    examples: dict[str, list[Example]] = {name: [] for name in MODELS[way]}
    for sample in samples:
        for name, features, label in rows(sample, reader):
            examples[name].append((features, label))
    models = {name: fit(name, found) | {"threshold": THRESHOLDS[way][name]} for name, found in examples.items()}
    if way == relations.SPANS:
        models["same_entity"]["undescribed"] = UNDESCRIBED
        models["further_spans"] = FURTHER_SPANS
    return models


def write(way: str, models: dict[str, dict[str, float]], path: Path) -> None:
    """Store the models of one way of reading in the common file of both."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    command = "python -m training.relations --data DIR"
    command += " --extractive-reader none" if way == relations.SENTENCES else ""
    found[way] = {"about": f"Fitted on {FITTED_ON[way]} by: {command}", "models": models}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models and write their weights."""
    parser = argparse.ArgumentParser(prog="python -m training.relations", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument(
        "--extractive-reader", default=BUNDLED, help="what reads the contexts; none: sentences are ranked"
    )
    parser.add_argument("--out", type=Path, default=relations.WEIGHTS, help="where the weights are written")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    extractive = open_extractive_reader(options.extractive_reader)
    reader, halves = OfflineReader(CachedEmbedder(open_embedder()), extractive), extractive is None
    samples = open_dataset("ramdocs", options.data, QUESTIONS).samples
    models = train(chosen(samples, "development" if halves else "validation", halves=halves), reader)
    write(way_of(reader), models, options.out)
    sys.stderr.write(f"{options.out}: {', '.join(models)}\n")


if __name__ == "__main__":
    main()

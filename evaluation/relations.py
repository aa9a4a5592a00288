"""Train the offline reader's models of relations between contexts on RAMDocs, and report how right they are.

    python -m preflight_rag.evaluation.relations --data DIR [--write]

Questions fall into halves by the first byte of the SHA-256 of the question: the models are fitted on the even half
(development), the tables are of the odd one (test). Labels come from the data set: a context that is not noise answers;
two are about one thing when the right answers of their things are the same; two about one thing give one answer when
the data set gives them the same. A misinforming context is about the same thing as the right one that it is an edited
copy of (`EDITED_COPY`); where there is none, its pairs are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..models import offline_relations as relations
from ..models.embedder import open_embedder
from ..models.offline import OfflineReader
from ..models.offline_relations import Features
from ..models.words import words
from ..state.reading import Source
from .abstention import Remembering, table
from .metrics import roc_area
from .records import find, json_lines

if TYPE_CHECKING:
    import numpy as np

ORIGIN = "github.com/HanNight/RAMDocs"
EDITED_COPY = 0.3
"""Least Jaccard index of two contexts' words at which one is taken for an edited copy of the other."""
PENALTY = 1.0
"""L2 penalty on the weights, which are of features in about [0, 1]."""
STEPS = 30
THRESHOLDS = {"answers": 0.7, "same_entity": 0.6, "same_answer": 0.7}
"""Probability from which each model says yes, chosen on the development half by `python -m
preflight_rag.evaluation.corg --part development`."""

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
"""The sign that a feature's weight must have, where reason gives one."""

Type = Literal["correct", "misinfo", "noise"]
Row = tuple[Features, bool]


@dataclass(frozen=True)
class Context:
    """A document of a question: what it is to the question, and the answer that the data set says it gives."""

    source: Source
    type: Type
    answer: str


@dataclass(frozen=True)
class Question:
    """A question of RAMDocs with its contexts, right and wrong answers, and the names of the things it may mean."""

    text: str
    contexts: tuple[Context, ...]
    gold: tuple[str, ...]
    wrong: tuple[str, ...]
    entities: tuple[str, ...]

    @property
    def half(self) -> int:
        """0 is the development half, 1 the test half."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2

    @property
    def sources(self) -> list[Source]:
        """The contexts as a reader takes them, numbered from 1."""
        return [context.source for context in self.contexts]


def questions(data: Path) -> list[Question]:
    """RAMDocs, from github.com/HanNight/RAMDocs.

    Raises:
        UsageError: The file is not there.
        UnreadableDocument: It is damaged.
    """
    path = find(data / "ramdocs", "RAMDocs_test.jsonl", origin=ORIGIN)
    found = []
    for _, entry in json_lines(path):
        contexts = tuple(
            Context(Source(n, f"p{n}", "", document["text"]), document["type"], document["answer"])
            for n, document in enumerate(entry["documents"], 1)
        )
        entities = tuple(entry["disambig_entity"])
        wrong = tuple(dict.fromkeys(entry["wrong_answers"]))
        found.append(Question(entry["question"], contexts, tuple(entry["gold_answers"]), wrong, entities))
    return found


def normal(text: str) -> str:
    """Words of a text, punctuation and case aside."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def things(question: Question) -> dict[int, str]:
    """For each context by number the right answer of the thing that it is about, where that is known."""
    right = {context.source.n: context for context in question.contexts if context.type == "correct"}
    found = {n: normal(context.answer) for n, context in right.items()}
    for context in question.contexts:
        if context.type == "misinfo" and right:
            alike = {n: _alike(context.source.text, other.source.text) for n, other in right.items()}
            nearest = max(alike, key=lambda n: (alike[n], -n))
            if alike[nearest] >= EDITED_COPY:
                found[context.source.n] = normal(right[nearest].answer)
    return found


def _alike(a: str, b: str) -> float:
    first, second = set(words(a)), set(words(b))
    return len(first & second) / len(first | second) if first | second else 0.0


def rows(question: Question, reader: OfflineReader) -> Iterator[tuple[str, Row]]:
    """Training rows of a question: the model's name, features, label."""
    read = {source.n: reader.contexts.read(question.text, source) for source in question.sources}
    about = things(question)
    for context in question.contexts:
        yield "answers", (read[context.source.n].features, context.type != "noise")
    telling = [context for context in question.contexts if context.type != "noise"]
    for a, b in combinations(telling, 2):
        if a.source.n not in about or b.source.n not in about:
            continue
        features = relations.pair_features(read[a.source.n], read[b.source.n])
        one_thing = about[a.source.n] == about[b.source.n]
        yield "same_entity", (features, one_thing)
        if one_thing:
            yield "same_answer", (features, normal(a.answer) == normal(b.answer))


def fit(name: str, examples: Sequence[Row]) -> dict[str, float]:
    """Weights of a logistic model, rounded to two decimals; features whose weight has a sign against `SIGNS` get 0."""
    free = sorted(examples[0][0])
    weights = _newton(examples, free)
    while wrong := [feature for feature in free if weights[feature] * SIGNS[name].get(feature, 0) < 0]:
        free.remove(max(wrong, key=lambda feature: abs(weights[feature])))
        weights = _newton(examples, free)
    return {feature: round(weights.get(feature, 0.0), 2) for feature in [*sorted(examples[0][0]), "bias"]}


def _newton(examples: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """Weights by Newton's method; `bias` is not penalised."""
    import numpy as np

    x, y = _matrix(examples, names)
    penalty = np.diag([*[PENALTY] * len(names), 1e-6])
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        curvature = (x * (p * (1 - p))[:, None]).T @ x + penalty
        weights -= np.linalg.solve(curvature, x.T @ (p - y) + penalty @ weights)
    return dict(zip([*names, "bias"], weights.tolist(), strict=True))


def _matrix(examples: Sequence[Row], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    x = np.array([[*(features[name] for name in names), 1.0] for features, _ in examples])
    return x, np.array([float(label) for _, label in examples])


def train(asked: Sequence[Question], reader: OfflineReader) -> dict[str, dict[str, float]]:
    """The three models, fitted on the given questions."""
    examples: dict[str, list[Row]] = {name: [] for name in THRESHOLDS}
    for question in asked:
        for name, row in rows(question, reader):
            examples[name].append(row)
    return {name: fit(name, found) | {"threshold": THRESHOLDS[name]} for name, found in examples.items()}


def write(models: dict[str, dict[str, float]], path: Path) -> None:
    """The models as a readable file."""
    about = (
        "Logistic models of the offline reader for COrg, fitted on the development half of RAMDocs (even first byte of "
        "the question's SHA-256) by: python -m preflight_rag.evaluation.relations --data DIR --write"
    )
    path.write_text(json.dumps({"about": about, "models": models}, indent=1) + "\n", encoding="utf-8")


def score_table(asked: Sequence[Question], reader: OfflineReader) -> str:
    """How right each model is on the given questions."""
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in THRESHOLDS}
    for question in asked:
        for name, (features, label) in rows(question, reader):
            found[name].append((relations.probability(name, features), label))
    lines = []
    for name, pairs in found.items():
        least = relations.models()[name]["threshold"]
        labels = [label for _, label in pairs]
        right = sum((p >= least) == label for p, label in pairs) / len(pairs)
        often = max(sum(labels), len(labels) - sum(labels)) / len(labels)
        area = roc_area([p for p, _ in pairs], labels, seed=0)
        cell = f"{area.value:.3f} [{area.low:.3f}, {area.high:.3f}]"
        lines.append([name, f"{len(pairs)}", f"{sum(labels) / len(labels):.3f}", f"{often:.3f}", f"{right:.3f}", cell])
    head = ["model", "cases", "share of yes", "accuracy of the commoner label", "accuracy", "area under ROC"]
    return table(head, lines)


def relation_table(asked: Sequence[Question], reader: OfflineReader) -> str:
    """Relations between contexts that answer, by what the data set says of them (rows) and by the reader (columns)."""
    truths = ("duplicated", "counterfactual", "different things")
    kinds = ("duplicated", "counterfactual", "distracting", "ambiguous", "none")
    counts = {truth: dict.fromkeys(kinds, 0) for truth in truths}
    for question in asked:
        about, answers = things(question), {c.source.n: normal(c.answer) for c in question.contexts}
        known = {source.n: source for source in question.sources if source.n in about}
        for a, b in combinations(known, 2):
            same = about[a] == about[b]
            truth = ("duplicated" if answers[a] == answers[b] else "counterfactual") if same else "different things"
            compared = reader.contexts.compare(question.text, known[a], [known[b]])
            counts[truth][compared.kinds[b]] += 1
    lines = [[truth, *(str(counts[truth][kind]) for kind in kinds)] for truth in truths]
    return table(["by the data set", *kinds], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models when asked to, and print the tables of the test half."""
    parser = argparse.ArgumentParser(prog="python -m preflight_rag.evaluation.relations", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument("--write", action="store_true", help="fit the models and write their weights")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    reader = OfflineReader(Remembering(open_embedder()))
    asked = questions(Path(options.data))
    if options.write:
        write(train([question for question in asked if question.half == 0], reader), relations.WEIGHTS)
        relations.models.cache_clear()
    test = [question for question in asked if question.half == 1]
    sys.stdout.write(f"Test half of RAMDocs, {len(test)} questions.\n\n{score_table(test, reader)}\n\n")
    sys.stdout.write(f"{relation_table(test, reader)}\n")


if __name__ == "__main__":
    main()

"""Train the offline reader's models of relations between contexts on RAMDocs, and report how right they are.

    python -m preflight_rag.evaluation.experiments.relations --data DIR \
      [--extractive-reader none] [--part PART] [--write]

Labels come from the data set: a context that is not noise answers; two are about one thing when the right answers of
their things are the same; two about one thing give one answer when the data set gives them the same. A misinforming
context is about the same thing as the right one that it is an edited copy of (`EDITED_COPY`); where there is none, its
pairs are left out.

By sentences (`--extractive-reader none`) questions fall into halves by the first byte of the SHA-256 of the question:
the models are fitted on the even one (development); the tables are of the odd one (test). By the trained reader's spans
its own parts count (`reader_examples.part_of`): it was trained on the part train, where it says too much, so the models
are fitted on validation, their thresholds chosen there; the tables are of test.
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

from preflight_rag.evaluation.experiments.keyless_abstention import Remembering, table
from preflight_rag.evaluation.intervals import wilson
from preflight_rag.evaluation.metrics import roc_area
from preflight_rag.evaluation.records import find, json_lines
from preflight_rag.evaluation.report import number
from preflight_rag.evaluation.samples import reader_part_of
from preflight_rag.models.embedding.embedder import open_embedder
from preflight_rag.models.reading.extractive_reader import OWN, open_extractive_reader
from preflight_rag.offline import relations as relations
from preflight_rag.offline.context_readings import Features
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.reading import Source
from preflight_rag.state.values import RelationKind
from preflight_rag.text.words import words

if TYPE_CHECKING:
    import numpy as np

PARTS = ("train", "validation", "test", "development", "all")
ORIGIN = "github.com/HanNight/RAMDocs"
EDITED_COPY = 0.3
"""Least Jaccard index of two contexts' words at which one is taken for an edited copy of the other."""
PENALTY = 1.0
"""L2 penalty on the weights, which are of features in about [0, 1]."""
STEPS = 30
THRESHOLDS = {
    relations.SENTENCES: {"answers": 0.7, "same_entity": 0.6, "same_answer": 0.7},
    relations.SPANS: {"same_entity": 0.4, "same_answer": 0.7},
}
"""Probability from which each model says yes, by way of reading; for sentences chosen by the tables of `python -m
preflight_rag.evaluation.corg --part development`, for spans on the validation part, each fourth of it judged by models
fitted on the rest."""
UNDESCRIBED = 0.3
"""The same for one thing where a context of spans has no descriptor."""
FURTHER_SPANS = {"behind": 2.0}
"""How far behind the best one, in logits, a further answer of a context may lie, chosen there too."""
FITTED_ON = {
    relations.SENTENCES: "the development half of RAMDocs (even first byte of the question's SHA-256)",
    relations.SPANS: "the validation part of RAMDocs (`preflight_rag/evaluation/reader_data.py`)",
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
    def half(self) -> str:
        """Where it stands for the sentence reader: development or test."""
        return "test" if hashlib.sha256(self.text.encode()).digest()[0] % 2 else "development"

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
    """Training rows of a question: the model's name, features, label; which context answers, of sentences only."""
    sources = question.sources
    read = dict(zip((s.n for s in sources), reader.contexts.read_all(question.text, sources), strict=True))
    about = things(question)
    for context in question.contexts:
        if "answers" in reader.contexts.models:
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
    """The models of the reader's way of reading, fitted on the given questions."""
    way = way_of(reader)
    examples: dict[str, list[Row]] = {name: [] for name in THRESHOLDS[way]}
    for question in asked:
        for name, row in rows(question, reader):
            examples[name].append(row)
    models = {name: fit(name, found) | {"threshold": THRESHOLDS[way][name]} for name, found in examples.items()}
    if way == relations.SPANS:
        models["same_entity"]["undescribed"] = UNDESCRIBED
        models["further_spans"] = FURTHER_SPANS
    return models


def way_of(reader: OfflineReader) -> str:
    """How a reader reads contexts: by sentences or by spans."""
    return relations.SENTENCES if "answers" in reader.contexts.models else relations.SPANS


def write(way: str, models: dict[str, dict[str, float]], path: Path) -> None:
    """The models of a way of reading, put into the readable file of both."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    command = "python -m preflight_rag.evaluation.experiments.relations --data DIR --write"
    command += " --extractive-reader none" if way == relations.SENTENCES else ""
    found[way] = {"about": f"Fitted on {FITTED_ON[way]} by: {command}", "models": models}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def score_table(asked: Sequence[Question], reader: OfflineReader) -> str:
    """How right each model is on the given questions."""
    models = reader.contexts.models
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in THRESHOLDS[way_of(reader)]}
    for question in asked:
        for name, (features, label) in rows(question, reader):
            found[name].append((relations.probability(models[name], features), label))
    lines = []
    for name, pairs in found.items():
        least = models[name]["threshold"]
        labels = [label for _, label in pairs]
        right = sum((p >= least) == label for p, label in pairs) / len(pairs)
        often = max(sum(labels), len(labels) - sum(labels)) / len(labels)
        area = roc_area([p for p, _ in pairs], labels, seed=0)
        cell = f"{area.value:.3f} [{area.low:.3f}, {area.high:.3f}]"
        lines.append([name, f"{len(pairs)}", f"{sum(labels) / len(labels):.3f}", f"{often:.3f}", f"{right:.3f}", cell])
    head = ["model", "cases", "share of yes", "accuracy of the commoner label", "accuracy", "area under ROC"]
    return table(head, lines)


TRUTHS: dict[str, frozenset[RelationKind]] = {
    "duplicated": frozenset({"duplicated", "ambiguous"}),
    "counterfactual": frozenset({"counterfactual"}),
    "different things": frozenset({"distracting", "none"}),
}
"""What the data set says of two contexts, and the relations that say the same."""


def related_pairs(asked: Sequence[Question], reader: OfflineReader) -> Iterator[tuple[str, RelationKind, bool]]:
    """Of each two contexts that answer: what the data set says, the reader's relation, whether it has both answer."""
    for question in asked:
        about, answers = things(question), {c.source.n: normal(c.answer) for c in question.contexts}
        known = {source.n: source for source in question.sources if source.n in about}
        for a, b in combinations(known, 2):
            same = about[a] == about[b]
            truth = ("duplicated" if answers[a] == answers[b] else "counterfactual") if same else "different things"
            compared = reader.contexts.compare(question.text, known[a], [known[b]])
            answered = all(note.answer is not None for note in compared.notes.values())
            yield truth, compared.kinds[b], answered


def relation_table(asked: Sequence[Question], reader: OfflineReader) -> str:
    """Relations between contexts that answer, by what the data set says of them (rows) and by the reader (columns)."""
    kinds: tuple[RelationKind, ...] = ("duplicated", "ambiguous", "counterfactual", "distracting", "none")
    found = list(related_pairs(asked, reader))
    lines = [
        [truth, *(str(sum(pair[:2] == (truth, kind) for pair in found)) for kind in kinds), _right(found, truth)]
        for truth in TRUTHS
    ]
    total = ["all", *(str(sum(kind == told for _, told, _ in found)) for kind in kinds), _right(found)]
    both = [pair for pair in found if pair[2]]
    read = [f"both found to answer ({len(both)})", *(str(sum(kind == k for _, k, _ in both)) for kind in kinds)]
    return table(["by the data set", *kinds, "right, %"], [*lines, total, [*read, _right(both)]])


def _right(found: Sequence[tuple[str, RelationKind, bool]], among: str | None = None) -> str:
    pairs = [(kind in TRUTHS[truth]) for truth, kind, _ in found if among in (None, truth)]
    return number(wilson(sum(pairs), len(pairs)), percent=True) if pairs else "–"


def select(asked: Sequence[Question], part: str, *, halves: bool) -> list[Question]:
    """The questions of a part: a half (development or test), with a reader of spans one of its own parts; or all."""
    if part == "development" or (halves and part == "test"):
        return [question for question in asked if question.half == part]
    return [question for question in asked if part in ("all", reader_part_of(question.text))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models when asked to, and print the tables of a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("PREFLIGHT_DATA"), help="folder of the data sets")
    parser.add_argument("--extractive-reader", default=OWN, help="what reads the contexts; none: sentences are ranked")
    parser.add_argument("--part", choices=PARTS, default="test", help="the questions of the tables")
    parser.add_argument("--write", action="store_true", help="fit the models and write their weights")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give --data DIR or PREFLIGHT_DATA")
    extractive = open_extractive_reader(options.extractive_reader)
    reader = OfflineReader(Remembering(open_embedder()), extractive)
    asked = questions(Path(options.data))
    if options.write:
        fitted = train(
            select(asked, "development" if extractive is None else "validation", halves=extractive is None), reader
        )
        write(way_of(reader), fitted, relations.WEIGHTS)
        relations.models.cache_clear()
    chosen = select(asked, options.part, halves=extractive is None)
    sys.stdout.write(f"RAMDocs, {options.part} part, {len(chosen)} questions.\n\n{score_table(chosen, reader)}\n\n")
    sys.stdout.write(f"{relation_table(chosen, reader)}\n")


if __name__ == "__main__":
    main()

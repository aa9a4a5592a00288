"""Experiment `abstention`: does the model answer if its passages have the answer, and say so if they do not?

A question comes with 16 passages, the nearest to it in its data set. If the data set has an answer, it is asked twice:
with a passage that gives it among them ("answerable"), and with all such passages removed ("removed"; the rest is on
the same subject). Questions that the data set calls unanswerable, as in ClapNQ, are asked once ("unanswerable"). Both
ways to answer are tested: all passages at once, and partitions of four with their extracts combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evaluation.bench import Bench, data_inputs
from evaluation.compare import compare, p_value
from evaluation.experiments.keyless_abstention import PARTITION, PASSAGES
from evaluation.harness.asking import open_asking
from evaluation.plots import BarPlot
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow, complete
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample
from evaluation.stages import map_reduce, plain
from evaluation.vector_cache import CachedEmbedder, cached_embedder
from preflight_rag.ingest.splitting.sentence_splitter import SentenceSplitter
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

POOL = 64
"""Least number of passages in the pool: the questions' own, filled up with those of other questions (a guess)."""
POOL_SHARE = 4
"""Passages for each question in the pool, if that is more (a guess)."""
ANSWERING = ("gold", "support", "contradict")
"""Roles of passages that answer their question."""
KINDS = {"answerable": True, "removed": False, "unanswerable": False}
"""Whether a case of each kind should be answered."""
PLAIN, REDUCED = "all at once", "in partitions"
ALL = "all"


@dataclass(frozen=True)
class VectorPool:
    """Passages of a data set with their vectors.

    Attributes:
        passages: Each once.
        vectors: Shape (n, d).
        own: Indices of each question's own passages, by its id.
    """

    passages: tuple[Context, ...]
    vectors: np.ndarray
    own: Mapping[str, frozenset[int]]

    def holding(self, question: Sample) -> frozenset[int]:
        """Return the indices of the passages that give an answer: those labelled so, or containing its words."""
        names = [name for answer in question.answers for name in answer]
        return frozenset(
            place
            for place, passage in enumerate(self.passages)
            if (place in self.own[question.id] and passage.role in ANSWERING) or holds(passage.text, names)
        )


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with its passages, with and without those that answer it."""
    questions = found.select(run.part, run.limit)
    with cached_embedder(run) as embedder:
        pool = open_pool(found, questions, embedder, run)
        put = dict(cases(questions, pool, embedder))
        with open_asking(run, sorted(put, key=lambda question: bool(question.answerable))) as asking:
            bench = Bench(found, run, tuple(put), asking, asking.reader(embedder), data_inputs(found))
            arms = [plain(bench.reader, PLAIN), map_reduce(bench.reader, PARTITION, REDUCED)]
            rows = bench.ask(arms, lambda question: {question.label: put[question]})
        given = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    table, numbers, plot = decisions(rows, run.seed)
    about = (
        f"{len(questions):,} questions ({run.part} part), each put to {PASSAGES} of {len(pool.passages):,} passages; "
        f"model {bench.model}."
    )
    settings = {"passages": PASSAGES, "partition": PARTITION, "pool": len(pool.passages)}
    return bench.report("abstention", (table,), rows, numbers, (plot,), about=about, embedder=given, settings=settings)


def open_pool(found: DataSet, questions: Sequence[Sample], embedder: CachedEmbedder, run: ExperimentRun) -> VectorPool:
    """Return a pool of passages for the questions: those given with them, or else split from their documents.

    If these are too few, passages of the data set's other questions are added.

    Raises:
        UsageError: There are not enough passages for a question.
    """
    documents = {d.id: d for d in found.corpus()} if found.corpus and not any(q.given for q in questions) else {}
    splitter, least = SentenceSplitter(embedder), max(POOL, POOL_SHARE * len(questions))
    split = cache(lambda name: _split(documents[name], splitter) if name in documents else [])
    passages: dict[tuple[str, str], Context] = {}
    own: dict[str, frozenset[int]] = {}
    asked = {question.id for question in questions}
    for question in (*questions, *(q for q in found.samples if q.id not in asked)):
        if question.id not in asked and len(passages) >= least:
            break
        mine = question.given or [p for name in sorted(question.documents) for p in split(name)]
        for passage in mine:
            passages.setdefault((passage.title, passage.text), passage)
        if question.id in asked:
            places = {key: place for place, key in enumerate(passages)}
            own[question.id] = frozenset(places[passage.title, passage.text] for passage in mine)
    if len(passages) <= PASSAGES:
        raise UsageError(
            f"{found.name} has {len(passages)} passages, too few to put a question to {PASSAGES} of them",
            help="Choose a data set that has more, or give your questions contexts.",
        )
    kept = tuple(passages.values())
    run.progress(f"{found.name}: passages", 0, len(kept))
    vectors = embedder.encode_passages([(p.title, p.text) if p.title else p.text for p in kept])
    run.progress(f"{found.name}: passages", len(kept), len(kept))
    return VectorPool(kept, vectors, own)


def _split(document: Document, splitter: SentenceSplitter) -> list[Context]:
    """Return the passages of a document."""
    passages = splitter.split(document)
    return [Context(f"{document.id}#{n}", passage.title, passage.text) for n, passage in enumerate(passages)]


def cases(
    questions: Sequence[Sample], pool: VectorPool, embedder: CachedEmbedder
) -> Iterator[tuple[Sample, tuple[Source, ...]]]:
    """Yield each question once for each kind of case (the kind is appended to its id), with its passages."""
    for question in questions:
        near = (-(pool.vectors @ embedder.encode_query(question.question))).argsort(kind="stable").tolist()
        if not question.answers:
            yield _put(question, "unanswerable", near[:PASSAGES], pool)
            continue
        holding = pool.holding(question)
        without = [place for place in near if place not in holding]
        if holding:
            shown, first = near[:PASSAGES], next(place for place in near if place in holding)
            yield _put(question, "answerable", shown if first in shown else [*shown[:-1], first], pool)
        if len(without) >= PASSAGES:
            yield _put(question, "removed", without[:PASSAGES], pool)


def _put(question: Sample, kind: str, places: Sequence[int], pool: VectorPool) -> tuple[Sample, tuple[Source, ...]]:
    """Return a question of a kind, and the passages of the pool at the given places that it is asked with."""
    shown = [pool.passages[place] for place in places]
    holding = pool.holding(question) if KINDS[kind] else frozenset()
    given = tuple(replace(p, role="gold" if at in holding else "noise") for p, at in zip(shown, places, strict=True))
    put = replace(question, id=f"{question.id} {kind}", label=kind, answerable=KINDS[kind], given=given)
    put = put if KINDS[kind] else replace(put, documents=frozenset())
    return put, tuple(Source(n, p.id, p.title, p.text, p.source, p.date or None) for n, p in enumerate(shown, 1))


def decided(row: ScoreRow) -> bool:
    """Return whether an arm answered an answerable question, right or wrong, or abstained from another."""
    silent = any(row.details[name] for name in ("abstained", "refused", "unreadable", "error"))
    return silent != KINDS[row.condition]


def decisions(rows: Sequence[ScoreRow], seed: int) -> tuple[Table, dict[str, Any], BarPlot]:
    """Return shares answered and abstained by kind of case, and the two ways compared on all of them."""
    kept = complete(rows)
    conditions = {row.condition for row in kept}
    kinds = {kind: [kind] for kind in KINDS if kind in conditions}
    found = compare(
        [replace(row, score=row.score if row.score is None else float(decided(row))) for row in rows],
        columns={**kinds, ALL: list(kinds)},
        pairs={f"{REDUCED} − {PLAIN}": ((REDUCED, ALL), (PLAIN, ALL))},
        seed=seed,
    )
    rightly = compare([replace(row, score=float((row.score or 0) >= 1)) for row in kept], columns=kinds, pairs={},
                   seed=seed)  # fmt: skip
    lines: list[tuple[str, ...]] = []
    numbers: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        count = len(found.scores[PLAIN][kind])
        numbers[kind] = {"cases": count}
        cells: list[str] = []
        for arm in (PLAIN, REDUCED):
            decision, right = found.estimates[arm][kind], rightly.estimates[arm][kind]
            numbers[kind][arm] = {"decided": decision.as_json()} | ({"right": right.as_json()} if KINDS[kind] else {})
            cells += [number(decision, percent=True), number(right, percent=True) if KINDS[kind] else ""]
        lines.append((f"{kind}: {'answered' if KINDS[kind] else 'abstained'}", str(count), *cells))
    (test,) = found.tests.values()
    note = (
        "Percent [95 %: Wilson]. Right: of the answerable, those whose answer is right (of a long answer: every word). "
        f"Of all cases, {REDUCED} − {PLAIN}: {number(test.difference, percent=True, signed=True)} points decided "
        f"rightly, {test.wins} won, {test.losses} lost (McNemar's exact test: p {p_value(test.p)})."
    )
    head = ("case: decided rightly", "cases", PLAIN, "and right", REDUCED, "and right")
    label = "answered where there is an answer, abstained where there is none"
    bars = compare(found.rows, columns=kinds, pairs={}, seed=seed).bars("Decided rightly", label,
                                                                        "Intervals: 95 %, Wilson.")  # fmt: skip
    figures = {"cases": found.samples, "failed": found.failed, **numbers, "paired": test.as_json()}
    return Table("Answered and abstained", head, tuple(lines), note), figures, bars

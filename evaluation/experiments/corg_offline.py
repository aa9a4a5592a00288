"""Experiment `corg-offline`: the keyless reader's COrg answers beside its baselines', and what is shown side by side.

Every system reads the same contexts of a question with the same reader; Base is also extended to COrg's length, and
Separate also quotes one sentence of each context. With a reader of spans the same tables follow for the sentence
reader, and their differences. A short answer is in the answer's lines, its sentence in the quote shown with it; recall
is of the lines, and once more of lines and quotes.

With `--extractive-reader none` questions are split into halves by the first byte of the SHA-256 of the question: odd is
the test half; even is the development half, on which the reader's relations were trained. With a reader of spans the
parts of its data are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from evaluation.bench import data_inputs, given_sources
from evaluation.compare import compare
from evaluation.corg_systems import (
    BASE,
    CORG,
    DRAWN_OUT,
    ONE_SENTENCE,
    SEPARATE,
    OrganisedContexts,
    SystemArms,
    with_passages,
)
from evaluation.experiments.relations import chosen
from evaluation.harness.arms import run_arms
from evaluation.harness.asking import open_asking
from evaluation.intervals import wilson
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow, complete
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.vector_cache import CachedEmbedder
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.opening import open_embedder, open_extractive_reader
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.text.citations import MARKS
from preflight_rag.text.words import words

SHOWN = (BASE, DRAWN_OUT, "Random", "KMeans", SEPARATE, ONE_SENTENCE, "Retrieve", CORG)
RECALL, QUOTED, ENTITIES = "answer recall", "with quotes", "entity recall"
WRONG, ALONE = "wrong shown", "wrong shown, no right answer shown"
UNMARKED = "wrong shown, not set beside a right one"
MEASURES = (RECALL, QUOTED, ENTITIES, WRONG, ALONE, UNMARKED)
SIDES = {
    "beside": "of those shown, beside a right one",
    "together": "of those shown, together with a right one as differing",
}
"""Shares of the wrong answers that are shown, over all questions."""
Pairs = set[frozenset[int]]


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask every system with the run's reader, and if that reads spans, also with the sentence reader."""
    extractive = open_extractive_reader(run.extractive_reader)
    asked = chosen(found.samples, run.part, halves=extractive is None, limit=run.limit)
    questions = {question.id: question for question in with_passages(asked)}
    embedder = CachedEmbedder(open_embedder(run.embedder))
    sentences = OfflineReader(embedder)
    readers = [sentences] if extractive is None else [OfflineReader(embedder, extractive), sentences]
    tables: list[Table] = []
    rows: list[ScoreRow] = []
    figures: dict[str, Any] = {}
    for reader in readers:
        systems = SystemArms(reader, sentences, seed=run.seed)
        with open_asking(run) as asking:
            stage = f"{found.name}: {reader.name}"
            answers = asyncio.run(run_arms(systems.arms(SHOWN), list(questions.values()), given_sources, asking, stage))
        measured = [
            replace(row, condition=reader.name, details={}, measure=name, score=value)
            for row in complete(answers)
            for name, value in measures(row, questions[row.sample], systems.organised[row.sample])
        ]
        made, figures[reader.name] = _tables(measured, reader.name, run.seed)
        tables += made
        rows += [replace(row, condition=reader.name) for row in answers] + measured
    if extractive is not None:
        tables.insert(2, readers_table(rows, [reader.name for reader in readers], run.seed))
    contexts = sum(len(question.given) for question in questions.values())
    return Report(
        experiment="corg-offline",
        dataset=found.title,
        about=f"{len(questions):,} questions ({run.part} part) with {contexts:,} contexts given.",
        tables=tuple(tables),
        rows=tuple(rows),
        figures=figures,
        inputs={**data_inputs(found), "model": OFFLINE, "readers": list(figures)},
    )


def measures(row: ScoreRow, question: Sample, made: OrganisedContexts) -> Iterator[tuple[str, float]]:
    """Yield the measures of one answer; shares of wrong answers only if the question has some.

    Args:
        row: The answer.
        question: The question.
        made: COrg's organisation of its contexts; only COrg's answer shows answers side by side.
    """
    lines = [MARKS.sub("", line) for line in row.details["reply"].splitlines()]
    text = "\n".join(lines)
    whole = "\n".join((text, *(quote for _, quote in row.details["quotes"])))
    entities = question.entities or tuple(dict.fromkeys(given.entity for given in question.given if given.entity))
    yield RECALL, fmean(holds(text, [answer]) for answer in question.names)
    yield QUOTED, fmean(holds(whole, [answer]) for answer in question.names)
    if entities:
        yield ENTITIES, fmean(is_named(entity, question.question, lines) for entity in entities)
    if question.wrong:
        wrong = [answer for answer in question.wrong if holds(text, [answer])]
        quotes = [(n, quote) for n, quote in row.details["quotes"] if row.arm == CORG and n in made.kept]
        beside, together = (set_beside(question, quotes, pairs) for pairs in (made.against, made.together))
        yield WRONG, len(wrong) / len(question.wrong)
        yield ALONE, 0.0 if holds(text, question.names) else len(wrong) / len(question.wrong)
        yield UNMARKED, sum(answer not in beside for answer in wrong) / len(question.wrong)
        yield "shown", len(wrong)
        yield "beside", sum(answer in beside for answer in wrong)
        yield "together", sum(answer in together for answer in wrong)
    yield "groups", float(row.details["route"].split()[0])
    yield "calls", row.calls
    yield "to relate", made.calls if row.arm == CORG else 0
    yield "words", len(text.split())


def is_named(entity: str, question: str, lines: Sequence[str]) -> bool:
    """Return whether a line has a descriptor's terms that the question lacks, or else all of its terms."""
    terms = frozenset(words(entity))
    wanted = terms - frozenset(words(question)) or terms
    return any(wanted <= frozenset(words(line)) for line in lines)


def set_beside(question: Sample, quotes: Sequence[tuple[int, str]], against: Pairs) -> frozenset[str]:
    """Return wrong answers quoted from contexts that contradict one quoted with a right answer."""
    right = {n for n, quote in quotes if holds(quote, question.names)}
    found = set()
    for n, quote in quotes:
        if any(frozenset((n, other)) in against for other in right):
            found |= {answer for answer in question.wrong if holds(quote, [answer])}
    return frozenset(found)


def _tables(measured: Sequence[ScoreRow], reader: str, seed: int) -> tuple[tuple[Table, Table], dict[str, Any]]:
    """Return a table with one line for each system, and one of COrg's paired differences in answer recall."""
    others = [name for name in SHOWN if name != CORG]
    columns = (RECALL, QUOTED)
    pairs = {f"{name} {column}": ((CORG, column), (name, column)) for name in others for column in columns}
    found = compare(measured, by="measure", columns=MEASURES, lines=SHOWN, pairs=pairs, seed=seed, wilson=False)
    sums: dict[tuple[str, str], float] = {}
    for row in measured:
        sums[row.arm, row.measure] = sums.get((row.arm, row.measure), 0.0) + (row.score or 0.0)
    count, lines = max(1, found.samples), []
    for name in SHOWN:
        mean = {column: sums.get((name, column), 0.0) / count for column in ("groups", "calls", "to relate", "words")}
        shown = int(sums.get((name, "shown"), 0))
        sides = (wilson(int(sums.get((name, side), 0)), shown) for side in SIDES)
        share = f"{100 * sums[name, 'calls'] / sums[SEPARATE, 'calls']:.0f} %"
        lines.append(
            (
                name,
                *(number(estimate, percent=True) for estimate in found.estimates[name].values()),
                *(number(side, percent=True) for side in sides),
                f"{mean['groups']:.2f}",
                f"{mean['calls']:.2f} ({mean['to relate']:.2f} to relate)",
                share,
                f"{mean['words']:.0f}",
            )
        )
    head = ("system", *MEASURES, *SIDES.values(), "groups", "reader calls", "of Separate's", "words")
    note = "Shares in %. Wrong answers are counted over the questions that have some. [95 %: bootstrap; Wilson.]"
    tables = Table(reader, head, tuple(lines), note), found.difference_grid(f"{reader}: COrg less the others")
    return tables, found.figures


def readers_table(rows: Sequence[ScoreRow], readers: Sequence[str], seed: int) -> Table:
    """Return a table of the span reader's differences from the sentence reader, paired by question."""
    named = dict(zip(readers, ("spans", "sentences"), strict=True))
    measured = [replace(row, arm=f"{row.arm}, {named[row.condition]}") for row in rows if row.measure]
    pairs: Mapping[str, Any] = {
        f"{name} {column}": ((f"{name}, spans", column), (f"{name}, sentences", column))
        for name in SHOWN
        for column in (RECALL, QUOTED, ENTITIES, UNMARKED)
    }
    found = compare(measured, by="measure", columns=MEASURES, pairs=pairs, seed=seed, wilson=False)
    return found.difference_grid("Spans less sentences")

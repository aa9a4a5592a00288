"""Experiment `trust`: which claims are made over real documents, and whether they are right; the main criterion.

Each question of a part is asked as a user asks it (`Preflight.ask`, no options, a conversation of its own) over the
library of that part's documents, which the product's own ingest has built. A claim is a headline (the outcome
"answered" with a short answer, a verdict or several answers), a listing, or the sentence that sources contradict each
other. `evaluation/trust_claims.py` judges the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.datasets.trust import KINDS, SILENT, TrustQuestion, TrustSet
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, bootstrap, share
from evaluation.report import Report, Table, checksums, number
from evaluation.rows import ScoreRow
from evaluation.samples import check_selection
from evaluation.searching import UNHURRIED
from evaluation.trust_claims import (
    JudgedAnswer,
    ShownCitations,
    announced,
    headline,
    judge,
    side_by_side,
    verdict_of,
)
from evaluation.trust_library import library_of, names_of, pair_name, pairs_of
from preflight_rag.state.context import GivenSettings
from preflight_rag.state.errors import UsageError
from preflight_rag.text.citations import cited_numbers, without_marks

if TYPE_CHECKING:
    import numpy as np

    from evaluation.runs import ExperimentRun
    from preflight_rag.app import Preflight
    from preflight_rag.state.values import Answer, Citation

SURE = 0.9
BINS = 10
NOT_PROSE = ("table", "metadata", "collection")

Measure: TypeAlias = Callable[[JudgedAnswer], bool | None]
"""Whether an answer passes; None if it does not count."""


def among(counts: Callable[[JudgedAnswer], object], passes: Callable[[JudgedAnswer], bool]) -> Measure:
    """Return a measure: whether an answer passes, among those that count."""
    return lambda item: passes(item) if counts(item) else None


MEASURES: dict[str, Measure] = {
    "headline or listing shown: right": among(lambda j: j.claimed and not j.question.given, lambda j: j.right),
    "headline shown: right": among(
        lambda j: j.claimed and not j.question.given and j.answer.outcome != "listing", lambda j: j.right
    ),
    "answerable questions with a headline or listing": among(lambda j: j.counts, lambda j: j.claimed),
    "answerable questions with a right one": among(lambda j: j.counts, lambda j: j.right),
    "shown at 90 % sure or more: right": among(
        lambda j: j.claimed and not j.question.given and (j.answer.confidence or 0) >= SURE, lambda j: j.right
    ),
    "no answer there, off topic, false premise: no headline": among(
        lambda j: j.question.kind in SILENT, lambda j: not j.claimed
    ),
    "verdicts opposite to the truth": among(
        lambda j: j.question.right and verdict_of(j.answer), lambda j: verdict_of(j.answer) != j.question.right
    ),
    "yes/no questions given a verdict": among(lambda j: j.question.right, lambda j: verdict_of(j.answer) is not None),
    "contradictions announced: true": among(lambda j: announced(j.answer), lambda j: j.question.kind == "disagree"),
    "two given passages that contradict: announced or set side by side": among(
        lambda j: j.question.given, lambda j: announced(j.answer) or side_by_side(j.question, j.answer)
    ),
    "… announced": among(lambda j: j.question.given, lambda j: announced(j.answer)),
    "… both quoted, as evidence or an answer": among(lambda j: j.question.given, lambda j: len(j.shown) > 1),
    "… one side alone claimed": among(lambda j: j.question.given, lambda j: j.claimed and not j.right),
    "documents of the library that disagree: announced or set side by side": among(
        lambda j: j.kind == "disagree", lambda j: announced(j.answer) or side_by_side(j.question, j.answer)
    ),
    "one document alone: no contradiction announced": among(
        lambda j: j.question.kind == "alone", lambda j: not announced(j.answer)
    ),
    "tables, metadata, collection: right": among(lambda j: j.question.kind in NOT_PROSE, lambda j: j.right),
    "right passage among the first three quotes' passages": lambda j: j.found,
    "right sentence among the first three quotes": lambda j: j.quoted,
    "other languages: nothing claimed": among(lambda j: j.question.kind == "language", lambda j: not j.claimed),
}
"""The measures by their lines in the table."""


def run(found: TrustSet, run: ExperimentRun) -> Report:
    """Ask the questions of the part, and judge the claims."""
    check_selection(run.part, run.limit)
    if run.part == "all":
        raise UsageError("trust has a library for each part", help="Choose --part test or --part development.")
    with open_asking(run) as asking:
        judged, given = _ask_all(found, run, asking.chat_model or "offline")
    rows = [row for item in judged for row in _rows(item, run.model)]
    tables, figures = _tables(judged, run.seed)
    about = f"{len(judged):,} questions ({run.part} part) over {given['library']['documents']:,} documents"
    return Report(
        experiment="trust",
        dataset=found.title,
        about=f"{about}, {given['library']['passages']:,} passages; reader: {run.model}.",
        tables=tables,
        rows=tuple(rows),
        figures=figures,
        inputs={"source": found.source, "licence": found.licence, "sha256": checksums(found.files), **given},
    )


def _ask_all(found: TrustSet, run: ExperimentRun, model: Any) -> tuple[list[JudgedAnswer], dict[str, Any]]:
    """Return every question's answer, judged, and the settings that the numbers depend on."""
    from preflight_rag.app import Preflight

    asked = found.select(run.part, run.limit)
    folder = library_of(found, run.part, run)
    pairs = pairs_of([question for question in asked if question.given], folder, run)
    settings: GivenSettings = {**UNHURRIED, "extractive_reader": run.extractive_reader}
    judged: list[JudgedAnswer] = []
    with (
        Preflight.open(folder / "library", model, embedder=run.embedder, **settings) as over_part,
        Preflight.open(pairs / "library", model, embedder=run.embedder, **settings) as over_pairs,
    ):
        stats = over_part.library.stats()
        names = names_of(over_part.library)
        ids = {name: document for document, name in names.items()}
        for done, question in enumerate(asked, 1):
            app, where = (over_pairs, (f"pair = {pair_name(question)}",)) if question.given else (over_part, ())
            if question.alone:
                where = (f"id = {ids[question.documents[0]]}",)
            judged.append(judge(question, *ask(app, question, where, names)))
            run.progress(f"{found.name}: questions", done, len(asked))
        embedder = over_part.library.embedder
    described = {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension}
    counts = {name: stats[name] for name in ("documents", "passages", "splitter")}
    return judged, {"library": counts, "embedder": described, "settings": dict(settings)}


def ask(
    app: Preflight, question: TrustQuestion, where: Sequence[str], names: Mapping[str, str]
) -> tuple[Answer, tuple[ShownCitations, ...]]:
    """Return the product's answer to a question and its citations, after the earlier questions of the conversation.

    Args:
        app: The application, opened over the library.
        question: The question.
        where: Filters, if only a part of the library is asked.
        names: The set's names of the library's documents, by their ids.
    """
    app.delete_thread(question.id)  # an interrupted run may have left one
    for earlier in question.before:
        app.ask(earlier, thread_id=question.id, where=where)
    answer = app.ask(question.question, thread_id=question.id, where=where)
    app.delete_thread(question.id)
    passages = app.library.passages([cited.passage_id for cited in answer.citations])
    texts = {passage.id: passage.text for passage in passages}
    shown = [
        ShownCitations(names.get(cited.document_id, ""), cited.title, quote, texts.get(cited.passage_id, ""))
        for cited, quote in quotes_of(answer)
    ]
    return answer, tuple(shown)


def quotes_of(answer: Answer) -> list[tuple[Citation, str]]:
    """Return the quotes of an answer as a person sees them, with their citations.

    Evidence may quote one passage twice, in paragraphs of their own, where its citation has the first quote alone.
    """
    if answer.outcome != "evidence":
        return [(cited, cited.quote) for cited in answer.citations]
    by_number = {cited.n: cited for cited in answer.citations}
    quoted, found = set[int](), []
    for paragraph in answer.answer.split("\n\n"):
        for n in cited_numbers(paragraph):
            if cited := by_number.get(n):
                found.append((cited, cited.quote if n not in quoted else without_marks(paragraph)))
                quoted.add(n)
    return found


def _rows(item: JudgedAnswer, arm: str) -> Iterator[ScoreRow]:
    """Yield a row for each measure for which an answer counts.

    The first one has everything that a human judge needs.
    """
    asked, answer = item.question, item.answer
    details = {
        "question": asked.question,
        "before": list(asked.before),
        "right": asked.right or [list(names) for names in asked.answers],
        "false": list(asked.false),
        "documents": list(asked.documents),
        "evidence": list(asked.evidence),
        "outcome": answer.outcome,
        "headline": headline(answer),
        "confidence": answer.confidence,
        "announced": announced(answer),
        "route": answer.route.name,
        "answer": answer.answer,
        "quotes": [{"document": shown.document, "quote": shown.quote} for shown in item.shown],
    }
    counted = {name: value for name, measure in MEASURES.items() if (value := measure(item)) is not None}
    for place, (name, value) in enumerate((counted or {"read": True}).items()):
        yield ScoreRow(
            asked.id, item.kind, arm, float(value), item.reason, measure=name, details={} if place else details
        )


def _tables(judged: Sequence[JudgedAnswer], seed: int) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """Return the measures with their intervals, and each kind of question by itself."""
    estimates = {}
    for name, measure in MEASURES.items():
        values = [float(value) for item in judged if (value := measure(item)) is not None]
        estimates[name] = share(values, seed=seed), len(values)
    sure = [j for j in judged if j.claimed and not j.question.given and j.answer.confidence is not None]
    levels = [item.answer.confidence or 0.0 for item in sure]
    error = calibration_error(levels, [float(item.right) for item in sure], seed=seed)
    lines = [(name, number(estimate, percent=True), f"{count}") for name, (estimate, count) in estimates.items()]
    lines.append(("error of calibration (ECE), %", number(error, percent=True), f"{len(sure)}"))
    note = "[95 %: Wilson for shares, bootstrap for the error of calibration, in ten bins of equal width.]"
    kinds = [kind for name in KINDS for kind in (name, f"{name}, two passages")]
    by_kind: dict[str, list[JudgedAnswer]] = {kind: [] for kind in kinds}
    for item in judged:
        by_kind[item.kind].append(item)
    heads = ("kind", "questions", "claimed %", "claims that are right %", "right passage in three %", "announced")
    figures = {name: estimate.as_json() | {"n": count} for name, (estimate, count) in estimates.items()}
    tables = (
        Table("What is claimed, and is it so", ("measure", "share %", "of"), tuple(lines), note),
        Table("By kind of question", heads, tuple((kind, *_shares(of)) for kind, of in by_kind.items() if of)),
    )
    return tables, figures | {"ECE": error.as_json() | {"n": len(sure)}}


def _shares(judged: Sequence[JudgedAnswer]) -> Iterator[str]:
    """Yield a kind's cells: its questions, claims, right claims, right passages, announced contradictions."""
    claims = [item.right for item in judged if item.claimed]
    passages = [item.found for item in judged if item.found is not None]
    yield f"{len(judged)}"
    yield f"{100 * len(claims) / len(judged):.0f}"
    yield f"{100 * sum(claims) / len(claims):.0f}" if claims else "–"
    yield f"{100 * sum(passages) / len(passages):.0f}" if passages else "–"
    yield f"{sum(announced(item.answer) for item in judged)}"


def calibration_error(confidence: Sequence[float], right: Sequence[float], *, seed: int) -> Estimate:
    """Return the expected calibration error: the mean gap between confidence and share right, over bins of equal width.

    (Guo et al. 2017, "On calibration of modern neural networks", section 3.)
    """

    def statistic(level: np.ndarray, hit: np.ndarray) -> np.ndarray:
        import numpy as np

        bins = np.minimum((level * BINS).astype(int), BINS - 1)
        gaps = [np.abs(np.where(bins == at, level - hit, 0.0).sum(axis=-1)) for at in range(BINS)]
        total: np.ndarray = np.sum(gaps, axis=0) / level.shape[-1]
        return total

    return bootstrap(statistic, list(confidence), list(right), seed=seed)

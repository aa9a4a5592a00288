"""Experiment `off-topic`: whether questions about other things are refused, and those that the documents answer kept.

A library holds whole documents. It is asked the questions that come with them, and as many of three other data sets (by
default over COVID-QA's articles; `--dataset DIR` takes the user's own documents and questions). A question is refused
if nothing is shown but that there is no answer. Questions are split into halves by their ids' hashes; of sets on which
the reader was trained, only questions not used for training are asked. Limits are set on the development half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluation import datasets
from evaluation.intervals import wilson
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample, sampled
from evaluation.searching import UNHURRIED, collection_library, inputs, library_folder
from preflight_rag.app import Preflight
from preflight_rag.models.opening import open_embedder
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Answer
from preflight_rag.text.headers import NOT_IN_DOCUMENTS

OTHERS = ("nq_open", "xquad_en", "ramdocs")
"""Data sets whose questions are about other things than the documents."""
QUESTIONS = 100
"""Questions of each kind, unless the run sets a number."""
ANSWERABLE, OFF_TOPIC = "answerable", "off topic"


def open_dataset(name: str, data: Path | None) -> DataSet:
    """Return the questions of a data set with a corpus, followed by those of other sets, labelled with the kind.

    Raises:
        UsageError: There is no such set, it has no documents, or a file is missing.
    """
    found = datasets.open_dataset(name, data, datasets.QUESTIONS)
    if found.corpus is None:
        raise UsageError(f"off-topic searches documents, and {name!r} has none", help="Try covidqa.")
    answerable = [replace(sample, label=ANSWERABLE) for sample in found.samples]
    others = [datasets.open_dataset(other, data, datasets.QUESTIONS) for other in OTHERS]
    asked = [
        replace(sample, id=f"{other.name} {sample.id}", label=OFF_TOPIC, documents=frozenset())
        for other in others
        for sample in other.samples
    ]
    files = (*found.files, *(file for other in others for file in other.files))
    return replace(found, files=files, samples=(*answerable, *asked))


def chosen(found: DataSet, run: ExperimentRun) -> Iterator[Sample]:
    """Yield the answerable questions of a part, and about as many of the other sets; at most `run.limit` in all."""
    most = run.limit or 2 * QUESTIONS
    answerable = tuple(sample for sample in found.samples if sample.label == ANSWERABLE)
    yield from replace(found, samples=answerable).select(run.part, (most + 1) // 2)
    for place, name in enumerate(OTHERS):
        of_set = tuple(sample for sample in found.samples if sample.id.startswith(f"{name} "))
        if count := (most // 2 + len(OTHERS) - 1 - place) // len(OTHERS):
            yield from replace(found, samples=of_set).select(run.part, count)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask the product each question over the library of all documents."""
    asked = list(chosen(found, run))
    found = sampled(found, (name for sample in asked for name in sample.documents), run.documents)
    rows: list[ScoreRow] = []
    with collection_library(found, run) as library:
        given = inputs(found, library)
    # The library's own embedder may cache vectors in a database, which is closed by now.
    embedder = open_embedder(run.embedder)
    folder = library_folder(found, f"{embedder.name} {embedder.revision}", run.library_cache)
    with Preflight.open(folder, "offline", embedder=embedder, **UNHURRIED) as app:
        for sample in run.each(asked, "off-topic: asking"):
            rows.append(_row(sample, app.ask(sample.question)))
    table, figures = _table(rows)
    about = f"{len(asked)} questions ({run.part} part)."
    return Report("off-topic", found.title, about, (table,), tuple(rows), figures, given)


def is_refused(answer: Answer) -> bool:
    """Return whether nothing of the documents is shown."""
    return answer.outcome == "not_found"


def _row(sample: Sample, answer: Answer) -> ScoreRow:
    """Return whether an answer refuses an off-topic question and keeps an answerable one, as a row."""
    refused = is_refused(answer)
    details = {
        "question": sample.question,
        "outcome": answer.outcome,
        "signals": {name: answer.route.signals.get(name) for name in ("nearness", "off_topic")},
        "not_in_documents": answer.answer.startswith(NOT_IN_DOCUMENTS),
        "quotes": [citation.quote for citation in answer.citations],
    }
    right = refused == (sample.label == OFF_TOPIC)
    return ScoreRow(sample.id, sample.label, "offline", float(right), details=details)


def _table(rows: list[ScoreRow]) -> tuple[Table, dict[str, object]]:
    """Return the shares of refused off-topic questions and of kept answerable ones."""
    lines: list[tuple[str, ...]] = []
    figures: dict[str, object] = {}
    for kind, words in ((OFF_TOPIC, "refused"), (ANSWERABLE, "kept")):
        scores = [row.score or 0.0 for row in rows if row.condition == kind]
        share = wilson(int(sum(scores)), len(scores))
        said = sum(bool(row.details["not_in_documents"]) for row in rows if row.condition == kind)
        lines.append((f"{kind}: {words}", number(share, percent=True), f"{len(scores)}", f"{said}"))
        figures[f"{kind}: {words}"] = share.as_json() | {"n": len(scores)}
    heads = ("questions", "share %", "of", f"“{NOT_IN_DOCUMENTS}”")
    return Table("Off topic and answerable", heads, tuple(lines)), figures

"""Adapters: questions about one long document each, QMSum's meetings by turn and COVID-QA's articles by sentence.

The units (turns, sentences) are the collection's documents, and each question may only be answered from those of its
own meeting or article.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from preflight_rag.evaluation import datasets
from preflight_rag.evaluation.long_documents import COVIDQA, QMSUM, covidqa_questions, meetings, texts
from preflight_rag.evaluation.records import find
from preflight_rag.evaluation.samples import DataSet, Sample, Span
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans


def open_dataset(name: str, data: Path | None) -> DataSet:
    """QMSum or COVID-QA in the folder `data/name`, or any other data set as `datasets.open_dataset` reads it.

    Raises:
        UsageError: As `datasets.open_dataset`.
        UnreadableDocument: A file holds something else than it should.
    """
    if data is None or name not in ADAPTERS:
        return datasets.open_dataset(name, data)
    return ADAPTERS[name](data / name)


def qmsum(folder: Path) -> DataSet:
    """QMSum's specific queries; relevant are the turns that annotators marked (val.jsonl)."""
    path = find(folder, "val.jsonl", origin=QMSUM)
    units: dict[str, tuple[Document, ...]] = {}
    queries: list[Sample] = []
    qrels: dict[str, dict[str, int]] = {}
    for meeting in meetings(path):
        name = f"meeting{meeting.number}"
        units[name] = _units(name, (f"{speaker}: {said}" for speaker, said in meeting.turns))
        for place, (text, spans) in enumerate(meeting.specific):
            worded = tuple(filter(None, meeting.specific_answers[place : place + 1]))
            query = Sample(f"{name}:{len(queries)}", text, answers=(worded,) if worded else (), document=name)
            marked = {turn for first, last in spans for turn in range(first, last + 1)}
            queries.append(query)
            qrels[query.id] = {units[name][turn].id: 1 for turn in sorted(marked)}
    return DataSet(
        name="qmsum",
        title="QMSum, turns of a meeting",
        source=QMSUM,
        licence="MIT",
        files=(path,),
        samples=datasets.judged(queries, qrels),
        relevance=qrels,
        corpus=lambda: chain.from_iterable(units.values()),
    )


def covidqa(folder: Path) -> DataSet:
    """COVID-QA's questions; relevant are the sentences that hold an answer's characters.

    documents.jsonl (`document_id`, `text`), and questions.jsonl as `covidqa_questions` reads it. Articles without a
    question are left out.
    """
    articles = find(folder, "documents.jsonl", origin=COVIDQA)
    asked = find(folder, "questions.jsonl", origin=COVIDQA)
    whole = {article.id: article.text for article in texts(articles, "document_id")}
    questions = tuple(covidqa_questions(asked))
    units: dict[str, tuple[Document, ...]] = {}
    spans: dict[str, list[Span]] = {}
    for name in dict.fromkeys(question.document for question in questions):
        if name not in whole:
            raise UnreadableDocument(
                f"{asked.name} asks about {name!r}", help=f"There is no such article in {articles}."
            )
        spans[name] = sentence_spans(whole[name])
        units[name] = _units(name, (whole[name][start:end] for start, end in spans[name]))
    qrels = {
        question.id: {
            units[question.document][at].id: 1
            for ((start, end),) in question.spans
            for at, (a, b) in enumerate(spans[question.document])
            if a < end and start < b
        }
        for question in questions
    }
    return DataSet(
        name="covidqa",
        title="COVID-QA, sentences of an article",
        source=COVIDQA,
        licence="Apache 2.0",
        files=(articles, asked),
        samples=datasets.judged(questions, qrels),
        relevance=qrels,
        corpus=lambda: chain.from_iterable(units.values()),
    )


def _units(name: str, found: Iterable[str]) -> tuple[Document, ...]:
    return tuple(Document(id=f"{name}#{place}", text=text, source=name) for place, text in enumerate(found))


ADAPTERS: dict[str, Callable[[Path], DataSet]] = {"qmsum": qmsum, "covidqa": covidqa}

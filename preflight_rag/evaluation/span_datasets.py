"""Adapters: questions about long documents with the stretches of text that answer them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path

from preflight_rag.evaluation.datasets import judged
from preflight_rag.evaluation.long_documents import (
    COVIDQA,
    EVIDENCE_INFERENCE,
    FINANCEBENCH,
    QMSUM,
    covidqa_questions,
    evidence_questions,
    filing_questions,
    filings,
    meetings,
    on_page,
    open_adapted,
    texts,
)
from preflight_rag.evaluation.records import find
from preflight_rag.evaluation.samples import DataSet, Sample, Spans
from preflight_rag.state.values import Document


def open_dataset(name: str, data: Path | None) -> DataSet:
    """The data set in the folder `data/name`.

    Raises:
        UsageError: It is unknown, or a file is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    return open_adapted(name, data, SPAN_ADAPTERS, "marks no answers in documents")


def covidqa(folder: Path) -> DataSet:
    """COVID-QA: documents.jsonl (`document_id`, `text`), and questions.jsonl as `covidqa_questions` reads it."""
    documents = find(folder, "documents.jsonl", origin=COVIDQA)
    path = find(folder, "questions.jsonl", origin=COVIDQA)
    questions = [question for question in covidqa_questions(path) if question.spans]
    read = partial(texts, documents, "document_id")
    return _collection("covidqa", "COVID-QA", COVIDQA, "Apache-2.0", (documents, path), questions, 20, read)


def evidence_inference(folder: Path) -> DataSet:
    """Evidence Inference 2.0: full texts of trials, and the evidence that annotators marked for each prompt.

    articles_txt.jsonl (`pmcid`, `text`), and prompts_annotated_v2.jsonl as `evidence_questions` reads it.
    """
    documents = find(folder, "articles_txt.jsonl", origin=EVIDENCE_INFERENCE)
    path = find(folder, "prompts_annotated_v2.jsonl", origin=EVIDENCE_INFERENCE)
    questions = [question for question in evidence_questions(path) if question.spans]
    read = partial(texts, documents, "pmcid")
    name, title = "evidence_inference", "Evidence Inference 2.0"
    return _collection(name, title, EVIDENCE_INFERENCE, "MIT", (documents, path), questions, 40, read)


def qmsum(folder: Path) -> DataSet:
    """QMSum: meetings, one line a turn, and the turns that each specific query is about (val.jsonl)."""
    path = find(folder, "val.jsonl", "test.jsonl", origin=QMSUM)
    questions: list[Sample] = []
    documents: list[Document] = []
    for meeting in meetings(path):
        name = f"{path.name.split('.')[0]}-{meeting.number}"
        lines = meeting.lines
        starts = list(accumulate(map(len, lines), initial=0))
        documents.append(Document(id=name, text="".join(lines), source=QMSUM))
        for position, (text, spans) in enumerate(meeting.specific):
            stretches = tuple((starts[first], starts[last + 1]) for first, last in spans)
            worded = tuple(filter(None, meeting.specific_answers[position : position + 1]))
            if stretches:
                answers = (worded,) if worded else ()
                questions.append(Sample(f"{name}-{position}", text, answers=answers, document=name, spans=(stretches,)))
    return _collection("qmsum", "QMSum", QMSUM, "MIT", (path,), questions, 15, lambda: iter(documents))


def financebench(folder: Path) -> DataSet:
    """FinanceBench: questions about filings (pdfs/*.pdf), with the text and the page of the evidence.

    The questions as `filing_questions` reads them. The evidence is looked for on its page by its letters and digits; a
    question with evidence that is not found is left out. Annual and quarterly reports (10-K, 10-Q) are left out too:
    one of them takes as long to embed as all the other filings.
    """
    path, pdfs = find(folder, "financebench_open_source.jsonl", origin=FINANCEBENCH), folder / "pdfs"
    asked = [
        (question, quotes)
        for question, quotes in filing_questions(path)
        if not question.document.endswith(("10K", "10Q")) and (pdfs / f"{question.document}.pdf").is_file()
    ]

    def located(ids: Collection[str]) -> Iterator[tuple[Document, Mapping[str, Spans]]]:
        for name, document in filings(pdfs, ids):
            found = {
                question.id: [on_page(document, *quote) for quote in quotes]
                for question, quotes in asked
                if question.document == name
            }
            yield document, {key: (tuple(filter(None, at)),) for key, at in found.items() if None not in at}

    title, licence = "FinanceBench, filings as PDF", "none stated; the filings are public"
    questions = [question for question, _ in asked]
    names = list(dict.fromkeys(question.document for question in questions))

    def documents() -> Iterator[Document]:
        return (document for _, document in filings(pdfs, names))

    made = _collection("financebench", title, FINANCEBENCH, licence, (path,), questions, 10, documents)
    return replace(made, corpus=documents, located=located)


SPAN_ADAPTERS: dict[str, tuple[Callable[[Path], DataSet], str]] = {
    "covidqa": (covidqa, COVIDQA),
    "evidence_inference": (evidence_inference, EVIDENCE_INFERENCE),
    "qmsum": (qmsum, QMSUM),
    "financebench": (financebench, FINANCEBENCH),
}
"""Name on the command line to adapter and place of publication."""


def _collection(
    name: str,
    title: str,
    source: str,
    licence: str,
    files: tuple[Path, ...],
    questions: Sequence[Sample],
    most: int,
    documents: Callable[[], Iterator[Document]],
) -> DataSet:
    asked_about = {question.document for question in questions}
    relevance = {question.id: {question.document: 1} for question in questions}
    return DataSet(
        name=name,
        title=title,
        source=source,
        licence=licence,
        files=files,
        samples=judged(questions, relevance),
        relevance=relevance,
        corpus=lambda: (document for document in documents() if document.id in asked_about),
        most_documents=most,
    )

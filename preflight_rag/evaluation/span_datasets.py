"""Adapters: questions about long documents with the stretches of text that answer them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from preflight_rag.evaluation.collection import Collection, part_of
from preflight_rag.evaluation.long_documents import (
    COVIDQA,
    EVIDENCE_INFERENCE,
    FINANCEBENCH,
    QMSUM,
    Answers,
    MarkedQuestion,
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
from preflight_rag.state.values import Document

Read: TypeAlias = Callable[[Sequence[str]], Iterator[tuple[Document, Mapping[str, Answers]]]]


@dataclass(frozen=True, kw_only=True)
class SpanCollection(Collection):
    """A collection of questions that are each answered by stretches of one long document.

    Attributes:
        queries: In the order of the file.
        sample: How many documents an experiment takes.
        read: Reads the documents of some ids, each with the answers to its questions by question id; a question whose
            answer is not found in the document has none.
    """

    queries: tuple[MarkedQuestion, ...]
    sample: int
    read: Read

    def select(self, part: str, limit: int | None = None) -> tuple[MarkedQuestion, ...]:
        """The part's questions about the sampled documents: those with the smallest hashes of their ids.

        Raises:
            UsageError: As `Collection.select`.
        """
        super().select(part, limit)  # for its refusals
        asked = [question for question in self.queries if part in ("all", part_of(question.id))]
        documents = sorted({question.document_id for question in asked}, key=_digest)[: self.sample]
        chosen = [question for question in asked if question.document_id in documents]
        return tuple(sorted(chosen, key=lambda q: (_digest(q.document_id), _digest(q.id)))[:limit])


def open_dataset(name: str, data: Path | None) -> SpanCollection:
    """The data set in the folder `data/name`.

    Raises:
        UsageError: It is unknown, or a file is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    return open_adapted(name, data, SPAN_ADAPTERS, "marks no answers in documents")


def covidqa(folder: Path) -> SpanCollection:
    """COVID-QA: documents.jsonl (`document_id`, `text`), and questions.jsonl as `covidqa_questions` reads it."""
    documents = find(folder, "documents.jsonl", origin=COVIDQA)
    path = find(folder, "questions.jsonl", origin=COVIDQA)
    questions = [question for question in covidqa_questions(path) if question.answers]
    read = _marked(lambda: texts(documents, "document_id"), questions)
    return _collection("covidqa", "COVID-QA", COVIDQA, "Apache-2.0", (documents, path), questions, 20, read)


def evidence_inference(folder: Path) -> SpanCollection:
    """Evidence Inference 2.0: full texts of trials, and the evidence that annotators marked for each prompt.

    articles_txt.jsonl (`pmcid`, `text`), and prompts_annotated_v2.jsonl as `evidence_questions` reads it.
    """
    documents = find(folder, "articles_txt.jsonl", origin=EVIDENCE_INFERENCE)
    path = find(folder, "prompts_annotated_v2.jsonl", origin=EVIDENCE_INFERENCE)
    questions = [question for question in evidence_questions(path) if question.answers]
    read = _marked(lambda: texts(documents, "pmcid"), questions)
    name, title = "evidence_inference", "Evidence Inference 2.0"
    return _collection(name, title, EVIDENCE_INFERENCE, "MIT", (documents, path), questions, 40, read)


def qmsum(folder: Path) -> SpanCollection:
    """QMSum: meetings, one line a turn, and the turns that each specific query is about (val.jsonl)."""
    path = find(folder, "val.jsonl", "test.jsonl", origin=QMSUM)
    questions: list[MarkedQuestion] = []
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
                questions.append(MarkedQuestion(f"{name}-{position}", text, name, (stretches,), worded))
    read = _marked(lambda: iter(documents), questions)
    return _collection("qmsum", "QMSum", QMSUM, "MIT", (path,), questions, 15, read)


def financebench(folder: Path) -> SpanCollection:
    """FinanceBench: questions about filings (pdfs/*.pdf), with the text and the page of the evidence.

    The questions as `filing_questions` reads them. The evidence is looked for on its page by its letters and digits; a
    question with evidence that is not found is left out. Annual and quarterly reports (10-K, 10-Q) are left out too:
    one of them takes as long to embed as all the other filings.
    """
    path, pdfs = find(folder, "financebench_open_source.jsonl", origin=FINANCEBENCH), folder / "pdfs"
    asked = [
        (question, quotes)
        for question, quotes in filing_questions(path)
        if not question.document_id.endswith(("10K", "10Q")) and (pdfs / f"{question.document_id}.pdf").is_file()
    ]

    def read(ids: Sequence[str]) -> Iterator[tuple[Document, Mapping[str, Answers]]]:
        for name, document in filings(pdfs, ids):
            located = {
                question.id: [on_page(document, *quote) for quote in quotes]
                for question, quotes in asked
                if question.document_id == name
            }
            yield document, {key: (tuple(filter(None, at)),) for key, at in located.items() if None not in at}

    title, licence = "FinanceBench, filings as PDF", "none stated; the filings are public"
    questions = [question for question, _ in asked]
    return _collection("financebench", title, FINANCEBENCH, licence, (path,), questions, 10, read)


SPAN_ADAPTERS: dict[str, tuple[Callable[[Path], SpanCollection], str]] = {
    "covidqa": (covidqa, COVIDQA),
    "evidence_inference": (evidence_inference, EVIDENCE_INFERENCE),
    "qmsum": (qmsum, QMSUM),
    "financebench": (financebench, FINANCEBENCH),
}
"""Name on the command line to adapter and place of publication."""


def _marked(documents: Callable[[], Iterator[Document]], questions: Sequence[MarkedQuestion]) -> Read:
    """Reads the documents with the answers that the questions hold."""

    def read(ids: Sequence[str]) -> Iterator[tuple[Document, Mapping[str, Answers]]]:
        for document in documents():
            if document.id in ids:
                yield document, {q.id: q.answers for q in questions if q.document_id == document.id}

    return read


def _collection(
    name: str,
    title: str,
    source: str,
    licence: str,
    files: tuple[Path, ...],
    questions: Sequence[MarkedQuestion],
    sample: int,
    read: Read,
) -> SpanCollection:
    asked_about = list(dict.fromkeys(question.document_id for question in questions))
    return SpanCollection(
        name=name,
        title=title,
        source=source,
        licence=licence,
        files=files,
        queries=tuple(questions),
        qrels={question.id: {question.document_id: 1} for question in questions},
        documents=lambda: (document for document, _ in read(asked_about)),
        sample=sample,
        read=read,
    )


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()

"""Adapters of questions with long answers or about long documents: MedQuAD, QMSum, FinanceBench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.evaluation.datasets import MEDQUAD
from preflight_rag.evaluation.datasets import medquad as medquad_collection
from preflight_rag.evaluation.long_documents import FINANCEBENCH, QMSUM, Meeting, filing_questions, filings, meetings
from preflight_rag.evaluation.question_sets import collected
from preflight_rag.evaluation.records import find
from preflight_rag.evaluation.samples import Context, DataSet, Sample, reader_part_of
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from lxml.etree import _Element

STRICTEST = ("train", "validation", "test")
"""The reader's parts; a question about several subjects belongs to the first part that one of them falls into."""


def medquad(folder: Path, name: str) -> DataSet:
    """MedQuAD: consumer-health questions, each asked once, with all answers to it as alternatives.

    The XML files as published, in their twelve folders (`Document` with `Focus`, and a `QAPair` with `Sample` and
    `Answer` for each question; pairs whose answer was removed are left out), or qa_pairs.jsonl as `datasets.medquad`
    reads it.
    """
    released = tuple(sorted(folder.glob("*_QA/*.xml")))
    if released:
        files, asked = released, _released_pairs(released)
    else:
        collection = medquad_collection(folder)
        files, answers = collection.files, {document.id: document for document in collection.documents()}
        asked = [
            (query.id, query.question, [answers[i] for i in collection.relevance[query.id]])
            for query in collection.samples
        ]
    questions = collected(((files[0].name, _health_question(*each)) for each in asked), files[0])

    def corpus() -> Iterator[Document]:
        return (document for _, _, answers in asked for document in answers)

    return DataSet(name, "MedQuAD", MEDQUAD, "CC BY 4.0", files, questions, corpus)


def _health_question(name: str, text: str, answers: list[Document]) -> Sample:
    return Sample(
        id=name,
        question=text,
        kind="long",
        answers=(tuple(document.text for document in answers),),
        documents=frozenset(document.id for document in answers),
        label=answers[0].title,
        key=min((document.title for document in answers), key=lambda focus: STRICTEST.index(reader_part_of(focus))),
    )


def _released_pairs(paths: Iterable[Path]) -> list[tuple[str, str, list[Document]]]:
    """Each distinct question: the id of its first answer, its text, its answers as documents titled by their focus."""
    asked: dict[str, tuple[str, str, list[Document]]] = {}
    ids: Counter[str] = Counter()
    for path in paths:
        root = _parsed(path)
        focus, url = root.findtext("Focus") or "", root.get("url") or ""
        for pair in root.iter("QAPair"):
            question, answer = pair.find("Question"), " ".join((pair.findtext("Answer") or "").split())
            text = " ".join((question.text or "").split()) if question is not None else ""
            if question is None or not text:
                raise UnreadableDocument(f"{path.name} line {pair.sourceline}: a QAPair has no Question")
            name = f"{path.parent.name}/{question.get('qid')}"
            ids[name] += bool(answer)
            if answer:
                name += f"~{ids[name]}" if ids[name] > 1 else ""
                document = Document(id=name, text=answer, title=focus.strip(), source=url)
                asked.setdefault(text.casefold(), (name, text, []))[2].append(document)
    return list(asked.values())


def _parsed(path: Path) -> _Element:
    from preflight_rag.library.loaders.xml import XMLSyntaxError, parse_xml

    try:
        return parse_xml(path.read_bytes())
    except (OSError, XMLSyntaxError) as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error}", help="Fetch the file anew.") from None


def qmsum(folder: Path, name: str) -> DataSet:
    """QMSum's queries about meetings: whole ones, and parts of them with the turns that answer; the corpus has it all.

    val.jsonl, or test.jsonl, as `meetings` reads it. A meeting is one document, a line a turn.
    """
    path = find(folder, "val.jsonl", "test.jsonl", origin=QMSUM)
    read = list(meetings(path))
    stem = path.name.partition(".")[0]
    questions = collected(
        ((f"{path.name} line {m.number + 1}", asked) for m in read for asked in _queries(m, f"{stem}-{m.number}")), path
    )

    def corpus() -> Iterator[Document]:
        for meeting in read:
            yield Document(id=f"{stem}-{meeting.number}", text="".join(meeting.lines), source=QMSUM)

    return DataSet(name, "QMSum", QMSUM, "MIT", (path,), questions, corpus)


def _queries(meeting: Meeting, document: str) -> Iterator[Sample]:
    lines = meeting.lines
    for i, ((text, spans), answer) in enumerate(zip(meeting.specific, meeting.specific_answers, strict=True)):
        given = tuple(
            Context(f"{document}-{i}/{first}", "", "".join(lines[first : last + 1]), role="gold", source=document)
            for first, last in spans
        )
        yield _about_meeting(f"{document}-{i}", text, answer, document, given, "part of a meeting")
    for i, (text, answer) in enumerate(meeting.general):
        yield _about_meeting(f"{document}-whole-{i}", text, answer, document, (), "whole meeting")


def _about_meeting(name: str, text: str, answer: str, document: str, given: tuple[Context, ...], label: str) -> Sample:
    return Sample(
        id=name,
        question=text,
        kind="long",
        answers=((answer,),) if answer else (),
        given=given,
        answerable=True if given else None,
        documents=frozenset({document}),
        label=label,
    )


def financebench(folder: Path, name: str) -> DataSet:
    """FinanceBench's questions about filings, with the quotes that are their evidence; the corpus is the PDF files.

    financebench_open_source.jsonl as `filing_questions` reads it, and pdfs/*.pdf. Questions about filings that are not
    there have no document to be found; a passage's source is its file and page.
    """
    path, pdfs = find(folder, "financebench_open_source.jsonl", origin=FINANCEBENCH), folder / "pdfs"
    there = [document.stem for document in sorted(pdfs.glob("*.pdf"))]

    def read() -> Iterator[tuple[str, Sample]]:
        for asked, quotes in filing_questions(path):
            given = tuple(
                Context(f"{asked.id}/{i}", asked.document, quote, role="gold", source=f"{asked.document}.pdf#{page}")
                for i, (quote, page) in enumerate(quotes)
            )
            yield (
                f"{path.name}: {asked.id}",
                Sample(
                    id=asked.id,
                    question=asked.question,
                    kind="long",
                    answers=asked.answers,
                    given=given,
                    answerable=True if given else None,
                    documents=frozenset({asked.document} & set(there)),
                ),
            )

    def corpus() -> Iterator[Document]:
        return (document.model_copy(update={"id": filing}) for filing, document in filings(pdfs, there))

    licence = "none stated; the filings are public"
    questions = collected(read(), path)
    return DataSet(name, "FinanceBench", FINANCEBENCH, licence, (path,), questions, corpus if there else None)

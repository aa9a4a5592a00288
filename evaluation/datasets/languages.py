"""Questions in another language than the documents that answer them.

The documents are XQuAD's English paragraphs, and twenty short ones of our own in German, French, Spanish, Chinese and
Japanese (`language_documents.jsonl`), all in one library. Fifty of XQuAD's questions were translated by us, ten to
each of these languages (`language_questions.jsonl`), and are asked in English too; about our own documents 26 questions
are asked in English. A question's `label` names the languages of the question and of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluation.datasets import squad
from evaluation.datasets.files import field, json_lines, listed
from evaluation.samples import DataSet, Sample
from preflight_rag.cache import file_sha256
from preflight_rag.state.values import Document

SOURCE = squad.SOURCE
LICENCE = f"{squad.LICENCE}, the translated questions too; our documents as this project"
TITLE = "Questions and documents in different languages"
HERE = Path(__file__).parent
QUESTIONS, DOCUMENTS = HERE / "language_questions.jsonl", HERE / "language_documents.jsonl"


def collection(folder: Path, name: str) -> DataSet:
    """Return XQuAD's paragraphs and our documents, with the document of each question as the relevant one."""
    english = squad.questions(folder, name)
    by_id = {sample.id: sample for sample in english.samples}
    samples: list[Sample] = []
    relevance: dict[str, dict[str, int]] = {}
    for place, record in json_lines(QUESTIONS):
        original, language = by_id[field(record, place, "xquad")], field(record, place, "language")
        asked = {language: field(record, place, "question"), "en": original.question}
        for spoken, text in asked.items():
            sample = Sample(f"{spoken} {original.id}", text, label=f"{spoken} → en", documents=original.documents)
            samples.append(sample)
            relevance[sample.id] = dict.fromkeys(original.documents, 1)
    for document, language, questions in _own():
        for number, text in enumerate(questions, 1):
            sample = Sample(
                f"{document.id} {number}", text, label=f"en → {language}", documents=frozenset([document.id])
            )
            samples.append(sample)
            relevance[sample.id] = {document.id: 1}

    def documents() -> Iterator[Document]:
        yield from english.documents()
        for document, _, _ in _own():
            yield document

    library = f"{name} {file_sha256(DOCUMENTS)[:8]}"
    return replace(
        english,
        title=TITLE,
        licence=LICENCE,
        samples=tuple(samples),
        corpus=documents,
        relevance=relevance,
        library=library,
    )


def _own() -> Iterator[tuple[Document, str, list[str]]]:
    """Yield our documents, each with its language and the English questions about it."""
    for place, record in json_lines(DOCUMENTS):
        name, title = field(record, place, "id"), field(record, place, "title")
        document = Document(id=name, text=field(record, place, "text"), title=title, source=name)
        yield document, field(record, place, "language"), listed(record, place, "questions")

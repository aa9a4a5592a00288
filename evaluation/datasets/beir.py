"""Folders in BEIR's form: questions with known relevant documents, without answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets.files import (
    collected,
    field,
    find,
    json_lines,
    judged,
    judgements,
    listed,
    unique,
)
from evaluation.samples import DataSet, Sample
from preflight_rag.state.values import Document

SOURCE = "github.com/beir-cellar/beir"
LICENCE = "see its publisher"


def collection(folder: Path, name: str) -> DataSet:
    """Return any data set in BEIR's form.

    corpus.jsonl (`_id`, `title`, `text`), queries.jsonl (`_id`, `text`), qrels/test.tsv or qrels.tsv.
    """
    corpus = find(folder, "corpus.jsonl", origin=SOURCE)
    queries = find(folder, "queries.jsonl", origin=SOURCE)
    qrels = find(folder, "qrels/test.tsv", "qrels.tsv", origin=SOURCE)
    relevance = judgements(qrels)
    samples = queries_of(queries, "_id", "text", relevance)
    documents = documents_of(corpus, lambda document: document)
    return DataSet(name, name, SOURCE, LICENCE, (corpus, queries, qrels), samples, documents, relevance)


def questions(folder: Path, name: str) -> DataSet:
    """Return a folder in BEIR's form as questions, with known relevant documents, without answers.

    Questions without a relevant document are left out. In a folder with the name scifact or nq, on which the project's
    reader was trained, the parts are the reader's own.
    """
    found = collection(folder, folder.resolve().name)
    keyed = {"scifact": "id", "nq": "question"}.get(found.name)
    samples = (replace(sample, key=getattr(sample, keyed) if keyed else "") for sample in found.samples)
    read = ((f"queries.jsonl: {sample.id}", sample) for sample in samples)
    return replace(found, name=name, samples=collected(read, found.files[1]), relevance={})


def queries_of(
    path: Path, id_field: str, text_field: str, relevance: Mapping[str, Mapping[str, int]]
) -> tuple[Sample, ...]:
    """Return the questions of a JSON lines file that have a relevant document."""
    read = [(Sample(field(record, at, id_field), field(record, at, text_field)), at) for at, record in json_lines(path)]
    unique([(query.id, place) for query, place in read])
    return judged((query for query, _ in read), relevance)


def documents_of(path: Path, source: Callable[[str], str]) -> Callable[[], Iterator[Document]]:
    """Return a function that reads the non-empty documents of a JSON lines file; `source` maps ids to sources."""

    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            name = field(record, place, "_id", "doc_id", "id")
            title = field(record, place, "title", default="")
            if text := _text(record, place) or title:
                yield Document(id=name, text=text, title=title, source=source(name))

    return documents


def _text(record: dict[str, Any], place: str) -> str:
    """Return a record's text, or its sentences joined."""
    if "text" in record:
        return field(record, place, "text").strip()
    return " ".join(sentence.strip() for sentence in listed(record, place, "sentences", "abstract"))

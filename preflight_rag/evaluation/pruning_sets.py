"""Collections of questions with short answers, for what pruning keeps of them: NQ-Open and BioASQ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from preflight_rag.evaluation.collection import Query
from preflight_rag.evaluation.datasets import BIOASQ
from preflight_rag.evaluation.datasets import open_dataset as open_collection
from preflight_rag.evaluation.long_documents import entries
from preflight_rag.evaluation.reader_collection import ReaderCollection
from preflight_rag.evaluation.reader_data import NQ
from preflight_rag.evaluation.reading_sets import bioasq_answers
from preflight_rag.evaluation.records import as_published, field, find, json_lines, listed
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

NAMES = ("nq_open_oracle", "biomix-bioasq")


@dataclass(frozen=True, kw_only=True)
class ShortAnswerCollection(ReaderCollection):
    """A collection whose questions have short answers.

    Attributes:
        answers: Answers of each question, by its id; any of them counts.
    """

    answers: Mapping[str, tuple[str, ...]]


def open_dataset(name: str, data: Path | None) -> ShortAnswerCollection:
    """The collection of a name.

    Raises:
        UsageError: There is no such collection, or its files are missing; the message says where they are published.
    """
    if name not in NAMES:
        raise UsageError(f"{name!r} has no short answers", help=f"Choose {' or '.join(NAMES)}.")
    if data is None:
        raise UsageError(
            f"no folder with the data set {name!r}", help=f"Give --data DIR or PREFLIGHT_DATA with {NQ} or {BIOASQ}."
        )
    with as_published(name):
        return nq(data) if name == "nq_open_oracle" else factoids(data)


def nq(data: Path) -> ShortAnswerCollection:
    """NQ-Open's questions over the gold passages of all of them."""
    path = find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin=NQ)
    documents: list[Document] = []
    queries: list[Query] = []
    answers: dict[str, tuple[str, ...]] = {}
    for number, (place, entry) in enumerate(json_lines(path)):
        name, passage = f"nq{number}", entries(entry, place, "ctxs")[0]
        title, text = field(passage, place, "title"), field(passage, place, "text")
        documents.append(Document(id=name, title=title, text=text, source=f"Wikipedia, {name}"))
        queries.append(Query(name, field(entry, place, "question")))
        answers[name] = tuple(listed(entry, place, "answers"))
    return ShortAnswerCollection(
        name="nq_open_oracle",
        title="NQ-Open over its gold passages",
        source=NQ,
        licence="MIT; Wikipedia's text CC BY-SA",
        files=(path,),
        queries=tuple(queries),
        qrels={name: {name: 1} for name in answers},
        documents=lambda: iter(documents),
        answers=answers,
        trained=True,
    )


def factoids(data: Path) -> ShortAnswerCollection:
    """BioASQ's factoid questions over the mixed biomedical corpus."""
    mixed = open_collection("biomix-bioasq", data)
    known: dict[str, tuple[str, ...]] = {}
    for _, entry in json_lines(find(data / "bioasq", "questions.jsonl", origin=BIOASQ)):
        told, _ = bioasq_answers(entry)
        if entry["type"] == "factoid" and told:
            known[f"bioasq:{entry['id']}"] = told
    given = {item.name: getattr(mixed, item.name) for item in fields(mixed)}
    queries = tuple(query for query in mixed.queries if query.id in known)
    title = "BioASQ's factoid questions in a mixed biomedical corpus"
    return ShortAnswerCollection(**(given | {"queries": queries, "title": title, "answers": known}))

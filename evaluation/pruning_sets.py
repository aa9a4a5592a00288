"""Collections of questions with short answers, for what pruning keeps of them: NQ-Open and BioASQ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from ..state.errors import UsageError
from ..state.values import Document
from .collection import Query
from .datasets import BIOASQ
from .datasets import open_dataset as open_collection
from .reader_collection import ReaderCollection
from .reader_data import NQ
from .reading_sets import bioasq_answers
from .records import find, json_lines

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
    return nq(data) if name == "nq_open_oracle" else factoids(data)


def nq(data: Path) -> ShortAnswerCollection:
    """NQ-Open's questions over the gold passages of all of them."""
    path = find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin=NQ)
    entries = {f"nq{i}": entry for i, (_, entry) in enumerate(json_lines(path))}

    def documents() -> Iterator[Document]:
        for name, entry in entries.items():
            passage = entry["ctxs"][0]
            yield Document(id=name, title=passage["title"], text=passage["text"], source=f"Wikipedia, {name}")

    return ShortAnswerCollection(
        name="nq_open_oracle",
        title="NQ-Open over its gold passages",
        source=NQ,
        licence="MIT; Wikipedia's text CC BY-SA",
        files=(path,),
        queries=tuple(Query(name, entry["question"]) for name, entry in entries.items()),
        qrels={name: {name: 1} for name in entries},
        documents=documents,
        answers={name: tuple(entry["answers"]) for name, entry in entries.items()},
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

"""Collections of questions with short answers, for what pruning keeps of them: NQ-Open and BioASQ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from preflight_rag.evaluation.datasets import BIOASQ
from preflight_rag.evaluation.datasets import open_dataset as open_collection
from preflight_rag.evaluation.question_sets import open_dataset as open_questions
from preflight_rag.evaluation.reader_data import NQ
from preflight_rag.evaluation.records import as_published
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

NAMES = ("nq_open_oracle", "biomix-bioasq")


def open_dataset(name: str, data: Path | None) -> DataSet:
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


def nq(data: Path) -> DataSet:
    """NQ-Open's questions over the gold passages of all of them."""
    found = open_questions("nq_open_oracle", data)
    samples, documents = [], []
    for number, asked in enumerate(found.samples):
        name, passage = f"nq{number}", asked.given[0]
        documents.append(Document(id=name, title=passage.title, text=passage.text, source=f"Wikipedia, {name}"))
        samples.append(replace(asked, id=name, documents=frozenset({name})))
    return replace(
        found,
        title="NQ-Open over its gold passages",
        samples=tuple(samples),
        relevance={asked.id: {asked.id: 1} for asked in samples},
        corpus=lambda: iter(documents),
    )


def factoids(data: Path) -> DataSet:
    """BioASQ's factoid questions over the mixed biomedical corpus."""
    mixed = open_collection("biomix-bioasq", data)
    asked = open_questions("biomix-bioasq", data).samples
    return replace(
        mixed,
        samples=tuple(sample for sample in asked if sample.kind == "short"),
        title="BioASQ's factoid questions in a mixed biomedical corpus",
    )

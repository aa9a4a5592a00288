"""Questions with known answers over whole collections: BioASQ in the mixed corpus, RAMDocs over all its documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from preflight_rag.evaluation.datasets import open_dataset as open_collection
from preflight_rag.evaluation.question_sets import open_dataset as open_questions
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

YES_NO = "yes/no"
BIOASQ_KINDS = {"yes/no": YES_NO, "short": "factoid", "list": "list"}
"""Kinds of question that are measured, as `Question` and as BioASQ call them."""


def open_dataset(name: str, data: Path | None) -> DataSet:
    """The data set in the folder of its name.

    Raises:
        UsageError: It has no known answers here, or a file is missing; the message says where it is published.
    """
    if name not in ("biomix-bioasq", "ramdocs"):
        raise UsageError(f"the data set {name!r} has no answers here", help="Choose biomix-bioasq or ramdocs.")
    if data is None:
        raise UsageError(f"no folder with the data set {name!r}", help="Give --data DIR or PREFLIGHT_DATA.")
    return ramdocs(data) if name == "ramdocs" else biomix_bioasq(data)


def biomix_bioasq(data: Path) -> DataSet:
    """BioASQ's factoid, list and yes/no questions with gold documents in the mixed biomedical corpus."""
    collection = open_collection("biomix-bioasq", data)
    samples = [
        replace(
            asked,
            answers=answers,
            evidence=(asked.documents,) * len(answers),
            by_words=asked.right is None,
            label=BIOASQ_KINDS[asked.kind],
        )
        for asked in open_questions("biomix-bioasq", data).samples
        if asked.kind in BIOASQ_KINDS and (answers := ((asked.right,),) if asked.right else asked.answers)
    ]
    return replace(collection, samples=tuple(samples))


def ramdocs(data: Path) -> DataSet:
    """RAMDocs' questions over the documents of all questions, which have no titles.

    A document gives an answer when it is labelled correct with it; the same text under another question counts too.
    """
    found = open_questions("ramdocs", data)
    ids: dict[str, list[str]] = {}
    for passage in (passage for asked in found.samples for passage in asked.given):
        ids.setdefault(passage.text, []).append(passage.id)
    samples: dict[str, Sample] = {}
    for asked in found.samples:
        evidence = tuple(
            frozenset(
                name
                for passage in asked.given
                if passage.role == "gold" and passage.answer in names
                for name in ids[passage.text]
            )
            for names in asked.answers
        )
        samples[asked.question] = replace(
            asked,
            id=asked.question,
            documents=frozenset[str]().union(*evidence),
            evidence=evidence,
            label="several answers" if len(asked.answers) > 1 else "one answer",
        )

    def documents() -> Iterator[Document]:
        return (Document(id=name, text=text, source=name) for text, names in ids.items() for name in names)

    return replace(
        found,
        title="RAMDocs, the documents of all questions",
        samples=tuple(samples.values()),
        relevance={name: dict.fromkeys(asked.documents, 1) for name, asked in samples.items()},
        corpus=documents,
        library="ramdocs-all",
    )

"""Questions with known answers over whole collections: BioASQ in the mixed corpus, RAMDocs over all its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.evaluation.collection import Collection, Query
from preflight_rag.evaluation.datasets import open_dataset as open_collection
from preflight_rag.evaluation.question_sets import open_dataset as open_questions
from preflight_rag.evaluation.reader_collection import ReaderCollection
from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import Document

YES_NO = "yes/no"
BIOASQ_KINDS = {"yes/no": YES_NO, "short": "factoid", "list": "list"}
"""Kinds of question that are measured, as `Question` and as BioASQ call them."""


@dataclass(frozen=True)
class Gold:
    """A right answer: its names, and the documents that give it.

    Attributes:
        names: Ways to write it; one of them suffices.
        documents: Ids of documents that are known to give it.
        by_words: Whether any passage with its words gives it too.
    """

    names: tuple[str, ...]
    documents: frozenset[str]
    by_words: bool = False


@dataclass(frozen=True, kw_only=True)
class AnsweredCollection(ReaderCollection):
    """A collection whose queries have known answers.

    Attributes:
        gold: Query id to its right answers, several where the question has several.
        kinds: Query id to the kind of question.
        wrong: Query id to answers that documents give and that are wrong.
    """

    gold: Mapping[str, tuple[Gold, ...]]
    kinds: Mapping[str, str]
    wrong: Mapping[str, tuple[str, ...]]


def open_dataset(name: str, data: Path | None) -> AnsweredCollection:
    """The data set in the folder of its name.

    Raises:
        UsageError: It has no known answers here, or a file is missing; the message says where it is published.
    """
    if name not in ("biomix-bioasq", "ramdocs"):
        raise UsageError(f"the data set {name!r} has no answers here", help="Choose biomix-bioasq or ramdocs.")
    if data is None:
        raise UsageError(f"no folder with the data set {name!r}", help="Give --data DIR or PREFLIGHT_DATA.")
    return ramdocs(data) if name == "ramdocs" else biomix_bioasq(data)


def biomix_bioasq(data: Path) -> AnsweredCollection:
    """BioASQ's factoid, list and yes/no questions with gold documents in the mixed biomedical corpus."""
    collection = open_collection("biomix-bioasq", data)
    asked = {q.id: q for q in open_questions("biomix-bioasq", data).questions if q.kind in BIOASQ_KINDS}
    gold = {
        name: tuple(
            Gold(names, q.documents, by_words=q.right is None) for names in (((q.right,),) if q.right else q.answers)
        )
        for name, q in asked.items()
    }
    given = {name: getattr(collection, name) for name in Collection.__dataclass_fields__}
    chosen = tuple(query for query in collection.queries if gold.get(query.id))
    kinds = {name: BIOASQ_KINDS[q.kind] for name, q in asked.items()}
    return AnsweredCollection(**{**given, "queries": chosen}, gold=gold, kinds=kinds, wrong={})


def ramdocs(data: Path) -> AnsweredCollection:
    """RAMDocs' questions over the documents of all questions, which have no titles.

    A document gives an answer when it is labelled correct with it; the same text under another question counts too.
    """
    found = open_questions("ramdocs", data)
    ids: dict[str, list[str]] = {}
    for passage in (passage for asked in found.questions for passage in asked.given):
        ids.setdefault(passage.text, []).append(passage.id)
    gold = {
        asked.text: tuple(
            Gold(
                names,
                frozenset(
                    name
                    for passage in asked.given
                    if passage.role == "gold" and passage.answer in names
                    for name in ids[passage.text]
                ),
            )
            for names in asked.answers
        )
        for asked in found.questions
    }

    def documents() -> Iterator[Document]:
        return (Document(id=name, text=text, source=name) for text, names in ids.items() for name in names)

    qrels = {question: dict.fromkeys(frozenset[str]().union(*(g.documents for g in answers)), 1)
             for question, answers in gold.items()}  # fmt: skip
    return AnsweredCollection(
        name="ramdocs",
        title="RAMDocs, the documents of all questions",
        source=found.source,
        licence=found.licence,
        files=found.files,
        queries=tuple(Query(question, question) for question in gold),
        qrels=qrels,
        documents=documents,
        corpus="ramdocs-all",
        gold=gold,
        kinds={q.text: "several answers" if len(q.answers) > 1 else "one answer" for q in found.questions},
        wrong={q.text: q.wrong for q in found.questions},
        trained=True,
    )

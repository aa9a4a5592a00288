"""Questions with known answers over whole collections: BioASQ in the mixed corpus, RAMDocs over all its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..state.errors import UsageError
from ..state.values import Document
from .collection import PARTS, Collection, Query
from .datasets import open_dataset as open_collection
from .reader_data import RAMDOCS, part_of
from .reading_sets import bioasq_answers
from .records import find, json_lines

YES_NO = "yes/no"


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
class AnsweredCollection(Collection):
    """A collection whose queries have known answers.

    Attributes:
        gold: Query id to its right answers, several where the question has several.
        kinds: Query id to the kind of question.
        wrong: Query id to answers that documents give and that are wrong.
        trained_on: Whether the project's reader was trained on a part: then only the rest is measured on.
    """

    gold: Mapping[str, tuple[Gold, ...]]
    kinds: Mapping[str, str]
    wrong: Mapping[str, tuple[str, ...]]
    trained_on: bool = False

    def select(self, part: str, limit: int | None = None) -> tuple[Query, ...]:
        """As `Collection.select`; of a set that was trained on, test and development are the reader's own parts."""
        if not self.trained_on:
            return super().select(part, limit)
        chosen = super().select("all" if part in PARTS else part, None)
        wanted = {"test": ("test",), "development": ("validation",), "all": ("test", "validation")}[part]
        found = tuple(query for query in chosen if part_of(query.id) in wanted)
        if not found or (limit is not None and limit < 1):
            raise UsageError(f"{self.name} has no question in its {part} part", help="Try --part all, and no --limit.")
        return found[:limit]


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
    gold: dict[str, tuple[Gold, ...]] = {}
    kinds: dict[str, str] = {}
    for _, entry in json_lines(find(data / "bioasq", "questions.jsonl", origin=collection.source)):
        name = f"bioasq:{entry['id']}"
        documents = collection.relevant(name)
        names, verdict = bioasq_answers(entry)
        if not documents or (not names and verdict is None):
            continue
        kinds[name] = YES_NO if verdict else entry["type"]
        if verdict:
            gold[name] = (Gold((verdict,), documents),)
        elif entry["type"] == "factoid":
            gold[name] = (Gold(names, documents, by_words=True),)
        else:
            items = (item if isinstance(item, list) else [item] for item in entry["exact_answer"])
            gold[name] = tuple(Gold(tuple(item), documents, by_words=True) for item in items if item)
    chosen = tuple(query for query in collection.queries if query.id in gold)
    given = {name: getattr(collection, name) for name in Collection.__dataclass_fields__}
    return AnsweredCollection(**{**given, "queries": chosen}, gold=gold, kinds=kinds, wrong={})


def ramdocs(data: Path) -> AnsweredCollection:
    """RAMDocs' questions over the documents of all questions, which have no titles.

    A document gives an answer when it is labelled correct with it; the same text under another question counts too.
    """
    path = find(data / "ramdocs", "RAMDocs_test.jsonl", origin=RAMDOCS)
    entries = [entry for _, entry in json_lines(path)]
    ids: dict[str, list[str]] = {}
    for place, entry in enumerate(entries):
        for position, document in enumerate(entry["documents"]):
            ids.setdefault(document["text"], []).append(f"ramdocs/{place}/{position}")
    gold: dict[str, tuple[Gold, ...]] = {}
    for entry in entries:
        right = [document for document in entry["documents"] if document["type"] == "correct"]
        gold[entry["question"]] = tuple(
            Gold((answer,), frozenset(name for d in right if d["answer"] == answer for name in ids[d["text"]]))
            for answer in dict.fromkeys(entry["gold_answers"])
        )

    def documents() -> Iterator[Document]:
        for text, names in ids.items():
            for name in names:
                yield Document(id=name, text=text, source=name)

    qrels = {question: dict.fromkeys(frozenset[str]().union(*(g.documents for g in answers)), 1)
             for question, answers in gold.items()}  # fmt: skip
    return AnsweredCollection(
        name="ramdocs",
        title="RAMDocs, the documents of all questions",
        source=RAMDOCS,
        licence="MIT",
        files=(path,),
        queries=tuple(Query(question, question) for question in gold),
        qrels=qrels,
        documents=documents,
        corpus="ramdocs-all",
        gold=gold,
        kinds={e["question"]: "several answers" if len(e["gold_answers"]) > 1 else "one answer" for e in entries},
        wrong={entry["question"]: tuple(entry["wrong_answers"]) for entry in entries},
        trained_on=True,
    )

"""The questions of the routing experiment: six data sets, which question needs COrg, and what its own documents are."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ..state.values import Document
from .datasets import bioasq as open_bioasq
from .reader_data import Part, part_of
from .records import find, json_lines

EXPERTS = 120
"""Questions of BioASQ; each brings its documents into the library."""


@dataclass(frozen=True)
class Case:
    """A question with the documents that its data set gives it.

    Attributes:
        dataset: Its data set.
        question: As the data set asks it.
        needs: Whether it needs COrg.
        documents: Ids of its own documents.
        without: Ids of documents that are kept from it.
        kind: The data set's own class of the question.
        key: What tells the part of the extractive reader's data that it falls into; the question where it is empty.
    """

    dataset: str
    question: str
    needs: bool
    documents: tuple[str, ...]
    without: frozenset[str] = frozenset()
    kind: str = ""
    key: str = ""

    @property
    def part(self) -> Part:
        """The part of the extractive reader's data: train, validation or test."""
        return part_of(self.key or self.question)

    @property
    def development(self) -> bool:
        """Whether the first byte of the question's SHA-256 is even."""
        return digest(self.question)[0] % 2 == 0


def digest(text: str) -> bytes:
    """Orders the questions and halves them."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class CaseSet:
    """A data set: its cases and the documents that go into the library."""

    cases: list[Case]
    documents: list[Document]


def ramdocs(data: Path) -> CaseSet:
    """RAMDocs, from github.com/HanNight/RAMDocs; and each question that needs COrg once more, with one answer left."""
    path = find(data / "ramdocs", "RAMDocs_test.jsonl", origin="github.com/HanNight/RAMDocs")
    cases, documents = [], []
    for place, (_, entry) in enumerate(json_lines(path)):
        ids = [f"ramdocs/{place}/{position}" for position in range(len(entry["documents"]))]
        documents += [
            Document(id=name, text=item["text"], source=name)
            for name, item in zip(ids, entry["documents"], strict=True)
        ]
        needs = len(entry["gold_answers"]) > 1 or bool(entry["wrong_answers"])
        cases.append(Case("RAMDocs", entry["question"], needs, tuple(ids), kind="ambiguous" if needs else "single"))
        if needs:
            only = entry["gold_answers"][digest(entry["question"])[1] % len(entry["gold_answers"])]
            kept = {
                name
                for name, item in zip(ids, entry["documents"], strict=True)
                if item["answer"] == only or item["type"] == "noise"
            }
            chosen = tuple(name for name in ids if name in kept)
            cases.append(
                Case("RAMDocs", entry["question"], False, chosen, frozenset(ids) - kept, kind="one answer left")
            )
    return CaseSet(cases, documents)


def dragged(data: Path) -> CaseSet:
    """DRAGged into Conflicts, the published sample, from github.com/ShubhamX90/llm-conflicts-dataset."""
    path = find(data / "dragged_conflicts", "sample.jsonl", origin="github.com/ShubhamX90/llm-conflicts-dataset")
    cases, documents = [], []
    for _, entry in json_lines(path):
        ids = []
        for item in entry["docs"]:
            ids.append(f"dragged/{entry['id']}/{item['doc_id']}")
            date = item.get("date")
            documents.append(
                Document(
                    id=ids[-1],
                    text=item["snippet"] or item["title"],
                    title=item["title"] or "",
                    source=item["url"] or ids[-1],
                    date=date if date and any(map(str.isdigit, date)) else None,
                )
            )
        kind = entry["conflict_type"]
        cases.append(Case("DRAGged", entry["query"], kind != "No conflict", tuple(ids), kind=kind))
    return CaseSet(cases, documents)


def pubmedqa(data: Path) -> CaseSet:
    """PubMedQA, abstracts without their conclusions, dated by year, from github.com/pubmedqa/pubmedqa."""
    path = find(data / "pubmedqa", "ori_pqal.json", origin="github.com/pubmedqa/pubmedqa")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        entries = json.load(file)
    cases, documents = [], []
    for pmid, entry in entries.items():
        name = f"pubmedqa/{pmid}"
        documents.append(Document(id=name, text="\n".join(entry["CONTEXTS"]), source=name, date=entry.get("YEAR")))
        cases.append(Case("PubMedQA", entry["QUESTION"], False, (name,), key=pmid))
    return CaseSet(cases, documents)


def nq_open(data: Path) -> CaseSet:
    """NQ-Open with its gold passages, from github.com/nelson-liu/lost-in-the-middle."""
    path = find(data / "nq_open_oracle", "nq-open-oracle.jsonl", origin="github.com/nelson-liu/lost-in-the-middle")
    cases, documents = [], []
    for place, (_, entry) in enumerate(json_lines(path)):
        name = f"nq/{place}"
        gold = entry["ctxs"][0]
        documents.append(Document(id=name, text=gold["text"], title=gold["title"], source=name))
        cases.append(Case("NQ-Open", entry["question"], False, (name,)))
    return CaseSet(cases, documents)


def xquad(data: Path) -> CaseSet:
    """XQuAD English, from github.com/google-deepmind/xquad."""
    path = find(data / "xquad_en", "xquad.en.json", origin="github.com/google-deepmind/xquad")
    cases, documents = [], []
    for article_number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            name = f"xquad/{article_number}/{place}"
            documents.append(Document(id=name, text=paragraph["context"], title=article.get("title", ""), source=name))
            key = article.get("title") or article["paragraphs"][0]["context"][:40]
            cases += [Case("XQuAD", entry["question"], False, (name,), key=key) for entry in paragraph["qas"]]
    return CaseSet(cases, documents)


def bioasq(data: Path) -> CaseSet:
    """BioASQ's first questions by hash, with the documents of their gold snippets, which agree with each other."""
    collection = open_bioasq(data / "bioasq")
    chosen = sorted(collection.queries, key=lambda query: digest(query.text))[:EXPERTS]
    own = {query.id: collection.relevant(query.id) for query in chosen}
    wanted = frozenset[str]().union(*own.values())
    documents = [
        document.model_copy(update={"id": f"bioasq/{document.id}"})
        for document in collection.documents()
        if document.id in wanted
    ]
    cases = [
        Case("BioASQ", query.text, False, tuple(f"bioasq/{name}" for name in sorted(own[query.id]))) for query in chosen
    ]
    return CaseSet(cases, documents)


DATASETS = (ramdocs, dragged, pubmedqa, nq_open, xquad, bioasq)

"""The questions of the routing experiment: six data sets, which question needs COrg, and what its own documents are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.evaluation.datasets import bioasq as open_bioasq
from preflight_rag.evaluation.question_sets import open_dataset
from preflight_rag.evaluation.samples import DataSet, ReaderPart, Sample, reader_part_of
from preflight_rag.state.values import Document

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
    def part(self) -> ReaderPart:
        """The part of the extractive reader's data: train, validation or test."""
        return reader_part_of(self.key or self.question)

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
    """RAMDocs; and each question that needs COrg once more, with one answer left."""
    found = open_dataset("ramdocs", data)
    cases = []
    for asked in found.samples:
        ids = tuple(passage.id for passage in asked.given)
        needs = len(asked.answers) > 1 or bool(asked.wrong)
        cases.append(Case("RAMDocs", asked.question, needs, ids, kind="ambiguous" if needs else "single"))
        if needs:
            (only,) = asked.answers[digest(asked.question)[1] % len(asked.answers)]
            chosen = tuple(p.id for p in asked.given if p.answer == only or p.role == "noise")
            without = frozenset(ids) - frozenset(chosen)
            cases.append(Case("RAMDocs", asked.question, False, chosen, without, kind="one answer left"))
    return CaseSet(cases, _documents(found))


def dragged(data: Path) -> CaseSet:
    """DRAGged into Conflicts; what has no conflict by its label needs no COrg."""
    found = open_dataset("dragged_conflicts", data)
    cases = [
        Case("DRAGged", asked.question, asked.label != "No conflict", _given(asked), kind=asked.label)
        for asked in found.samples
    ]
    return CaseSet(cases, _documents(found))


def pubmedqa(data: Path) -> CaseSet:
    """PubMedQA, abstracts without their conclusions, dated by year."""
    return _agreeing("PubMedQA", open_dataset("pubmedqa", data))


def nq_open(data: Path) -> CaseSet:
    """NQ-Open with its gold passages."""
    return _agreeing("NQ-Open", open_dataset("nq_open_oracle", data))


def xquad(data: Path) -> CaseSet:
    """XQuAD English."""
    return _agreeing("XQuAD", open_dataset("xquad_en", data))


def bioasq(data: Path) -> CaseSet:
    """BioASQ's first questions by hash, with the documents of their gold snippets, which agree with each other."""
    collection = open_bioasq(data / "bioasq")
    chosen = sorted(collection.samples, key=lambda query: digest(query.question))[:EXPERTS]
    own = {query.id: collection.relevant(query.id) for query in chosen}
    wanted = frozenset[str]().union(*own.values())
    documents = [
        document.model_copy(update={"id": f"bioasq/{document.id}"})
        for document in collection.documents()
        if document.id in wanted
    ]
    cases = [
        Case("BioASQ", query.question, False, tuple(f"bioasq/{name}" for name in sorted(own[query.id])))
        for query in chosen
    ]
    return CaseSet(cases, documents)


def _agreeing(dataset: str, found: DataSet) -> CaseSet:
    """Questions whose passages do not disagree."""
    cases = [Case(dataset, asked.question, False, _given(asked), key=asked.key) for asked in found.samples]
    return CaseSet(cases, _documents(found))


def _given(asked: Sample) -> tuple[str, ...]:
    return tuple(passage.id for passage in asked.given)


def _documents(found: DataSet) -> list[Document]:
    return list(found.corpus()) if found.corpus else []


DATASETS = (ramdocs, dragged, pubmedqa, nq_open, xquad, bioasq)

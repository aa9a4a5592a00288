"""Questions over the library of their own corpus: retrieved passages, the answering passage, and distractors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from evaluation.datasets import RETRIEVAL, ROLES, open_dataset
from evaluation.reading_metrics import holds
from evaluation.runs import ExperimentRun, Order
from evaluation.samples import DataSet, Sample, check_selection, sampled
from evaluation.searching import collection_library, inputs, left_out
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Passage

MIXED = "biomix-bioasq"
"""The collection for MIRAGE's questions, which have none of their own; its ids of documents have prefixes."""
PREFIXES = ("pmid:", "pqa:")
DEPTH = 100
"""Depth of the ranking for distractors, and for passages of the answering documents: as deep as turns search."""
KEYED = ("choice", "yes/no", "claim", "short")
"""Kinds of questions that one passage can answer and a rule can score."""
SETTINGS = Settings(rewrite="off", check_citations=False, rerank_deadline=600)
"""A turn's settings: every arm searches for the unchanged question, and the second stage is never cut short."""


@dataclass(frozen=True)
class SearchedLibrary:
    """A library and the seed for random passages from it.

    Attributes:
        library: The open library of the corpus.
        inputs: Everything that the numbers depend on, for the manifest.
        prefixes: Prefixes of gold documents' names in the library's ids.
        seed: Seed of random passages.
        reranker: The second stage, as an argument of `open_reranker`: with weights that were not trained on this
            corpus.
        order: Whether passages, and distractors, are in a turn's order or in that of the dense ranking alone.
    """

    library: Library
    inputs: dict[str, Any]
    prefixes: tuple[str, ...]
    seed: int
    reranker: str = SETTINGS.reranker
    order: Order = "turn"

    @property
    def where(self) -> str:
        """A sentence for notes: the collection that is searched instead of the paper's own."""
        documents, source = self.inputs["library"]["documents"], self.inputs["source"]
        found = "by the dense ranking alone" if self.order == "dense" else "as a turn of the product ranks them"
        searched = f"{documents:,} documents of {source}, {found}"
        return f"The passages are not from the paper's own collection but from {searched}."

    def retrieved(self, question: Sample, k: int) -> tuple[Source, ...]:
        """Return the k passages that a turn retrieves, or the first k of the dense ranking, best first."""
        if self.order == "dense":
            return tuple(Source.of(passage, n) for n, passage in enumerate(self._ranking(question)[:k], 1))
        settings = SETTINGS.model_copy(update={"k": k, "reranker": self.reranker})
        return tuple(retrieve_passages(self.library, [normalised(question.question)], settings).sources())

    def documents(self, question: Sample) -> list[str]:
        """Return the ids of the library's documents that answer the question."""
        names = [f"{prefix}{name}" for name in sorted(question.documents) for prefix in self.prefixes]
        return [name for name in names if self.library.document_passages(name)]

    def answering(self, question: Sample) -> frozenset[str]:
        """Return the ids of the passages of those documents."""
        names = self.documents(question)
        return frozenset(passage.id for name in names for passage in self.library.document_passages(name))

    def with_key(self, found: DataSet, run: ExperimentRun) -> tuple[Sample, ...]:
        """Return the run's part and limit of the questions that one passage of the library answers.

        Raises:
            UsageError: There is no such question.
        """
        check_selection(run.part, run.limit)
        chosen: list[Sample] = []
        for question in found.select(run.part):
            if question.kind in KEYED and self.documents(question):
                chosen.append(question)
            if len(chosen) == run.limit:
                break
        if not chosen:
            raise UsageError(
                f"no question of the {run.part} part of {found.name} has a document of the corpus that answers it",
                help="Try --part all, or another data set.",
            )
        return tuple(chosen)

    def key(self, question: Sample) -> Passage:
        """Return the highest-ranked passage of the question's gold documents, else the first document's first."""
        gold = self.documents(question)
        ranked = [passage for passage in self._ranking(question) if passage.document_id in gold]
        return ranked[0] if ranked else self.library.document_passages(gold[0])[0]

    def nearest(self, question: Sample, key: Passage, count: int) -> list[Passage]:
        """Return the `count` passages ranked highest for the question that do not answer it."""
        return self._distractors(question, key, count, self._ranking(question))

    def random(self, question: Sample, key: Passage, count: int) -> list[Passage]:
        """Return `count` random passages of the corpus that do not answer the question; seed and question id decide."""
        ids = self.library.all_passage_ids()
        drawn = random.Random(f"{self.seed}|{question.id}").sample(ids, min(len(ids), 4 * count + DEPTH))  # noqa: S311
        return self._distractors(question, key, count, self.library.passages(drawn))

    def gold_texts(self, questions: Iterable[Sample]) -> dict[str, str]:
        """Return texts of the questions' gold documents, by the names that the questions use."""
        texts = {}
        for name in {name for question in questions for name in question.documents}:
            passages = (p for prefix in self.prefixes for p in self.library.document_passages(f"{prefix}{name}"))
            texts[name] = "\n".join(passage.text for passage in passages)
        return texts

    def _ranking(self, question: Sample) -> list[Passage]:
        """Return the first `DEPTH` passages for a question, in the bench's order: dense or fused."""
        found = self.library.search(SearchQuery(question.question, k=DEPTH, candidates=DEPTH))
        ranked = found.dense if self.order == "dense" else found.fused
        return self.library.passages([hit.passage_id for hit in ranked])

    def _distractors(self, question: Sample, key: Passage, count: int, passages: Sequence[Passage]) -> list[Passage]:
        """Return the first passages of other documents with different texts.

        For short answers, passages that contain one are left out.
        """
        gold, seen = set(self.documents(question)), {key.text}
        chosen: list[Passage] = []
        names = [] if question.options else [name for answer in question.answers for name in answer]
        for passage in passages:
            if passage.document_id in gold or passage.text in seen or holds(passage.text, names):
                continue
            seen.add(passage.text)
            chosen.append(passage)
        if len(chosen) < count:
            raise UsageError(
                f"the corpus has {len(chosen)} passages to distract from the answer of {question.id!r}, not {count}",
                help="Take a data set with a larger corpus.",
            )
        return chosen[:count]


def among(key: Passage, distractors: Sequence[Passage], place: int) -> tuple[Source, ...]:
    """Return the key passage at a place (from 0) among distractors, which keep their order."""
    passages = [*distractors[:place], key, *distractors[place:]]
    return tuple(Source.of(passage, n) for n, passage in enumerate(passages, 1))


@contextmanager
def open_searched(found: DataSet, run: ExperimentRun) -> Iterator[SearchedLibrary]:
    """Yield the library of a question set's corpus, from the cache or built into it.

    Raises:
        UsageError: The set has nothing to search.
        LibraryError: A document could not be ingested.
    """
    collection, prefixes = corpus_of(found)
    collection = sampled(collection, answering_first(found, prefixes, run), run.documents)
    with collection_library(collection, run) as library:
        reranker = left_out(collection.name)
        given = inputs(collection, library, reranker=reranker, order=run.order)
        yield SearchedLibrary(library, given, prefixes, run.seed, reranker, run.order)


def answering_first(found: DataSet, prefixes: Sequence[str], run: ExperimentRun) -> Iterator[str]:
    """Yield the ids of the documents that answer, or come with, the questions within the limit."""
    taken: Counter[str] = Counter()
    for question in found.select(run.part):
        if (question.documents or question.given) and (run.limit is None or taken[question.kind] < run.limit):
            taken[question.kind] += 1
            yield from (f"{prefix}{name}" for name in question.documents for prefix in prefixes)
            yield from (passage.id for passage in question.given)


def corpus_of(found: DataSet) -> tuple[DataSet, tuple[str, ...]]:
    """Return the documents that are searched for a set's questions, and the prefixes of their ids.

    Raises:
        UsageError: There are none, or the mixed collection of MIRAGE's questions is missing.
    """
    folder = found.files[0].parent.parent
    if found.name.partition("-")[0] == "mirage":
        return open_dataset(MIXED, folder), PREFIXES
    if found.name in ROLES[RETRIEVAL]:
        return open_dataset(found.name, folder), ("",)
    if found.corpus is None:
        raise UsageError(
            f"{found.name} has no documents to search", help="Take nq_open_oracle, bioasq, mirage, or your own folder."
        )
    return replace(found, samples=(), relevance={}, library=f"{found.name} questions"), ("",)

"""Questions with their candidates, from which experiments on diversity select within the limits of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evaluation.reading_metrics import holds
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, described, inputs
from evaluation.vector_cache import cached_embedder
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.search.diversity import token_budget
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.values import Document

DEPTH = 100
RATIOS = (0.05, 0.1, 0.2)
"""c_r of the paper's Tables 1 and 2."""
T_MAX = (2_000, 5_000, 10_000, 20_000, 50_000, 120_000)
"""T_max of Tables 3 to 8."""
UNKNOWN_WINDOW = 16_385
"""Assumed context window of a model whose server does not report one: that of the paper's GPT-3.5."""
PROMPT_SHARE = 0.85
"""Share of a context window for the passages; the rest is for the prompt, the reply and differences in token counts."""
APART = "\u01c1"
"""Separates units that are not adjacent: a letter, so that it is a word, and one that is in no answer."""


@dataclass(frozen=True)
class SelectionCase:
    """One question with its candidates.

    Attributes:
        query: The question.
        relevant: Ids of the relevant units, whether they are candidates or not.
        documents: Id of each candidate's document or unit.
        texts: Id of the text that contains each candidate.
        places: Each candidate's place in that text: units by their number, passages and chunks by their first
            character.
        tokens: Length of each.
        vectors: Shape (n, d).
        asked: The question's vector, (d,).
        shown: Text of each, as a model reads it.
        fused: Fused score of each, if they come from a search; they are then in its order.
        fill: Whether a budget is filled with units that fit, after one that does not.
    """

    query: Sample
    relevant: frozenset[str]
    documents: Sequence[str]
    texts: Sequence[str]
    places: Sequence[int]
    tokens: Sequence[int]
    vectors: np.ndarray
    asked: np.ndarray
    shown: Sequence[str]
    fused: Sequence[float] | None = None
    fill: bool = False

    @property
    def details(self) -> dict[str, str]:
        """Return the question's details for a row."""
        return {"question": self.query.question}

    def present(self, picks: Sequence[int]) -> float:
        """Return whether the picks contain an answer, word for word (the paper's recall before reading).

        An answer may cross the end of a unit if the next unit is picked too; the last words of a unit and the first of
        any other do not count. Places in a pool of documents are offsets: no unit follows another.
        """
        selected: list[str] = []
        after: tuple[str, int] | None = None
        for text, place, pick in sorted((self.texts[pick], self.places[pick], pick) for pick in picks):
            selected += [self.shown[pick]] if (text, place) == after else [APART, self.shown[pick]]
            after = text, place + 1
        return float(holds("\n".join(selected), self.query.names))

    def recall(self, picks: Sequence[int]) -> float:
        """Return the share of the relevant units among the picks."""
        return len(self.relevant.intersection(self.documents[pick] for pick in picks)) / len(self.relevant)


@dataclass(frozen=True)
class SelectionLimit:
    """A limit of a selection: a share of a document's tokens (c_r), or a number of tokens (T_max)."""

    ratio: float | None = None
    tokens: int | None = None

    @property
    def name(self) -> str:
        """The limit's name in tables."""
        return f"c_r {self.ratio:g}" if self.ratio is not None else f"T_max {self.tokens:,}"

    def budget(self, case: SelectionCase) -> int:
        """Return the number of tokens that may be selected from a case's candidates."""
        return token_budget(case.tokens, budget=self.tokens, compression=self.ratio) or 1


def limits_of(one_document: bool, window: int | None = None) -> tuple[SelectionLimit, ...]:
    """Return the paper's limits: shares of one document, else T_max as far as a model's context window allows."""
    if one_document:
        return tuple(SelectionLimit(ratio=ratio) for ratio in RATIOS)
    room = PROMPT_SHARE * (window or UNKNOWN_WINDOW)
    return tuple(SelectionLimit(tokens=tokens) for tokens in T_MAX if tokens <= max(room, T_MAX[0]))


Pick = Callable[[SelectionCase, "int | None", "int | None"], list[int]]
"""A selection: returns the indices of a case's picks, given k and a budget."""
CasesOf = Callable[[Sequence[Sample]], list[SelectionCase]]


@contextmanager
def candidates(collection: DataSet, run: ExperimentRun) -> Iterator[tuple[CasesOf, dict[str, Any]]]:
    """Yield a function that makes cases from a collection's queries, and their settings for the manifest."""
    if collection.samples and collection.samples[0].document:
        with cached_embedder(run) as embedder:
            yield _units(collection, embedder, run)
        return
    with collection_library(collection, run) as library:

        def cases_of(queries: Sequence[Sample]) -> list[SelectionCase]:
            cases = []
            for query in run.each(queries, f"{collection.name}: queries"):
                text = normalised(query.question)
                found = library.candidates(SearchQuery(text, candidates=DEPTH))
                passages = [candidate.passage for candidate in found]
                cases.append(
                    SelectionCase(
                        query=replace(query, question=text),
                        relevant=collection.relevant(query.id),
                        documents=[passage.document_id for passage in passages],
                        texts=[passage.document_id for passage in passages],
                        places=[passage.start for passage in passages],
                        tokens=[passage.tokens for passage in passages],
                        vectors=library.vectors([passage.id for passage in passages]),
                        asked=library.embedder.encode_query(text),
                        shown=[passage.text for passage in passages],
                        fused=[candidate.score for candidate in found],
                        fill=run.fill,
                    )
                )
            return cases

        yield cases_of, inputs(collection, library, candidates=DEPTH)


def _units(collection: DataSet, embedder: Embedder, run: ExperimentRun) -> tuple[CasesOf, dict[str, Any]]:
    """Return the cases over the units (e.g. the sentences) of single documents, and how they were made."""
    units: dict[str, list[Document]] = {}
    for unit in collection.documents():
        units.setdefault(unit.source, []).append(unit)

    @cache
    def measured(name: str) -> tuple[list[int], np.ndarray]:
        texts = [unit.text for unit in units[name]]
        return [embedder.count_tokens(text) for text in texts], embedder.encode_passages(texts)

    def cases_of(queries: Sequence[Sample]) -> list[SelectionCase]:
        cases = []
        for query in run.each(queries, f"{collection.name}: queries"):
            name = query.document
            tokens, vectors = measured(name)
            cases.append(
                SelectionCase(
                    query=query,
                    relevant=collection.relevant(query.id),
                    documents=[unit.id for unit in units[name]],
                    texts=[name] * len(tokens),
                    places=range(len(tokens)),
                    tokens=tokens,
                    vectors=vectors,
                    asked=embedder.encode_query(query.question),
                    shown=[unit.text for unit in units[name]],
                    fill=run.fill,
                )
            )
        return cases

    return cases_of, described(collection, embedder, units=sum(map(len, units.values())))

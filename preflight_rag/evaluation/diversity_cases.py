"""Questions with the candidates to select from: of a search in a collection, or all units of one long document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searching import collection_library, inputs
from preflight_rag.evaluation.vector_cache import cached_embedder

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.embedding.embedder import Embedder
    from preflight_rag.state.values import Document

DEPTH = 100


@dataclass(frozen=True)
class Case:
    """One question with its candidates.

    Attributes:
        query: The question.
        relevant: Ids of what should be found, among the candidates or not.
        documents: Id of each candidate's document or unit.
        texts: Id of the text in which each candidate stands.
        places: Where in that text.
        tokens: Length of each.
        vectors: Shape (n, d).
        asked: The question's vector, (d,).
        fused: Fused score of each, where they come from a search; they are then in its order.
    """

    query: Sample
    relevant: frozenset[str]
    documents: Sequence[str]
    texts: Sequence[str]
    places: Sequence[int]
    tokens: Sequence[int]
    vectors: np.ndarray
    asked: np.ndarray
    fused: Sequence[float] | None = None

    def recall(self, picks: Sequence[int]) -> float:
        """Share of what is relevant that the picks hold."""
        return len(self.relevant.intersection(self.documents[pick] for pick in picks)) / len(self.relevant)


CasesOf = Callable[[Sequence[Sample]], list[Case]]


@contextmanager
def candidates(collection: DataSet, run: Run) -> Iterator[tuple[CasesOf, dict[str, Any]]]:
    """What makes cases of a collection's queries, and what they depend on, for the manifest."""
    if collection.samples and collection.samples[0].document:
        with cached_embedder(run) as embedder:
            yield _units(collection, embedder, run)
        return
    from preflight_rag.nodes.rewrite import normalised

    with collection_library(collection, run) as library:

        def cases_of(queries: Sequence[Sample]) -> list[Case]:
            cases = []
            for done, query in enumerate(queries, 1):
                text = normalised(query.question)
                found = library.candidates(text, depth=DEPTH)
                passages = [candidate.passage for candidate in found]
                cases.append(
                    Case(
                        query=Sample(query.id, text),
                        relevant=collection.relevant(query.id),
                        documents=[passage.document_id for passage in passages],
                        texts=[passage.document_id for passage in passages],
                        places=[passage.start for passage in passages],
                        tokens=[passage.tokens for passage in passages],
                        vectors=library.vectors([passage.id for passage in passages]),
                        asked=library.embedder.encode_query(text),
                        fused=[candidate.score for candidate in found],
                    )
                )
                run.progress(f"{collection.name}: queries", done, len(queries))
            return cases

        yield cases_of, inputs(collection, library, candidates=DEPTH)


def _units(collection: DataSet, embedder: Embedder, run: Run) -> tuple[CasesOf, dict[str, Any]]:
    from preflight_rag.evaluation.report import checksums

    units: dict[str, list[Document]] = {}
    for unit in collection.documents():
        units.setdefault(unit.source, []).append(unit)

    @cache
    def measured(name: str) -> tuple[list[int], np.ndarray]:
        texts = [unit.text for unit in units[name]]
        return [embedder.count_tokens(text) for text in texts], embedder.encode_passages(texts)

    def cases_of(queries: Sequence[Sample]) -> list[Case]:
        cases = []
        for done, query in enumerate(queries, 1):
            name = query.document
            tokens, vectors = measured(name)
            cases.append(
                Case(
                    query=query,
                    relevant=collection.relevant(query.id),
                    documents=[unit.id for unit in units[name]],
                    texts=[name] * len(tokens),
                    places=range(len(tokens)),
                    tokens=tokens,
                    vectors=vectors,
                    asked=embedder.encode_query(query.question),
                )
            )
            run.progress(f"{collection.name}: queries", done, len(queries))
        return cases

    return cases_of, {
        "source": collection.source,
        "licence": collection.licence,
        "sha256": checksums(collection.files),
        "embedder": {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension},
        "settings": {"units": sum(map(len, units.values()))},
    }

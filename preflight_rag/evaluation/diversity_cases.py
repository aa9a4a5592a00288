"""Questions with the candidates to select from: of a search in a collection, or all units of one long document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.collection import Collection, Query
from preflight_rag.evaluation.searching import collection_library, inputs
from preflight_rag.evaluation.unit_datasets import UnitCollection
from preflight_rag.evaluation.vector_cache import cached_embedder

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.evaluation.runs import Run
    from preflight_rag.models.embedding.embedder import Embedder

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

    query: Query
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


CasesOf = Callable[[Sequence[Query]], list[Case]]


@contextmanager
def candidates(collection: Collection, run: Run) -> Iterator[tuple[CasesOf, dict[str, Any]]]:
    """What makes cases of a collection's queries, and what they depend on, for the manifest."""
    if isinstance(collection, UnitCollection):
        with cached_embedder(run) as embedder:
            yield _units(collection, embedder, run)
        return
    from preflight_rag.nodes.rewrite import normalised

    with collection_library(collection, run) as library:

        def cases_of(queries: Sequence[Query]) -> list[Case]:
            cases = []
            for done, query in enumerate(queries, 1):
                text = normalised(query.text)
                found = library.candidates(text, depth=DEPTH)
                passages = [candidate.passage for candidate in found]
                cases.append(
                    Case(
                        query=Query(query.id, text),
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


def _units(collection: UnitCollection, embedder: Embedder, run: Run) -> tuple[CasesOf, dict[str, Any]]:
    from preflight_rag.evaluation.report import checksums

    @cache
    def measured(name: str) -> tuple[list[int], np.ndarray]:
        texts = [unit.text for unit in collection.units[name]]
        return [embedder.count_tokens(text) for text in texts], embedder.encode_passages(texts)

    def cases_of(queries: Sequence[Query]) -> list[Case]:
        cases = []
        for done, query in enumerate(queries, 1):
            name = collection.scope[query.id]
            units = collection.units[name]
            tokens, vectors = measured(name)
            cases.append(
                Case(
                    query=query,
                    relevant=collection.relevant(query.id),
                    documents=[unit.id for unit in units],
                    texts=[name] * len(units),
                    places=range(len(units)),
                    tokens=tokens,
                    vectors=vectors,
                    asked=embedder.encode_query(query.text),
                )
            )
            run.progress(f"{collection.name}: queries", done, len(queries))
        return cases

    return cases_of, {
        "source": collection.source,
        "licence": collection.licence,
        "sha256": checksums(collection.files),
        "embedder": {"name": embedder.name, "revision": embedder.revision, "dimension": embedder.dimension},
        "settings": {"units": sum(map(len, collection.units.values()))},
    }

"""Where the time of a search goes, part by part, on a library of one's own: from the rankings to the predicted risk.

    python benchmarks/search_parts.py LIBRARY --data DIR --dataset bioasq [--questions 100]

Milliseconds are the processor's on the searching thread, medians over the questions after ten that are not counted.
Queries are embedded beforehand. Each part is run by itself, so they do not add up to the whole to the last bit.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, TypeVar

from evaluation.datasets import open_dataset
from preflight_rag.library.collection import indexed_terms
from preflight_rag.library.library import Library
from preflight_rag.library.search.hybrid import row_cosines, stored_vectors
from preflight_rag.library.search.retrieval import Retrieval, retrieve_passages
from preflight_rag.models.reranking.feature_reranker import FeatureReranker
from preflight_rag.routing.decision import LossPrediction, predict_loss
from preflight_rag.routing.risk import shipped_model
from preflight_rag.state.context import Settings

WARM = 10
Value = TypeVar("Value")


def predicted(library: Library, question: str, found: Retrieval) -> LossPrediction:
    """Return the risk of a lost passage and its reasons, computed as in the stage `preflight`."""
    refs, sources = found.references(), found.sources()
    terms = indexed_terms(library, [ref["id"] for ref in refs])
    return predict_loss(question, refs, sources, Settings(), shipped_model(), terms)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    asked = [sample.question for sample in open_dataset(given.dataset, given.data).samples][: given.questions + WARM]
    seconds: dict[str, list[float]] = defaultdict(list)

    def timed(part: str, work: Callable[..., Value], *given: Any, **named: Any) -> Value:
        started = thread_time()
        found = work(*given, **named)
        seconds[part].append(thread_time() - started)
        return found

    settings, reranker = Settings(), FeatureReranker.shipped()
    with Library.open(given.library) as library:
        vectors = {question: library.embedder.encode_query(question) for question in asked}
        library.embedder.encode_query = vectors.__getitem__  # type: ignore[method-assign]
        index, store = library._index.get(), library._store
        for question in asked:
            depth = max(settings.k, settings.candidates)
            dense = timed("dense ranking", index.search_dense, vectors[question], depth)
            timed("lexical ranking", index.search_lexical, question, depth)
            timed("whether the database has changed", store.state)
            stored = timed("its vectors", stored_vectors, store, index, dense.keys)
            timed("their cosines", row_cosines, vectors[question], stored)
            found = timed("rankings, fused, all of it", library.search, question, k=depth, candidates=depth)
            timed("second stage", reranker.score, question, found.unread)
            chosen = timed("retrieval, all of it", retrieve_passages, library, [question], settings)
            ids = [candidate.passage.id for candidate in chosen.chosen]
            timed("of which texts of the passages that go on", library.passages, ids)
            timed("risk", predicted, library, question, chosen)
        print(f"{len(index.rows):,} passages, {index.manifest.dense}, {len(asked) - WARM} questions\n")
    print("| part | ms |\n| --- | ---: |")
    for part, taken in seconds.items():
        print(f"| {part} | {1000 * median(taken[WARM:]):.2f} |")


if __name__ == "__main__":
    main()

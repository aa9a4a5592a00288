"""The kinds of dense index on a library's own vectors: what each finds of the exact neighbours, time, size, building.

    python benchmarks/approximate.py LIBRARY --data DIR --dataset biomix-bioasq [--queries 300]

The queries are those of a data set's test half. Every query is put to all kinds in turn, on one thread; times are CPU
time, and ratios to the exhaustive index's on the same queries. Building takes up to two threads. Recall is the share of
the exhaustive index's first 10, 16 and 100 that a kind finds when asked for 100. The library's index is not touched.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import process_time, thread_time

import numpy as np

from evaluation.datasets import open_dataset
from preflight_rag.library.index.dense import DenseIndex, DenseKind, write_dense
from preflight_rag.library.storage.store import Store
from preflight_rag.models.opening import open_embedder

DEPTH = 100
READ = 16
"""Passages that a turn reads."""
NAMES = ("flat", "compressed", "pca", "clusters", "pca+clusters")


def built(vectors: np.ndarray, folder: Path) -> dict[str, tuple[DenseIndex, DenseKind, float, int]]:
    """Build an index of each kind; return each with its kind, the seconds to build and write it, and its bytes."""
    found = {}
    for name in NAMES:
        started = process_time()
        kind = write_dense(folder / name, vectors, kind=name)
        seconds = process_time() - started
        found[name] = (DenseIndex(folder / name), kind, seconds, (folder / name).stat().st_size)
    return found


def searched(
    indices: dict[str, DenseIndex], queries: np.ndarray
) -> tuple[dict[str, list[float]], dict[str, list[list[tuple[int, float]]]]]:
    """Search every index for every query; return the seconds and the hits of each."""
    seconds: dict[str, list[float]] = {name: [] for name in indices}
    hits: dict[str, list[list[tuple[int, float]]]] = {name: [] for name in indices}
    for query in queries:
        for name, index in indices.items():
            started = thread_time()
            hits[name].append(index.search(query, DEPTH))
            seconds[name].append(thread_time() - started)
    return seconds, hits


def recall(found: list[list[tuple[int, float]]], exact: list[list[tuple[int, float]]], n: int) -> float:
    """Mean share of the first n exact neighbours that are among the first n found."""
    shares = [
        len({i for i, _ in a[:n]} & {i for i, _ in b[:n]}) / len(b[:n]) for a, b in zip(found, exact, strict=True)
    ]
    return float(np.mean(shares))


def score_error(found: list[list[tuple[int, float]]], queries: np.ndarray, vectors: np.ndarray) -> float:
    """Return the largest difference of a score to the true inner product."""
    return max(abs(score - float(vectors[i] @ q)) for q, hits in zip(queries, found, strict=True) for i, score in hits)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--queries", type=int, default=300)
    given = parser.parse_args()
    store = Store(given.library)
    recorded = store.meta("embedder")
    embedder = open_embedder(recorded["spec"])
    _, vectors = store.matrix(recorded["dimension"])
    chosen = open_dataset(given.dataset, given.data).select("test", given.queries)
    queries = np.stack([embedder.encode_query(query.question) for query in chosen])
    print(f"{len(vectors):,} vectors of {vectors.shape[1]} dimensions, {len(queries)} queries\n")
    print(
        "| index | FAISS | recall@10 | recall@16 | recall@100 | ms a query | time | bytes a vector | size | build "
        "| score error |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        kinds = built(vectors, Path(temporary))
        seconds, hits = searched({name: entry[0] for name, entry in kinds.items()}, queries)
    flat = median(seconds["flat"])
    for name, (_, kind, build, size) in kinds.items():
        taken, found = median(seconds[name]), hits[name]
        cells = (
            name,
            f"`{kind.factory}`",
            f"{recall(found, hits['flat'], 10):.4f}",
            f"{recall(found, hits['flat'], READ):.4f}",
            f"{recall(found, hits['flat'], DEPTH):.4f}",
            f"{1000 * taken:.2f}",
            f"{taken / flat:.2f} x",
            f"{size / len(vectors):.0f}",
            f"{size / kinds['flat'][3]:.2f} x",
            f"{build:.1f} s",
            f"{score_error(found, queries, vectors):.0e}",
        )
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

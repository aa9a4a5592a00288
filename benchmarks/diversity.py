"""Choosing 50 of 10,000 candidates by MMR: ours against langchain-core's `maximal_marginal_relevance`, same picks.

    python benchmarks/diversity.py [LIBRARY] [--candidates 10000] [--picks 50] [--runs 5]

LIBRARY is any library of yours with so many passages, such as the one that `preflight eval retrieval` makes of BioASQ;
the query is then the passage after them. Without it all are drawn around 200 topics, d = 384. Everything runs in
one go on one machine; read the ratios.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from preflight_rag.library import Library
from preflight_rag.library.search.diversity import fps, mmr

DIMENSION = 384
ALPHAS = (0.3, 0.5, 0.7)
WINDOW = 16


def drawn(count: int) -> np.ndarray:
    """Unit vectors around 200 topics, (count, 384) float32."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(200, DIMENSION))
    rows = topics[rng.integers(0, len(topics), count)] + 0.8 * rng.normal(size=(count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def stored(folder: Path, count: int) -> np.ndarray:
    """Return the vectors of a library's first passages, float32."""
    with Library.open(folder) as library:
        _, matrix = library._store.matrix(library.stats()["embedder"]["dimension"])
    return np.ascontiguousarray(matrix[:count], dtype=np.float32)


def milliseconds(call: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    taken = []
    for _ in range(runs):
        started = perf_counter()
        call()
        taken.append(perf_counter() - started)
    return 1000 * median(taken)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", type=Path)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--picks", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    count, k, runs = options.candidates + 1, options.picks, options.runs
    given = stored(options.library, count) if options.library else drawn(count)
    vectors, query = given[:-1], given[-1]
    print(f"{len(vectors):,} candidates, {k} picks, d = {vectors.shape[1]}; median of {runs} runs")
    print(f"{'α':>4} {'ours ms':>9} {'langchain-core ms':>18} {'ratio':>7} {'same picks':>11} {f'w={WINDOW} ms':>9}")
    for alpha in ALPHAS:
        same = mmr(vectors, query, alpha=alpha, k=k) == maximal_marginal_relevance(query, vectors, alpha, k)
        ours = milliseconds(lambda a=alpha: mmr(vectors, query, alpha=a, k=k), runs)
        peer = milliseconds(lambda a=alpha: maximal_marginal_relevance(query, vectors, a, k), max(1, runs // 2))
        windowed = milliseconds(lambda a=alpha: mmr(vectors, query, alpha=a, k=k, window=WINDOW), runs)
        print(
            f"{alpha:>4} {ours:>9.1f} {peer:>18.0f} {peer / ours:>7.0f} {'yes' if same else 'NO':>11} {windowed:>9.1f}"
        )
    print(f"FPS {milliseconds(lambda: fps(vectors, query, k=k), runs):.1f} ms")
    last = milliseconds(lambda: fps(vectors, query, alpha=0.5, k=k, window=WINDOW), runs)
    print(f"modified FPS, α 0.5, w {WINDOW}: {last:.1f} ms")


if __name__ == "__main__":
    main()

"""The dense index: inner products of vectors, through FAISS.

Up to `FLAT_LIMIT` passages the search is exhaustive. Beyond, candidates come from one-bit RaBitQ codes (Gao and Long,
SIGMOD 2024) and are refined with 8-bit scalar quantisation.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..state.errors import LibraryCorrupt

if TYPE_CHECKING:
    import numpy as np

FLAT_LIMIT = 50_000
COMPRESSED = "RaBitQfs,Refine(SQ8)"
REFINE_FACTOR = 16
TRAINING_SAMPLE = 200_000


def write_dense(path: Path, vectors: np.ndarray, *, flat_limit: int = FLAT_LIMIT) -> str:
    """Write an index of `vectors` (n, d) to `path`; returns its FAISS factory string."""
    import faiss

    faiss.omp_set_num_threads(min(2, os.cpu_count() or 1))
    kind = "Flat" if len(vectors) <= flat_limit else COMPRESSED
    index = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    if not index.is_trained:
        index.train(vectors[:: max(1, len(vectors) // TRAINING_SAMPLE)])
    index.add(vectors)
    faiss.write_index(index, str(path))
    return kind


class DenseIndex:
    """A dense index that is read from `path`.

    Raises:
        LibraryCorrupt: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        import faiss

        try:
            self._index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise LibraryCorrupt(f"The dense index {path} cannot be read") from error
        self._parameters = None
        if isinstance(self._index, faiss.IndexRefine):
            self._parameters = faiss.IndexRefineSearchParameters()
            self._parameters.k_factor = REFINE_FACTOR

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, vector: np.ndarray, n: int) -> list[tuple[int, float]]:
        """`(position, inner product)` of the `n` nearest vectors, best first, ties by position."""
        import faiss

        n = min(n, len(self))
        if n == 0:
            return []
        faiss.omp_set_num_threads(1)
        scores, positions = self._index.search(vector.reshape(1, -1), n, params=self._parameters)
        found = [(int(i), float(score)) for i, score in zip(positions[0], scores[0], strict=True) if i >= 0]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

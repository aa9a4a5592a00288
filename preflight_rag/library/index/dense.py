"""The dense index: inner products of vectors, through FAISS. Its kinds are those of `dense_kinds.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.dense_kinds import (
    COMPRESSED,
    FLAT_LIMIT,
    DenseKind,
    IndexKind,
    build_dense,
)
from preflight_rag.state.errors import LibraryCorrupt

if TYPE_CHECKING:
    import numpy as np

__all__ = ["COMPRESSED", "FLAT_LIMIT", "DenseIndex", "DenseKind", "IndexKind", "write_dense"]

REFINE_FACTOR = 16
"""Candidates of one-bit codes that are refined for each hit asked for."""
COMPONENTS_REFINE_FACTOR = 2
"""The same of candidates by principal components."""


def write_dense(
    path: Path, vectors: np.ndarray, *, kind: IndexKind = "auto", flat_limit: int = FLAT_LIMIT
) -> DenseKind:
    """Write an index of `vectors` (n, d) to `path`; returns what it is.

    Raises:
        UsageError: The kind is unknown.
    """
    import faiss

    faiss.omp_set_num_threads(min(2, os.cpu_count() or 1))
    index, found = build_dense(vectors, kind, flat_limit=flat_limit)
    faiss.write_index(index, str(path))
    return found


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
        self._stored = self._index
        if isinstance(self._index, faiss.IndexRefine):
            self._stored = faiss.downcast_index(self._index.refine_index)
            components = isinstance(faiss.downcast_index(self._index.base_index), faiss.IndexPreTransform)
            self._index.k_factor = COMPONENTS_REFINE_FACTOR if components else REFINE_FACTOR

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def is_exact(self) -> bool:
        """Whether inner products are those of the vectors themselves, not of codes."""
        import faiss

        return isinstance(self._stored, faiss.IndexFlat)

    def search(self, vector: np.ndarray, n: int, *, among: np.ndarray | None = None) -> list[tuple[int, float]]:
        """`(position, inner product)` of the `n` nearest vectors, best first, ties by position.

        Args:
            vector: Of the query, shape (d,).
            n: How many.
            among: Positions to choose from, shape (m,); they are searched exhaustively, whatever the kind of index.
        """
        import faiss

        n = min(n, len(self) if among is None else len(among))
        if n == 0:
            return []
        faiss.omp_set_num_threads(1)
        index, parameters = (self._index, None) if among is None else (self._stored, self._only(among))
        scores, positions = index.search(vector.reshape(1, -1), n, params=parameters)
        found = [(int(i), float(score)) for i, score in zip(positions[0], scores[0], strict=True) if i >= 0]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _only(self, positions: np.ndarray) -> Any:
        """Search parameters that pass over all other positions."""
        import faiss
        import numpy as np

        untyped: Any = faiss
        chosen = np.zeros(len(self), dtype=bool)
        chosen[positions] = True
        selector = untyped.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))
        if isinstance(self._stored, faiss.IndexIVF):
            return untyped.SearchParametersIVF(sel=selector, nprobe=self._stored.nlist)
        return untyped.SearchParameters(sel=selector)

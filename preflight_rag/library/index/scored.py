"""A ranking as two arrays: what both indices return and what is fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRanking:
    """A ranking, best first.

    Attributes:
        keys: The ranked things, (n,) int64: rows of the database, or positions in an index.
        scores: Their scores, (n,) float64.
    """

    keys: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, float]]) -> ScoredRanking:
        """Return the ranking of `(key, score)` pairs, which must be sorted best first."""
        import numpy as np

        return cls(np.array([key for key, _ in pairs], np.int64), np.array([score for _, score in pairs], np.float64))

    @classmethod
    def sorted(cls, keys: np.ndarray, scores: np.ndarray) -> ScoredRanking:
        """Return the ranking of keys, given in any order, by their scores, highest first; ties by key."""
        import numpy as np

        # The last key of `lexsort` decides first.
        order = np.lexsort((keys, -scores))
        return cls(keys[order], scores[order])

    def __len__(self) -> int:
        return len(self.keys)

    def best(self, n: int) -> ScoredRanking:
        """Return the ranking of the first `n` entries."""
        return ScoredRanking(self.keys[:n], self.scores[:n])

    def pairs(self) -> list[tuple[int, float]]:
        """Return `(key, score)` pairs, best first."""
        return list(zip(self.keys.tolist(), self.scores.tolist(), strict=True))

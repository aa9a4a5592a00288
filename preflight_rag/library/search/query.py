"""One search of a library: the text, the number of ranked passages, and the filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.library.search.fusion import RRF_K
from preflight_rag.state.context import Fusion
from preflight_rag.state.errors import UsageError
from preflight_rag.text.words import unicode_text

if TYPE_CHECKING:
    from preflight_rag.library.search.filters import Filter

TOP_K = 16
"""Passages that a turn reads, as for all figures of docs/RESULTS.md."""
CANDIDATES = 100
"""Passages of each ranking that are fused, as for all figures of docs/RESULTS.md."""
FUSION: Fusion = "rrf"
"""Default fusion of the rankings; see docs/RESULTS.md, `reranking`."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query and its limits. A plain string in its place is a query with the default limits.

    Attributes:
        text: Any text; it has no syntax.
        k: Length of the rankings.
        candidates: How many passages of each ranking are fused, at least `k`.
        rrf_k: The constant of reciprocal rank fusion.
        fusion: "rrf" by ranks, "combsum" by scores scaled to [0, 1].
        where: Only passages that pass this filter are ranked. If none does, the rankings are empty; what the filter
            left out is in the result's `note`.

    Raises:
        UsageError: The text is empty, `k` is below 1, or `rrf_k` is negative.
    """

    text: str
    k: int = TOP_K
    candidates: int = CANDIDATES
    rrf_k: int = RRF_K
    fusion: Fusion = FUSION
    where: Filter | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError(f"The query is empty: {self.text!r}", help="Ask something")
        if self.k < 1 or self.rrf_k < 0:
            message = f"k={self.k} and rrf_k={self.rrf_k} are out of range"
            raise UsageError(message, help="Use k >= 1 and rrf_k >= 0")
        object.__setattr__(self, "text", unicode_text(self.text))

    @classmethod
    def of(cls, query: SearchQuery | str) -> SearchQuery:
        """Return a query unchanged, and a text as a query with the default limits."""
        return cls(query) if isinstance(query, str) else query

    @property
    def depth(self) -> int:
        """Number of passages of each ranking that are fused."""
        return max(self.k, self.candidates)

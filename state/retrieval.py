"""What retrieval hands from stage to stage: candidates with their places in the rankings."""

from __future__ import annotations

from dataclasses import dataclass

from preflight_rag.state.values import Passage

ORIGINS = ("D1", "D2", "D3")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that a search found.

    Attributes:
        passage: The passage with its text.
        rank: Place in the fused ranking, from 1.
        score: The fused score.
        cosine: Of the query's and the passage's vectors, whichever ranking found it.
        dense_rank: Place in the dense ranking, or None where it did not reach so far.
        lexical_rank: Place in the BM25 ranking, or None.
        bm25: The BM25 score, or None where the BM25 ranking does not hold it.
        found_by: "semantic" by the library's search (E1), "term" by a Boolean expression at NCBI (E2), "both" (E3).
    """

    passage: Passage
    rank: int
    score: float
    cosine: float
    dense_rank: int | None = None
    lexical_rank: int | None = None
    bm25: float | None = None
    found_by: str = "semantic"

    @property
    def origin(self) -> str:
        """What NCBI's document it is from: "D1" a PubMed abstract, "D2" a PMC review, "D3" other in PMC; else ""."""
        origin = self.passage.metadata.get("origin")
        return origin if origin in ORIGINS else ""

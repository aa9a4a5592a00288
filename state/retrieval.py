"""What retrieval hands from stage to stage: candidates with their places in the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from preflight_rag.state.values import Passage

if TYPE_CHECKING:
    import numpy as np

ORIGINS = ("D1", "D2", "D3")


class TermNumbers(Protocol):
    """The terms of an index's passages as numbers."""

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """The number of each term; -1 where no passage has it."""
        ...

    def text(self, position: int) -> np.ndarray:
        """The terms of the passage at a position of the index, title and text in order, shape (t,)."""
        ...

    def title(self, position: int) -> np.ndarray:
        """Those of its title alone, shape (u,)."""
        ...

    def words(self, position: int) -> np.ndarray:
        """Its words as `text.words.words` gives them, title and text in order, shape (w,)."""
        ...

    def texts(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """`text` of several passages, one after the other (total,) int64, and their lengths (n,)."""
        ...

    def titles(self, positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The same of `title`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PassageTerms:
    """The terms of a passage as numbers.

    Attributes:
        vocabulary: What the numbers stand for; those of two passages compare where it is the same object.
        position: Of the passage, there.
    """

    vocabulary: TermNumbers
    position: int

    @property
    def text(self) -> np.ndarray:
        """Of title and text in order, as `text.words.passage_terms` gives them, shape (t,)."""
        return self.vocabulary.text(self.position)

    @property
    def title(self) -> np.ndarray:
        """Of the title alone, shape (u,)."""
        return self.vocabulary.title(self.position)

    @property
    def words(self) -> np.ndarray:
        """Of title and text in order, as `text.words.words` gives them, shape (w,)."""
        return self.vocabulary.words(self.position)


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
        terms: Its terms where an index holds them; None where they have to be read from its text.
    """

    passage: Passage
    rank: int
    score: float
    cosine: float
    dense_rank: int | None = None
    lexical_rank: int | None = None
    bm25: float | None = None
    found_by: str = "semantic"
    terms: PassageTerms | None = field(default=None, compare=False, repr=False)

    @property
    def origin(self) -> str:
        """What NCBI's document it is from: "D1" a PubMed abstract, "D2" a PMC review, "D3" other in PMC; else ""."""
        origin = self.passage.metadata.get("origin")
        return origin if origin in ORIGINS else ""

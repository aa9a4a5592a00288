"""Sentences of passages, and how like a question they are by vectors and by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIMILARITY_WEIGHT = 0.65
"""Weight of the cosine similarity; the lexical share has the rest."""


@dataclass(frozen=True)
class Sentence:
    """A verbatim sentence of source `n`, with its own index terms and those of its passage's title and its heading."""

    n: int
    text: str
    title: str
    terms: frozenset[str]
    title_terms: frozenset[str]


@dataclass(frozen=True)
class ScoredSentence:
    """A sentence with its cosine similarity to the question, its lexical share, and both as one score."""

    sentence: Sentence
    similarity: float
    share: float
    vector: np.ndarray

    @property
    def score(self) -> float:
        """The combined score, rounded so that the last bits of a sum never decide an order."""
        return weighted(self.similarity, self.share)


def weighted(similarity: float, share: float, weight: float = SIMILARITY_WEIGHT) -> float:
    """Return similarity and lexical share as one score, to four decimals."""
    return round(weight * similarity + (1 - weight) * share, 4)

"""Values that retrieval passes between its steps: candidates with their ranks in the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, overload

from typing_extensions import TypeVar

from preflight_rag.state.values import Passage, UnreadPassage

if TYPE_CHECKING:
    import numpy as np

ORIGINS = ("D1", "D2", "D3")


class TermNumbers(Protocol):
    """The terms of an index's passages as numbers."""

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term; -1 for a term that no passage has."""
        ...

    def text(self, position: int) -> np.ndarray:
        """Return the terms of the passage at a position of the index, title and text in order, shape (t,)."""
        ...

    def title(self, position: int) -> np.ndarray:
        """Return the terms of the title at a position, shape (u,)."""
        ...

    def words(self, position: int) -> np.ndarray:
        """Return the words of title and text at a position, in order, as returned by `text.words.words`, shape (w,)."""
        ...

    def texts(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of several passages, concatenated (total,) uint32, and their lengths (n,)."""
        ...

    def titles(self, positions: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of several passages' titles, concatenated, and their lengths."""
        ...

    def scratch(self) -> AbstractContextManager[np.ndarray]:
        """Return an array of zeros, float64, one for each term; the user has to restore the zeros."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PassageTerms:
    """The terms of a passage as numbers.

    Attributes:
        vocabulary: The index that defines the numbers; two passages' numbers are comparable if it is the same object.
        position: The passage's position there.
    """

    vocabulary: TermNumbers
    position: int

    @property
    def text(self) -> np.ndarray:
        """The terms of title and text in order, as `text.words.passage_terms` returns them, shape (t,)."""
        return self.vocabulary.text(self.position)

    @property
    def title(self) -> np.ndarray:
        """The terms of the title, shape (u,)."""
        return self.vocabulary.title(self.position)

    @property
    def words(self) -> np.ndarray:
        """The words of title and text in order, as `text.words.words` returns them, shape (w,)."""
        return self.vocabulary.words(self.position)


P = TypeVar("P", bound=Passage | UnreadPassage, covariant=True, default=Passage)
"""A passage with its text, or with the data that an index has of it."""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[P]):
    """A passage that a search found.

    Attributes:
        passage: The passage, read or, as long as it is only ranked, unread.
        rank: Rank in the fused ranking, from 1.
        score: The fused score.
        cosine: Cosine of the query's and the passage's vectors, whichever ranking found it.
        dense_rank: Rank in the dense ranking, or None if it is outside it.
        lexical_rank: Rank in the BM25 ranking, or None.
        bm25: The BM25 score, or None outside the BM25 ranking.
        found_by: "semantic" by the library's search (E1), "term" by a Boolean expression at NCBI (E2), "both" (E3).
        terms: Its terms if an index has them; None if they have to be computed from its text.
    """

    passage: P
    rank: int
    score: float
    cosine: float
    dense_rank: int | None = None
    lexical_rank: int | None = None
    bm25: float | None = None
    found_by: str = "semantic"
    terms: PassageTerms | None = field(default=None, compare=False, repr=False)

    def read(self, passage: Passage, rank: int | None = None) -> Candidate:
        """Return the candidate with its passage read, and with another rank if one is given."""
        return Candidate(
            passage,
            self.rank if rank is None else rank,
            self.score,
            self.cosine,
            self.dense_rank,
            self.lexical_rank,
            self.bm25,
            self.found_by,
            self.terms,
        )

    @property
    def origin(self) -> str:
        """The NCBI source of the document: "D1" a PubMed abstract, "D2" a PMC review, "D3" other in PMC; else ""."""
        origin = self.passage.metadata.get("origin") if isinstance(self.passage, Passage) else None
        return origin if origin in ORIGINS else ""


AnyCandidate: TypeAlias = Candidate[Passage | UnreadPassage]
"""A candidate that is being ranked, whose passage need not be read."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The rankings' values for candidates, an array (n,) each.

    Attributes:
        rank: Ranks in the fused ranking, from 1.
        score: The fused scores.
        cosine: Cosines of the query's vector and the passages'.
        dense_rank: Ranks in the dense ranking; 0 for passages outside it.
        lexical_rank: Ranks in the BM25 ranking; 0 for passages outside it.
        bm25: BM25 scores; NaN for passages outside the BM25 ranking.
    """

    rank: np.ndarray
    score: np.ndarray
    cosine: np.ndarray
    dense_rank: np.ndarray
    lexical_rank: np.ndarray
    bm25: np.ndarray

    @classmethod
    def of(cls, candidates: Sequence[AnyCandidate]) -> Columns:
        """Convert candidates that are objects into columns."""
        import numpy as np

        return cls(
            rank=np.array([candidate.rank for candidate in candidates]),
            score=np.array([candidate.score for candidate in candidates]),
            cosine=np.array([candidate.cosine for candidate in candidates]),
            dense_rank=np.array([candidate.dense_rank or 0 for candidate in candidates]),
            lexical_rank=np.array([candidate.lexical_rank or 0 for candidate in candidates]),
            bm25=np.array([float("nan") if candidate.bm25 is None else candidate.bm25 for candidate in candidates]),
        )

    def take(self, order: np.ndarray) -> Columns:
        """Return the columns of the candidates at some indices, in that order."""
        return Columns(
            self.rank[order],
            self.score[order],
            self.cosine[order],
            self.dense_rank[order],
            self.lexical_rank[order],
            self.bm25[order],
        )


class PassagePlaces(Protocol):
    """The data of an index about its passages, without their texts."""

    def passages(self, positions: np.ndarray) -> list[UnreadPassage]:
        """Return the passages at these positions."""
        ...

    def documents(self, positions: np.ndarray) -> list[str]:
        """Return the ids of the documents of the passages at these positions."""
        ...

    def retracted(self, positions: np.ndarray) -> np.ndarray:
        """Return, as booleans (n,), which passages are of a retracted publication."""
        ...


class Pool(Sequence[Candidate[UnreadPassage]]):
    """Candidates of one search as columns; they become objects, without texts, when they are accessed.

    A search ranks a hundred and a turn reads sixteen: objects of the others are never made.

    Args:
        columns: The rankings' values.
        positions: The passages' positions in the index, (n,).
        vocabulary: The index's terms.
        places: The index's other data about its passages.
    """

    def __init__(self, columns: Columns, positions: np.ndarray, vocabulary: TermNumbers, places: PassagePlaces) -> None:
        self.columns, self.positions = columns, positions
        self.vocabulary, self._places = vocabulary, places

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> Candidate[UnreadPassage]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Candidate[UnreadPassage]]: ...
    def __getitem__(self, index: int | slice) -> Candidate[UnreadPassage] | list[Candidate[UnreadPassage]]:
        if isinstance(index, int):
            start = range(len(self))[index]  # a negative index counts from the end; a wrong one raises IndexError
            return self[start : start + 1][0]
        columns, positions = self.columns, self.positions[index]
        rows = zip(
            self._places.passages(positions),
            columns.rank[index].tolist(),
            columns.score[index].tolist(),
            columns.cosine[index].tolist(),
            columns.dense_rank[index].tolist(),
            columns.lexical_rank[index].tolist(),
            columns.bm25[index].tolist(),
            positions.tolist(),
            strict=True,
        )
        return [
            Candidate(
                passage=passage,
                rank=rank,
                score=score,
                cosine=cosine,
                dense_rank=dense or None,
                lexical_rank=lexical or None,
                bm25=bm25 if lexical else None,
                terms=PassageTerms(self.vocabulary, position),
            )
            for passage, rank, score, cosine, dense, lexical, bm25, position in rows
        ]

    def take(self, order: np.ndarray) -> Pool:
        """Return the candidates at some indices of the pool, in that order."""
        return Pool(self.columns.take(order), self.positions[order], self.vocabulary, self._places)

    def documents(self, count: int) -> list[str]:
        """Return the ids of the documents of the first `count` candidates."""
        return self._places.documents(self.positions[:count])

    @property
    def retracted(self) -> np.ndarray:
        """Return, as booleans (n,), which candidates are of a retracted publication."""
        return self._places.retracted(self.positions)


def in_order(candidates: Sequence[Candidate], indices: np.ndarray) -> Sequence[Candidate]:
    """Return the candidates at these indices, in that order; a `Pool` stays a `Pool`."""
    if isinstance(candidates, Pool):
        return candidates.take(indices)
    return [candidates[index] for index in indices.tolist()]

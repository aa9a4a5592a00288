"""The extractive reader as the second stage: it scores how likely a search should find a passage.

It is a small cross-encoder (CPQA, section III.C): question and passage go through the encoder together, and its
relevance head is the score. A reader without such a head, such as a SQuAD-v2 model of the Hub, scores by answerability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.models.reranking.rerankers import READER
from preflight_rag.state.errors import ExtractiveReaderError, RerankerError
from preflight_rag.state.retrieval import Candidate

if TYPE_CHECKING:
    import numpy as np

BATCH = 8
"""Passages between two checks of the deadline; a guess."""


@dataclass(frozen=True)
class ReaderReranker:
    """An extractive reader behind the `Reranker` interface; its scores are probabilities.

    Attributes:
        reader: The reader.
        batch_size: Passages between two checks of the deadline.
        name: Its name for `open_reranker`.
    """

    reader: ExtractiveReader
    batch_size: int | None = BATCH
    name: str = READER

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the score of each candidate (n,), float64: its relevance, or its answerability if the reader has none.

        Raises:
            RerankerError: The reader's model is missing or damaged.
        """
        import numpy as np

        passages = [candidate.passage for candidate in candidates]
        try:
            readings = self.reader.read([(question, passage.title, passage.text) for passage in passages])
        except ExtractiveReaderError as error:
            raise RerankerError(error.message, help=error.help) from error
        scores = [reading.answerable if reading.relevance is None else reading.relevance for reading in readings]
        return np.array(scores, dtype=float)

"""Pruning: passages that are unlikely to contain the answer are not passed to a language model.

The extractive reader judges them, which saves the tokens of those passages. The best-ranked few always stay, since
retrieval and the reader err on different passages; and if no passage reaches the threshold, all stay, since the
reader then found no answer by which to distinguish them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.state.errors import UsageError
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.values import PrunedPassage

if TYPE_CHECKING:
    from preflight_rag.models.reading.extractive_reader import Pair

LEAST = 6
"""Number of best-ranked passages that are never pruned; they take 37 % of the tokens on NQ-Open (docs/RESULTS.md)."""


@dataclass(frozen=True)
class Pruning:
    """The result of pruning: the kept candidates, in order, and the pruned ones."""

    kept: list[Candidate]
    pruned: list[PrunedPassage]


def kept_places(
    answerable: Sequence[float], threshold: float, least: int = LEAST, ranks: Sequence[int] | None = None
) -> list[int]:
    """Return the indices of the passages to keep, ascending: the best-ranked ones and those at the threshold or above.

    All passages are kept if none reaches the threshold.

    Args:
        answerable: Probability that a passage contains an answer, for each passage.
        threshold: Least probability at which a passage is kept.
        least: Number of best-ranked passages that are always kept.
        ranks: Rank of each passage; None if the passages are in the ranking's order.
    """
    indices = range(len(answerable))
    likely = {index for index in indices if answerable[index] >= threshold}
    if not likely:
        return list(indices)
    by_rank = sorted(indices, key=lambda index: (index if ranks is None else ranks[index], index))
    return sorted(likely.union(by_rank[:least]))


def answerability(reader: ExtractiveReader, questions: Sequence[str], texts: Sequence[tuple[str, str]]) -> list[float]:
    """Return, for each (title, text), the largest of its probabilities to answer one of the questions.

    The reader reads each question with each text, all in one call.
    """
    pairs: list[Pair] = []
    for question in questions:
        for title, text in texts:
            pairs.append((question, title, text))
    probabilities = iter([reading.answerable for reading in reader.read(pairs)])
    by_text: list[list[float]] = [[] for _ in texts]
    # In the order of the pairs: all texts with the first question, then all with the second.
    for _ in questions:
        for values in by_text:
            values.append(next(probabilities))
    return [max(values) for values in by_text]


def prune(
    reader: ExtractiveReader | None,
    questions: Sequence[str],
    candidates: Sequence[Candidate],
    threshold: float,
    least: int = LEAST,
) -> Pruning:
    """Separate the candidates that are unlikely to contain an answer (pruned) from the others (kept).

    A pruned passage's `rank` is its position among the candidates, from 1.

    Args:
        reader: The reader that judges the passages.
        questions: The question and its parts; a passage is judged by the one that it answers best.
        candidates: In the order of the prompt; their ranks are those of the ranking from which they were chosen.
        threshold: Least probability of an answer at which a candidate is kept.
        least: Number of best-ranked candidates that are kept whatever their probability.

    Raises:
        UsageError: There is no reader.
        ExtractiveReaderError: Its model is missing or damaged.
    """
    if reader is None:
        raise UsageError(
            f"prune = {threshold:g} needs an extractive reader, and there is none",
            help="Use --extractive-reader default, or --prune 0.",
        )
    texts = [(candidate.passage.title, candidate.passage.text) for candidate in candidates]
    probabilities = answerability(reader, questions, texts)
    kept_indices = kept_places(probabilities, threshold, least, [candidate.rank for candidate in candidates])
    return Pruning(
        kept=[candidates[index] for index in kept_indices],
        pruned=[
            PrunedPassage(
                passage_id=candidate.passage.id,
                document_id=candidate.passage.document_id,
                title=candidate.passage.title,
                rank=index + 1,
                answerable=probabilities[index],
                tokens=candidate.passage.tokens,
            )
            for index, candidate in enumerate(candidates)
            if index not in kept_indices
        ],
    )

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
    """Return the kept places, in order: the best-ranked ones and those at the threshold or above.

    All places are kept if none reaches the threshold.

    Args:
        answerable: Probability of an answer, by place.
        threshold: Least probability.
        least: How many of the best-ranked stay.
        ranks: Rank of each place; None if the places are in the ranking's order.
    """
    reaching = {i for i, value in enumerate(answerable) if value >= threshold}
    places = range(len(answerable))
    best = sorted(places, key=lambda i: (i if ranks is None else ranks[i], i))[:least]
    return sorted(reaching.union(best)) if reaching else list(places)


def answerability(reader: ExtractiveReader, questions: Sequence[str], texts: Sequence[tuple[str, str]]) -> list[float]:
    """Return, for each (title, text), the probability that it answers the question that it answers best."""
    asked: list[Pair] = []
    # Question by question: `values[i::n]` are then those of one text.
    for question in questions:
        for title, text in texts:
            asked.append((question, title, text))
    values = [reading.answerable for reading in reader.read(asked)]
    return [max(values[i :: len(texts)]) for i in range(len(texts))]


def prune(
    reader: ExtractiveReader | None,
    questions: Sequence[str],
    candidates: Sequence[Candidate],
    threshold: float,
    least: int = LEAST,
) -> Pruning:
    """Separate the candidates that are unlikely to contain an answer from the others.

    Args:
        reader: The reader that judges the passages.
        questions: The question and its parts; a passage is judged by the one that it answers best.
        candidates: In the order of the prompt; their ranks are those of the ranking from which they were chosen.
        threshold: Least probability of an answer.
        least: How many of the best-ranked stay whatever their probability.

    Raises:
        UsageError: There is no reader.
        ExtractiveReaderError: Its model is missing or damaged.
    """
    if reader is None:
        raise UsageError(
            f"prune = {threshold:g} needs an extractive reader, and there is none",
            help="Use --extractive-reader default, or --prune 0.",
        )
    values = answerability(reader, questions, [(c.passage.title, c.passage.text) for c in candidates])
    kept = kept_places(values, threshold, least, [candidate.rank for candidate in candidates])
    return Pruning(
        kept=[candidates[i] for i in kept],
        pruned=[
            PrunedPassage(
                passage_id=candidate.passage.id,
                document_id=candidate.passage.document_id,
                title=candidate.passage.title,
                rank=i + 1,
                answerable=values[i],
                tokens=candidate.passage.tokens,
            )
            for i, candidate in enumerate(candidates)
            if i not in kept
        ],
    )

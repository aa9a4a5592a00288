"""Selection of the passages most likely to answer, for a language model without room or time for all of them.

A search compares a question with a passage; the extractive reader reads both together, and each misses what the other
finds. So the search's first passage stays, and the others are scored by their place in the search's order and by the
probability, as the reader estimates it, that they should be found:

    score = relevant logit(relevance) - place log(rank)

Both weights are in `reading_order.json` and are set by `python -m training.reading_order`. Without the rule for the
first passage, 5 of 100 questions over BioASQ's short passages lost their passage. The selected ones keep the search's
order. If all passages fit, they are not read for this: sorting them by these scores answers no more questions than
reading them while the model writes, which the check for a plain answer does (docs/RESULTS.md).

The weights were fitted to the order of the second stage `features`. Any other order that the user chooses (another
second stage, newest first, a selector) is kept, as is that of a question with parts, whose passages alternate, and of
one with exact strings, whose passages go first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.search.retrieval import within_share
from preflight_rag.models.reading.extractive_reader import READ_LANGUAGES, ExtractiveReader, PassageReading
from preflight_rag.models.reranking.rerankers import FEATURES
from preflight_rag.text.exact import exact_strings
from preflight_rag.text.languages import language_of
from preflight_rag.text.log_lines import asks_errors
from preflight_rag.text.retractions import is_retracted

if TYPE_CHECKING:
    from preflight_rag.state.context import Settings
    from preflight_rag.state.retrieval import Candidate

WEIGHTS = Path(__file__).with_name("reading_order.json")
TERMS = ("place", "relevant")
LEAST_PROBABILITY = 1e-4
"""Probabilities nearer to 0 and 1 are set to this distance: the reader's last decimals are no evidence. A guess."""
DECIMALS = 4
"""Decimals of a score."""


@dataclass(frozen=True)
class ReadingOrder:
    """The weights of place and reading.

    Attributes:
        place: Weight of the logarithm of the place in the search's order, which counts against a passage.
        relevant: Weight of the log odds that a search should find the passage; for a reader without these, of the log
            odds of an answer.
    """

    place: float
    relevant: float

    def scores(self, readings: Sequence[PassageReading]) -> list[float]:
        """Return the passages' scores, given their readings in the search's order; higher means likelier to answer."""
        return [
            round(self.relevant * relevant - self.place * place, DECIMALS) for place, relevant in evidence(readings)
        ]

    def preferred(self, readings: Sequence[PassageReading]) -> list[int]:
        """Return the passages' indices: the search's first one, then the others by their scores, highest first."""
        scores = self.scores(readings)
        return sorted(range(len(scores)), key=lambda index: (index > 0, -scores[index]))

    @classmethod
    def shipped(cls) -> ReadingOrder:
        """Return the trained weights."""
        weights = _trained_weights()["weights"]
        return cls(weights["place"], weights["relevant"])


@lru_cache(maxsize=1)
def _trained_weights() -> Mapping[str, Any]:
    """Return the content of `reading_order.json`, which is read once."""
    content: Mapping[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return content


def evidence(readings: Sequence[PassageReading]) -> list[tuple[float, float]]:
    """Return `(log of the place, log odds)` of each passage, to which the weights apply, in the search's order."""
    return [
        (math.log(rank), _log_odds(reading.answerable if reading.relevance is None else reading.relevance))
        for rank, reading in enumerate(readings, 1)
    ]


def _log_odds(probability: float) -> float:
    """Return the logarithm of a probability's odds; probabilities near 0 and 1 are bounded by `LEAST_PROBABILITY`."""
    bounded = min(1 - LEAST_PROBABILITY, max(LEAST_PROBABILITY, probability))
    return math.log(bounded / (1 - bounded))


def may_choose(settings: Settings, questions: Sequence[str]) -> bool:
    """Return whether a reading may select among the passages: they must be in the usual order of a single question.

    The order is another one with other settings for it, with several questions, and for exact strings and errors.
    """
    is_selected_by_rank = settings.ordering == "score" and settings.diversity == "none" and settings.preset is None
    reranker, _, _ = settings.reranker.strip().casefold().partition(":")
    is_ranked_by_features = reranker == FEATURES and not settings.recency
    is_usual = is_selected_by_rank and is_ranked_by_features and settings.compression is None
    if not (settings.choose_by_reading and is_usual):
        return False
    return settings.k > 1 and len(questions) == 1 and not exact_strings(questions[0]) and not asks_errors(questions[0])


def likeliest(
    question: str, candidates: Sequence[Candidate], settings: Settings, extractive: ExtractiveReader
) -> list[Candidate]:
    """Return as many candidates as there is room for, those most likely to answer, in the given order.

    If all fit, or none beside the first, or if a text is not in the reader's language, the first candidates that fit
    are returned without any reading. A document gets no larger share than `document_share`, if others have passages
    about as near.

    Args:
        question: The standalone question.
        candidates: Best first.
        settings: `k` and `budget_tokens` are the room; if no candidate fits, none is returned.
        extractive: The reader.

    Raises:
        ExtractiveReaderError: It cannot read.
    """
    first = _select_fitting(candidates, settings)
    texts = (question, *(candidate.passage.text for candidate in candidates))
    is_settled = len(first) in (0, len(candidates)) or not _has_choice(candidates, settings)
    if is_settled or any(language_of(text) not in READ_LANGUAGES for text in texts):
        return first
    pairs = [(question, candidate.passage.title, candidate.passage.text) for candidate in candidates]
    order = ReadingOrder.shipped().preferred(extractive.read(pairs))
    preferred = [candidates[index] for index in order]
    # Stable: retracted publications go last, and all else stays as it was.
    preferred.sort(key=lambda candidate: is_retracted(candidate.passage.title))
    selected = _select_fitting(within_share(preferred, settings), settings)
    selected_ids = {candidate.passage.id for candidate in selected}
    return [candidate for candidate in candidates if candidate.passage.id in selected_ids]


def _has_choice(candidates: Sequence[Candidate], settings: Settings) -> bool:
    """Return whether any passage fits beside the first one, which always stays."""
    budget = settings.budget_tokens
    if budget is None:
        return settings.k > 1
    remaining = budget - candidates[0].passage.tokens
    # Below 0 the first passage does not fit and is skipped, so that others compete for its room.
    return remaining < 0 or any(candidate.passage.tokens <= remaining for candidate in candidates[1:])


def _select_fitting(candidates: Sequence[Any], settings: Settings) -> list[Candidate]:
    """Return the first candidates that fit into `k` and the budget; one that does not fit is skipped."""
    from preflight_rag.library.search.selection import select

    budget = settings.budget_tokens
    # `select` refuses such a budget; here it means that there is no room for any passage.
    if budget is not None and all(candidate.passage.tokens > budget for candidate in candidates):
        return []
    return select(candidates, k=settings.k, budget_tokens=budget)

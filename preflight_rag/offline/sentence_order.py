"""The order in which sentences that may answer are shown: by vectors, by words, and by how their passages are read.

A sentence's score is a weighted sum of what is known of it and of its passage, less the penalties of rules (another
subject, another year, …), which are not fitted. The weights in `sentence_order.json` are set by
`python -m training.sentence_order`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.text.money import is_other_figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from preflight_rag.offline.found_answers import ReadPassage
    from preflight_rag.offline.scored_sentences import ScoredSentence

WEIGHTS = Path(__file__).with_name("sentence_order.json")
_TWO_NUMBERS = re.compile(r"\b(?P<first>[1-9]\d{2})[-‐‑–](?P<second>[1-9])\b(?![-/.:]\d)")
"""Not a month, "1999-05", nor a date, "1999-5-31"."""
DECIMALS = 4
"""Decimals of a score, so that the last bits of a sum never decide an order."""
PLACE, READ, HOLDS = 0.04, 0.2, 0.2
"""Weights, beside the share of the question's words, by which sentences are chosen to be embedded: of the logarithm of
the passage's place in the search, of the reader's two probabilities of the passage, and of a span that the reader
finds in the sentence. With 16 sentences chosen, a right one was among them for 393 of 404 questions over articles of
Wikipedia, by words alone for 378."""


@dataclass(frozen=True)
class SentenceFeatures:
    """What is known of a sentence before rules are applied.

    Attributes:
        similarity: Cosine similarity to the question.
        share: Share of the question's terms in it.
        answerable: Probability, by the extractive reader, that its passage answers.
        depth: Logarithm of its passage's place in the search.
        holds: `answerable`, if it holds the best span of its passage, else 0.
        no_figure: Whether the question asks for a number, a date or money, and it has none.
    """

    similarity: float
    share: float
    answerable: float
    depth: float
    holds: float
    no_figure: float


@lru_cache(maxsize=1)
def shipped_weights() -> SentenceFeatures:
    """Return the trained weight of each feature."""
    weights = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return SentenceFeatures(**{field.name: float(weights[field.name]) for field in fields(SentenceFeatures)})


def order_scores(features: Sequence[SentenceFeatures]) -> list[float]:
    """Return the score of each sentence: higher means likelier to answer."""
    weights = astuple(shipped_weights())
    return [
        round(sum(weight * value for weight, value in zip(weights, astuple(each), strict=True)), DECIMALS)
        for each in features
    ]


def features_of(
    question: str,
    ranked: Sequence[ScoredSentence],
    read: Sequence[ReadPassage],
    says: Callable[[str], bool] | None,
) -> list[SentenceFeatures]:
    """Return the features of sentences, in their order.

    Args:
        question: The question.
        ranked: The sentences, compared with the question.
        read: Their passages, with readings.
        says: Whether a text has what the question asks for; None if it asks for no number, date or money.
    """
    readings = {item.source.n: item.reading for item in read}
    found = []
    for item in ranked:
        text, reading = item.sentence.text, readings[item.sentence.n]
        best = reading.best.text if reading.best else ""
        is_other = is_other_figure(question, best) or _is_of_model_number(best, text)
        is_best = bool(best) and best in text and not is_other
        found.append(
            SentenceFeatures(
                similarity=item.similarity,
                share=item.share,
                answerable=reading.answerable,
                depth=math.log(item.sentence.n),
                holds=reading.answerable * is_best,
                no_figure=float(says is not None and not says(text)),
            )
        )
    return found


def _is_of_model_number(span: str, text: str) -> bool:
    """Return whether a span stands in a text as a part of a model's number, "8" of "737-8"; a range ends with more."""
    start = text.find(span)
    return any(
        int(match["first"]) > int(match["second"]) and start in (match.start("first"), match.start("second"))
        for match in _TWO_NUMBERS.finditer(text)
    )


def preferences(sentences: Sequence[tuple[int, str]], read: Sequence[ReadPassage]) -> list[float]:
    """Return what is added to the share of words where sentences are chosen to be embedded.

    Args:
        sentences: Number of the passage and text of each.
        read: The passages, with readings.
    """
    readings = {item.source.n: item.reading for item in read}
    found = []
    for n, text in sentences:
        reading = readings[n]
        passage = READ * (reading.answerable + (reading.relevance or 0.0)) - PLACE * math.log(n)
        found.append(passage + HOLDS * any(span.text in text for span in reading.spans))
    return found

"""Small models that read: for a question and a passage the spans that answer, whether any does, and what it says.

`open_extractive_reader` gives the project's own reader, which runs through ONNX Runtime (`docs/reader.md` is its model
card), or any SQuAD-v2 model of the Hugging Face Hub by name. Each passage is read by itself: what is said of it does
not depend on the passages beside it. Scores are rounded, so that the last bits of a sum never decide an order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from preflight_rag.models.cache import PureCache
from preflight_rag.models.reading.reader_input import SCORES, Window, joined

if TYPE_CHECKING:
    import numpy as np

Pair: TypeAlias = tuple[str, str, str]
"""Question, title and text of a passage."""

OWN, NONE = "default", "none"
"""Names of the project's own reader, and of no reader."""
DECIMALS = 3
MAX_SPANS = 4
MAX_SPAN_TOKENS = 40
CANDIDATES = 12
CACHED_READINGS = 4096
"""Readings that are kept: those of a few hundred questions over 16 passages; a guess, some 10 MB."""
EVEN = 0.5
"""Threshold of a reader that was not calibrated: a span is as likely as that there is none."""
_EDGES = " \t\n\r.,;:!?\"'“”‘’«»"
_WORD = re.compile(r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+(?:[.,]\d+)*")
"""A word, or a number with its commas; Thai, kana and Chinese characters are none, as no space parts their words."""
_NEAR = 40
"""Characters to each side in which a word's ends are looked for."""


@dataclass(frozen=True)
class Span:
    """A stretch of a passage's text that answers.

    Attributes:
        start, end: Its characters: `text == passage[start:end]`.
        text: Its words.
        margin: Its score above "no answer here", in logits.
    """

    start: int
    end: int
    text: str
    margin: float


@dataclass(frozen=True)
class PassageReading:
    """What the reader says of one passage, for one question.

    Attributes:
        spans: Stretches that answer, best first, none inside another; empty only where the text has no word.
        answerable: Probability that the passage holds the answer.
        relevance: Probability that a search should find the passage; None where the model has no such score.
        verdict: Probabilities of yes, no and neither; None likewise.
        descriptor: What tells the passage's subject from others of its name, or None.
    """

    spans: tuple[Span, ...]
    answerable: float
    relevance: float | None = None
    verdict: tuple[float, float, float] | None = None
    descriptor: str | None = None

    @property
    def best(self) -> Span | None:
        """The span that answers best."""
        return self.spans[0] if self.spans else None


@runtime_checkable
class ExtractiveReader(Protocol):
    """Reads passages for a question. `name` goes into the receipt."""

    name: str

    @property
    def threshold(self) -> float:
        """Least probability at which a passage counts as answering."""
        ...

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """One reading a pair, in order; the same for a pair whatever stands beside it."""
        ...


class CachedReader:
    """An extractive reader that reads each pair once; as a reading depends on its pair alone, no result changes.

    Args:
        reader: What reads.
        most: Readings that are kept.
    """

    def __init__(self, reader: ExtractiveReader, most: int = CACHED_READINGS) -> None:
        self.reader, self.name = reader, reader.name
        self._readings = PureCache(reader.read, most)

    @property
    def threshold(self) -> float:
        """That of the reader."""
        return self.reader.threshold

    def read(self, pairs: Sequence[Pair]) -> list[PassageReading]:
        """One reading a pair, in order."""
        return self._readings.get(pairs)


def decode(
    title: str, text: str, windows: Sequence[Window], outputs: Sequence[Sequence[np.ndarray]]
) -> tuple[tuple[Span, ...], str | None, dict[str, float]]:
    """Spans, descriptor and scores of one passage from the model's outputs for its windows.

    Args:
        title: The passage's title; a descriptor may stand there.
        text: Its text; answers stand here.
        windows: Its windows.
        outputs: For each window the model's `OUTPUTS`: four of shape (tokens,), and the scores (5,).

    Returns:
        Spans best first; the descriptor or None; for each of `SCORES` its logit, of the window most likely to answer.
    """
    whole = joined(title, text)
    spans: list[Span] = []
    described: list[Span] = []
    scores: dict[str, float] = {}
    for window, (start, end, d_start, d_end, pooled) in zip(windows, outputs, strict=True):
        spans += answer_spans(title, text, window, start, end)
        told = best_spans(whole, window, d_start, d_end)
        described += [span for span in told if not span.start < window.shift < span.end]
        logits = {name: round(float(value), DECIMALS) for name, value in zip(SCORES, pooled, strict=True)}
        if not scores or logits["answerable"] > scores["answerable"]:
            scores = logits
    best = min(described, key=_order, default=None)
    return apart(spans), best.text if best and best.margin > 0 else None, scores


def answer_spans(title: str, text: str, window: Window, start: np.ndarray, end: np.ndarray) -> list[Span]:
    """The likeliest answers of a window, best first: stretches of the text, not of its title."""
    found = best_spans(joined(title, text), window, start, end, least=window.shift)
    return [replace(span, start=span.start - window.shift, end=span.end - window.shift) for span in found]


def best_spans(text: str, window: Window, start: np.ndarray, end: np.ndarray, *, least: int = 0) -> list[Span]:
    """The likeliest spans of a window that begin at character `least` or later, as whole words."""
    allowed = [i for i, (a, b) in enumerate(window.offsets) if least <= a < b]
    if not allowed:
        return []
    firsts = _highest(start, allowed)
    lasts = _highest(end, allowed)
    null = float(start[0]) + float(end[0])

    def span(i: int, j: int) -> Span | None:
        margin = float(start[i]) + float(end[j]) - null
        return _whole_words(text, (window.offsets[i][0], window.offsets[j][1]), margin)

    found = [span(i, j) for i in firsts for j in lasts if 0 <= j - i < MAX_SPAN_TOKENS]
    if not any(found):
        found = [span(i, i) for i in allowed]
    return sorted(filter(None, found), key=_order)


def apart(spans: Sequence[Span], most: int = MAX_SPANS) -> tuple[Span, ...]:
    """The best spans of which none overlaps a better one."""
    kept: list[Span] = []
    for span in sorted(spans, key=_order):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
        if len(kept) == most:
            break
    return tuple(kept)


def _order(span: Span) -> tuple[float, int, int]:
    return -span.margin, span.start, span.end


def _highest(logits: np.ndarray, allowed: Sequence[int]) -> list[int]:
    return sorted(allowed, key=lambda i: (-round(float(logits[i]), DECIMALS), i))[:CANDIDATES]


def _whole_words(text: str, at: tuple[int, int], margin: float) -> Span | None:
    """A span widened to whole words, without marks at its ends; None where no word is left."""
    start, end = at
    first, last = max(0, start - _NEAR), min(len(text), end + _NEAR)
    for word in _WORD.finditer(text, first, last):
        if word.start() < at[0] < word.end() and (word.start() > first or first == 0):
            start = word.start()
        if word.start() < at[1] < word.end() and (word.end() < last or last == len(text)):
            end = word.end()
    kept = text[start:end]
    start += len(kept) - len(kept.lstrip(_EDGES))
    kept = kept.strip(_EDGES)
    if not re.search(r"\w", kept):
        return None
    return Span(start, start + len(kept), kept, round(margin, DECIMALS))


def sigmoid(logit: float) -> float:
    """The probability of a logit, rounded."""
    return round(1 / (1 + math.exp(-max(-40.0, min(40.0, logit)))), 4)


def softmax(logits: Sequence[float]) -> tuple[float, ...]:
    """Probabilities of logits, rounded."""
    top = max(logits)
    masses = [math.exp(logit - top) for logit in logits]
    return tuple(round(mass / sum(masses), 4) for mass in masses)


def open_extractive_reader(name: str = OWN) -> ExtractiveReader | None:
    """The reader of a name: `default` (the project's own), `none`, or a SQuAD-v2 model of the Hub or in a folder.

    Raises:
        ExtractiveReaderError: The model is missing, damaged, or cannot be loaded; the message says what to do.
    """
    if name == NONE:
        return None
    if name == OWN:
        from preflight_rag.models.reading.own_reader import OwnReader

        return CachedReader(OwnReader())
    from preflight_rag.models.reading.hub_reader import HubReader

    return CachedReader(HubReader(name))

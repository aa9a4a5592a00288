"""A question put to a passage, and what is known of the pair: the form of what the reader is trained and measured on.

Every set falls into three parts by the first byte b of the SHA-256 of a key (the question; where several questions
share a text, the article, document or subject): test (b mod 4 = 1), validation (b mod 8 = 3), and training, which has
the rest. Test is a part of the half that the other experiments report on. A key is one for all passages of its
question, so no question is trained on and measured.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from preflight_rag.evaluation.samples import Span
from preflight_rag.text.words import words

Verdict = Literal["yes", "no", "neither"]

WINDOW = (60, 150)
"""Least and most words of a window of a longer text."""


@dataclass(frozen=True)
class Example:
    """A question with one passage, and what is known of the pair; None says that it is not known.

    Attributes:
        key: What its part is told by.
        answers: Stretches of `text` that answer; empty when none does. None: there is an answer without a marked span,
            or it is not known whether there is one.
        answerable: Whether the passage holds the answer.
        relevant: Whether the passage is one that a search should find.
        verdict: What the passage says to a yes/no question, or of a statement in the question's place.
        descriptor: What tells the thing that the passage is about from others of its name; empty when nothing does.
        group: What the question's passages have in common, for ranking them.
        gold: Answers as the data set writes them, for measuring.
    """

    key: str
    question: str
    title: str
    text: str
    answers: tuple[Span, ...] | None = None
    answerable: bool | None = None
    relevant: bool | None = None
    verdict: Verdict | None = None
    descriptor: tuple[Span, ...] | None = None
    group: str = ""
    gold: tuple[str, ...] = ()


def spans_of(text: str, answers: Sequence[str], most: int = 6) -> tuple[Span, ...]:
    """Where whole words of a text read as one of the answers, case aside."""
    found: dict[Span, None] = {}
    for answer in answers:
        pattern = r"\s+".join(map(re.escape, answer.split()))
        if pattern:
            found.update(
                dict.fromkeys(match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))
            )
    return tuple(list(found)[:most])


def window(text: str, spans: Sequence[Span], around: Span, rng: random.Random) -> Span:
    """A run of sentences around a stretch of text, of a length drawn from `WINDOW`."""
    wanted = rng.randint(*WINDOW)
    first = next((i for i, (_, end) in enumerate(spans) if end > around[0]), len(spans) - 1)
    last = next((i for i, (_, end) in enumerate(spans) if end >= around[1]), len(spans) - 1)
    last = max(first, last)
    length = len(text[spans[first][0] : spans[last][1]].split())
    while length < wanted and (first > 0 or last < len(spans) - 1):
        before = first > 0 and (last == len(spans) - 1 or rng.random() < 0.5)
        first, last = (first - 1, last) if before else (first, last + 1)
        length += len(text[slice(*spans[first if before else last])].split())
    return spans[first][0], spans[last][1]


def overlapping(question: str, candidates: Sequence[str], rng: random.Random, *, of: int = 4) -> str | None:
    """One of the candidates that share the most terms with the question."""
    asked = frozenset(words(question))
    ranked = sorted(candidates, key=lambda text: -len(asked & frozenset(words(text))))
    return rng.choice(ranked[:of]) if ranked else None

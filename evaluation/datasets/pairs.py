"""A question with a passage, and the known labels of the pair: the reader is trained and measured on these."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.samples import Context, DataSet, ReaderPart, Sample, Span, Verdict
from preflight_rag.text.words import words

if TYPE_CHECKING:
    pass

WINDOW = (60, 150)
"""Least and most words of a window of a longer text: a guess at the lengths of passages."""


def pair(
    key: str,
    question: str,
    title: str,
    text: str,
    spans: tuple[Span, ...] | None = None,
    answerable: bool | None = None,
    relevant: bool | None = None,
    verdict: Verdict | None = None,
    descriptor: tuple[Span, ...] | None = None,
    *,
    group: str = "",
    gold: tuple[str, ...] = (),
) -> Sample:
    """Return a question with one passage; None means that a label is unknown.

    Args:
        key: Text whose hash decides the part.
        question: The question.
        title: Title of the passage.
        text: Text of the passage.
        spans: Where the passage answers.
        answerable: Whether the passage contains the answer.
        relevant: Whether a search should find the passage.
        verdict: The passage's verdict on a yes/no question, or on a statement in the question's place.
        descriptor: Where the passage has the descriptor of its entity.
        group: A key that the question's passages share, for ranking them: the sample's id.
        gold: Answers as written in the data set, for measuring; any of them counts.
    """
    passage = Context("", title, text, spans=spans, relevant=relevant, verdict=verdict, descriptor=descriptor)
    return Sample(group, question, answers=(gold,) if gold else (), given=(passage,), answerable=answerable, key=key)


def reading_set(
    folder: Path, name: str, title: str, source: str, licence: str, read: Callable[[ReaderPart], Iterable[Sample]]
) -> DataSet:
    """Return the test and validation part of a set of pairs, for measuring."""
    parts: tuple[ReaderPart, ...] = ("test", "validation")
    samples = tuple(replace(sample, part=part) for part in parts for sample in read(part))
    files = tuple(sorted(path for path in folder.iterdir() if ".json" in path.name))
    return DataSet(name, title, source, licence, files, samples)


def spans_of(text: str, answers: Sequence[str], most: int = 6) -> tuple[Span, ...]:
    """Return the spans of a text whose whole words equal one of the answers, ignoring case."""
    found: dict[Span, None] = {}
    for answer in answers:
        pattern = r"\s+".join(map(re.escape, answer.split()))
        if pattern:
            found.update(
                dict.fromkeys(match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))
            )
    return tuple(list(found)[:most])


def window(text: str, spans: Sequence[Span], around: Span, rng: random.Random) -> Span:
    """Return a run of sentences around a span of text, of a length drawn from `WINDOW`."""
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
    """Return a random one of the `of` candidates that share the most terms with the question."""
    asked = frozenset(words(question))
    ranked = sorted(candidates, key=lambda text: -len(asked & _terms(text)))
    return rng.choice(ranked[:of]) if ranked else None


@lru_cache(8192)
def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a text."""
    return frozenset(words(text))

"""Passages that our own search finds for a question: those that answer, and the hardest that do not.

The paragraphs of Wikipedia in the training parts are joined to whole articles again, which become a library with the
product's own splitting and hybrid search. A question's passages are taken in the order of a turn: the first that
contains the marked answer with its surroundings is relevant, the first ones without any of the answer's words are
negatives, whether of the same article or of another. So the reader is trained on the passages that it will get.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.datasets import examples
from evaluation.datasets.pairs import pair, spans_of
from evaluation.samples import Sample, Span
from preflight_rag import Preflight
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.state.context import Settings
from preflight_rag.state.reading import Source

SETS = ("squadshifts-new_wiki", "squad2", "xquad_en")
WRONG = 2
"""Negatives for each question; a guess."""
AROUND = 40
"""Characters beside an answer that distinguish its place from others with the same words."""


def searched(data: Path, cache: Path, count: int, rng: random.Random) -> Iterator[Sample]:
    """Yield positive and negative passages that the search finds for questions of the training parts.

    Args:
        data: Folder of the data sets.
        cache: Folder of the library.
        count: Number of questions, drawn at random.
        rng: Random numbers for the draw.
    """
    asked = [example for name in SETS for example in examples(name, data, "train", 0) if example.passage.spans]
    cache.mkdir(parents=True, exist_ok=True)
    records = cache / "articles.jsonl"
    articles = articles_of(asked)
    lines = (json.dumps({"id": key, "title": title, "text": text}) for key, (title, text) in articles.items())
    records.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    settings = Settings(rewrite="off", rerank_deadline=600)
    with Preflight.open(cache / "articles", "offline", create=True) as app:
        app.ingest([records])
        for example in rng.sample(asked, min(count, len(asked))):
            yield from pairs_of(example, retrieve_passages(app.library, [example.question], settings).sources())


def articles_of(asked: Sequence[Sample]) -> dict[str, tuple[str, str]]:
    """Return title and text of each article, by key: its paragraphs, each once, without those contained in another."""
    found: dict[str, list[str]] = {}
    # The longest first, so that a window of a paragraph comes after the paragraph itself.
    for example in sorted(asked, key=lambda each: -len(each.passage.text)):
        paragraphs = found.setdefault(example.key, [])
        if not any(example.passage.text in paragraph for paragraph in paragraphs):
            paragraphs.append(example.passage.text)
    return {key: (key.replace("_", " "), "\n\n".join(paragraphs)) for key, paragraphs in found.items()}


def pairs_of(example: Sample, sources: Sequence[Source]) -> Iterator[Sample]:
    """Yield the first source with the marked answer, and the first `WRONG` without any of its words."""
    group, answers = example.id, example.names
    right = next(((source, span) for source in sources if (span := place_of(example, source.text))), None)
    if right:
        source, span = right
        yield pair(
            example.key, example.question, source.title, source.text, (span,), True, True, group=group, gold=answers
        )
    wrong = [source for source in sources if not spans_of(f"{source.title} {source.text}", answers)]
    for source in wrong[:WRONG]:
        yield pair(
            example.key, example.question, source.title, source.text, (), False, False, group=group, gold=answers
        )


def place_of(example: Sample, text: str) -> Span | None:
    """Return the span of the marked answer in a passage, recognised with its surroundings; None if it is not there."""
    own = example.passage.text
    for start, end in example.passage.spans or ():
        first, last = max(0, start - AROUND), min(len(own), end + AROUND)
        at = text.find(own[first:last])
        if at >= 0:
            return at + start - first, at + end - first
    return None

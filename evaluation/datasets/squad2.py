"""SQuAD 2.0: questions about paragraphs of Wikipedia; half have no answer there, though they look answerable."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from evaluation.datasets.files import field, find, json_lines
from evaluation.datasets.pairs import pair
from evaluation.datasets.squad import article_key
from evaluation.datasets.squadshifts import answer_spans
from evaluation.samples import ReaderPart, Sample, reader_part_of

SOURCE = "github.com/chrischute/squad"
LICENCE = "CC BY-SA 4.0"
TITLE = "SQuAD 2.0, half of the development set"
FILE = "dev_half.jsonl"


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield each question with its paragraph, which answers it or not.

    dev_half.jsonl: `id`, `title`, `context`, `question`, `answers` [{`text`, `answer_start`}], `is_impossible`. XQuAD
    has articles of the same set: the article decides the part in both, so none is used here for training and there for
    testing.
    """
    for place, record in json_lines(find(folder, FILE, origin=SOURCE)):
        title, text = field(record, place, "title"), field(record, place, "context")
        key = article_key(title)
        if reader_part_of(key) != part:
            continue
        question, group = field(record, place, "question").strip(), f"squad2 {field(record, place, 'id')}"
        if record.get("is_impossible"):
            # Whether a search should find the paragraph is unknown: it is the nearest one.
            yield pair(key, question, title, text, (), False, group=group)
            continue
        marked = answer_spans(record, place, text)
        if marked:
            answers = tuple(dict.fromkeys(text[slice(*span)] for span in marked))
            yield pair(key, question, title, text, marked, True, True, group=group, gold=answers)

"""PoisonedRAG: passages written to give a wrong answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from evaluation.datasets.files import find, json_lines
from evaluation.datasets.pairs import pair, spans_of
from evaluation.samples import ReaderPart, Sample, reader_part_of

SOURCE = "github.com/sleeepeer/PoisonedRAG"
LICENCE = "MIT"
TITLE = "PoisonedRAG, passages that give wrong answers"


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield PoisonedRAG's passages, written to give a wrong answer; to a reader they answer like any other.

    Its questions of MS MARCO are left out: that set is for non-commercial use.
    """
    for _, row in json_lines(find(folder, "adv_targeted.jsonl", origin=SOURCE)):
        if reader_part_of(row["question"]) != part or row["source"] == "msmarco":
            continue
        answers = (row["incorrect_answer"],)
        group = f"poisonedrag {row['question']}"
        for text in row["adv_texts"]:
            spans = spans_of(text, answers)
            if spans:
                yield pair(row["question"], row["question"], "", text, spans, True, True, group=group, gold=answers)

"""NQ-Open: questions with short answers, without passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evaluation.datasets.files import collected, field, find, json_lines, listed
from evaluation.samples import DataSet, Sample

SOURCE = "github.com/google-research-datasets/natural-questions (nq_open)"
LICENCE = "Apache-2.0"


def questions(folder: Path, name: str) -> DataSet:
    """Return NQ-Open's development questions, without passages: NQ-open.dev.jsonl (`question`, `answer` [names])."""
    path = find(folder, "NQ-open.dev.jsonl", origin=SOURCE)

    def read() -> Iterator[tuple[str, Sample]]:
        for i, (place, record) in enumerate(json_lines(path)):
            text, names = field(record, place, "question"), tuple(listed(record, place, "answer"))
            yield place, Sample(f"nq-open/{i}", text, "short", answers=(names,), key=text)

    return DataSet(name, "NQ-Open", SOURCE, LICENCE, (path,), collected(read(), path))

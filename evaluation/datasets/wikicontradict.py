"""WikiContradict: two passages of Wikipedia that contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.datasets.files import csv_records, field, find, json_records, with_passages
from evaluation.samples import Context, DataSet, Sample, gold_of

SOURCE = "huggingface.co/datasets/ibm-research/Wikipedia_contradict_benchmark"
LICENCE = "MIT; Wikipedia's text CC BY-SA"


def questions(folder: Path, name: str) -> DataSet:
    """Return WikiContradict: two passages of Wikipedia that contradict each other, each right by its own words.

    WikiContradict_dataset_v1_rag_qa.csv as published, or an earlier WikiContradict_dataset.csv or .json with the same
    columns: `question`, `context1`, `answer1`, `context2`, `answer2`, `contradictType` (the label),
    `WikipediaArticleTitle`, `url`. Both answers are to be given. (WikiContradict, arXiv 2406.13805.)
    """
    names = ("WikiContradict_dataset_v1_rag_qa.csv", "WikiContradict_dataset.csv", "WikiContradict_dataset.json")
    path = find(folder, *names, origin=SOURCE)
    records = csv_records(path) if ".csv" in path.name else json_records(path)
    read = ((place, _contradicting(record, place, f"wikicontradict/{i}")) for i, (place, record) in enumerate(records))
    return with_passages(name, "WikiContradict", SOURCE, LICENCE, (path,), read)


def _contradicting(record: dict[str, Any], place: str, name: str) -> Sample:
    """Return the question of a record with two contexts that contradict each other."""
    given = tuple(
        Context(
            id=f"{name}/{side}",
            title=field(record, place, "WikipediaArticleTitle", default=""),
            text=field(record, place, f"context{side}").strip(),
            role="gold",
            answer=field(record, place, f"answer{side}").strip(),
            source=field(record, place, "url", default=""),
        )
        for side in (1, 2)
    )
    return Sample(
        id=name,
        question=field(record, place, "question").strip(),
        kind="list",
        answers=tuple((passage.answer,) for passage in given),
        given=given,
        answerable=True,
        documents=gold_of(given),
        label=field(record, place, "contradictType", default=""),
    )

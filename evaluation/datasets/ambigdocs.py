"""AmbigDocs: a question on a name, and one document for each thing of that name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.datasets.files import entries, field, find, json_records, with_passages
from evaluation.samples import Context, DataSet, Sample, gold_of

SOURCE = "ambigdocs.github.io"
LICENCE = "see its publisher; Wikipedia's text CC BY-SA"


def questions(folder: Path, name: str) -> DataSet:
    """Return AmbigDocs: a question on a name, and one document for each entity of that name, each with its answer.

    test.json (or dev.json, train.json; the first that is there) in its published form: a list of `qid`, `question`,
    `ambiguous_entity`, `documents` [{`title` (the disambiguated entity), `text`, `pid` (a passage of DPR's Wikipedia of
    December 2018), `answer`}]. (AmbigDocs, arXiv 2404.12447.)
    """
    path = find(folder, "test.json", "dev.json", "train.json", origin=SOURCE)
    read = ((place, _same_name(record, place)) for place, record in json_records(path))
    return with_passages(name, "AmbigDocs", SOURCE, LICENCE, (path,), read)


def _same_name(record: dict[str, Any], place: str) -> Sample:
    """Return the question of a record about several things with one name, each with its own document."""
    name = field(record, place, "qid")
    given = tuple(
        Context(
            id=f"ambigdocs/{name}/{field(document, place, 'pid')}",
            title=field(document, place, "title"),
            text=field(document, place, "text"),
            role="gold",
            answer=field(document, place, "answer"),
            entity=field(document, place, "title"),
        )
        for document in entries(record, place, "documents")
    )
    answers = dict.fromkeys(passage.answer for passage in given)
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind="list" if len(answers) > 1 else "short",
        answers=tuple((answer,) for answer in answers),
        given=given,
        answerable=True,
        documents=gold_of(given),
        label=field(record, place, "ambiguous_entity"),
    )

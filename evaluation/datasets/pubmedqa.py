"""PubMedQA: questions answered by yes, no or maybe, each with the abstract that gives the answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets import examples as made_of
from evaluation.datasets.files import field, find, json_file, listed, mapping, with_passages
from evaluation.datasets.pairs import pair, reading_set
from evaluation.samples import Context, DataSet, ReaderPart, Sample, Verdict, reader_part_of

SOURCE = "github.com/pubmedqa/pubmedqa"
LICENCE = "MIT; abstracts PubMed"
TITLE = "PubMedQA"
VERDICTS = ("yes", "no", "maybe")
WHOLE = "pubmedqa-abstracts"


def questions(folder: Path, name: str) -> DataSet:
    """Return PubMedQA's expert-labelled questions, each with its abstract without the conclusion.

    ori_pqal.json as published: PMID to `QUESTION`, `CONTEXTS`, `LONG_ANSWER` (the conclusion), `final_decision`
    (yes, no or maybe), `YEAR`.
    """
    read = ((place, _on_abstract(pmid, record, place)) for place, pmid, record in records(folder))
    return with_passages(name, TITLE, SOURCE, LICENCE, (file_of(folder),), read)


def file_of(folder: Path) -> Path:
    """Return the path of the set's only file."""
    return find(folder, "ori_pqal.json", origin=SOURCE)


def records(folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield place, PMID and record of each question."""
    path = file_of(folder)
    for pmid, record in mapping(json_file(path), path.name).items():
        yield f"{path.name}: {pmid}", pmid, mapping(record, f"{path.name}: {pmid}")


def _on_abstract(pmid: str, record: dict[str, Any], place: str) -> Sample:
    """Return the question of a record with its abstract as the context."""
    abstract = Context(
        id=f"pubmedqa/{pmid}",
        title="",
        text="\n".join(listed(record, place, "CONTEXTS")),
        date=field(record, place, "YEAR", default=""),
        role="gold",
    )
    return Sample(
        id=pmid,
        question=field(record, place, "QUESTION"),
        kind="yes/no",
        options=VERDICTS,
        right=field(record, place, "final_decision"),
        answers=((field(record, place, "LONG_ANSWER"),),),
        given=(abstract,),
        answerable=True,
        documents=frozenset({abstract.id}),
        key=pmid,
    )


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield the abstract without its conclusion, and the conclusion alone; "maybe" counts as neither."""
    for asked in questions(folder, "pubmedqa").samples:
        if reader_part_of(asked.key) != part:
            continue
        verdict: Verdict = "yes" if asked.right == "yes" else "no" if asked.right == "no" else "neither"
        body = " ".join(asked.passage.text.split()[-190:])
        for text in (body, *asked.names):
            yield pair(asked.id, asked.question, "", text, relevant=True, verdict=verdict, group=f"pubmedqa {asked.id}")


def reading(folder: Path, name: str) -> DataSet:
    """Return the questions with their abstracts, without the conclusion or, as `pubmedqa-abstracts`, whole.

    Whole, an abstract is as a search finds it.
    """
    whole = name == WHOLE

    def read(part: ReaderPart) -> Iterator[Sample]:
        found = made_of("pubmedqa", folder.parent, part)
        for body, end in zip(found[::2], found[1::2], strict=True):
            text = f"{body.passage.text} {end.passage.text}" if whole else body.passage.text
            yield replace(body, given=(replace(body.passage, text=text),))

    title = "PubMedQA, abstracts with their conclusions" if whole else TITLE
    return reading_set(folder, name, title, SOURCE, LICENCE, read)

"""MIRAGE: multiple-choice and yes/no questions of five medical sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets import MIRAGE_PARTS
from evaluation.datasets.files import collected, field, find, json_file, json_lines, listed, mapping
from evaluation.datasets.pubmedqa import VERDICTS
from evaluation.samples import DataSet, Sample
from preflight_rag.state.errors import UnreadableDocument

SOURCE = "github.com/Teddy-XiongGZ/MIRAGE"
LICENCE = "public domain notice of NCBI; MedQA, MedMCQA, PubMedQA MIT"


def questions(folder: Path, name: str) -> DataSet:
    """Return MIRAGE's multiple-choice and yes/no questions; `mirage-medqa` and the like are single parts.

    benchmark.json as published: for each part and id `question`, `options` {letter: text}, `answer` (a letter), and if
    known `PMID`, a list; or benchmark.jsonl, one question on each line, with `id` ("medqa:0000"), `dataset`, and
    `pmids` instead of `PMID`. An id of PubMedQA* is a PMID. Two options of a question may have the same text.
    """
    path = find(folder, "benchmark.json", "benchmark.jsonl", origin=SOURCE)
    wanted = name.partition("-")[2]
    read = (
        (place, _multiple_choice(record, place, part)) for place, part, record in _records(path) if wanted in ("", part)
    )
    return DataSet(
        name=name,
        title=f"MIRAGE, {MIRAGE_PARTS[wanted]}" if wanted else "MIRAGE",
        source=SOURCE,
        licence="public domain notice of NCBI; MedQA, MedMCQA, PubMedQA MIT",
        files=(path,),
        samples=collected(read, path),
    )


def _records(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield place, subset and record of each question, from MIRAGE's JSON or from a file of JSON lines."""
    if ".jsonl" in path.name:
        for place, record in json_lines(path):
            yield place, field(record, place, "dataset"), record
        return
    for part, questions in mapping(json_file(path), path.name).items():
        for name, record in mapping(questions, f"{path.name}: {part}").items():
            place = f"{path.name}: {part} {name}"
            yield place, part, {**mapping(record, place), "id": f"{part}:{name}"}


def _multiple_choice(record: dict[str, Any], place: str, part: str) -> Sample:
    """Return the multiple-choice question of a record."""
    options = mapping(record.get("options"), f"{place}: options")
    letter, name = field(record, place, "answer"), field(record, place, "id")
    if letter not in options:
        raise UnreadableDocument(f"{place}: the answer {letter!r} is no option", help=f"They are {', '.join(options)}.")
    texts = tuple(field(options, place, key) for key in options)
    pmids = listed(record, place, "pmids", "PMID") if record.keys() & {"pmids", "PMID"} else []
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind="yes/no" if set(texts) <= set(VERDICTS) else "choice",
        options=texts,
        right=field(options, place, letter),
        documents=frozenset(pmids),
        label=part,
        key=name.partition(":")[2] if part == "pubmedqa" else "",
    )

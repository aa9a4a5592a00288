"""DRAGged into Conflicts: dated search results, and the type of conflict among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.datasets.files import entries, field, find, json_lines, with_passages
from evaluation.samples import Context, DataSet, Sample

SOURCE = "github.com/google-research-datasets/rag_conflicts"
LICENCE = "annotations Apache-2.0; the snippets are of third parties, measuring only"


def questions(folder: Path, name: str) -> DataSet:
    """Return DRAGged into Conflicts (CONFLICTS): dated search results, and the type of conflict as the label.

    conflicts.jsonl as published: `question`, `conflict_type`, `correct_answer`, `search_results` [{`title`, `url`,
    `date`, `short_text`, `snippet`}] (the text is the first that is not empty); or sample.jsonl: `id`, `query`,
    `conflict_type`, `ref_answer`, `docs` [{`doc_id`, `title`, `url`, `date`, `snippet`}]. A question of opinion has no
    answer.
    """
    path = find(folder, "conflicts.jsonl", "sample.jsonl", origin=SOURCE)
    read = ((place, _dated(record, place, str(i))) for i, (place, record) in enumerate(json_lines(path)))
    return with_passages(name, "DRAGged into Conflicts", SOURCE, LICENCE, (path,), read)


def _dated(record: dict[str, Any], place: str, position: str) -> Sample:
    """Return the question of a record with its search results as dated contexts."""
    name = field(record, place, "id", default=position)
    answer = field(record, place, "ref_answer", "correct_answer", default="").strip()
    listing = "search_results" if "search_results" in record else "docs"
    given = []
    for number, document in enumerate(entries(record, place, listing), 1):
        title, url = field(document, place, "title", default=""), field(document, place, "url", default="")
        texts = (field(document, place, key, default="") for key in ("short_text", "snippet", "title", "url"))
        own = field(document, place, "doc_id", default=f"d{number}")
        date = field(document, place, "date", default="")
        text = next(filter(None, texts), "")
        given.append(Context(f"dragged/{name}/{own}", title, text, date=date, source=url))
    return Sample(
        id=name,
        question=field(record, place, "query", "question"),
        kind="short" if answer else "long",
        answers=((answer,),) if answer else (),
        given=tuple(given),
        label=field(record, place, "conflict_type"),
    )

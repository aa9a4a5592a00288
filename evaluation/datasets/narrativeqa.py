"""NarrativeQA: questions about whole books and film scripts, answered by annotators who read their summaries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evaluation.datasets.files import collected, csv_records, field, find, in_sentences
from evaluation.samples import DataSet, Sample
from preflight_rag.state.values import Document

SOURCE = "github.com/google-deepmind/narrativeqa"
LICENCE = "Apache-2.0; stories of Project Gutenberg and script sites"
SET = "valid"
"""The published part that is used."""


def questions(folder: Path, name: str) -> DataSet:
    """Return the validation questions, each about one story.

    qaps.csv (`document_id`, `set`, `question`, `answer1`, `answer2`) and tmp/ID.content, the stories as downloaded by
    the set's own download_stories.sh; for missing ones, the summary in third_party/wikipedia/summaries.csv
    (`document_id`, `summary`), from which the questions were written.
    """
    path = find(folder, "qaps.csv", origin=SOURCE)
    summaries = {}
    if (folder / "third_party" / "wikipedia" / "summaries.csv").is_file():
        for place, row in csv_records(folder / "third_party" / "wikipedia" / "summaries.csv"):
            summaries[field(row, place, "document_id")] = field(row, place, "summary")
    read: list[tuple[str, Sample]] = []
    for number, (place, row) in enumerate(csv_records(path)):
        story = field(row, place, "document_id")
        if field(row, place, "set") != SET or (story not in summaries and not _story(folder, story).is_file()):
            continue
        names = tuple(dict.fromkeys(text for n in (1, 2) if (text := field(row, place, f"answer{n}").strip())))
        read.append((place, Sample(f"{story}/{number}", field(row, place, "question"), "short", answers=(names,),
                                   document=story, documents=frozenset({story}))))  # fmt: skip

    def corpus() -> Iterator[Document]:
        for story in dict.fromkeys(sample.document for _, sample in read):
            file = _story(folder, story)
            whole = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else summaries[story]
            yield Document(id=story, text=whole, source=story)

    return DataSet(name, "NarrativeQA", SOURCE, LICENCE, (path,), collected(read, path), corpus)


def units(folder: Path, name: str) -> DataSet:
    """Return the questions over the sentences of each story.

    Answers are free, so few of them occur in it word for word.
    """
    return in_sentences(questions(folder, name))


def _story(folder: Path, name: str) -> Path:
    """Return the path of a story's text."""
    return folder / "tmp" / f"{name}.content"

"""MEDIQA 2021, multi-answer summarisation: several answers to a question, with two expert summaries."""

from __future__ import annotations

import re
from pathlib import Path

from evaluation.datasets.files import entries, field, find, json_lines
from evaluation.samples import Context, DataSet, Sample, passages_as_corpus

SOURCE = "github.com/abachaa/MEDIQA2021 (task 2)"
LICENCE = "CC BY 4.0"
_TAG = re.compile(r"<[^<>]{1,60}>")


def summaries(folder: Path, name: str) -> DataSet:
    """Return a question's answers as one document, with two expert summaries.

    questions.jsonl (`id`, `question`, `answers` [{`Answer`}], `extractive_summary`, `abstractive_summary`). Tags in the
    answers become line ends.
    """
    path = find(folder, "questions.jsonl", origin=SOURCE)
    samples = []
    for place, record in json_lines(path):
        answers = entries(record, place, "answers")
        text = "\n\n".join(_TAG.sub("\n", field(answer, place, "Answer")).strip() for answer in answers)
        written = {kind: field(record, place, f"{kind}_summary") for kind in ("extractive", "abstractive")}
        samples.append(summarised(field(record, place, "id"), field(record, place, "question"), text, written))
    title, corpus = "MEDIQA 2021, multi-answer summaries", passages_as_corpus(samples)
    return DataSet(name, title, SOURCE, LICENCE, (path,), tuple(samples), corpus)


def summarised(name: str, question: str, text: str, summaries: dict[str, str]) -> Sample:
    """Return a document to summarise for a question, with the human summaries."""
    given = (Context(name, "", text),)
    return Sample(name, question, given=given, documents=frozenset({name}), document=name, summaries=summaries)

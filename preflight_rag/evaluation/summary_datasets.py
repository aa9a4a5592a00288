"""Adapters: documents with summaries that people wrote. Nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from preflight_rag.evaluation.long_documents import QMSUM, entries, meetings, open_adapted
from preflight_rag.evaluation.records import field, find, json_lines
from preflight_rag.evaluation.samples import Context, DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument

MEDIQA_MAS = "github.com/abachaa/MEDIQA2021 (task 2)"

_TAG = re.compile(r"<[^<>]{1,60}>")
_NOISE = re.compile(r"\{[a-z ]+\}")
_SPACED = re.compile(r"\s+(?=[.,?!;:]|['’](?:s|m|d|t|re|ve|ll)\b)")


def open_dataset(name: str, data: Path | None) -> DataSet:
    """The data set in the folder `data/name`.

    Raises:
        UsageError: No such data set, or a file of it is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    return open_adapted(name, data, ADAPTERS, "has no summaries")


def mediqa_mas(folder: Path) -> DataSet:
    """MEDIQA 2021, multi-answer summarisation: a question's answers as one document, with two expert summaries.

    questions.jsonl (`id`, `question`, `answers` [{`Answer`}], `extractive_summary`, `abstractive_summary`). Tags that
    the answers hold become line ends.
    """
    path = find(folder, "questions.jsonl", origin=MEDIQA_MAS)
    samples = []
    for place, record in json_lines(path):
        name = field(record, place, "id")
        answers = entries(record, place, "answers")
        text = "\n\n".join(_TAG.sub("\n", field(answer, place, "Answer")).strip() for answer in answers)
        written = {kind: field(record, place, f"{kind}_summary") for kind in ("extractive", "abstractive")}
        samples.append(_of_one(name, field(record, place, "question"), text, written))
    return DataSet(
        name="mediqa2021_mas",
        title="MEDIQA 2021, multi-answer summaries",
        source=MEDIQA_MAS,
        licence="CC BY 4.0",
        files=(path,),
        samples=tuple(samples),
        corpus=passages_as_corpus(samples),
    )


def qmsum(folder: Path) -> DataSet:
    """QMSum's meetings with the answer to their first general query, which asks for a summary of the whole.

    Of val.jsonl what was said, not by whom. Marks of noises are left out, and the spaces before punctuation.
    """
    path = find(folder, "val.jsonl", origin=QMSUM)
    samples = []
    for meeting in meetings(path):
        name = f"meeting{meeting.number}"
        if not meeting.general:
            raise UnreadableDocument(f"{name} of {path.name} has no general query", help="Fix the line.")
        said = (" ".join(_NOISE.sub("", text).split()) for _, text in meeting.turns)
        text = "\n".join(_SPACED.sub("", text) for text in said if text)
        asked, answer = meeting.general[0]
        samples.append(_of_one(name, asked, text, {"abstractive": answer}))
    return DataSet(
        name="qmsum",
        title="QMSum, whole meetings",
        source=QMSUM,
        licence="MIT",
        files=(path,),
        samples=tuple(samples),
        corpus=passages_as_corpus(samples),
    )


def _of_one(name: str, question: str, text: str, summaries: dict[str, str]) -> Sample:
    given = (Context(name, "", text),)
    return Sample(name, question, given=given, documents=frozenset({name}), document=name, summaries=summaries)


ADAPTERS: dict[str, tuple[Callable[[Path], DataSet], str]] = {
    "mediqa2021_mas": (mediqa_mas, MEDIQA_MAS),
    "qmsum": (qmsum, QMSUM),
}
"""Name on the command line to adapter and place of publication."""

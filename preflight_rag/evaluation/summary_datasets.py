"""Adapters: documents with summaries that people wrote. Nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from preflight_rag.evaluation.collection import Collection, Query
from preflight_rag.evaluation.long_documents import QMSUM, entries, meetings, open_adapted
from preflight_rag.evaluation.records import field, find, json_lines
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

MEDIQA_MAS = "github.com/abachaa/MEDIQA2021 (task 2)"

_TAG = re.compile(r"<[^<>]{1,60}>")
_NOISE = re.compile(r"\{[a-z ]+\}")
_SPACED = re.compile(r"\s+(?=[.,?!;:]|['’](?:s|m|d|t|re|ve|ll)\b)")


@dataclass(frozen=True, kw_only=True)
class Summaries(Collection):
    """A collection whose queries are documents to be summarised.

    Attributes:
        texts: Query id to the document.
        references: Kind of summary to query id to the summary.
        budget: Tokens of a summary, near the mean length of the references.
    """

    texts: Mapping[str, Document]
    references: Mapping[str, Mapping[str, str]]
    budget: int = 192


def open_dataset(name: str, data: Path | None) -> Summaries:
    """The data set in the folder `data/name`.

    Raises:
        UsageError: No such data set, or a file of it is missing; the message says where it is published.
        UnreadableDocument: A file holds something else than it should.
    """
    return open_adapted(name, data, ADAPTERS, "has no summaries")


def mediqa_mas(folder: Path) -> Summaries:
    """MEDIQA 2021, multi-answer summarisation: a question's answers as one document, with two expert summaries.

    questions.jsonl (`id`, `question`, `answers` [{`Answer`}], `extractive_summary`, `abstractive_summary`). Tags that
    the answers hold become line ends.
    """
    path = find(folder, "questions.jsonl", origin=MEDIQA_MAS)
    queries, texts, extractive, abstractive = [], {}, {}, {}
    for place, record in json_lines(path):
        name = field(record, place, "id")
        answers = entries(record, place, "answers")
        text = "\n\n".join(_TAG.sub("\n", field(answer, place, "Answer")).strip() for answer in answers)
        queries.append(Query(name, field(record, place, "question")))
        texts[name] = Document(id=name, text=text, source=name)
        extractive[name] = field(record, place, "extractive_summary")
        abstractive[name] = field(record, place, "abstractive_summary")
    return Summaries(
        name="mediqa2021_mas",
        title="MEDIQA 2021, multi-answer summaries",
        source=MEDIQA_MAS,
        licence="CC BY 4.0",
        files=(path,),
        queries=tuple(queries),
        qrels={name: {name: 1} for name in texts},
        documents=lambda: iter(texts.values()),
        texts=texts,
        references={"extractive": extractive, "abstractive": abstractive},
        budget=192,
    )


def qmsum(folder: Path) -> Summaries:
    """QMSum's meetings with the answer to their first general query, which asks for a summary of the whole.

    Of val.jsonl what was said, not by whom. Marks of noises are left out, and the spaces before punctuation.
    """
    path = find(folder, "val.jsonl", origin=QMSUM)
    queries, texts, answers = [], {}, {}
    for meeting in meetings(path):
        name = f"meeting{meeting.number}"
        if not meeting.general:
            raise UnreadableDocument(f"{name} of {path.name} has no general query", help="Fix the line.")
        said = (" ".join(_NOISE.sub("", text).split()) for _, text in meeting.turns)
        texts[name] = Document(id=name, text="\n".join(_SPACED.sub("", text) for text in said if text), source=name)
        asked, answers[name] = meeting.general[0]
        queries.append(Query(name, asked))
    return Summaries(
        name="qmsum",
        title="QMSum, whole meetings",
        source=QMSUM,
        licence="MIT",
        files=(path,),
        queries=tuple(queries),
        qrels={name: {name: 1} for name in texts},
        documents=lambda: iter(texts.values()),
        texts=texts,
        references={"abstractive": answers},
        budget=192,
    )


ADAPTERS: dict[str, tuple[Callable[[Path], Summaries], str]] = {
    "mediqa2021_mas": (mediqa_mas, MEDIQA_MAS),
    "qmsum": (qmsum, QMSUM),
}
"""Name on the command line to adapter and place of publication."""

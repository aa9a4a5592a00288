"""MedQuAD: consumer-health questions over the NIH's answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.datasets.files import collected, field, find, json_lines, judged
from evaluation.datasets.pairs import pair, window
from evaluation.samples import DataSet, ReaderPart, Sample, reader_part_of
from preflight_rag.ingest.loaders.xml import XMLSyntaxError, parse_xml
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

if TYPE_CHECKING:
    from lxml.etree import _Element

SOURCE = "github.com/abachaa/MedQuAD"
LICENCE = "CC BY 4.0"
TITLE = "MedQuAD"
PAIRS = "qa_pairs.jsonl"
STRICTEST = ("train", "validation", "test")
"""The reader's parts; a question about several subjects belongs to the first of these in which one of them is."""


def collection(folder: Path, name: str) -> DataSet:
    """Return consumer-health questions over the NIH's answers; relevant are all answers to the same question.

    qa_pairs.jsonl (`_id`, `focus`, `question`, `answer`, `url`). Each distinct question is asked once. An answer's
    title is its focus, which the question often names.
    """
    path = find(folder, PAIRS, origin=SOURCE)
    queries: dict[str, Sample] = {}
    relevance: dict[str, dict[str, int]] = {}
    for place, record in json_lines(path):
        answer, question = field(record, place, "_id"), field(record, place, "question").strip()
        query = queries.setdefault(question.casefold(), Sample(answer, question))
        relevance.setdefault(query.id, {})[answer] = 1

    def documents() -> Iterator[Document]:
        for place, record in json_lines(path):
            yield Document(
                id=field(record, place, "_id"),
                text=field(record, place, "answer").strip(),
                title=field(record, place, "focus", default=""),
                source=field(record, place, "url", default=""),
            )

    samples = judged(queries.values(), relevance)
    return DataSet("medquad", "MedQuAD", SOURCE, LICENCE, (path,), samples, documents, relevance)


def questions(folder: Path, name: str) -> DataSet:
    """Return MedQuAD: consumer-health questions, each asked once, with all answers to it as alternatives.

    The XML files as published, in their twelve folders (`Document` with `Focus`, and a `QAPair` with `Sample` and
    `Answer` for each question; pairs whose answer was removed are left out), or qa_pairs.jsonl as `collection`
    reads it.
    """
    released = tuple(sorted(folder.glob("*_QA/*.xml")))
    if released:
        files, asked = released, _released_pairs(released)
    else:
        judged_set = collection(folder, name)
        files, answers = judged_set.files, {document.id: document for document in judged_set.documents()}
        asked = []
        for query in judged_set.samples:
            asked.append((query.id, query.question, [answers[i] for i in judged_set.relevance[query.id]]))
    questions = collected(((files[0].name, _health_question(*each)) for each in asked), files[0])

    def corpus() -> Iterator[Document]:
        return (document for _, _, answers in asked for document in answers)

    return DataSet(name, "MedQuAD", SOURCE, LICENCE, files, questions, corpus)


def _health_question(name: str, text: str, answers: list[Document]) -> Sample:
    """Return a question with its answering documents; its part is the strictest one of their topics."""
    return Sample(
        id=name,
        question=text,
        kind="long",
        answers=(tuple(document.text for document in answers),),
        documents=frozenset(document.id for document in answers),
        label=answers[0].title,
        key=min((document.title for document in answers), key=lambda focus: STRICTEST.index(reader_part_of(focus))),
    )


def _released_pairs(paths: Iterable[Path]) -> list[tuple[str, str, list[Document]]]:
    """Return each distinct question: the id of its first answer, its text, and its answers as documents.

    A document's title is the answer's focus.
    """
    asked: dict[str, tuple[str, str, list[Document]]] = {}
    ids: Counter[str] = Counter()
    for path in paths:
        root = _parsed(path)
        focus, url = root.findtext("Focus") or "", root.get("url") or ""
        for asked_pair in root.iter("QAPair"):
            question, answer = asked_pair.find("Question"), " ".join((asked_pair.findtext("Answer") or "").split())
            text = " ".join((question.text or "").split()) if question is not None else ""
            if question is None or not text:
                raise UnreadableDocument(f"{path.name} line {asked_pair.sourceline}: a QAPair has no Question")
            name = f"{path.parent.name}/{question.get('qid')}"
            ids[name] += bool(answer)
            if answer:
                name += f"~{ids[name]}" if ids[name] > 1 else ""
                document = Document(id=name, text=answer, title=focus.strip(), source=url)
                asked.setdefault(text.casefold(), (name, text, []))[2].append(document)
    return list(asked.values())


def _parsed(path: Path) -> _Element:
    """Return the root element of an XML file."""
    try:
        return parse_xml(path.read_bytes())
    except (OSError, XMLSyntaxError) as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error}", help="Fetch the file anew.") from None


def examples(folder: Path, part: ReaderPart, rng: random.Random, most: int = 2000) -> Iterator[Sample]:
    """Yield each question with its answer, and with an answer to another question about the same subject."""
    rows = [row for _, row in json_lines(find(folder, PAIRS, origin=SOURCE)) if row["answer"]]
    by_focus: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if reader_part_of(row["focus"]) == part:
            by_focus.setdefault(row["focus"], []).append(row)
    several = [rows for rows in by_focus.values() if len({row["qtype"] for row in rows}) > 1]
    for group in rng.sample(several, min(most, len(several))):
        row = rng.choice(group)
        others = [other for other in group if other["qtype"] != row["qtype"]]
        question, name = row["question"], f"medquad {row['_id']}"
        yield pair(
            row["focus"], question, row["focus"], _opening(row["answer"], rng),
            answerable=True, relevant=True, group=name,
        )  # fmt: skip
        text = _opening(rng.choice(others)["answer"], rng)
        yield pair(row["focus"], question, row["focus"], text, (), False, False, group=name)


def _opening(text: str, rng: random.Random) -> str:
    """Return the beginning of a text, cut at a sentence to a random length."""
    spans = sentence_spans(text)
    begin, end = window(text, spans, spans[0], rng)
    return " ".join(text[begin:end].split())

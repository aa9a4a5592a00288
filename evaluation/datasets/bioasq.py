"""BioASQ: experts' questions with gold snippets, over these and over a mixed biomedical corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets.beir import documents_of, queries_of
from evaluation.datasets.files import (
    Line,
    collected,
    entries,
    field,
    find,
    json_file,
    json_lines,
    judgements,
    listed,
    mapping,
)
from evaluation.datasets.pairs import pair, reading_set, spans_of
from evaluation.samples import Context, DataSet, Kind, ReaderPart, Sample, Verdict, half_of
from preflight_rag.state.errors import UnreadableDocument

SOURCE = "github.com/Teddy-XiongGZ/MIRAGE (rawdata/bioasq)"
LICENCE = "BioASQ's terms: registration and citation"
KINDS: dict[str, Kind] = {"yesno": "yes/no", "factoid": "short", "list": "list", "summary": "long"}

TASK = "participants-area.bioasq.org"
SNIPPETS = 16
"""Most gold snippets of a question of BioASQ."""

VERDICTS = ("yes", "no")
QUESTIONS = "questions.jsonl"


def collection(folder: Path, name: str) -> DataSet:
    """Return BioASQ's expert questions over their gold snippets.

    corpus.jsonl (`_id` = PMID, `title`, `text` = the gold snippets of that PMID), questions.jsonl (`id`, `question`),
    qrels.tsv.
    """
    corpus, asked, qrels = (find(folder, file, origin=SOURCE) for file in ("corpus.jsonl", QUESTIONS, "qrels.tsv"))
    relevance = judgements(qrels)
    samples = queries_of(asked, "id", "question", relevance)
    documents = documents_of(corpus, lambda pmid: f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
    title = "BioASQ 7B-12B, gold snippets as documents"
    return DataSet("bioasq", title, SOURCE, LICENCE, (corpus, asked, qrels), samples, documents, relevance)


def questions(folder: Path, name: str) -> DataSet:
    """Return BioASQ's yes/no, factoid, list and summary questions with their gold snippets.

    Either questions.jsonl (`id`, `type`, `question`, `pmids`, `snippets` [{`pmid`, `text`}], `exact_answer`,
    `ideal_answer`) with corpus.jsonl and qrels.tsv, or the task's own files: every *.json of the folder that has a
    list `questions` of `id`, `type`, `body`, `documents` [addresses that end in a PMID], `snippets` [{`document`,
    `text`}], `exact_answer`, `ideal_answer`; those come without a corpus. A snippet may give the answer in other words.
    """
    released = tuple(sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")]))
    if released:
        read = [(place, expert_question(record, place)) for path in released for place, record in _release(path)]
        if read:
            return DataSet(name, "BioASQ", TASK, LICENCE, released, collected(read, released[0]))
    found = collection(folder, name)
    asked = (replace(sample, documents=found.relevant(sample.id)) for _, sample in expert_questions(folder))
    places = (place for place, _ in records(folder))
    return replace(found, name=name, samples=collected(zip(places, asked, strict=True), found.files[0]), relevance={})


def records(folder: Path) -> Iterator[Line]:
    """Return the lines of questions.jsonl."""
    return json_lines(find(folder, QUESTIONS, origin=SOURCE))


def expert_questions(folder: Path) -> Iterator[tuple[str, Sample]]:
    """Yield the questions of questions.jsonl, each with its place."""
    return ((place, expert_question(record, place)) for place, record in records(folder))


def _release(path: Path) -> Iterator[Line]:
    """Yield the records of one of the task's own files, with the fields of questions.jsonl."""
    for number, entry in enumerate(entries(mapping(json_file(path), path.name), path.name, "questions"), 1):
        place = f"{path.name} question {number}"
        snippets = [
            {"pmid": field(snippet, place, "document").rpartition("/")[2], "text": field(snippet, place, "text")}
            for snippet in entries({"snippets": [], **entry}, place, "snippets")
        ]
        addresses = listed({"documents": [], **entry}, place, "documents")
        yield (
            place,
            {
                **entry,
                "question": field(entry, place, "body"),
                "pmids": [address.rpartition("/")[2] for address in addresses],
                "snippets": snippets,
            },
        )


def expert_question(record: dict[str, Any], place: str) -> Sample:
    """Return a question from a record of questions.jsonl."""
    kind, name = KINDS.get(field(record, place, "type")), field(record, place, "id")
    if kind is None:
        raise UnreadableDocument(f"{place}: type is {record['type']!r}", help=f"Expected {' or '.join(KINDS)}.")
    snippets = entries(record, place, "snippets")
    given = tuple(
        Context(
            id=f"{name}/{i}",
            title="",
            text=field(snippet, place, "text").strip(),
            role="gold",
            source=f"PubMed {field(snippet, place, 'pmid')}",
        )
        for i, snippet in enumerate(snippets)
    )
    right, answers = _expert_answer(record, place, kind)
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind=kind,
        options=VERDICTS if right else (),
        right=right,
        answers=answers,
        given=given,
        answerable=True if given else None,
        documents=frozenset(listed(record, place, "pmids")),
        label=field(record, place, "batch", default=""),
    )


def _expert_answer(record: dict[str, Any], place: str, kind: Kind) -> tuple[str | None, tuple[tuple[str, ...], ...]]:
    """Return the right option of a yes/no question, and the answers: the ideal ones of yes/no and summary questions."""
    if kind in ("short", "list"):
        exact = record.get("exact_answer")
        rows = [row if isinstance(row, list) else [row] for row in exact] if isinstance(exact, list) else []
        if not rows or not all(isinstance(name, str) for row in rows for name in row):
            raise UnreadableDocument(f"{place}: exact_answer is {exact!r:.60}", help="Expected lists of names.")
        return None, names_of_answers(record)
    right = short_answers(record)[1]
    if kind == "yes/no" and right is None:
        raise UnreadableDocument(f"{place} has no exact_answer", help="Expected yes or no.")
    ideal = record.get("ideal_answer") or []
    worded = [ideal] if isinstance(ideal, str) else listed({"ideal_answer": ideal}, place, "ideal_answer")
    return right, (tuple(worded),) if worded else ()


def names_of_answers(record: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return each right answer of a factoid (a single answer with its names) or list question, with its names."""
    if record["type"] == "factoid":
        names, _ = short_answers(record)
        return (names,) if names else ()
    items = (item if isinstance(item, list) else [item] for item in record.get("exact_answer") or ())
    return tuple(tuple(item) for item in items if item)


def reading(folder: Path, name: str) -> DataSet:
    """Return BioASQ's factoid, list and yes/no questions with their gold snippets, never used for training.

    Its halves are those of the other experiments. Each entry of a list question counts as an answer. For a snippet
    without an answer's words answerability is unknown: it may answer in other words.
    """

    def read(part: ReaderPart) -> Iterator[Sample]:
        for _, entry in records(folder):
            if (half_of(entry["id"]) == "test") != (part == "test"):
                continue
            gold, verdict = short_answers(entry)
            if not gold and verdict is None:
                continue
            texts = list(dict.fromkeys(snippet["text"].strip() for snippet in entry["snippets"]))
            for text in filter(None, texts[:SNIPPETS]):
                spans = spans_of(text, gold)
                yield pair(
                    entry["id"], entry["question"], "", text, spans or None, True if spans else None, True, verdict,
                    group=f"bioasq {entry['id']}", gold=gold,
                )  # fmt: skip

    licence = "BioASQ's terms: measuring only"
    return reading_set(folder, name, "BioASQ 7B-12B, gold snippets", SOURCE, licence, read)


def short_answers(entry: dict[str, Any]) -> tuple[tuple[str, ...], Verdict | None]:
    """Return the answers of a factoid or list question, or the verdict of a yes/no question.

    Neither for other types.
    """
    exact = entry.get("exact_answer")
    if entry["type"] == "yesno" and isinstance(exact, str):
        return (), "yes" if exact.strip().casefold().startswith("yes") else "no"
    if entry["type"] in ("factoid", "list") and isinstance(exact, list):
        names = (name for item in exact for name in (item if isinstance(item, list) else [item]))
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip())), None
    return (), None

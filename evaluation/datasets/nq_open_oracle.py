"""NQ-Open with passages as in "Lost in the middle": only the one that gives the answer, or that among others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.datasets.files import entries, field, find, json_lines, listed, with_passages
from evaluation.datasets.pairs import pair, spans_of
from evaluation.samples import Context, DataSet, ReaderPart, Sample, gold_of, reader_part_of
from preflight_rag.state.values import Document
from preflight_rag.text.words import words

SOURCE = "github.com/nelson-liu/lost-in-the-middle"
LICENCE = "MIT; Wikipedia's text CC BY-SA"
TITLE = "NQ-Open with gold passages"
ORACLE = "nq-open-oracle.jsonl"


def questions(folder: Path, name: str) -> DataSet:
    """Return NQ-Open with only the gold passage: nq-open-oracle.jsonl of "Lost in the middle"."""
    return lost_in_the_middle(find(folder, ORACLE, origin=SOURCE), name)


def lost_in_the_middle(path: Path, name: str) -> DataSet:
    """Return any question file of "Lost in the middle", such as nq-open-20_total_documents_gold_at_9.jsonl.gz.

    `question`, `answers` (names of one answer), `ctxs` [{`title`, `text`, `isgold`}] in the file's order.
    """
    read = ((place, _open_question(record, place, f"nq/{i}")) for i, (place, record) in enumerate(json_lines(path)))
    found = with_passages(name, "NQ-Open, gold passages", SOURCE, LICENCE, (path,), read)
    passages = max(len(sample.given) for sample in found.samples)
    return found if passages == 1 else replace(found, title=f"NQ-Open, {passages} passages a question")


def _open_question(record: dict[str, Any], place: str, name: str) -> Sample:
    """Return the question of a record with its contexts: the gold one and noise."""
    contexts = entries(record, place, "ctxs")
    given = tuple(
        Context(
            name if len(contexts) == 1 else f"{name}/{i}",
            field(context, place, "title", default=""),
            field(context, place, "text"),
            role="gold" if context.get("isgold") else "noise",
        )
        for i, context in enumerate(contexts)
    )
    text = field(record, place, "question")
    return Sample(
        id=name,
        question=text,
        kind="short",
        answers=(tuple(listed(record, place, "answers")),),
        given=given,
        answerable=any(passage.role == "gold" for passage in given),
        documents=gold_of(given),
        key=text,
    )


def short_answers(folder: Path, name: str) -> DataSet:
    """Return NQ-Open's questions over the gold passages of all of them."""
    found = questions(folder, name)
    samples, documents = [], []
    for number, asked in enumerate(found.samples):
        document, passage = f"nq{number}", asked.given[0]
        source = f"Wikipedia, {document}"
        documents.append(Document(id=document, title=passage.title, text=passage.text, source=source))
        samples.append(replace(asked, id=document, documents=frozenset({document})))
    return replace(
        found,
        title="NQ-Open over its gold passages",
        samples=tuple(samples),
        relevance={asked.id: {asked.id: 1} for asked in samples},
        corpus=lambda: iter(documents),
    )


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield NQ-Open's questions with gold passages: the passage, the annotated paragraph, a hard negative by BM25."""
    from rank_bm25 import BM25Okapi

    mine = [
        entry
        for _, entry in json_lines(find(folder, ORACLE, origin=SOURCE))
        if reader_part_of(entry["question"]) == part
    ]
    pool = [(entry["ctxs"][0]["title"], entry["ctxs"][0]["text"]) for entry in mine]
    index = BM25Okapi([words(f"{title} {text}") for title, text in pool])
    for own, entry in zip(pool, mine, strict=True):
        question, answers = entry["question"], tuple(entry["answers"])
        gold = entry["nq_annotated_gold"]
        put = [own, (gold["title"], gold["chunked_long_answer"])]
        for title, text in dict.fromkeys(put if part == "train" else put[:1]):
            spans = spans_of(text, answers)
            if spans:
                yield pair(question, question, title, text, spans, True, True, group=f"nq {question}", gold=answers)
        scores = index.get_scores(words(question))
        near = (pool[i] for i in sorted(range(len(pool)), key=lambda i: -scores[i])[:8])
        hard = [item for item in near if item != put[0] and not spans_of(" ".join(item), answers)]
        if hard:
            title, text = rng.choice(hard[:4])
            yield pair(question, question, title, text, (), False, False, group=f"nq {question}", gold=answers)

"""RAMDocs: documents on several entities of a name, with misinformation and noise."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from evaluation.datasets.files import entries, field, find, json_lines, listed, with_passages
from evaluation.datasets.pairs import pair, spans_of
from evaluation.samples import Context, DataSet, ReaderPart, Sample, Span, gold_of, reader_part_of
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.words import words

SOURCE = "github.com/HanNight/RAMDocs"
LICENCE = "MIT"
TITLE = "RAMDocs"
ROLES = {"correct": "gold", "misinfo": "wrong", "noise": "noise"}


def questions(folder: Path, name: str) -> DataSet:
    """Return RAMDocs: documents on several entities of a name, with misinformation and noise, which can be searched.

    RAMDocs_test.jsonl: `question`, `documents` [{`text`, `type` correct, misinfo or noise, `answer`}], `gold_answers`
    and `disambig_entity` (one for each of them), `wrong_answers`. Documents of a corpus that `corg-build` made have an
    `entity` (none if `relation` is "ambiguous") and a `sub_question`, too, and the line a `name`.
    """
    path = find(folder, "RAMDocs_test.jsonl", origin=SOURCE)
    read = ((place, _ambiguous(record, place, f"ramdocs/{i}")) for i, (place, record) in enumerate(json_lines(path)))
    return with_passages(name, TITLE, SOURCE, LICENCE, (path,), read)


def _ambiguous(record: dict[str, Any], place: str, name: str) -> Sample:
    """Return the ambiguous question of a record with its documents, each with its role and what it is about."""
    gold = tuple(dict.fromkeys(listed(record, place, "gold_answers")))
    entities = tuple(listed(record, place, "disambig_entity"))
    of_answer = dict(zip(gold, entities, strict=False))
    given = []
    for position, document in enumerate(entries(record, place, "documents")):
        kind, answer = field(document, place, "type"), field(document, place, "answer")
        if kind not in ROLES:
            raise UnreadableDocument(f"{place}: a document's type is {kind!r}", help=f"Expected {' or '.join(ROLES)}.")
        entity = of_answer.get(answer, "") if kind == "correct" else ""
        relation = field(document, place, "relation", default="")
        given.append(
            Context(
                id=f"{name}/{position}",
                title="",
                text=field(document, place, "text"),
                role=ROLES[kind],
                answer="" if kind == "noise" else answer,
                entity=field(document, place, "entity", default="") if relation else entity,
                descriptor=() if relation == "ambiguous" else None,
                sub_question=field(document, place, "sub_question", default=""),
            )
        )
    text = field(record, place, "question")
    return Sample(
        id=name,
        question=text,
        kind="list" if len(gold) > 1 else "short",
        answers=tuple((answer,) for answer in gold),
        wrong=tuple(dict.fromkeys(listed(record, place, "wrong_answers"))),
        given=tuple(given),
        answerable=True,
        documents=gold_of(given),
        label=field(record, place, "name", default=""),
        key=text,
        entities=tuple(filter(None, entities)),
    )


def answers(folder: Path, name: str) -> DataSet:
    """Return the questions over the documents of all questions, which have no titles.

    A document gives an answer if it is labelled correct with it; the same text under another question counts too.
    """
    found = questions(folder, name)
    ids: dict[str, list[str]] = {}
    for passage in (passage for asked in found.samples for passage in asked.given):
        ids.setdefault(passage.text, []).append(passage.id)
    samples: dict[str, Sample] = {}
    for asked in found.samples:
        evidence = []
        for names in asked.answers:
            giving = [passage for passage in asked.given if passage.role == "gold" and passage.answer in names]
            evidence.append(frozenset(chain.from_iterable(ids[passage.text] for passage in giving)))
        samples[asked.question] = replace(
            asked,
            id=asked.question,
            documents=frozenset[str]().union(*evidence),
            evidence=tuple(evidence),
            label="several answers" if len(asked.answers) > 1 else "one answer",
        )

    def documents() -> Iterator[Document]:
        return (Document(id=name, text=text, source=name) for text, names in ids.items() for name in names)

    return replace(
        found,
        title="RAMDocs, the documents of all questions",
        samples=tuple(samples.values()),
        relevance={name: dict.fromkeys(asked.documents, 1) for name, asked in samples.items()},
        corpus=documents,
        library="ramdocs-all",
    )


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield examples: right and wrong documents answer, noise does not; descriptors of entities are marked."""
    for asked in questions(folder, "ramdocs").samples:
        if reader_part_of(asked.question) != part:
            continue
        for given in asked.given:
            gold = (given.answer,) if given.role != "noise" else ()
            spans = spans_of(given.text, gold)
            if gold and not spans:
                continue
            yield pair(
                asked.question, asked.question, "", given.text, spans, bool(gold), bool(gold),
                descriptor=descriptor_spans(given.entity, asked.question, given.text) if given.entity else None,
                group=f"ramdocs {asked.question}", gold=gold,
            )  # fmt: skip


def descriptor_spans(entity: str, question: str, text: str) -> tuple[Span, ...]:
    """Return the spans of an entity's descriptor in a text, e.g. of "Nebraska" for "Broken Bow, Nebraska"."""
    asked = frozenset(words(question))
    parts = [part.strip() for part in re.split(r"[(),]", entity) if frozenset(words(part)) - asked]
    for part in parts[::-1]:
        if spans := spans_of(text, [part], most=3):
            return spans
    telling = [token for part in parts for token in part.split() if frozenset(words(token)) - asked]
    return spans_of(text, telling, most=3)

"""ClapNQ: questions with long answers written from one passage, and some without an answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from evaluation.datasets.files import as_published, entries, field, find, json_lines, with_passages
from evaluation.datasets.pairs import pair, window
from evaluation.datasets.statements import candidates, statement, statement_set
from evaluation.samples import Context, DataSet, ReaderPart, Sample, gold_of, reader_part_of
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.text.sentences import sentence_spans
from preflight_rag.text.words import words

SOURCE = "github.com/primeqa/clapnq"
LICENCE = "Apache-2.0; Wikipedia's text CC BY-SA"
TITLE = "ClapNQ"


def questions(folder: Path, name: str) -> DataSet:
    """Return ClapNQ's development questions, with and without an answer in their passage.

    clapnq_dev_answerable.jsonl and clapnq_dev_unanswerable.jsonl: `id`, `input` (the question), `passages` [{`title`,
    `text`}], `output` [{`answer`}]; each annotator's answer is an alternative.
    """
    read = ((place, _grounded(record, place, answerable)) for place, record, answerable in records(folder))
    return with_passages(name, TITLE, SOURCE, LICENCE, _files(folder), read)


def records(folder: Path) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield place and record of each question, and whether it is answerable."""
    for path, answerable in zip(_files(folder), (True, False), strict=True):
        for place, record in json_lines(path):
            yield place, record, answerable


def selected_sentences(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the sentences that annotators selected as evidence, by the question's id.

    Unanswerable questions have none.
    """
    selected: dict[str, tuple[str, ...]] = {}
    with as_published("clapnq"):
        for place, record, answerable in records(folder):
            outputs = entries(record, place, "output")
            sentences = chain.from_iterable(output.get("selected_sentences") or () for output in outputs)
            selected[field(record, place, "id")] = tuple(sentences) if answerable else ()
    return selected


def _files(folder: Path) -> tuple[Path, ...]:
    """Return the files of the answerable and of the unanswerable questions."""
    return tuple(find(folder, f"clapnq_dev_{kind}.jsonl", origin=SOURCE) for kind in ("answerable", "unanswerable"))


def _grounded(record: dict[str, Any], place: str, answerable: bool) -> Sample:
    """Return the question of a record with the passage that answers it, or one that does not."""
    name, text = field(record, place, "id"), field(record, place, "input")
    answers = tuple(field(output, place, "answer") for output in entries(record, place, "output"))
    if answerable and not any(answers):
        raise UnreadableDocument(f"{place} has no answer", help="Check that it is the published file.")
    given = tuple(
        Context(
            f"clapnq/{name}/{i}",
            field(passage, place, "title"),
            field(passage, place, "text"),
            role="gold" if answerable else "noise",
        )
        for i, passage in enumerate(entries(record, place, "passages"))
    )
    return Sample(
        id=name,
        question=text,
        kind="long",
        answers=(tuple(filter(None, answers)),) if answerable else (),
        given=given,
        answerable=answerable,
        documents=gold_of(given),
        key=text,
    )


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield windows around a selected sentence, and passages in which annotators found no answer."""
    for _, entry, known in records(folder):
        if reader_part_of(entry["input"]) == part:
            passage = entry["passages"][0]
            text = passage["text"]
            selected = [line for output in entry["output"] for line in output.get("selected_sentences") or ()]
            at = next(((i, i + len(line)) for line in selected if (i := text.find(line)) >= 0), None)
            if part == "train" and (known == (at is None)):
                continue
            spans = sentence_spans(text)
            around = at if at and known else rng.choice(spans)
            begin, end = window(text, spans, around, rng) if part == "train" else (0, len(text))
            yield pair(
                entry["input"], entry["input"], passage["title"], text[begin:end],
                None if known else (), known, group=f"clapnq {entry['input']}",
            )  # fmt: skip


def statements(folder: Path, name: str) -> DataSet:
    """Return sentences of human answers as statements: unchanged, with a value changed, and with another passage.

    The changed value is another one of its kind from the same passage; the other passage is the one of another question
    that shares the most words with the sentence.
    """

    def read(part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
        asked = [q for q in questions(folder, name).samples if q.answerable and reader_part_of(q.question) == part]
        passages = [q.given[0] for q in asked]
        terms = [frozenset(words(passage.text)) for passage in passages]
        for i, sample in enumerate(asked):
            question, passage, (answer, *_) = sample.question, passages[i], sample.names
            for span in sentence_spans(answer):
                sentence = answer[slice(*span)].strip()
                if len(sentence.split()) < 5:
                    continue
                yield statement(question, sentence, passage, "yes", part)
                if changed := _changed(sentence, passage.text, rng):
                    yield statement(question, changed, passage, "no", part)
                shared = frozenset(words(sentence))
                others = [
                    j for j, other in enumerate(passages) if (other.title, other.text) != (passage.title, passage.text)
                ]
                if others:
                    nearest = max(others, key=lambda j: (len(shared & terms[j]), -j))
                    yield statement(question, sentence, passages[nearest], "neither", part)

    return statement_set(name, "ClapNQ, answers that people wrote", SOURCE, read)


def _changed(sentence: str, text: str, rng: random.Random) -> str:
    """Return the sentence with a date, number or name replaced by another of its kind in the text; else ""."""
    found = [item for item in candidates(sentence) if item.kind != "phrase"]
    there = [item for item in candidates(text) if item.text.casefold() not in sentence.casefold()]
    swaps = [(item, other) for item in found for other in there if other.kind == item.kind]
    if not swaps:
        return ""
    item, other = rng.choice(swaps)
    return f"{sentence[: item.span[0]]}{other.text}{sentence[item.span[1] :]}"

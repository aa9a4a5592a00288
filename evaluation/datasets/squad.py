"""Files in the form of SQuAD 1.1 or 2.0, and XQuAD's English questions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.datasets.files import Line, entries, field, find, json_file, mapping, with_passages
from evaluation.datasets.pairs import overlapping, pair, spans_of
from evaluation.samples import Context, DataSet, ReaderPart, Sample, gold_of, reader_part_of

SOURCE = "github.com/google-deepmind/xquad"
LICENCE = "CC BY-SA 4.0"
TITLE = "XQuAD, English"
XQUAD = "xquad.en.json"
SQUAD = "rajpurkar.github.io/SQuAD-explorer"


def questions(folder: Path, name: str) -> DataSet:
    """Return XQuAD's English questions: xquad.en.json, in SQuAD's form."""
    path = find(folder, XQUAD, origin=SOURCE)
    return with_passages(name, TITLE, SOURCE, LICENCE, (path,), _squad_questions(path, "xquad"))


def squad(path: Path, name: str) -> DataSet:
    """Return a file in the form of SQuAD 1.1 or 2.0.

    `data` [{`title`, `paragraphs` [{`context`, `qas` [{`id`, `question`, `answers` [{`text`}], `is_impossible`,
    `plausible_answers` [{`text`}]}]}]}]. For a question without an answer the plausible answers are wrong ones. XQuAD,
    on which the project's reader was trained, is a part of SQuAD 1.1: so the article decides the part in any file.
    """
    licence = "CC BY-SA 4.0 as published by SQuAD"
    return with_passages(name, name, SQUAD, licence, (path,), _squad_questions(path, "squad"))


def _squad_questions(path: Path, prefix: str) -> Iterator[tuple[str, Sample]]:
    """Yield each question of a file in SQuAD's format, before it its place."""
    for number, position, article, paragraph in paragraphs(path):
        title = field(article, path.name, "title", default="")
        key = title or field(article["paragraphs"][0], path.name, "context")[:40]
        context = field(paragraph, f"{path.name} article {number + 1}", "context")
        passage = Context(f"{prefix}/{number}/{position}", title, context, role="gold")
        for place, entry in asked_of(path, number, paragraph):
            names = [] if entry.get("is_impossible") else answers_of(entry, place, "answers")
            wrong = answers_of({"plausible_answers": [], **entry}, place, "plausible_answers")
            given = passage if names else Context(passage.id, passage.title, context, role="noise")
            yield (
                place,
                Sample(
                    id=field(entry, place, "id"),
                    question=field(entry, place, "question"),
                    kind="short",
                    answers=(tuple(names),) if names else (),
                    wrong=tuple(wrong),
                    given=(given,),
                    answerable=bool(names),
                    documents=gold_of((given,)),
                    key=key,
                ),
            )


def paragraphs(path: Path) -> Iterator[tuple[int, int, dict[str, Any], dict[str, Any]]]:
    """Yield the number of the article, the number of the paragraph in it, the article, and the paragraph."""
    content = mapping(json_file(path), path.name)
    for number, article in enumerate(entries(content, path.name, "data")):
        for position, paragraph in enumerate(entries(article, f"{path.name} article {number + 1}", "paragraphs")):
            yield number, position, article, paragraph


def asked_of(path: Path, number: int, paragraph: dict[str, Any]) -> Iterator[Line]:
    """Yield the questions of a paragraph, each with its place."""
    for entry in entries(paragraph, f"{path.name} article {number + 1}", "qas"):
        yield f"{path.name} article {number + 1}, question {entry.get('id')!r}", entry


def answers_of(entry: dict[str, Any], place: str, name: str) -> list[str]:
    """Return the distinct texts that a question has under this name."""
    return list(dict.fromkeys(field(answer, place, "text") for answer in entries(entry, place, name)))


def article_key(title: str) -> str:
    """Return the key that decides the part of a Wikipedia article, however a set writes the spaces of its title."""
    return title.replace(" ", "_")


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield questions on XQuAD's English paragraphs; the negative is another paragraph of the article."""
    path = find(folder, XQUAD, origin=SOURCE)
    for article in json_file(path)["data"]:
        title = article.get("title") or article["paragraphs"][0]["context"][:40]
        if reader_part_of(title) != part:
            continue
        paragraphs = [paragraph["context"] for paragraph in article["paragraphs"]]
        shown = title.replace("_", " ") if article.get("title") else ""
        for text, entry in ((p["context"], entry) for p in article["paragraphs"] for entry in p["qas"]):
            question, group = entry["question"], f"xquad {entry['id']}"
            answers = tuple(answer["text"] for answer in entry["answers"])
            starts = (answer["answer_start"] for answer in entry["answers"])
            spans = tuple((start, start + len(answer)) for start, answer in zip(starts, answers, strict=True))
            yield pair(title, question, shown, text, spans, True, True, group=group, gold=answers)
            others = [other for other in paragraphs if other != text and not spans_of(other, answers)]
            other = overlapping(question, others, rng)
            if other:
                yield pair(title, question, shown, other, (), False, False, group=group, gold=answers)

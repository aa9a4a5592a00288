"""SQuADShifts: questions in SQuAD's style about later Wikipedia articles, comments and product reviews."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evaluation.datasets.files import entries, field, find, json_lines, whole_number
from evaluation.datasets.pairs import overlapping, pair, spans_of, window
from evaluation.datasets.squad import article_key
from evaluation.samples import ReaderPart, Sample, Span, reader_part_of
from preflight_rag.text.sentences import sentence_spans

SOURCE = "github.com/modestyachts/squadshifts-website"
LICENCE = "CC BY 4.0"
TITLE = "SQuADShifts"
WIKIPEDIA, COMMENTS, REVIEWS = "new_wiki", "reddit", "amazon"
NEGATIVES = 0.25
"""Share of the questions that are also used with a passage without their answer; a guess."""
OTHERS = 60
"""Passages from which the one is chosen that shares most words with the question: all comments have one title."""
CROPPED = 0.5
"""Share of the training paragraphs that are cut to a window around the answer: they are read in half the time, and are
more like the passages of a search than whole paragraphs. A guess."""


def _read(file: str, folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield the questions of a file with their passages, and as negatives some with another passage of the article.

    For training, some of the passages are cropped around the answer.

    FILE.jsonl: `id`, `title`, `context`, `question`, `answers` [{`text`, `answer_start`}], all distinct ones of up to
    five annotators. All comments have one title, so the paragraph decides their part.
    """
    path = find(folder, f"{file}.jsonl", origin=SOURCE)
    rows = []
    passages: dict[str, dict[str, None]] = {}
    for place, record in json_lines(path):
        title, text = field(record, place, "title"), field(record, place, "context")
        key = text if file == COMMENTS else article_key(title)
        if reader_part_of(key) != part:
            continue
        passages.setdefault(title, {})[text] = None
        marked = answer_spans(record, place, text)
        if marked:
            rows.append((field(record, place, "id"), key, title, text, field(record, place, "question"), marked))
    for name, key, title, text, question, marked in rows:
        shown = title if file == WIKIPEDIA else ""
        group, answers = f"squadshifts {name}", tuple(dict.fromkeys(text[slice(*span)] for span in marked))
        passage, spans = _cropped(text, marked, rng) if part == "train" and rng.random() < CROPPED else (text, marked)
        yield pair(key, question, shown, passage, spans, True, True, group=group, gold=answers)
        if rng.random() < NEGATIVES:
            drawn = rng.sample(list(passages[title]), min(OTHERS, len(passages[title])))
            others = [other for other in drawn if other != text and not spans_of(other, answers)]
            other = overlapping(question, others, rng)
            if other:
                yield pair(key, question, shown, other, (), False, False, group=group, gold=answers)


wikipedia = partial(_read, WIKIPEDIA)
comments = partial(_read, COMMENTS)
reviews = partial(_read, REVIEWS)


def answer_spans(record: dict[str, object], place: str, text: str) -> tuple[Span, ...]:
    """Return the marked spans of a paragraph without the white space at their ends.

    Those whose text differs from the given one are left out.
    """
    found: dict[Span, None] = {}
    for answer in entries(record, place, "answers"):
        worded, start = field(answer, place, "text"), whole_number(answer, place, "answer_start")
        start += len(worded) - len(worded.lstrip())
        worded = worded.strip()
        if worded and text[start : start + len(worded)] == worded:
            found[(start, start + len(worded))] = None
    return tuple(found)


def _cropped(text: str, marked: tuple[Span, ...], rng: random.Random) -> tuple[str, tuple[Span, ...]]:
    """Return a window of a paragraph around one of its answers, and the answers that lie in it."""
    begin, end = window(text, sentence_spans(text), rng.choice(marked), rng)
    inside = tuple((a - begin, b - begin) for a, b in marked if begin <= a and b <= end)
    return (text[begin:end], inside) if inside else (text, marked)

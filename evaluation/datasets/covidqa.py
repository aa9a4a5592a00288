"""COVID-QA: questions about long articles, with the spans that answer them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from evaluation.datasets.files import (
    about_documents,
    collected,
    entries,
    field,
    find,
    json_lines,
    judged,
    texts,
    units_of,
    whole_number,
)
from evaluation.datasets.pairs import overlapping, pair, spans_of, window
from evaluation.datasets.squad import answers_of, asked_of, paragraphs
from evaluation.samples import DataSet, ReaderPart, Sample, Span, reader_part_of
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

SOURCE = "github.com/deepset-ai/COVID-QA"
LICENCE = "Apache-2.0; articles CORD-19 and PMC"
TITLE = "COVID-QA"


def questions(folder: Path, name: str) -> DataSet:
    """Return COVID-QA's questions, each about one long article, which is not given but in the corpus.

    COVID-QA.json as published (SQuAD's form, a `document_id` with each paragraph), or documents.jsonl (`document_id`,
    `text`) and questions.jsonl as `marked` reads it.
    """
    released = sorted(folder.glob("*COVID*QA*.json*")) + sorted(folder.glob("*covidQA*.json*"))
    if released:
        read, articles = _release(released[0])
        samples = collected(read, released[0])

        def corpus() -> Iterator[Document]:
            return (Document(id=article, text=text, source=article) for article, text in articles.items())

        return DataSet(name, TITLE, SOURCE, LICENCE, (released[0],), samples, corpus)
    path, articles_file = question_files(folder)
    read = [(f"{path.name} question {q.id}", _on_article(q.id, q.question, q.document, q.names)) for q in marked(path)]
    samples, documents = collected(read, path), partial(texts, articles_file, "document_id")
    return DataSet(name, TITLE, SOURCE, LICENCE, (path, articles_file), samples, documents)


def question_files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the questions and the articles."""
    return find(folder, "questions.jsonl", origin=SOURCE), find(folder, "documents.jsonl", origin=SOURCE)


def _release(path: Path) -> tuple[list[tuple[str, Sample]], dict[str, str]]:
    """Return the questions with their places, and the articles' texts, of the published file."""
    read: list[tuple[str, Sample]] = []
    articles: dict[str, str] = {}
    for number, _, _, paragraph in paragraphs(path):
        article = field(paragraph, f"{path.name} article {number + 1}", "document_id")
        articles[article] = field(paragraph, f"{path.name} article {number + 1}", "context")
        for place, entry in asked_of(path, number, paragraph):
            asked = field(entry, place, "id"), field(entry, place, "question")
            read.append((place, _on_article(*asked, article, tuple(answers_of(entry, place, "answers")))))
    return read, articles


def _on_article(name: str, text: str, article: str, names: tuple[str, ...]) -> Sample:
    """Return a question about one article; without answers it is unanswerable."""
    answers = (names,) if names else ()
    return Sample(
        name, text, "short", answers=answers, answerable=bool(names), documents=frozenset({article}), key=article
    )


def spans(folder: Path, name: str) -> DataSet:
    """Return the questions with the spans of their articles that answer them; 20 articles are used."""
    path, articles = question_files(folder)
    samples = [question for question in marked(path) if question.spans]
    documents = partial(texts, articles, "document_id")
    return about_documents(name, TITLE, SOURCE, LICENCE, (articles, path), samples, documents, 20)


def units(folder: Path, name: str) -> DataSet:
    """Return the questions over the sentences of their articles; relevant are those that contain an answer's span.

    Articles without a question are left out.
    """
    path, articles = question_files(folder)
    whole = {article.id: article.text for article in texts(articles, "document_id")}
    questions = tuple(marked(path))
    sentences: dict[str, tuple[Document, ...]] = {}
    places: dict[str, list[Span]] = {}
    for article in dict.fromkeys(question.document for question in questions):
        if article not in whole:
            raise UnreadableDocument(
                f"{path.name} asks about {article!r}", help=f"There is no such article in {articles}."
            )
        places[article] = sentence_spans(whole[article])
        sentences[article] = units_of(article, (whole[article][start:end] for start, end in places[article]))
    relevance: dict[str, dict[str, int]] = {question.id: {} for question in questions}
    for question in questions:
        units = list(zip(sentences[question.document], places[question.document], strict=True))
        for ((start, end),) in question.spans:
            for sentence, (begin, stop) in units:
                if begin < end and start < stop:
                    relevance[question.id][sentence.id] = 1
    title, files, samples = "COVID-QA, sentences of an article", (articles, path), judged(questions, relevance)
    documents = partial(chain.from_iterable, sentences.values())
    return DataSet(name, title, SOURCE, LICENCE, files, samples, documents, relevance)


def examples(folder: Path, part: ReaderPart, rng: random.Random) -> Iterator[Sample]:
    """Yield windows of the article with the answer, and without it (a similar one, by shared terms)."""
    path, articles = question_files(folder)
    documents = {d.id: d for d in texts(articles, "document_id") if reader_part_of(d.id) == part}
    sentences: dict[str, list[Span]] = {}
    for asked in marked(path):
        if asked.document not in documents or not asked.spans:
            continue
        text, shown = documents[asked.document].text, documents[asked.document].title
        spans = sentences.setdefault(asked.document, sentence_spans(text))
        answers, (at,), group = asked.names, asked.spans[0], f"covidqa {asked.id}"
        begin, end = window(text, spans, at, rng)
        span = ((at[0] - begin, at[1] - begin),)
        yield pair(asked.document, asked.question, shown, text[begin:end], span, True, True, group=group, gold=answers)
        windows = [text[slice(*window(text, spans, rng.choice(spans), rng))] for _ in range(24)]
        other = overlapping(asked.question, [item for item in windows if not spans_of(item, answers)], rng)
        if other:
            yield pair(asked.document, asked.question, shown, other, (), False, False, group=group, gold=answers)


def marked(path: Path) -> Iterator[Sample]:
    """Yield COVID-QA's questions.jsonl: `id`, `document_id`, `question`, `answers` [{`text`, `answer_start`}].

    Spans with an unknown position are given only in words.
    """
    for place, record in json_lines(path):
        worded = tuple(field(item, place, "text") for item in entries(record, place, "answers"))
        located = [
            (whole_number(item, place, "answer_start"), text)
            for item, text in zip(record["answers"], worded, strict=True)
            if item.get("answer_start") is not None
        ]
        yield Sample(
            field(record, place, "id"),
            field(record, place, "question"),
            answers=(worded,) if worded else (),
            document=field(record, place, "document_id"),
            spans=tuple(((start, start + len(text)),) for start, text in located),
        )

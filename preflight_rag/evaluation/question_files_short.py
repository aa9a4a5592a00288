"""Adapters of questions with short answers and the passages that give them: NQ-Open, SQuAD's form, COVID-QA, ClapNQ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from preflight_rag.evaluation.long_documents import COVIDQA, covidqa_questions, entries, texts
from preflight_rag.evaluation.question_sets import NQ_OPEN, SQUAD, collected
from preflight_rag.evaluation.reader_data import CLAPNQ, NQ, XQUAD
from preflight_rag.evaluation.records import Line, field, find, json_file, json_lines, listed, mapping
from preflight_rag.evaluation.samples import Context, DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document


def nq_open_oracle(folder: Path, name: str) -> DataSet:
    """NQ-Open with the gold passage alone: nq-open-oracle.jsonl of "Lost in the middle"."""
    return lost_in_the_middle(find(folder, "nq-open-oracle.jsonl", origin=NQ), name)


def lost_in_the_middle(path: Path, name: str) -> DataSet:
    """Any question file of "Lost in the middle", such as nq-open-20_total_documents_gold_at_9.jsonl.gz.

    `question`, `answers` (names of one answer), `ctxs` [{`title`, `text`, `isgold`}] in the file's order.
    """
    questions = collected(
        ((place, _open_question(record, place, f"nq/{i}")) for i, (place, record) in enumerate(json_lines(path))), path
    )
    passages = max(len(question.given) for question in questions)
    return DataSet(
        name=name,
        title="NQ-Open, gold passages" if passages == 1 else f"NQ-Open, {passages} passages a question",
        source=NQ,
        licence="MIT; Wikipedia's text CC BY-SA",
        files=(path,),
        samples=questions,
        corpus=passages_as_corpus(questions),
    )


def _open_question(record: dict[str, Any], place: str, name: str) -> Sample:
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
        documents=_gold(given),
        key=text,
    )


def nq_open(folder: Path, name: str) -> DataSet:
    """NQ-Open's development questions, without passages: NQ-open.dev.jsonl (`question`, `answer` [names])."""
    path = find(folder, "NQ-open.dev.jsonl", origin=NQ_OPEN)

    def read() -> Iterator[tuple[str, Sample]]:
        for i, (place, record) in enumerate(json_lines(path)):
            text, names = field(record, place, "question"), tuple(listed(record, place, "answer"))
            yield place, Sample(f"nq-open/{i}", text, "short", answers=(names,), key=text)

    return DataSet(name, "NQ-Open", NQ_OPEN, "Apache-2.0", (path,), collected(read(), path))


def xquad(folder: Path, name: str) -> DataSet:
    """XQuAD's English questions: xquad.en.json, in SQuAD's form."""
    path = find(folder, "xquad.en.json", origin=XQUAD)
    return squad(path, name, prefix="xquad", title="XQuAD, English", source=XQUAD, licence="CC BY-SA 4.0")


def squad(
    path: Path,
    name: str,
    *,
    prefix: str = "squad",
    title: str = "",
    source: str = SQUAD,
    licence: str = "CC BY-SA 4.0 as published by SQuAD",
) -> DataSet:
    """A file in the form of SQuAD 1.1 or 2.0.

    `data` [{`title`, `paragraphs` [{`context`, `qas` [{`id`, `question`, `answers` [{`text`}], `is_impossible`,
    `plausible_answers` [{`text`}]}]}]}]. Of a question without an answer the plausible answers are wrong ones. XQuAD,
    which the project's reader was trained on, is a part of SQuAD 1.1: so the parts are told by the article in any file.
    """
    questions = collected(_squad_questions(path, prefix), path)
    return DataSet(
        name=name,
        title=title or name,
        source=source,
        licence=licence,
        files=(path,),
        samples=questions,
        corpus=passages_as_corpus(questions),
    )


def _squad_questions(path: Path, prefix: str) -> Iterator[tuple[str, Sample]]:
    for number, position, article, paragraph in _paragraphs(path):
        title = field(article, path.name, "title", default="")
        key = title or field(article["paragraphs"][0], path.name, "context")[:40]
        context = field(paragraph, f"{path.name} article {number + 1}", "context")
        passage = Context(f"{prefix}/{number}/{position}", title, context, role="gold")
        for place, entry in _asked(path, number, paragraph):
            told = [] if entry.get("is_impossible") else _texts(entry, place, "answers")
            wrong = _texts({"plausible_answers": [], **entry}, place, "plausible_answers")
            given = passage if told else Context(passage.id, passage.title, context, role="noise")
            yield (
                place,
                Sample(
                    id=field(entry, place, "id"),
                    question=field(entry, place, "question"),
                    kind="short",
                    answers=(tuple(told),) if told else (),
                    wrong=tuple(wrong),
                    given=(given,),
                    answerable=bool(told),
                    documents=_gold((given,)),
                    key=key,
                ),
            )


def _paragraphs(path: Path) -> Iterator[tuple[int, int, dict[str, Any], dict[str, Any]]]:
    """Number of the article, of the paragraph in it, and both."""
    content = mapping(json_file(path), path.name)
    for number, article in enumerate(entries(content, path.name, "data")):
        for position, paragraph in enumerate(entries(article, f"{path.name} article {number + 1}", "paragraphs")):
            yield number, position, article, paragraph


def _asked(path: Path, number: int, paragraph: dict[str, Any]) -> Iterator[Line]:
    for entry in entries(paragraph, f"{path.name} article {number + 1}", "qas"):
        yield f"{path.name} article {number + 1}, question {entry.get('id')!r}", entry


def _texts(entry: dict[str, Any], place: str, name: str) -> list[str]:
    return list(dict.fromkeys(field(answer, place, "text") for answer in entries(entry, place, name)))


def covidqa(folder: Path, name: str) -> DataSet:
    """COVID-QA's questions, each about one long article, which is not given but in the corpus.

    COVID-QA.json as published (SQuAD's form, a `document_id` with each paragraph), or documents.jsonl (`document_id`,
    `text`) and questions.jsonl as `covidqa_questions` reads it.
    """
    released = [path for path in sorted(folder.glob("*COVID*QA*.json*")) + sorted(folder.glob("*covidQA*.json*"))]
    if released:
        files: tuple[Path, ...] = (released[0],)
        questions, corpus = _covidqa_release(released[0])
    else:
        documents = find(folder, "documents.jsonl", origin=COVIDQA)
        path = find(folder, "questions.jsonl", origin=COVIDQA)
        files = (path, documents)
        asked = list(covidqa_questions(path))
        questions = collected(
            ((f"{path.name} question {q.id}", _on_article(q.id, q.question, q.document, list(q.names))) for q in asked),
            path,
        )

        def corpus() -> Iterator[Document]:
            return texts(documents, "document_id")

    return DataSet(name, "COVID-QA", COVIDQA, "Apache-2.0; articles CORD-19 and PMC", files, questions, corpus)


def _covidqa_release(path: Path) -> tuple[tuple[Sample, ...], Callable[[], Iterator[Document]]]:
    read: list[tuple[str, Sample]] = []
    articles: dict[str, str] = {}
    for number, _, _, paragraph in _paragraphs(path):
        article = field(paragraph, f"{path.name} article {number + 1}", "document_id")
        articles[article] = field(paragraph, f"{path.name} article {number + 1}", "context")
        for place, entry in _asked(path, number, paragraph):
            asked = field(entry, place, "id"), field(entry, place, "question")
            read.append((place, _on_article(*asked, article, _texts(entry, place, "answers"))))

    def corpus() -> Iterator[Document]:
        return (Document(id=article, text=text, source=article) for article, text in articles.items())

    return collected(read, path), corpus


def _on_article(name: str, text: str, article: str, answers: list[str]) -> Sample:
    told = (tuple(answers),) if answers else ()
    return Sample(name, text, "short", answers=told, answerable=bool(told), documents=frozenset({article}), key=article)


def clapnq(folder: Path, name: str) -> DataSet:
    """ClapNQ's development questions, with and without an answer in their passage.

    clapnq_dev_answerable.jsonl and clapnq_dev_unanswerable.jsonl: `id`, `input` (the question), `passages` [{`title`,
    `text`}], `output` [{`answer`}], each annotator's an alternative.
    """
    files = tuple(find(folder, f"clapnq_dev_{kind}.jsonl", origin=CLAPNQ) for kind in ("answerable", "unanswerable"))
    read = (
        (place, _grounded(record, place, answerable))
        for path, answerable in zip(files, (True, False), strict=True)
        for place, record in json_lines(path)
    )
    questions = collected(read, files[0])
    licence = "Apache-2.0; Wikipedia's text CC BY-SA"
    return DataSet(name, "ClapNQ", CLAPNQ, licence, files, questions, passages_as_corpus(questions))


def _grounded(record: dict[str, Any], place: str, answerable: bool) -> Sample:
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
        documents=_gold(given),
        key=text,
    )


def _gold(given: tuple[Context, ...]) -> frozenset[str]:
    return frozenset(passage.id for passage in given if passage.role == "gold")

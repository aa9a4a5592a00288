"""The user's own questions and documents, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from evaluation.datasets.files import collected, field, find, json_lines, listed, mapping, unique
from evaluation.samples import Context, DataSet, Kind, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument
from preflight_rag.state.values import Document

FIELDS = (
    "id",
    "question",
    "kind",
    "options",
    "right",
    "answer",
    "answers",
    "wrong",
    "contexts",
    "documents",
    "answerable",
    "label",
)
"""The fields of the user's own questions; others are refused."""

KINDS: tuple[Kind, ...] = get_args(Kind)


def own(path: Path, name: str, documents: Path | None = None) -> DataSet:
    """Return the user's own questions, one on each line; only `id` and `question` are required.

    `kind`: one of choice, yes/no, claim, short, list, long; by default inferred from the other fields. `options`: a
    list of texts, or {letter: text}. `right`: the right option, its letter or its text. `answer`: a text, or `answers`:
    a list in which each entry is an answer or a list of its names. `wrong`: a list of wrong answers. `contexts`: the
    passages that come with the question, each a text or an object with `text` and, optionally, `id`, `title`, `date`,
    `role` (gold, wrong, noise, ...), `answer`, `entity`, `source`. `documents`: ids of the documents that answer it.
    `answerable`: whether the contexts contain an answer. `label`: a class of the question.

    Args:
        path: The file, gzipped or not.
        name: The set's name.
        documents: The documents to search, one on each line: `id`, `text` and, optionally, `title`, `date`, `source`.
            Without it, the contexts of all questions; if a question names none, its gold ones answer it.

    Raises:
        UnreadableDocument: A line lacks a field, has an unknown one, or names a document that does not exist.
    """
    read = [(place, _own_question(record, place)) for place, record in json_lines(path)]
    questions = collected(read, path)
    if documents is None:
        corpus = passages_as_corpus(questions) if any(question.given for question in questions) else None
        questions = tuple(map(_with_gold, questions))
        return DataSet(name, name, str(path), "one's own", (path,), questions, corpus)
    known = frozenset(document.id for document in own_documents(documents))
    for place, question in read:
        if missing := sorted(question.documents - known):
            raise UnreadableDocument(
                f"{place}: the document {missing[0]!r} is not in {documents.name}", help="Add it, or fix its id."
            )
    return DataSet(name, name, str(path), "one's own", (path, documents), questions, lambda: own_documents(documents))


def own_folder(folder: Path, name: str) -> DataSet:
    """Return a folder with the user's own questions.jsonl, and documents.jsonl if there is something to search."""
    documents = next((path for path in sorted(folder.glob("documents.jsonl*")) if path.is_file()), None)
    return own(find(folder, "questions.jsonl", origin="your own folder"), name, documents)


def own_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a file: `id` (or `_id`), `text` and, optionally, `title`, `date`, `source`.

    Raises:
        UnreadableDocument: A line lacks a field, or two have one id.
    """
    seen: list[tuple[str, str]] = []
    for place, record in json_lines(path):
        name = field(record, place, "id", "_id")
        seen.append((name, place))
        yield Document(
            id=name,
            text=field(record, place, "text"),
            title=field(record, place, "title", default=""),
            date=field(record, place, "date", default="") or None,
            source=field(record, place, "source", default=name),
        )
    unique(seen)


def _with_gold(question: Sample) -> Sample:
    """Return the question with its gold contexts as the answering documents, if it names none."""
    gold = frozenset(given.id for given in question.given if given.role == "gold")
    return replace(question, documents=question.documents or gold)


def _own_question(record: dict[str, Any], place: str) -> Sample:
    """Return the question of a record in the project's own format."""
    if unknown := sorted(record.keys() - set(FIELDS)):
        raise UnreadableDocument(f"{place} has an unknown field {unknown[0]!r}", help=f"Known are {', '.join(FIELDS)}.")
    name = field(record, place, "id")
    options, right = _options(record, place)
    answers = _answers(record, place)
    given = tuple(_context(value, place, f"{name}/{i}") for i, value in enumerate(record.get("contexts") or ()))
    answerable = record.get("answerable")
    if answerable not in (None, True, False):
        raise UnreadableDocument(f"{place}: answerable is {answerable!r:.60}", help="Expected true, false or null.")
    return Sample(
        id=name,
        question=field(record, place, "question"),
        kind=_kind(record, place, options, answers),
        options=options,
        right=right,
        answers=answers,
        wrong=tuple(listed({"wrong": [], **record}, place, "wrong")),
        given=given,
        answerable=answerable,
        documents=frozenset(listed({"documents": [], **record}, place, "documents")),
        label=field(record, place, "label", default=""),
    )


def _kind(record: dict[str, Any], place: str, options: tuple[str, ...], answers: tuple[tuple[str, ...], ...]) -> Kind:
    """Return the record's kind, or else one inferred from its options and its number of answers."""
    stated = field(record, place, "kind", default="")
    for kind in KINDS:
        if stated == kind:
            return kind
    if stated:
        raise UnreadableDocument(f"{place}: the kind {stated!r} is unknown", help=f"Choose {', '.join(KINDS)}.")
    if options:
        return "yes/no" if {option.casefold() for option in options} <= {"yes", "no", "maybe"} else "choice"
    return "list" if len(answers) > 1 else "short"


def _options(record: dict[str, Any], place: str) -> tuple[tuple[str, ...], str | None]:
    """Return the options and the right one, given by its letter or its text."""
    value = record.get("options")
    letters = mapping(value, f"{place}: options") if isinstance(value, dict) else {}
    options = (
        tuple(field(letters, place, letter) for letter in letters)
        if letters
        else tuple(listed({**record, "options": value or []}, place, "options"))
    )
    right = field(record, place, "right", default="") or None
    if right is not None and right not in options:
        right = field(letters, place, right, default=right)
    return options, right


def _answers(record: dict[str, Any], place: str) -> tuple[tuple[str, ...], ...]:
    """Return a record's answers: each a tuple of its names."""
    if "answer" in record and "answers" in record:
        raise UnreadableDocument(f"{place} has both 'answer' and 'answers'", help="Leave one of them.")
    if record.get("answer") is not None:
        return ((field(record, place, "answer"),),)
    answers = record.get("answers") or []
    if not isinstance(answers, list):
        raise UnreadableDocument(f"{place}: answers is {answers!r:.60}, not a list", help="Give a list.")
    return tuple(
        tuple(listed({"answers": names if isinstance(names, list) else [names]}, place, "answers"))
        for names in answers
        if names != []
    )


def _context(value: Any, place: str, name: str) -> Context:
    """Return a context of a record: a mapping with its fields, or only its text."""
    record = {"text": value} if isinstance(value, str) else mapping(value, f"{place}: a context")

    def stated(key: str) -> str:
        return field(record, place, key, default="")

    return Context(
        id=field(record, place, "id", default=name),
        title=stated("title"),
        text=field(record, place, "text"),
        date=stated("date"),
        role=stated("role"),
        answer=stated("answer"),
        entity=stated("entity"),
        source=stated("source"),
    )

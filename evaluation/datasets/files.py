"""Reading of data files: JSON, JSON lines, CSV and judgements, plain or gzipped; errors name the line."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from evaluation.samples import DataSet, Sample, passages_as_corpus
from preflight_rag.state.errors import UnreadableDocument, UsageError
from preflight_rag.state.values import Document
from preflight_rag.text.sentences import sentence_spans

Line = tuple[str, dict[str, Any]]
_REACHED: ContextVar[str] = ContextVar("reached", default="")
"""The place that reading has reached: a line's, or a file's name once it was read."""


@contextmanager
def as_published(name: str) -> Iterator[None]:
    """Raise errors inside an adapter, which expects a data set's published form, with the place in the file.

    Raises:
        UnreadableDocument: A file of the data set `name` has another form.
    """
    before = _REACHED.get()
    _REACHED.set(f"a file of {name}")
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        why = f"there is no {error.args[0]!r:.60}" if isinstance(error, KeyError) and error.args else lines[0]
        raise UnreadableDocument(
            f"{_REACHED.get()} is not in the form that {name} is published in: {why}",
            help="Check that it is the published file.",
        ) from error
    finally:
        _REACHED.set(before)


def find(folder: Path, *names: str, origin: str) -> Path:
    """Return the path of the first of `names` in the folder, plain or gzipped.

    Raises:
        UsageError: None of them is there; the message says where the data set is published (`origin`).
    """
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise UsageError(f"there is no {names[0]} in {str(folder)!r}", help=f"The data set is published at {origin}.")


def json_lines(path: Path) -> Iterator[Line]:
    """Yield the objects of a JSON lines file, each with its place for error messages; blank lines are skipped.

    Raises:
        UnreadableDocument: The file is damaged, or a line is not a JSON object.
    """
    for place, line in _lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UnreadableDocument(f"{place} is not JSON: {error}", help="Fix the line or remove it.") from None
        if not isinstance(record, dict):
            raise UnreadableDocument(f"{place} holds {line.strip()[:40]!r}, not an object", help="Fix the line.")
        _REACHED.set(place)
        yield place, record
    _REACHED.set(path.name)


def json_file(path: Path) -> Any:
    """Return the content of a file that is one JSON value.

    Raises:
        UnreadableDocument: The file is damaged, or not JSON.
    """
    with _opened(path) as file:
        text = file.read()
    _REACHED.set(path.name)
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableDocument(f"{path.name} is not JSON: {error}", help="Fetch the file anew.") from None


def json_records(path: Path) -> Iterator[Line]:
    """Yield the objects of a JSON array, each with its place; if the file is not an array, those of its lines.

    Raises:
        UnreadableDocument: The file is damaged, or an entry is not an object.
    """
    with _opened(path) as file:
        is_array = next((line.lstrip()[0] == "[" for line in file if line.strip()), False)
    if not is_array:
        yield from json_lines(path)
        return
    for number, record in enumerate(json_file(path), 1):
        place = f"{path.name} entry {number}"
        if not isinstance(record, dict):
            raise UnreadableDocument(f"{place} holds {record!r:.40}, not an object", help="Fix the entry.")
        yield place, record


def csv_records(path: Path) -> Iterator[Line]:
    """Yield the rows of a CSV file with a header, each with the place where it ends.

    Raises:
        UnreadableDocument: The file is damaged, or a row has other columns than the header.
    """
    with _opened(path) as file:
        rows = csv.DictReader(file, strict=True)
        try:
            for row in rows:
                place = f"{path.name} line {rows.line_num}"
                if None in row or None in row.values():
                    raise UnreadableDocument(f"{place} has other columns than the header", help="Fix the line.")
                yield place, row
        except csv.Error as error:
            raise UnreadableDocument(f"{path.name} line {rows.line_num} is not CSV: {error}") from None


def judgements(path: Path) -> dict[str, dict[str, int]]:
    """Return relevance judgements: tab-separated query id, document id, grade, after a header line.

    Raises:
        UnreadableDocument: A line has another number of fields, or a grade that is not a whole number.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, (place, line) in enumerate(_lines(path)):
        fields = line.rstrip("\r\n").split("\t")
        if number == 0 or fields == [""]:
            continue
        try:
            query, document, grade = fields
            qrels.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise UnreadableDocument(
                f"{place} reads {line.strip()[:60]!r}", help="Expected: query id, tab, document id, tab, whole number."
            ) from None
    return qrels


def trec_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Return relevance judgements in TREC's form: query id, unused field, document id, grade, separated by white space.

    Raises:
        UnreadableDocument: A line has another number of fields, or a grade that is not a whole number.
    """
    qrels: dict[str, dict[str, int]] = {}
    for place, line in _lines(path):
        if not line.strip():
            continue
        try:
            query, _, document, grade = line.split()
            qrels.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise UnreadableDocument(
                f"{place} reads {line.strip()[:60]!r}", help="Expected: query id, 0, document id, whole number."
            ) from None
    return qrels


def field(record: dict[str, Any], place: str, *names: str, default: str | None = None) -> str:
    """Return the text of the first of `names` that the record has; numbers are converted to text.

    Raises:
        UnreadableDocument: The record has none of them and there is no default, or the value is not text.
    """
    for name in names:
        value = record.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return str(value)
        if value is not None:
            raise UnreadableDocument(f"{place}: {name} is {value!r:.60}, not text", help="Fix the line.")
    if default is None:
        raise UnreadableDocument(
            f"{place} has no {names[0]!r}", help=f"It has {', '.join(sorted(record)) or 'no field'}."
        )
    return default


def whole_number(record: dict[str, Any], place: str, name: str) -> int:
    """Return the whole number that the record has under this name.

    Raises:
        UnreadableDocument: It has none.
    """
    value = record.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableDocument(f"{place}: {name} is {value!r:.60}, not a whole number", help="Fix the line.")
    return value


def listed(record: dict[str, Any], place: str, *names: str) -> list[str]:
    """Return the entries, as text, of the first of `names` that the record has.

    Raises:
        UnreadableDocument: The record has none of them, or the value is not a list of texts or numbers.
    """
    for name in names:
        value = record.get(name)
        if isinstance(value, list) and all(isinstance(entry, (str, int)) for entry in value):
            return [str(entry) for entry in value]
    raise UnreadableDocument(
        f"{place} has no list {names[0]!r}", help=f"It has {', '.join(sorted(record)) or 'no field'}."
    )


def mapping(value: Any, place: str) -> dict[str, Any]:
    """Return a JSON value that must be a non-empty object.

    Raises:
        UnreadableDocument: It is something else.
    """
    if not isinstance(value, dict) or not value:
        raise UnreadableDocument(
            f"{place} holds {value!r:.40}, not an object", help="Check that it is the published file."
        )
    return value


def unique(ids: Sequence[tuple[str, str]]) -> None:
    """Raise an error if an id occurs twice in a sequence of (id, place).

    Raises:
        UnreadableDocument: One does.
    """
    seen: set[str] = set()
    for name, place in ids:
        if name in seen:
            raise UnreadableDocument(f"{place}: the id {name!r} stands twice", help="Remove one of the two records.")
        seen.add(name)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line of a text file, before it its place for error messages, e.g. `dev.jsonl line 3`."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            yield f"{path.name} line {number}", line


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed or not; errors while it is read become `UnreadableDocument`."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with cast("IO[str]", opener(path, "rt", encoding="utf-8-sig")) as file:
            yield file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UnreadableDocument(f"{path.name} cannot be read: {error}", help="Fetch the file anew.") from None


def entries(record: dict[str, Any], place: str, name: str) -> list[dict[str, Any]]:
    """Return the list of objects that the record has under this name.

    Raises:
        UnreadableDocument: It has none.
    """
    found = record.get(name)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UnreadableDocument(f"{place}: {name} is no list of objects", help="Fix the line.")
    return found


def texts(path: Path, id_field: str) -> Iterator[Document]:
    """Yield the documents of a JSON lines file with an id and a `text`."""
    for place, record in json_lines(path):
        name = field(record, place, id_field)
        yield Document(id=name, text=field(record, place, "text"), source=name)


def units_of(name: str, found: Iterable[str]) -> tuple[Document, ...]:
    """Return the units of a long document, such as its sentences, as documents with its name as their source."""
    return tuple(Document(id=f"{name}#{place}", text=text, source=name) for place, text in enumerate(found))


def in_sentences(found: DataSet) -> DataSet:
    """Return questions about one document each over the sentences of these documents.

    Relevant are the sentences in which the question's document answers it: by the sample's `spans`, else those that
    contain one of its answers word for word. Questions without such a sentence, and documents without a question, are
    left out.
    """
    # Imported here: `preflight --help` reads this module, and metrics need numpy.
    from evaluation.reading_metrics import holds

    asked: dict[str, list[Sample]] = {}
    for sample in found.samples:
        asked.setdefault(sample.document, []).append(sample)
    units: list[Document] = []
    relevance: dict[str, dict[str, int]] = {}
    for document in found.documents():
        places = sentence_spans(document.text) if document.id in asked else []
        own = units_of(document.id, (document.text[start:end] for start, end in places))
        units += own
        for sample in asked.get(document.id, ()):
            marked = [span for stretches in sample.spans for span in stretches]
            relevance[sample.id] = {}
            for unit, (start, end) in zip(own, places, strict=True):
                if marked:
                    answers = any(begin < end and start < stop for begin, stop in marked)
                else:
                    answers = holds(unit.text, sample.names)
                if answers:
                    relevance[sample.id][unit.id] = 1
    samples, title = judged(found.samples, relevance), f"{found.title}, sentences of a document"
    return replace(found, title=title, samples=samples, corpus=lambda: iter(units), relevance=relevance)


def collected(read: Iterable[tuple[str, Sample]], path: Path) -> tuple[Sample, ...]:
    """Return the samples of a file, each with its place in it.

    Raises:
        UnreadableDocument: Two samples or different passages have one id, a right answer is not among its options,
            or there is no sample at all.
    """
    found = list(read)
    unique([(sample.id, place) for place, sample in found])
    known: dict[str, str] = {}
    for place, sample in found:
        for passage in sample.given:
            if known.setdefault(passage.id, passage.text) != passage.text:
                raise UnreadableDocument(
                    f"{place}: the passage {passage.id!r} has another text than before",
                    help="Give it an id of its own.",
                )
        if sample.right is not None and sample.right not in sample.options:
            raise UnreadableDocument(
                f"{place}: the right answer {sample.right!r:.60} is not among the options",
                help=f"They are {', '.join(sample.options)}.",
            )
    if not found:
        raise UnreadableDocument(f"{path.name} holds no question", help="Check that it is the published file.")
    return tuple(sample for _, sample in found)


def judged(samples: Iterable[Sample], relevance: Mapping[str, Mapping[str, int]]) -> tuple[Sample, ...]:
    """Return the samples that have a relevant document, each with those documents."""
    found = []
    for sample in samples:
        documents = frozenset(name for name, grade in relevance.get(sample.id, {}).items() if grade > 0)
        if documents:
            found.append(replace(sample, documents=documents))
    return tuple(found)


def about_documents(
    name: str,
    title: str,
    source: str,
    licence: str,
    files: tuple[Path, ...],
    samples: Sequence[Sample],
    corpus: Callable[[], Iterator[Document]],
    most: int,
) -> DataSet:
    """Return samples that each ask about one long document; an experiment uses the first `most` documents by hash."""
    relevance = {sample.id: {sample.document: 1} for sample in samples}
    return DataSet(
        name, title, source, licence, files, judged(samples, relevance), corpus, relevance, most_documents=most
    )


def with_passages(
    name: str, title: str, source: str, licence: str, files: tuple[Path, ...], read: Iterable[tuple[str, Sample]]
) -> DataSet:
    """Return a set whose corpus is the passages of its samples, which were read with their places.

    Raises:
        UnreadableDocument: As `collected`.
    """
    samples = collected(read, files[0])
    return DataSet(name, title, source, licence, files, samples, passages_as_corpus(samples))

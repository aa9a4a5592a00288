"""JSON lines: record files, of one object a line with `id` (or `_id`), `title`, `text` and other fields; else rows.

A record whose text is an empty string has its title as text, as in collections where some records are titles alone.
Beside articles the other fields are metadata; beside shorter texts, as of tickets, they stand in the text, too. A file
whose objects mostly have no id and text, such as a log, is one document of rows, or a document for each text.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.encoding import wide_encoding
from preflight_rag.ingest.loaders.fields import (
    AUTHOR_FIELDS,
    DATE_FIELDS,
    SOURCE_FIELDS,
    absolute,
    clean,
    file_document,
    iso_date,
    json_values,
    one_line,
    people,
    tidy,
)
from preflight_rag.ingest.loaders.files import open_binary, too_large
from preflight_rag.ingest.loaders.rows import (
    ARTICLE,
    LONG_TEXT,
    TEXT_FIELDS,
    TITLE_FIELDS,
    above_text,
    flat_fields,
    mean_length,
    record_rows,
    scalar,
)
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document

_IDS = ("id", "_id")
_BINARY = "\x00"
_SAMPLE_LINES = 50
"""Lines by which a file is told to be one of records; a guess."""


def load_jsonl(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the documents of the file, and an error for each line that is not a record.

    Raises:
        DocumentTooLarge: The unpacked file is larger than `max_bytes`; what came before has been yielded.
        UnreadableDocument: The compressed data are damaged, or this is no text at all.
    """
    lines = _lines(path, max_bytes)
    sample = list(islice(lines, _SAMPLE_LINES))
    objects = [each for _, line in sample if (each := _object(line)) is not None]
    records = [each for each in objects if isinstance(each.get("text"), str) and any(key in each for key in _IDS)]
    if 2 * len(records) >= len(objects):
        is_short = mean_length([{"text": each["text"]} for each in records], "text") < ARTICLE
        yield from _records(path, chain(sample, lines), fields_in_text=is_short)
        return
    column = _text_column(objects)
    yield from _texts(path, chain(sample, lines), column) if column else _rows(path, chain(sample, lines))


def _records(
    path: Path, lines: Iterable[tuple[int, str]], *, fields_in_text: bool
) -> Iterator[Document | DocumentError]:
    """Yield the document of each record; an error for an unreadable record or a repeated id."""
    first_lines: dict[str, int] = {}
    for number, line in lines:
        where = f"{path}, line {number}"
        try:
            document = record_document(path, where, _record(path, number, line), fields_in_text=fields_in_text)
        except DocumentError as error:
            yield error
            continue
        if document.id in first_lines:
            yield UnreadableDocument(
                f"{where}: the id {document.id!r} is already that of line {first_lines[document.id]}"
            )
            continue
        first_lines[document.id] = number
        yield document


def _object(line: str) -> dict[str, Any] | None:
    """Return the JSON object on a line; None for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text_column(objects: Sequence[dict[str, Any]]) -> str:
    """Return the field with texts in objects that have no ids; "" if there is no such field."""
    rows = []
    for each in objects:
        rows.append({name: value for name, value in each.items() if isinstance(value, str)})
    found = {name: mean_length(rows, name) for name in TEXT_FIELDS}
    longest = max(found, key=lambda name: found[name])
    return longest if found[longest] >= LONG_TEXT else ""


def _texts(path: Path, lines: Iterable[tuple[int, str]], column: str) -> Iterator[Document | DocumentError]:
    """Yield a document for each object with a text, named by its line, with the other fields above the text."""
    for number, line in lines:
        try:
            record = json_values(_record(path, number, line))
        except DocumentError as error:
            yield error
            continue
        text = record.pop(column, None)
        title = next((scalar(record[name]) for name in TITLE_FIELDS if isinstance(record.get(name), str)), "")
        whole = above_text(tidy(text) if isinstance(text, str) else "", flat_fields(record))
        if not any(char.isalnum() for char in whole):
            yield EmptyDocument(f"{path}, line {number}: no text in field {column!r}")
            continue
        yield Document(
            id=f"{absolute(path)}#{number}",
            text=whole,
            source=absolute(path),
            title=title,
            date=next((day for key in DATE_FIELDS if (day := iso_date(record.get(key)))), None),
            metadata={**record, "row": number, "path": absolute(path)},
        )


def _rows(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Document | DocumentError]:
    """Yield one document with all objects as rows."""
    rows: list[str] = []
    count = 0
    for number, line in lines:
        try:
            rows += record_rows(json_values(_record(path, number, line)))
        except DocumentError as error:
            yield error
            continue
        count += 1
    if rows:
        yield file_document(path, clean("\n".join(rows)), metadata={"rows": count})


def _lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield `(number, line)` of each line that is not blank; bytes that are no UTF-8 come as surrogates."""
    read = 0
    try:
        with open_binary(path) as file:
            head = file.read(4096)
            file.seek(0)
            encoding = wide_encoding(head) or "utf-8-sig"
            text = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="\n")
            for number in range(1, max_bytes + 2):
                line = text.readline(max_bytes - read + 1)
                read += len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
                if read > max_bytes:
                    raise too_large(path, max_bytes)
                if not line:
                    return
                if number == 1 and _BINARY in line:
                    raise UnreadableDocument(f"{path} is binary data, not lines of JSON")
                if line.strip():
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableDocument(f"{path} is not a whole gzip file: {error}") from error


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the JSON object on a line, or raise an error that names the line."""
    where = f"{path}, line {number}"
    if any("\udc80" <= char <= "\udcff" for char in line):
        raise UnreadableDocument(f"{where}: not UTF-8", help="Save the file as UTF-8")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{where}: not JSON ({error})", help="Write one JSON object a line") from error
    if not isinstance(record, dict):
        raise UnreadableDocument(
            f"{where}: a JSON {type(record).__name__}, not an object", help="Write one JSON object a line"
        )
    return record


def record_document(path: Path, where: str, record: dict[str, Any], *, fields_in_text: bool = False) -> Document:
    """Return the document of a record, with its fields in the places where the library expects them.

    Args:
        path: The file with the record.
        where: The record's place in the file, for errors.
        record: The record's fields.
        fields_in_text: Whether the other fields are also written above the text, besides being metadata.

    Raises:
        DocumentError: It has no id, or no text.
    """
    try:
        rest = json_values(record)
    except UnreadableDocument as error:
        raise UnreadableDocument(f"{where}: {error.message}", help="Flatten the record") from error
    ids = [rest.pop(key) for key in _IDS if key in rest]
    name = next((str(value).strip() for value in ids if isinstance(value, str | int) and str(value).strip()), "")
    if not name or isinstance(ids[0], bool):
        raise UnreadableDocument(f"{where}: no 'id'", help="Give each record a string or number as 'id'")
    title = rest.pop("title", None)
    heading = one_line(title) if isinstance(title, str | int) else ""
    text = rest.pop("text", None)
    if text == "":
        text = heading
    if not isinstance(text, str) or not any(char.isalnum() for char in text):
        raise EmptyDocument(f"{where}: record {name!r} has no 'text'")
    date = next((day for key in DATE_FIELDS if (day := iso_date(rest.get(key)))), None)
    authors = next((names for key in AUTHOR_FIELDS if (names := people(rest.get(key)))), ())
    source = next((rest[key] for key in SOURCE_FIELDS if isinstance(rest.get(key), str) and rest[key].strip()), None)
    if source is None and str(rest.get("pmid") or "").isdigit():
        source = f"PMID {rest['pmid']}"
    cells = {"id": name, "title": heading, **flat_fields(rest)} if fields_in_text else {}
    return Document(
        id=name,
        text=above_text(tidy(text), cells),
        source=source or absolute(path),
        title=heading,
        date=date,
        authors=authors,
        metadata={**rest, "path": absolute(path)},
    )

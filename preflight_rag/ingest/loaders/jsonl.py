"""Read JSON lines: files with one object per line, with `id` (or `_id`), `title`, `text` and other fields.

A record whose text is an empty string has its title as text, since in some collections records are only titles.
The other fields are metadata; of short texts, such as tickets, they are also written into the text. A file whose
objects mostly have no id and text, such as a log, is one document of rows, or one document for each text.
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

from preflight_rag.ingest.loaders.encoding import detect_wide_encoding
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

_ID_FIELDS = ("id", "_id")
_NUL = "\x00"
_SAMPLE_LINES = 50
"""Number of lines by which it is decided whether a file contains records; a guess."""


def load_jsonl(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the documents of a file of JSON lines, and an error for each line that is not a record.

    Raises:
        DocumentTooLarge: The unpacked file is larger than `max_bytes`; the documents before that have been yielded.
        UnreadableDocument: The compressed data are damaged, or are not text.
    """
    lines = _filled_lines(path, max_bytes)
    sample = list(islice(lines, _SAMPLE_LINES))
    objects = [item for _, line in sample if (item := _parse_object(line)) is not None]
    records = [item for item in objects if isinstance(item.get("text"), str) and any(key in item for key in _ID_FIELDS)]
    if 2 * len(records) >= len(objects):
        is_short = mean_length([{"text": record["text"]} for record in records], "text") < ARTICLE
        yield from _record_documents(path, chain(sample, lines), fields_in_text=is_short)
        return
    column = _text_column(objects)
    yield from (
        _text_documents(path, chain(sample, lines), column) if column else _row_document(path, chain(sample, lines))
    )


def _record_documents(
    path: Path, lines: Iterable[tuple[int, str]], *, fields_in_text: bool
) -> Iterator[Document | DocumentError]:
    """Yield the document of each record on `(number, line)`; an error for an unreadable record or a repeated id."""
    first_lines: dict[str, int] = {}
    for number, line in lines:
        where = f"{path}, line {number}"
        try:
            document = record_document(path, where, _parse_record(path, number, line), fields_in_text=fields_in_text)
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


def _parse_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object on a line; None for anything else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text_column(objects: Sequence[dict[str, Any]]) -> str:
    """Return the name of the field with the longest texts in objects without ids; "" if these are too short."""
    rows = []
    for item in objects:
        rows.append({name: value for name, value in item.items() if isinstance(value, str)})
    mean_lengths = {name: mean_length(rows, name) for name in TEXT_FIELDS}
    longest = max(mean_lengths, key=lambda name: mean_lengths[name])
    return longest if mean_lengths[longest] >= LONG_TEXT else ""


def _text_documents(path: Path, lines: Iterable[tuple[int, str]], column: str) -> Iterator[Document | DocumentError]:
    """Yield a document for each object, with the other fields above the text; an error for a line without a text."""
    for number, line in lines:
        try:
            record = json_values(_parse_record(path, number, line))
        except DocumentError as error:
            yield error
            continue
        text = record.pop(column, None)
        title = next((scalar(record[name]) for name in TITLE_FIELDS if isinstance(record.get(name), str)), "")
        text_with_fields = above_text(tidy(text) if isinstance(text, str) else "", flat_fields(record))
        if not any(char.isalnum() for char in text_with_fields):
            yield EmptyDocument(f"{path}, line {number}: no text in field {column!r}")
            continue
        yield Document(
            id=f"{absolute(path)}#{number}",
            text=text_with_fields,
            source=absolute(path),
            title=title,
            date=next((day for key in DATE_FIELDS if (day := iso_date(record.get(key)))), None),
            metadata={**record, "row": number, "path": absolute(path)},
        )


def _row_document(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Document | DocumentError]:
    """Yield an error for each line without an object, then one document with all objects as rows, if there are any."""
    rows: list[str] = []
    count = 0
    for number, line in lines:
        try:
            rows += record_rows(json_values(_parse_record(path, number, line)))
        except DocumentError as error:
            yield error
            continue
        count += 1
    if rows:
        yield file_document(path, clean("\n".join(rows)), metadata={"rows": count})


def _filled_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Yield `(number, line)` of each line that is not blank, from 1; bytes that are not UTF-8 become surrogates.

    Raises:
        DocumentTooLarge: The unpacked file is larger than `max_bytes`.
        UnreadableDocument: The compressed data are damaged, or the file is binary.
    """
    bytes_read = 0
    try:
        with open_binary(path) as file:
            head = file.read(4096)
            file.seek(0)
            encoding = detect_wide_encoding(head) or "utf-8-sig"
            text = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="\n")
            for number in range(1, max_bytes + 2):
                line = text.readline(max_bytes - bytes_read + 1)
                bytes_read += len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
                if bytes_read > max_bytes:
                    raise too_large(path, max_bytes)
                if not line:
                    return
                if number == 1 and _NUL in line:
                    raise UnreadableDocument(f"{path} is binary data, not lines of JSON")
                if line.strip():
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableDocument(f"{path} is not a whole gzip file: {error}") from error


def _parse_record(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the JSON object on a line of a file.

    Raises:
        UnreadableDocument: The line is not UTF-8, or no JSON object; the message names its number.
    """
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
    """Return the document of a record: id, title, text, date, authors and source of its fields, the others as metadata.

    Args:
        path: The file with the record.
        where: The file and the record's number or line, for errors.
        record: The record's fields.
        fields_in_text: Whether the other fields are also written above the text, besides being metadata.

    Raises:
        DocumentError: The record has no id, or no text.
    """
    try:
        fields = json_values(record)
    except UnreadableDocument as error:
        raise UnreadableDocument(f"{where}: {error.message}", help="Flatten the record") from error
    ids = [fields.pop(key) for key in _ID_FIELDS if key in fields]
    name = next((str(value).strip() for value in ids if isinstance(value, str | int) and str(value).strip()), "")
    if not name or isinstance(ids[0], bool):
        raise UnreadableDocument(f"{where}: no 'id'", help="Give each record a string or number as 'id'")
    title = fields.pop("title", None)
    heading = one_line(title) if isinstance(title, str | int) else ""
    text = fields.pop("text", None)
    if text == "":
        text = heading
    if not isinstance(text, str) or not any(char.isalnum() for char in text):
        raise EmptyDocument(f"{where}: record {name!r} has no 'text'")
    date = next((day for key in DATE_FIELDS if (day := iso_date(fields.get(key)))), None)
    authors = next((names for key in AUTHOR_FIELDS if (names := people(fields.get(key)))), ())
    source = next(
        (fields[key] for key in SOURCE_FIELDS if isinstance(fields.get(key), str) and fields[key].strip()), None
    )
    if source is None and str(fields.get("pmid") or "").isdigit():
        source = f"PMID {fields['pmid']}"
    cells = {"id": name, "title": heading, **flat_fields(fields)} if fields_in_text else {}
    return Document(
        id=name,
        text=above_text(tidy(text), cells),
        source=source or absolute(path),
        title=heading,
        date=date,
        authors=authors,
        metadata={**fields, "path": absolute(path)},
    )

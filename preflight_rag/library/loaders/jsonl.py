"""Record files: one JSON object a line with `id` (or `_id`), `title`, `text`, and any other fields as metadata.

A record whose text is an empty string has its title as text, as in collections where some records are titles alone.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.library.loaders.encoding import wide_encoding
from preflight_rag.library.loaders.fields import (
    AUTHOR_FIELDS,
    DATE_FIELDS,
    SOURCE_FIELDS,
    absolute,
    iso_date,
    json_values,
    one_line,
    people,
    tidy,
)
from preflight_rag.library.loaders.files import open_binary, too_large
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document

_IDS = ("id", "_id")
_BINARY = "\x00"


def load_jsonl(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """A document for each record; an error is yielded for a record that is none, and the others go on.

    Raises:
        DocumentTooLarge: The unpacked file is larger than `max_bytes`; what came before has been yielded.
        UnreadableDocument: The compressed data are damaged, or this is no text at all.
    """
    first_lines: dict[str, int] = {}
    for number, line in _lines(path, max_bytes):
        try:
            document = record_document(path, f"{path}, line {number}", _record(path, number, line))
        except DocumentError as error:
            yield error
            continue
        if document.id in first_lines:
            yield UnreadableDocument(
                f"{path}, line {number}: the id {document.id!r} is already that of line {first_lines[document.id]}"
            )
            continue
        first_lines[document.id] = number
        yield document


def _lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """`(number, line)` of each line that is not blank; bytes that are no UTF-8 come as surrogates."""
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
    """The line's JSON object."""
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


def record_document(path: Path, where: str, record: dict[str, Any]) -> Document:
    """A record's document; its fields move to where the library looks for them.

    Args:
        path: The file that holds it.
        where: Its place in the file, for errors.
        record: Its fields.

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
    return Document(
        id=name,
        text=tidy(text),
        source=source or absolute(path),
        title=heading,
        date=date,
        authors=authors,
        metadata={**rest, "path": absolute(path)},
    )

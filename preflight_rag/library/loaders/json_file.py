"""JSON files: records with texts as documents, a list of alike objects as a table, anything else as lines of names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.library.loaders.encoding import decode
from preflight_rag.library.loaders.fields import clean, file_document, one_line
from preflight_rag.library.loaders.files import read_bytes
from preflight_rag.library.loaders.jsonl import record_document
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import table_lines

_DEEPEST = 30
"""Objects within each other that are followed; deeper ones stand as JSON. A guess."""


def load_json_file(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """The documents of the file.

    A list of objects with an `id` and a `text` holds a document each, as a `.jsonl` file does; so does the only list of
    an object. Any other file is one document: its lists of flat objects as tables, the rest a line `name, name: value`.

    Raises:
        UnreadableDocument: It is no JSON.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    text = decode(read_bytes(path, max_bytes), path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{path} is not JSON: {error}") from error
    records = _records(value)
    if records:
        seen: set[str] = set()
        for number, record in enumerate(records, 1):
            where = f"{path}, record {number}"
            try:
                document = record_document(path, where, record)
            except DocumentError as error:
                yield error
                continue
            if document.id in seen:
                yield UnreadableDocument(f"{where}: the id {document.id!r} is already that of another record")
                continue
            seen.add(document.id)
            yield document
        return
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    lines = "\n".join(_lines(value, (), 0))
    yield file_document(path, clean(lines), title=title if isinstance(title, str) else "")


def _records(value: Any) -> list[dict[str, Any]]:
    """The records of a file that holds texts by id, else none."""
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list) and each]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return []
    with_text = [each for each in value if isinstance(each.get("text"), str) and ("id" in each or "_id" in each)]
    return value if with_text and len(with_text) * 2 >= len(value) else []


def _lines(value: Any, names: tuple[str, ...], depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        yield f"{', '.join(names)}: {one_line(json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _lines(inner, (*names, one_line(name)), depth + 1)
    elif isinstance(value, list) and len(value) > 1 and all(_is_flat(each) for each in value):
        columns = list(dict.fromkeys(name for each in value for name in each))
        grid = [columns, *([_scalar(each.get(name)) for name in columns] for each in value)]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1, headings=False)
    elif isinstance(value, list):
        flat = [each for each in value if not isinstance(each, dict | list)]
        if flat:
            yield f"{', '.join(names)}: {', '.join(map(_scalar, flat))}".removeprefix(": ")
        for number, inner in enumerate(value, 1):
            if isinstance(inner, dict | list):
                yield from _lines(inner, (*names, str(number)), depth + 1)
    elif (text := _scalar(value)) != "":
        yield f"{', '.join(names)}: {text}" if names else text


def _is_flat(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(inner, dict | list) for inner in value.values())


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else one_line(value)

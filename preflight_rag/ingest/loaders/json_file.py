"""Read JSON files: records with texts as documents, lists of objects as tables, other values as lines with names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.encoding import decode
from preflight_rag.ingest.loaders.fields import clean, file_document
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.jsonl import load_jsonl, record_document
from preflight_rag.ingest.loaders.rows import ARTICLE, json_lines, mean_length
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

_SAMPLE_CHARACTERS = 1_000_000
"""Characters at the beginning of a file in which its first two lines are searched; a guess."""


def load_json_file(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the documents of a JSON file, and an error for each unreadable record and each repeated id.

    A list of objects with an `id` and a `text` contains one document each, as a `.jsonl` file does; so does the only
    list of an object. Any other file is one document: its lists of flat objects become tables, other values lines.
    A file of JSON lines is read by `load_jsonl`.

    Raises:
        UnreadableDocument: The file is not JSON.
        DocumentTooLarge: The file is larger than `max_bytes`.
    """
    text = decode(read_bytes(path, max_bytes), path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if is_json_lines(text):
            yield from load_jsonl(path, max_bytes)
            return
        raise UnreadableDocument(f"{path} is not JSON: {error}") from error
    if isinstance(value, dict) and value.get("type") == "FeatureCollection":
        value = _features_as_records(value)
    records = _text_records(value)
    if records:
        is_short = mean_length([{"text": str(record.get("text") or "")} for record in records], "text") < ARTICLE
        seen_ids: set[str] = set()
        for number, record in enumerate(records, 1):
            where = f"{path}, record {number}"
            try:
                document = record_document(path, where, record, fields_in_text=is_short)
            except DocumentError as error:
                yield error
                continue
            if document.id in seen_ids:
                yield UnreadableDocument(f"{where}: the id {document.id!r} is already that of another record")
                continue
            seen_ids.add(document.id)
            yield document
        return
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    lines = "\n".join(json_lines(value))
    yield file_document(path, clean(lines), title=title if isinstance(title, str) else "")


def _features_as_records(collection: dict[str, Any]) -> dict[str, Any]:
    """Return a map (GeoJSON, RFC 7946) with its features as records: id, properties, and longitude and latitude.

    A feature that is no single point gets the kind of its geometry instead of coordinates.
    """
    records = []
    for feature in collection.get("features") or []:
        if not isinstance(feature, dict):
            continue
        properties, geometry = feature.get("properties") or {}, feature.get("geometry") or {}
        record = {**({"id": feature["id"]} if "id" in feature else {}), **dict(properties)}
        coordinates = geometry.get("coordinates") if isinstance(geometry, dict) else None
        numbers = coordinates if isinstance(coordinates, list) else []
        is_point = len(numbers) > 1 and not any(isinstance(number, list) for number in numbers)
        if is_point:
            record |= {"longitude": numbers[0], "latitude": numbers[1]}
        elif isinstance(geometry, dict) and geometry.get("type"):
            record["geometry"] = geometry["type"]
        records.append(record)
    other_fields = {
        name: value for name, value in collection.items() if name not in ("type", "features", "crs", "bbox")
    }
    return {**other_fields, "features": records}


def is_json_lines(text: str) -> bool:
    """Return whether a text that is not JSON has one object on each line, judged by its first two lines."""
    lines = [line for line in text[:_SAMPLE_CHARACTERS].split("\n") if line.strip()][:2]
    try:
        return len(lines) == 2 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _text_records(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or of an object's only list, if half of them have a text and an id; else none."""
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list) and inner]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return []
    with_text = [item for item in value if isinstance(item.get("text"), str) and ("id" in item or "_id" in item)]
    return value if with_text and len(with_text) * 2 >= len(value) else []

"""JSON files: records with texts as documents, lists of objects as tables and rows, anything else as lines of names."""

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

_SAMPLE = 1_000_000
"""Characters in which the first two lines are looked for; a guess."""


def load_json_file(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield the documents of a JSON file.

    A list of objects with an `id` and a `text` contains one document each, as a `.jsonl` file does; so does the only
    list of an object. Any other file is one document: its lists of flat objects become tables, other values lines.

    Raises:
        UnreadableDocument: It is not JSON.
        DocumentTooLarge: It is larger than `max_bytes`.
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
        value = _with_places(value)
    records = _records(value)
    if records:
        short = mean_length([{"text": str(each.get("text") or "")} for each in records], "text") < ARTICLE
        seen: set[str] = set()
        for number, record in enumerate(records, 1):
            where = f"{path}, record {number}"
            try:
                document = record_document(path, where, record, fields_in_text=short)
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
    lines = "\n".join(json_lines(value))
    yield file_document(path, clean(lines), title=title if isinstance(title, str) else "")


def _with_places(collection: dict[str, Any]) -> dict[str, Any]:
    """Return a map's features (GeoJSON, RFC 7946) as records: their properties, and where they are in words."""
    found = []
    for feature in collection.get("features") or []:
        if not isinstance(feature, dict):
            continue
        properties, geometry = feature.get("properties") or {}, feature.get("geometry") or {}
        record = {**({"id": feature["id"]} if "id" in feature else {}), **dict(properties)}
        place = geometry.get("coordinates") if isinstance(geometry, dict) else None
        if isinstance(place, list) and len(place) > 1 and not any(isinstance(each, list) for each in place):
            record |= {"longitude": place[0], "latitude": place[1]}
        elif isinstance(geometry, dict) and geometry.get("type"):
            record["geometry"] = geometry["type"]
        found.append(record)
    rest = {name: inner for name, inner in collection.items() if name not in ("type", "features", "crs", "bbox")}
    return {**rest, "features": found}


def is_json_lines(text: str) -> bool:
    """Return whether a text that is not JSON has one object on each line, judged by its first two lines."""
    lines = [line for line in text[:_SAMPLE].split("\n") if line.strip()][:2]
    try:
        return len(lines) == 2 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _records(value: Any) -> list[dict[str, Any]]:
    """Return the records of a file that contains texts with ids; else none."""
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list) and each]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return []
    with_text = [each for each in value if isinstance(each.get("text"), str) and ("id" in each or "_id" in each)]
    return value if with_text and len(with_text) * 2 >= len(value) else []

"""Conversion of values for PostgreSQL: vectors in pgvector's binary form, JSON and texts without invalid characters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from preflight_rag.databases.postgres import storable_text
from preflight_rag.ingest.identity import passage_id, vector_key
from preflight_rag.state.values import Passage

if TYPE_CHECKING:
    import numpy as np


def vector_binary(little: bytes) -> bytes:
    """Return a vector in pgvector's binary form: its dimension, two zero bytes, big-endian float32.

    Args:
        little: The vector as little-endian float32.
    """
    import numpy as np

    values = np.frombuffer(little, "<f4")
    return struct.pack(">HH", len(values), 0) + values.astype(">f4").tobytes()


def vector_values(sent: bytes) -> np.ndarray:
    """Return the vector (d,) float32 from the result of pgvector's `vector_send`."""
    import numpy as np

    values: np.ndarray = np.frombuffer(sent, ">f4", offset=4).astype(np.float32)
    return values


def vector_matrix(sent: list[bytes]) -> np.ndarray:
    """Return vectors (n, d) float32 of one dimension from results of `vector_send`."""
    import numpy as np

    if not sent:
        return np.empty((0, 0), np.float32)
    stacked = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    matrix: np.ndarray = np.ascontiguousarray(stacked[:, 4:]).view(">f4").astype(np.float32)
    return matrix


def vector_text(vector: np.ndarray) -> str:
    """Return a vector (d,) in pgvector's text form, e.g. `[0.5,1]`, as a parameter of a query."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def storable_json(value: Any) -> str:
    """Return a value as JSON that PostgreSQL accepts: without NULs and lone surrogates in its texts."""
    return json.dumps(_without_invalid_characters(value), ensure_ascii=False, default=str)


def _without_invalid_characters(value: Any) -> Any:
    """Return a JSON value without the characters that PostgreSQL cannot store; other values become text."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, Mapping):
        return {storable_text(str(key)): _without_invalid_characters(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_invalid_characters(entry) for entry in value]
    return value if isinstance(value, int | float | bool | None) else storable_text(str(value))


def storable_passage(passage: Passage, key: str) -> tuple[Passage, str]:
    """Return a passage, and the key of its embedded text, without characters that PostgreSQL rejects.

    If the passage changes, its id and the key become those of the resulting text.
    """
    document_id, text, title = map(storable_text, (passage.document_id, passage.text, passage.title))
    if (document_id, text, title) == (passage.document_id, passage.text, passage.title):
        return passage, key
    id = passage_id(document_id, passage.start, text)
    cleaned = passage.model_copy(update={"id": id, "document_id": document_id, "text": text, "title": title})
    return cleaned, vector_key(cleaned)

"""Names derived from content by hashing: the id of a passage, the key of its vector, the hash of a document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from preflight_rag.state.values import Document, Passage

PASSAGE_ID_LENGTH = 24
"""Number of hexadecimal digits: 96 bits, so that two of a billion passages clash with a chance of about 10^-11."""
DATING = 2
"""Version of `document_dates.find_date`; to raise it has undated documents read again."""


def passage_id(document_id: str, start: int, text: str) -> str:
    """Return the id of the passage `text` at character `start` of document `document_id`.

    96 bits of a SHA-256, in hexadecimal: equal inputs give equal ids in every library, whenever they are ingested.
    """
    # The text that `_ENCODER` makes of the list, in half of the time: a search checks the id of each passage it reads.
    encoded = f"[{encode_basestring(document_id)},{start:d},{encode_basestring(text)}]"
    return hashlib.sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:PASSAGE_ID_LENGTH]


def content_hash(document: Document, splitter_settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that decides how a document is stored: text, metadata and splitter settings.

    For an undated document that includes the version of the search for dates in texts, so that documents stored by an
    older version are read again.
    """
    settings = dict(splitter_settings) if document.date else {**splitter_settings, "dates": DATING}
    return _digest([document.model_dump(mode="json"), settings])


def vector_key(passage: Passage) -> str:
    """Return the key of a passage's vector: passages with equal keys have equal vectors."""
    return hashlib.sha256(f"{passage.title}\0{passage.text}".encode()).hexdigest()[:32]


def place_key(origin: str) -> str:
    """Return the name of the setting with the real path of a file whose own path (`origin`) contains links."""
    return f"place:{origin}"


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
"""Kept for all calls: `json.dumps` would make an encoder for each passage whose id is compared with its text."""


def _digest(value: Any) -> str:
    """Return the SHA-256 of a value written as JSON, in hexadecimal."""
    return hashlib.sha256(_ENCODER.encode(value).encode("utf-8", "surrogatepass")).hexdigest()

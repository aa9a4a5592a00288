"""Content-derived names: of a passage, of what is embedded of it, and of a document's version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from preflight_rag.state.values import Document, Passage

PASSAGE_ID_LENGTH = 24
"""Hexadecimal digits: 96 bits, with which a billion passages clash with a chance of about 10^-11."""
DATING = 2
"""Version of `dates.find_date`."""


def passage_id(document_id: str, start: int, text: str) -> str:
    """Return the id of the passage `text` at character `start` of document `document_id`.

    96 bits of a SHA-256, in hexadecimal: equal inputs give equal ids in every library, whenever they are ingested.
    """
    # What `_digest` takes of a list of the three, in half of the time: a search compares the ids of all that it reads.
    encoded = f"[{encode_basestring(document_id)},{start:d},{encode_basestring(text)}]"
    return hashlib.sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:PASSAGE_ID_LENGTH]


def content_hash(document: Document, splitter_settings: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that decides how a document is stored: text, metadata and splitter.

    For an undated document that includes the way in which a date is looked for, so that documents stored by an older
    version are read again.
    """
    decided = dict(splitter_settings) if document.date else {**splitter_settings, "dates": DATING}
    return _digest([document.model_dump(mode="json"), decided])


def vector_key(passage: Passage) -> str:
    """Return the key of a passage's vector: passages with equal keys have equal vectors."""
    return hashlib.sha256(f"{passage.title}\0{passage.text}".encode()).hexdigest()[:32]


def place_key(origin: str) -> str:
    """Return the name of the setting with the real path of a file whose own path (`origin`) contains links."""
    return f"place:{origin}"


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
"""Made once: `json.dumps` makes one for each passage that is read, where its id is compared with its text."""


def _digest(value: Any) -> str:
    """Return the SHA-256 of a value written as JSON, in hexadecimal."""
    return hashlib.sha256(_ENCODER.encode(value).encode("utf-8", "surrogatepass")).hexdigest()

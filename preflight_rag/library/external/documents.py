"""Conversion of LangChain documents into ours: title, source, date and page are taken from their metadata.

Retrievers return chunks. Chunks of one document get the same id: the one in their metadata, else their source with
title and date; a chunk without such metadata gets the hash of its text as its id.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core import documents as langchain

from preflight_rag.state.values import Document
from preflight_rag.text.dates import known_date
from preflight_rag.text.words import unicode_text

LONGEST = 100_000
"""Longest part of a returned document that is read, in characters, about 25 pages; a guess."""
DEEPEST = 6
"""Depth to which nested lists and mappings of metadata are kept; deeper ones become text."""
# Keys of metadata that other programs use, each group in the order of preference.
ID_KEYS = ("document_id", "doc_id")
SOURCE_KEYS = ("source", "url", "link", "uri", "file_path", "path", "filename", "file_name")
TITLE_KEYS = ("title", "headline", "name")
DATE_KEYS = ("date", "published", "publication_date", "published_date", "year", "created")
PAGE_KEYS = ("page_label", "page_number", "page")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A returned document after conversion, with its text's offset in the whole document, and any problems."""

    document: Document
    start: int
    problem: str = ""


def chunk_of(returned: langchain.Document) -> Chunk | None:
    """Return a returned document converted into ours; None if it has no text."""
    text = unicode_text(returned.page_content)
    if not text.strip():
        return None
    metadata = {str(key): plain(value) for key, value in returned.metadata.items()}
    source, title, date = (_first_text(metadata, keys) for keys in (SOURCE_KEYS, TITLE_KEYS, DATE_KEYS))
    date = date if known_date(date) else ""
    own_id = _first_text(metadata, ID_KEYS)
    name = own_id or " · ".join(filter(None, dict.fromkeys((source or title, title, date))))
    problem = ""
    if len(text) > LONGEST:
        problem = f"{name or 'a document'} has {len(text):,} characters; only the first {LONGEST:,} are read"
    page = _whole_number(metadata, PAGE_KEYS)
    return Chunk(
        Document(
            id=name or f"text {hashlib.sha256(text.encode()).hexdigest()[:16]}",
            text=text[:LONGEST],
            source=source or name,
            title=title,
            date=date or None,
            authors=_authors(metadata.get("authors") or metadata.get("author")),
            pages=() if page is None else ((page, 0),),
            metadata=metadata,
        ),
        start=max(0, _whole_number(metadata, ("start_index",)) or 0),
        problem=problem,
    )


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can express it: NumPy's numbers as numbers, collections as such, all else as text."""
    if isinstance(value, str):
        return unicode_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < DEEPEST and isinstance(value, Mapping):
        return {unicode_text(str(key)): plain(entry, depth + 1) for key, entry in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [plain(entry, depth + 1) for entry in value]
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return plain(value.item(), depth + 1)
    return unicode_text(value.isoformat() if hasattr(value, "isoformat") else str(value))


def _first_text(metadata: Mapping[str, object], names: tuple[str, ...]) -> str:
    """Return the first text or whole number under one of the names, as text; "" if there is none."""
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str | int) and (text := str(value).strip()):
            return text
    return ""


def _whole_number(metadata: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    """Return the first whole number under one of the names, or None."""
    for name in names:
        value = metadata.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.strip().isdecimal():
            return int(value)
    return None


def _authors(value: object) -> tuple[str, ...]:
    """Return authors given as a list, or as one text such as "A. Smith; B. Jones", which is returned as it is."""
    names = value if isinstance(value, list) else [value]
    return tuple(name if isinstance(name, str) else json.dumps(name) for name in names if name)

"""Tables of `library.db`, and how documents and passages become their rows.

`generation` counts the writes of documents. A row with a `retired` generation is deleted for the library's users, but
stays until an index without it has been swapped in, so that the index in use still finds what it points to.
"""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import Any

from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.values import Document, Passage

CHUNK = 500
"""Values in one SQL statement: some builds of SQLite take at most 999 parameters."""
# AUTOINCREMENT: an index must not find another passage under the row of a deleted one. `passages_retired` is partial
# because few rows are ever retired, and each write looks for them.
TABLES = """
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    date TEXT,
    authors TEXT NOT NULL,
    metadata TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    origin TEXT NOT NULL,
    added_at TEXT NOT NULL,
    generation INTEGER NOT NULL,
    retired INTEGER
);
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document_id TEXT NOT NULL REFERENCES documents (id),
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    page INTEGER,
    tokens INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    retired INTEGER
);
CREATE TABLE IF NOT EXISTS vectors (
    row INTEGER PRIMARY KEY REFERENCES passages (row) ON DELETE CASCADE,
    input TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_origin ON documents (origin);
CREATE INDEX IF NOT EXISTS passages_document ON passages (document_id);
CREATE INDEX IF NOT EXISTS passages_retired ON passages (retired) WHERE retired IS NOT NULL;
CREATE INDEX IF NOT EXISTS vectors_input ON vectors (input);
"""


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables."""
    for statement in TABLES.split(";"):
        connection.execute(statement)


MIGRATIONS = (_make_tables,)
"""Functions that bring a database to version 1, 2, … (`databases/migrations.py`). So far there is only the first
version."""
SCHEMA_VERSION = len(MIGRATIONS)

UPSERT_DOCUMENT = """
INSERT INTO documents (id, source, title, date, authors, metadata, content_hash, origin, added_at, generation, retired)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)
ON CONFLICT (id) DO UPDATE SET source = excluded.source, title = excluded.title, date = excluded.date,
    authors = excluded.authors, metadata = excluded.metadata, content_hash = excluded.content_hash,
    origin = excluded.origin, added_at = excluded.added_at, generation = excluded.generation, retired = NULL
"""

# Not a replacement: a passage that comes back keeps its row, to which the index in use points. The id is a hash of
# document, start and text, so these cannot differ.
UPSERT_PASSAGE = """
INSERT INTO passages (id, document_id, position, text, start, "end", page, tokens, metadata, retired)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)
ON CONFLICT (id) DO UPDATE SET position = excluded.position, "end" = excluded."end", page = excluded.page,
    tokens = excluded.tokens, metadata = excluded.metadata, retired = NULL
RETURNING row
"""

UPSERT_VECTOR = """
INSERT INTO vectors (row, input, vector) VALUES (?, ?, ?)
ON CONFLICT (row) DO UPDATE SET input = excluded.input, vector = excluded.vector
"""

SELECT_PASSAGES = """
SELECT p.id, p.document_id, p.text, p.start, p."end", p.page, p.tokens, p.metadata AS passage_metadata,
    d.title, d.source, d.date, d.metadata AS document_metadata
FROM passages p JOIN documents d ON d.id = p.document_id
WHERE p.id IN ({marks})
"""


DOCUMENT_ONLY_KEYS = ("sections", READ_REPORT)
"""Keys of a document's metadata that its passages do not inherit."""


def document_row(document: Document, content_hash: str, origin: str, generation: int) -> tuple[Any, ...]:
    """Return the values of a document for `UPSERT_DOCUMENT`, with the present time."""
    return (
        document.id,
        document.source,
        document.title,
        document.date,
        json.dumps(document.authors),
        _to_json(document.metadata),
        content_hash,
        origin,
        datetime.now(UTC).isoformat(timespec="seconds"),
        generation,
    )


def passage_row(passage: Passage, position: int) -> tuple[Any, ...]:
    """Return the values of a passage for `UPSERT_PASSAGE`; `position` is its number in its document."""
    return (
        passage.id,
        passage.document_id,
        position,
        passage.text,
        passage.start,
        passage.end,
        passage.page,
        passage.tokens,
        _to_json(passage.metadata),
    )


def passage_of(row: sqlite3.Row) -> Passage:
    """Return the passage for a row of `SELECT_PASSAGES`.

    Its metadata are its document's, without `DOCUMENT_ONLY_KEYS`, and its own.
    """
    id, document_id, text, start, end, page, tokens, passage_metadata, title, source, date, document_metadata = row
    metadata = _parse_metadata(document_metadata)
    for name in DOCUMENT_ONLY_KEYS:
        metadata.pop(name, None)
    return Passage(
        id=id,
        document_id=document_id,
        text=text,
        title=title,
        source=source,
        date=date,
        page=page,
        start=start,
        end=end,
        tokens=tokens,
        metadata=metadata | _parse_metadata(passage_metadata),
    )


def _parse_metadata(stored: str) -> dict[str, Any]:
    """Return the metadata that are stored as a JSON text."""
    return {} if stored == "{}" else dict(json.loads(stored))


def _to_json(value: Any) -> str:
    """Return a value as a JSON text; values that JSON does not have, such as dates, become text."""
    return json.dumps(value, default=str)

"""Check a library's database for values that this program cannot have written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from preflight_rag.ingest.identity import passage_id
from preflight_rag.library.storage.schema import CHUNK, TABLES
from preflight_rag.library.storage.vectors import LARGEST_NUMBER
from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store

TEXT_COLUMNS = ("source", "title", "date", "authors", "metadata", "content_hash", "origin", "added_at")
"""Columns of the table of documents that hold text, beside their id."""


def database_problems(store: Store, dimension: int) -> list[str]:
    """Return the problems of the database, one line each.

    Args:
        store: The database.
        dimension: Length of a stored vector.
    """
    problems = []
    # A damaged page may end one check; the others still say what they find.
    for check in (_page_problems, _table_problems, _document_problems, partial(_passage_problems, dimension=dimension)):
        try:
            problems += check(store)
        except LibraryError as error:
            problems.append(f"database: {error.message}")
    if log := store.meta("damaged_log"):
        problems.append(f"database: its last writes may be missing, since its log was damaged (kept as {log})")
    return problems


def _page_problems(store: Store) -> list[str]:
    """Return the problems that SQLite's own checks of the file find."""
    results = [row[0] for row in store.select("PRAGMA integrity_check(10)")]
    tables = [row[0] for row in store.select("PRAGMA foreign_key_check")]
    problems = [f"database: {result}" for result in results if result != "ok"]
    return problems + [f"database: a row of {table} points nowhere" for table in tables]


def _table_problems(store: Store) -> list[str]:
    """Return which columns are missing in tables: SQLite reads a damaged name of a column as another column."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(TABLES)
        expected = empty.execute(
            "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
        ).fetchall()
    stored = {
        (row[0], row[1])
        for row in store.select("SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c")
    }
    return [f"database: {table} has no column {column}" for table, column in expected if (table, column) not in stored]


def _document_problems(store: Store) -> list[str]:
    """Return documents whose metadata or authors are not JSON, or that contain text which is not UTF-8."""
    # As bytes: sqlite3 raises at a text that is not UTF-8, and does not say in which row.
    texts = ", ".join(f"CAST({name} AS BLOB)" for name in ("id", *TEXT_COLUMNS))
    # `json_type` fails for what is no JSON, and the whole query with it, so it gets '0' instead.
    sql = f"""SELECT json_valid(metadata) AND json_valid(authors)
        AND json_type(CASE WHEN json_valid(metadata) THEN metadata ELSE '0' END) = 'object'
        AND json_type(CASE WHEN json_valid(authors) THEN authors ELSE '0' END) = 'array', {texts} FROM documents"""  # noqa: S608  # constants
    problems = []
    for is_json, *values in store.select(sql):
        if not is_json or not all(_is_utf8(value) for value in values):
            problems.append(f"document {values[0].decode(errors='replace')} is not as it was written")
    return problems


def _passage_problems(store: Store, dimension: int) -> list[str]:
    """Return passages whose text does not match their id, that cannot be read, or that have no vector."""
    problems, last = [], 0
    while rows := store.select(
        """SELECT p.row, CAST(p.id AS BLOB) AS id, CAST(p.document_id AS BLOB) AS document, p.start,
            CAST(p.text AS BLOB) AS text, json_valid(p.metadata) AS reads, CAST(p.metadata AS BLOB) AS metadata,
            CAST(v.input AS BLOB) AS input, v.vector
        FROM passages p LEFT JOIN vectors v ON v.row = p.row WHERE p.row > ? ORDER BY p.row LIMIT ?""",
        (last, CHUNK),
    ):
        for row in rows:
            name = row["id"].decode(errors="replace")
            if not is_vector(row["vector"], dimension) or not _is_utf8(row["input"]):
                problems.append(f"passage {name} has no vector of {dimension} numbers")
            has_metadata = row["reads"] and _is_utf8(row["metadata"])
            if not has_metadata or not is_own_text(row["id"], row["document"], row["start"], row["text"]):
                problems.append(
                    f"passage {name} of {row['document'].decode(errors='replace')} is not as it was written"
                )
        last = rows[-1]["row"]
    return problems


def _is_utf8(value: bytes | None) -> bool:
    """Return whether bytes are UTF-8; True for None, a value that is missing."""
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def is_vector(blob: object, dimension: int) -> bool:
    """Return whether a stored value is a vector of `dimension` finite numbers."""
    import numpy as np

    if not isinstance(blob, bytes) or len(blob) != 4 * dimension:
        return False
    # A comparison with NaN is false, so it is found, too.
    return bool((np.abs(np.frombuffer(blob, dtype="<f4")) < LARGEST_NUMBER).all())


def is_own_text(id: bytes, document: bytes, start: int, text: bytes) -> bool:
    """Return whether a passage's id was made from this text; False if the text is not UTF-8."""
    try:
        return passage_id(document.decode(), start, text.decode()) == id.decode()
    except UnicodeDecodeError:
        return False

"""Recovery of libraries with lost data: which documents are affected, and how to keep the others.

Each index generation stores the list of documents from which it was built, so that a database which is damaged, or
older than its index, can be compared with that list.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag.databases.sqlite_files import copy_readable, make_private, replace_database, set_aside
from preflight_rag.library.index.generations import FOLDER, read_contents, read_manifest
from preflight_rag.library.storage.damage import TEXT_COLUMNS, database_problems, is_own_text, is_vector
from preflight_rag.library.storage.schema import SCHEMA_VERSION, TABLES
from preflight_rag.library.storage.store import DATABASE, Store
from preflight_rag.library.write_lock import write_lock
from preflight_rag.state.errors import DatabaseCorrupt, LibraryCorrupt
from preflight_rag.state.memory import LEAST_MEGABYTES, need_memory

MOST_NAMED = 20
"""Most documents that are named in one line; a guess at what is read."""


@dataclass(frozen=True)
class Recovery:
    """The result of recovering a damaged library.

    Attributes:
        kept: Path to which the damaged database was moved.
        whole: Number of intact documents.
        again: Sources of the documents that have lost something, or everything: the next ingest reads them again.
    """

    kept: Path
    whole: int
    again: tuple[str, ...]


def lost_documents(store: Store, root: Path) -> list[str]:
    """Return the documents that the index in `root` includes but the database lost, one line each.

    A document is lost if it is missing, or if a database that is older than the index has an older version of it. The
    result is empty if there is no index, or an older version of this package built it.
    """
    _, indexed_documents = read_contents(root)
    if not indexed_documents or (manifest := read_manifest(root)) is None:
        return []
    problems = []
    # An index contains only committed writes: a database with a lower number is an older file, e.g. from a backup.
    lost_writes = manifest.generation - store.generation()
    if lost_writes > 0:
        problems.append(f"database: its last {lost_writes} writes are lost; the index knows of them")
    stored_hashes = {row[0]: row[1] for row in store.select("SELECT id, content_hash FROM documents")}
    for document in indexed_documents:
        if document["id"] not in stored_hashes:
            problems.append(f"document {_display_name(document)} is lost; ingest it again")
        # In a database that is not older, another hash is a newer version, which waits for the index.
        elif lost_writes > 0 and stored_hashes[document["id"]] != document["content_hash"]:
            problems.append(f"document {_display_name(document)} is an older version of it; ingest it again")
    return problems


def recover_if_damaged(folder: Path) -> Recovery | None:
    """Recover a library whose database is damaged, or contains foreign rows; return None for an intact one.

    Raises:
        LibraryMissing: There is no library.
        LibraryBusy: Another process writes it.
        DatabaseCorrupt: Nothing in it can be read; it is set aside all the same.
        OutOfMemory: There is too little memory to read its vectors.
    """
    need_memory(LEAST_MEGABYTES, "to check the library")
    try:
        store = Store(folder)
    except DatabaseCorrupt:
        with write_lock(folder):
            return recover_library(folder)
    with closing(store):
        # Without an embedder nothing was ever written.
        if not store.meta("embedder") or not database_problems(store, store.dimension()):
            return None
    with write_lock(folder):
        return recover_library(folder)


def recover_library(folder: Path) -> Recovery:
    """Set a damaged `library.db` aside, and copy the intact rows to a new one; the caller holds the write lock.

    Of damaged documents the intact passages are copied, and the next ingest reads these documents again.

    Raises:
        DatabaseCorrupt: Nothing of it can be read; it is set aside all the same.
    """
    path = folder / DATABASE
    settings, indexed_documents = read_contents(folder / FOLDER)
    damaged_sources: list[str] = []
    intact_count = 0

    def copy_intact_rows(new_path: Path) -> None:
        """Make a new database of the intact rows."""
        nonlocal intact_count
        make_private(new_path)
        with closing(sqlite3.connect(new_path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(TABLES)
            connection.execute("BEGIN")
            copy_readable(path, connection)
            # Settings first: rows are checked by the embedder's dimension.
            _restore_settings(connection, path, folder, settings)
            damaged_sources.extend(_delete_damaged_rows(connection, indexed_documents))
            connection.execute("COMMIT")
            # `_delete_damaged_rows` has emptied the hashes of damaged documents.
            intact_count = connection.execute("SELECT count(*) FROM documents WHERE content_hash != ''").fetchone()[0]

    try:
        damaged_path = replace_database(path, copy_intact_rows)
        return Recovery(kept=damaged_path, whole=intact_count, again=tuple(dict.fromkeys(damaged_sources)))
    except DatabaseCorrupt as error:
        kept = set_aside(path)
        # All files are copied by now. A log that stayed here would be read as the log of the next `library.db`.
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        sources = list(dict.fromkeys(document["origin"] or document["source"] for document in indexed_documents))
        raise DatabaseCorrupt(
            f"Nothing of {path} can be kept; it is now {kept.name}",
            help=f"Create it again: preflight ingest {named(sources) or 'PATH'} --library {folder}",
        ) from error


def named(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """Return the names on one line; of more than `most`, only the first `most` and the number of all."""
    names = list(names)
    return " ".join(names[:most]) + (f" … ({len(names)} in all)" if len(names) > most else "")


def _display_name(document: dict[str, Any]) -> str:
    """Return the name of a document for messages: its file, else its source or id."""
    return str(document["origin"] or document["source"] or document["id"])


def _restore_settings(
    connection: sqlite3.Connection, path: Path, folder: Path, indexed_settings: dict[str, Any]
) -> None:
    """Delete unreadable settings, restore missing ones from the index, and set a new generation number.

    Args:
        connection: The new database, with the settings that could be copied.
        path: The path of the damaged database, for the error.
        folder: The library's folder.
        indexed_settings: The settings that the index recorded.

    Raises:
        DatabaseCorrupt: The embedder is not known, without which the vectors are useless.
    """
    for key, value in connection.execute("SELECT key, value FROM meta").fetchall():
        try:
            json.loads(value)
        except (ValueError, TypeError):
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    for key, value in indexed_settings.items():
        if value is not None:
            # A setting that could be read from the database stays: it is newer than the one that the index recorded.
            connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
    settings = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}
    try:
        int(settings["embedder"]["dimension"])
    except (KeyError, TypeError, ValueError) as error:
        raise DatabaseCorrupt(f"{path} does not say which embedder it was made with") from error
    used_generations = [settings.get("generation")]
    used_generations += connection.execute("SELECT max(generation) FROM documents").fetchone()
    with suppress(LibraryCorrupt):
        manifest = read_manifest(folder / FOLDER)
        used_generations.append(manifest.generation if manifest else 0)
    newest = max(number for number in (*used_generations, 0) if isinstance(number, int))
    # A generation number that no index has, so that the next index is built from what is here now.
    for key, value in (("schema_version", SCHEMA_VERSION), ("generation", newest + 1)):
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
    # Nothing else removes this setting, and `verify` would report the lost writes for ever.
    connection.execute("DELETE FROM meta WHERE key = 'damaged_log'")


def _delete_damaged_rows(connection: sqlite3.Connection, indexed_documents: list[dict[str, Any]]) -> list[str]:
    """Delete damaged rows, and return the sources of the documents that have lost something.

    Their content hashes are emptied. Documents that the index lists but the database lacks are among the sources.
    """
    settings = connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    dimension = int(json.loads(settings[0])["dimension"])
    damaged = set()
    select_passages = """SELECT p.row, CAST(p.id AS BLOB), CAST(p.document_id AS BLOB), p.start, CAST(p.text AS BLOB),
        p.metadata, p.document_id, v.vector FROM passages p LEFT JOIN vectors v ON v.row = p.row"""
    for row, id, document, start, text, metadata, document_id, vector in connection.execute(select_passages).fetchall():
        has_metadata = _is_object(metadata) and "\ufffd" not in metadata
        if not has_metadata or not is_vector(vector, dimension) or not is_own_text(id, document, start, text):
            connection.execute("DELETE FROM passages WHERE row = ?", (row,))
            damaged.add(document_id)
    texts = " || ".join(f"coalesce({name}, '')" for name in TEXT_COLUMNS)
    sql = f"SELECT id, metadata, authors, {texts} FROM documents"  # noqa: S608  # constants
    for id, metadata, authors, text in connection.execute(sql).fetchall():
        # the replacement character marks undecodable bytes; a document that really contains it is read again, too
        if "\ufffd" in text:
            damaged.add(id)
        if not _is_object(metadata) or not isinstance(_parse_json(authors), list):
            damaged.add(id)
            # Readers expect JSON, also in the time before the next ingest.
            connection.execute("UPDATE documents SET metadata = '{}', authors = '[]' WHERE id = ?", (id,))
    # SQLite checks foreign keys only where a connection asks for it, and this one must take damaged rows first.
    connection.execute("DELETE FROM passages WHERE document_id NOT IN (SELECT id FROM documents)")
    connection.execute("DELETE FROM vectors WHERE row NOT IN (SELECT row FROM passages)")
    damaged |= _documents_with_missing_passages(connection, indexed_documents)
    rows = connection.execute("SELECT id, source, origin FROM documents").fetchall()
    source_by_id = {id: origin or source for id, source, origin in rows}
    for id in damaged:
        # No document has this hash, so the next ingest takes each of them for changed.
        connection.execute("UPDATE documents SET content_hash = '' WHERE id = ?", (id,))
    damaged_sources = [source for id, source in source_by_id.items() if id in damaged]
    missing = [_display_name(document) for document in indexed_documents if document["id"] not in source_by_id]
    return damaged_sources + missing


def _documents_with_missing_passages(
    connection: sqlite3.Connection, indexed_documents: list[dict[str, Any]]
) -> set[str]:
    """Return the ids of documents without passages, with gaps in their numbering, or with fewer than in the index."""
    sql = """SELECT d.id, d.content_hash, count(p.row), coalesce(max(p.position), -1) + 1 FROM documents d
        LEFT JOIN passages p ON p.document_id = d.id AND p.retired IS NULL WHERE d.retired IS NULL GROUP BY d.id"""
    # By id and hash: another version of the document may have fewer passages.
    counts = {(document["id"], document["content_hash"]): document["passages"] for document in indexed_documents}
    incomplete = set()
    for id, content_hash, count, numbered_count in connection.execute(sql):
        if count == 0 or count < numbered_count or count < counts.get((id, content_hash), 0):
            incomplete.add(id)
    return incomplete


def _parse_json(text: object) -> object:
    """Return a JSON text's value; None if it cannot be read."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_object(text: object) -> bool:
    """Return whether a text is a JSON object."""
    return isinstance(_parse_json(text), dict)

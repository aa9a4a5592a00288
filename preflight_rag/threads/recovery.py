"""Check a `threads.db` for damage, and build a new one from the readable part of a damaged one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from preflight_rag.databases.sqlite_files import copy_readable, replace_database, set_aside
from preflight_rag.state.errors import DatabaseCorrupt, LibraryBusy, PreflightError
from preflight_rag.threads.ledger import JSON_COLUMNS
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.sqlite_database import SqliteDatabase, open_to_read, translated_errors

_NULL_OF = {"settings": "{}"}


def threads_problems(path: Path) -> list[str]:
    """Return the problems of a database of threads, one line each; none if the file is missing.

    Raises:
        LibraryBusy: Another process has the file locked, which is not a damage.
    """
    if not path.is_file():
        return []
    try:
        with translated_errors(path), closing(_to_read(path)) as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
            found += [f"turn {turn} of thread {thread!r} is damaged" for thread, turn, _ in _broken_turns(connection)]
            found += [f"a checkpoint of thread {thread!r} is damaged" for thread in _broken_checkpoints(connection)]
            return [f"threads: {problem}" for problem in found]
    except LibraryBusy:
        raise
    except PreflightError as error:
        return [f"threads: {error.message}"]


def recover_threads(path: Path) -> tuple[Path, int]:
    """Move a damaged database aside and copy its readable part to a new one.

    Return the path of the damaged one, and the number of turns kept. A turn whose answer cannot be read keeps its
    question; a checkpoint that cannot be read is left out, so that the next turn of its thread starts without the
    earlier conversation. If nothing can be read, there is no database until the next turn.
    """
    kept_turns = 0

    def make(new: Path) -> None:
        """Write the readable rows of the damaged database to the new file."""
        nonlocal kept_turns
        SqliteDatabase(new).close()
        asyncio.run(_make_checkpoints(new))
        with closing(_connect(new)) as connection:
            connection.execute("BEGIN")
            copy_readable(path, connection)
            for thread, turn, columns in list(_broken_turns(connection)):
                changes = ", ".join(f"{name} = ?" for name in columns)
                values = [_NULL_OF.get(name) for name in columns]
                sql = f"UPDATE turns SET {changes} WHERE thread_id = ? AND turn = ?"  # noqa: S608  # names of columns
                connection.execute(sql, [*values, thread, turn])
            for _ in _broken_checkpoints(connection, remove=True):
                pass
            connection.execute("COMMIT")
            (kept_turns,) = connection.execute("SELECT count(*) FROM turns").fetchone()

    try:
        return replace_database(path, make), kept_turns
    except DatabaseCorrupt:
        kept = set_aside(path)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        return kept, 0


async def _make_checkpoints(path: Path) -> None:
    """Create the empty tables of checkpoints."""
    async with open_checkpointer(path):
        pass


def _to_read(path: Path) -> sqlite3.Connection:
    """Open a database for reading; bytes that are not UTF-8 are replaced."""
    connection = open_to_read(path)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    """Open a database for reading and writing; bytes that are not UTF-8 are replaced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _broken_turns(connection: sqlite3.Connection) -> Iterator[tuple[str, int, list[str]]]:
    """Yield thread, number and unreadable JSON columns of each damaged turn."""
    if not _has(connection, "turns"):
        return
    names = [row[0] for row in connection.execute("SELECT name FROM pragma_table_info('turns')")]
    columns = [name for name in JSON_COLUMNS if name in names]
    sql = f"SELECT thread_id, turn, {', '.join(columns)} FROM turns"  # noqa: S608  # names of columns
    for thread, turn, *values in connection.execute(sql):
        if broken := [name for name, value in zip(columns, values, strict=True) if not _is_object_or_null(value)]:
            yield thread, turn, broken


def _broken_checkpoints(connection: sqlite3.Connection, *, remove: bool = False) -> Iterator[str]:
    """Yield the threads with unreadable checkpoints or writes; with `remove`, delete these."""
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
        if not _has(connection, table):
            continue
        metadata = ", metadata" if table == "checkpoints" else ""
        sql = f"SELECT rowid, thread_id, type, {column}{metadata} FROM {table}"  # noqa: S608
        for row, thread, kind, value, *rest in connection.execute(sql).fetchall():
            try:
                read = serde.loads_typed((kind, value))
                if table == "checkpoints" and not isinstance(read, dict):
                    raise TypeError
                for text in rest:
                    json.loads(text)
            except Exception:
                if remove:
                    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608
                yield thread


def _has(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether the database has a table of the name."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _is_object_or_null(text: Any) -> bool:
    """Return whether a text is missing, or JSON of an object or null."""
    try:
        return text is None or isinstance(json.loads(text), dict | type(None))
    except (ValueError, TypeError):
        return False

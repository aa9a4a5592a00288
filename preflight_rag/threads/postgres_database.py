"""The tables of conversations in PostgreSQL: how they are created, migrated, read and written."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from preflight_rag.databases.migrations import check_version
from preflight_rag.databases.postgres import (
    CONNECT_SECONDS,
    Address,
    connect,
    storable_text,
    translated_errors,
)
from preflight_rag.state.errors import (
    DatabaseCorrupt,
    LibraryBusy,
    LibraryError,
)
from preflight_rag.threads.ledger import COLUMNS, COUNTS, REQUIRED
from preflight_rag.threads.locks import POLL_SECONDS

OTHER_CONNECTIONS = 4
"""Most connections for the ledger, and as many again for checkpoints outside running turns; a guess."""
MIGRATION_SECONDS = 60.0
"""Timeout for another process that creates the tables; a guess: creating them takes less than a second."""
WRITE_BEHIND = "set synchronous_commit = off"
THREAD_KEY = "hashtextextended('thread ' || current_schema() || {}, 0)"
"""SQL expression for the key of a thread's advisory lock; it lacks the parameter of the thread's id."""
_NAMED = re.compile(r":([a-z_]+)")
T = TypeVar("T")
Values = Mapping[str, Any]


_KINDS = {str: "text", int: "bigint", float: "double precision"}
_TURN_COLUMNS = ", ".join(
    f"{name} {_KINDS[kind]}"
    f"{' primary key' if name == 'id' else ' not null' if name in REQUIRED else ''}"
    f"{f' default {COUNTS[name]}' if name in COUNTS else ''}"
    for name, kind in COLUMNS.items()
)
# `lower` and Python's casefold differ in these two letters. Every usual build has ICU's collation; without it, a
# database with the C collation would lower only ASCII.
_HOLDS = """
    create or replace function holds(query text, content text) returns boolean language sql immutable as
    $$ select strpos(replace(replace(lower(content {collation}), 'ß', 'ss'), 'ς', 'σ'), query) > 0 $$
"""


def _make_tables(connection: psycopg.Connection[DictRow]) -> None:
    """Create the ledger's tables, and number the checkpoints in the order in which they were written."""
    icu = connection.execute("select 1 from pg_collation where collname = 'und-x-icu'").fetchone()
    for statement in (
        f"create table if not exists turns ({_TURN_COLUMNS})",
        "create unique index if not exists turns_thread_turn on turns (thread_id, turn)",
        "create index if not exists turns_started on turns (started_at)",
        "create table if not exists thread_titles (thread_id text primary key, title text not null)",
        "create table if not exists thread_forks (thread_id text primary key, parent text, turn bigint)",
        "create table if not exists feedback (turn_id text primary key, good bigint not null, reason text not null, "
        "expected text not null, at text not null)",
        _HOLDS.format(collation='collate "und-x-icu"' if icu else ""),
        "create sequence if not exists checkpoint_written",
        "alter table checkpoints add column if not exists written bigint",
        "update checkpoints set written = numbered.number from (select thread_id, checkpoint_ns, checkpoint_id, "
        "nextval('checkpoint_written') as number from (select * from checkpoints order by checkpoint_id) as old) "
        "as numbered where (checkpoints.thread_id, checkpoints.checkpoint_ns, checkpoints.checkpoint_id) = "
        "(numbered.thread_id, numbered.checkpoint_ns, numbered.checkpoint_id) and written is null",
        "alter table checkpoints alter column written set default nextval('checkpoint_written')",
        "alter table checkpoints alter column written set not null",
        "create index if not exists checkpoints_written on checkpoints (thread_id, checkpoint_ns, written)",
    ):
        connection.execute(statement)


NO_CHECKPOINTS = -1
"""The version of checkpoint tables that do not exist: LangGraph counts from 0."""
MIGRATIONS = (_make_tables,)
"""Functions that bring the tables to version 1, 2, …; the number is in the table `preflight_schema`."""


_IS_LOCKED = f"""select exists (select 1 from pg_locks
where locktype = 'advisory' and granted and objsubid = 1
and database = (select oid from pg_database where datname = current_database())
and (cast(classid as bigint) << 32) | cast(objid as bigint) = {THREAD_KEY.format(":thread_id")}) as locked"""  # noqa: S608
"""PostgreSQL shows the two halves of an advisory lock's key as `classid` and `objid`."""


def _migrate(connection: psycopg.Connection[DictRow], name: str) -> None:
    """Bring the tables to the newest version, one process at a time.

    Raises:
        LibraryError: A newer version of this package has written them.
        LibraryBusy: Another process has been migrating them for too long.
    """
    if _is_migrated(connection, name):
        return
    # The lock is tried repeatedly instead of waited for: a waiting statement would block LangGraph's migration, which
    # creates its indices concurrently and waits for every running transaction.
    deadline, key = (
        time.monotonic() + MIGRATION_SECONDS,
        "select pg_{}(hashtextextended('preflight schema', 0)) as done",
    )
    while not _one(connection.execute(key.format("try_advisory_lock")))["done"]:
        if time.monotonic() > deadline:
            raise LibraryBusy(f"another process makes the tables of {name}", help="Try again when it has finished.")
        time.sleep(POLL_SECONDS)
    try:
        if _is_migrated(connection, name):
            return
        PostgresSaver(connection).setup()
        with connection.transaction():
            connection.execute("create table if not exists preflight_schema (version integer not null)")
            for step in MIGRATIONS[_version(connection, name) :]:
                step(connection)
            connection.execute("delete from preflight_schema")
            connection.execute("insert into preflight_schema (version) values (%s)", [len(MIGRATIONS)])
    finally:
        connection.execute(key.format("advisory_unlock"))


def schema_versions(connection: psycopg.Connection[DictRow]) -> tuple[int, int] | None:
    """Return the versions of our tables and of the checkpoints' tables; None if neither exist."""
    found = _number(connection, "preflight_schema", "max(version)", 0), _checkpoints_version(connection)
    return None if found == (0, NO_CHECKPOINTS) else found


def _checkpoints_version(connection: psycopg.Connection[DictRow]) -> int:
    """Return the version of the checkpoints' tables."""
    return _number(connection, "checkpoint_migrations", "max(v)", NO_CHECKPOINTS)


def _is_migrated(connection: psycopg.Connection[DictRow], name: str) -> bool:
    """Return whether our tables and those of the checkpoints have the newest version."""
    checkpoints = _checkpoints_version(connection)
    newest = len(BasePostgresSaver.MIGRATIONS) - 1
    if checkpoints > newest:
        raise LibraryError(
            f"the checkpoints of {name} have schema {checkpoints}, and this langgraph-checkpoint-postgres reads up to "
            f"{newest}",
            help="Upgrade langgraph-checkpoint-postgres; nothing was changed.",
        )
    return _version(connection, name) == len(MIGRATIONS) and checkpoints == newest


def _version(connection: psycopg.Connection[DictRow], name: str) -> int:
    """Return the version of our tables."""
    return check_version(name, _number(connection, "preflight_schema", "max(version)", 0), len(MIGRATIONS))


def _number(connection: psycopg.Connection[DictRow], table: str, what: str, missing: int) -> int:
    """Return the number that the query `what` reads from a table, or `missing` if there is no table or no number."""
    if _one(connection.execute("select to_regclass(%s) as there", [table]))["there"] is None:
        return missing
    found = _one(connection.execute(f"select {what} as number from {table}"))["number"]  # noqa: S608
    return missing if found is None else int(found)


def _one(cursor: psycopg.Cursor[DictRow]) -> DictRow:
    """Return the only row of a result."""
    (row,) = cursor.fetchall()
    return row


class _Statements:
    """A connection for the ledger's statements, which name parameters in SQLite's form (`:name`)."""

    def __init__(self, connection: psycopg.Connection[DictRow]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Values = {}, /) -> psycopg.Cursor[DictRow]:  # noqa: B006  # not changed
        stored = {name: storable_text(value) for name, value in values.items()}
        return self._connection.execute(_as_psycopg(statement), stored)


@functools.cache
def _as_psycopg(statement: str) -> str:
    """Return a statement with `:name` parameters in psycopg's form (`%(name)s`)."""
    return _NAMED.sub(r"%(\1)s", statement)


class PostgresDatabase:
    """The ledger's rows in PostgreSQL, through a pool; missing tables are created.

    Args:
        address: Address of the database.
        on_disk: Whether a write returns only once it is on the disk; else a crash of the server may lose the last half
            second.

    Raises:
        ThreadsUnavailable: No server answers.
        LibraryError: The server refuses the login, or a newer version has written the tables.
    """

    clock = "cast(extract(epoch from clock_timestamp()) as double precision)"

    def __init__(self, address: Address, *, on_disk: bool = True) -> None:
        self.name = address.name
        with translated_errors(self.name):
            with connect(address) as connection:
                _migrate(connection, self.name)
            self._pool = ConnectionPool(
                address.conninfo,
                kwargs={"autocommit": True, "row_factory": dict_row},
                min_size=0,
                max_size=OTHER_CONNECTIONS,
                timeout=CONNECT_SECONDS,
                reconnect_timeout=CONNECT_SECONDS,
                configure=None if on_disk else _write_behind,
                check=ConnectionPool.check_connection,
                open=False,
            )
            self._pool.open()

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._pool.close()

    @contextmanager
    def reading(self) -> Iterator[_Statements]:
        """Yield a connection for reading."""
        with translated_errors(self.name), self._pool.connection() as connection:
            yield _Statements(cast("psycopg.Connection[DictRow]", connection))

    @contextmanager
    def writing(self, thread_id: str = "") -> Iterator[_Statements]:
        """Yield a transaction; other transactions that name the same thread wait for its end."""
        with self.reading() as statements, statements._connection.transaction():
            if thread_id:
                lock = "select pg_advisory_xact_lock(hashtextextended('ledger ' || current_schema() || :thread_id, 0))"
                statements.execute(lock, {"thread_id": thread_id})
            yield statements

    def is_locked(self, thread_id: str) -> bool:
        """Return whether a connection, of any process, holds the thread's advisory lock."""
        with self.reading() as statements:
            (row,) = statements.execute(_IS_LOCKED, {"thread_id": thread_id}).fetchall()
        return bool(row["locked"])

    def damaged(self, what: str) -> DatabaseCorrupt:
        """Return the error for a row that is damaged; `what` names the row."""
        help = "Restore the database from a backup, or delete the thread: `preflight threads delete ID`."
        return DatabaseCorrupt(f"{self.name} cannot be read: {what}", help=help)


def _write_behind(connection: psycopg.Connection[Any]) -> None:
    """Let commits on a connection return before they are on the disk."""
    connection.execute(WRITE_BEHIND)

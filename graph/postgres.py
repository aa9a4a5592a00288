"""Conversations in PostgreSQL: the checkpoints, the ledger and the locks of threads, for many processes and machines.

A turn holds one connection while it runs. On it lies the thread's advisory lock, and through it go the turn's
checkpoints: where the connection is lost, the lock is lost with it and nothing more can be written, so a turn that
somebody else has begun meanwhile on the thread is never written over. Everything else goes through small pools.

The tables of the checkpoints are those of `langgraph-checkpoint-postgres`, with one column more: LangGraph's ids begin
with the time of day, so a clock that was set back gives a new checkpoint a lower id than an old one, and two machines
have two clocks. `written` only grows.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakValueDictionary

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from preflight_rag.graph.checkpoints import (
    PruningSaver,
    check_keep_turns,
    check_shape,
    damage_named,
    in_written_order,
    whole_results,
)
from preflight_rag.graph.ledger import COLUMNS, COUNTS, REQUIRED, Ledger, Turn
from preflight_rag.graph.locks import POLL_SECONDS, busy, in_order
from preflight_rag.library.postgres.connections import (
    CONNECT_SECONDS,
    SESSION,
    Address,
    connect,
    storable_text,
    translated_errors,
)
from preflight_rag.library.storage.migrations import check_version
from preflight_rag.state.errors import (
    DatabaseCorrupt,
    LibraryBusy,
    LibraryError,
)

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer, Clarification, Receipt

TURN_CONNECTIONS = 64
"""Most turns of one process that hold a connection; more wait. A guess: twice the turns that a server takes at once."""
OTHER_CONNECTIONS = 4
"""Most connections for the ledger, and as many for checkpoints that no running turn writes; a guess."""
MIGRATION_SECONDS = 60.0
"""Seconds to wait for another process that creates the tables; a guess: that takes less than a second."""
WRITE_BEHIND = "set synchronous_commit = off"
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
# `lower` and the casefolding of the query differ in these two letters; ICU's collation is there in every usual build,
# and without it a database with the C collation would lower ASCII alone.
_HOLDS = """
    create or replace function holds(query text, content text) returns boolean language sql immutable as
    $$ select strpos(replace(replace(lower(content {collation}), 'ß', 'ss'), 'ς', 'σ'), query) > 0 $$
"""


def _make_tables(connection: psycopg.Connection[DictRow]) -> None:
    """Create the ledger's tables, and the table of the order in which checkpoints were written."""
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
"""The version of tables that are not there: LangGraph counts from 0."""
MIGRATIONS = (_make_tables,)
"""What brings the tables to version 1, 2, …; the number is in the table `preflight_schema`."""


def _migrate(connection: psycopg.Connection[DictRow], name: str) -> None:
    """Create the tables and columns that are missing, one process at a time.

    Raises:
        LibraryError: A newer version has written them.
        LibraryBusy: Another process has been at it for too long.
    """
    if _is_migrated(connection, name):
        return
    # Asked for again and again: a statement that waits would stand in the way of LangGraph's, which makes its indices
    # beside running transactions and waits for every one of them.
    deadline, key = (
        time.monotonic() + MIGRATION_SECONDS,
        "select pg_{}(hashtextextended('preflight schema', 0)) as done",
    )
    while not _one(connection.execute(key.format("try_advisory_lock")))["done"]:
        if time.monotonic() > deadline:
            raise LibraryBusy(
                f"another process is creating the tables of {name}", help="Try again when it has finished."
            )
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
    """Return the versions of our tables and of LangGraph's checkpoint tables; None where neither exist."""
    found = _number(connection, "preflight_schema", "max(version)", 0), _checkpoints_version(connection)
    return None if found == (0, NO_CHECKPOINTS) else found


def _checkpoints_version(connection: psycopg.Connection[DictRow]) -> int:
    return _number(connection, "checkpoint_migrations", "max(v)", NO_CHECKPOINTS)


def _is_migrated(connection: psycopg.Connection[DictRow], name: str) -> bool:
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
    return check_version(name, _number(connection, "preflight_schema", "max(version)", 0), len(MIGRATIONS))


def _number(connection: psycopg.Connection[DictRow], table: str, what: str, missing: int) -> int:
    """Return a number stored in a table; `missing` where the table has none."""
    if _one(connection.execute("select to_regclass(%s) as there", [table]))["there"] is None:
        return missing
    found = _one(connection.execute(f"select {what} as number from {table}"))["number"]  # noqa: S608
    return missing if found is None else int(found)


def _one(cursor: psycopg.Cursor[DictRow]) -> DictRow:
    (row,) = cursor.fetchall()
    return row


class _Statements:
    """A connection that runs the ledger's statements, whose parameters are written in SQLite's way."""

    def __init__(self, connection: psycopg.Connection[DictRow]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Values = {}, /) -> psycopg.Cursor[DictRow]:  # noqa: B006  # not changed
        stored = {name: storable_text(value) for name, value in values.items()}
        return self._connection.execute(_as_psycopg(statement), stored)


@functools.cache
def _as_psycopg(statement: str) -> str:
    return _NAMED.sub(r"%(\1)s", statement)


class PostgresDatabase:
    """The ledger's rows in PostgreSQL, through a pool of connections; missing tables are created.

    Args:
        address: Where it is.
        on_disk: Whether what is written waits for the disk; else a crash of the server may take the last half second.

    Raises:
        ThreadsUnavailable: Nobody answers.
        LibraryError: The server lets nobody in, or a newer version has written the tables.
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
        """Give a connection to read through."""
        with translated_errors(self.name), self._pool.connection() as connection:
            yield _Statements(cast("psycopg.Connection[DictRow]", connection))

    @contextmanager
    def writing(self, thread_id: str = "") -> Iterator[_Statements]:
        """Give a transaction; others that name the same thread wait for its end."""
        with self.reading() as statements, statements._connection.transaction():
            if thread_id:
                lock = "select pg_advisory_xact_lock(hashtextextended('ledger ' || current_schema() || :thread_id, 0))"
                statements.execute(lock, {"thread_id": thread_id})
            yield statements

    def damaged(self, what: str) -> DatabaseCorrupt:
        """Return the error for a row that is not as it was written."""
        help = "Restore the database from a backup, or delete the thread: `preflight threads delete ID`."
        return DatabaseCorrupt(f"{self.name} cannot be read: {what}", help=help)


def _write_behind(connection: psycopg.Connection[Any]) -> None:
    connection.execute(WRITE_BEHIND)


_LATEST_ID = """
    select checkpoint_id from checkpoints where thread_id = %s and checkpoint_ns = %s order by written desc limit 1
"""
_CLOCK_WENT_BACK = """
    select exists (select 1 from (
        select checkpoint_id, lag(checkpoint_id) over (partition by thread_id, checkpoint_ns order by written) as before
        from checkpoints where thread_id = coalesce(%s, thread_id)) as pairs where checkpoint_id < before) as went_back
"""
_WRITTEN_ORDER = """
    select thread_id, checkpoint_ns, checkpoint_id, written from checkpoints where thread_id = coalesce(%s, thread_id)
"""
_LATEST = "select max(written) as written from checkpoints where thread_id = %s and checkpoint_ns = ''"
_START_OF_TURN = """
    select written from checkpoints where thread_id = %s and checkpoint_ns = '' and metadata ->> 'source' = 'input'
    order by written desc limit 1 offset %s
"""
_REMOVE = """
    with gone as (delete from checkpoints as old where {which} returning thread_id, checkpoint_ns, checkpoint_id),
    writes as (delete from checkpoint_writes where (thread_id, checkpoint_ns, checkpoint_id) in (select * from gone))
    select thread_id, count(*) as number from gone group by thread_id
"""
_NEWEST_OF_ITS_NAMESPACE = """
    (select max(written) from checkpoints as new
     where new.thread_id = old.thread_id and new.checkpoint_ns = old.checkpoint_ns)
"""
_OLDER_THAN_LATEST = f"old.thread_id = any(%s) and old.written < {_NEWEST_OF_ITS_NAMESPACE}"
# A namespace without a task id (":") is that of a subgraph with a memory of its own, which the next turn goes on from.
_BEFORE = f"""
    old.thread_id = %s and old.written < %s
    and (strpos(old.checkpoint_ns, ':') > 0 or old.written < {_NEWEST_OF_ITS_NAMESPACE})
"""
_OF_RUNS = "old.metadata ->> 'run_id' = any(%s)"
# A value is kept once, for all the checkpoints that have it.
_UNUSED_BLOBS = """
    delete from checkpoint_blobs as blob where thread_id = any(%s) and not exists (
        select 1 from checkpoints where checkpoints.thread_id = blob.thread_id
        and checkpoints.checkpoint_ns = blob.checkpoint_ns
        and checkpoints.checkpoint -> 'channel_versions' ->> blob.channel = blob.version)
"""
_COPY = {
    "checkpoints": (
        "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, written",
        "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, nextval('checkpoint_written')",
        "order by written",
    ),
    "checkpoint_blobs": (
        "thread_id, checkpoint_ns, channel, version, type, blob",
        "checkpoint_ns, channel, version, type, blob",
        "",
    ),
    "checkpoint_writes": (
        "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path",
        "checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path",
        "",
    ),
}
"""By table: its columns, those that a copy takes over, and their order."""
_TABLES = (
    *("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
    *("turns", "thread_titles", "thread_forks", "feedback"),
)


@dataclass
class _TurnConnection:
    """The connection of a running turn; its steps use it one after the other."""

    connection: psycopg.AsyncConnection[DictRow]
    in_use: asyncio.Lock = field(default_factory=asyncio.Lock)


class PostgresCheckpointer(PruningSaver, BasePostgresSaver):
    """LangGraph's PostgreSQL saver, extended by the order of writing, pruning by it, deleting by run, and copying.

    Values are read back strictly: plain data, LangChain messages and LangGraph's own types. A thread that a turn holds
    is read and written through that turn's connection, other threads through a pool.

    Args:
        pool: Connections for what no running turn holds.
        name: What errors call the database.
    """

    def __init__(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]], name: str) -> None:
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        self.name = name
        self._pool = pool
        self._in_use: dict[str, _TurnConnection] = {}

    @contextmanager
    def through(self, thread_id: str, connection: psycopg.AsyncConnection[DictRow]) -> Iterator[None]:
        """Read and write a thread through this connection while the block runs."""
        self._in_use[thread_id] = _TurnConnection(connection)
        try:
            yield
        finally:
            del self._in_use[thread_id]

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints as LangGraph's saver does, last written first.

        The saver can be used while the result is read.
        """
        thread_id = str(config["configurable"]["thread_id"]) if config else None
        async with self._saver(thread_id) as (saver, connection):
            row = await (await connection.execute(_CLOCK_WENT_BACK, [thread_id])).fetchone()
            with damage_named(str(thread_id), self.name), translated_errors(self.name):
                if not (row and row["went_back"]):
                    found = [each async for each in saver.alist(config, filter=filter, before=before, limit=limit)]
                else:
                    everything = [each async for each in saver.alist(config, filter=filter)]
                    rows = await (await connection.execute(_WRITTEN_ORDER, [thread_id])).fetchall()
                    written = {
                        (row["thread_id"], row["checkpoint_ns"], row["checkpoint_id"]): row["written"] for row in rows
                    }
                    found = in_written_order(everything, written, config, before, limit)
        for each in found:
            yield each

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint as LangGraph's saver does; where none is named, the last one written of the thread."""
        names = config["configurable"]
        thread_id, namespace = str(names["thread_id"]), names.get("checkpoint_ns", "")
        async with self._saver(thread_id) as (saver, connection):
            id = get_checkpoint_id(config)
            if not id:
                row = await (await connection.execute(_LATEST_ID, [thread_id, namespace])).fetchone()
                if row is None:
                    return None
                id = row["checkpoint_id"]
            own = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": id}
            with damage_named(thread_id, self.name), translated_errors(self.name):
                found = await saver.aget_tuple({"configurable": own})
                if found is not None:
                    check_shape(found)
                return found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as LangGraph's saver does; characters that PostgreSQL cannot store are replaced."""
        values = {name: storable_text(value) for name, value in checkpoint["channel_values"].items()}
        stored = cast(Checkpoint, {**checkpoint, "channel_values": values})
        async with self._saver(str(config["configurable"]["thread_id"])) as (saver, _):
            return await saver.aput(config, stored, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a stage's writes as LangGraph's saver does."""
        async with self._saver(str(config["configurable"]["thread_id"])) as (saver, _):
            await saver.aput_writes(config, whole_results(writes), task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread's checkpoints and writes."""
        async with self._saver(str(thread_id)) as (saver, connection), connection.transaction():
            await saver.adelete_thread(str(thread_id))

    async def prune_turn(self, thread_id: str, keep_turns: int = 0) -> int:
        """Remove a thread's intermediate steps and their writes, and return how many steps were removed.

        What stays is what `SqliteCheckpointer.prune_turn` keeps. To be called by who holds the thread: a value that a
        running turn has just written, for a checkpoint that it has not written yet, would go with the others.

        Raises:
            UsageError: `keep_turns` is negative.
        """
        check_keep_turns(keep_turns)
        query, values = (_START_OF_TURN, [thread_id, keep_turns - 1]) if keep_turns else (_LATEST, [thread_id])
        async with self._saver(thread_id) as (_, connection):
            row = await (await connection.execute(query, values)).fetchone()
        if row is None or row["written"] is None:
            return 0
        return await self._remove(_BEFORE, [thread_id, row["written"]], thread_id)

    async def _keep_latest(self, thread_ids: Sequence[str]) -> None:
        await self._remove(_OLDER_THAN_LATEST, [list(thread_ids)])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints, and their writes, that carry one of the run ids in their metadata."""
        await self._remove(_OF_RUNS, [[str(run_id) for run_id in run_ids]])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of one thread to another; rows of the same ids there are replaced."""
        source, target = str(source_thread_id), str(target_thread_id)
        async with self._saver(target) as (_, connection), connection.transaction():
            for table, (columns, copied, order) in _COPY.items():
                for statement in (
                    f"delete from {table} as old using {table} as new where old.thread_id = %(target)s "  # noqa: S608
                    f"and new.thread_id = %(source)s and {_same_key(table)}",
                    f"insert into {table} ({columns}) select %(target)s, {copied} from {table} "  # noqa: S608
                    f"where thread_id = %(source)s {order}",
                ):
                    await connection.execute(statement, {"source": source, "target": target})

    async def athreads(self) -> list[str]:
        """Return the ids of all threads, the most recently used first."""
        query = "select thread_id from checkpoints group by thread_id order by max(written) desc"
        async with self._saver(None) as (_, connection):
            return [row["thread_id"] for row in await (await connection.execute(query)).fetchall()]

    async def vacuum(self) -> None:
        """Make the space of removed rows reusable, as the server's own autovacuum does later."""
        async with self._saver(None) as (_, connection):
            await connection.execute(f"vacuum (skip_locked) {', '.join(_TABLES)}")

    async def size(self) -> int:
        """Return the bytes that the tables and their indices take."""
        query = "select sum(pg_total_relation_size(name::regclass))::bigint as bytes from unnest(%s::text[]) as name"
        async with self._saver(None) as (_, connection):
            row = await (await connection.execute(query, [list(_TABLES)])).fetchone()
            return int(row["bytes"]) if row else 0

    @asynccontextmanager
    async def _saver(
        self, thread_id: str | None
    ) -> AsyncIterator[tuple[AsyncPostgresSaver, psycopg.AsyncConnection[DictRow]]]:
        """Give LangGraph's saver for a thread, and the connection that it reads and writes through."""
        with translated_errors(self.name):
            in_use = self._in_use.get(thread_id) if thread_id is not None else None
            if in_use is not None:
                async with in_use.in_use:
                    yield AsyncPostgresSaver(in_use.connection, serde=self.serde), in_use.connection
            else:
                async with self._pool.connection() as connection:
                    yield AsyncPostgresSaver(connection, serde=self.serde), connection

    async def _remove(self, which: str, values: Sequence[Any], thread_id: str | None = None) -> int:
        """Delete checkpoints, their writes, and the values that no other checkpoint uses, in one transaction."""
        statement = _REMOVE.format(which=which)
        async with self._saver(thread_id) as (_, connection), connection.transaction():
            rows = await (await connection.execute(statement, values)).fetchall()
            if rows:
                await connection.execute(_UNUSED_BLOBS, [[row["thread_id"] for row in rows]])
        return sum(row["number"] for row in rows)


def _same_key(table: str) -> str:
    """Return the SQL condition that `old` and `new` have the same key apart from the thread."""
    keys = {
        "checkpoints": ("checkpoint_ns", "checkpoint_id"),
        "checkpoint_blobs": ("checkpoint_ns", "channel", "version"),
        "checkpoint_writes": ("checkpoint_ns", "checkpoint_id", "task_id", "idx"),
    }
    return " and ".join(f"old.{name} = new.{name}" for name in keys[table])


_TRY_LOCK = "select pg_try_advisory_lock(hashtextextended('thread ' || current_schema() || %s, 0)) as taken"
_UNLOCK = "select pg_advisory_unlock(hashtextextended('thread ' || current_schema() || %s, 0))"


class PostgresThreadStore:
    """Conversations in PostgreSQL.

    Args:
        saver: The checkpointer.
        ledger: The ledger.
        pool: Connections for turns: each that runs has one of its own.
    """

    def __init__(
        self,
        saver: PostgresCheckpointer,
        ledger: Ledger,
        pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]],
    ) -> None:
        self.saver = saver
        self.ledger = ledger
        self._pool = pool
        self._local: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def lock(self, thread_id: str, *, wait: float) -> AsyncIterator[None]:
        """Lock a thread by an advisory lock on the connection that its turn then writes through."""
        local = self._local.setdefault(thread_id, asyncio.Lock())
        async with in_order(local, thread_id, wait=wait) as deadline:
            with translated_errors(self.saver.name):
                connection = await self._acquire(thread_id, wait=wait, deadline=deadline)
            try:
                with self.saver.through(thread_id, connection):
                    yield
            finally:
                await self._release(connection, thread_id)

    async def finish(self, turn: Turn, answer: Answer, keep_turns: int) -> None:
        """Record the answer, then prune; where pruning fails, the next turn does it."""
        await asyncio.to_thread(self.ledger.finish, turn.id, answer=answer)
        with suppress(LibraryError):
            await self.saver.prune_turn(turn.thread_id, keep_turns)

    async def ask(self, turn: Turn, clarification: Clarification, receipt: Receipt) -> None:
        """Record the question that the turn asks the person."""
        spent = receipt.model_dump()
        await asyncio.to_thread(self.ledger.ask, turn.id, clarification=clarification, receipt=spent)

    async def size(self) -> int:
        """Return the bytes that the tables take."""
        return await self.saver.size()

    async def _acquire(self, thread_id: str, *, wait: float, deadline: float) -> psycopg.AsyncConnection[DictRow]:
        """Try the lock until the deadline.

        A waiting turn returns its connection between tries, so that running turns have enough.
        """
        while True:
            connection = await self._pool.getconn()
            taken = False
            try:
                row = await (await connection.execute(_TRY_LOCK, [thread_id])).fetchone()
                taken = bool(row and row["taken"])
            finally:
                if not taken:
                    await self._pool.putconn(connection)
            if taken:
                return connection
            if asyncio.get_running_loop().time() >= deadline:
                raise busy(thread_id, wait)
            await asyncio.sleep(POLL_SECONDS)

    async def _release(self, connection: psycopg.AsyncConnection[DictRow], thread_id: str) -> None:
        """Release the thread's lock; where the connection is lost, closing it releases the lock."""
        try:
            await connection.execute(_UNLOCK, [thread_id])
        except BaseException as error:
            await connection.close()
            if not isinstance(error, psycopg.Error):
                raise
        finally:
            await self._pool.putconn(connection)


@asynccontextmanager
async def open_postgres(url: str) -> AsyncIterator[PostgresThreadStore]:
    """Open the conversations of a PostgreSQL database; missing tables are created.

    Raises:
        UsageError: That is no address of a PostgreSQL database.
        ThreadsUnavailable: Nobody answers there.
        LibraryError: The server lets nobody in, or a newer version has written the tables.
    """
    address = Address.read(url)
    database = await asyncio.to_thread(PostgresDatabase, address)
    try:
        async with _pool(address, TURN_CONNECTIONS) as turns, _pool(address, OTHER_CONNECTIONS) as others:
            saver = PostgresCheckpointer(others, address.name)
            yield PostgresThreadStore(saver, Ledger(database), turns)
    finally:
        with suppress(psycopg.Error):
            await asyncio.to_thread(database.close)


def _pool(address: Address, most: int) -> AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]:
    return AsyncConnectionPool(
        address.conninfo,
        connection_class=psycopg.AsyncConnection[DictRow],
        kwargs={"autocommit": True, "row_factory": dict_row},
        min_size=0,
        max_size=most,
        timeout=CONNECT_SECONDS,
        configure=_configure,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )


async def _configure(connection: psycopg.AsyncConnection[DictRow]) -> None:
    """Set up a connection as LangGraph's saver needs it.

    A turn's steps need not be on the disk one by one: what a server's crash may take of the last half second, the turn
    does again when it is resumed. The ledger's row waits for the disk, and with it for all that was written before.
    """
    for statement in (WRITE_BEHIND, *SESSION):
        await connection.execute(statement)

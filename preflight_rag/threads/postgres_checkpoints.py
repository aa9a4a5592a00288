"""LangGraph's checkpoints in PostgreSQL.

The tables are those of `langgraph-checkpoint-postgres` with one additional column, `written`, which only grows.
LangGraph's ids begin with the time of day, so after a clock was set back a new checkpoint has a lower id than an old
one, and two machines have two clocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from preflight_rag.databases.postgres import (
    storable_text,
    translated_errors,
)
from preflight_rag.threads.checkpoints import (
    PruningSaver,
    check_keep_turns,
    check_shape,
    damaged_checkpoint_errors,
    results_or_error,
    sorted_by_writing,
)

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
# A namespace without a task id (":") belongs to a subgraph with a memory of its own, which the next turn needs.
_BEFORE = f"""
    old.thread_id = %s and old.written < %s
    and (strpos(old.checkpoint_ns, ':') > 0 or old.written < {_NEWEST_OF_ITS_NAMESPACE})
"""
_OF_RUNS = "old.metadata ->> 'run_id' = any(%s)"
# A value is stored once for all checkpoints that contain it.
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
"""Columns to copy when a thread is copied, by table; the tables are copied in this order."""
_TABLES = (
    *("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
    *("turns", "thread_titles", "thread_forks", "feedback"),
)


@dataclass
class TurnConnection:
    """The database connection of a running turn, used by one step after the other."""

    connection: psycopg.AsyncConnection[DictRow]
    in_use: asyncio.Lock = field(default_factory=asyncio.Lock)


class PostgresCheckpointer(PruningSaver, BasePostgresSaver):
    """LangGraph's PostgreSQL saver, extended by the order of writing, pruning, deleting by run, and copying.

    Values are read back strictly: plain data, LangChain messages and LangGraph's own types. The thread of a running
    turn is read and written through that turn's connection, other threads through a pool.

    Args:
        pool: Connections for threads on which no turn runs.
        name: The database's name in error messages.
    """

    def __init__(self, pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]], name: str) -> None:
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        self.name = name
        self._pool = pool
        self._in_use: dict[str, TurnConnection] = {}

    @contextmanager
    def through(self, thread_id: str, connection: psycopg.AsyncConnection[DictRow]) -> Iterator[None]:
        """Read and write a thread through the given connection while the block runs."""
        self._in_use[thread_id] = TurnConnection(connection)
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
        """Yield checkpoints as LangGraph's saver does, last written first; the saver can be used meanwhile."""
        thread_id = str(config["configurable"]["thread_id"]) if config else None
        async with self._saver(thread_id) as (saver, connection):
            row = await (await connection.execute(_CLOCK_WENT_BACK, [thread_id])).fetchone()
            with damaged_checkpoint_errors(str(thread_id), self.name), translated_errors(self.name):
                if not (row and row["went_back"]):
                    found = [each async for each in saver.alist(config, filter=filter, before=before, limit=limit)]
                else:
                    everything = [each async for each in saver.alist(config, filter=filter)]
                    rows = await (await connection.execute(_WRITTEN_ORDER, [thread_id])).fetchall()
                    written = {
                        (row["thread_id"], row["checkpoint_ns"], row["checkpoint_id"]): row["written"] for row in rows
                    }
                    found = sorted_by_writing(everything, written, config, before, limit)
        for each in found:
            yield each

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint as LangGraph's saver does; if the config names none, the thread's last written one."""
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
            with damaged_checkpoint_errors(thread_id, self.name), translated_errors(self.name):
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
        """Store what a stage wrote as LangGraph's saver does; of a failed stage only its error."""
        async with self._saver(str(config["configurable"]["thread_id"])) as (saver, _):
            await saver.aput_writes(config, results_or_error(writes), task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread's checkpoints and writes."""
        async with self._saver(str(thread_id)) as (saver, connection), connection.transaction():
            await saver.adelete_thread(str(thread_id))

    async def prune_turn(self, thread_id: str, keep_turns: int = 0) -> int:
        """Remove a thread's intermediate steps and their writes, and return the number of removed steps.

        The same steps stay as in `SqliteCheckpointer.prune_turn`. The caller must hold the thread's lock: a value that
        a running turn has written, for a checkpoint that is not yet written, would be removed with the others.

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
        """Remove all checkpoints of the threads except the newest one of each namespace."""
        await self._remove(_OLDER_THAN_LATEST, [list(thread_ids)])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints, and their writes, that carry one of the run ids in their metadata."""
        await self._remove(_OF_RUNS, [[str(run_id) for run_id in run_ids]])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of one thread to another, replacing those with the same ids there."""
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
        """Return the ids of all threads, the one used last first."""
        query = "select thread_id from checkpoints group by thread_id order by max(written) desc"
        async with self._saver(None) as (_, connection):
            return [row["thread_id"] for row in await (await connection.execute(query)).fetchall()]

    async def vacuum(self) -> None:
        """Make the space of removed rows usable again, as the server's own autovacuum does later."""
        async with self._saver(None) as (_, connection):
            await connection.execute(f"vacuum (skip_locked) {', '.join(_TABLES)}")

    async def size(self) -> int:
        """Return the size of the tables and their indices in bytes."""
        query = "select sum(pg_total_relation_size(name::regclass))::bigint as bytes from unnest(%s::text[]) as name"
        async with self._saver(None) as (_, connection):
            row = await (await connection.execute(query, [list(_TABLES)])).fetchone()
            return int(row["bytes"]) if row else 0

    @asynccontextmanager
    async def _saver(
        self, thread_id: str | None
    ) -> AsyncIterator[tuple[AsyncPostgresSaver, psycopg.AsyncConnection[DictRow]]]:
        """Yield LangGraph's saver on a connection: that of the thread's running turn, else one of the pool."""
        with translated_errors(self.name):
            in_use = self._in_use.get(thread_id) if thread_id is not None else None
            if in_use is not None:
                async with in_use.in_use:
                    yield AsyncPostgresSaver(in_use.connection, serde=self.serde), in_use.connection
            else:
                async with self._pool.connection() as connection:
                    yield AsyncPostgresSaver(connection, serde=self.serde), connection

    async def _remove(self, which: str, values: Sequence[Any], thread_id: str | None = None) -> int:
        """Delete checkpoints, their writes, and the values that no other checkpoint contains, in one transaction."""
        statement = _REMOVE.format(which=which)
        async with self._saver(thread_id) as (_, connection), connection.transaction():
            rows = await (await connection.execute(statement, values)).fetchall()
            if rows:
                await connection.execute(_UNUSED_BLOBS, [[row["thread_id"] for row in rows]])
        return sum(row["number"] for row in rows)


def _same_key(table: str) -> str:
    """Return the SQL condition that rows `old` and `new` of a table have the same key apart from the thread."""
    keys = {
        "checkpoints": ("checkpoint_ns", "checkpoint_id"),
        "checkpoint_blobs": ("checkpoint_ns", "channel", "version"),
        "checkpoint_writes": ("checkpoint_ns", "checkpoint_id", "task_id", "idx"),
    }
    return " and ".join(f"old.{name} = new.{name}" for name in keys[table])

"""LangGraph's checkpoints in the SQLite file `threads.db`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import load_pending_writes

from preflight_rag.threads.checkpoints import (
    PruningSaver,
    check_keep_turns,
    check_shape,
    damaged_checkpoint_errors,
    results_or_error,
    sorted_by_writing,
)
from preflight_rag.threads.sqlite_database import (
    BUSY_SECONDS,
    WriteAheadLog,
    begin_writing,
    make_database,
    merge_log,
    translated_errors,
)

VACUUM_TRIES, VACUUM_SECONDS = 10, 0.1  # Guess: a statement of another turn ends within milliseconds.
CLOSING_BUSY_MILLISECONDS = 1000
"""Timeout for other readers of the file on closing (a guess); the next close merges the rest of the log."""

# LangGraph's ids begin with the time of day, so after a clock was set back a new checkpoint has a lower id than an old
# one. The order of writing is therefore stored beside the checkpoints, in a number that only grows. Triggers write it,
# since the statements that write checkpoints are the base class's.
_WRITTEN_TABLES = """
    CREATE TABLE IF NOT EXISTS checkpoint_order (
        written INTEGER PRIMARY KEY,
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL,
        checkpoint_id TEXT NOT NULL,
        UNIQUE (thread_id, checkpoint_ns, checkpoint_id)
    );
    CREATE INDEX IF NOT EXISTS checkpoint_order_latest ON checkpoint_order (thread_id, checkpoint_ns, written);
    CREATE TRIGGER IF NOT EXISTS checkpoint_written AFTER INSERT ON checkpoints BEGIN
        INSERT OR REPLACE INTO checkpoint_order (thread_id, checkpoint_ns, checkpoint_id)
        VALUES (new.thread_id, new.checkpoint_ns, new.checkpoint_id);
    END;
    CREATE TRIGGER IF NOT EXISTS checkpoint_removed AFTER DELETE ON checkpoints BEGIN
        DELETE FROM checkpoint_order WHERE thread_id = old.thread_id AND checkpoint_ns = old.checkpoint_ns
            AND checkpoint_id = old.checkpoint_id;
    END;
    INSERT OR IGNORE INTO checkpoint_order (thread_id, checkpoint_ns, checkpoint_id)
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints ORDER BY rowid;
"""
_OLDER_THAN_LATEST = """
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoint_order AS old
    WHERE thread_id IN (SELECT value FROM json_each(?)) AND written < (
        SELECT max(written) FROM checkpoint_order AS new
        WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns)
"""
_OF_RUNS = """
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints
    WHERE json_extract(CAST(metadata AS TEXT), '$.run_id') IN (SELECT value FROM json_each(?))
"""
_LATEST_ID = """
    SELECT checkpoint_id FROM checkpoint_order WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY written DESC LIMIT 1
"""
_WRITTEN_ORDER = """
    SELECT thread_id, checkpoint_ns, checkpoint_id, written FROM checkpoint_order
    WHERE thread_id = coalesce(?, thread_id) ORDER BY written
"""
_CLOCK_WENT_BACK = """
    SELECT EXISTS (SELECT 1 FROM (
        SELECT checkpoint_id, lag(checkpoint_id) OVER (PARTITION BY thread_id, checkpoint_ns ORDER BY written) AS before
        FROM checkpoint_order WHERE thread_id = coalesce(?, thread_id)) WHERE checkpoint_id < before)
"""
_LATEST = "SELECT max(written) FROM checkpoint_order WHERE thread_id = ? AND checkpoint_ns = ''"
_START_OF_TURN = """
    SELECT written FROM checkpoints JOIN checkpoint_order USING (thread_id, checkpoint_ns, checkpoint_id)
    WHERE thread_id = ? AND checkpoint_ns = '' AND json_extract(CAST(metadata AS TEXT), '$.source') = 'input'
    ORDER BY written DESC LIMIT 1 OFFSET ?
"""
# A namespace without a task id (":") belongs to a subgraph with a memory of its own, which the next turn needs.
_BEFORE = """
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoint_order AS old
    WHERE thread_id = ? AND written < ({}) AND (instr(checkpoint_ns, ':') OR written < (
        SELECT max(written) FROM checkpoint_order AS new
        WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns))
"""


_PUT = """
    INSERT OR REPLACE INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_PUT_WRITES = """
    INSERT OR {} INTO writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
    VALUES {}
"""
# SQLite would scan the whole table for `(thread_id, checkpoint_ns, checkpoint_id) IN (VALUES …)`.
_REMOVE = """
    DELETE FROM {0} WHERE rowid IN (
        SELECT found.rowid FROM (VALUES {1}) AS named CROSS JOIN {0} AS found
        ON thread_id = column1 AND checkpoint_ns = column2 AND checkpoint_id = column3)
"""
MOST_VALUES = 900
"""Most values of one statement; SQLite before 3.32 takes 999."""
_GET = """
    SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
"""
_GET_WRITES = """
    SELECT task_id, channel, type, value, {}, idx FROM writes
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
"""
Work = Callable[[sqlite3.Connection], object]
"""A function that runs statements within a transaction."""


class SqliteCheckpointer(PruningSaver, AsyncSqliteSaver):
    """LangGraph's SQLite saver, extended by pruning, deleting by run and copying; it leaves no lock behind.

    Values are read back strictly: plain data, LangChain messages and LangGraph's own types; other types that a
    manipulated file names are refused. Removing checkpoints requires that each remaining one contains its whole state,
    so a graph with a `DeltaChannel`, whose state is spread over earlier steps, must not be pruned; the graph of this
    package has none.

    Use one per database and process, made by `open_checkpointer`. A thread's latest checkpoint is the one written last,
    not the one with the highest id: ids begin with the time of day, and clocks are set back.

    Args:
        conn: The connection.
        serde: Serializer of values; by default strict, as described above.
        path: The database's file.
    """

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        serde: SerializerProtocol | None = None,
        path: Path = Path("threads.db"),
    ) -> None:
        super().__init__(conn, serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self.path = path
        self.lock = _TransactionLock(conn)
        self._order_is_kept = False
        self.log = WriteAheadLog(path)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints as the base class does, last written first.

        The saver can be used while the result is read.
        """
        await self.setup()
        thread_id = str(config["configurable"]["thread_id"]) if config else None
        async with self.lock:
            async with self.conn.execute(_CLOCK_WENT_BACK, (thread_id,)) as cursor:
                [went_back] = await cursor.fetchone() or [0]
            rows = await self.conn.execute_fetchall(_WRITTEN_ORDER, (thread_id,)) if went_back else []
        with self._translated_errors(str(thread_id)):
            if not went_back:
                found = [each async for each in super().alist(config, filter=filter, before=before, limit=limit)]
            else:
                # The base class sorts and cuts by id; where ids do not follow the order of writing, both are done here.
                everything = [each async for each in super().alist(config, filter=filter)]
                written = {(str(thread), str(namespace), str(id)): int(at) for thread, namespace, id, at in rows}
                found = sorted_by_writing(everything, written, config, before, limit)
        for each in found:
            yield each

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint as the base class does; if the config names none, the thread's last written one.

        All of it is read in one call of the database's thread.
        """
        names = config["configurable"]
        thread_id, namespace = str(names["thread_id"]), names.get("checkpoint_ns", "")
        await self.setup()
        named = get_checkpoint_id(config)

        def read() -> tuple[Any, list[Any]] | None:
            """Read a checkpoint and its writes in the database's thread."""
            connection = self.conn._conn
            latest = (named,) if named else connection.execute(_LATEST_ID, (thread_id, namespace)).fetchone()
            if latest is None:
                return None
            key = (thread_id, namespace, str(latest[0]))
            row = connection.execute(_GET, key).fetchone()
            return row and (row, connection.execute(_GET_WRITES.format(self._task_path), key).fetchall())

        with self._translated_errors(thread_id):
            async with self.lock:
                found = await self.conn._execute(read)  # type: ignore[no-untyped-call]
            if found is None:
                return None
            (checkpoint_id, before, kind, checkpoint, metadata), writes = found
            key = {"thread_id": thread_id, "checkpoint_ns": namespace}
            made = CheckpointTuple(
                config if named else {"configurable": {**key, "checkpoint_id": checkpoint_id}},
                self.serde.loads_typed((kind, checkpoint)),
                json.loads(metadata) if metadata is not None else {},
                {"configurable": {**key, "checkpoint_id": before}} if before else None,
                load_pending_writes(writes, self.serde),
            )
            check_shape(made)
            return made

    @property
    def _task_path(self) -> str:
        """The column `task_path`, or an empty text in databases that lack it."""
        return "task_path" if self._has_task_path else "''"

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as the base class does, in one call of the database's thread."""
        names = config["configurable"]
        thread_id, namespace = names["thread_id"], names["checkpoint_ns"]
        described = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        values = self.serde.dumps_typed(checkpoint)
        row = (str(thread_id), namespace, checkpoint["id"], names.get("checkpoint_id"), *values, described)
        await self.write(lambda connection: connection.execute(_PUT, row))
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a stage's writes as the base class does, in one call of the database's thread."""
        writes, names = results_or_error(writes), config["configurable"]
        key = (str(names["thread_id"]), str(names["checkpoint_ns"]), str(names["checkpoint_id"]), task_id, task_path)
        rows = [
            (*key, WRITES_IDX_MAP.get(channel, number), channel, *self.serde.dumps_typed(value))
            for number, (channel, value) in enumerate(writes)
        ]
        # An earlier error or interrupt is replaced; results that a task already has stay.
        again = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"
        put = partial(_run_over_rows, rows=rows, statement=_PUT_WRITES, name=again)
        await self.write(put)

    async def write(self, work: Work) -> None:
        """Run statements in one transaction, in one call of the database's thread.

        aiosqlite's own methods switch threads for every statement, for the commit and for closing the cursor.

        Raises:
            Exception: The statements could not be run; the file is unchanged.
        """
        await self.setup()

        def run() -> None:
            """Run the statements in the database's thread."""
            with self.conn._conn as connection:  # commits, or rolls back after an error
                begin_writing(connection)
                work(connection)
            self.log.merge_if_long(connection)

        async with self.lock:
            writing = asyncio.ensure_future(self.conn._execute(run))  # type: ignore[no-untyped-call]
            try:
                await asyncio.shield(writing)
            # The next caller that takes the thread must not meet a write that is still waiting.
            except asyncio.CancelledError:
                await asyncio.wait([writing])
                writing.exception()  # tells asyncio that the exception was looked at
                raise

    @contextmanager
    def _translated_errors(self, thread_id: str) -> Iterator[None]:
        """Translate errors of a damaged checkpoint and of SQLite while the block runs."""
        with damaged_checkpoint_errors(thread_id, str(self.path)), translated_errors(self.path):
            yield

    async def setup(self) -> None:
        """Create the tables, and number the checkpoints of a database that is older than the order of writing."""
        if self._order_is_kept:
            return
        await super().setup()
        async with self.lock:
            if not await self.conn.execute_fetchall("SELECT 1 FROM sqlite_master WHERE name = 'checkpoint_removed'"):
                await self.conn.executescript(_WRITTEN_TABLES)
                await self.conn.commit()
        self._order_is_kept = True

    async def prune_turn(self, thread_id: str, keep_turns: int = 0) -> int:
        """Remove a thread's intermediate steps and their writes, and return the number of removed steps.

        What stays: the latest checkpoint, all steps of the last `keep_turns` turns (a turn starts where the graph got
        an input), and everything that an unfinished subgraph has stored.

        Raises:
            UsageError: `keep_turns` is negative.
        """
        return await self._remove(*_steps_before(thread_id, keep_turns))

    async def _keep_latest(self, thread_ids: Sequence[str]) -> None:
        """Remove all checkpoints of the threads except the newest one of each namespace."""
        await self._remove(_OLDER_THAN_LATEST, [_json_texts(thread_ids)])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints, and their writes, that carry one of the run ids in their metadata."""
        await self._remove(_OF_RUNS, [_json_texts(run_ids)])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of one thread to another; rows with the same ids there are replaced."""
        await self.setup()
        values = (str(target_thread_id), str(source_thread_id))
        async with self.lock:
            await self.conn.execute(
                """
                INSERT OR REPLACE INTO checkpoints
                    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
                SELECT ?, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
                FROM checkpoints WHERE thread_id = ?
                """,
                values,
            )
            await self.conn.execute(
                """
                INSERT OR REPLACE INTO writes
                    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
                SELECT ?, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
                FROM writes WHERE thread_id = ?
                """,
                values,
            )
            await self.conn.commit()

    async def athreads(self) -> list[str]:
        """Return the ids of all threads, the most recently used first."""
        await self.setup()
        query = "SELECT thread_id FROM checkpoint_order GROUP BY thread_id ORDER BY max(written) DESC"
        async with self.lock, self.conn.execute(query) as cursor:
            return [row[0] async for row in cursor]

    async def vacuum(self) -> None:
        """Return the space of removed rows to the file system: removing rows alone does not shrink the file.

        If another turn's statement is running on this connection for too long, the next call does it.
        """
        for _ in range(VACUUM_TRIES):
            async with self.lock:
                try:
                    await self.conn.execute("VACUUM")
                except sqlite3.OperationalError as error:
                    if "statements in progress" not in str(error):
                        raise
                else:
                    await self._merge_log(int(1000 * BUSY_SECONDS))
                    return
            await asyncio.sleep(VACUUM_SECONDS)

    async def aclose(self) -> None:
        """Merge the write-ahead log into the database file, unless another process reads it now, and close."""
        async with self.lock:
            try:
                with suppress(sqlite3.Error):  # such as a full disk, on which the log stays as it is
                    await self._merge_log(CLOSING_BUSY_MILLISECONDS)
            finally:
                await self.conn.close()
                # the database's thread has finished its last task, but may not have ended yet
                self.conn._thread.join(1.0)

    async def _merge_log(self, milliseconds: int) -> None:
        """Merge the write-ahead log into the database file."""
        await self.conn._execute(lambda: merge_log(self.conn._conn, milliseconds))  # type: ignore[no-untyped-call]

    async def _remove(self, query: str, values: Sequence[Any]) -> int:
        """Delete the checkpoints whose keys the query selects, and their writes; return the number of checkpoints."""
        removed = 0

        def remove(connection: sqlite3.Connection) -> None:
            """Delete the selected checkpoints within a transaction."""
            nonlocal removed
            removed = _delete_selected(connection, query, values)

        await self.write(remove)
        return removed


def pruning(thread_id: str, keep_turns: int) -> Work:
    """Return a function that prunes a thread as `prune_turn` does, to be run within a transaction.

    Raises:
        UsageError: `keep_turns` is negative.
    """
    query, values = _steps_before(thread_id, keep_turns)
    return lambda connection: _delete_selected(connection, query, values)


def _steps_before(thread_id: str, keep_turns: int) -> tuple[str, list[Any]]:
    """Return the query for the steps of a thread that pruning removes, and the query's values."""
    check_keep_turns(keep_turns)
    query, values = (_START_OF_TURN, [thread_id, keep_turns - 1]) if keep_turns else (_LATEST, [thread_id])
    return _BEFORE.format(query), [thread_id, *values]


def _delete_selected(connection: sqlite3.Connection, query: str, values: Sequence[Any]) -> int:
    """Delete the checkpoints whose keys the query selects, and their writes; return the number of checkpoints."""
    keys = connection.execute(query, values).fetchall()
    for table in ("writes", "checkpoints"):
        _run_over_rows(connection, keys, _REMOVE, table)
    return len(keys)


def _run_over_rows(connection: sqlite3.Connection, rows: Sequence[Sequence[Any]], statement: str, name: str) -> None:
    """Run a statement over all rows in as few calls as SQLite's limit of values allows.

    Each call gives up the interpreter's lock and may wait up to 5 ms to get it back from busy threads, while the file
    is locked against all other writers; `executemany` would do so once a row.

    Args:
        connection: A connection within a transaction.
        rows: Rows of equal length.
        statement: The statement, with one place for the name and one for the rows.
        name: The value of the first place.
    """
    at_once = MOST_VALUES // len(rows[0]) if rows else 1
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        marks = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
        connection.execute(statement.format(name, marks), list(chain.from_iterable(some)))


class _TransactionLock(asyncio.Lock):
    """The saver's lock, which rolls back the transaction of a holder that failed or was cancelled.

    Without the rollback, a task that is cancelled between statement and commit would leave a transaction open, and the
    file locked against every other connection.
    """

    def __init__(self, conn: aiosqlite.Connection) -> None:
        super().__init__()
        self._conn = conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None:
                await self._conn.rollback()
        finally:
            self.release()


@asynccontextmanager
async def open_checkpointer(path: str | Path) -> AsyncIterator[SqliteCheckpointer]:
    """Open the checkpointer of a database file; the file and its folder are created when missing.

    Args:
        path: The file.

    Raises:
        LibraryCorrupt: The file is not a readable SQLite database.
        LibraryError: The file cannot be opened or made.
    """
    saver = await _open(Path(path))
    try:
        yield saver
    finally:
        await saver.aclose()


async def _open(path: Path) -> SqliteCheckpointer:
    """Open the file `threads.db`, which is made where there is none, and its checkpointer."""
    with translated_errors(path):
        await asyncio.to_thread(make_database, path)
        conn = await aiosqlite.connect(path, timeout=BUSY_SECONDS)
        try:
            await conn.execute("PRAGMA synchronous = NORMAL")
            saver = SqliteCheckpointer(conn, path=path)
            await saver.setup()
            await conn._execute(lambda: saver.log.keep(conn._conn))  # type: ignore[no-untyped-call]
        except BaseException:
            await conn.close()
            raise
        return saver


def _json_texts(values: Iterable[str]) -> str:
    """Return texts as a JSON list, for SQLite's `json_each`."""
    return json.dumps([str(value) for value in values])

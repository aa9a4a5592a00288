"""Conversations in PostgreSQL: the checkpoints, the ledger and the locks of threads, for many processes and machines.

A turn has one connection while it runs. That connection holds the thread's advisory lock, and all of the turn's
checkpoints are written through it: if the connection is lost, the lock is lost with it and the turn can write nothing
more, so it never overwrites a turn that another process has begun meanwhile. Everything else uses small pools.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from preflight_rag.databases.postgres import (
    CONNECT_SECONDS,
    SESSION,
    Address,
    translated_errors,
)
from preflight_rag.state.errors import LibraryError
from preflight_rag.threads.ledger import Ledger, Turn
from preflight_rag.threads.locks import POLL_SECONDS, busy, event_loop_lock
from preflight_rag.threads.postgres_checkpoints import PostgresCheckpointer
from preflight_rag.threads.postgres_database import OTHER_CONNECTIONS, THREAD_KEY, WRITE_BEHIND, PostgresDatabase

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer, Clarification, Receipt


TURN_CONNECTIONS = 64
"""Most turns of one process that have a connection; further turns wait. A guess: twice the turns that a server runs at
once."""
_TRY_LOCK = f"select pg_try_advisory_lock({THREAD_KEY.format('%s')}) as taken"
_UNLOCK = f"select pg_advisory_unlock({THREAD_KEY.format('%s')})"


class PostgresThreadStore:
    """Conversations in PostgreSQL.

    Args:
        saver: The checkpointer.
        ledger: The ledger.
        pool: Connections for turns, one for each running turn.
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
        """Hold a thread's advisory lock on the connection through which the turn then writes."""
        local = self._local.setdefault(thread_id, asyncio.Lock())
        async with event_loop_lock(local, thread_id, wait=wait) as deadline:
            with translated_errors(self.saver.name):
                connection = await self._acquire(thread_id, wait=wait, deadline=deadline)
            try:
                with self.saver.through(thread_id, connection):
                    yield
            finally:
                await self._release(connection, thread_id)

    async def finish(self, turn: Turn, answer: Answer, keep_turns: int) -> None:
        """Record the answer, then prune; if pruning fails, the next turn prunes."""
        await asyncio.to_thread(self.ledger.finish, turn.id, answer=answer)
        with suppress(LibraryError):
            await self.saver.prune_turn(turn.thread_id, keep_turns)

    async def ask(self, turn: Turn, clarification: Clarification, receipt: Receipt) -> None:
        """Record the question that the turn asks the user."""
        spent = receipt.model_dump()
        await asyncio.to_thread(self.ledger.ask, turn.id, clarification=clarification, receipt=spent)

    async def size(self) -> int:
        """Return the size of the tables in bytes."""
        return await self.saver.size()

    async def _acquire(self, thread_id: str, *, wait: float, deadline: float) -> psycopg.AsyncConnection[DictRow]:
        """Return a connection that holds the thread's lock, which is tried until the deadline.

        A waiting turn returns its connection to the pool between tries, so that running turns have enough.
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
        """Release the thread's lock; if the connection is lost, closing it releases the lock."""
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
        UsageError: The text is not the address of a PostgreSQL database.
        ThreadsUnavailable: No server answers there.
        LibraryError: The server refuses the login, or a newer version has written the tables.
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
    """Return a pool of at most `most` connections, each checked before use."""
    return AsyncConnectionPool(
        address.conninfo,
        connection_class=psycopg.AsyncConnection[DictRow],
        kwargs={"autocommit": True, "row_factory": dict_row},
        min_size=0,
        max_size=most,
        timeout=CONNECT_SECONDS,
        reconnect_timeout=CONNECT_SECONDS,
        configure=_configure,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )


async def _configure(connection: psycopg.AsyncConnection[DictRow]) -> None:
    """Set up a connection as LangGraph's saver needs it.

    Commits do not wait for the disk: if a crash of the server loses the steps of the last half second, the resumed turn
    runs them again. The ledger's row does wait for the disk, and with it everything that was written before.
    """
    for statement in (WRITE_BEHIND, *SESSION):
        await connection.execute(statement)

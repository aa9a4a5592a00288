"""Where conversations are stored: the interface between turns and a database.

A turn needs three things: a checkpointer for the graph, the ledger, and a lock that keeps other turns off its thread.
`open_thread_store` gives them from the library's own file `threads.db`, or from PostgreSQL, which several processes on
several machines share.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from preflight_rag.state.extras import require_extra
from preflight_rag.threads.database import Database
from preflight_rag.threads.ledger import Ledger, Turn, answered, asking
from preflight_rag.threads.locks import remove_unused_locks, thread_lock
from preflight_rag.threads.sqlite_checkpoints import SqliteCheckpointer, Work, open_checkpointer, pruning
from preflight_rag.threads.sqlite_database import THREADS, SqliteDatabase, translated_errors, writable

if TYPE_CHECKING:
    from preflight_rag.state.values import Answer, Clarification, Receipt
    from preflight_rag.threads.postgres_checkpoints import PostgresCheckpointer


class ThreadStore(Protocol):
    """The conversations of one application, while their database is open."""

    @property
    def saver(self) -> SqliteCheckpointer | PostgresCheckpointer:
        """Return the graph's checkpointer, which also prunes."""

    @property
    def ledger(self) -> Ledger:
        """Return the record of all turns."""

    def lock(self, thread_id: str, *, wait: float) -> AbstractAsyncContextManager[None]:
        """Hold a thread's lock while the block runs; the lock ends with the process that holds it, even a killed one.

        Args:
            thread_id: Which thread.
            wait: How many seconds to wait for a turn that runs on the thread; 0 tries once.

        Raises:
            ThreadBusy: The thread was still in use after `wait` seconds.
            LibraryError: The thread cannot be locked.
        """

    async def finish(self, turn: Turn, answer: Answer, keep_turns: int) -> None:
        """Record a turn's answer once all of its checkpoints are stored, then remove its intermediate steps.

        Raises:
            TurnError: The thread was deleted while the turn ran.
        """

    async def ask(self, turn: Turn, clarification: Clarification, receipt: Receipt) -> None:
        """Record that a turn asks the user, once all of its checkpoints are stored; raises the errors of `finish`."""

    async def size(self) -> int:
        """Return the size of the conversations on disk in bytes."""


class SqliteThreadStore:
    """Conversations in a file, for the processes of one machine.

    Args:
        path: The file; locks lie in its folder.
        saver: The checkpointer of the file.
        ledger: The ledger of the file.
    """

    def __init__(self, path: Path, saver: SqliteCheckpointer, ledger: Ledger) -> None:
        self.path = path
        self.saver = saver
        self.ledger = ledger

    @asynccontextmanager
    async def lock(self, thread_id: str, *, wait: float) -> AsyncIterator[None]:
        """Hold a thread's lock: an operating-system lock on a file."""
        async with thread_lock(self.path.parent, thread_id, wait=wait):
            yield

    async def finish(self, turn: Turn, answer: Answer, keep_turns: int) -> None:
        """Record the answer and prune, in one transaction."""
        values, prune = answered(answer), pruning(turn.thread_id, keep_turns)

        def work(connection: sqlite3.Connection) -> None:
            """Record the answer and prune the thread."""
            self.ledger.change(connection, turn.id, values)
            prune(connection)

        await self._write(work)

    async def ask(self, turn: Turn, clarification: Clarification, receipt: Receipt) -> None:
        """Record the question that the turn asks the user."""
        values = asking(clarification, receipt.model_dump())
        await self._write(lambda connection: self.ledger.change(connection, turn.id, values))

    async def _write(self, work: Work) -> None:
        """Run statements in one transaction of the checkpointer's connection."""
        with translated_errors(self.path):
            await self.saver.write(work)

    async def size(self) -> int:
        """Return the size of the file in bytes."""
        return self.path.stat().st_size


def check_address(url: str) -> None:
    """Raise UsageError unless `url` is the address of a database that this installation can open; nothing is opened."""
    require_extra("postgres", "--threads")
    from preflight_rag.databases.postgres import Address

    Address.read(url)


@contextmanager
def open_ledger(folder: Path, url: str | None = None) -> Iterator[Ledger]:
    """Open only the ledger of turns; arguments and errors are those of `open_thread_store`."""
    if url is not None:
        check_address(url)
        from preflight_rag.databases.postgres import Address
        from preflight_rag.threads.postgres_database import PostgresDatabase

        with closing(Ledger(PostgresDatabase(Address.read(url)))) as ledger:
            yield ledger
        return
    with writable(folder / THREADS) as path, closing(Ledger(SqliteDatabase(path))) as ledger:
        yield ledger


@contextmanager
def open_database(folder: Path, url: str | None, file: str, *, busy_seconds: float) -> Iterator[Database]:
    """Open a database for tables other than those of conversations; errors are those of `open_thread_store`.

    Writes return before they are on the disk.
    """
    if url is not None:
        check_address(url)
        from preflight_rag.databases.postgres import Address
        from preflight_rag.threads.postgres_database import PostgresDatabase

        with closing(PostgresDatabase(Address.read(url), on_disk=False)) as database:
            yield database
        return
    with writable(folder / file) as path, closing(SqliteDatabase(path, (), busy_seconds=busy_seconds)) as database:
        yield database


@asynccontextmanager
async def open_thread_store(folder: Path, url: str | None = None) -> AsyncIterator[ThreadStore]:
    """Open the conversations of a library.

    Args:
        folder: The library's folder; if it cannot be written, conversations last as long as the block.
        url: The address of a PostgreSQL database, instead of the folder's `threads.db`.

    Raises:
        UsageError: The address is wrong, or the extra for it is not installed.
        LibraryError: The database cannot be opened.
    """
    if url is not None:
        check_address(url)
        from preflight_rag.threads.postgres_store import open_postgres

        async with open_postgres(url) as store:
            yield store
        return
    with writable(folder / THREADS) as path:
        await asyncio.to_thread(remove_unused_locks, path.parent)
        async with open_checkpointer(path) as saver:
            with closing(Ledger(SqliteDatabase(path))) as ledger:
                yield SqliteThreadStore(path, saver, ledger)

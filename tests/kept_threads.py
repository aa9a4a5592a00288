"""Where tests keep conversations, and their tables as they lie in either database, read past the code under test.

PREFLIGHT_TEST_THREADS=postgres makes the tests of a process keep all of them in PostgreSQL: every application that is
not told where gets a database for its library. Tests about the file `threads.db` are skipped then (`OF_THE_FILE`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer

from preflight_rag import Preflight
from preflight_rag.threads.thread_store import open_thread_store

IN_POSTGRES = os.environ.get("PREFLIGHT_TEST_THREADS") == "postgres"
OF_THE_FILE = pytest.mark.skipif(IN_POSTGRES, reason="is about the file of conversations")
STORES = ["postgres"] if IN_POSTGRES else ["sqlite", "postgres"]
"""Of tests that are run over both."""
IN_POSTGRESQL = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "turns")
NAMES = {"writes": "checkpoint_writes"}
"""Tables that PostgreSQL's saver calls otherwise."""


@dataclass(frozen=True)
class Kept:
    """Where conversations are: the library's folder, and the address of a PostgreSQL database or None."""

    folder: Path
    url: str | None

    @property
    def environment(self) -> dict[str, str]:
        """What tells a command of it."""
        return {"PREFLIGHT_THREADS": self.url} if self.url else {}

    @property
    def name(self) -> str:
        """Of the database."""
        return "PostgreSQL" if self.url else "SQLite"

    def open(self) -> Any:
        """The store, as a context manager."""
        return open_thread_store(self.folder, self.url)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a statement without parameters gives."""
        if self.url is None:
            with closing(sqlite3.connect(self.folder / "threads.db")) as connection, connection:
                return connection.execute(query).fetchall()
        import psycopg

        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    def count(self, table: str = "checkpoints", where: str = "true", what: str = "*") -> int:
        """How many rows a table has, or distinct values of a column."""
        name = NAMES.get(table, table) if self.url else table
        return self.rows(f"select count({what}) from {name} where {where}")[0][0]

    def bytes(self) -> int:
        """Bytes that hold something."""
        if self.url is None:
            pages, free, size = (
                self.rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size")
            )
            return (pages - free) * size
        tables = (f"select sum(pg_column_size({name}.*)) as bytes from {name}" for name in IN_POSTGRESQL)
        return int(self.rows(f"select sum(bytes) from ({' union all '.join(tables)}) as each")[0][0])

    def check_whole(self) -> None:
        """What SQLite says of its file; a PostgreSQL server is waited for until nobody is connected any more.

        It ends the statement of a killed process before it notices that the process is gone.
        """
        if self.url is None:
            assert self.rows("pragma integrity_check") == [("ok",)]
            return
        end = time.monotonic() + 60
        others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        while self.rows(others)[0][0]:
            assert time.monotonic() < end, "the killed process's connections stay"
            time.sleep(0.02)


@contextmanager
def databases_of_libraries(server: PostgresServer) -> Iterator[None]:
    """While the block runs, applications of this process keep conversations in a database of their library's folder."""
    addresses: dict[Path, str] = {}
    begin = Preflight.__init__

    def init(
        self: Preflight, folder: Path, library: Any, reader: Any, settings: Any, threads: str | None = None
    ) -> None:
        place = Path(folder).resolve()
        if threads is None:
            threads = addresses.get(place) or addresses.setdefault(place, server.database())
        begin(self, folder, library, reader, settings, threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preflight, "__init__", init)
        yield

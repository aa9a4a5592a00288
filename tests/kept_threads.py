"""The tables of conversations as they lie in either database, read past the code under test."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight_rag.graph.thread_store import open_thread_store

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

    def count(self, table: str = "checkpoints", where: str = "true") -> int:
        """How many rows a table has."""
        name = NAMES.get(table, table) if self.url else table
        return self.rows(f"select count(*) from {name} where {where}")[0][0]

"""What the ledger, sessions and limits need of a database: `sqlite_database.py` and `postgres_database.py` provide it.

A statement for both is written once, with named parameters as SQLite writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from preflight_rag.state.errors import DatabaseCorrupt


class ResultRow(Protocol):
    """A row of a result, read by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return the value of the column of a name."""


class ResultRows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of rows that the statement changed."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows one by one."""


class Connection(Protocol):
    """A connection to a database, which runs statements.

    Statements may call `holds(query, text)`, which tests whether a text contains a casefolded query, and `least` and
    `greatest` as in PostgreSQL.
    """

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> ResultRows:
        """Run a statement with named parameters (`:name`)."""


class Database(Protocol):
    """A database for the tables of conversations; may be used from any thread."""

    @property
    def name(self) -> str:
        """Return the name of the database for error messages, never with a password."""

    @property
    def clock(self) -> str:
        """SQL expression for the seconds since 1970 by the database's clock."""

    def reading(self) -> AbstractContextManager[Connection]:
        """Return a connection for reading, as a `with` block; errors of the database are raised as errors of ours."""

    def writing(self, thread_id: str = "") -> AbstractContextManager[Connection]:
        """Return a transaction, as a `with` block.

        Transactions that name the same thread run one after the other.
        """

    def is_locked(self, thread_id: str) -> bool:
        """Return whether a process, of this machine or another one, works on a turn of the thread."""

    def damaged(self, what: str) -> DatabaseCorrupt:
        """Return the error for a row that is damaged; `what` names the row."""

    def close(self) -> None:
        """Close the database; a second call does nothing."""

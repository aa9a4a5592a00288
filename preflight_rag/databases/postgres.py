"""Connections to PostgreSQL: where a database is, what it says when it lets nobody in, and a few that are kept open.

Conversations (`preflight_rag/threads/postgres_store.py`) and libraries go through these. No error repeats a password.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg_pool import PoolTimeout

from preflight_rag.state.errors import (
    ROOM,
    LibraryBusy,
    LibraryClosed,
    LibraryError,
    LibraryUnavailable,
    PreflightError,
    ThreadsUnavailable,
    UsageError,
    first_line,
)

SCHEMES = ("postgresql://", "postgres://")
EXAMPLE = "postgresql://USER@HOST:5432/DATABASE"
CONNECT_SECONDS = 10
"""Timeout of a connection attempt; a guess.

A pool also gives up a series of attempts after this time, and the next request begins a new one: psycopg doubles the
pause between attempts, so that after five minutes without a database the next attempt came only after two more.
"""
# A machine that is switched off, or cut off, says no word: after a minute without an answer the other end is given up,
# on both sides, so that its locks are free. Guesses.
_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
SESSION = (
    "set tcp_keepalives_idle = 30",
    "set tcp_keepalives_interval = 10",
    "set tcp_keepalives_count = 3",
)
_NOT_STORED = re.compile("[\x00\ud800-\udfff]")
"""Characters that PostgreSQL stores in no text: NUL, and halves of surrogate pairs."""
_HELP_LOST = (
    "Check the server, and ask again when it is back; a turn that was under way is kept as far as it had come: "
    "`preflight threads list` names it, `preflight threads resume` finishes it."
)
_CONNECT_HELP = {
    "password": "Check the user and the password: in the address, in PGPASSWORD, or in ~/.pgpass.",
    "authentication": "Check the user and the password, and the server's pg_hba.conf.",
    "pg_hba": "The server's pg_hba.conf lets this user or machine not in.",
    "role": "Check the user's name.",
    "database": "Make the database first: createdb NAME.",
    "connection slots": "The server has no free connection; raise its max_connections, or run fewer turns at once.",
    "too many": "The server has no free connection; raise its max_connections, or run fewer turns at once.",
}
"""Advice by a word in the server's message when it refuses a connection."""
_FOR_A_MOMENT = ("starting up", "shutting down", "recovery")
"""Messages of a server that refuses connections only temporarily."""

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its pools print each try to connect otherwise
T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[Any]"


@dataclass(frozen=True)
class Address:
    """The address of a database, and the names that error messages use for it.

    Attributes:
        conninfo: The connection string for libpq, with the password.
        name: The address without the password, for messages.
        unavailable: The error if no server answers.
        database: The name of the database.
        identity: A text that is equal for two addresses of the same database, whoever connects.
    """

    conninfo: str = field(repr=False)
    name: str
    unavailable: type[LibraryError] = ThreadsUnavailable
    database: str = ""
    identity: str = ""

    @classmethod
    def read(cls, url: str, option: Literal["--threads", "--library"] = "--threads") -> Address:
        """Return the address that a URL names; `option` is the command line's option for messages.

        Parts missing from the URL come from libpq's variables and files.

        Raises:
            UsageError: The text is no URL of PostgreSQL. The message does not repeat it, since a password may stand
                anywhere in it.
        """
        if not url.startswith(SCHEMES):
            scheme = url.partition("://")[0] if "://" in url else ""
            what = f"an address that begins with {scheme[:20] + '://'!r}" if scheme else "what was given"
            raise UsageError(f"{option} takes the address of a PostgreSQL database, not {what}", help=f"Use {EXAMPLE}.")
        try:
            parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            parts = {"port": "unreadable"}
        host, port, database = (str(parts.get(name) or "") for name in ("host", "port", "dbname"))
        # A password with such a character in it would be read as one of these, and named in errors.
        if not re.fullmatch(r"[\d,]*", port) or "@" in host or "@" in database:
            help = f"Use {EXAMPLE}; in a password, write @ as %40, / as %2F, : as %3A and % as %25."
            raise UsageError(f"the address of {option} cannot be read", help=help) from None
        given = {"connect_timeout": CONNECT_SECONDS, "application_name": "preflight-rag", **_KEEPALIVE, **parts}
        place = f"{host}:{port}" if host and port else host or "its usual place"
        of = database or parts.get("user") or "of the user's name"
        error = ThreadsUnavailable if option == "--threads" else LibraryUnavailable
        identity = f"{host}:{port or 5432}/{of}?{parts.get('options') or ''}"
        return cls(
            make_conninfo(**cast(Any, given)), f"the PostgreSQL database {of} at {place}", error, str(of), identity
        )


@contextmanager
def translated_errors(name: str, unavailable: type[LibraryError] = ThreadsUnavailable) -> Iterator[None]:
    """Raise PostgreSQL's errors as errors of this package.

    Raises:
        ThreadsUnavailable, LibraryUnavailable: There is no connection, or it was lost.
        LibraryBusy: Another transaction is in the way.
        LibraryError: The server refuses.
    """
    try:
        yield
    except PreflightError:
        raise
    except PoolTimeout:
        raise unavailable(f"{name} gave no connection within {CONNECT_SECONDS} s", help=_HELP_LOST) from None
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as e:
        raise LibraryBusy(f"{name} is in use: {_reason(e)}", help="Try again in a moment.") from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise LibraryError(
            f"{name} cannot be used: {_reason(error)}", help="Give the user rights on the schema."
        ) from None
    except psycopg.errors.DiskFull as error:
        raise LibraryError(f"{name} cannot be written: {_reason(error)}", help=ROOM) from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise unavailable(f"{name} cannot be reached: {_reason(error)}", help=_HELP_LOST) from None
    except psycopg.Error as error:
        raise LibraryError(f"{name} cannot be used: {_reason(error)}") from None


def _reason(error: psycopg.Error) -> str:
    """Return the first line of a PostgreSQL error."""
    return first_line(error).removeprefix("connection failed: ")


def connect(address: Address) -> psycopg.Connection[DictRow]:
    """Return a new connection.

    Raises:
        ThreadsUnavailable, LibraryUnavailable: No server answers.
        LibraryError: The server rejects the user and password.
    """
    try:
        return psycopg.connect(address.conninfo, autocommit=True, row_factory=dict_row)
    except psycopg.OperationalError as error:
        text = str(error)
        refused = "FATAL:" in text and not any(word in text for word in _FOR_A_MOMENT)
        reason = first_line(error).removeprefix("connection failed: ")
        if not refused:
            help = "Start the server, or check the address."
            raise address.unavailable(f"{address.name} cannot be reached: {reason}", help=help) from None
        help = next((help for word, help in _CONNECT_HELP.items() if word in text), "Check the address.")
        raise LibraryError(f"{address.name} refuses: {reason.partition('FATAL:')[2].strip()}", help=help) from None


def storable_text(value: T) -> T:
    """Return a value without the characters that PostgreSQL cannot store."""
    return cast(T, _NOT_STORED.sub("\ufffd", value)) if isinstance(value, str) else value


class Connections:
    """A few connections that are kept open between calls; one is made where none is free.

    A pool of `psycopg_pool` waits longer and longer for a server that is away, and its caller with it. Here each caller
    tries at once, and learns at once that nobody answers.

    Args:
        address: The database's address.
        most: Greatest number of connections; further callers wait.
        configure: Called with each new connection.
    """

    def __init__(self, address: Address, most: int, configure: Callable[[Connection], None]) -> None:
        self.address = address
        self._configure = configure
        self._places = threading.BoundedSemaphore(most)
        self._free: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Close the free connections now and the others when they are returned; a second call does nothing."""
        with self._lock:
            self._closed, free, self._free = True, self._free, []
        for connection in free:
            connection.close()

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads through a connection.

        If a pooled connection turns out to be lost, `work` is tried once more through a new one.

        Raises:
            LibraryUnavailable: No server answers.
            LibraryClosed: The library was closed.
        """
        with translated_errors(self.address.name, self.address.unavailable), self._places:
            connection = self._kept()
            if connection is not None:
                try:
                    with self._given_back(connection):
                        return work(connection)
                except (psycopg.OperationalError, psycopg.InterfaceError):
                    if not connection.broken:
                        raise
                    self._forget_free()
            connection = self.new()
            with self._given_back(connection):
                return work(connection)

    def new(self) -> Connection:
        """Return a new connection, which the caller has to close.

        Raises:
            LibraryUnavailable, LibraryError: As `connect`.
            LibraryClosed: The library was closed.
        """
        if self._closed:
            raise LibraryClosed(
                f"The library in {self.address.name} was closed", help="Open it again, and use it before that."
            )
        connection: Connection = connect(self.address)
        connection.row_factory = tuple_row
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _kept(self) -> Connection | None:
        """Return a free pooled connection; None if there is none."""
        with self._lock:
            return self._free.pop() if self._free else None

    @contextmanager
    def _given_back(self, connection: Connection) -> Iterator[None]:
        """Return the connection to the pool at the end of the block; close it if the block fails."""
        try:
            yield
        except BaseException:
            # Whatever it was in the middle of: a new one costs less than finding out.
            if not connection.broken:
                connection.close()
            raise
        with self._lock:
            if not self._closed:
                self._free.append(connection)
                return
        connection.close()

    def _forget_free(self) -> None:
        """Close the free connections: a server that dropped one has dropped all."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()

"""The open `library.db`: one connection for all threads, which notices a replaced file and raises our own errors."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.databases.migrations import check_version, migrate
from preflight_rag.databases.sqlite_files import keep_damaged_log, make_private
from preflight_rag.library.storage.schema import CHUNK, MIGRATIONS, SCHEMA_VERSION, TABLES
from preflight_rag.state.errors import (
    DatabaseCorrupt,
    LibraryBusy,
    LibraryClosed,
    LibraryCorrupt,
    LibraryError,
    LibraryMissing,
    is_closed,
    lacking,
    system_help,
)

if TYPE_CHECKING:
    from sqlite_utils import Database

DATABASE = "library.db"
BUSY_SECONDS = 30.0
"""Timeout for another writer; a guess at the time that a large document takes."""
FLUSH_MILLISECONDS = 500
"""Timeout for readers of the file when the log is truncated; a guess: a query takes less, and the next writer
retries."""
# With SQLITE_ERROR: a damaged name of a column makes SQLite say that there is no such column.
_DAMAGE_CODES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
# Where SQLite cannot create its log and shared memory: in a read-only folder, or on a full disk.
_NO_LOG_CODES = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_SHM", "SQLITE_FULL")
DAMAGE_ERRORS = (ValueError, TypeError, KeyError, AttributeError)
"""Errors that reading a damaged value causes."""
# Without a level, sqlite3 begins no transactions of its own: `_writing` does, and holds the lock meanwhile.
_CONNECTION_OPTIONS: dict[str, Any] = {"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False}


def damage_error(path: Path, what: str) -> DatabaseCorrupt:
    """Return the error for a database with content that this program cannot have written; `what` names it."""
    folder = path.parent
    return DatabaseCorrupt(
        f"{path} is damaged: {what}",
        help=f"Look at it with `preflight library verify --library {folder}`; `preflight library rebuild --library "
        f"{folder}` sets it aside and keeps what is whole.",
    )


class DatabaseFile:
    """An open `library.db`.

    Attributes:
        path: The file.

    Raises:
        LibraryMissing: There is none in `folder` and `create` is false.
        LibraryCorrupt: The file is damaged, or not a library's.
        LibraryError: It cannot be opened, or is of a newer version of the package.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.path = folder / DATABASE
        # Reentrant, because methods that hold it call others that take it.
        self._lock = threading.RLock()
        # None until the file is open, so that `_guard` does not reopen a file that is being opened.
        self._opened_state: tuple[int, ...] | None = None
        self._openings = 0
        if not self.path.is_file():
            if folder.is_file():
                raise LibraryMissing(f"{folder} is a file, and a library is a folder", help="Name a folder.")
            if not create:
                raise LibraryMissing(
                    f"There is no library at {folder}", help=f"Make one with: preflight ingest PATH --library {folder}"
                )
            _make_folder(folder)
            make_private(self.path)
        log = keep_damaged_log(self.path)
        self._connection = _connect(self.path)
        self._opened_identity = _file_identity(self.path)
        try:
            with self._guard():
                if create:
                    self._create_tables()
                _migrate_library(self._connection, self.path)
            if log is not None:
                with suppress(LibraryError):  # the library cannot be written: its setting is determined again next time
                    self.set_meta("damaged_log", log)
        except BaseException:
            self.close()
            raise
        self._opened_state = self._state_of_file()

    @property
    def place(self) -> str:
        """The library's place as error messages name it."""
        return f"at {self.path.parent}"

    def close(self) -> None:
        """Close the connection; the store cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    def is_there(self) -> bool:
        """Return whether the file at `path` is still the open one: writes to a removed file are lost."""
        return _file_identity(self.path) == self._opened_identity

    @cached_property
    def _database(self) -> Database:
        """Return the connection in the form of sqlite-utils."""
        from sqlite_utils import Database

        return Database(self._connection, recursive_triggers=False)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Hold the lock during the block, and raise SQLite's errors in it as the library's own.

        If the file was replaced since it was opened, it is opened again first.
        """
        with self._lock:
            try:
                # A transaction goes on with the file in which it began.
                if self._opened_state is not None and not self._connection.in_transaction:
                    self._follow_file()
                yield
            except (sqlite3.Error, MemoryError) as error:
                raise _translate_error(error, self.path) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Take the lock for writing and open a transaction, or take part in the one that is open.

        The transaction is `IMMEDIATE`: where one reads before it writes, SQLite fails at once instead of waiting for
        another process that writes, as that process would change what was read.
        """
        with self._guard():
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.commit()
            except BaseException:
                # At Ctrl-C, too: the next write would take part in a transaction that stayed open.
                self._connection.rollback()
                raise

    def _follow_file(self) -> None:
        """Open the database again if its file was replaced, or if a file that was opened as immutable has changed."""
        state = self._state_of_file()
        # Without a state the file is gone, but the open connection still reads what was in it.
        if state and state != self._opened_state:
            self._connection.close()
            self._connection = _connect(self.path)
            # A new connection counts its changes from 0 again; this number keeps `state` from repeating.
            self._openings += 1
            self._opened_identity = _file_identity(self.path)
            self.__dict__.pop("_database", None)
            self._opened_state = self._state_of_file()

    def _state_of_file(self) -> tuple[int, ...]:
        """Return numbers that change when the file is replaced; none if the file is gone.

        For a file opened as immutable, they also change when it is written.
        """
        try:
            stat = self.path.stat()
            if not self._is_immutable():
                return stat.st_dev, stat.st_ino
            log = self.path.with_name(f"{DATABASE}-wal")
            log_size = log.stat().st_size if log.exists() else 0
        except OSError:
            return ()
        return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size, log_size

    def _is_immutable(self) -> bool:
        """Return whether the file is opened as immutable, that is, as one that nobody changes."""
        return isinstance(self._connection, _ImmutableConnection)

    @contextmanager
    def _damage_errors_of(self, what: str) -> Iterator[None]:
        """Raise `DatabaseCorrupt` if reading a value in the block fails because the value is damaged.

        Args:
            what: The name of the value for the message, which does not contain the value itself.
        """
        try:
            yield
        except DAMAGE_ERRORS as error:
            raise damage_error(self.path, f"{what} is not as it was written ({type(error).__name__})") from error

    def _rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[sqlite3.Row]:
        """Return the rows of a query; errors are translated."""
        with self._guard():
            return self._connection.execute(sql, parameters).fetchall()

    def _rows_in(self, sql: str, values: Sequence[Any]) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query with `IN ({marks})` for any number of values, which are sent in portions."""
        for start in range(0, len(values), CHUNK):
            chunk = values[start : start + CHUNK]
            yield from self._rows(sql.format(marks=",".join("?" * len(chunk))), chunk)

    def select(
        self,
        sql: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        fits: Callable[[str, Any], bool] | None = None,
    ) -> list[sqlite3.Row]:
        """Return the rows of a query that only reads; its SQL may call the function `fits(json_type, value)`."""
        with self._guard():
            # Under the lock, as all threads share the connection, and with it the SQL function of this name.
            if fits:
                self._connection.create_function("fits", 2, fits)
            return self._rows(sql, parameters)

    def flush(self) -> None:
        """Merge the write-ahead log into the file and empty it, unless another process is reading or the disk is full.

        Until it is emptied, the log holds earlier states of pages, and so texts that were deleted since; a process that
        is killed or stopped leaves it behind.
        """
        with self._guard():
            self._connection.execute(f"PRAGMA busy_timeout = {FLUSH_MILLISECONDS}")
            try:
                with suppress(sqlite3.OperationalError):  # the log is complete and is read all the same
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    def vacuum(self) -> None:
        """Rewrite the file without deleted content, including that which older versions did not overwrite."""
        with self._guard():
            self._connection.execute("VACUUM")
        # VACUUM writes the new pages to the log; the file keeps the old ones until the log is merged.
        self.flush()

    def state(self) -> tuple[int, int, int]:
        """Return numbers that change whenever any program has written to the database."""
        with self._guard():
            # `data_version` counts other connections' writes, `total_changes` this one's.
            ((others,),) = self._connection.execute("PRAGMA data_version").fetchall()
            return self._openings, int(others), self._connection.total_changes

    def meta(self, key: str) -> Any:
        """Return the value of a setting; None if it was never recorded."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        with self._damage_errors_of(f"the setting {key!r}"):
            return json.loads(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: Any) -> None:
        """Record a setting."""
        with self._writing():
            self._database.table("meta").upsert({"key": key, "value": json.dumps(value)}, pk="key")

    def _create_tables(self) -> None:
        """Create the tables, if there are none yet.

        Raises:
            LibraryCorrupt: The file has tables of another program.
        """
        tables = self._rows("SELECT count(*) FROM sqlite_master WHERE type = 'table'")[0][0]
        if tables and not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            raise LibraryCorrupt(f"{self.path} is another program's database", help="Choose another folder")
        if tables:
            return
        # The journal mode cannot be changed within a transaction.
        self._connection.execute("PRAGMA journal_mode = WAL")
        # Two processes may create the tables at once: the second one finds everything there, and changes nothing.
        self._connection.executescript(f"BEGIN IMMEDIATE;{TABLES}COMMIT;")
        self._connection.execute(
            "INSERT OR IGNORE INTO meta VALUES ('schema_version', ?), ('generation', '0')", (str(SCHEMA_VERSION),)
        )


def _migrate_library(connection: sqlite3.Connection, path: Path) -> None:
    """Bring `library.db`, whose version is among its settings, up to date.

    Raises:
        LibraryError: It was written by a newer version, or is not a library.
    """

    def version() -> int:
        """Return the recorded version of the tables."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        try:
            recorded = json.loads(row[0]) if row else None
        except ValueError:
            recorded = row[0]
        return check_version(path, recorded, len(MIGRATIONS))

    def stamp(number: int) -> None:
        """Record the version of the tables."""
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", (str(number),))

    migrate(connection, MIGRATIONS, version, stamp)


def _make_folder(folder: Path) -> None:
    """Create a folder, unless it exists.

    Raises:
        LibraryError: It cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise LibraryError(f"Cannot make the folder {folder}: {reason}", help="Choose another folder") from error


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


class _ImmutableConnection(sqlite3.Connection):
    """A connection that treats the file as immutable, because SQLite's own files cannot be created beside it.

    It reads no write-ahead log, so the store looks at the files before each use.
    """


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection in autocommit mode; a library on a read-only or a full disk is opened as immutable."""
    try:
        try:
            return _configure(sqlite3.connect(path, **_CONNECTION_OPTIONS))
        except sqlite3.OperationalError as error:
            if not (error.sqlite_errorname or "").startswith(_NO_LOG_CODES):
                raise
            # A file that is opened as immutable is read without its log, whose writes would silently be missing.
            if _has_log(path):
                # In a folder that can be written the cause is another one, and SQLite's own error says more.
                if os.access(path.parent, os.W_OK):
                    raise
                raise LibraryError(
                    f"{path} cannot be read in a read-only folder: its last writes are in {path.name}-wal beside it",
                    help="Copy the folder with all its files to where you may write, and open it there once.",
                ) from error
            uri = f"{path.absolute().as_uri()}?immutable=1"
            return _configure(sqlite3.connect(uri, uri=True, factory=_ImmutableConnection, **_CONNECTION_OPTIONS))
    except sqlite3.Error as error:
        raise _translate_error(error, path) from error


def _has_log(path: Path) -> bool:
    """Return whether there are writes in a log beside the database that are not in it yet."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def _configure(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection with the settings of a library; close it if these fail."""
    connection.row_factory = sqlite3.Row
    try:
        # Off by default; `purge` relies on it for the vectors of the passages that it deletes.
        connection.execute("PRAGMA foreign_keys = ON")
        # With a write-ahead log a power failure may then take the last commits, but does not damage the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # off in some builds of SQLite
        # SQLite opens a file at the first read: here, `_connect` can still try another way.
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _translate_error(error: sqlite3.Error | MemoryError, path: Path) -> LibraryError:
    """Return the library's error for an error of SQLite, or for a lack of memory."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if isinstance(error, sqlite3.DatabaseError) and name.startswith(_DAMAGE_CODES):
        return damage_error(path, str(error))
    if str(error).startswith("Could not decode to UTF-8"):  # the message then quotes the text
        return damage_error(path, "a text in it is not UTF-8")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LibraryBusy(f"{path} is busy", help="Another process writes it; try again")
    if isinstance(error, sqlite3.Error) and is_closed(error):
        return LibraryClosed(f"The library at {path.parent} was closed", help="Open it again, and use it before that.")
    return LibraryError(f"{path} failed: {lacking(error) or error}", help=system_help(error))

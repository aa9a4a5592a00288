"""The file `threads.db`: how it is created, opened and migrated, and the errors that it can cause.

sqlite-utils makes the tables; rows are read and written with plain `sqlite3`, because a question should not wait for
sqlite-utils' imports (pandas, if it is installed).
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from preflight_rag.databases.migrations import Step, migrate_user_version
from preflight_rag.databases.sqlite_files import keep_damaged_log, make_private
from preflight_rag.state.errors import (
    BUSY,
    DatabaseCorrupt,
    LibraryBusy,
    LibraryError,
    PreflightError,
    lacking,
    system_help,
)
from preflight_rag.threads.ledger import COLUMNS, COUNTS, FEEDBACK, FORKS, REQUIRED, TABLE, TITLES
from preflight_rag.threads.locks import is_locked

_LOG = logging.getLogger(__name__)
THREADS = "threads.db"
"""The file's name in a library's folder."""
BUSY_SECONDS = 30.0
"""Timeout for another writer; a guess, far above the milliseconds that a write takes."""
LOG_BYTES = 4 << 20
"""Length at which a write-ahead log is merged into its file, about that of SQLite's own 1,000 pages."""
LOOKING_MILLISECONDS = 3
"""How long SQLite itself waits for the write lock, with attempts after 1 and 3 ms. With a longer time its next waits
would be 5, 10, 15, 20 ms and so on, in which others take and release the lock."""
LOG_BUSY_MILLISECONDS = 100
"""Milliseconds that merging the log waits for other readers and writers before it is postponed; a guess."""


def begin_writing(connection: sqlite3.Connection, seconds: float = BUSY_SECONDS) -> None:
    """Begin a transaction with the write lock, which is tried every other millisecond.

    Args:
        connection: A connection without a transaction.
        seconds: How long to wait for another writer, here and in later statements on the connection.

    Raises:
        sqlite3.OperationalError: Another writer had the lock all the time.
    """
    deadline = time.monotonic() + seconds
    connection.execute(f"pragma busy_timeout = {LOOKING_MILLISECONDS}")
    try:
        while True:
            looked = time.monotonic()
            try:
                connection.execute("begin immediate")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() >= deadline:
                    raise
            # A SQLite that was built to sleep only whole seconds has not waited at all.
            if time.monotonic() - looked < 0.001:
                time.sleep(0.001)
    finally:
        connection.execute(f"pragma busy_timeout = {int(1000 * seconds)}")


class WriteAheadLog:
    """Decides when a database's log is merged into its file: only while no other connection can write.

    SQLite merges by itself after a commit, without a lock that keeps writers out. In versions before 3.51.3 a commit of
    another connection at that moment, in this process or another one, can be mistaken for data that is already in the
    file, and is lost (sqlite.org/wal.html#walresetbug). Merging with the write lock excludes this.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self._log = Path(f"{path}-wal")
        self._long = LOG_BYTES

    def keep(self, connection: sqlite3.Connection) -> None:
        """Switch off SQLite's own merging of the log after a commit of this connection."""
        connection.execute("pragma wal_autocheckpoint = 0")

    def merge_if_long(self, connection: sqlite3.Connection) -> None:
        """Merge the log into the file if it has grown long; the connection must have no transaction."""
        try:
            length = self._log.stat().st_size
        except OSError:
            return
        if length < self._long:
            return
        done = merge_log(connection, LOG_BUSY_MILLISECONDS)
        # If somebody is reading, wait for the log to grow instead of trying again after each commit.
        self._long = LOG_BYTES if done else length + LOG_BYTES


def merge_log(connection: sqlite3.Connection, milliseconds: int) -> bool:
    """Merge the write-ahead log into its file under the write lock, and return whether all of it was merged.

    Args:
        connection: A connection without a transaction.
        milliseconds: How long to wait for other readers and writers.
    """
    [[before]] = connection.execute("pragma busy_timeout").fetchall()
    connection.execute(f"pragma busy_timeout = {milliseconds}")
    try:
        # Without the write lock SQLite would merge all the same.
        connection.execute("begin immediate")
        connection.execute("rollback")
        [(busy, _, _)] = connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.execute(f"pragma busy_timeout = {before}")
    return not busy


class SqliteDatabase:
    """The ledger's rows in a file, on a connection of its own beside the checkpointer's.

    May be used from any thread, one call at a time.

    Args:
        path: The database; it and its folder are created if missing.
        steps: Functions that bring its tables to version 1, 2, …; None for those of the ledger.
        busy_seconds: How long a call waits for another writer.

    Raises:
        DatabaseCorrupt: The file is not a readable SQLite database.
        LibraryError: The file cannot be opened or made, or a newer version has written it.
    """

    clock = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(
        self, path: str | Path, steps: Sequence[Step] | None = None, *, busy_seconds: float = BUSY_SECONDS
    ) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._busy_seconds = busy_seconds
        self._log = WriteAheadLog(self.path)
        with translated_errors(self.path):
            make_database(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=busy_seconds, check_same_thread=False, isolation_level=None
            )
            self._connection.row_factory = sqlite3.Row
            try:
                self._connection.execute("pragma synchronous = normal")
                self._log.keep(self._connection)
                self._connection.create_function("holds", 2, _holds, deterministic=True)
                self._connection.create_function("least", 2, min, deterministic=True)
                self._connection.create_function("greatest", 2, max, deterministic=True)
                migrate_user_version(self._connection, self.path, MIGRATIONS if steps is None else steps)
            except BaseException:
                self._connection.close()
                raise

    @property
    def name(self) -> str:
        """Path of the file."""
        return str(self.path)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for reading, and merge a long write-ahead log afterwards."""
        with self._lock, translated_errors(self.path):
            yield self._connection
            if not self._connection.in_transaction:
                self._log.merge_if_long(self._connection)

    @contextmanager
    def writing(self, thread_id: str = "") -> Iterator[sqlite3.Connection]:
        """Yield a transaction that has the write lock from its start: what it reads stays true until it writes."""
        with self.reading() as connection:
            begin_writing(connection, self._busy_seconds)
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def is_locked(self, thread_id: str) -> bool:
        """Return whether a process holds the thread's lock, which lies beside the file."""
        return is_locked(self.path.parent, thread_id)

    def damaged(self, what: str) -> DatabaseCorrupt:
        """Return the error for a row that is damaged; `what` names the row."""
        return damaged_threads(self.path, what)


def _make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, or add what unnumbered older versions lack: columns, titles, forks, feedback."""
    from sqlite_utils import Database

    database = Database(connection)
    table, titles = database.table(TABLE), database.table(TITLES)
    if not table.exists():
        table.create(COLUMNS, pk="id", not_null=REQUIRED, defaults=COUNTS)
        table.create_index(["thread_id", "turn"], unique=True)
    for name in COLUMNS.keys() - table.columns_dict.keys():
        table.add_column(name, COLUMNS[name])
    if not titles.exists():
        titles.create({"thread_id": str, "title": str}, pk="thread_id", not_null={"title"})
    forks, feedback = database.table(FORKS), database.table(FEEDBACK)
    if not forks.exists():
        forks.create({"thread_id": str, "parent": str, "turn": int}, pk="thread_id")
    if not feedback.exists():
        columns = {"turn_id": str, "good": int, "reason": str, "expected": str, "at": str}
        feedback.create(columns, pk="turn_id", not_null=set(columns) - {"turn_id"})


MIGRATIONS = (_make_tables,)
"""The steps that bring the tables of a `threads.db` to version 1, 2, … (`databases/migrations.py`)."""


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and the file system about `path` as errors of this package.

    Raises:
        DatabaseCorrupt: The file is not a readable SQLite database.
        LibraryBusy: The file was locked for too long.
        LibraryError: The file cannot be opened, made or written.
    """
    try:
        yield
    except PreflightError:
        raise  # a retryable one is an `OSError`, too
    except (OSError, MemoryError, sqlite3.OperationalError) as error:
        if str(error).startswith("Could not decode to UTF-8"):  # and then the text
            raise damaged_threads(path, "a text in it is not UTF-8") from None
        help = system_help(error)
        kind = LibraryBusy if help == BUSY else LibraryError
        reason = lacking(error) or error
        raise kind(f"The database {path} cannot be used: {reason}", help=help) from error
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise
        raise damaged_threads(path, str(error)) from error


def damaged_threads(path: Path, what: str) -> DatabaseCorrupt:
    """Return the error for a database of threads that cannot be read, or contains rows of unknown origin."""
    return DatabaseCorrupt(
        f"The database {path} cannot be read: {what}",
        help=f"`preflight library rebuild --library {path.parent}` moves it aside and keeps what is intact; or move it "
        "away: the next turn creates a new one.",
    )


def make_database(path: Path) -> None:
    """Create the file and its folder if missing, in WAL mode: readers and a writer work side by side.

    Processes that do this at the same time refuse each other at once, whatever their timeout, so it is tried again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    make_private(path)
    if kept := keep_damaged_log(path):
        _LOG.warning("the last writes to %s may be missing: its log was damaged (kept as %s)", path, kept)
    deadline = time.monotonic() + BUSY_SECONDS
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        while True:
            try:
                connection.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)


@contextmanager
def writable(path: Path) -> Iterator[Path]:
    """Yield the database's path; if its folder is read-only, the path of a temporary copy."""
    if not path.parent.exists() or os.access(path.parent, os.W_OK):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="preflight-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        if path.is_file():
            with translated_errors(path), closing(open_to_read(path)) as connection:
                make_private(copy)
                with closing(sqlite3.connect(copy)) as target:
                    connection.backup(target)
        yield copy


def open_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection for reading.

    It opens even where SQLite cannot create its lock files because the folder is read-only.
    """
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("select count(*) from sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        if not error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
            raise
        return _with_log(path) or sqlite3.connect(
            f"{path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _with_log(path: Path) -> sqlite3.Connection | None:
    """Return a copy in memory of the database with its write-ahead log; None if there is no log.

    A killed process leaves its last writes in a log, which SQLite ignores when it opens a file as immutable.
    """
    log = Path(f"{path}-wal")
    if not log.is_file() or not log.stat().st_size:
        return None
    with tempfile.TemporaryDirectory(prefix="preflight-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / path.name
        make_private(copy)
        for source, target in (path, copy), (log, Path(f"{copy}-wal")):
            shutil.copyfile(source, target)
        whole = sqlite3.connect(":memory:", isolation_level=None)
        with closing(sqlite3.connect(copy)) as connection:
            connection.backup(whole)
    return whole


def _holds(query: str, text: str | None) -> bool:
    """Return whether a text contains a casefolded query."""
    return text is not None and query in text.casefold()

"""Files of SQLite databases: made for their owner alone; set aside whole where damaged, and read as far as they can be.

SQLite stops at the first damaged page. Here a table is read in ranges of its rows that are halved until what cannot be
read is passed over; what a row then says is for the caller to check. Nothing is deleted: the damaged file, with its
log, stays beside the new one under a name of its own.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from preflight_rag.databases.write_ahead_log import lost_commits
from preflight_rag.state.errors import DatabaseCorrupt, LibraryBusy

LOG, INDEX_OF_LOG = "-wal", "-shm"
Row = tuple[object, ...]
FIRST_SHARED_BYTE, SHARED_BYTES = 0x40000002, 510
"""Bytes of a database file that every user of its write-ahead log keeps locked (sqlite.org/lockingv3.html)."""
FAR = 100_000
MOST_FAILURES = 5_000
"""Ranges of rows that could not be read, after which a table is given up; a page of rows costs about a hundred.
Both are guesses."""


def make_private(path: Path) -> None:
    """Create an empty database file that only its owner can read, if there is none; SQLite's logs take its mode.

    An existing file is not opened, not even for a moment: closing it would release the locks that SQLite holds on it in
    this process (fcntl(2)), and another process that closes the database would then remove the log under it, with every
    later turn. If the file cannot be created, the error is left to SQLite.
    """
    if str(path) == ":memory:":  # SQLite's name for a database that is no file
        return
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def keep_damaged_log(database: Path) -> str | None:
    """Copy a damaged write-ahead log and return the copy's name; None if the log is intact.

    This must run before the database is opened, because SQLite discards the unreadable part of a log.
    """
    if not lost_commits(database):
        return None
    log = Path(f"{database}{LOG}")
    kept = _free_name(log)
    with suppress(OSError):  # of a folder that cannot be written, in which SQLite drops nothing either
        shutil.copy2(log, kept)
    return kept.name


def set_aside(database: Path) -> Path:
    """Copy a damaged database and its log to a name that marks them as damaged, and return that name."""
    kept = _free_name(database)
    for suffix in ("", LOG):
        if (source := Path(f"{database}{suffix}")).exists():
            shutil.copy2(source, f"{kept}{suffix}")
    return kept


def check_unused(database: Path) -> None:
    """Raise an error if any process has the database open: what it writes to the old file would be lost.

    This process must have closed it, too: closing the file later would release SQLite's locks on it.

    Raises:
        LibraryBusy: A process has it open.
    """
    try:
        import fcntl
    except ImportError:  # where an open file cannot be replaced in any case
        return
    try:
        file = database.open("rb+")
    except OSError:  # what cannot be opened is for the caller to find out
        return
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, FIRST_SHARED_BYTE)
        except OSError:
            help = "Stop what has it open (a server, a chat), then run the command again."
            raise LibraryBusy(f"{database} is in use", help=help) from None


def replace_database(database: Path, make: Callable[[Path], None]) -> Path:
    """Set a damaged database aside and put a new one in its place; return the path of the damaged one.

    Args:
        database: The damaged database.
        make: Creates the new database at the path it is called with, from the content of `database`. If it
        fails, the damaged database stays in its place.

    Raises:
        LibraryBusy: A process has the database open.
    """
    check_unused(database)
    made = database.with_name(f"{database.name}.recovering")
    _remove(made)
    try:
        make(made)
        kept = set_aside(database)
        for suffix in (LOG, INDEX_OF_LOG):  # a log belongs to the file that it was written for
            Path(f"{database}{suffix}").unlink(missing_ok=True)
        os.replace(made, database)
    finally:
        _remove(made)
    return kept


def copy_readable(source: Path, target: sqlite3.Connection) -> int:
    """Copy the readable rows into the tables of the same name, as far as they fit, and return their number.

    Raises:
        DatabaseCorrupt: Nothing can be read, not even which tables there are.
    """
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA writable_schema = ON")  # else a file that was cut off is not read at all
            own = {name: _columns(target, name) for name in _tables(target)}
            copied = 0
            for table in _tables(connection):
                columns = _same_columns(_columns(connection, table), own.get(table, []))
                if not columns:
                    continue
                names = ", ".join(f'"{theirs}"' for theirs, _ in columns)
                into = ", ".join(f'"{ours}"' for _, ours in columns)
                marks = ", ".join("?" * len(columns))
                insert = f'INSERT OR IGNORE INTO "{table}" ({into}) VALUES ({marks})'  # noqa: S608  # names of tables
                for row in _readable_rows(connection, table, names):
                    with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                        copied += target.execute(insert, row).rowcount
            return copied
    except sqlite3.Error as error:
        raise DatabaseCorrupt(f"Nothing of {source} can be read ({error})") from error


def _same_columns(theirs: list[str], ours: list[str]) -> list[tuple[str, str]]:
    """Return pairs of a damaged table's columns and a new table's: by name, or by position for a damaged name."""
    by_place = len(theirs) == len(ours)
    return [
        (name, name if name in ours else ours[place])
        for place, name in enumerate(theirs)
        if name in ours or (by_place and ours[place] not in theirs)
    ]


def _readable_rows(connection: sqlite3.Connection, table: str, names: str) -> Iterator[Row]:
    """Yield the rows of a table, in ranges that are halved where one cannot be read."""
    ends = []
    for order in ("ASC", "DESC"):
        with suppress(sqlite3.Error):
            sql = f'SELECT rowid FROM "{table}" ORDER BY rowid {order} LIMIT 1'  # noqa: S608
            ends += [row[0] for row in connection.execute(sql)]
    if not ends:
        return
    select = f'SELECT {names} FROM "{table}" WHERE rowid BETWEEN ? AND ? ORDER BY rowid'  # noqa: S608
    # Where one end cannot be read, the rows beyond are looked for this far.
    first, last = (min(ends), max(ends)) if len(ends) > 1 else (min(ends) - FAR, max(ends) + FAR)
    ranges, failures = [(first, last)], 0
    while ranges and failures < MOST_FAILURES:
        first, last = ranges.pop()
        try:
            rows: Sequence[Row] = connection.execute(select, (first, last)).fetchall()
        except (sqlite3.Error, OverflowError):
            failures += 1
            middle = (first + last) // 2
            if first < last:
                ranges += [(middle + 1, last), (first, middle)]
            continue
        yield from rows


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Return the names of a database's tables."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return [row[0] for row in connection.execute(sql)]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of a table's columns."""
    return [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _free_name(path: Path) -> Path:
    """Return an unused path that marks a copy of the database as damaged, with the time."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 1
    while (free := path.with_name(f"{path.name}.damaged-{stamp}" + (f"-{number}" if number > 1 else ""))).exists():
        number += 1
    return free


def _remove(database: Path) -> None:
    """Delete a database and its log files."""
    for suffix in ("", LOG, INDEX_OF_LOG):
        Path(f"{database}{suffix}").unlink(missing_ok=True)

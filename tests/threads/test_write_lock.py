"""Who writes to the file of conversations waits for other writers, and for no longer than it may."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from preflight_rag.threads.sqlite_database import begin_writing, make_database


@pytest.fixture
def path(tmp_path):
    make_database(tmp_path / "threads.db")
    return tmp_path / "threads.db"


def connected(path):
    return closing(sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False))


def waits(connection):
    return connection.execute("pragma busy_timeout").fetchone()[0]


def test_it_is_had_at_once_where_nobody_writes(path):
    with connected(path) as connection:
        begin_writing(connection, 20)
        assert connection.in_transaction
        assert waits(connection) == 20_000


def test_it_is_had_when_the_other_writer_has_ended(path):
    with connected(path) as first, connected(path) as second:
        first.execute("create table rows (number integer)")
        begin_writing(first)
        first.execute("insert into rows values (1)")
        seen, asks = [], threading.Event()

        def write():
            asks.set()
            begin_writing(second)
            seen.extend(second.execute("select number from rows").fetchall())
            second.execute("commit")

        thread = threading.Thread(target=write)
        thread.start()
        asks.wait(30)
        thread.join(0.1)
        assert thread.is_alive()
        assert not seen
        first.execute("commit")
        thread.join(30)
        assert seen == [(1,)]


def test_it_is_refused_where_the_other_writer_goes_on(path):
    with connected(path) as first, connected(path) as second:
        begin_writing(first)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            begin_writing(second, 0.05)
        assert not second.in_transaction
        assert waits(second) == 50
        first.execute("rollback")
        begin_writing(second, 0.05)


def test_what_is_wrong_with_the_file_is_said_at_once(tmp_path):
    tmp_path.joinpath("file").write_text("no database " * 100)
    with connected(tmp_path / "file") as connection, pytest.raises(sqlite3.DatabaseError, match="not a database"):
        begin_writing(connection)

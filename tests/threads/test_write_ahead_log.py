"""The write-ahead log of conversations is brought into its file only while nobody else can write."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from preflight_rag.threads import sqlite_database
from preflight_rag.threads.ledger import Ledger
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.sqlite_database import SqliteDatabase, merge_log

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path):
    return tmp_path / "threads.db"


def log_of(path):
    return path.with_name("threads.db-wal").stat().st_size


def grow(ledger, count=40):
    for number in range(count):
        ledger.begin(f"t{number}", "q" * 5000, settings={}, model="m")


async def test_no_connection_brings_it_in_by_itself(path):
    async with open_checkpointer(path) as saver:
        with closing(SqliteDatabase(path)) as database, database.reading() as connection:
            assert connection.execute("pragma wal_autocheckpoint").fetchone()[0] == 0
        assert (await saver.conn.execute_fetchall("pragma wal_autocheckpoint"))[0][0] == 0


def test_a_long_log_is_brought_in_after_a_write(path, monkeypatch):
    monkeypatch.setattr(sqlite_database, "LOG_BYTES", 100_000)
    with closing(Ledger(SqliteDatabase(path))) as ledger:
        grow(ledger)
        assert log_of(path) < 200_000 < path.stat().st_size


@pytest.mark.parametrize("held", ["begin immediate", "begin; select * from turns"])
def test_it_is_left_where_another_writes_or_reads_an_older_state(path, monkeypatch, held):
    monkeypatch.setattr(sqlite_database, "LOG_BUSY_MILLISECONDS", 10)
    with closing(Ledger(SqliteDatabase(path))) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        grow(ledger, 1)
        for statement in held.split("; "):
            other.execute(statement).fetchall()
        if "select" in held:
            grow_another(path)
        before = log_of(path)
        with ledger.database.reading() as connection:
            assert not merge_log(connection, 10)
            assert connection.execute("pragma busy_timeout").fetchone()[0] == 30000
        assert log_of(path) == before
        other.execute("rollback")
        with ledger.database.reading() as connection:
            assert merge_log(connection, 10)
        assert log_of(path) == 0


def grow_another(path):
    with closing(Ledger(SqliteDatabase(path))) as ledger:
        ledger.begin("other", "q", settings={}, model="m")


WRITER = """
import asyncio, sys
from contextlib import closing
from preflight_rag.threads import sqlite_database
sqlite_database.LOG_BYTES = 40_000  # so that the log is brought in, and begun anew, after every few writes
from langgraph.checkpoint.base import empty_checkpoint
from preflight_rag.threads.sqlite_checkpoints import open_checkpointer
from preflight_rag.threads.ledger import Ledger
from preflight_rag.threads.sqlite_database import SqliteDatabase

async def main(path, name, turns):
    async with open_checkpointer(path) as saver:
        with closing(Ledger(SqliteDatabase(path))) as ledger:
            for number in range(turns):
                thread = f"{name}-{number}"
                turn = await asyncio.to_thread(ledger.begin, thread, "q" * 3000, settings={}, model="m")
                config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                for step in range(3):
                    checkpoint = {**empty_checkpoint(), "channel_values": {"x": "y" * 2000}}
                    config = await saver.aput(config, checkpoint, {}, {})
                    await saver.aput_writes(config, [("x", "z" * 500)], f"task{step}")
                await asyncio.to_thread(ledger.fail, turn.id, error="none")
                await saver.prune_turn(thread)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def test_processes_that_write_one_file_at_once_lose_nothing(path):
    processes, turns = 3, 60
    command = [sys.executable, "-c", WRITER, str(path)]
    workers = [
        subprocess.Popen([*command, f"w{number}", str(turns)], stderr=subprocess.PIPE, text=True)
        for number in range(processes)
    ]
    assert [worker.communicate()[1][-2000:] for worker in workers] == [""] * processes
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        for table in ("turns", "checkpoints"):
            assert connection.execute(f"select count(distinct thread_id) from {table}").fetchone() == (
                processes * turns,
            )
        assert connection.execute("select count(*) from turns where status = 'failed'").fetchone() == (180,)


def test_pruning_leaves_the_last_step_of_each_thread(path):
    subprocess.run([sys.executable, "-c", WRITER, str(path), "w", "3"], check=True)

    async def kept():
        async with open_checkpointer(path) as saver:
            return [
                len([each async for each in saver.alist({"configurable": {"thread_id": f"w-{n}"}})]) for n in range(3)
            ]

    assert asyncio.run(kept()) == [1, 1, 1]

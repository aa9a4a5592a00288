"""One file of conversations, written by several processes: every turn is kept, whoever opens and closes it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from preflight_rag.threads.ledger import Ledger
from preflight_rag.threads.sqlite_database import SqliteDatabase

pytestmark = pytest.mark.slow

# Two connections of one process, as the checkpointer and the ledger of an application have them.
WRITER = """
import sys
from preflight_rag.threads.ledger import Ledger
from preflight_rag.threads.sqlite_database import SqliteDatabase
first, second = Ledger(SqliteDatabase(sys.argv[1])), Ledger(SqliteDatabase(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
first.begin("t", "What is written now?", settings={}, model="m")
print("written", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_turn_is_kept_when_another_process_has_opened_and_closed_the_file(tmp_path: Path) -> None:
    """SQLite's locks belong to the process: closing any handle of the file gave them up, and with them the log."""
    database = tmp_path / "threads.db"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    code = (
        f"from preflight_rag.threads.sqlite_database import SqliteDatabase; SqliteDatabase({str(database)!r}).close()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    print(file=process.stdin, flush=True)
    assert process.stdout.readline() == "written\n"
    process.kill()
    process.communicate()
    with closing(Ledger(SqliteDatabase(database))) as ledger:
        assert [turn.question for turn in ledger.turns("t")] == ["What is written now?"]
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]

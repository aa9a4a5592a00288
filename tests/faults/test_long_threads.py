"""Conversations of a thousand turns, and what is left in the files of those that were deleted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from fault_counts import report, times

from preflight_rag import Preflight
from preflight_rag.testing import ScriptedServer

QUESTIONS = ("What is granite made of?", "How hard is it?", "Where is it found?")


def used(path: Path) -> int:
    """Bytes of a database that hold something."""
    with closing(sqlite3.connect(path)) as connection:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def test_a_long_thread_takes_no_more_a_turn_than_a_short_one(scripted_app) -> None:
    last, sizes = times(60, 1000), {}
    with ScriptedServer(default="Granite is made of quartz and feldspar [1].") as server:
        app = scripted_app(server, rewrite="off")
        for number in range(1, last + 1):
            app.ask(f"{QUESTIONS[number % 3]} ({number})", thread_id="t")
            if number in (10, last):
                sizes[number] = used(app.folder / "threads.db") / number
        log = (app.folder / "threads.db-wal").stat().st_size
    report(f"bytes a turn: {sizes}; log: {log}")
    assert sizes[last] <= 2 * sizes[10]
    assert log < 20_000_000


def test_nothing_is_left_of_deleted_threads(scripted_app) -> None:
    """A canary in the questions and the answers of one user's threads, between those of another one."""
    with ScriptedServer(default="Granite is made of quartz, as xylocanary knows [1].") as server:
        app = scripted_app(server, rewrite="off")
        for number in range(times(6, 60)):
            app.ask(f"Is it quartz, xylocanary{number}?", thread_id=f"anna-{number % 3}")
            app.ask(f"Is it feldspar, {number}?", thread_id="ben")
    assert b"xylocanary" in (app.folder / "threads.db").read_bytes() + (app.folder / "threads.db-wal").read_bytes()
    for number in range(3):
        assert app.delete_thread(f"anna-{number}")
    app.delete_thread("ben")  # the scripted answers of which hold it, too
    files = [path for path in app.folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"xylocanary" in path.read_bytes()] == []
    assert [path.name for path in files if b"anna-" in path.read_bytes()] == []


def test_nothing_is_left_when_the_application_is_closed(small_folder: Path, embedder) -> None:
    with Preflight.open(small_folder, "offline", embedder=embedder, route="plain") as app:
        app.ask("What is granite made of, xylocanary?", thread_id="t")
        app.delete_thread("t")
        app.ask("What is granite made of?", thread_id="other")
    files = [path for path in small_folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"xylocanary" in path.read_bytes()] == []

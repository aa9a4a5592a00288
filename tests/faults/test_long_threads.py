"""Conversations of a thousand turns, and what is left in the files of those that were deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_counts import report, times
from kept_threads import IN_POSTGRESQL, OF_THE_FILE, Kept

from preflight_rag import Preflight
from preflight_rag.testing import ScriptedServer

pytestmark = pytest.mark.slow

QUESTIONS = ("What is granite made of?", "How hard is it?", "Where is it found?")


def test_a_long_thread_takes_no_more_a_turn_than_a_short_one(scripted_app, kept: Kept) -> None:
    last, sizes = times(60, 1000), {}
    with ScriptedServer(default="Granite is made of quartz and feldspar [1].") as server:
        app = scripted_app(server, rewrite="off", threads=kept.url)
        kept = Kept(app.folder, kept.url)
        for number in range(1, last + 1):
            app.ask(f"{QUESTIONS[number % 3]} ({number})", thread_id="t")
            if number in (10, last):
                sizes[number] = kept.bytes() / number
        log = 0 if kept.url else (app.folder / "threads.db-wal").stat().st_size
    report(f"{kept.name}, bytes a turn: {sizes}; log: {log}")
    assert sizes[last] <= 2 * sizes[10]
    assert log < 20_000_000


@OF_THE_FILE
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


def test_no_row_is_left_of_deleted_threads_in_postgresql(scripted_app, postgres) -> None:
    """What rows were, the server's pages keep until its vacuum, as the documentation says."""
    kept = Kept(Path(), postgres.database())
    with ScriptedServer(default="Granite is made of quartz [1].") as server:
        app = scripted_app(server, rewrite="off", threads=kept.url)
        for number in range(times(3, 60)):
            app.ask(f"Is it quartz, {number}?", thread_id=f"anna-{number % 3}")
        app.ask("Is it feldspar?", thread_id="ben")
    left = {table: kept.count(table, "thread_id = 'ben'") for table in IN_POSTGRESQL}
    assert all(kept.count(table, "thread_id like 'anna-%'") for table in ("checkpoints", "checkpoint_blobs", "turns"))
    for number in range(3):
        assert app.delete_thread(f"anna-{number}")
    assert {table: kept.count(table) for table in IN_POSTGRESQL} == left
    assert left["turns"] == 1


@OF_THE_FILE
def test_nothing_is_left_when_the_application_is_closed(small_folder: Path, embedder) -> None:
    with Preflight.open(small_folder, "offline", embedder=embedder, route="plain") as app:
        app.ask("What is granite made of, xylocanary?", thread_id="t")
        app.delete_thread("t")
        app.ask("What is granite made of?", thread_id="other")
    files = [path for path in small_folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"xylocanary" in path.read_bytes()] == []

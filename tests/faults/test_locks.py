"""Lock files of threads: none piles up, and while they are made and removed no two hold one thread."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import times
from kept_threads import Kept

from preflight_rag.threads.locks import FOLDER, remove_unused_locks, thread_lock

pytestmark = pytest.mark.slow

# Each worker takes the threads in a random order; whoever has one makes a file, which fails where there is one.
WORKER = """
import asyncio, os, random, sys
from preflight_rag.threads import locks
from preflight_rag.threads.locks import remove_unused_locks, thread_lock

locks.POLL_SECONDS = 0  # so that files are opened and removed at the same moments
folder, seed, turns, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)

async def main():
    for _ in range(turns):
        thread = f"t{draw.randrange(threads)}"
        async with thread_lock(folder, thread, wait=120):
            held = os.open(f"{folder}/{thread}.held", os.O_CREAT | os.O_EXCL)
            await asyncio.sleep(0)
            os.close(held)
            os.unlink(f"{folder}/{thread}.held")
            with open(f"{folder}/{thread}.count", "a") as counted:
                counted.write("x")
        if draw.random() < 0.1:
            remove_unused_locks(folder)

asyncio.run(main())
"""


# The same over PostgreSQL, where a thread is held by a lock of the server's.
WORKER_IN_POSTGRESQL = """
import asyncio, os, random, sys
from pathlib import Path
from preflight_rag.threads import postgres_store
from preflight_rag.threads.thread_store import open_thread_store

postgres_store.POLL_SECONDS = 0.001
folder, seed, turns, threads, url = Path(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5]
draw = random.Random(seed)

async def turn(store):
    thread = f"t{draw.randrange(threads)}"
    async with store.lock(thread, wait=120):
        held = os.open(folder / f"{thread}.held", os.O_CREAT | os.O_EXCL)
        await asyncio.sleep(0)
        os.close(held)
        os.unlink(folder / f"{thread}.held")
        with open(folder / f"{thread}.count", "a") as counted:
            counted.write("x")

async def main():
    async with open_thread_store(folder, url) as store:
        for _ in range(turns // 4):
            await asyncio.gather(*(turn(store) for _ in range(4)))

asyncio.run(main())
"""


def lock_files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / FOLDER).iterdir())


def test_several_processes_never_hold_one_thread_at_once_and_leave_no_lock_file(tmp_path: Path) -> None:
    processes, turns, threads = 6, times(80, 2000), 2
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [
        subprocess.Popen([*command, str(seed), str(turns), str(threads)], stderr=subprocess.PIPE, text=True)
        for seed in range(processes)
    ]
    assert [worker.communicate()[1][-2000:] for worker in workers] == [""] * processes
    assert sum(len(path.read_text()) for path in tmp_path.glob("*.count")) == processes * turns
    assert lock_files(tmp_path) == []


def test_several_processes_never_hold_one_thread_at_once_in_postgresql(tmp_path: Path, postgres) -> None:
    kept = Kept(tmp_path, postgres.database())
    processes, turns, threads = times(3, 6), times(40, 2000), 2
    command = [sys.executable, "-c", WORKER_IN_POSTGRESQL, str(tmp_path)]
    workers = [
        subprocess.Popen([*command, str(seed), str(turns), str(threads), kept.url], stderr=subprocess.PIPE, text=True)
        for seed in range(processes)
    ]
    assert [worker.communicate()[1][-2000:] for worker in workers] == [""] * processes
    assert sum(len(path.read_text()) for path in tmp_path.glob("*.count")) == processes * turns
    kept.check_whole()
    assert kept.rows("select count(*) from pg_locks where locktype = 'advisory'") == [(0,)]


async def test_a_thousand_threads_leave_no_lock_file(tmp_path: Path) -> None:
    for number in range(times(200, 1000)):
        async with thread_lock(tmp_path, f"thread {number}", wait=0):
            assert len(lock_files(tmp_path)) == 1
    assert lock_files(tmp_path) == []


HOLD = """
import asyncio, sys
from preflight_rag.threads.locks import thread_lock

async def main():
    async with thread_lock(sys.argv[1], sys.argv[2], wait=0):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
async def test_what_killed_processes_leave_is_removed_and_what_is_held_stays(tmp_path: Path) -> None:
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for name in ("killed", "alive")
    ]
    try:
        for holder in holders:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
        os.kill(holders[0].pid, signal.SIGKILL)
        holders[0].wait()
        assert len(lock_files(tmp_path)) == 2
        remove_unused_locks(tmp_path)
        assert len(lock_files(tmp_path)) == 1
        async with thread_lock(tmp_path, "killed", wait=0):
            pass
        with pytest.raises(Exception, match="'alive'"):
            async with thread_lock(tmp_path, "alive", wait=0.2):
                pass
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    await asyncio.to_thread(remove_unused_locks, tmp_path)
    assert lock_files(tmp_path) == []

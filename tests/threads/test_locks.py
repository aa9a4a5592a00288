"""One turn at a time on a thread, within a process and across processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight_rag.state.errors import LibraryError, ThreadBusy, UsageError
from preflight_rag.threads.locks import _local, is_locked, thread_lock, validate_thread_id

HOLD = """
import asyncio, sys
from preflight_rag.threads.locks import thread_lock

async def hold():
    async with thread_lock(sys.argv[1], "t", wait=0):
        print("held", flush=True)
        sys.stdin.readline()

asyncio.run(hold())
"""


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


async def test_waiters_of_a_thread_take_turns_in_order(tmp_path):
    seen = []

    async def turn(number):
        async with thread_lock(tmp_path, "t", wait=10):
            seen.append(("in", number))
            await asyncio.sleep(0)
            seen.append(("out", number))

    await asyncio.gather(*(turn(number) for number in range(5)))
    assert seen == [(what, number) for number in range(5) for what in ("in", "out")]


def test_whether_another_process_works_on_a_thread_is_seen_and_disturbs_nobody(tmp_path, holder):
    for _ in range(2):
        assert is_locked(tmp_path, "t")
        assert not is_locked(tmp_path, "other")
    holder.kill()
    holder.wait()
    assert not is_locked(tmp_path, "t")


def test_a_lock_file_of_another_user_counts_as_held(tmp_path, holder, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("preflight_rag.threads.locks.os.open", refuse)
    assert is_locked(tmp_path, "t")


async def test_a_busy_thread_is_refused_by_name(tmp_path):
    async with thread_lock(tmp_path, "t", wait=0):
        with pytest.raises(ThreadBusy, match=r"'t' after 0\.05 s"):
            async with thread_lock(tmp_path, "t", wait=0.05):
                pass
        async with thread_lock(tmp_path, "other", wait=0):
            pass
    async with thread_lock(tmp_path, "t", wait=0):
        pass


async def test_another_process_is_waited_for(tmp_path, holder):
    with pytest.raises(ThreadBusy):
        async with thread_lock(tmp_path, "t", wait=0.1):
            pass
    asyncio.get_running_loop().call_later(0.1, lambda: print(file=holder.stdin, flush=True))
    async with thread_lock(tmp_path, "t", wait=30):
        assert await asyncio.to_thread(holder.wait, 30) == 0


async def test_a_killed_process_leaves_no_lock(tmp_path, holder):
    holder.kill()
    holder.wait()
    async with thread_lock(tmp_path, "t", wait=0):
        pass


async def test_another_event_loop_of_the_process_is_waited_for(tmp_path):
    held, free = threading.Event(), threading.Event()

    async def hold():
        async with thread_lock(tmp_path, "t", wait=0):
            held.set()
            await asyncio.to_thread(free.wait)

    other = threading.Thread(target=lambda: asyncio.run(hold()))
    other.start()
    await asyncio.to_thread(held.wait)
    with pytest.raises(ThreadBusy):
        async with thread_lock(tmp_path, "t", wait=0):
            pass
    free.set()
    async with thread_lock(tmp_path, "t", wait=30):
        other.join()


async def test_the_lock_is_free_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError):
        async with thread_lock(tmp_path, "t", wait=0):
            1 / 0  # noqa: B018
    async with thread_lock(tmp_path, "t", wait=0):
        pass


async def test_a_cancelled_waiter_takes_nothing_along(tmp_path):
    async def wait():
        async with thread_lock(tmp_path, "t", wait=60):
            pass

    async with thread_lock(tmp_path, "t", wait=0):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    async with thread_lock(tmp_path, "t", wait=0):
        pass


async def test_a_waiter_cancelled_at_another_process_s_lock_takes_nothing_along(tmp_path, holder):
    async def wait():
        async with thread_lock(tmp_path, "t", wait=60):
            pass

    waiter = asyncio.create_task(wait())
    await asyncio.sleep(0.1)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    print(file=holder.stdin, flush=True)
    holder.wait()
    async with thread_lock(tmp_path, "t", wait=0):
        pass


async def test_locks_that_nobody_holds_take_no_memory(tmp_path):
    for number in range(20):
        async with thread_lock(tmp_path, f"t{number}", wait=0):
            pass
    assert len(_local[asyncio.get_running_loop()]) == 0


async def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LibraryError, match="cannot be made"):
        async with thread_lock(tmp_path / "file", "t", wait=0):
            pass


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=200).filter(str.strip))
def test_any_printable_text_can_name_a_thread(value):
    assert validate_thread_id(value) == value


@pytest.mark.parametrize(
    "value", [None, 1, True, b"t", "", "  ", "\u2003", "a\0b", "a\nb", "\x7f", "\ud800", "x" * 201]
)
def test_what_cannot_name_a_thread_is_refused(value):
    with pytest.raises(UsageError) as raised:
        validate_thread_id(value)
    assert repr(value)[:41] in raised.value.message
    assert raised.value.exit_code == 2

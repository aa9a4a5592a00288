"""Two searches at once: both results, either error, and no waiting for threads that are busy."""

import os
import threading

import pytest

from preflight_rag.library.search import two_at_once as room
from preflight_rag.library.search.two_at_once import two_at_once

SECONDS = 30
"""Until a test gives up waiting for another thread."""


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    room._threads.cache_clear()


def test_both_run_at_once():
    meeting = threading.Barrier(2)

    def met():
        meeting.wait(SECONDS)  # breaks unless the other one is there
        return threading.current_thread()

    first, second = two_at_once(met, met)
    assert second is threading.current_thread()
    assert first is not second


@pytest.mark.parametrize("which", [0, 1])
def test_either_error_comes_out(which):
    def fail():
        raise ValueError("broken")

    both = [lambda: 1, lambda: 2]
    both[which] = fail
    with pytest.raises(ValueError, match="broken"):
        two_at_once(*both)


def test_where_all_threads_are_busy_it_is_done_here():
    free, begun = threading.Event(), threading.Semaphore(0)

    def busy():
        begun.release()
        assert free.wait(SECONDS)

    held = [room._threads(2).submit(busy) for _ in range(2)]
    try:
        assert all(begun.acquire(timeout=SECONDS) for _ in held)
        assert two_at_once(threading.current_thread, lambda: 2) == (threading.current_thread(), 2)
    finally:
        free.set()
    assert all(each.result(SECONDS) is None for each in held)


def test_one_core_needs_no_thread(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    here = threading.current_thread()
    assert two_at_once(threading.current_thread, threading.current_thread) == (here, here)

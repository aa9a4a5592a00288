"""Run two searches of one question at once, if there is a second core."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def two_at_once(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Run both functions, the first in another thread if there is a second core and a free thread; return both results.

    Both must be native code that releases the interpreter's lock, such as FAISS and tantivy, and take milliseconds:
    starting a thread takes a tenth of one.
    """
    if (cores := os.cpu_count() or 1) < 2:
        return first(), second()
    future = _threads(cores).submit(first)
    try:
        second_result = second()
    except BaseException:
        future.cancel()
        raise
    # It can be cancelled only while it still waits for a thread: then it is done sooner in this thread.
    first_result = first() if future.cancel() else future.result()
    return first_result, second_result


@cache
def _threads(number: int) -> ThreadPoolExecutor:
    """Return a pool of threads, which is kept for later calls."""
    return ThreadPoolExecutor(number, thread_name_prefix="preflight-search")

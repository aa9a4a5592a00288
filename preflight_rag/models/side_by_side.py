"""Parallel runs of a small model: each on one core, as many at once as there are cores to use.

A single run over two cores mostly waits for synchronisation: the reader over 16 passages of whole documents took twice
the processor time that way, and longer than two runs at once of one core each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(run: Callable[[T], R], items: Sequence[T], at_once: int) -> Iterator[R]:
    """Call `run` for each item, in several threads at once, and yield the results in the items' order.

    Fewer than two items or threads are run lazily in the caller's thread.

    Args:
        run: The function; it must not call `side_by_side` itself, which could wait for its own thread.
        items: The arguments, one for each call.
        at_once: Number of threads; they are reused by the next call.
    """
    if at_once < 2 or len(items) < 2:
        return map(run, items)
    return _thread_pool(at_once).map(run, items)


@cache
def _thread_pool(number: int) -> ThreadPoolExecutor:
    """Return the process's pool with this number of threads; it is created at the first call and kept."""
    return ThreadPoolExecutor(number, thread_name_prefix="preflight-model")

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
    """Return the result of `run` for each item, in order; `run` must not call this function itself.

    Args:
        run: Called from several threads at once.
        items: Its arguments.
        at_once: Number of threads; they are reused by the next call.
    """
    if at_once < 2 or len(items) < 2:
        return map(run, items)
    return _threads(at_once).map(run, items)


@cache
def _threads(number: int) -> ThreadPoolExecutor:
    """Return a pool of threads, which is kept for later calls."""
    return ThreadPoolExecutor(number, thread_name_prefix="preflight-model")

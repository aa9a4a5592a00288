"""Spacing of requests: NCBI counts the requests of a whole machine, so one clock serves all threads and clients."""

from __future__ import annotations

import threading
import time

ALLOWANCE = 1.05
"""Requests start this much further apart than the limit asks for, since their ways to the server differ in length."""


class Spacing:
    """Lets requests start one after another, each at least an interval after the last.

    Threads wait for their turn under one lock; the interval counts from when the last request really started.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._last = float("-inf")
        self._resume = float("-inf")

    def wait(self, per_second: float, deadline: float) -> float:
        """Block until the next request may start, and return that time as `time.monotonic()` counts.

        Args:
            per_second: Most requests that may start in a second.
            deadline: The latest start, in the same clock.

        Raises:
            TimeoutError: No start is free before the deadline; nothing was taken from other threads.
        """
        left = deadline - time.monotonic()
        if left < 0 or not self._turn.acquire(timeout=left):
            raise TimeoutError
        try:
            while (start := max(self._next(per_second), now := time.monotonic())) > now:
                if start > deadline:
                    raise TimeoutError
                time.sleep(start - now)
            self._last = time.monotonic()
            return self._last
        finally:
            self._turn.release()

    def hold(self, seconds: float) -> None:
        """Let no request start for so long, because the server said that they come too fast."""
        self._resume = max(self._resume, time.monotonic() + seconds)

    def _next(self, per_second: float) -> float:
        return max(self._last + ALLOWANCE / per_second, self._resume)


PROCESS = Spacing()
"""The spacing that all clients of the process share."""

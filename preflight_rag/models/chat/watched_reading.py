"""Whether a model on this machine reads a prompt in the time that its turn has, found out while it reads.

Of a model that was never asked here nobody knows how fast it is. What runs on this machine may take minutes for what
others read in a second; so its first call is watched. A model in this process says how far it has read (`reading`), and
two seconds of that are enough. A server says nothing until its first word: it is given up after a share of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter

READ_SHARE = 0.5
"""Share of the remaining time that reading a prompt may take: writing needs the rest. A guess."""
SILENT_SHARE = 0.4
"""Share of the remaining time after which a silent model is given up: the rest has to be enough for a shorter prompt. A
guess."""
GUESSED_SHARE = 0.33
"""Share of the tokens that a silent model has left unread, as an estimate of what it can read in the same time. A
guess."""
LEAST_SECONDS, LEAST_TOKENS = 2.0, 64
"""Least seconds and tokens of a model's reading for its speed to be measured. Guesses."""
reading: ContextVar[Callable[[int, int], None] | None] = ContextVar("reading", default=None)
"""Whom a model in this process tells how many of a prompt's tokens it has read, and how many there are."""


class WatchedReading:
    """One call's prompt while it is read.

    Args:
        tokens: Of the prompt.
        left: Seconds that the turn has left.
        give_up: Ends the call.

    Attributes:
        gave_up: Whether the call was ended since reading takes too long.
        has_read: Tokens that were read for certain, and the seconds that this took.
    """

    def __init__(self, tokens: int, left: float, give_up: Callable[[], None]) -> None:
        self._tokens, self._left, self._give_up = tokens, left, give_up
        self._began = perf_counter()
        self._first: tuple[int, float] | None = None
        self._is_read = False
        self.gave_up = False
        self.has_read: tuple[int, float] | None = None
        self._timer = asyncio.get_running_loop().call_later(max(left, 0.0) * SILENT_SHARE, self._silent)

    def progress(self, read: int, tokens: int) -> None:
        """Take in how far the model is; what it had read before this call does not count."""
        now = perf_counter()
        self._timer.cancel()
        if self._first is None:
            self._first = read, now
            return
        done, seconds = read - self._first[0], now - self._first[1]
        if done < LEAST_TOKENS or seconds < LEAST_SECONDS:
            return
        self.has_read = done, seconds
        if not self._is_read and (tokens - read) * seconds / done > READ_SHARE * self._left:
            self._end()

    def ended(self) -> None:
        """Watch no longer: the model has begun to write, or the call is over."""
        self._is_read = True
        self._timer.cancel()

    def room(self) -> int:
        """Return the tokens of a prompt that the model is expected to read in the time that is left."""
        seconds = perf_counter() - self._began
        if self.has_read is not None:
            done, took = self.has_read
        else:
            done, took = int(GUESSED_SHARE * self._tokens), seconds
        return int(READ_SHARE * max(self._left - seconds, 0.0) * done / max(took, 0.001))

    def _silent(self) -> None:
        if not self._is_read:
            self._end()

    def _end(self) -> None:
        self.gave_up = True
        self.ended()
        self._give_up()

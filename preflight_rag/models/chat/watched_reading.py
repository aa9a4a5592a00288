"""Observes whether a model on this machine can read a prompt in the time that its turn has, while it reads.

The speed of a new model is unknown, and a model on this machine may need minutes for what others read in a second;
so its first call is observed. A model in this process reports its progress (`reading`), and two seconds of that are
enough. A server reports nothing before its first word: it is given up after a share of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter

READ_SHARE = 0.5
"""Share of the remaining time that reading a prompt may take: the reply needs the rest. A guess."""
SILENT_SHARE = 0.4
"""Share of the remaining time after which a silent model is given up: the rest has to suffice for a shorter prompt. A
guess."""
INDIVISIBLE_SHARE = 0.8
"""Used instead of both shares if a prompt cannot be shortened: the alternative is no reply at all. A guess."""
GUESSED_SHARE = 0.33
"""Share of the tokens that a silent model has left unread, as an estimate of what it can read in the same time. A
guess."""
LEAST_SECONDS, LEAST_TOKENS = 2.0, 64
"""Seconds and tokens of a model's reading from which on its speed is measured. Guesses."""
reading: ContextVar[Callable[[int, int], None] | None] = ContextVar("reading", default=None)
"""Callback of the current call, to which a model in this process reports how many of a prompt's tokens it has read."""


class WatchedReading:
    """Observes the reading of one call's prompt, and ends the call if it takes too long.

    Args:
        tokens: Tokens of the prompt.
        left: Seconds that the turn has left.
        give_up: Ends the call.
        divisible: Whether the caller could send a shorter prompt.

    Attributes:
        left: Seconds that the turn had left when the call was made.
        gave_up: Whether the call was ended because reading takes too long.
        has_read: Tokens that were certainly read, and the seconds that this took.
    """

    def __init__(self, tokens: int, left: float, give_up: Callable[[], None], *, divisible: bool = True) -> None:
        self.left, self._tokens, self._give_up = left, tokens, give_up
        self._began = perf_counter()
        self._first: tuple[int, float] | None = None
        self._is_read = False
        self.gave_up = False
        self.has_read: tuple[int, float] | None = None
        self._read_share, silent = (READ_SHARE, SILENT_SHARE) if divisible else (INDIVISIBLE_SHARE, INDIVISIBLE_SHARE)
        self._timer = asyncio.get_running_loop().call_later(max(left, 0.0) * silent, self._on_silence)

    def progress(self, read: int, tokens: int) -> None:
        """Record how many tokens of the prompt are read, and end the call if the others would take too long.

        Tokens that were read before the first report do not count: they may come from the model's cache.
        """
        now = perf_counter()
        self._timer.cancel()
        if self._first is None:
            self._first = read, now
            return
        first_read, first_time = self._first
        done, seconds = read - first_read, now - first_time
        if done < LEAST_TOKENS or seconds < LEAST_SECONDS:
            return
        self.has_read = done, seconds
        seconds_needed = (tokens - read) * seconds / done
        if not self._is_read and seconds_needed > self._read_share * self.left:
            self._end()

    def ended(self) -> None:
        """Stop observing: the model has begun to write, or the call is over."""
        self._is_read = True
        self._timer.cancel()

    def at_most(self) -> tuple[int, float]:
        """Return the prompt's tokens and the seconds since its call: a silent model has read no faster than that."""
        return self._tokens, perf_counter() - self._began

    def expected_seconds(self) -> float | None:
        """Return how many seconds the model needs for the whole prompt; None if it has not reported progress."""
        if self.has_read is None:
            return None
        done, seconds = self.has_read
        return self._tokens * seconds / done

    def room(self) -> int:
        """Return how many tokens the model can be expected to read in the time left; of a silent model, a guess."""
        elapsed = perf_counter() - self._began
        if self.has_read is not None:
            done, seconds = self.has_read
        else:
            done, seconds = int(GUESSED_SHARE * self._tokens), elapsed
        return int(READ_SHARE * max(self.left - elapsed, 0.0) * done / max(seconds, 0.001))

    def _on_silence(self) -> None:
        """End the call if the model has neither written nor reported progress when its time is over."""
        if not self._is_read:
            self._end()

    def _end(self) -> None:
        """Record that the reading was given up, and end the call."""
        self.gave_up = True
        self.ended()
        self._give_up()

"""How often somebody may ask: a bucket of tokens for each user or address, filled at a steady rate."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_BUCKETS = 10_000


class Rates:
    """Token buckets that hold one minute's requests.

    Args:
        per_minute: Requests a minute; 0 for no limit.
        clock: Seconds that never go back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str, cost: float = 1.0) -> float:
        """Take tokens; 0 if they were there, else the seconds until they are."""
        if not self.per_minute:
            return 0.0
        now, full = self._clock(), float(self.per_minute)
        held, since = self._buckets.pop(who, (full, now))
        held = min(full, held + (now - since) * full / 60)
        served = held >= cost
        self._buckets[who] = (held - cost if served else held, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.pop(next(iter(self._buckets)))
        return 0.0 if served else (cost - held) * 60 / full

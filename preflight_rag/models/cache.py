"""A cache whose presence cannot change a result: each value is made of its key alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class PureCache(Generic[K, V]):
    """Values of a pure function by their arguments, the oldest dropped first. Thread-safe.

    It does not hold the function: one that is a method of the cache's owner would make a circle of the two, and the
    owner's models would stay in memory until the garbage collector comes by.

    Args:
        most: Values that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[K, V] = OrderedDict()

    def get(self, keys: Sequence[K], make: Callable[[Sequence[K]], Sequence[V]]) -> list[V]:
        """The value of each key, in order.

        Args:
            keys: What the values are made of.
            make: Makes those that are new, in order and in one call; a value must depend on nothing but its key.
        """
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        new = [key for key in dict.fromkeys(keys) if key not in found]
        if new:
            # Made without the lock, so that threads do not wait for each other; two may then make the same value.
            made = dict(zip(new, make(new), strict=True))
            found |= made
            with self._lock:
                self._known |= made
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
        return [found[key] for key in keys]

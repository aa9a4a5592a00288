"""Caches that cannot change a result: each value depends on its key alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class PureCache(Generic[K, V]):
    """Values of a pure function by their arguments; when the cache is full, the oldest is dropped. Thread-safe.

    If one thread is computing a value, another thread that needs the same value waits for it: a question's passages are
    read ahead of its turn, which must not read them a second time.

    The cache holds no reference to the function. A method of the cache's owner would form a reference cycle with it,
    and the owner's models would stay in memory until the garbage collector runs.

    Args:
        most: Maximum number of values to keep.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()
        self._computing: dict[K, Future[Mapping[K, V]]] = {}

    def get(self, keys: Sequence[K], make: Callable[[Sequence[K]], Sequence[V]]) -> list[V]:
        """Return the value of each key, in order: cached, awaited from another thread, or computed by `make`.

        Args:
            keys: The keys.
            make: Computes the values of new keys, in order and in one call; a value must depend on nothing but its key.
                It must not use this cache.
        """
        computed: Future[Mapping[K, V]] = Future()
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            missing = [key for key in dict.fromkeys(keys) if key not in found]
            awaited = {key: self._computing[key] for key in missing if key in self._computing}
            new = [key for key in missing if key not in awaited]
            self._computing |= dict.fromkeys(new, computed)
        if new:
            found |= self._compute_and_store(new, make, computed)
        for key, other_computed in awaited.items():
            found |= other_computed.result()
            # the other thread failed; this one computes the value itself, and gets the error if it recurs
            if key not in found:
                found[key] = self.get([key], make)[0]
        return [found[key] for key in keys]

    def _compute_and_store(
        self, new: Sequence[K], make: Callable[[Sequence[K]], Sequence[V]], computed: Future[Mapping[K, V]]
    ) -> Mapping[K, V]:
        """Compute the values of new keys, store them in the cache and in the future `computed`, and return them.

        They are computed without the lock, so that callers for other keys need not wait. If `make` fails, its error is
        raised, and the future gets an empty mapping.
        """
        values: dict[K, V] = {}
        try:
            values = dict(zip(new, make(new), strict=True))
        finally:
            with self._lock:
                for key in new:
                    del self._computing[key]
                self._values |= values
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
            computed.set_result(values)
        return values


class SharedModels(Generic[K, V]):
    """Loaded models that everything in this process shares, so that each is in memory once. Thread-safe.

    The last one stays loaded when nothing uses it any more: loading it for each application that a process opens took
    half a second each time, and memory of freed weights that the C library kept grew to hundreds of megabytes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: WeakValueDictionary[K, V] = WeakValueDictionary()
        self._last: V | None = None

    def get(self, key: K, load: Callable[[], V]) -> V:
        """Return the model for a key; the first caller loads it while others wait.

        Args:
            key: Everything on which the model depends: its files (`file_identity`), and the settings for loading.
            load: Loads the model.
        """
        with self._lock:
            model = self._used.get(key)
            if model is None:
                model = load()
                self._used[key] = model
            self._last = model
            return model


def file_identity(path: Path) -> tuple[str, int, int, int, int]:
    """Return a key that differs between two files, and between two versions of a file.

    Raises:
        OSError: There is no such file.
    """
    status = path.stat()
    return str(path.resolve()), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

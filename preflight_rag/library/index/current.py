"""The index that searches read: the newest one, kept open, and rebuilt where it is missing or damaged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.library.index.generations import Index, Stamp, manifest_stamp, open_index
from preflight_rag.state.errors import LibraryCorrupt, LibraryEmpty, LibraryError

if TYPE_CHECKING:
    from preflight_rag.library.storage.store import Store


class CurrentIndex:
    """The index that the manifest names; another one is opened as soon as it is swapped in, by whatever process.

    Args:
        store: The database that the index is made of.
        root: The library's index folder.
        rebuild: Builds the index anew and swaps it in.
    """

    def __init__(self, store: Store, root: Path, rebuild: Callable[[], None]) -> None:
        self._store, self._root, self._rebuild = store, root, rebuild
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._stamp: Stamp | None = None
        self._repairs: list[str] = []

    def get(self) -> Index:
        """The index, rebuilt from the database where it is missing, damaged or empty.

        Raises:
            LibraryEmpty: There is no passage to find.
            LibraryError: It has to be rebuilt and cannot be.
        """
        with self._lock:
            stamp = manifest_stamp(self._root)
            if self._index is None or stamp is None or stamp != self._stamp:
                damage = None
                try:
                    index = open_index(self._root)
                except LibraryCorrupt as error:
                    index, damage = None, error
                if (index is None or not len(index.rows)) and self._store.count_passages():
                    self._repair(damage)
                    index, stamp = open_index(self._root), manifest_stamp(self._root)
                self._index, self._stamp = index, stamp
            if self._index is None or not len(self._index.rows):
                raise LibraryEmpty(f"The library at {self._root.parent} is empty", help="Run: preflight ingest PATH")
            return self._index

    def after(self, damage: LibraryCorrupt) -> Index:
        """The index to search after one turned out damaged: rebuilt, unless another one was swapped in meanwhile."""
        with self._lock:
            if manifest_stamp(self._root) == self._stamp:
                self._repair(damage)
            return self.get()

    def notes(self) -> list[str]:
        """That it was rebuilt, and how many documents it does not know yet."""
        notes = list(self._repairs)
        with self._lock:
            known = self._index.manifest.generation if self._index else None
        if known is not None and (waiting := self._store.pending(known)):
            notes.append(f"Documents that wait for the next ingest to bring them into the index: {waiting}")
        return notes

    def close(self) -> None:
        """Drop the index from memory."""
        with self._lock:
            self._index = None

    def _repair(self, damage: LibraryCorrupt | None) -> None:
        reason = damage.message if damage else "There was no index yet"
        try:
            self._rebuild()
        except LibraryError as error:
            raise type(error)(f"{reason}, and none can be built: {error.message}", help=error.help) from error
        self._repairs.append(f"{reason}; it was rebuilt from the database")

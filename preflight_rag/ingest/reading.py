"""Reading ahead: the next files are read, each in a confined process, while the passages before them are embedded.

One process reads, with the limits of `loaders/isolated.py`. Further ones are started only where the documents that are
there are waited for, up to what cores and memory allow. Documents come in the order of the files, whichever process was
quicker.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from preflight_rag.ingest.loaders.isolated import IsolatedLoader
from preflight_rag.state.errors import DocumentError
from preflight_rag.state.memory import available_bytes
from preflight_rag.state.values import Document

AHEAD_FILES = 32
"""Files that are begun ahead, at most; a guess: small files are read faster than they are embedded."""
AHEAD_CHARACTERS = 8_000_000
"""Of documents that wait to be taken, beside those that a reader has in hand; a guess that keeps memory flat."""
AHEAD_DOCUMENTS = 256
"""Of one file that wait to be taken; a guess."""
MOST_PROCESSES = 8
"""That read at once; a guess: reading is a tenth of the work, so that one of them feeds several cores."""
WAITED_SECONDS = 2.0
"""So long documents are waited for before a further process is started. Starting the first one and importing its
parsers takes half as long, for which no second one is needed."""
LOOK_SECONDS = 0.25
"""Between two looks at whether to stop, where documents are waited for."""


@dataclass(frozen=True, slots=True)
class PageRead:
    """Progress event: some pages of a file have been read."""

    done: int
    total: int


ReadItem: TypeAlias = Document | DocumentError | PageRead


@dataclass(eq=False)
class _File:
    """A file that is read ahead, with the items that were read and not yet taken."""

    path: Path
    max_bytes: int
    folder: Path | None
    items: deque[ReadItem] = field(default_factory=deque)
    characters: int = 0
    is_ended: bool = False
    error: Exception | None = None


class _Closed(BaseException):
    """Ends a loader whose documents nobody needs any more."""


class ReadAhead:
    """Reads files ahead in worker processes, in the order of `begin`; `items` yields the content of each.

    Args:
        processes: Most that read at once; as many as cores and memory allow, unless given.
    """

    def __init__(self, processes: int | None = None) -> None:
        self._most = processes or most_processes()
        self._changed = threading.Condition()
        self._known: dict[Path, _File] = {}
        self._waiting: deque[_File] = deque()
        self._current: _File | None = None
        self._characters = 0
        self._waited = 0.0
        self._is_closed = False
        self._readers: list[tuple[threading.Thread, IsolatedLoader]] = []

    @property
    def processes(self) -> int:
        """Number of reader processes started so far."""
        return len(self._readers)

    def begin(self, path: Path, *, max_bytes: int, folder: Path | None, now: bool = False) -> None:
        """Queue a file for reading; the arguments are those of `IsolatedLoader.load`.

        With `now` it is read before the queued files, by a further process: the other processes may be waiting until
        their results are taken.
        """
        file = _File(path, max_bytes, folder)
        with self._changed:
            self._known[path] = file
            (self._waiting.appendleft if now else self._waiting.append)(file)
            self._changed.notify_all()
        if now or not self._readers:
            self._start_reader()

    def is_begun(self, path: Path) -> bool:
        """Return whether a file was queued with `begin`."""
        return path in self._known

    def items(self, path: Path, go_on: Callable[[], None]) -> Iterator[ReadItem]:
        """Yield the documents and events of a queued file, the next one in order, as they are read.

        Args:
            path: The file.
            go_on: Called again and again while nothing is there yet; what it raises ends the reading of this file.

        Raises:
            DocumentError: The file as a whole cannot be read, or not further.
        """
        file = self._known.pop(path)
        with self._changed:
            self._current = file
            self._changed.notify_all()
        while True:
            with self._changed:
                self._wait_for(file)
                item = file.items.popleft() if file.items else None
                if isinstance(item, Document):
                    self._count(file, -len(item.text))
                self._changed.notify_all()
            if item is not None:
                yield item
            elif not file.is_ended:
                go_on()
            elif file.error is not None:
                raise file.error
            else:
                return

    def close(self) -> None:
        """Kill all readers."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread, loader in self._readers:
            while thread.is_alive():
                loader.close()
                thread.join(0.05)

    def _wait_for(self, file: _File) -> None:
        """Wait a moment for an item of a file; after frequent waiting, start a further reader process."""
        if file.items or file.is_ended:
            return
        began = time.monotonic()
        self._changed.wait(LOOK_SECONDS)
        self._waited += time.monotonic() - began
        if self._waited > WAITED_SECONDS and self._waiting and len(self._readers) < self._most:
            self._waited = 0.0
            self._start_reader()

    def _start_reader(self) -> None:
        """Start a reader process, with its thread."""
        loader = IsolatedLoader()
        thread = threading.Thread(target=self._read, args=(loader,), name="preflight-reader", daemon=True)
        self._readers.append((thread, loader))
        thread.start()

    def _read(self, loader: IsolatedLoader) -> None:
        """Read one file after another; the thread lives as long as its process, which would die with it."""
        try:
            while (file := self._next()) is not None:
                error: Exception | None = None
                try:
                    self._read_file(loader, file)
                except Exception as problem:
                    error = problem
                with self._changed:
                    file.is_ended, file.error = True, error
                    self._changed.notify_all()
        except _Closed:
            return
        finally:
            loader.close()

    def _next(self) -> _File | None:
        """Return the next file, waiting for one; None after `close`."""
        with self._changed:
            while not self._waiting and not self._is_closed:
                self._changed.wait()
            return None if self._is_closed else self._waiting.popleft()

    def _read_file(self, loader: IsolatedLoader, file: _File) -> None:
        """Read a file, and store its items."""

        def on_page(done: int, total: int) -> None:
            """Store the progress of reading."""
            self._put(file, PageRead(done, total))

        for item in loader.load(file.path, max_bytes=file.max_bytes, on_page=on_page, folder=file.folder):
            self._put(file, item)

    def _put(self, file: _File, item: ReadItem) -> None:
        """Store an item of a file, waiting until there is room."""
        with self._changed:
            if isinstance(item, PageRead) and file.items and isinstance(file.items[-1], PageRead):
                file.items.pop()  # nobody has looked yet: the later count says it all
            while not self._has_room(file) and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise _Closed
            file.items.append(item)
            if isinstance(item, Document):
                self._count(file, len(item.text))
            self._changed.notify_all()

    def _has_room(self, file: _File) -> bool:
        """Return whether more items of a file may be stored.

        The file being taken has a limit of its own: the files after it may have used up the shared one.
        """
        waiting = file.characters if file is self._current else self._characters
        return len(file.items) < AHEAD_DOCUMENTS and waiting < AHEAD_CHARACTERS

    def _count(self, file: _File, characters: int) -> None:
        """Count characters that wait to be taken."""
        file.characters += characters
        self._characters += characters


def most_processes() -> int:
    """Return how many processes may read at once: one for each core, as far as memory allows."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    free = available_bytes()
    room = MOST_PROCESSES if free is None else free // IsolatedLoader().memory_bytes
    return max(1, min(cores, MOST_PROCESSES, room))

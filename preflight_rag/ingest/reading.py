"""Reading ahead: the next files are read, each in a confined process, while the passages before them are embedded.

One process reads, with the limits of `loaders/isolated.py`. Further ones are started only when the caller has to wait
for documents, up to what cores and memory allow. Documents come in the order of the files, in whatever order they are
read.
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
"""Maximum number of files queued ahead; a guess: small files are read faster than they are embedded."""
AHEAD_CHARACTERS = 8_000_000
"""Maximum number of characters of the documents that wait to be taken; a guess that keeps memory flat."""
AHEAD_DOCUMENTS = 256
"""Maximum number of documents of one file that wait to be taken; a guess."""
MOST_PROCESSES = 8
"""Maximum number of reader processes; a guess: reading is a tenth of the work, so that one process feeds several
cores."""
WAITED_SECONDS = 2.0
"""Seconds of waiting for documents after which a further process is started. Starting the first one and importing its
parsers takes half as long, which is no reason for a second one."""
LOOK_SECONDS = 0.25
"""Seconds between two checks whether to stop, while documents are waited for."""


@dataclass(frozen=True, slots=True)
class PageRead:
    """Progress event: some pages of a file have been read."""

    done: int
    total: int


ReadItem: TypeAlias = Document | DocumentError | PageRead


@dataclass(eq=False)
class _QueuedFile:
    """A file that is read ahead, with the items that were read and not yet taken.

    Attributes:
        characters: Number of characters of the documents among `items`.
        is_ended: Whether the file was read to its end, or up to `error`.
    """

    path: Path
    max_bytes: int
    folder: Path | None
    items: deque[ReadItem] = field(default_factory=deque)
    characters: int = 0
    is_ended: bool = False
    error: Exception | None = None


class _Closed(BaseException):
    """Raised in a reader thread to end its loader after `ReadAhead.close`: nobody takes its documents any more."""


class ReadAhead:
    """Reads files ahead in worker processes, in the order of `begin`; `items` yields the content of each.

    Args:
        processes: Maximum number of reader processes; None for as many as cores and memory allow.
    """

    def __init__(self, processes: int | None = None) -> None:
        self._max_processes = processes or most_processes()
        self._changed = threading.Condition()
        self._known: dict[Path, _QueuedFile] = {}
        self._waiting: deque[_QueuedFile] = deque()
        self._current: _QueuedFile | None = None
        self._characters = 0
        self._waited_seconds = 0.0
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
        file = _QueuedFile(path, max_bytes, folder)
        with self._changed:
            self._known[path] = file
            if now:
                self._waiting.appendleft(file)
            else:
                self._waiting.append(file)
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
            go_on: Called repeatedly while nothing is there yet; an exception that it raises ends the iteration.

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
                    self._add_waiting_characters(file, -len(item.text))
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
        """Kill all reader processes, and wait until their threads have ended."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread, loader in self._readers:
            while thread.is_alive():
                loader.close()
                thread.join(0.05)

    def _wait_for(self, file: _QueuedFile) -> None:
        """Wait up to `LOOK_SECONDS` for an item of a file; after much waiting, start a further reader process."""
        if file.items or file.is_ended:
            return
        began = time.monotonic()
        self._changed.wait(LOOK_SECONDS)
        self._waited_seconds += time.monotonic() - began
        may_start = self._waiting and len(self._readers) < self._max_processes
        if self._waited_seconds > WAITED_SECONDS and may_start:
            self._waited_seconds = 0.0
            self._start_reader()

    def _start_reader(self) -> None:
        """Start a reader process, and the thread that passes it files."""
        loader = IsolatedLoader()
        thread = threading.Thread(target=self._read_files, args=(loader,), name="preflight-reader", daemon=True)
        self._readers.append((thread, loader))
        thread.start()

    def _read_files(self, loader: IsolatedLoader) -> None:
        """Read one queued file after another until `close`; the reader process ends with the thread that started it."""
        try:
            while (file := self._next_file()) is not None:
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

    def _next_file(self) -> _QueuedFile | None:
        """Wait for a queued file, and take the next one from the queue; None after `close`."""
        with self._changed:
            while not self._waiting and not self._is_closed:
                self._changed.wait()
            return None if self._is_closed else self._waiting.popleft()

    def _read_file(self, loader: IsolatedLoader, file: _QueuedFile) -> None:
        """Read a file, and append its documents, errors and progress events to its items."""

        def on_page(done: int, total: int) -> None:
            """Append an event for the pages read so far."""
            self._put(file, PageRead(done, total))

        for item in loader.load(file.path, max_bytes=file.max_bytes, on_page=on_page, folder=file.folder):
            self._put(file, item)

    def _put(self, file: _QueuedFile, item: ReadItem) -> None:
        """Append an item to a file, waiting until there is room; a progress event replaces one that still waits.

        Raises:
            _Closed: `close` was called.
        """
        with self._changed:
            if isinstance(item, PageRead) and file.items and isinstance(file.items[-1], PageRead):
                file.items.pop()
            while not self._has_room(file) and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise _Closed
            file.items.append(item)
            if isinstance(item, Document):
                self._add_waiting_characters(file, len(item.text))
            self._changed.notify_all()

    def _has_room(self, file: _QueuedFile) -> bool:
        """Return whether more items of a file may be appended.

        The file whose items are being taken has its own limit: the files after it may have used up the shared one.
        """
        waiting = file.characters if file is self._current else self._characters
        return len(file.items) < AHEAD_DOCUMENTS and waiting < AHEAD_CHARACTERS

    def _add_waiting_characters(self, file: _QueuedFile, characters: int) -> None:
        """Add to the number of characters that wait to be taken, of the file and of all files; it may be negative."""
        file.characters += characters
        self._characters += characters


def most_processes() -> int:
    """Return how many processes may read at once: one for each core, as far as memory allows; at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    free_bytes = available_bytes()
    fit_in_memory = MOST_PROCESSES if free_bytes is None else free_bytes // IsolatedLoader().memory_bytes
    return max(1, min(cores, MOST_PROCESSES, fit_in_memory))

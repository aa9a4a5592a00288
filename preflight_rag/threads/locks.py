"""One turn at a time on a thread, within this process and across processes.

Two turns at once on one thread would both start from the same checkpoint, and one of them would be lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import sys
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from preflight_rag.state.errors import LibraryError, ThreadBusy, UsageError, system_help

FOLDER = ".locks"
POLL_SECONDS = 0.05
"""Seconds between two tries of a file lock; a guess: a turn takes seconds."""
THREAD_ID_CHARACTERS = 200
"""Longest id of a thread; a guess, far above a UUID."""

RANDOM_BYTES = 10
"""Random bytes of a thread id: among a million conversations, two have the same id with a chance of 1 in 10^12."""

_Locks = WeakValueDictionary[Path, asyncio.Lock]
_local: WeakKeyDictionary[asyncio.AbstractEventLoop, _Locks] = WeakKeyDictionary()


def new_thread_id(kind: str) -> str:
    """Return a random thread id, for calls that name no thread."""
    return f"{kind}-{secrets.token_hex(RANDOM_BYTES)}"


def validate_thread_id(value: object) -> str:
    """Return the value, if it can name a thread.

    Raises:
        UsageError: It is not text (1 and "1" would be the same thread), is blank, holds a control character, or is
            longer than 200 characters.
    """
    help = f"Give a text of 1 to {THREAD_ID_CHARACTERS} printable characters."
    if not isinstance(value, str):
        raise UsageError(f"A thread id must be text, not {value!r}", help=help)
    if not value.strip():
        raise UsageError(f"A thread id must not be blank: {value!r}", help=help)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise UsageError(f"A thread id must not hold control characters: {value[:THREAD_ID_CHARACTERS]!r}", help=help)
    if len(value) > THREAD_ID_CHARACTERS:
        raise UsageError(f"A thread id of {len(value)} characters is too long: {value[:40]!r}…", help=help)
    return value


@asynccontextmanager
async def thread_lock(folder: str | Path, thread_id: str, *, wait: float) -> AsyncIterator[None]:
    """Hold the thread's lock while the block runs.

    Waiters of one event loop are served in order. The lock is one of the operating system's on a file under
    `folder/.locks`, so it ends with the process that holds it, even a killed one. The file is removed after use.

    Args:
        folder: The library's folder.
        thread_id: Which thread.
        wait: How many seconds to wait for a turn that runs on the thread; 0 tries once.

    Raises:
        ThreadBusy: The thread was still in use after `wait` seconds.
        LibraryError: The lock file cannot be made.
    """
    path = _lock_file(Path(folder), thread_id)
    locks = _local.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    async with event_loop_lock(locks.setdefault(path, asyncio.Lock()), thread_id, wait=wait) as deadline:
        lock = await _acquire(path, thread_id, wait=wait, deadline=deadline)
        try:
            yield
        finally:
            _release(lock, path)


@asynccontextmanager
async def event_loop_lock(local: asyncio.Lock, thread_id: str, *, wait: float) -> AsyncIterator[float]:
    """Hold the event loop's lock of a thread, which serves waiters in order, while the lock across processes is tried.

    Yields the time on the loop's clock until which the caller may wait for the other lock.

    Raises:
        ThreadBusy: The lock was still taken after `wait` seconds.
    """
    deadline = asyncio.get_running_loop().time() + wait
    try:
        async with asyncio.timeout_at(deadline):
            await local.acquire()
    except TimeoutError:
        raise busy(thread_id, wait) from None
    try:
        yield deadline
    finally:
        local.release()


def is_locked(folder: str | Path, thread_id: str) -> bool:
    """Return whether a process holds the thread's lock; a lock file of another user counts as held.

    Args:
        folder: The library's folder.
        thread_id: Which thread.
    """
    path = Path(folder).absolute() / FOLDER / f"{_name(thread_id)}.lock"
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        _lock(file)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def remove_unused_locks(folder: str | Path) -> None:
    """Remove the lock files left behind by processes that were killed, or by an older version."""
    for path in (Path(folder).absolute() / FOLDER).glob("*.lock"):
        with suppress(OSError):  # already gone, or owned by another user
            if (lock := _try(path)) is not None:
                _release(lock, path)


async def _acquire(path: Path, thread_id: str, *, wait: float, deadline: float) -> int:
    """Try the file's lock until the deadline, without blocking the event loop."""
    while True:
        try:
            lock = _try(path)
        except OSError as error:
            raise LibraryError(f"The lock {path} cannot be taken: {error}", help=system_help(error)) from error
        if lock is not None:
            return lock
        if asyncio.get_running_loop().time() >= deadline:
            raise busy(thread_id, wait)
        await asyncio.sleep(POLL_SECONDS)


def _try(path: Path) -> int | None:
    """Lock the file and return its descriptor; None if another process has it locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            _lock(file)
            # The process that had the lock may have removed the file in the meantime. Then our file has no name any
            # more, and a third process would create and lock a new file of that name: two processes would have the same
            # thread.
            if os.fstat(file).st_nlink:
                return file
        except BlockingIOError:
            os.close(file)
            return None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _release(lock: int, path: Path) -> None:
    """Remove the lock's file while it is still locked, then release the lock."""
    try:
        with suppress(OSError):  # Windows cannot remove an open file: it stays until the next start
            path.unlink(missing_ok=True)
    finally:
        os.close(lock)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        """Lock an open file.

        Raises:
            BlockingIOError: Another process has it locked.
        """
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from None

else:
    import fcntl

    def _lock(file: int) -> None:
        """Lock an open file.

        Raises:
            BlockingIOError: Somebody else holds it.
        """
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_file(folder: Path, thread_id: str) -> Path:
    """Return the thread's lock file; its name is a hash, because a thread id may hold any printable character."""
    name = _name(thread_id)
    locks = folder.absolute() / FOLDER
    try:
        locks.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(f"The folder {locks} cannot be made: {error}", help=system_help(error)) from error
    return locks / f"{name}.lock"


def _name(thread_id: str) -> str:
    """Return the name of a thread's lock file without its ending."""
    return hashlib.sha256(thread_id.encode("utf-8")).hexdigest()[:32]


def busy(thread_id: str, wait: float) -> ThreadBusy:
    """Return the error for a thread whose running turn did not end in time."""
    help = "Wait for the other turn to end, or use another thread."
    return ThreadBusy(f"Another turn is still running on thread {thread_id!r} after {wait:g} s", help=help)

"""One turn at a time on a thread, within this process and across processes.

Two turns at once on one thread would both start from the same checkpoint, and one of them would be lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakValueDictionary

from preflight_rag.state.errors import LibraryError, ThreadBusy, UsageError, system_help

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = ".locks"
GUARD = "guard"
"""File whose lock is held while a thread's lock file is tried or removed."""
GUARD_SECONDS = 1.0
"""How long the guard is waited for, which is held for less than a millisecond; a guess."""
POLL_SECONDS = 0.05
"""Between two tries of a file lock; a guess: a turn takes seconds."""
THREAD_ID_CHARACTERS = 200
"""Longest id of a thread; a guess, far above a UUID."""

RANDOM_BYTES = 10
"""Of an id that is made here: of a million conversations two share one with a chance of 1 in 10^12."""

_Locks = WeakValueDictionary[Path, asyncio.Lock]
_local: WeakKeyDictionary[asyncio.AbstractEventLoop, _Locks] = WeakKeyDictionary()


def new_thread_id(kind: str) -> str:
    """An id that no thread has: where nobody names a thread, each call has its own."""
    return f"{kind}-{secrets.token_hex(RANDOM_BYTES)}"


def validate_thread_id(value: object) -> str:
    """The value, if it can name a thread.

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
    `folder/.locks`: it ends with the process that held it, however that ends. The file is removed with its use.

    Args:
        folder: The library's folder.
        thread_id: Which thread.
        wait: How many seconds to wait for a turn that runs on the thread; 0 tries once.

    Raises:
        ThreadBusy: The thread was still in use after `wait` seconds.
        LibraryError: The lock file cannot be made.
    """
    path = _lock_file(Path(folder), thread_id)
    of_this_loop = _local.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    async with in_order(of_this_loop.setdefault(path, asyncio.Lock()), thread_id, wait=wait) as deadline:
        lock = await _acquire(path, thread_id, wait=wait, deadline=deadline)
        try:
            yield
        finally:
            _release(lock, path)


@asynccontextmanager
async def in_order(local: asyncio.Lock, thread_id: str, *, wait: float) -> AsyncIterator[float]:
    """Hold a lock of this event loop, whose waiters are served in order, before that of all processes is asked for.

    Gives the time of the loop's clock until which the other lock may be waited for.

    Raises:
        ThreadBusy: It was still held after `wait` seconds.
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


def remove_unused_locks(folder: str | Path) -> None:
    """Remove the lock files that processes left behind which were killed, or were of an older version."""
    from filelock import FileLock, Timeout

    for path in (Path(folder).absolute() / FOLDER).glob("*.lock"):
        try:
            with _guard(path):
                lock = FileLock(path, thread_local=False)
                lock.acquire(blocking=False)
                _remove(lock, path)
        except (OSError, Timeout):  # in use, gone, or not ours to remove
            continue


async def _acquire(path: Path, thread_id: str, *, wait: float, deadline: float) -> BaseFileLock:
    """Try the file's lock until the deadline. Each try is non-blocking and short enough for the event loop."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, thread_local=False)
    while True:
        try:
            with _guard(path):
                lock.acquire(blocking=False)
        except Timeout:
            if asyncio.get_running_loop().time() >= deadline:
                raise busy(thread_id, wait) from None
        except OSError as error:
            raise LibraryError(f"The lock {path} cannot be taken: {error}", help=system_help(error)) from error
        else:
            return lock
        await asyncio.sleep(POLL_SECONDS)


def _release(lock: BaseFileLock, path: Path) -> None:
    """Let the lock go with its file; where the guard is not to be had, the file stays, which is always safe."""
    from filelock import Timeout

    try:
        with _guard(path):
            _remove(lock, path)
    except (OSError, Timeout):
        lock.release()


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """The lock under which a lock file is opened and tried, or removed.

    Without it a process could open the file, see its holder remove it, and lock what no longer has a name, while a
    third one makes and locks a new file of the name: two would hold the same thread.
    """
    from filelock import FileLock

    guard = FileLock(path.with_name(GUARD), thread_local=False)
    with guard.acquire(timeout=GUARD_SECONDS, poll_interval=0.001):
        yield


def _remove(lock: BaseFileLock, path: Path) -> None:
    """Remove a lock's file and let the lock go; where open files cannot be removed, the other way round."""
    if os.name != "nt":
        path.unlink(missing_ok=True)
    lock.release()
    if os.name == "nt":
        path.unlink(missing_ok=True)


def _lock_file(folder: Path, thread_id: str) -> Path:
    """The thread's lock file; its name is a hash, because a thread id may hold any printable character."""
    name = hashlib.sha256(thread_id.encode("utf-8")).hexdigest()[:32]
    locks = folder.absolute() / FOLDER
    try:
        locks.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(f"The folder {locks} cannot be made: {error}", help=system_help(error)) from error
    return locks / f"{name}.lock"


def busy(thread_id: str, wait: float) -> ThreadBusy:
    """The error for a thread that was waited for in vain."""
    help = "Wait for the other turn to end, or use another thread."
    return ThreadBusy(f"Another turn is still running on thread {thread_id!r} after {wait:g} s", help=help)

"""The write lock of a library's folder: one writer at a time, across processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from preflight_rag.ingest.report import IngestEvent, Progress
from preflight_rag.library.storage.store import BUSY_SECONDS
from preflight_rag.state.errors import LibraryBusy, LibraryError, writing_help

LOCK = ".write.lock"
SILENT_SECONDS = 2.0
"""Time after which an ingest reports that it waits for another writer; a guess: most writes are shorter."""


@contextmanager
def write_lock(folder: Path, seconds: float = BUSY_SECONDS, progress: Progress | None = None) -> Iterator[None]:
    """Hold a library's write lock, across processes; a wait for another writer is reported to `progress`.

    Raises:
        LibraryBusy: Another writer did not finish in `seconds`.
        LibraryError: The folder cannot be written.
    """
    from filelock import FileLock, Timeout

    # The operating system's lock ends with its process, so a killed writer blocks nobody, though the file stays.
    lock = FileLock(folder / LOCK)
    try:
        try:
            lock.acquire(timeout=min(seconds, SILENT_SECONDS))
        except Timeout:
            if progress:
                progress(IngestEvent("waiting", 0, None, str(folder)))
            lock.acquire(timeout=max(0.0, seconds - SILENT_SECONDS))
    except Timeout as error:
        raise LibraryBusy(
            f"The library at {folder} is being written by another process", help="Try again when it has finished"
        ) from error
    except FileNotFoundError as error:
        raise removed_error(folder) from error
    except OSError as error:
        raise LibraryError(
            f"The library at {folder} cannot be written: {error.strerror}", help=writing_help(error)
        ) from error
    try:
        yield
    finally:
        lock.release()


def removed_error(folder: Path) -> LibraryError:
    """Return the error for a library whose folder was removed or replaced since it was opened."""
    return LibraryError(f"The library at {folder} was removed meanwhile", help="Try again.")

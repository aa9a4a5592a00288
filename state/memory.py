"""Checks of the available memory before native code runs: FAISS, tantivy and OpenBLAS end the process without it."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path

from preflight_rag.state.errors import MEMORY, OutOfMemory

LEAST_MEGABYTES = 400
"""Megabytes of address space that NumPy takes: with less OpenBLAS ended the process in a test."""


def begin_no_blas_threads() -> None:
    """Limit NumPy to one thread, if it is not imported yet.

    OpenBLAS ends the process if there is no memory for the stacks of its threads.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def need_memory(megabytes: int, purpose: str) -> None:
    """Check that much memory can be allocated: allocate it, and release it at once.

    The check fails if a limit on the process's address space is reached, or if the system does not overcommit. A
    container's limit on memory in use is not noticed.

    Args:
        megabytes: The amount in megabytes.
        purpose: What it is for, as in "to build the index".

    Raises:
        OutOfMemory: The system does not have so much.
    """
    try:
        mmap.mmap(-1, megabytes << 20).close()
    except (OSError, ValueError, MemoryError) as error:
        raise OutOfMemory(f"There is not enough memory {purpose} ({megabytes} MB are needed)", help=MEMORY) from error


def available_bytes() -> int | None:
    """Return the bytes that programs may still take: the machine's, or the container's if fewer; None if unknown.

    Linux reports both; if the container's is not available in the known form, the machine's counts.
    """
    amounts = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available_line = next(line for line in lines if line.startswith("MemAvailable:"))  # "MemAvailable: 123 kB"
        amounts.append(int(available_line.split()[1]) << 10)
    with suppress(OSError, ValueError):  # "max" is not a number: there is no limit
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        amounts.append(max(0, limit - used))
    return min(amounts, default=None)

"""Whether there is memory for what native code is to do: FAISS, tantivy and OpenBLAS end the process where not."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path

from preflight_rag.state.errors import MEMORY, OutOfMemory

LEAST_MEGABYTES = 400
"""Addresses that NumPy takes: with less OpenBLAS ended the process here."""


def begin_no_blas_threads() -> None:
    """Have NumPy, where it is not imported yet, calculate in one thread.

    OpenBLAS ends the process where there is no memory for the stacks of its threads.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def need_memory(megabytes: int, purpose: str) -> None:
    """Ask the system for so much memory, and give it back at once.

    It says no where a limit on the process's addresses is reached, or where it lends no more than it has. A container
    that is ended for its size is not found out so.

    Args:
        megabytes: How much at least.
        purpose: What it is for, as in "to build the index".

    Raises:
        OutOfMemory: The system does not give it.
    """
    try:
        mmap.mmap(-1, megabytes << 20).close()
    except (OSError, ValueError, MemoryError) as error:
        raise OutOfMemory(f"There is not enough memory {purpose} ({megabytes} MB are needed)", help=MEMORY) from error


def available_bytes() -> int | None:
    """Memory that programs may still take: the machine's, or the container's where that is less; None if unknown.

    Linux says both; where the container's is measured otherwise, the machine's counts.
    """
    found = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found.append(int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10)
    with suppress(OSError, ValueError):  # "max" is no number: there is no limit
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(max(0, limit - int((group / "memory.current").read_text(encoding="ascii"))))
    return min(found, default=None)

"""The features of this machine's processor, which decide which form of a network is fast."""

from __future__ import annotations

from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def processor_flags(path: Path = CPU_INFO) -> frozenset[str]:
    """Return the processor's feature flags, as Linux lists them; empty on other systems."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags_line = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags_line.partition(":")[2].split())

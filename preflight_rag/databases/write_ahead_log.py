"""What SQLite does not say of a write-ahead log: it reads one up to its first damaged frame, and drops the rest."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER, _FRAME_HEADER = 32, 24
_MAGIC = 0x377F0682
"""The last bit says whether the checksums are of big-endian words."""


def lost_commits(database: Path) -> bool:
    """Return whether a database's log holds committed transactions that SQLite will not read.

    SQLite drops the frames after a damaged one, even if they end a transaction. A transaction that a killed process had
    not finished does not count: none of its frames ends it. Call this before the database is opened, since the first
    connection drops those frames. A log that another process is writing is read a second time.
    """
    path = database.with_name(f"{database.name}-wal")
    return _drops_commits(path) and _drops_commits(path)


def _drops_commits(path: Path) -> bool:
    """Return whether a log file holds a committed transaction after a damaged frame."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if len(data) <= _HEADER + _FRAME_HEADER:
        return False
    magic, _, size, _, *salt, first, second = struct.unpack(">8I", data[:_HEADER])
    order = ">" if magic & 1 else "<"
    if magic & ~1 != _MAGIC or _checksum(order, data[: _HEADER - 8], 0, 0) != (first, second):
        return True
    whole = True
    for at in range(_HEADER, len(data) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        _, ends, *found, given_first, given_second = struct.unpack(">6I", data[at : at + _FRAME_HEADER])
        if whole:
            first, second = _checksum(order, data[at : at + 8], first, second)
            first, second = _checksum(order, data[at + _FRAME_HEADER : at + _FRAME_HEADER + size], first, second)
            if found == salt and (first, second) == (given_first, given_second):
                continue
            whole = False
        if ends and found == salt:  # a transaction's last frame, after a frame that is damaged
            return True
    return False


def _checksum(order: str, data: bytes, first: int, second: int) -> tuple[int, int]:
    """Return SQLite's running checksum over pairs of 32-bit words."""
    for a, b in struct.iter_unpack(f"{order}2I", data):
        first = (first + a + second) & 0xFFFFFFFF
        second = (second + b + first) & 0xFFFFFFFF
    return first, second

"""Progress of an ingest: in bytes of all files, and in documents."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from preflight_rag.ingest.loaders.files import (
    DEFAULT_MAX_BYTES,
    ONE_DOCUMENT,
    SkippedFile,
    open_regular,
    suffix_of,
)
from preflight_rag.state.errors import DocumentError

READING = 0.2
"""Share of the work on a file that reading it takes, the rest being embedding; a guess, for estimating the progress."""
TEXT_SHARES = {".gz": 4.0, ".pdf": 0.1, ".docx": 0.3, ".epub": 0.3, ".pptx": 0.05, ".odp": 0.05, ".odt": 0.3}
"""Bytes of text for each byte of a file, by its extension, if pictures or compression matter; guesses, for the same."""
MOST_AT_ONCE = 1 << 16
"""Maximum number of bytes of a line that are read at once when lines are counted."""
READ_UNTIL_CLOSED = 0.99
"""Highest share of a file that counts as read before it is closed: its number of characters is only estimated."""


class IngestProgress:
    """The progress over all files, in bytes; reading a file is the share `READING` of its work, embedding the rest.

    Args:
        total: The bytes of text in all files.
    """

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self._finished: set[str] = set()
        self._lost: set[str] = set()
        self._finished_bytes = 0
        self._waiting: dict[str, int] = {}
        self._file, self._size, self._characters = "", 0, 0
        self._read = self._stored = self._embedded = 0.0

    @property
    def done(self) -> int:
        """The bytes that are done, at most `total`: of finished, waiting and current files."""
        embedded = self._stored + (self._read - self._stored) * self._embedded
        current = self._size * (READING * self._read + (1 - READING) * embedded)
        waiting = sum(self._waiting.values()) * (READING + (1 - READING) * self._embedded)
        return min(self.total, int(self._finished_bytes + waiting + current))

    def open(self, file: str, size: int) -> None:
        """Make a file of a size in bytes the current one, of which nothing is read yet."""
        self._file, self._size, self._characters = file, size, 0
        self._read = self._stored = self._embedded = 0.0

    def read_pages(self, done: int, total: int) -> None:
        """Record how many pages of the current file were read."""
        self._read = min(1.0, done / max(1, total))

    def read_characters(self, count: int) -> None:
        """Record that a document with so many characters was read from the current file."""
        self._characters += count
        self._read = max(self._read, min(READ_UNTIL_CLOSED, self._characters / max(1, self._size)))

    def close(self, *, waits: bool) -> None:
        """Record that the current file was read to its end; with `waits`, parts of it remain to be embedded."""
        if waits:
            stored = int(self._size * self._stored)  # earlier batches have stored a part of a file of many documents
            self._finished_bytes += stored
            self._waiting[self._file] = self._size - stored
        else:
            self._finish(self._file, self._size)
        self._size = 0

    def embedded(self, share: float) -> None:
        """Record that a share (from 0 to 1) of the waiting passages is embedded."""
        self._embedded = share

    def flushed(self) -> None:
        """Record that all waiting passages are stored."""
        for file, size in self._waiting.items():
            self._finish(file, size)
        self._waiting = {}
        self._stored, self._embedded = self._read, 0.0

    def lose(self, files: Iterable[str]) -> None:
        """Record that part of these files is not stored in this run."""
        self._lost |= set(files)

    def is_finished(self, file: str) -> bool:
        """Return whether a file was read to its end and stored completely."""
        return file in self._finished and file not in self._lost

    def _finish(self, file: str, size: int) -> None:
        """Count a file, and its size in bytes, as done."""
        self._finished.add(file)
        self._finished_bytes += size


def text_size(file: Path) -> int:
    """Return how many bytes of text a file may contain, estimated by its size and extension; 0 if it is not there."""
    try:
        size = file.stat().st_size
    except OSError:
        return 0
    for extension, share in TEXT_SHARES.items():
        if file.name.lower().endswith(extension):
            return int(size * share)
    return size


def count_documents(files: Sequence[Path | DocumentError | SkippedFile]) -> int | None:
    """Return how many documents or failures the files will yield; None if that is known only after reading them.

    Lines of JSON Lines files are counted; of other files of several documents the number is not known.
    """
    total = 0
    for file in files:
        if isinstance(file, SkippedFile):
            continue
        if isinstance(file, DocumentError) or suffix_of(file) in ONE_DOCUMENT:
            total += 1
        elif suffix_of(file).startswith((".jsonl", ".ndjson")):
            try:
                total += _count_filled_lines(file)
            except (DocumentError, OSError, EOFError, zlib.error):
                return None
        else:
            return None
    return total


def _count_filled_lines(file: Path) -> int:
    """Return the number of lines that are not blank in a file, which may be compressed; stop at the size limit.

    A long line is read in pieces, so that it is never in memory as a whole. A line whose first piece is blank is not
    counted.
    """
    count, is_line_start, read_bytes = 0, True, 0
    with os.fdopen(open_regular(file), "rb") as data:
        unpacked = gzip.GzipFile(fileobj=data) if file.name.lower().endswith(".gz") else data
        while read_bytes < DEFAULT_MAX_BYTES and (piece := unpacked.readline(MOST_AT_ONCE)):
            if is_line_start and piece.strip():
                count += 1
            is_line_start, read_bytes = piece.endswith(b"\n"), read_bytes + len(piece)
    return count

"""Arrays in the files of an index: NumPy's format without pickled objects, memory-mapped if they are large."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from preflight_rag.state.errors import unreadable

if TYPE_CHECKING:
    import numpy as np

MAPPED_FROM = 4_000_000
"""Bytes from which on an array is memory-mapped instead of read; less than for a dense index, since there are twenty of
them. Truncating a mapped file would end the process, but an index's files are never changed, only replaced."""
ENDS = "-starts"
"""Suffix of the file with the offsets at which the strings of another file begin, and the end of the last one."""


def open_array(folder: Path, name: str) -> np.ndarray:
    """Return the array in the file `name`.npy, memory-mapped if it is large.

    The result is never a `memmap`, whose slices take ten times as long, but a plain array.

    Raises:
        LibraryCorrupt: The file cannot be read.
    """
    import numpy as np

    path = folder / f"{name}.npy"
    try:
        mode: Literal["r"] | None = "r" if path.stat().st_size >= MAPPED_FROM else None
        # Pickled objects could run code when a foreign index is opened.
        values: np.ndarray = np.load(path, mmap_mode=mode, allow_pickle=False).view(np.ndarray)
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(f"The index file {path} cannot be read", error) from error
    return values


def array_type(values: array[int] | bytes | bytearray) -> str:
    """Return the NumPy type code of a Python array's values, such as "q" for int64; "B" (uint8) for bytes."""
    return values.typecode if isinstance(values, array) else "B"


def write_array(folder: Path, name: str, values: array[int] | bytes | bytearray) -> None:
    """Write a Python array or bytes as a NumPy array of the matching type."""
    import numpy as np

    np.save(folder / f"{name}.npy", np.frombuffer(values, dtype=array_type(values)))


def write_blocks(path: Path, dtype: str, length: int, blocks: Iterable[np.ndarray]) -> None:
    """Write an array (length,) of type `dtype` block by block, so that it need not be in memory as a whole."""
    import numpy as np

    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (length,)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(block.astype(dtype, copy=False).tobytes())


class StringArray:
    """Strings stored in UTF-8, one after the other in one array.

    Args:
        folder: The folder of the files.
        name: The file's name.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._starts = open_array(folder, name + ENDS)
        # Slicing a NumPy array takes ten times as long as slicing a view of its memory.
        self._text, self._offsets = memoryview(open_array(folder, name).data), memoryview(self._starts.data)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> str:
        # Ids may be paths, in which Python shows bytes that are not UTF-8 as lone surrogates.
        return self.encoded(index).decode("utf-8", "surrogatepass")

    def encoded(self, index: int) -> bytes:
        """Return the string at an index, in UTF-8."""
        return bytes(self._text[self._offsets[index] : self._offsets[index + 1]])

    def encoded_range(self, first: int, end: int) -> bytes:
        """Return the strings from index `first` up to, not including, `end`, in UTF-8 without separators."""
        return bytes(self._text[self._offsets[first] : self._offsets[end]])

    def lengths(self) -> np.ndarray:
        """Return the length of each string in bytes, (n,)."""
        lengths: np.ndarray = self._starts[1:] - self._starts[:-1]
        return lengths

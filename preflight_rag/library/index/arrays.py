"""Arrays in the files of an index: NumPy's format without pickled objects, mapped where they are large."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from preflight_rag.library.index.dense import MAPPED_FROM
from preflight_rag.state.errors import unreadable

if TYPE_CHECKING:
    import numpy as np

ENDS = "-starts"
"""Of the file beside one of strings: where each begins, and the last one ends."""


def open_array(folder: Path, name: str) -> np.ndarray:
    """An array of a file, mapped where it is large, but no `memmap`, whose slices take ten times as long.

    Raises:
        LibraryCorrupt: It cannot be read.
    """
    import numpy as np

    path = folder / f"{name}.npy"
    try:
        mode: Literal["r"] | None = "r" if path.stat().st_size >= MAPPED_FROM else None
        found: np.ndarray = np.load(path, mmap_mode=mode, allow_pickle=False).view(np.ndarray)
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(f"The index file {path} cannot be read", error) from error
    return found


def write_array(folder: Path, name: str, values: array[int]) -> None:
    """Write numbers as an array of their type."""
    import numpy as np

    np.save(folder / f"{name}.npy", np.frombuffer(values, dtype=np.dtype(values.typecode)))


class Strings:
    """Texts in UTF-8, one after the other in one array.

    Args:
        folder: Where they lie.
        name: Of the file.

    Raises:
        LibraryCorrupt: A file cannot be read.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._text, self._starts = open_array(folder, name), open_array(folder, name + ENDS)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self.encoded(number).decode("utf-8", "surrogatepass")

    def encoded(self, number: int) -> bytes:
        """One of them in UTF-8."""
        return self._text[self._starts[number] : self._starts[number + 1]].tobytes()

    @staticmethod
    def write(folder: Path, name: str, text: bytes | bytearray, starts: array[int]) -> None:
        """Write texts that are joined already, and where each begins and the last one ends."""
        import numpy as np

        np.save(folder / f"{name}.npy", np.frombuffer(text, dtype=np.uint8))
        write_array(folder, name + ENDS, starts)

"""Index generations: caches under `LIBRARY/index/` that are rebuilt from the database and swapped in whole.

Each build (`building.py`) writes a folder of its own, flushes it to disk, and only then replaces `manifest.json`, which
names the folder and holds the size and SHA-256 of its files. A reader therefore sees the old index or the new one.
Searches read the newest one through `CurrentIndex`, which compares the files with these checksums and rebuilds a
missing or damaged index.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.arrays import open_array
from preflight_rag.library.index.dense import DenseIndex
from preflight_rag.library.index.lexical import LexicalIndex
from preflight_rag.library.index.places import FOLDER as PLACES
from preflight_rag.library.index.places import open_places
from preflight_rag.library.index.scored import ScoredRanking
from preflight_rag.library.index.terms import FOLDER as TERMS
from preflight_rag.library.index.terms import open_terms
from preflight_rag.library.index.vocabulary import (
    WORDS,
    Vocabulary,
)
from preflight_rag.state.errors import (
    READ_ONLY,
    DatabaseCorrupt,
    LibraryCorrupt,
    LibraryEmpty,
    LibraryError,
    unreadable,
)

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.storage.store import Store

FOLDER = "index"
MANIFEST = "manifest.json"
DENSE, ROWS, LEXICAL, CONTENTS = "dense.faiss", "rows.npy", "lexical", "documents.jsonl"
PURGE = "purge"
STEPS = (DENSE, LEXICAL, WORDS, TERMS, MANIFEST, PURGE)
CHECKED = "checked.json"
ALWAYS_CHECKED = 256_000_000
"""Size in bytes up to which an index is checked by its checksums whenever it is opened, in about 0.2 s. Of a larger
one, a file is read again only if its inode, size or times differ from those at the last check."""
# A guess: most disks deliver no faster to more readers.
READERS = 2
"""Threads that read a large index for its checksums."""

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Manifest:
    """The contents of `manifest.json`.

    Attributes:
        folder: Name of the generation's folder.
        generation: Number of the last write to the database that the index includes.
        passages: Number of passages in it.
        dense: FAISS factory string.
        files: Size and SHA-256 by path relative to the folder.
        kind: Requested kind of dense index.
        settings: Numbers of the dense index, as in `DenseKind`.
        note: Why the dense index is of another kind; empty if it is not.
        built: Number of passages when the index was last built whole; it may have grown since (`growth.py`).
    """

    folder: str
    generation: int
    passages: int
    dense: str
    files: dict[str, dict[str, Any]]
    kind: str = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    built: int = 0


class Index:
    """Both indices of one generation, open for search; parts that only newer versions build may be None.

    Attributes:
        whole_at: The state of the database (`Store.state`) at which it held all passages of the index; None if that was
            not checked, or is not so.
    """

    def __init__(self, root: Path, manifest: Manifest) -> None:
        folder = root / manifest.folder
        try:
            _check_files(root, manifest)
        except OSError as error:
            raise unreadable(f"The index {folder} cannot be read", error) from error
        self.manifest = manifest
        self.dense = DenseIndex(folder / DENSE)
        self.lexical = LexicalIndex(folder / LEXICAL)
        self.vocabulary = Vocabulary(folder / WORDS) if WORDS in manifest.files else None
        self.rows = open_array(folder, ROWS.removesuffix(".npy"))
        self.whole_at: tuple[int, ...] | None = None
        self.terms, self.places = open_terms(folder / TERMS), open_places(folder / PLACES)
        sizes = {len(self.rows), len(self.dense), len(self.lexical), manifest.passages}
        sizes |= {len(part) for part in (self.terms, self.places) if part is not None}
        if len(sizes) > 1:
            raise LibraryCorrupt(f"The indices in {folder} do not hold the same passages")

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of those rows that are in this generation, shape (m,), ascending."""
        import numpy as np

        return np.flatnonzero(np.isin(self.rows, rows))

    def standing(self, rows: Sequence[int] | np.ndarray) -> np.ndarray | None:
        """Return the position of each row, shape (m,); None if this generation lacks one of them."""
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        if not len(self.rows):
            return None if len(wanted) else wanted
        found = np.searchsorted(self.rows, wanted).clip(max=len(self.rows) - 1)
        return found if (self.rows[found] == wanted).all() else None

    def search_dense(self, vector: np.ndarray, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return rows and inner products of the `n` nearest passages, only of the positions `among` if given."""
        found = self.dense.ranked(vector, n, among=among)
        return ScoredRanking(self.rows[found.keys], found.scores)

    def search_lexical(self, query: str, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return rows and BM25 of the `n` best passages, only of the positions `among` if given."""
        return self.lexical.ranked(query, n, among=None if among is None else self.rows[among])


def manifest_stamp(root: Path) -> Stamp | None:
    """Return a stamp of the manifest, which changes when a new index is swapped in; None if there is no manifest."""
    try:
        stat = (root / MANIFEST).stat()
    except OSError:
        return None
    # Each manifest is a new file, so the inode differs even where times are coarse and sizes equal.
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def read_manifest(root: Path) -> Manifest | None:
    """Return the manifest, or None if there is none.

    Raises:
        LibraryCorrupt: It cannot be read.
    """
    try:
        manifest = Manifest(**json.loads((root / MANIFEST).read_text(encoding="utf-8")))
        if Path(manifest.folder).name != manifest.folder:
            raise ValueError("the folder of a generation lies beside its manifest")
        # In the form of `entry_of`, with which entries are compared as a whole.
        files = {name: {"size": entry["size"], "sha256": entry["sha256"]} for name, entry in manifest.files.items()}
        return replace(manifest, files=files)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise unreadable(f"The index manifest {root / MANIFEST} cannot be read", error) from error


def open_index(root: Path) -> Index | None:
    """Return the current index, or None if none was ever built.

    If a newer index replaces the folder while it is opened, the newer one is opened instead.

    Raises:
        LibraryCorrupt: The index is damaged.
    """
    while True:
        manifest = read_manifest(root)
        if manifest is None:
            return None
        try:
            return Index(root, manifest)
        except LibraryCorrupt:
            if read_manifest(root) == manifest:
                raise


def read_contents(root: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return settings and documents from which the current index was built; both empty if an older version built it."""
    try:
        manifest = read_manifest(root)
        if manifest is None or CONTENTS not in manifest.files:
            return {}, []
        path = root / manifest.folder / CONTENTS
        if entry_of(path) != manifest.files[CONTENTS]:
            return {}, []
        settings, *documents = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return settings, documents
    except (LibraryError, OSError, ValueError):
        return {}, []


def _check_files(root: Path, manifest: Manifest) -> None:
    """Compare the files with the manifest's checksums before anything is read from them.

    A damaged file that still opens would give wrong answers silently, so opening it is not check enough.

    Raises:
        LibraryCorrupt: A file is missing or differs from what was written.
    """
    folder = root / manifest.folder
    # Sizes first: a file that was cut off is found without reading any.
    for name, entry in manifest.files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != entry["size"]:
            raise LibraryCorrupt(f"The index file {folder / name} is missing or cut off")
    # Before the files are read: one that is written meanwhile has another stamp afterwards, and is read again.
    stamps = {name: _stamp(folder / name) for name in manifest.files}
    is_large = sum(entry["size"] for entry in manifest.files.values()) > ALWAYS_CHECKED
    if is_large and _checked_before(root) == {"folder": manifest.folder, "files": stamps}:
        return
    # The largest first, so that no thread is left alone with it at the end; hashlib releases the interpreter's lock.
    names = sorted(manifest.files, key=lambda name: -int(manifest.files[name]["size"]))
    with ThreadPoolExecutor(READERS) if is_large else nullcontext() as readers:
        sums = (readers.map if readers else map)(lambda name: entry_of(folder / name)["sha256"], names)
        for name, found in zip(names, sums, strict=True):
            if found != manifest.files[name]["sha256"]:
                raise LibraryCorrupt(f"The index file {folder / name} fails its checksum")
    if is_large:
        with suppress(OSError):  # the folder cannot be written: the files are read whole again next time
            # Several processes may check at once; what a killed one leaves, `remove_others` deletes by its dot.
            scratch = root / f".{CHECKED}.{secrets.token_hex(4)}.json"
            scratch.write_text(json.dumps({"folder": manifest.folder, "files": stamps}), encoding="utf-8")
            os.replace(scratch, root / CHECKED)


def _stamp(path: Path) -> list[int]:
    """Return numbers that change when a file is written or replaced."""
    stat = path.stat()
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _checked_before(root: Path) -> object:
    """Return the record of the files whose checksums `_check_files` has compared.

    None if there is no record, or it is damaged.
    """
    try:
        return json.loads((root / CHECKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def index_problems(root: Path) -> list[str]:
    """Return the problems of the index files, one line each; reads the files whole."""
    try:
        manifest = read_manifest(root)
    except LibraryCorrupt as error:
        return [str(error)]
    if manifest is None:
        return []
    folder, found = root / manifest.folder, []
    for name, entry in manifest.files.items():
        if not (folder / name).is_file():
            found.append(f"index file {name} is missing")
        elif entry_of(folder / name) != entry:
            found.append(f"index file {name} fails its checksum")
    return found


def entry_of(path: Path) -> dict[str, Any]:
    """Return a file as the manifest lists it: its size and its SHA-256."""
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


class CurrentIndex:
    """Opens the index that the manifest names, and reopens it when any process swaps in another one.

    Args:
        store: The database that the index is built from.
        root: The library's index folder.
        rebuild: Function that builds the index anew and swaps it in.
    """

    def __init__(self, store: Store, root: Path, rebuild: Callable[[], None]) -> None:
        self._store, self._root, self._rebuild = store, root, rebuild
        # Reentrant, because `after` calls `get`. One thread rebuilds under it, and the others wait.
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._stamp: Stamp | None = None
        self._repairs: list[str] = []

    def get(self) -> Index:
        """Return the index, rebuilt from the database if it is missing, damaged or empty.

        Raises:
            LibraryEmpty: There is no passage to find.
            LibraryError: It has to be rebuilt and cannot be.
        """
        with self._lock:
            # Read before the index is opened: if another one is swapped in meanwhile, the next call opens that one.
            stamp = manifest_stamp(self._root)
            if self._index is None or stamp is None or stamp != self._stamp:
                damage = None
                try:
                    index = open_index(self._root)
                except LibraryCorrupt as error:
                    index, damage = None, error
                if index is not None and index.manifest.generation > self._store.generation():
                    index, damage = (
                        None,
                        DatabaseCorrupt(f"{self._store.path} is older than its index: writes are lost"),
                    )
                if (index is None or not len(index.rows)) and self._store.count_passages():
                    self._repair(damage)
                    index, stamp = open_index(self._root), manifest_stamp(self._root)
                self._index, self._stamp = index, stamp
            if self._index is None or not len(self._index.rows):
                raise LibraryEmpty(f"The library at {self._root.parent} is empty", help="Run: preflight ingest PATH")
            return self._index

    def after(self, damage: LibraryCorrupt, searched: Index) -> Index:
        """Return the index to use after `searched` turned out damaged: rebuilt, unless it was replaced in the meantime.

        The files of a replaced index are deleted, so a search that had begun with it fails, too; by then another thread
        may have opened the new one.
        """
        with self._lock:
            if searched is self._index and manifest_stamp(self._root) == self._stamp:
                self._repair(damage)
            return self.get()

    def notes(self) -> list[str]:
        """Return notes: that the index was rebuilt, and how many documents it does not contain yet."""
        notes = list(self._repairs)
        with self._lock:
            known = self._index.manifest.generation if self._index else None
        if known is not None and (waiting := self._store.pending(known)):
            notes.append(f"Documents that wait for the next ingest to bring them into the index: {waiting}")
        return notes

    def close(self) -> None:
        """Release the index from memory."""
        with self._lock:
            self._index = None

    def _repair(self, damage: LibraryCorrupt | None) -> None:
        """Rebuild the index, and remember the damage for `notes`."""
        reason = damage.message if damage else "There was no index yet"
        try:
            self._rebuild()
        except LibraryError as error:
            help = "Copy the folder to where you may write." if error.help == READ_ONLY else error.help
            raise type(error)(f"{reason}, and no index can be built: {error.message}", help=help) from error
        self._repairs.append(f"{reason}; it was rebuilt from the database")

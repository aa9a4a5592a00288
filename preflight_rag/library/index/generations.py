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
"""Names of files and folders in a generation's folder; `CONTENTS` lists the documents from which it was built."""
PURGE = "purge"
STEPS = (DENSE, LEXICAL, WORDS, TERMS, MANIFEST, PURGE)
"""Names of the steps of a build, in order, as its progress is reported."""
CHECK_RECORD = "checked.json"
"""Name of the file that records of which files the checksums have been compared."""
ALWAYS_CHECKED_BYTES = 256_000_000
"""Size in bytes up to which an index is checked by its checksums whenever it is opened, in about 0.2 s. Of a larger
one, a file is read again only if its inode, size or times differ from those at the last check."""
# A guess: most disks deliver no faster to more readers.
READERS = 2
"""Threads that read a large index for its checksums."""

Stamp = tuple[int, int, int]
"""Inode, time of the last change in nanoseconds, and size of a manifest's file."""


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
        complete_at_state: The state of the database (`Store.state`) in which it was seen to hold all passages of the
            index; None if it was not checked, or lacks some.

    Raises:
        LibraryCorrupt: A file is missing or damaged, or the files do not hold the same passages.
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
        self.complete_at_state: tuple[int, ...] | None = None
        self.terms, self.places = open_terms(folder / TERMS), open_places(folder / PLACES)
        sizes = {len(self.rows), len(self.dense), len(self.lexical), manifest.passages}
        sizes |= {len(part) for part in (self.terms, self.places) if part is not None}
        if len(sizes) > 1:
            raise LibraryCorrupt(f"The indices in {folder} do not hold the same passages")

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions in this index of those rows that it contains, shape (m,), ascending."""
        import numpy as np

        return np.flatnonzero(np.isin(self.rows, rows))

    def positions_of_all(self, rows: Sequence[int] | np.ndarray) -> np.ndarray | None:
        """Return the position of each row in this index, in the order of `rows`, shape (n,); None if one is missing."""
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        if not len(self.rows):
            return None if len(wanted) else wanted
        # The index's rows are ascending. `clip`: a row above the last one would get a position behind the end.
        positions = np.searchsorted(self.rows, wanted).clip(max=len(self.rows) - 1)
        has_all = (self.rows[positions] == wanted).all()
        return positions if has_all else None

    def search_dense(self, vector: np.ndarray, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return rows and inner products of the `n` nearest passages, only of the positions `among` if given."""
        nearest = self.dense.ranked(vector, n, among=among)
        return ScoredRanking(self.rows[nearest.keys], nearest.scores)

    def search_lexical(self, query: str, n: int, *, among: np.ndarray | None = None) -> ScoredRanking:
        """Return rows and BM25 of the `n` best passages, only of the positions `among` if given."""
        rows = None if among is None else self.rows[among]
        return self.lexical.ranked(query, n, among=rows)


def manifest_stamp(root: Path) -> Stamp | None:
    """Return a stamp of the manifest, which changes when a new index is swapped in; None if there is no manifest."""
    try:
        stat = (root / MANIFEST).stat()
    except OSError:
        return None
    # Each manifest is a new file, so the inode differs even where times are coarse and sizes equal.
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def read_manifest(root: Path) -> Manifest | None:
    """Return the manifest in an index folder, or None if there is none.

    Raises:
        LibraryCorrupt: It cannot be read.
    """
    try:
        manifest = Manifest(**json.loads((root / MANIFEST).read_text(encoding="utf-8")))
        # A forged manifest must not lead to a folder elsewhere, such as "../..".
        if Path(manifest.folder).name != manifest.folder:
            raise ValueError("the folder of a generation lies beside its manifest")
        # With no other keys than `file_entry` returns, as whole entries are compared.
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
            # With another manifest by now, the files were not damaged but deleted after a newer index was swapped in.
            if read_manifest(root) == manifest:
                raise


def read_contents(root: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings and the list of documents from which the current index was built.

    Both are empty if there is no index, if an older version built it, or if the list is damaged.
    """
    try:
        manifest = read_manifest(root)
        if manifest is None or CONTENTS not in manifest.files:
            return {}, []
        path = root / manifest.folder / CONTENTS
        if file_entry(path) != manifest.files[CONTENTS]:
            return {}, []
        settings, *documents = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return settings, documents
    except (LibraryError, OSError, ValueError):
        return {}, []


def _check_files(root: Path, manifest: Manifest) -> None:
    """Compare the files with the manifest's sizes and checksums, before an index is opened from them.

    A damaged file that still opens would give wrong answers silently, so opening it is not enough of a check. A large
    index whose files have not changed since their last check is not read again.

    Raises:
        LibraryCorrupt: A file is missing or differs from what was written.
    """
    folder = root / manifest.folder
    # Sizes first: a file that was cut off is found without reading any.
    for name, entry in manifest.files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != entry["size"]:
            raise LibraryCorrupt(f"The index file {folder / name} is missing or cut off")
    # Before the files are read: one that is written meanwhile has another stamp afterwards, and is read again.
    stamps = {name: _file_stamp(folder / name) for name in manifest.files}
    is_large = sum(entry["size"] for entry in manifest.files.values()) > ALWAYS_CHECKED_BYTES
    check_record = {"folder": manifest.folder, "files": stamps}
    if is_large and _read_check_record(root) == check_record:
        return
    # The largest first, so that no thread is left alone with it at the end; hashlib releases the interpreter's lock.
    names = sorted(manifest.files, key=lambda name: -int(manifest.files[name]["size"]))
    with ThreadPoolExecutor(READERS) if is_large else nullcontext() as threads:
        map_names = threads.map if threads else map
        checksums = map_names(lambda name: file_entry(folder / name)["sha256"], names)
        for name, checksum in zip(names, checksums, strict=True):
            if checksum != manifest.files[name]["sha256"]:
                raise LibraryCorrupt(f"The index file {folder / name} fails its checksum")
    if is_large:
        with suppress(OSError):  # the folder cannot be written: the files are read whole again next time
            # Several processes may check at once. If one is killed here, `remove_other_generations` deletes its file.
            temporary = root / f".{CHECK_RECORD}.{secrets.token_hex(4)}.json"
            temporary.write_text(json.dumps(check_record), encoding="utf-8")
            os.replace(temporary, root / CHECK_RECORD)


def _file_stamp(path: Path) -> list[int]:
    """Return a file's inode, size and times, of which one changes when the file is written or replaced."""
    stat = path.stat()
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _read_check_record(root: Path) -> object:
    """Return the record of `_check_files`' last check of a large index; None if there is none, or it is damaged."""
    try:
        return json.loads((root / CHECK_RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def index_problems(root: Path) -> list[str]:
    """Return which index files are missing or damaged, one line each; every file is read whole."""
    try:
        manifest = read_manifest(root)
    except LibraryCorrupt as error:
        return [str(error)]
    if manifest is None:
        return []
    folder = root / manifest.folder
    problems = []
    for name, entry in manifest.files.items():
        if not (folder / name).is_file():
            problems.append(f"index file {name} is missing")
        elif file_entry(folder / name) != entry:
            problems.append(f"index file {name} fails its checksum")
    return problems


def file_entry(path: Path) -> dict[str, Any]:
    """Return a file's entry in a manifest: its size in bytes and its SHA-256."""
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
        # Reentrant, because `replace_damaged` calls `get`. One thread rebuilds under it, and the others wait.
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
                self._index, self._stamp = self._open_or_rebuild(stamp)
            if self._index is None or not len(self._index.rows):
                raise LibraryEmpty(f"The library at {self._root.parent} is empty", help="Run: preflight ingest PATH")
            return self._index

    def _open_or_rebuild(self, stamp: Stamp | None) -> tuple[Index | None, Stamp | None]:
        """Open the index on disk, or build a new one if it is missing, damaged, empty, or newer than the database.

        Args:
            stamp: The manifest's stamp, read before this call.

        Returns:
            The index, and the stamp of its manifest. The index is None or empty only if there are no passages.
        """
        index, damage = None, None
        try:
            index = open_index(self._root)
        except LibraryCorrupt as error:
            damage = error
        if index is not None and index.manifest.generation > self._store.generation():
            index = None
            damage = DatabaseCorrupt(f"{self._store.path} is older than its index: writes are lost")
        if (index is None or not len(index.rows)) and self._store.count_passages():
            self._repair(damage)
            return open_index(self._root), manifest_stamp(self._root)
        return index, stamp

    def replace_damaged(self, searched: Index, damage: LibraryCorrupt) -> Index:
        """Return the index to use instead of `searched`, in which a search found a damage.

        It is rebuilt, unless `searched` was replaced in the meantime: the files of a replaced index are deleted, so a
        search that had begun with it fails, too; by then another thread may have opened the new one.
        """
        with self._lock:
            if searched is self._index and manifest_stamp(self._root) == self._stamp:
                self._repair(damage)
            return self.get()

    def notes(self) -> list[str]:
        """Return notes for the user: why the index was rebuilt, and how many documents it does not contain yet."""
        notes = list(self._repairs)
        with self._lock:
            generation = self._index.manifest.generation if self._index else None
        if generation is not None and (waiting := self._store.count_changed_since(generation)):
            notes.append(f"Documents that wait for the next ingest to bring them into the index: {waiting}")
        return notes

    def close(self) -> None:
        """Release the index from memory."""
        with self._lock:
            self._index = None

    def _repair(self, damage: LibraryCorrupt | None) -> None:
        """Rebuild the index, and record the reason for `notes`: the damage, or None if there was no index.

        Raises:
            LibraryError: The index cannot be built; the error names the damage, too.
        """
        reason = damage.message if damage else "There was no index yet"
        try:
            self._rebuild()
        except LibraryError as error:
            help = "Copy the folder to where you may write." if error.help == READ_ONLY else error.help
            raise type(error)(f"{reason}, and no index can be built: {error.message}", help=help) from error
        self._repairs.append(f"{reason}; it was rebuilt from the database")

"""Building an index generation: written into a folder of its own, flushed to disk, and only then named by the manifest.

If the build fails before that, the index stays as it was.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.index.dense import FLAT_LIMIT, IndexKind, write_dense
from preflight_rag.library.index.generations import (
    CONTENTS,
    DENSE,
    LEXICAL,
    MANIFEST,
    ROWS,
    Index,
    Manifest,
    file_entry,
    open_index,
    read_manifest,
)
from preflight_rag.library.index.growth import can_grow, grow
from preflight_rag.library.index.lexical import write_lexical
from preflight_rag.library.index.places import FOLDER as PLACES
from preflight_rag.library.index.places import write_places
from preflight_rag.library.index.terms import FOLDER as TERMS
from preflight_rag.library.index.terms import TermIndex, open_terms, write_terms
from preflight_rag.library.index.vocabulary import WORDS, texts_by_document, write_vocabulary
from preflight_rag.state.errors import (
    DatabaseCorrupt,
    LibraryCorrupt,
    LibraryError,
    first_line,
    lacking,
    system_help,
)

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.storage.store import Store


def build_index(
    store: Store,
    root: Path,
    dimension: int,
    *,
    kind: IndexKind = "auto",
    flat_limit: int = FLAT_LIMIT,
    step: Callable[[str], None] = lambda name: None,
    may_extend: bool = False,
) -> Manifest:
    """Build both indices from the database and swap them in; the caller holds the library's write lock.

    Args:
        store: The database whose passages are indexed.
        root: The library's index folder.
        dimension: Length of the stored vectors.
        kind: Kind of dense index.
        flat_limit: Up to how many passages `auto` is exhaustive.
        step: Called with the name of each of `STEPS` before it begins, except `PURGE`, which is the caller's.
        may_extend: Whether new passages may be appended to the previous index if the result is the same (`growth.py`).
    """
    import numpy as np

    generation = store.generation()
    # With a random part: a rebuild of the same generation must not write into the folder that is in use.
    folder = root / f"{generation:08d}-{secrets.token_hex(4)}"
    temporary_manifest = root / f".{folder.name}.json"
    with _remove_files_on_failure(root, folder, temporary_manifest):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)  # its files contain text of the documents, as the database does
        (folder / LEXICAL).mkdir()
        (folder / TERMS).mkdir()
        (folder / PLACES).mkdir()
        step(DENSE)
        vectors = store.passage_vectors(dimension)
        np.save(folder / ROWS, vectors.rows, allow_pickle=False)
        # Opening the previous index compares all checksums: damage must not be copied into the next index.
        previous = _open_previous_index(root) if may_extend else None
        if previous is not None and can_grow(previous, store, vectors, kind=kind, flat_limit=flat_limit):
            dense, built = grow(previous, root / previous.manifest.folder, folder, store, vectors, step)
        else:
            previous, built = None, len(vectors)
            dense = write_dense(folder / DENSE, vectors, kind=kind, flat_limit=flat_limit)
            _write_other_files(root, folder, store, step)
        step(MANIFEST)
        _write_contents(root, folder, store, previous)
        files, settings = _flush_files(folder), dense.settings
        manifest = Manifest(
            folder.name, generation, len(vectors), dense.factory, files, kind, settings, dense.note, built
        )
        # Opening the index checks it: FAISS does not report that closing a file failed, as on a full disk.
        Index(root, manifest)
        temporary_manifest.write_text(json.dumps(asdict(manifest), indent=2), encoding="utf-8")
        # Whatever a power failure leaves, a manifest names only files that are on the disk: they are flushed above, the
        # manifest's content here, and its name last.
        _flush_to_disk(temporary_manifest)
        os.replace(temporary_manifest, root / MANIFEST)
    # Outside of the block: the new index is in use now, and an error must not remove its folder.
    _flush_to_disk(root)
    remove_other_generations(root, folder.name)
    return manifest


def _write_other_files(root: Path, folder: Path, store: Store, step: Callable[[str], None]) -> None:
    """Write all files of an index except the dense index; reuse the terms of unchanged passages in the current one."""
    step(LEXICAL)
    write_lexical(folder / LEXICAL, store.texts())
    step(WORDS)
    write_vocabulary(folder / WORDS, texts_by_document(store))
    step(TERMS)
    write_terms(folder / TERMS, store.texts(), _read_previous_terms(root))
    write_places(folder / PLACES, store.passage_places())


def _open_previous_index(root: Path) -> Index | None:
    """Return the index that is to be replaced, or None if there is none, or it is damaged."""
    try:
        return open_index(root)
    except LibraryError:
        return None


def _read_previous_terms(root: Path) -> tuple[np.ndarray, TermIndex] | None:
    """Return the rows and terms of the index that is to be replaced, or None if they are missing or damaged."""
    import numpy as np

    try:
        manifest = read_manifest(root)
        if manifest is None:
            return None
        folder = root / manifest.folder
        for name, entry in manifest.files.items():
            # Only these files: terms can be copied from an index of which another part is damaged.
            is_needed = name == ROWS or name.startswith(f"{TERMS}/")
            if is_needed and file_entry(folder / name) != entry:
                return None
        terms, rows = open_terms(folder / TERMS), np.load(folder / ROWS, allow_pickle=False)
        return None if terms is None or len(terms) != len(rows) else (rows, terms)
    except (LibraryError, OSError, ValueError):
        return None


@contextmanager
def _remove_files_on_failure(root: Path, folder: Path, temporary_manifest: Path) -> Iterator[None]:
    """Remove a build's `folder` and `temporary_manifest` if the block fails, and raise a one-line error.

    Raises:
        LibraryError: Disk space, memory or file handles did not suffice, or a file cannot be read back; any other error
            is raised as it is.
    """
    try:
        yield
    # Not only `Exception`: tantivy's panics are none. If memory ran out, what follows must not request more of it.
    except BaseException as error:
        for path in (folder, temporary_manifest):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        reason, help = lacking(error), system_help(error)
        if isinstance(error, LibraryCorrupt) and not isinstance(error, DatabaseCorrupt):
            reason, help = "what was written cannot be read back", "Check the disk, and the room on it."
        if not help:
            raise
        raise LibraryError(
            f"The index of {root.parent} cannot be built, and the one before stays: {reason or first_line(error)}",
            help=f"{help} Then: preflight library rebuild --library {root.parent}",
        ) from error


def _write_contents(root: Path, folder: Path, store: Store, previous: Index | None) -> None:
    """Write an index's settings and list of documents, so that documents which a database loses can be named.

    If the index extends the `previous` one, that one's list is copied, and only newer documents are added.
    """
    settings = {key: store.meta(key) for key in ("embedder", "splitter", "index")}
    with (folder / CONTENTS).open("w", encoding="utf-8") as file:
        file.write(json.dumps(settings) + "\n")
        if previous is not None:
            with (root / previous.manifest.folder / CONTENTS).open(encoding="utf-8") as old:
                # Skip the settings. The listed documents are unchanged, since otherwise the index is not extended.
                old.readline()
                shutil.copyfileobj(old, file)
        for document in store.documents_since(previous.manifest.generation if previous else 0):
            file.write(json.dumps(document) + "\n")


def _flush_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Flush a folder's files to disk, and return their entries for the manifest by path; lock files have none."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        _flush_to_disk(path)
        # Lock files hold nothing, and tantivy creates those that are missing when it opens the index.
        if path.is_file() and not path.name.endswith(".lock"):
            entries[path.relative_to(folder).as_posix()] = file_entry(path)
    _flush_to_disk(folder)
    return entries


def _flush_to_disk(path: Path) -> None:
    """Flush a file or a folder to disk; a folder on Windows, which cannot do that, is left alone."""
    if path.is_dir() and os.name == "nt":
        return
    # Windows flushes only files that are open for writing, and Linux lets no folder be opened so.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_other_generations(root: Path, keep: str) -> None:
    """Remove all generations except the folder `keep`, and what killed builds left behind.

    Files that cannot be removed, such as open ones on Windows, stay until the next call.
    """
    for path in root.iterdir():
        if path.is_dir() and path.name != keep:
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(".") and path.suffix == ".json":
            path.unlink(missing_ok=True)

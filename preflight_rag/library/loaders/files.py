"""Finding files, and the checks that come before any parser sees one."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from preflight_rag.state.errors import (
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    UnreadableDocument,
    UnsupportedDocument,
)

LOADERS = {
    "docx": (".docx",),
    "html": (".htm", ".html", ".xhtml"),
    "jsonl": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz"),
    "markdown": (".markdown", ".md"),
    "pdf": (".pdf",),
    "table": (".csv", ".tsv"),
    "text": (".text", ".txt"),
    "xml": (".nxml", ".nxml.gz", ".xml", ".xml.gz"),
}
"""Loader to the endings of the files that it reads: module `name` with `load_name`, but Markdown's is in `text`."""
SUFFIXES = tuple(sorted(suffix for suffixes in LOADERS.values() for suffix in suffixes))
ONE_DOCUMENT = (".docx", ".htm", ".html", ".markdown", ".md", ".pdf", ".text", ".txt", ".xhtml")
"""Endings of files that hold one document each; others may hold any number."""
DEFAULT_MAX_BYTES = 200 * 1024 * 1024
"""Largest file that is read, a guess at what no text needs."""
LIBRARY_FILE = "library.db"


def suffix_of(path: Path) -> str:
    """The ending that decides the loader, in lower case; `.gz` counts together with what stands before it."""
    name = path.name.lower()
    ending = Path(name).suffix
    return Path(name.removesuffix(ending)).suffix + ending if ending == ".gz" else ending


def find_files(paths: Sequence[Path]) -> Iterator[Path | DocumentError]:
    """The files to load, sorted within each folder, each once; an error for a named path that cannot be one.

    Folders are walked without following links. In them, hidden entries, files of other kinds, and folders that hold a
    library are passed over silently.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _walk(path) if path.is_dir() else _named(path):
            key = str(found) if isinstance(found, DocumentError) else os.path.abspath(found)
            if key not in seen:
                seen.add(key)
                yield found


def _named(path: Path) -> Iterator[Path | DocumentError]:
    if not os.path.lexists(path):
        yield UnreadableDocument(f"{str(path)!r} does not exist", help="Check the path", source=str(path))
    elif suffix_of(path) not in SUFFIXES:
        yield unsupported(path)
    else:
        yield path


def _walk(folder: Path) -> Iterator[Path | DocumentError]:
    errors: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = [] if LIBRARY_FILE in files else sorted(name for name in folders if not name.startswith("."))
        if LIBRARY_FILE not in files:
            for name in sorted(files):
                path = Path(root, name)
                if not name.startswith(".") and suffix_of(path) in SUFFIXES:
                    yield path
    for error in errors:
        yield UnreadableDocument(f"{error.filename!r} cannot be listed: {error.strerror}", source=str(error.filename))


def check(path: Path, max_bytes: int) -> None:
    """Refuse what is not a regular, readable file of at most `max_bytes`, or is empty.

    Raises:
        DocumentError: One of its subclasses, with the reason.
    """
    if suffix_of(path) not in SUFFIXES:
        raise unsupported(path)
    try:
        if path.is_dir():
            raise UnreadableDocument(f"{path} is a folder", help="Give the folder to ingest instead of to a loader")
        if not path.is_file():
            reason = "is not a regular file" if path.exists() else "does not exist or is a broken link"
            raise UnreadableDocument(f"{path} {reason}")
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be opened: {error.strerror or error}") from error
    if size == 0:
        raise EmptyDocument(f"{path} is empty")
    if size > max_bytes:
        raise too_large(path, max_bytes, size)


def unsupported(path: Path) -> UnsupportedDocument:
    """The error for a file of a kind that no loader reads."""
    kind = suffix_of(path)
    return UnsupportedDocument(
        f"{path} has {f'the ending {kind!r}' if kind else 'no ending'}, which no loader reads",
        help=f"Convert it to one of: {' '.join(SUFFIXES)}",
        source=str(path),
    )


def too_large(path: Path, max_bytes: int, size: int | None = None) -> DocumentTooLarge:
    """The error for a file over the limit; `size` is None when reading stopped at the limit."""
    measured = f"is {size:,} bytes" if size is not None else "unpacks to more than the limit allows"
    return DocumentTooLarge(f"{path} {measured}; the limit is {max_bytes:,} bytes", help="Split it, or raise max_bytes")


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The file's content, decompressed when its name ends in `.gz`, never more than `max_bytes`.

    Raises:
        DocumentTooLarge: There is more.
        UnreadableDocument: The compressed data are damaged.
    """
    try:
        with open_binary(path) as file:
            data = file.read(max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableDocument(f"{path} is not a whole gzip file: {error}") from error
    if len(data) > max_bytes:
        raise too_large(path, max_bytes)
    return data


def open_binary(path: Path) -> IO[bytes]:
    """The file opened for reading, through gzip when its name ends in `.gz`."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")

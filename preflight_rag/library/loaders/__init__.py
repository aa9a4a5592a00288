"""From files to documents: one loader per format, each with source, title, date, authors, pages and metadata.

A file that cannot be read raises a `DocumentError`; in files of many records, a record that cannot be read is
yielded as one, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from preflight_rag.library.loaders.files import (
    DEFAULT_MAX_BYTES,
    LOADERS,
    PAGED,
    SUFFIXES,
    Pages,
    find_files,
    opened,
    suffix_of,
)
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document

__all__ = ["DEFAULT_MAX_BYTES", "SUFFIXES", "find_files", "load"]

_LOADER_OF = {suffix: name for name, suffixes in LOADERS.items() for suffix in suffixes}


def load(
    path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES, on_page: Pages | None = None, folder: Path | None = None
) -> Iterator[Document | DocumentError]:
    """The documents of one file, read as they are asked for.

    Args:
        path: A file whose ending is one of `SUFFIXES`.
        max_bytes: Largest size, after decompression, that is read.
        on_page: Called after each page, where a file has pages.
        folder: A folder, its links resolved, that the file may not lie outside of, whatever its path leads to by now.

    Yields:
        Documents, and a `DocumentError` in the place of each record that cannot be read.

    Raises:
        DocumentError: The file as a whole cannot be read, or not further.
    """
    found = False
    try:
        with opened(path, max_bytes, folder):
            for item in _documents(path, max_bytes, on_page):
                found = True
                yield item
    except (DocumentError, MemoryError):
        raise
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise UnreadableDocument(f"{path} cannot be read: {type(error).__name__}: {error}") from error
    if not found:
        raise EmptyDocument(f"{path} holds no document")


def _documents(path: Path, max_bytes: int, on_page: Pages | None) -> Iterator[Document | DocumentError]:
    name = _LOADER_OF[suffix_of(path)]
    if name == "xml":
        name = import_module(".xml", __name__).xml_loader(path)
    module = import_module(f".{'text' if name == 'markdown' else name}", __name__)
    paged = {"on_page": on_page} if on_page and name in PAGED else {}
    yield from getattr(module, f"load_{name}")(path, max_bytes, **paged)

"""From files to documents: one loader per format, each with source, title, date, authors, pages and metadata.

A file that cannot be read raises a `DocumentError`; in files of many records, a record that cannot be read is
yielded as one, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from preflight_rag.ingest.loaders.files import (
    DEFAULT_MAX_BYTES,
    LOADERS,
    PAGED,
    SUFFIXES,
    Pages,
    find_files,
    held_in_memory,
    opened,
    suffix_of,
    too_large,
    unsupported,
    why_not_read,
)
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument, UnsupportedDocument
from preflight_rag.state.values import Document

__all__ = ["DEFAULT_MAX_BYTES", "SUFFIXES", "find_files", "load", "load_bytes"]

_LOADER_OF = {suffix: name for name, suffixes in LOADERS.items() for suffix in suffixes}


def load(
    path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES, on_page: Pages | None = None, folder: Path | None = None
) -> Iterator[Document | DocumentError]:
    """Yield the documents of one file; the file is read only as far as they are requested.

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
    with _as_document_errors(path), opened(path, max_bytes, folder):
        for item in _documents(path, max_bytes, on_page):
            found = True
            yield item
    if not found:
        raise EmptyDocument(f"{path} holds no document")


def load_bytes(path: Path, data: bytes, *, max_bytes: int = DEFAULT_MAX_BYTES) -> list[Document | DocumentError]:
    """Return the documents of a file inside another file, such as a mail's attachment.

    Args:
        path: The file's name below the path of the outer file; nothing exists there on disk.
        data: The file's content.
        max_bytes: Largest size, after decompression, that is read.

    Raises:
        DocumentError: It cannot be read, or no loader reads files of its kind.
    """
    if suffix_of(path) not in SUFFIXES:
        raise unsupported(path)
    if reason := why_not_read(path):
        raise UnsupportedDocument(f"{path}: {reason}")
    if not data:
        raise EmptyDocument(f"{path} is empty")
    if len(data) > max_bytes:
        raise too_large(path, max_bytes, len(data))
    with _as_document_errors(path), held_in_memory(path, data):
        return list(_documents(path, max_bytes, None))


@contextmanager
def _as_document_errors(path: Path) -> Iterator[None]:
    """Raise any error of a loader as a `DocumentError` that names the file."""
    try:
        yield
    except (DocumentError, MemoryError):
        raise
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise UnreadableDocument(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def _documents(path: Path, max_bytes: int, on_page: Pages | None) -> Iterator[Document | DocumentError]:
    """Yield the documents of one file with the loader for its extension."""
    name = _LOADER_OF[suffix_of(path)]
    if name == "xml":
        name = import_module(".xml", __name__).xml_loader(path)
    module = import_module(f".{'text' if name == 'markdown' else name}", __name__)
    with_denials = import_module(".nested_lists", __name__).with_denials  # a search needs no reader of files
    paged = {"on_page": on_page} if on_page and name in PAGED else {}
    for item in getattr(module, f"load_{name}")(path, max_bytes, **paged):
        # Pages and tables of a document stand at places of its text, which must not move.
        is_plain = isinstance(item, Document) and not item.pages
        yield item.model_copy(update={"text": with_denials(item.text)}) if is_plain else item

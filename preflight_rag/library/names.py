"""Short names of documents, which network clients see instead of paths on the server's disk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from preflight_rag.state.errors import UsageError
from preflight_rag.state.values import COPY_OF

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection
    from preflight_rag.library.storage.catalogue import Catalogue

_ABSOLUTE_PATH = re.compile(r"/|~/|[A-Za-z]:[\\/]|\\\\")
_SEPARATORS = re.compile(r"[/\\]+")
MOST_LISTED = 5
"""Most documents of one name that an error lists."""


class DocumentNames:
    """Short names of a library's documents, and the documents by these names. May be used from several threads.

    A document that was read from a file has the file's path as its id. Its name is the shortest end of that path that
    is unique: `paper.pdf`, or `2021/paper.pdf` if there are two. Ids of records, PMIDs and addresses are their own
    names. A name depends on the library's present documents; ids are what is stored.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._reading = Lock()
        self._generation = -1
        self._paths: dict[str, list[str]] = {}

    def name(self, document_id: str) -> str:
        """Return the short name of a document: the shortest end of its path that no other document has.

        An id that is not a path, or has no such end, is returned unchanged. A deleted document gets its file's name.
        """
        if not is_path(document_id):
            return document_id
        parts = _parts(document_id)
        others = [_parts(id) for id in self._ids_with_file_name(parts[-1]) if id != document_id]
        for length in range(1, len(parts) + 1):
            end = parts[-length:]
            name = "/".join(end)
            is_unique = all(other[-length:] != end for other in others)
            # An end that is another document's whole id would lead to that document.
            if is_unique and not self._catalogue.knows(name):
                return name
        return document_id

    def document_id(self, name: str) -> str:
        """Return the id of a document by its name or id; an unknown name is returned unchanged.

        Raises:
            UsageError: Several documents have that name.
        """
        if self._catalogue.knows(name):
            return name
        end = _parts(name)
        if not end:
            return name
        ids = [id for id in self._ids_with_file_name(end[-1]) if _parts(id)[-len(end) :] == end]
        if len(ids) > 1:
            names = ", ".join(self.name(id) for id in ids[:MOST_LISTED])
            raise UsageError(f"{len(ids)} documents are called {name[:200]!r}", help=f"Name one of: {names}.")
        return ids[0] if ids else name

    def shown(self, value: Any) -> Any:
        """Return JSON values as clients see them: paths of documents replaced by names, other sources by file names.

        Only values of keys that hold ids and sources are changed, never text.
        """
        if isinstance(value, dict):
            return {key: self._shown_in_field(key, entry) for key, entry in value.items()}
        return [self.shown(entry) for entry in value] if isinstance(value, list | tuple) else value

    def _shown_in_field(self, key: str, value: Any) -> Any:
        """Return the value of a JSON object's key, as `shown` does; ids and paths are recognised by the key."""
        if key in ("document_id", COPY_OF) and isinstance(value, str):
            return self.name(value)
        if key == "documents" and isinstance(value, list | tuple):
            return [self.name(entry) if isinstance(entry, str) else self.shown(entry) for entry in value]
        if key in ("source", "origin", "path") and isinstance(value, str):
            return self.source(value)
        return self.shown(value)

    def source(self, source: str) -> str:
        """Return the source of a document for display.

        A document's path becomes the document's short name, any other path the file's name; other sources stay.
        """
        if not is_path(source):
            return source
        file_name = _parts(source)[-1]
        return self.name(source) if source in self._ids_with_file_name(file_name) else file_name

    def _ids_with_file_name(self, file_name: str) -> Sequence[str]:
        """Return the ids of documents that are paths ending with a file name."""
        with self._reading:
            # Within the lock, so that threads which ask at once read the ids once.
            generation = self._catalogue.generation()
            if generation != self._generation:
                paths: dict[str, list[str]] = {}
                for id in filter(is_path, self._catalogue.ids()):
                    paths.setdefault(_parts(id)[-1], []).append(id)
                self._paths, self._generation = paths, generation
            return self._paths.get(file_name, ())


_NAMES_BY_LIBRARY: WeakKeyDictionary[Collection, DocumentNames] = WeakKeyDictionary()


def names_of(library: Collection) -> DocumentNames:
    """Return the `DocumentNames` of a library, which are created once and cached as long as the library exists."""
    return _NAMES_BY_LIBRARY.setdefault(library, DocumentNames(library.catalogue))


def is_path(text: str) -> bool:
    """Return whether an id or a source is an absolute path."""
    # "/" alone looks like a path, but has no last part to be its name.
    return _ABSOLUTE_PATH.match(text) is not None and bool(_parts(text))


def _parts(path: str) -> list[str]:
    """Return the parts of a path, split at slashes and backslashes, without empty ones."""
    return [part for part in _SEPARATORS.split(path) if part]

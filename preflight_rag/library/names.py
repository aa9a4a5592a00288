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

_PATH = re.compile(r"/|~/|[A-Za-z]:[\\/]|\\\\")
_BETWEEN = re.compile(r"[/\\]+")
MOST_NAMED = 5  # most documents of one name that an error lists


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
        """Return the name of a document; of a deleted document, its file's name."""
        if not is_path(document_id):
            return document_id
        parts = _parts(document_id)
        others = [_parts(each) for each in self._called(parts[-1]) if each != document_id]
        for length in range(1, len(parts) + 1):
            tail, name = parts[-length:], "/".join(parts[-length:])
            # An end that is another document's whole id would lead to that document.
            if not any(other[-length:] == tail for other in others) and not self._catalogue.knows(name):
                return name
        return document_id

    def document_id(self, name: str) -> str:
        """Return the id of a document by its name or id; an unknown name is returned unchanged.

        Raises:
            UsageError: Several documents have that name.
        """
        if self._catalogue.knows(name):
            return name
        tail = [part for part in _BETWEEN.split(name) if part]
        found = [each for each in self._called(tail[-1]) if _parts(each)[-len(tail) :] == tail] if tail else []
        if len(found) > 1:
            names = ", ".join(self.name(each) for each in found[:MOST_NAMED])
            raise UsageError(f"{len(found)} documents are called {name[:200]!r}", help=f"Name one of: {names}.")
        return found[0] if found else name

    def shown(self, value: Any) -> Any:
        """Return JSON values as clients see them: paths of documents replaced by names, other sources by file names.

        Only values of keys that hold ids and sources are changed, never text.
        """
        if isinstance(value, dict):
            return {key: self._shown(key, each) for key, each in value.items()}
        return [self.shown(each) for each in value] if isinstance(value, list | tuple) else value

    def _shown(self, key: str, value: Any) -> Any:
        """Return a field's value with ids and paths replaced by the names that users see."""
        if key in ("document_id", COPY_OF) and isinstance(value, str):
            return self.name(value)
        if key == "documents" and isinstance(value, list | tuple):
            return [self.name(each) if isinstance(each, str) else self.shown(each) for each in value]
        if key in ("source", "origin", "path") and isinstance(value, str):
            return self.source(value)
        return self.shown(value)

    def source(self, source: str) -> str:
        """Return the source of a document for display: a file's name; any other source as it is."""
        if not is_path(source):
            return source
        return self.name(source) if source in self._called(_parts(source)[-1]) else _parts(source)[-1]

    def _called(self, file: str) -> Sequence[str]:
        """Return the ids that are paths of files with that file name."""
        with self._reading:
            # Within the lock, so that threads which ask at once read the ids once.
            generation = self._catalogue.generation()
            if generation != self._generation:
                paths: dict[str, list[str]] = {}
                for each in filter(is_path, self._catalogue.ids()):
                    paths.setdefault(_parts(each)[-1], []).append(each)
                self._paths, self._generation = paths, generation
            return self._paths.get(file, ())


_KEPT: WeakKeyDictionary[Collection, DocumentNames] = WeakKeyDictionary()


def names_of(library: Collection) -> DocumentNames:
    """Return the `DocumentNames` of a library, created once and kept as long as the library."""
    return _KEPT.setdefault(library, DocumentNames(library.catalogue))


def is_path(text: str) -> bool:
    """Return whether an id or a source is an absolute path."""
    # "/" alone looks like a path, but has no last part to be its name.
    return _PATH.match(text) is not None and bool(_parts(text))


def _parts(path: str) -> list[str]:
    """Return the parts of a path."""
    return [part for part in _BETWEEN.split(path) if part]

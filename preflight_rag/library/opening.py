"""Where a library is, and opening it: a folder, or the address of a database.

Everything that takes `--library` takes either, and goes through here.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.library.collection import OwnCollection
    from preflight_rag.library.splitting import SplitterName

SCHEMES = ("postgresql://", "postgres://")
HOME = "PREFLIGHT_HOME"
"""The variable that names the folder for what is kept of libraries that are in no folder."""
DIGITS = 12


@dataclass(frozen=True)
class LibraryPlace:
    """Where a library is.

    Attributes:
        folder: The library's folder; of one in a database, this machine's folder for what is kept beside it: API keys,
            uploaded files, a calibration.
        url: The address of the database, with its password, or None.
    """

    folder: Path
    url: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, given: str | Path) -> LibraryPlace:
        """The place that `--library` names.

        Raises:
            UsageError: It is the address of a database and cannot be read, or its extra is not installed.
        """
        if not (isinstance(given, str) and "://" in given):
            return cls(Path(given).expanduser())
        require_extra("postgres", "--library with an address")
        from preflight_rag.library.postgres.connections import Address

        # The name holds no password: one that is changed leads to the same folder.
        name = Address.read(given, "--library").identity
        home = Path(os.environ.get(HOME) or Path.home() / ".local" / "share" / "preflight-rag").expanduser()
        return cls(home / hashlib.sha256(name.encode()).hexdigest()[:DIGITS], given)

    def __str__(self) -> str:
        if self.url is None:
            return str(self.folder)
        from preflight_rag.library.postgres.connections import Address

        return Address.read(self.url, "--library").name

    def option(self) -> str:
        """What to write after `--library` in an advice, without the password."""
        return str(self.folder) if self.url is None else "URL"


def open_library(
    place: LibraryPlace | str | Path,
    *,
    embedder: str | Embeddings | None = None,
    create: bool = False,
    splitter: SplitterName | None = None,
    lock_seconds: float | None = None,
) -> OwnCollection:
    """Open the library at a place.

    Args:
        place: Its folder, or the address of its database.
        embedder: What `open_embedder` takes; None for the one that the library was made with, and the default one for
            a new library.
        create: Make the library where there is none.
        splitter: How documents are split, which the library remembers; None for its own.
        lock_seconds: How long to wait for another writer; None for the usual time.

    Raises:
        LibraryMissing: There is none, and `create` is false.
        LibraryUnavailable: The database cannot be reached.
        EmbedderMismatch, LibraryCorrupt, LibraryError, EmbedderError, UsageError: As `Library.open`.
    """
    where = place if isinstance(place, LibraryPlace) else LibraryPlace.read(place)
    options: dict[str, Any] = {"embedder": embedder, "create": create, "splitter": splitter}
    if lock_seconds is not None:
        options["lock_seconds"] = lock_seconds
    if where.url is not None:
        from preflight_rag.library.postgres.library import PostgresLibrary

        return PostgresLibrary.open(where.url, where.folder, **options)
    from preflight_rag.library.library import Library

    return Library.open(where.folder, **options)

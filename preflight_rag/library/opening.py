"""Opening a library by its place: a folder, or the address of a database.

Everything that takes `--library` takes either, and uses this file.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from preflight_rag.databases.postgres import Address
    from preflight_rag.ingest.splitting import SplitterName
    from preflight_rag.library.collection import OwnCollection

DATABASE = "library.db"
HOME = "PREFLIGHT_HOME"
"""The environment variable for the folder that holds the files of libraries which are in no folder."""
DIGEST_CHARACTERS = 8
"""Characters of an address's checksum in the name of its folder."""


@dataclass(frozen=True)
class LibraryPlace:
    """The place of a library: a folder, or a database.

    Attributes:
        given: The value of `--library`; an address may contain a password, so it must not be shown.
    """

    given: str = field(repr=False)

    @classmethod
    def read(cls, given: str | Path | LibraryPlace) -> LibraryPlace:
        """Return the place that a value of `--library` names, or the place itself if it is one; nothing is opened."""
        return given if isinstance(given, LibraryPlace) else cls(str(given))

    @property
    def url(self) -> str | None:
        """The address of the database, with its password; None for a folder."""
        return self.given if "://" in self.given else None

    @cached_property
    def folder(self) -> Path:
        """The library's folder; for a library in a database, this machine's folder for the files that belong to it.

        These are API keys, uploaded files, and a calibration. `Preflight.open` creates it.

        Raises:
            UsageError: The address cannot be read, or its extra is not installed.
        """
        if self.url is None:
            return Path(self.given).expanduser()
        address = self._address()
        home = Path(os.environ.get(HOME) or Path.home() / ".local" / "share" / "preflight-rag").expanduser()
        # The password is left out, so that changing it leads to the same folder.
        digest = hashlib.sha256(address.identity.encode()).hexdigest()[:DIGEST_CHARACTERS]
        return home / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', address.database)}-{digest}"

    def _address(self) -> Address:
        """Return the address of the database.

        Raises:
            UsageError: The address cannot be read, or its extra is not installed.
        """
        require_extra("postgres", "a library in a database")
        from preflight_rag.databases.postgres import Address

        return Address.read(self.given, "--library")

    def __str__(self) -> str:
        return self.given if self.url is None else self._address().name

    @property
    def option(self) -> str:
        """The value of `--library` for a help text, without a password."""
        return self.given if self.url is None else "URL"

    def is_there(self) -> bool:
        """Return whether the folder holds a library; always True for a database, which is not contacted."""
        return self.url is not None or (self.folder / DATABASE).is_file()


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
        embedder: A spec or object as `open_embedder` takes it; None for the embedder with which the library was made,
            and the default one for a new library.
        create: Make the library if there is none.
        splitter: How documents are split, which the library remembers; None for its own.
        lock_seconds: How long to wait for another writer; None for the usual time.

    Raises:
        LibraryMissing: There is none, and `create` is false.
        LibraryUnavailable: The database cannot be reached.
        EmbedderMismatch, LibraryCorrupt, LibraryError, EmbedderError, UsageError: As `Library.open`.
    """
    library_place = LibraryPlace.read(place)
    options: dict[str, Any] = {"embedder": embedder, "create": create, "splitter": splitter}
    if lock_seconds is not None:
        options["lock_seconds"] = lock_seconds
    if library_place.url is not None:
        # Before the import: reading the address says which extra is missing, where the import would only fail.
        folder = library_place.folder
        from preflight_rag.library.postgres.library import PostgresLibrary

        return PostgresLibrary.open(library_place.url, folder, **options)
    from preflight_rag.library.library import Library

    return Library.open(library_place.folder, **options)

"""The files and folders that an ingest was given: nothing is read outside of a folder that was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from preflight_rag.ingest.document_store import DocumentStore
from preflight_rag.ingest.identity import place_key
from preflight_rag.ingest.loaders.fields import absolute
from preflight_rag.ingest.loaders.files import is_inside
from preflight_rag.text.words import unicode_text


def given_paths(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the paths that a caller names, one or several; `~` becomes the home folder."""
    return [Path(path).expanduser() for path in ([paths] if isinstance(paths, (str, Path)) else paths)]


def file_origin(path: Path) -> str:
    """Return the name under which a file's documents are stored: its absolute path."""
    return absolute(path)


class GivenPaths:
    """The folders and files that a caller named; named files may be links to any place."""

    def __init__(self, given: Sequence[Path] = ()) -> None:
        self._folders = {os.path.abspath(path): path.resolve() for path in given if path.is_dir()}
        self._named = {os.path.abspath(path) for path in given} - set(self._folders)

    def folder_of(self, file: Path) -> Path | None:
        """Return the folder in which a file was found, with links resolved; None if the file itself was named."""
        path = os.path.abspath(file)
        if path in self._named:
            return None
        return next((real for folder, real in self._folders.items() if Path(path).is_relative_to(folder)), None)

    def note_place(self, store: DocumentStore, file: Path) -> None:
        """Record the real path of a file whose path contains links: it may be shown from there only."""
        origin = file_origin(file)
        try:
            real, folder = os.path.realpath(file), self.folder_of(file)
        except OSError:  # it changes while it is asked
            return
        if real == origin or not (folder is None or is_inside(Path(real), folder)):
            return
        if store.meta(place_key(origin)) != unicode_text(real):
            store.set_meta(place_key(origin), unicode_text(real))

"""The files and folders that the caller of an ingest named: nothing is read outside of a named folder."""

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
    """Return one path or several paths as a list; `~` becomes the home folder."""
    several = [paths] if isinstance(paths, (str, Path)) else paths
    return [Path(path).expanduser() for path in several]


def file_origin(path: Path) -> str:
    """Return the name under which a file's documents are stored: its absolute path."""
    return absolute(path)


class GivenPaths:
    """The folders and files that a caller named; a file named itself may be a link to any place.

    Args:
        given: The files and folders.
    """

    def __init__(self, given: Sequence[Path] = ()) -> None:
        self._folders = {os.path.abspath(path): path.resolve() for path in given if path.is_dir()}
        self._named = {os.path.abspath(path) for path in given} - set(self._folders)

    def folder_of(self, file: Path) -> Path | None:
        """Return the named folder that contains a file, with links resolved; None if the file itself was named."""
        path = os.path.abspath(file)
        if path in self._named:
            return None
        for folder, resolved_folder in self._folders.items():
            if Path(path).is_relative_to(folder):
                return resolved_folder
        return None

    def record_real_path(self, store: DocumentStore, file: Path) -> None:
        """Record the real path of a file whose path contains links: the file is later shown only from there.

        Nothing is recorded if the path has no links, or if they lead out of the named folder.
        """
        origin = file_origin(file)
        try:
            real_path, folder = os.path.realpath(file), self.folder_of(file)
        except OSError:  # the file changes at this moment
            return
        leads_outside = folder is not None and not is_inside(Path(real_path), folder)
        if real_path == origin or leads_outside:
            return
        if store.meta(place_key(origin)) != unicode_text(real_path):
            store.set_meta(place_key(origin), unicode_text(real_path))

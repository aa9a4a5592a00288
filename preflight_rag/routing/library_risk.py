"""The risk model that a library uses.

Its own is the file `preflight.json` in its folder, which `calibration.py` makes. Without it the shipped model is used,
if it was fitted with the library's embedder.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.routing.risk import RiskModel, shipped
from preflight_rag.state.errors import LibraryCorrupt, LibraryError, system_help

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection

FILE = "preflight.json"
"""Name of the file with a library's own model."""


def risk_model_of(library: Collection) -> RiskModel | None:
    """Return the risk model of a collection; None if none was calibrated for its embedder.

    The shipped model was fitted on whole collections, so it is not used for a collection of which only a part is known.

    Raises:
        LibraryCorrupt: Its own model cannot be used, see `risk_model`.
    """
    if not library.is_complete and not (library.path / FILE).is_file():
        return None
    return risk_model(library.path, library.embedder_revision)


def risk_model(folder: Path, embedder: str) -> RiskModel | None:
    """Return the model in a library's folder, else the shipped one for the embedder's revision, else None.

    Raises:
        LibraryCorrupt: The library's own model cannot be read, or was fitted with another embedder.
    """
    path = folder / FILE
    try:
        stamp = path.stat()
    except FileNotFoundError:
        return shipped(embedder)
    # Time and size are arguments so that the cache notices a new calibration.
    own = _load_model(path, stamp.st_mtime_ns, stamp.st_size)
    if own.embedder != embedder:
        raise LibraryCorrupt(
            f"{path} was calibrated with the embedder {own.embedder!r}, not {embedder!r}", help=_repair_advice(path)
        )
    return own


def write_model(folder: Path, model: RiskModel) -> Path:
    """Store a model as the library's own, and return its path; the file is replaced as a whole.

    Raises:
        LibraryError: The folder cannot be written.
    """
    path = folder / FILE
    # Written aside and renamed, so that no process reads half a model; by process id, so that two do not share a file.
    scratch = folder / f".{FILE}.{os.getpid()}"
    try:
        scratch.write_text(json.dumps(model.to_json(), indent=2) + "\n", encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise LibraryError(f"{path} cannot be written: {error.strerror}", help=system_help(error)) from None
    return path


@lru_cache(maxsize=8)
def _load_model(path: Path, _changed: int, _size: int) -> RiskModel:
    """Return the model in a file, cached until the file changes."""
    try:
        return RiskModel.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise LibraryCorrupt(f"{path} is no calibration ({error})", help=_repair_advice(path)) from None


def _repair_advice(path: Path) -> str:
    """Return the advice to the user for a model that cannot be used."""
    return f"Run `preflight calibrate --library {path.parent}` again, or delete the file"

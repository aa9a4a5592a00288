"""Where derived files are kept, and the checksums by which they are known."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the folder for derived files: `PREFLIGHT_CACHE`, else the user's cache folder of the platform."""
    override = os.environ.get("PREFLIGHT_CACHE")
    if override:
        return Path(override)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("preflight-rag"))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""What people call a page of a file: of slides and sheets it is one of those."""

from __future__ import annotations

from pathlib import PurePath

_SLIDES = (".pptx", ".pptm", ".ppt", ".ppsx", ".ppsm", ".potx", ".potm", ".odp", ".otp", ".fodp")
_SHEETS = (".xlsx", ".xlsm", ".xls", ".xltx", ".xltm", ".ods", ".ots", ".fods")
"""Endings of shows, templates and flat files, too; the page's `words.js` has the same two lists."""


def page_name(source: str, page: int | None) -> str:
    """Return a page of a file as people call it, such as "p. 3" or "sheet 2"; "" without a page.

    Args:
        source: The file's path or name.
        page: The page, from 1.
    """
    if not page:
        return ""
    suffix = PurePath(source).suffix.lower()
    kind = "slide" if suffix in _SLIDES else "sheet" if suffix in _SHEETS else "p."
    return f"{kind} {page}"

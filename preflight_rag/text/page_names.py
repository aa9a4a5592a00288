"""The names of a file's pages: "p. 3", or of presentations "slide 3" and of workbooks "sheet 3"."""

from __future__ import annotations

from pathlib import PurePath

_SLIDES = (".pptx", ".pptm", ".ppt", ".ppsx", ".ppsm", ".potx", ".potm", ".odp", ".otp", ".fodp")
_SHEETS = (".xlsx", ".xlsm", ".xls", ".xltx", ".xltm", ".ods", ".ots", ".fods")
"""File endings of presentations and workbooks, with shows, templates and flat files; `words.js` has the same lists."""


def page_name(source: str, page: int | None) -> str:
    """Return the name of a page of a file, such as "p. 3" or "sheet 2"; "" without a page.

    Args:
        source: The file's path or name.
        page: The page's number, from 1.
    """
    if not page:
        return ""
    suffix = PurePath(source).suffix.lower()
    if suffix in _SLIDES:
        return f"slide {page}"
    return f"sheet {page}" if suffix in _SHEETS else f"p. {page}"

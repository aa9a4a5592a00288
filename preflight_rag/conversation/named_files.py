"""Questions that name a file to search: "according to report-south.md, what was the largest cost?"."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection

_FILE_REFERENCE = re.compile(
    r"\b(?:according to|as (?:per|stated in)|based on|in|from|within) (?:the (?:file|document) )?"
    r"[\"“'`]?(?P<file>[\w./-]{1,120}\.[A-Za-z][A-Za-z0-9]{1,4})[\"”'`]?(?=[\s,?.!:;]|$),?\s*",
    re.I,
)


def resolve_file(message: str, library: Collection | None) -> tuple[str, list[str]]:
    """Return a message without "according to report.md", and the id of that file's document.

    The message is unchanged, and no id is returned, if it names no file or nothing else, or if the library has no such
    file or several.
    """
    match = _FILE_REFERENCE.search(message)
    if match is None or library is None:
        return message, []
    named_parts = PurePath(match["file"].casefold()).parts
    document_ids: list[str] = []
    with suppress(LibraryError):
        for row in library.documents():
            path = str(row["metadata"].get("path") or row["source"])
            if PurePath(path.casefold()).parts[-len(named_parts) :] == named_parts:
                document_ids.append(row["id"])
    before = message[: match.start()].rstrip(", \t\n")
    without_file = " ".join(f"{before} {message[match.end() :]}".split())
    without_file = re.sub(r" (?=[?!.]+$)", "", without_file)
    if len(document_ids) != 1 or not re.search(r"\w", without_file):
        return message, []
    return without_file[:1].upper() + without_file[1:], document_ids

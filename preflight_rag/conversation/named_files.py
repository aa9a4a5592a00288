"""Questions that name a file to search: "according to report-south.md, what was the largest cost?"."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from preflight_rag.state.errors import LibraryError

if TYPE_CHECKING:
    from preflight_rag.library.collection import Collection

_NAMED = re.compile(
    r"\b(?:according to|as (?:per|stated in)|based on|in|from|within) (?:the (?:file|document) )?"
    r"[\"“'`]?(?P<file>[\w./-]{1,120}\.[A-Za-z][A-Za-z0-9]{1,4})[\"”'`]?(?=[\s,?.!:;]|$),?\s*",
    re.I,
)


def resolve_file(message: str, library: Collection | None) -> tuple[str, list[str]]:
    """Return the message without the file name in it, and the ids of that file's documents.

    A file that the library does not have, or that several folders have, is left in the question.
    """
    match = _NAMED.search(message)
    if match is None or library is None:
        return message, []
    asked = PurePath(match["file"].casefold()).parts
    found: list[str] = []
    with suppress(LibraryError):
        for row in library.documents():
            path = str(row["metadata"].get("path") or row["source"])
            if PurePath(path.casefold()).parts[-len(asked) :] == asked:
                found.append(row["id"])
    before = message[: match.start()].rstrip(", \t\n")
    rest = re.sub(r" (?=[?!.]+$)", "", " ".join(f"{before} {message[match.end() :]}".split()))
    if len(found) != 1 or not re.search(r"\w", rest):
        return message, []
    return rest[:1].upper() + rest[1:], found

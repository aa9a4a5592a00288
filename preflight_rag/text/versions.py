"""Which documents replace each other: versions of one document, of which the newest holds.

One document is a newer version of another where it says so (`replaces:` or `supersedes:` in its front matter, or "this
replaces ..." with the other's title in its text), and where both have one title but for a year or a version's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from preflight_rag.state.reading import Source
from preflight_rag.text.words import words

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?:\s?[-/–]\s?(?:\d\d|(?:19|20)\d\d))?(?!\d)")
_VERSION = re.compile(r"\b(?:v|ver|version|rev|revision|edition|issue)[\s.]?(?P<number>\d+(?:\.\d+)*)\b", re.I)
_REPLACES = re.compile(r"\b(?:replaces?|supersedes?|superseding|replacing)\b(?P<what>[^\n]{3,200})", re.I)
LEAST_TITLE = 2
"""Words of a title from which one that is in the other's text names it; a guess: one word is no name."""


def version_name(source: Source) -> str:
    """What a version is called beside the others: the year of its title, its number, or its date; empty without any."""
    title = source.title.replace("_", " ")
    year, number = _YEAR.search(title), _VERSION.search(title)
    return (year or number or [source.date or ""])[0]


def supersedes(newer: Source, older: Source) -> bool:
    """Whether one document is a newer version of another."""
    if not newer.document_id or newer.document_id == older.document_id:
        return False
    if _says_so(newer, older):
        return True
    if _says_so(older, newer):
        return False
    name = _name(newer.title)
    return bool(name) and name == _name(older.title) and _place(newer) > _place(older)


def are_versions(a: Source, b: Source) -> bool:
    """Whether two documents are versions of one."""
    return supersedes(a, b) or supersedes(b, a)


def newest_first(sources: Sequence[Source]) -> list[Source]:
    """The documents in an order in which none stands before one that replaces it; else as they were."""
    left, ordered = list(sources), []
    while left:
        free = [one for one in left if not any(supersedes(other, one) for other in left if other is not one)]
        ordered.append((free or left)[0])
        left.remove(ordered[-1])
    return ordered


def _name(title: str) -> tuple[str, ...]:
    """The words of a title without years and numbers of versions."""
    plain = title.replace("_", " ").replace("-", " ")
    return tuple(words(_VERSION.sub(" ", _YEAR.sub(" ", plain))))


def _place(source: Source) -> tuple[str, tuple[int, ...], str]:
    """What versions of one title are ordered by: the year in it, the number in it, the date; the unknown is least."""
    title = source.title.replace("_", " ")
    year, number = _YEAR.search(title), _VERSION.search(title)
    return year[0] if year else "", tuple(map(int, number["number"].split("."))) if number else (), source.date or ""


def _says_so(newer: Source, older: Source) -> bool:
    """Whether a document's front matter or text says that it replaces another one."""
    file, title = PurePath(older.source or older.document_id).name.casefold(), older.title.casefold().strip()
    for named in newer.replaces:
        if named.casefold().strip() in (title, file, PurePath(file).stem, older.document_id.casefold()):
            return True
    stated = [match["what"].casefold() for match in _REPLACES.finditer(newer.text)]
    return any((len(words(title)) >= LEAST_TITLE and title in what) or (file and file in what) for what in stated)

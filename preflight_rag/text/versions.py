"""Versions of a document, of which the newest holds.

A document is a newer version of another if it says so (`replaces:` or `supersedes:` in its front matter, or "this
replaces ..." with the other's title in its text), or if their titles differ only in a year or a version number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from difflib import SequenceMatcher
from pathlib import PurePath

from preflight_rag.state.reading import Source
from preflight_rag.text.headers import VERSIONS, changed
from preflight_rag.text.words import words

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?:\s?[-/–]\s?(?:\d\d|(?:19|20)\d\d))?(?!\d)")
_VERSION = re.compile(r"\b(?:v|ver|version|rev|revision|edition|issue)[\s.]?(?P<number>\d+(?:\.\d+)*)\b", re.I)
_ISSUE = re.compile(r"\bissue\b", re.I)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_EDITION = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_ORDINALS)})|(?P<digits>\d{{1,3}})(?:st|nd|rd|th)) (?:edition|version|revision|issue)\b",
    re.I,
)
_OF_EDITIONS = re.compile(
    r"\b(?:polic(?:y|ies)|plan|rules|prices?|tariffs?|fees?|charges|rates|handbook|guide(?:lines)?|terms|procedures?|code"
    r"|manual|charter|statutes|constitution|regulations|bye?-?laws|protocol|standards?)\b",
    re.IGNORECASE,
)
"""What appears in editions, of which the newest holds, unlike a series of invoices, minutes or newsletters."""
_REPLY = re.compile(r"\s*(?:re|fwd?|aw|wg)\s?:", re.I)
_REPLACES = re.compile(r"\b(?:replaces?|supersedes?|superseding|replacing)\b(?P<what>[^\n]{3,200})", re.I)
_TOKEN = re.compile(r"[^\s.,;:!?()]+(?:[.,:][^\s.,;:!?()]+)*")
MOST_CHANGED = 3
"""Most words in which two sentences of versions may differ for the difference to be shown in short form; a guess."""
LEAST_TITLE = 2
"""Least words of a title by which another text can name it; a guess: one word is not specific."""


def version_name(source: Source) -> str:
    """Return the label that distinguishes a version: the year in its title, its number, its date, its file's year.

    Empty without any.
    """
    title = source.title.replace("_", " ")
    year, number = _YEAR.search(title), _VERSION.search(title)
    return (year or number or _EDITION.search(title) or [dated(source)])[0]


def dated(source: Source) -> str:
    """Return a document's date, or the year in its file's name; empty without any.

    Two files "leave-2022" and "leave-2024" are often the editions of one policy, which is dated nowhere.
    """
    stem = PurePath(source.source or source.document_id).stem.replace("_", " ")
    year = _YEAR.search(stem) if _OF_EDITIONS.search(f"{stem.replace('-', ' ')} {source.title}") else None
    return source.date or (year[0][:4] if year and int(year[0][:4]) <= date.today().year + 1 else "")


def supersedes(newer: Source, older: Source) -> bool:
    """Return whether one document is a newer version of another."""
    if not newer.document_id or newer.document_id == older.document_id:
        return False
    if _says_so(newer, older):
        return True
    if _says_so(older, newer):
        return False
    if _REPLY.match(newer.title) or _REPLY.match(older.title):
        return False  # an answer to a mail is no version of it
    name = _name(newer.title)
    return bool(name) and name == _name(older.title) and _place(newer) > _place(older)


def replacing(source: Source, sources: Sequence[Source]) -> list[Source]:
    """Return the passages of editions that replace a document's.

    A year in the title alone replaces nothing: last year's report still says what was so last year; nor does a further
    issue of a newsletter.
    """
    number = _number(source.title)
    return [
        each
        for each in sources
        if supersedes(each, source)
        and (_says_so(each, source) or (not _ISSUE.search(each.title) and () < number < _number(each.title)))
    ]


def names_version(question: str, source: Source) -> bool:
    """Return whether a question names the version of a document: its year, number, edition or date."""
    title = source.title.replace("_", " ")
    names = [
        version_name(source),
        dated(source)[:4],
        *(found[0] for form in (_VERSION, _EDITION) if (found := form.search(title))),
    ]
    return any(name and name.casefold() in question.casefold() for name in names)


def are_versions(a: Source, b: Source) -> bool:
    """Return whether two documents are versions of one document."""
    return supersedes(a, b) or supersedes(b, a)


def newest_first(sources: Sequence[Source]) -> list[Source]:
    """Return the documents in their order, but with each replaced one directly after its replacement."""
    left, ordered = list(sources), list[Source]()
    while left:
        first = left[0]
        for _ in left:  # documents that replace each other in a circle have no newest one
            first = next((other for other in left if other is not first and supersedes(other, first)), first)
        ordered.append(first)
        left.remove(first)
    return ordered


def change(newer: str, older: str) -> tuple[str, str] | None:
    """Return the figure in which two sentences differ, old and new, each with the word after it.

    None if they differ in more than a figure, or not at all.
    """
    new, old = _TOKEN.findall(newer), _TOKEN.findall(older)
    changes = [each for each in SequenceMatcher(None, new, old, autojunk=False).get_opcodes() if each[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, start, end, other_start, other_end = changes[0]
    if max(end - start, other_end - other_start) > MOST_CHANGED:
        return None
    sides = (new, start, end), (old, other_start, other_end)
    both = [" ".join(tokens[begin : stop + _is_unit(tokens[stop:])]) for tokens, begin, stop in sides]
    changed_to, changed_from = both
    both_have_digits = any(map(str.isdigit, changed_to)) and any(map(str.isdigit, changed_from))
    return (changed_to, changed_from) if both_have_digits else None


def versions_lead(latest: Source, newer: str, older: str) -> str:
    """Return the line above versions of a document: the figure that changed and when, if there is exactly one.

    Args:
        latest: The newest version.
        newer: The sentence of the newest version.
        older: The sentence of the version before it.
    """
    year, both = version_name(latest), change(newer, older)
    return changed(*both, year) if both and year.isdigit() else VERSIONS


def _is_unit(behind: Sequence[str]) -> bool:
    """Return whether the word after a figure says what it counts."""
    return bool(behind) and behind[0].isalpha() and bool(words(behind[0]))


def _name(title: str) -> tuple[str, ...]:
    """Return the words of a title without years and numbers of versions."""
    plain = _YEAR.sub(" ", title.replace("_", " ")).replace("-", " ")  # of "charges-2024-25" both years
    return tuple(words(_EDITION.sub(" ", _VERSION.sub(" ", plain))))


def _number(title: str) -> tuple[int, ...]:
    """Return the number of a title's version or edition: (2, 1) of "v2.1", (4,) of "fourth edition"; () without one."""
    if match := _VERSION.search(title):
        return tuple(map(int, match["number"].split(".")))
    if match := _EDITION.search(title):
        return (_ORDINALS.index(match["word"].casefold()) + 1 if match["word"] else int(match["digits"]),)
    return ()


def _place(source: Source) -> tuple[str, tuple[int, ...], str]:
    """Return the sort key of versions of one title: the year in it, the number in it, the date.

    Unknown parts sort first.
    """
    title = source.title.replace("_", " ")
    year = _YEAR.search(title)
    return year[0] if year else "", _number(title), dated(source)


def _says_so(newer: Source, older: Source) -> bool:
    """Return whether a document's front matter or text states that it replaces another."""
    file, title = PurePath(older.source or older.document_id).name.casefold(), older.title.casefold().strip()
    for named in newer.replaces:
        if named.casefold().strip() in (title, file, PurePath(file).stem, older.document_id.casefold()):
            return True
    stated = [match["what"].casefold() for match in _REPLACES.finditer(newer.text)]
    return any((len(words(title)) >= LEAST_TITLE and title in what) or (file and file in what) for what in stated)

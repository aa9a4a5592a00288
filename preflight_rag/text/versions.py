"""Versions of a document, of which the newest one is valid.

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
_APPEARS_IN_EDITIONS = re.compile(
    r"\b(?:polic(?:y|ies)|plan|rules|prices?|tariffs?|fees?|charges|rates|handbook|guide(?:lines)?|terms|procedures?|code"
    r"|manual|charter|statutes|constitution|regulations|bye?-?laws|protocol|standards?)\b",
    re.IGNORECASE,
)
"""Words for documents whose newest edition replaces the others, unlike invoices, minutes or newsletters."""
_MAIL_REPLY = re.compile(r"\s*(?:re|fwd?|aw|wg)\s?:", re.I)
_REPLACES_DOCUMENT = re.compile(r"\b(?:replaces?|supersedes?|superseding|replacing)\b(?P<what>[^\n]{3,200})", re.I)
_TOKEN = re.compile(r"[^\s.,;:!?()]+(?:[.,:][^\s.,;:!?()]+)*")
MAX_CHANGED_WORDS = 3
"""Most words in which two sentences of versions may differ for the difference to be shown in short form; a guess."""
MIN_TITLE_TERMS = 2
"""Least words of a title by which another text can name it; a guess: one word is not specific."""


def version_name(source: Source) -> str:
    """Return the label of a version: the year or number in its title, its date, or its file's year; "" without any."""
    title = source.title.replace("_", " ")
    match = _YEAR.search(title) or _VERSION.search(title) or _EDITION.search(title)
    return match[0] if match else dated(source)


def dated(source: Source) -> str:
    """Return a document's date, else the year in its file's name; "" without any.

    A file's year counts only for documents that appear in editions: "leave-policy-2022" and "leave-policy-2024" are
    often those of one policy, which has no date in it. It may be at most next year.
    """
    if source.date:
        return source.date
    stem = PurePath(source.source or source.document_id).stem.replace("_", " ")
    if not _APPEARS_IN_EDITIONS.search(f"{stem.replace('-', ' ')} {source.title}"):
        return ""
    match = _YEAR.search(stem)
    year = match[0][:4] if match else ""
    return year if year and int(year) <= date.today().year + 1 else ""


def supersedes(newer: Source, older: Source) -> bool:
    """Return whether one document is a newer version of another: it says so, or its title or date is newer."""
    if not newer.document_id or newer.document_id == older.document_id:
        return False
    if _states_replacement(newer, older):
        return True
    if _states_replacement(older, newer):
        return False
    if _MAIL_REPLY.match(newer.title) or _MAIL_REPLY.match(older.title):
        return False  # an answer to a mail is no version of it
    terms = _title_terms(newer.title)
    return bool(terms) and terms == _title_terms(older.title) and _version_sort_key(newer) > _version_sort_key(older)


def replacing(source: Source, sources: Sequence[Source]) -> list[Source]:
    """Return the passages of editions that replace the one of a passage.

    Such an edition says so, or its title has a higher number of a version. A newer year alone replaces nothing, since
    last year's report still says what was so last year; nor does a further issue of a newsletter.
    """
    number = _version_number(source.title)
    newer_editions = []
    for other in sources:
        has_higher_number = () < number < _version_number(other.title) and not _ISSUE.search(other.title)
        if supersedes(other, source) and (has_higher_number or _states_replacement(other, source)):
            newer_editions.append(other)
    return newer_editions


def names_version(question: str, source: Source) -> bool:
    """Return whether a question names the version of a document: its year, number, edition or date."""
    title = source.title.replace("_", " ")
    matches = (_VERSION.search(title), _EDITION.search(title))
    names = [version_name(source), dated(source)[:4], *(match[0] for match in matches if match)]
    return any(name and name.casefold() in question.casefold() for name in names)


def are_versions(a: Source, b: Source) -> bool:
    """Return whether two documents are versions of one document."""
    return supersedes(a, b) or supersedes(b, a)


def newest_first(sources: Sequence[Source]) -> list[Source]:
    """Return the documents in their order, but with each replaced one directly after its replacement."""
    remaining, ordered = list(sources), list[Source]()
    while remaining:
        newest = remaining[0]
        for _ in remaining:  # as often as there are documents: those that replace each other in a circle have no newest
            newest = next((other for other in remaining if other is not newest and supersedes(other, newest)), newest)
        ordered.append(newest)
        remaining.remove(newest)
    return ordered


def change(newer: str, older: str) -> tuple[str, str] | None:
    """Return the only number in which two sentences differ, new and old: ("5 days", "3 days"); None if more differs."""
    new, old = _TOKEN.findall(newer), _TOKEN.findall(older)
    operations = SequenceMatcher(None, new, old, autojunk=False).get_opcodes()
    changes = [operation for operation in operations if operation[0] != "equal"]
    if len(changes) != 1:
        return None
    kind, new_start, new_end, old_start, old_end = changes[0]
    if kind != "replace" or max(new_end - new_start, old_end - old_start) > MAX_CHANGED_WORDS:
        return None
    changed_to = _with_unit(new, new_start, new_end)
    changed_from = _with_unit(old, old_start, old_end)
    both_have_digits = any(map(str.isdigit, changed_to)) and any(map(str.isdigit, changed_from))
    return (changed_to, changed_from) if both_have_digits else None


def _with_unit(tokens: Sequence[str], start: int, end: int) -> str:
    """Return some tokens of a sentence as text, with the word behind them if it may say what they count."""
    behind = tokens[end : end + 1]
    is_unit = bool(behind) and behind[0].isalpha() and bool(words(behind[0]))
    return " ".join(tokens[start : end + is_unit])


def versions_lead(latest: Source, newer: str, older: str) -> str:
    """Return the line above versions of a document: the number that changed and when, if there is exactly one.

    Args:
        latest: The newest version.
        newer: The sentence of the newest version.
        older: The sentence of the version before it.
    """
    year, figures = version_name(latest), change(newer, older)
    return changed(*figures, year) if figures and year.isdigit() else VERSIONS


def _title_terms(title: str) -> tuple[str, ...]:
    """Return the index terms of a title without years and numbers of versions."""
    plain = _YEAR.sub(" ", title.replace("_", " ")).replace("-", " ")  # of "charges-2024-25" both years
    return tuple(words(_EDITION.sub(" ", _VERSION.sub(" ", plain))))


def _version_number(title: str) -> tuple[int, ...]:
    """Return the number of a title's version or edition: (2, 1) of "v2.1", (4,) of "fourth edition"; () without one."""
    if match := _VERSION.search(title):
        return tuple(map(int, match["number"].split(".")))
    if match := _EDITION.search(title):
        return (_ORDINALS.index(match["word"].casefold()) + 1 if match["word"] else int(match["digits"]),)
    return ()


def _version_sort_key(source: Source) -> tuple[str, tuple[int, ...], str]:
    """Return the sort key of versions of one title: the year in it, the number in it, the date; unknown ones first."""
    title = source.title.replace("_", " ")
    year = _YEAR.search(title)
    return year[0] if year else "", _version_number(title), dated(source)


def _states_replacement(newer: Source, older: Source) -> bool:
    """Return whether a document's front matter or text states that it replaces another."""
    file_name, title = PurePath(older.source or older.document_id).name.casefold(), older.title.casefold().strip()
    names = (title, file_name, PurePath(file_name).stem, older.document_id.casefold())
    if any(replaced.casefold().strip() in names for replaced in newer.replaces):
        return True
    is_specific = len(words(title)) >= MIN_TITLE_TERMS
    for match in _REPLACES_DOCUMENT.finditer(newer.text):
        replaced = match["what"].casefold()
        if (is_specific and title in replaced) or (file_name and file_name in replaced):
            return True
    return False

"""What loaders share: clean text, dates, people, and the identity of a document that is a whole file."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.read_report import FEW_WORDS, READ_REPORT, ReadReport
from preflight_rag.state.errors import EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.check_boxes import with_boxes
from preflight_rag.text.dates import MONTHS
from preflight_rag.text.headings import plain_headings
from preflight_rag.text.legends import with_legends
from preflight_rag.text.tables import errors_in, is_row

_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_MOJIBAKE = re.compile("[\xc3-\xdf][\x80-\x9f]|[\xe0-\xef][\x80-\x9f][\x80-\xbf]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ISO = re.compile(r"(?:D:)?(\d{4})(?:[-/.]?(\d{2})(?:[-/.]?(\d{2}))?)?(?!\d{1,3}\b)")
_LONGEST_NUMBER = 10
"""Figures of a number that is read; int() refuses the ones of thousands."""
_NOBODY = ("anonymous", "unknown", "unspecified", "python-docx")
_BETWEEN_NAMES = re.compile(r"(?>(?:(?<!\s)\s++)?);\s*+|(?<!\s)[^\S\n]*+\n\s*+|(?<!\s)\s++and\s++")
_FORM = re.compile(
    r"(?:account|bill(?:ing|ed)?|booking|claim|client|company|contact|customer|date|document|employee|first|full|given"
    r"|guest|insured|invoice|item|last|line|order|owner|patient|policy|purchase|ship(?:ping|ped)?|student|tax|vendor)"
    r" (?:name|no|number|id|date|address|phone|e-?mail|year|to|of birth|code|type)(?:[.:# ]|$)"
    r"|(?:name|date|address|phone|e-?mail|year|id|to|from|subject|page|ref|[a-z]) ?[:#]"
    r"|[a-z ]{1,20} ?# ?\S*\d",
    re.IGNORECASE,
)
"""How the first line of a form begins: a label with what was filled in. "Name That Tune" begins a title."""
_FILLED_IN = re.compile(
    r"\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b|\b\d{1,2}:\d{2}\b|\b(?:page|year) \d+|\b\d{3}[-) ]{1,2}\d{3}-\d{4}\b",
    re.IGNORECASE,
)
"""What a form's line holds and a title does not: a day in numbers, a time, a telephone number."""
_FORMATS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%Y %b %d", "%Y %B %d", "%Y %b", "%B %Y", "%b %Y")


TITLE_CHARACTERS = 150
"""A longer line is no title; a guess."""
MOST_LINKS = 500
"""Links of a document whose targets are read; this number and the next are guesses."""
_LONGEST_ADDRESS = 500
_ADDRESS = re.compile(r"(?:https?|ftps?|mailto|tel|file|sip):[^\s]", re.IGNORECASE)
MOST_ERRORS = 5
"""Kinds of errors in cells that a report names; a guess."""
DATE_FIELDS = ("date", "published", "publication_date", "pub_date", "pubdate", "year")
AUTHOR_FIELDS = ("authors", "author")
SOURCE_FIELDS = ("source", "url", "link")
DEEPEST_FIELDS = 100
"""Levels of lists and objects within each other; a guess at what no record has. SQLite reads a thousand."""
LONGEST_NUMBER = 1024
"""Bits of a whole number that is kept as one; a guess."""
PUBMED_ABSTRACT, PMC_REVIEW, PMC_OTHER = "D1", "D2", "D3"
"""What a document of NCBI's is, as its `metadata["origin"]` says (CPQA, section III.B)."""


def _reread(match: re.Match[str]) -> str:
    """Return a character whose UTF-8 bytes were once read as Latin-1, recognised by its control characters."""
    try:
        return match.group().encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return match.group()


def clean(text: str) -> str:
    """Return a text without NULs, control and zero-width characters, and with line feeds as line ends.

    Check boxes are in words.
    """
    text = _MOJIBAKE.sub(_reread, _SURROGATE.sub("\ufffd", text))
    text = _LINE_END.sub("\n", text)
    return with_boxes(_UNWANTED.sub("", text).replace("\u00a0", " "))


def json_values(value: Any, levels: int = DEEPEST_FIELDS) -> Any:
    """Return a field in a form that can be stored and searched: JSON values with clean strings.

    NaN and infinity become null, because SQLite refuses to read any JSON that contains them.

    Raises:
        UnreadableDocument: The value is nested too deeply.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):  # Python writes no longer ones in decimal.
        return value if value.bit_length() < LONGEST_NUMBER else clean(hex(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if levels == 0:
        raise UnreadableDocument(f"its fields have more than {DEEPEST_FIELDS} levels")
    if isinstance(value, dict):
        return {clean(str(key)): json_values(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item, levels - 1) for item in value]
    return clean(str(value))


def tidy(text: str) -> str:
    """Return a clean text without trailing spaces, with at most one blank line in a row."""
    text = re.sub(r"(?<![^\S\n])[^\S\n]++\n", "\n", clean(text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def whole_number(text: str, default: int, most: int = 999_999) -> int:
    """Return the number that figures of a file spell; the default for other signs, and for more than is plausible."""
    number = int(text) if len(text) <= _LONGEST_NUMBER and text.isascii() and text.isdigit() else most + 1
    return number if number <= most else default


def one_line(text: object) -> str:
    """Return a title or name on one line, cleaned, with single spaces."""
    return " ".join(clean(str(text)).split())


def iso_date(value: object) -> str | None:
    """Return a date in one of the usual notations as `YYYY`, `YYYY-MM` or `YYYY-MM-DD`; else None."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    text = one_line(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = _ISO.match(text)
    found = checked_date(*match.groups()) if match else None
    if match and found and (match[2] or match.end() == len(text)):
        return found
    for pattern in _FORMATS:
        try:
            parsed = datetime.strptime(text, pattern)
        except ValueError:
            continue
        return parsed.strftime("%Y-%m-%d" if "%d" in pattern else "%Y-%m")
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (TypeError, ValueError):
        return found


def checked_date(year: str | None, month: str | None = None, day: str | None = None) -> str | None:
    """Return the ISO date of the plausible parts; a month may be a number or an English name."""
    if not year or not year.isdigit() or not 1000 <= int(year) <= 2999:
        return None
    name = (month or "")[:3].lower()
    number = int(name) if name.isdigit() else MONTHS.index(name) + 1 if name in MONTHS else 0
    if not 1 <= number <= 12:
        return year
    try:
        return date(int(year), number, int(day or "")).isoformat()
    except ValueError:
        return f"{year}-{number:02d}"


def people(value: object) -> tuple[str, ...]:
    """Return author names from a list, or from a text that separates them by semicolons, line ends or `and`."""
    if isinstance(value, str):
        names: Iterable[object] = _BETWEEN_NAMES.split(value)
    elif isinstance(value, list | tuple):
        names = (item.get("name", "") if isinstance(item, dict) else item for item in value)
    else:
        return ()
    cleaned = (one_line(item) for item in names if item is not None)
    return tuple(name for name in cleaned if name and name.strip("()").lower() not in _NOBODY)


_OF_PAGE_NUMBERS = frozenset(
    (
        *("page", "pages", "p", "pg", "seite", "s", "pagina", "página", "sida", "side", "strana", "strona"),
        *("of", "von", "de", "di", "af", "av", "z"),
    )
)


def is_page_number(text: str) -> bool:
    """Return whether a header or footer only states the page, such as "Page 2 of 5"."""
    return _OF_PAGE_NUMBERS.issuperset(re.findall(r"[^\W\d_]+", text.lower()))


def title_like(line: str) -> bool:
    """Return whether the first line of a document without a marked title looks like a title."""
    words = line.split()
    if not len(words) > 2 or len(line) > TITLE_CHARACTERS or not words[0][0].isupper():
        return False
    if _FORM.match(line) or _FILLED_IN.search(line):
        return False
    return not line.endswith((".", ",", ";")) and ". " not in line and iso_date(line) is None


def absolute(path: Path) -> str:
    """Return the path as a document id: absolute, links not followed; bytes that are not UTF-8 are escaped."""
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "backslashreplace")


def link_lines(links: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each `(words, target)` of links that lead out of a document, where the words do not say it.

    They stand behind the text: its sentences stay as they are, and an address is found by its letters and by its words.
    """
    lines: dict[str, None] = {}
    for words, target in links:
        shown, address = one_line(words), one_line(target)
        plain = address.removeprefix("mailto:")
        if not _ADDRESS.match(address) or len(address) > _LONGEST_ADDRESS or plain.rstrip("/") in shown:
            continue
        short = shown if len(shown) <= TITLE_CHARACTERS else shown[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"
        lines[f"Link on “{short}”: {plain}" if short else f"Link: {plain}"] = None
    return list(lines)[:MOST_LINKS]


def file_document(
    path: Path,
    text: str,
    *,
    title: str = "",
    date: str | None = None,
    saved: str | None = None,
    authors: tuple[str, ...] = (),
    pages: tuple[tuple[int, int], ...] = (),
    metadata: dict[str, Any] | None = None,
    id: str | None = None,
    source: str | None = None,
    if_empty: str = "holds no text",
    report: ReadReport | None = None,
    find_headings: bool = False,
) -> Document:
    """Return the document that `path` is, or one of those in it when `id` is given.

    With `find_headings` the headings of a text that marks none are recorded as its sections.

    `date` is what somebody stated about the document; `saved` is when a program made or saved the file, which may be
    years later, and is kept as `metadata["file_saved"]` alone. What `report` says was left out is `metadata["unread"]`,
    too, for the notes of an ingest.

    Raises:
        EmptyDocument: There is no letter or digit in `text`.
    """
    if not any(char.isalnum() for char in text):
        raise EmptyDocument(f"{source or path} {if_empty}")
    report = report or ReadReport()
    explained = with_legends(text)
    text = explained.text
    if explained.places:
        pages = tuple((number, explained.moved(offset)) for number, offset in pages)
        if metadata and "sections" in metadata:
            sections = [[explained.moved(offset), heading] for offset, heading in metadata["sections"]]
            metadata = {**metadata, "sections": sections}
    if find_headings and not (metadata or {}).get("sections") and (found := plain_headings(text)):
        metadata = {**(metadata or {}), "sections": [[offset, heading] for offset, heading in found]}
    if not report.counts.get("rows") and (rows := sum(map(is_row, text.split("\n")))):
        report.counts["rows"] = rows
        report.counts["tables"] = sum(is_table for is_table, _ in groupby(filter(None, text.split("\n")), key=is_row))
    words = report.counts["words"] = len(text.split())
    if errors := errors_in(text):
        many = "1 cell shows an error" if len(errors) == 1 else f"{len(errors):,} cells show errors"
        report.less.append(f"{many} in the place of a value ({', '.join(list(dict.fromkeys(errors))[:MOST_ERRORS])})")
    pictures = report.counts.get("pictures_without_text", 0)
    if pictures and words < FEW_WORDS:
        many = "1 picture" if pictures == 1 else f"{pictures} pictures"
        report.less.append(f"{words} {'word' if words == 1 else 'words'} beside {many} without text")
    unread = report.unread()
    return Document(
        id=id or absolute(path),
        text=text,
        source=source or absolute(path),
        title=one_line(title) or path.stem,
        date=date,
        authors=authors,
        pages=pages,
        metadata={
            **(metadata or {}),
            **({"file_saved": saved} if saved else {}),
            **({"unread": unread} if unread else {}),
            "path": absolute(path),
            READ_REPORT: report.to_json(),
        },
    )


def in_file(document: Document, path: Path, *, part: object = None) -> Document:
    """Return a document read from a file's bytes with the file's path as its id, or `path#part` for one of many."""
    return document.model_copy(
        update={
            "id": f"{absolute(path)}#{part}" if part is not None else absolute(path),
            "source": document.source or absolute(path),
            "title": document.title or path.stem,
            "metadata": document.metadata | {"path": absolute(path)},
        }
    )

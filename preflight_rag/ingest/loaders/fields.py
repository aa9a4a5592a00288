"""Functions that the loaders share: clean text, dates, people, and the document that is a whole file."""

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

_UNWANTED_CHARACTER = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_MOJIBAKE = re.compile("[\xc3-\xdf][\x80-\x9f]|[\xe0-\xef][\x80-\x9f][\x80-\xbf]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ISO_DATE = re.compile(r"(?:D:)?(\d{4})(?:[-/.]?(\d{2})(?:[-/.]?(\d{2}))?)?(?!\d{1,3}\b)")
_MAXIMUM_DIGITS = 10
"""Maximum digits of a number that is read; int() refuses thousands of them."""
_NOT_NAMES = ("anonymous", "unknown", "unspecified", "python-docx")
_NAME_SEPARATOR = re.compile(r"(?>(?:(?<!\s)\s++)?);\s*+|(?<!\s)[^\S\n]*+\n\s*+|(?<!\s)\s++and\s++")
_FORM_LABEL = re.compile(
    r"(?:account|bill(?:ing|ed)?|booking|claim|client|company|contact|customer|date|document|employee|first|full|given"
    r"|guest|insured|invoice|item|last|line|order|owner|patient|policy|purchase|ship(?:ping|ped)?|student|tax|vendor)"
    r" (?:name|no|number|id|date|address|phone|e-?mail|year|to|of birth|code|type)(?:[.:# ]|$)"
    r"|(?:name|date|address|phone|e-?mail|year|id|to|from|subject|page|ref|[a-z]) ?[:#]"
    r"|[a-z ]{1,20} ?# ?\S*\d",
    re.IGNORECASE,
)
"""The beginning of a form's line, a label: "Invoice no", "Customer name", but not "Name That Tune"."""
_FORM_VALUE = re.compile(
    r"\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b|\b\d{1,2}:\d{2}\b|\b(?:page|year) \d+|\b\d{3}[-) ]{1,2}\d{3}-\d{4}\b",
    re.IGNORECASE,
)
"""A value in a form that no title has: a date in digits, a time, a telephone number."""
_DATE_FORMATS = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%Y %b %d", "%Y %B %d", "%Y %b", "%B %Y", "%b %Y")
TITLE_CHARACTERS = 150
"""Maximum characters of a title; a guess."""
MAXIMUM_LINKS = 500
"""Maximum number of links of a document whose addresses are listed; this number and the next are guesses."""
_MAXIMUM_ADDRESS_LENGTH = 500
_LINK_ADDRESS = re.compile(r"(?:https?|ftps?|mailto|tel|file|sip):[^\s]", re.IGNORECASE)
MAXIMUM_NAMED_ERRORS = 5
"""Maximum number of kinds of errors in cells that a report names; a guess."""
DATE_FIELDS = ("date", "published", "publication_date", "pub_date", "pubdate", "year")
AUTHOR_FIELDS = ("authors", "author")
SOURCE_FIELDS = ("source", "url", "link")
MAXIMUM_FIELD_DEPTH = 100
"""Maximum depth of nested lists and objects; a guess at what no record has. SQLite reads a thousand."""
MAXIMUM_INTEGER_BITS = 1024
"""Maximum bits of an integer that is stored as a number; a guess."""
PUBMED_ABSTRACT, PMC_REVIEW, PMC_OTHER = "D1", "D2", "D3"
"""Values of `metadata["origin"]` of NCBI's documents (CPQA, section III.B)."""


def _repair_mojibake(match: re.Match[str]) -> str:
    """Return the character whose UTF-8 bytes were decoded as Latin-1; the matched text if they are no character."""
    try:
        return match.group().encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return match.group()


def clean(text: str) -> str:
    """Return a text without control and zero-width characters, with line feeds as line ends, and boxes in words."""
    text = _MOJIBAKE.sub(_repair_mojibake, _SURROGATE.sub("\ufffd", text))
    text = _LINE_END.sub("\n", text)
    return with_boxes(_UNWANTED_CHARACTER.sub("", text).replace("\u00a0", " "))


def json_values(value: Any, levels: int = MAXIMUM_FIELD_DEPTH) -> Any:
    """Return a field's value in a form that can be stored and searched: JSON values with clean strings.

    Very large integers become hexadecimal strings, values of unknown types their text. NaN and
    infinity become null, because SQLite refuses to read JSON that contains them.

    Raises:
        UnreadableDocument: The value is nested too deeply.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):  # Python refuses to write very large ones in decimal.
        return value if value.bit_length() < MAXIMUM_INTEGER_BITS else clean(hex(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if levels == 0:
        raise UnreadableDocument(f"its fields have more than {MAXIMUM_FIELD_DEPTH} levels")
    if isinstance(value, dict):
        return {clean(str(key)): json_values(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item, levels - 1) for item in value]
    return clean(str(value))


def tidy(text: str) -> str:
    """Return a clean text without trailing spaces, with at most one blank line in a row."""
    text = re.sub(r"(?<![^\S\n])[^\S\n]++\n", "\n", clean(text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def whole_number(text: str, default: int, maximum: int = 999_999) -> int:
    """Return the number that a text of digits spells; the default for other texts, and for numbers over the maximum."""
    if len(text) > _MAXIMUM_DIGITS or not text.isascii() or not text.isdigit():
        return default
    number = int(text)
    return number if number <= maximum else default


def one_line(text: object) -> str:
    """Return a title or name on one line, cleaned, with single spaces."""
    return " ".join(clean(str(text)).split())


def iso_date(value: object) -> str | None:
    """Return a date, or a text or year that states one, as `YYYY`, `YYYY-MM` or `YYYY-MM-DD`; None for other values."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    text = one_line(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = _ISO_DATE.match(text)
    iso_text = checked_date(*match.groups()) if match else None
    # A lone year at the beginning may belong to another notation: "2024 May 3".
    if match and iso_text and (match[2] or match.end() == len(text)):
        return iso_text
    for date_format in _DATE_FORMATS:
        try:
            parsed_date = datetime.strptime(text, date_format)
        except ValueError:
            continue
        return parsed_date.strftime("%Y-%m-%d" if "%d" in date_format else "%Y-%m")
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (TypeError, ValueError):
        return iso_text


def checked_date(year: str | None, month: str | None = None, day: str | None = None) -> str | None:
    """Return the ISO date of a year, month and day, without those that are missing or invalid; None without a year.

    The month may be a number or an English name.
    """
    if not year or not year.isdigit() or not 1000 <= int(year) <= 2999:
        return None
    short_month = (month or "")[:3].lower()
    month_number = MONTHS.index(short_month) + 1 if short_month in MONTHS else 0
    if short_month.isdigit():
        month_number = int(short_month)
    if not 1 <= month_number <= 12:
        return year
    try:
        return date(int(year), month_number, int(day or "")).isoformat()
    except ValueError:
        return f"{year}-{month_number:02d}"


def people(value: object) -> tuple[str, ...]:
    """Return the author names in a list, or in a text that separates them by semicolons, line ends or "and".

    Other values have none; words such as "unknown" are no names. Items of a list may be objects with a `name`.
    """
    if isinstance(value, str):
        names: Iterable[object] = _NAME_SEPARATOR.split(value)
    elif isinstance(value, list | tuple):
        names = (item.get("name", "") if isinstance(item, dict) else item for item in value)
    else:
        return ()
    cleaned = (one_line(item) for item in names if item is not None)
    return tuple(name for name in cleaned if name and name.strip("()").lower() not in _NOT_NAMES)


_PAGE_NUMBER_WORDS = frozenset(
    (
        *("page", "pages", "p", "pg", "seite", "s", "pagina", "página", "sida", "side", "strana", "strona"),
        *("of", "von", "de", "di", "af", "av", "z"),
    )
)


def is_page_number(text: str) -> bool:
    """Return whether a header or footer has no words but those of a page number: "Page 2 of 5"."""
    return _PAGE_NUMBER_WORDS.issuperset(re.findall(r"[^\W\d_]+", text.lower()))


def title_like(line: str) -> bool:
    """Return whether a document's first line looks like its title: some words with a capital, no sentence, no form."""
    words = line.split()
    if not len(words) > 2 or len(line) > TITLE_CHARACTERS or not words[0][0].isupper():
        return False
    if _FORM_LABEL.match(line) or _FORM_VALUE.search(line):
        return False
    return not line.endswith((".", ",", ";")) and ". " not in line and iso_date(line) is None


def absolute(path: Path) -> str:
    """Return a path as a document's id: absolute, links not followed, and bytes that are not UTF-8 escaped."""
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "backslashreplace")


def link_lines(links: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line "Link on “words”: address" for each link `(words, target)` that leads out of a document, once.

    Links whose words contain the address, and very long addresses, are left out. The lines are for the end of the
    text: its sentences stay unchanged, and an address is found by its letters and by its words.
    """
    lines: dict[str, None] = {}
    for words, target in links:
        label, address = one_line(words), one_line(target)
        shown_address = address.removeprefix("mailto:")
        is_external = _LINK_ADDRESS.match(address) is not None and len(address) <= _MAXIMUM_ADDRESS_LENGTH
        if not is_external or shown_address.rstrip("/") in label:
            continue
        if len(label) > TITLE_CHARACTERS:
            label = label[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"
        lines[f"Link on “{label}”: {shown_address}" if label else f"Link: {shown_address}"] = None
    return list(lines)[:MAXIMUM_LINKS]


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
    """Return the document of a whole file, or, with an `id`, one of several in it.

    The text's legends are explained in it, which moves the offsets of pages and sections. The report is completed by
    counts of words and tables and by warnings, and put into the metadata.

    Args:
        path: The file.
        text: Its text.
        title: Its title; "" for the file's name.
        date: The date that somebody stated for the document.
        saved: When a program saved the file, which may be years later; kept as `metadata["file_saved"]` only.
        authors: Its authors.
        pages: `(number, offset)` of each page.
        metadata: Further fields; `sections` are `[offset, heading]` of the headings.
        id: The id; by default the absolute path.
        source: The source; by default the absolute path.
        if_empty: The end of the error's message for a text without letters and digits.
        report: What was read and left out; what was left out becomes `metadata["unread"]`, too.
        find_headings: Whether the headings of a text that marks none are looked for and recorded as sections.

    Raises:
        EmptyDocument: There is no letter or digit in the text.
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
    if find_headings and not (metadata or {}).get("sections") and (headings := plain_headings(text)):
        metadata = {**(metadata or {}), "sections": [[offset, heading] for offset, heading in headings]}
    if not report.counts.get("rows") and (rows := sum(map(is_row, text.split("\n")))):
        report.counts["rows"] = rows
        # Each run of adjacent rows is a table.
        report.counts["tables"] = sum(is_table for is_table, _ in groupby(filter(None, text.split("\n")), key=is_row))
    words = report.counts["words"] = len(text.split())
    if errors := errors_in(text):
        error_cells = "1 cell shows an error" if len(errors) == 1 else f"{len(errors):,} cells show errors"
        kinds = ", ".join(list(dict.fromkeys(errors))[:MAXIMUM_NAMED_ERRORS])
        report.less.append(f"{error_cells} in the place of a value ({kinds})")
    pictures = report.counts.get("pictures_without_text", 0)
    if pictures and words < FEW_WORDS:
        picture_count = "1 picture" if pictures == 1 else f"{pictures} pictures"
        report.less.append(f"{words} {'word' if words == 1 else 'words'} beside {picture_count} without text")
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
    """Return a copy of a document with its file's path as its id, or `path#part` if the file contains several.

    The path is also its source, and the file's name its title, where it has none.
    """
    return document.model_copy(
        update={
            "id": f"{absolute(path)}#{part}" if part is not None else absolute(path),
            "source": document.source or absolute(path),
            "title": document.title or path.stem,
            "metadata": document.metadata | {"path": absolute(path)},
        }
    )

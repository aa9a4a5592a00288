"""Excel workbooks through openpyxl: values as the sheet shows them, each sheet a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.library.loaders.fields import file_document, iso_date, one_line, people
from preflight_rag.library.loaders.files import open_archive, open_place
from preflight_rag.library.loaders.parts import Parts
from preflight_rag.library.loaders.sheets import add_sheet
from preflight_rag.library.loaders.xml import core_properties
from preflight_rag.state.errors import DocumentError, UnreadableDocument
from preflight_rag.state.values import Document

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

STREAMED_BYTES = 30_000_000
"""Larger workbooks, unpacked, are read a row at a time: the whole takes fifty times as much memory. Merged cells are
then not known. A guess."""
_CURRENCY = re.compile(r'\[\$([^\]-]{1,4})[^\]]{0,20}\]|"([$€£¥]|[A-Z]{3})"|([$€£¥])')
_UNSHOWN = re.compile(r'"[^"]*"|\[[^\]]{0,100}\]|\\.|_.|\*.')
_FORMAT = 100
"""Characters of a number format that are looked at; Excel takes 255."""
_UNIT = re.compile(r'[0#?]"([^"]{1,20})"$')
_DIGITS = re.compile(r"(?<![#0?,])[#0?,]*[#0?](?:\.([0#?]+))?")


def load_xlsx(path: Path, max_bytes: int) -> Iterator[Document]:
    """The workbook as one document; figures are written as their number format shows them.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: openpyxl cannot read it.
        DocumentTooLarge: It unpacks to more than `max_bytes`.
    """
    with open_archive(path, max_bytes, "Excel workbook") as archive:
        streamed = sum(part.file_size for part in archive.infolist()) > STREAMED_BYTES
        properties = core_properties(archive)
    from openpyxl import load_workbook

    with warnings.catch_warnings(), open_place(path).open("rb") as file:
        warnings.simplefilter("ignore")  # Of extensions that openpyxl does not keep, which matters to writers only.
        try:
            book = load_workbook(file, data_only=True, read_only=streamed, keep_links=False)
        except DocumentError:
            raise
        except Exception as error:
            raise UnreadableDocument(
                f"{path} is no readable Excel workbook: {type(error).__name__}: {error}"
            ) from error
        try:
            yield _document(path, book, properties)
        finally:
            book.close()


def _document(path: Path, book: Workbook, properties: dict[str, str]) -> Document:
    parts, hidden = Parts(), []
    for number, sheet in enumerate(book.worksheets, 1):
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            continue
        add_sheet(parts, number, one_line(sheet.title), _grid(sheet))
    unread = f"hidden sheets: {', '.join(hidden)}" if hidden else ""
    return file_document(
        path,
        parts.joined(),
        title=properties.get("title", ""),
        date=iso_date(properties.get("modified") or properties.get("created")),
        authors=people(properties.get("creator", "").removeprefix("openpyxl")),
        pages=tuple(parts.pages),
        metadata={**parts.metadata(), **({"unread": unread} if unread else {})},
        if_empty="holds no text in a visible sheet",
    )


def _grid(sheet: Any) -> list[list[str]]:
    """A sheet's cells as they are shown; a merged cell stands in each of its places."""
    rows = [[_shown(cell.value, cell.number_format) if cell.value is not None else "" for cell in row] for row in sheet]
    for merged in getattr(sheet, "merged_cells", None) or ():
        left, top, right, bottom = merged.bounds
        if top > len(rows) or left > len(rows[top - 1]):
            continue
        text = rows[top - 1][left - 1]
        for row in rows[top - 1 : bottom]:
            row[left - 1 : right] = [text] * len(row[left - 1 : right])
    return rows


def _shown(value: Any, number_format: str) -> str:
    """A cell's value as its number format shows it, as far as percentages, currencies and decimals go."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _figure(value, number_format or "General")
    return one_line(value)


def _figure(value: float, number_format: str) -> str:
    pattern = number_format[:_FORMAT].split(";")[0]
    currency = next((next(filter(None, match.groups())) for match in _CURRENCY.finditer(pattern)), "")
    plain = _UNSHOWN.sub("", pattern)
    digits = _DIGITS.search(plain)
    if "E" in plain or "/" in plain or digits is None or plain.strip().lower() in ("general", "@"):
        return f"{value:.10g}" if isinstance(value, float) else str(value)
    places = len(digits[1] or "")
    grouped = "," if "," in digits[0] else ""
    if "%" in plain:
        return f"{value * 100:{grouped}.{places}f}%"
    unit = _UNIT.search(pattern)
    text = f"{value:{grouped}.{places}f}{unit[1] if unit else ''}"
    sign = "-" if text.startswith("-") and currency else ""
    return f"{sign}{currency.strip()}{text.removeprefix(sign)}" if currency else text

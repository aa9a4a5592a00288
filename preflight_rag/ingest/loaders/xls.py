"""Excel workbooks before 2007 (.xls) through xlrd: values as the sheet shows them, each sheet a page."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.attachments import MOST_ATTACHMENTS, own_name, read_embedded
from preflight_rag.ingest.loaders.fields import file_document, one_line
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.ole_objects import files_in_workbook
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.read_report import ReadReport
from preflight_rag.ingest.loaders.sheets import add_sheet
from preflight_rag.ingest.loaders.xlsx import load_xlsx, shown
from preflight_rag.state.errors import DocumentError, EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.legends import raised_behind

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Cell, Sheet

_SUPERSCRIPT = 1
"""A font's `escapement` of characters above the line (Excel file format, "Font")."""


def load_xls(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield a workbook as one document; a newer format under the old extension is recognised.

    Raises:
        EncryptedDocument: It is protected by a password.
        UnreadableDocument: xlrd cannot read it.
        DocumentTooLarge: It is larger than `max_bytes`.
    """
    data = read_bytes(path, max_bytes)
    if data.startswith(b"PK"):
        yield from load_xlsx(path, max_bytes)
        return
    from xlrd import open_workbook

    try:
        book = open_workbook(file_contents=data, formatting_info=True, logfile=io.StringIO())
    except Exception as error:
        if "encrypted" in str(error).lower():
            raise EncryptedDocument(f"{path} is protected by a password", help="Save a copy without one") from error
        raise UnreadableDocument(f"{path} is no readable Excel workbook: {type(error).__name__}: {error}") from error
    parts, report, hidden = Parts(), ReadReport(), []
    for number, sheet in enumerate(book.sheets(), 1):
        if sheet.visibility:
            hidden.append(one_line(sheet.name))
            continue
        add_sheet(parts, number, one_line(sheet.name), _grid(book, sheet))
        for (row, column), note in sorted(sheet.cell_note_map.items()):
            author, words = one_line(note.author or ""), one_line(note.text or "")
            words = words.removeprefix(f"{author}:").strip()
            place = f"{_letters(column)}{row + 1}"
            parts.add(f"Comment{f' by {author}' if author else ''} on {one_line(sheet.name)} {place}: {words}")
            report.count("comments")
    embedded: list[Document] = []
    taken: set[str] = set()
    for name, found in islice(files_in_workbook(data), MOST_ATTACHMENTS):
        if isinstance(found, DocumentError):
            report.leave_out(f"embedded file {name}", found.message.removeprefix("is "))
        else:
            embedded += read_embedded(path, own_name(name, taken), found, path.name, report, max_bytes)
    report.count("sheets", book.nsheets - len(hidden))
    if hidden:
        report.leave_out(f"hidden sheets: {', '.join(hidden)}")
    yield file_document(
        path,
        parts.joined(),
        pages=tuple(parts.pages),
        metadata=parts.metadata(),
        if_empty="holds no text in a visible sheet",
        report=report,
    )
    yield from embedded


def _grid(book: Book, sheet: Sheet) -> list[list[str]]:
    """Return a sheet's cells as displayed; a merged cell is repeated in each of its places."""
    rows = [
        [_text(book, cell, _runs(book, sheet, number, place, cell)) for place, cell in enumerate(sheet.row(number))]
        for number in range(sheet.nrows)
    ]
    for top, bottom, left, right in sheet.merged_cells:
        if top < len(rows) and left < len(rows[top]):
            for row in rows[top:bottom]:
                row[left:right] = [rows[top][left]] * len(row[left:right])
    return rows


def _runs(book: Book, sheet: Sheet, row: int, column: int, cell: Cell) -> list[tuple[str, bool]]:
    """Return the stretches of a text in several fonts, each with whether it stands above the line; [] of another."""
    changes = [(0, 0), *sheet.rich_text_runlist_map.get((row, column), ())]
    if len(changes) == 1 or not isinstance(cell.value, str):
        return []
    ends = [start for start, _ in changes[1:]] + [len(cell.value)]
    return [
        (cell.value[start:end], start > 0 and book.font_list[font].escapement == _SUPERSCRIPT)
        for (start, font), end in zip(changes, ends, strict=True)
    ]


def _text(book: Book, cell: Cell, runs: Sequence[tuple[str, bool]]) -> str:
    """Return a cell's value as displayed."""
    import xlrd

    if runs:
        text = ""
        for run, is_raised in runs:
            text += raised_behind(text[-4:], run) if is_raised else run
        return one_line(text)
    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
        return ""
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return shown(bool(cell.value), "")
    known = book.format_map.get(book.xf_list[cell.xf_index].format_key) if cell.xf_index is not None else None
    if cell.ctype == xlrd.XL_CELL_DATE:
        pattern = known.format_str if known else ""
        try:
            if "[h" in pattern.lower() or "[m" in pattern.lower():
                return shown(timedelta(days=cell.value), pattern)
            moment = xlrd.xldate_as_datetime(cell.value, book.datemode)
            return shown(moment.time() if 0 <= cell.value < 1 else moment, pattern)
        except (ValueError, OverflowError, xlrd.XLDateError):
            return f"{cell.value:.10g}"
    value = cell.value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return shown(value, known.format_str if known else "General")


def _letters(column: int) -> str:
    """Return the name of a column by its number from 0: A, B, ... AA."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name

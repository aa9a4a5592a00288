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
from preflight_rag.ingest.loaders.xlsx import RAISED_CONTEXT, load_xlsx, shown
from preflight_rag.state.errors import DocumentError, EncryptedDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.legends import raised_behind

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Cell, Sheet

_SUPERSCRIPT = 1
"""The `escapement` of a font for characters above the line (Excel file format, "Font")."""
_LARGEST_EXACT = 1e15
"""Numbers below this are exact integers as floats."""


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
        add_sheet(parts, number, one_line(sheet.name), _displayed_cells(book, sheet))
        for (row, column), note in sorted(sheet.cell_note_map.items()):
            author, words = one_line(note.author or ""), one_line(note.text or "")
            words = words.removeprefix(f"{author}:").strip()
            coordinate = f"{_column_name(column)}{row + 1}"
            parts.add(f"Comment{f' by {author}' if author else ''} on {one_line(sheet.name)} {coordinate}: {words}")
            report.count("comments")
    embedded: list[Document] = []
    used_names: set[str] = set()
    for name, content in islice(files_in_workbook(data), MOST_ATTACHMENTS):
        if isinstance(content, DocumentError):
            report.leave_out(f"embedded file {name}", content.message.removeprefix("is "))
        else:
            embedded += read_embedded(path, own_name(name, used_names), content, path.name, report, max_bytes)
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


def _displayed_cells(book: Book, sheet: Sheet) -> list[list[str]]:
    """Return a sheet's cells by row as Excel displays them; a merged cell is repeated at each position it covers."""
    rows: list[list[str]] = []
    for row_index in range(sheet.nrows):
        cells = enumerate(sheet.row(row_index))
        rows.append([_displayed(book, cell, _runs(book, sheet, row_index, column, cell)) for column, cell in cells])
    for top, bottom, left, right in sheet.merged_cells:
        if top < len(rows) and left < len(rows[top]):
            for row in rows[top:bottom]:
                row[left:right] = [rows[top][left]] * len(row[left:right])
    return rows


def _runs(book: Book, sheet: Sheet, row: int, column: int, cell: Cell) -> list[tuple[str, bool]]:
    """Return `(text, is_superscript)` of each run of one font in a cell; [] for a text in one font and other values."""
    changes = [(0, 0), *sheet.rich_text_runlist_map.get((row, column), ())]  # start and font of each run
    if len(changes) == 1 or not isinstance(cell.value, str):
        return []
    runs: list[tuple[str, bool]] = []
    ends = [start for start, _ in changes[1:]] + [len(cell.value)]
    for (start, font), end in zip(changes, ends, strict=True):
        is_superscript = start > 0 and book.font_list[font].escapement == _SUPERSCRIPT
        runs.append((cell.value[start:end], is_superscript))
    return runs


def _displayed(book: Book, cell: Cell, runs: Sequence[tuple[str, bool]]) -> str:
    """Return a cell's value as Excel displays it; of a text in several fonts, `runs` are the parts."""
    import xlrd

    if runs:
        text = ""
        for run, is_superscript in runs:
            text += raised_behind(text[-RAISED_CONTEXT:], run) if is_superscript else run
        return one_line(text)
    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
        return ""
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return shown(bool(cell.value), "")
    cell_format = book.format_map.get(book.xf_list[cell.xf_index].format_key) if cell.xf_index is not None else None
    if cell.ctype == xlrd.XL_CELL_DATE:
        pattern = cell_format.format_str if cell_format else ""
        try:
            is_duration = "[h" in pattern.lower() or "[m" in pattern.lower()
            if is_duration:
                return shown(timedelta(days=cell.value), pattern)
            moment = xlrd.xldate_as_datetime(cell.value, book.datemode)
            is_time_of_day = 0 <= cell.value < 1
            return shown(moment.time() if is_time_of_day else moment, pattern)
        except (ValueError, OverflowError, xlrd.XLDateError):
            return f"{cell.value:.10g}"
    value = cell.value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        value = int(value)
    return shown(value, cell_format.format_str if cell_format else "General")


def _column_name(column: int) -> str:
    """Return the name of a column by its index from 0: A, B, …, Z, AA."""
    name = ""
    number = column + 1
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name

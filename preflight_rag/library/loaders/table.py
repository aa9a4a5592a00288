"""CSV and TSV: a document for each row of a table of texts, else the table as one document."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from preflight_rag.library.loaders.encoding import decode
from preflight_rag.library.loaders.fields import (
    AUTHOR_FIELDS,
    DATE_FIELDS,
    SOURCE_FIELDS,
    absolute,
    file_document,
    iso_date,
    one_line,
    people,
    tidy,
)
from preflight_rag.library.loaders.files import read_bytes
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import table_lines

_TEXTS = ("text", "content", "contents", "body", "abstract", "passage", "document", "full_text", "fulltext")
_IDS = ("id", "_id", "doc_id", "docid", "document_id", "documentid", "pmid", "uid", "record_id")
_TITLES = ("title", "name", "headline", "subject")
_FIELDS = {"id": _IDS, "title": _TITLES, "date": DATE_FIELDS, "authors": AUTHOR_FIELDS, "source": SOURCE_FIELDS}
_LONG_TEXT = 80
"""Mean characters of a column that holds sentences; this number and the next two are guesses."""
_SAMPLE_ROWS, _SAMPLE_CHARACTERS = 200, 100_000
_HEADER_ROWS = 5
_MAX_FIELD = 2**31 - 1


@dataclass(frozen=True)
class _Table:
    """A parsed table; `caption` is what stands above the header."""

    caption: str
    columns: tuple[str, ...]
    rows: list[dict[str, str]]


def load_table(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Rows as documents when the header names a column of texts; `path#number` (from 1) is a row's id without one.

    A table with an id column and no named text column takes its longest column, if that holds sentences. Any other
    table is one document with a line `column: value | …` for each row.

    Raises:
        UnreadableDocument: It cannot be parsed.
    """
    data = read_bytes(path, max_bytes)
    text = decode(data, path)
    dialect = _dialect(path, text)
    csv.field_size_limit(_MAX_FIELD)
    try:
        table = _parsed(text, dialect)
    except csv.Error as error:
        raise UnreadableDocument(f"{path} is no readable table: {error}") from error
    named = {column.lower(): column for column in table.columns}
    body = _text_column(table.rows, named)
    if body is None:
        yield _whole_table(path, table)
    else:
        yield from _row_documents(path, table.rows, named, body)


def _dialect(path: Path, text: str) -> type[csv.Dialect]:
    """Delimiter and quoting of the table."""
    if path.suffix.lower() == ".tsv":
        return csv.excel_tab

    class Dialect(csv.excel):
        delimiter = max((",", ";", "\t", "|"), key=lambda mark: _fit(text, mark))

    return Dialect


def _fit(text: str, mark: str) -> tuple[int, int]:
    """How many of the first rows have the same number of columns by a delimiter, and how many columns these are.

    Of a table with semicolons, numbers such as 1,5 have commas in some rows and not in others.
    """
    rows = csv.reader(io.StringIO(text[:_SAMPLE_CHARACTERS], newline=""), delimiter=mark)
    try:
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS))
    except csv.Error:
        return 0, 0
    return max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))


def _parsed(text: str, dialect: type[csv.Dialect]) -> _Table:
    """The table under the first row that fills at least half of its columns."""
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), dialect=dialect) if row]
    filled = [sum(1 for cell in row if cell.strip()) for row in rows[:_HEADER_ROWS]]
    width = max((len(row) for row in rows[:_HEADER_ROWS]), default=0)
    header = next((index for index, count in enumerate(filled) if count * 2 >= width), 0)
    columns: dict[str, None] = {}
    longest = max((len(row) for row in rows[header:]), default=0)
    for number, cell in enumerate([*rows[header], *[""] * (longest - len(rows[header]))] if rows else [], 1):
        name = one_line(cell) or f"column {number}"
        columns[name if name not in columns else f"{name} {number}"] = None
    caption = " ".join(one_line(cell) for row in rows[:header] for cell in row if cell.strip())
    padding = [""] * len(columns)
    records = [dict(zip(columns, [*row, *padding], strict=False)) for row in rows[header + 1 :]]
    return _Table(caption, tuple(columns), records)


def _text_column(rows: Sequence[Mapping[str, str]], named: Mapping[str, str]) -> str | None:
    """The column that holds the documents' text, if there is one."""
    for name in _TEXTS:
        if name in named:
            return named[name]
    sample = rows[:_SAMPLE_ROWS]
    if not sample or not any(name in named for name in _IDS):
        return None
    lengths = {column: sum(len(row[column]) for row in sample) / len(sample) for column in named.values()}
    longest = max(lengths, key=lambda column: lengths[column])
    return longest if lengths[longest] >= _LONG_TEXT else None


def _row_documents(
    path: Path, rows: Sequence[Mapping[str, str]], named: Mapping[str, str], body: str
) -> Iterator[Document | DocumentError]:
    columns = {
        field: next((named[name] for name in names if name in named and named[name] != body), None)
        for field, names in _FIELDS.items()
    }
    rest = [column for column in named.values() if column not in (body, columns["id"], columns["title"])]
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        values = {field: one_line(row[column]) if column else "" for field, column in columns.items()}
        name = values["id"] or f"{absolute(path)}#{number}"
        text = tidy(row[body])
        if not any(char.isalnum() for char in text):
            if any(value.strip() for value in row.values()):
                yield EmptyDocument(f"{path}, row {number}: no text in column {body!r}")
            continue
        if name in seen:
            yield UnreadableDocument(f"{path}, row {number}: the id {name!r} is already that of row {seen[name]}")
            continue
        seen[name] = number
        metadata = {key: one_line(row[key]) for key in rest if row[key].strip()}
        yield Document(
            id=name,
            text=text,
            source=values["source"] or absolute(path),
            title=values["title"],
            date=iso_date(values["date"]),
            authors=people(values["authors"]),
            metadata={**metadata, "row": number, "path": absolute(path)},
        )


def _whole_table(path: Path, table: _Table) -> Document:
    """The table as one document, a row a line."""
    grid = [table.columns, *([row[column] for column in table.columns] for row in table.rows)]
    lines = table_lines(grid, caption=table.caption, header_rows=1, headings=False)
    text = tidy("\n".join([table.caption, *lines] if table.caption else lines))
    return file_document(path, text, title=table.caption, metadata={"rows": len(table.rows)})

"""CSV and TSV: a document for each row of a table of texts, else the table as one document.

The separator and the quotation mark are what the standard library's sniffer says, checked against how many rows they
read alike; encoding as of any text. What was decided stands in the document's metadata, under "table".
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from preflight_rag.ingest.loaders.encoding import decode, encoding_of
from preflight_rag.ingest.loaders.fields import (
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
from preflight_rag.ingest.loaders.files import read_bytes
from preflight_rag.ingest.loaders.parts import Parts
from preflight_rag.ingest.loaders.rows import (
    ID_FIELDS,
    LONG_TEXT,
    RECORD_FIELDS,
    SHORT_TEXT,
    SHORTEST_TEXT,
    TEXT_FIELDS,
    TITLE_FIELDS,
    above_text,
    mean_length,
)
from preflight_rag.ingest.loaders.sheets import add_grid
from preflight_rag.state.errors import DocumentError, EmptyDocument, UnreadableDocument
from preflight_rag.state.values import Document
from preflight_rag.text.tables import header_rows, is_figure, stacked_names, table_lines

_FIELDS = {"id": ID_FIELDS, "title": TITLE_FIELDS, "date": DATE_FIELDS, "authors": AUTHOR_FIELDS}
_FIELDS |= {"source": SOURCE_FIELDS}
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_ROWS, _SAMPLE_CHARACTERS = 200, 100_000
_SNIFFED_CHARACTERS = 20_000
"""What the sniffer is given: it takes quadratic time. This number and those above are guesses."""
_MOST_ABOVE = 25
"""Rows in which the header is looked for; a guess at what a bank writes above its list."""
_PAIR = 2
"""Cells of a row that is a name and its value."""
_MAX_FIELD = 2**31 - 1
_MARK = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""A first line by which Excel is told the separator."""
_NUMBER = re.compile(r"[-+(]?[$€£]?\s?\d[\d.,'\s]*\s?[%€$£)]?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DECIMAL = {",": re.compile(r"[-+]?\d{1,3}(?:(?:\.\d{3})*|\d*),\d+"), ".": re.compile(r"[-+]?\d[\d,]*\.\d+")}


@dataclass(frozen=True)
class _Table:
    """A parsed table.

    Attributes:
        caption: The first line above the header that is no name with a value.
        above: What stands above the header, a line for each row.
        columns: Their names, unique; "column 3" where the header has none.
        rows: The cells of each row by column.
        has_header: Whether the first row names the columns.
        notes: What stands below the rows, a line for each.
        grid: The header and the rows as they stand, with blank ones.
    """

    caption: str
    above: list[str]
    columns: tuple[str, ...]
    rows: list[dict[str, str]]
    has_header: bool
    notes: list[str]
    grid: list[list[str]]


def load_table(path: Path, max_bytes: int) -> Iterator[Document | DocumentError]:
    """Yield each row as a document if a column contains texts, else the whole table as one document.

    A column contains texts if its name says so and it has more than labels, or if it is the longest of a table with
    ids and has sentences. The other columns are written above the text. Any other table is one document with a line
    `column: value | …` for each row.

    Raises:
        UnreadableDocument: It cannot be parsed.
    """
    data = read_bytes(path, max_bytes)
    text = decode(data, path)
    if mark := _MARK.match(text):
        text = text[mark.end() :]
    dialect = _dialect(path, text, mark[1] if mark else "")
    csv.field_size_limit(_MAX_FIELD)
    try:
        table = _parsed(text, dialect)
    except csv.Error as error:
        raise UnreadableDocument(f"{path} is no readable table: {error}") from error
    named = {column.lower(): column for column in table.columns}
    body = _text_column(table.rows, named) if table.has_header else None
    read_as = _read_as(encoding_of(data, path), dialect, table)
    if body is None:
        yield _whole_table(path, table, read_as)
    else:
        if lines := [*table.above, *table.notes]:
            yield file_document(path, "\n".join(lines), title=table.caption)
        yield from _row_documents(path, table.rows, named, body, read_as)


def _dialect(path: Path, text: str, separator: str) -> type[csv.Dialect]:
    """Return the separator and quotation mark of a table."""
    sample = text[:_SAMPLE_CHARACTERS]
    marks = (separator,) if separator else ("\t",) if path.suffix.lower() == ".tsv" else _SEPARATORS
    try:
        sniffed = csv.Sniffer().sniff(text[:_SNIFFED_CHARACTERS], delimiters="".join(_SEPARATORS))
    except csv.Error:
        sniffed = csv.excel
    # The sniffer takes an apostrophe in a cell for a quotation mark: it has to open cells.
    quotes = ('"', "'") if sniffed.quotechar == "'" and re.search(r"(?:^|[,;\t|])\s?'", sample) else ('"',)
    choices = [(mark, quote) for mark in marks for quote in quotes]
    chosen, quotation = max(choices, key=lambda choice: (_fit(sample, *choice), choice[0] == sniffed.delimiter))
    spaced = sample.count(f"{chosen} ") * 2 > sample.count(chosen) > 0

    class Dialect(csv.excel):
        """The dialect that was recognised."""

        delimiter = chosen
        quotechar = quotation
        skipinitialspace = spaced

    return Dialect


def _fit(text: str, mark: str, quotation: str = '"') -> tuple[int, int]:
    """Return how many of the first rows a separator divides into equally many columns, and the number of columns.

    In a table with semicolons, decimal commas such as 1,5 are in some rows and not in others.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, quotechar=quotation)
    try:
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS))
    except csv.Error:
        return 0, 0
    return max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))


def _parsed(text: str, dialect: type[csv.Dialect]) -> _Table:
    """Return the table with its header, the lines above it and the notes below it.

    A table without a header consists of all its rows.
    """
    read = list(csv.reader(io.StringIO(text, newline=""), dialect=dialect))
    is_blank = [not any(map(str.strip, row)) for row in read]
    header, notes = _header_place(read, is_blank), _notes_place(read, is_blank)
    if header and not is_blank[header - 1] and stacked_names(_padded(read[header - 1 : header + _SAMPLE_ROWS]))[1]:
        header -= 1  # names over several columns fill fewer of them
    rows = [row for row in read[header:notes] if row]
    has_header = bool(rows) and not _is_data(rows[:_SAMPLE_ROWS])
    stacked, count = stacked_names(_padded(rows[:_SAMPLE_ROWS])) if has_header else ([], 0)
    names = stacked or (rows[0] if has_header else [])
    columns: dict[str, None] = {}
    longest = max((len(row) for row in rows), default=0)
    for number, cell in enumerate([*names, *[""] * (longest - len(names))] if rows else [], 1):
        name = one_line(cell) or f"column {number}"
        columns[name if name not in columns else f"{name} {number}"] = None
    padding = [""] * len(columns)
    records = [dict(zip(columns, [*row, *padding], strict=False)) for row in rows[count or int(has_header) :]]
    caption = next((one_line("".join(row)).lstrip("# ") for row in read[:header] if _filled(row) == 1), "")
    return _Table(
        caption, _lines(read[:header]), tuple(columns), records, has_header, _lines(read[notes:]), read[header:notes]
    )


def _header_place(rows: Sequence[Sequence[str]], is_blank: Sequence[bool]) -> int:
    """Return the index of the header: the first row that fills at least half of the columns.

    Names and values before a blank line describe the whole table, as in a bank's exports.
    """
    first = list(zip(rows[:_MOST_ABOVE], is_blank, strict=False))
    width = max((len(row) for row, blank in first if not blank), default=0)
    if width < 2:
        return 0
    wide = [number for number, (row, blank) in enumerate(first) if not blank and 2 * _filled(row) >= width]
    for number in wide:
        ends = next((at for at in range(number, min(len(rows), _MOST_ABOVE)) if is_blank[at]), None)
        widest = max(_filled(row) for row in rows[number:ends])
        below = [_filled(row) for row in rows[ends + 1 : _MOST_ABOVE]] if ends is not None else []
        if ends is None or not below or widest > _PAIR or max(below) <= _PAIR:
            return number
    return wide[0] if wide else 0


def _filled(row: Sequence[str]) -> int:
    """Return the number of filled cells in a row."""
    return sum(1 for cell in row if cell.strip())


def _notes_place(rows: Sequence[Sequence[str]], is_blank: Sequence[bool]) -> int:
    """Return the index of the row at which notes begin: single cells after the last rows and a blank one."""
    end = len(rows)
    while end and (is_blank[end - 1] or _filled(rows[end - 1]) == 1):
        end -= 1
    blank = next((number for number in range(end, len(rows)) if is_blank[number]), len(rows))
    return blank if end and _filled(rows[end - 1]) > 1 else len(rows)


def _lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows outside the table as lines: a name with its value, or the filled cells."""
    found = []
    for row in rows:
        cells = [one_line(cell) for cell in row if cell.strip()]
        cells[:1] = [cells[0].removeprefix("# ")] if cells else []  # a comment of an instrument's file
        if len(cells) == _PAIR:
            found.append(f"{cells[0].rstrip(' :')}: {cells[1]}")
        elif cells:
            found.append(", ".join(cells))
    return found


def _is_data(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is data: it has a number, other than a year, where all others have numbers."""
    if len(rows) < 3:
        return False
    for place, cell in enumerate(rows[0]):
        column = [row[place].strip() for row in rows[1:] if place < len(row) and row[place].strip()]
        is_number = _NUMBER.fullmatch(cell.strip()) and not _YEAR.fullmatch(cell.strip())
        if is_number and len(column) > 1 and all(_NUMBER.fullmatch(each) for each in column):
            return True
    return False


def _text_column(rows: Sequence[Mapping[str, str]], named: Mapping[str, str]) -> str | None:
    """Return the column with the documents' texts; None without one."""
    sample = rows[:_SAMPLE_ROWS]
    if not sample:
        return None
    lengths = {column: mean_length(sample, column) for column in named.values()}
    texts = [named[name] for name in TEXT_FIELDS if name in named]
    if texts:
        longest = max(texts, key=lambda column: lengths[column])
        others = [name for name, column in named.items() if column != longest]
        least = SHORT_TEXT if not any(name in named for name in ID_FIELDS) else SHORTEST_TEXT
        if lengths[longest] >= least or all(name in RECORD_FIELDS for name in others):
            return longest
    if not any(name in named for name in ID_FIELDS):
        return None
    longest = max(lengths, key=lambda column: lengths[column])
    return longest if lengths[longest] >= LONG_TEXT else None


def _row_documents(
    path: Path, rows: Sequence[Mapping[str, str]], named: Mapping[str, str], body: str, read_as: Mapping[str, Any]
) -> Iterator[Document | DocumentError]:
    """Yield each row as a document; an error for a row without text."""
    columns = {}
    for field, names in _FIELDS.items():
        usable = (named[name] for name in names if name in named and named[name] != body)
        columns[field] = next(usable, None)
    rest = [column for column in named.values() if column not in (body, columns["id"], columns["title"])]
    # Rows of a record file without titles stay without: only what stands in a wider table needs its name.
    is_labelled = any(name not in RECORD_FIELDS for name, column in named.items() if column != body)
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        values = {field: one_line(row[column]) if column else "" for field, column in columns.items()}
        # An id that stands in several rows is none of a row: of an order with several lines, each line is kept.
        name = values["id"] if values["id"] and values["id"] not in seen else f"{absolute(path)}#{number}"
        text = above_text(tidy(row[body]), {column: row[column] for column in named.values() if column != body})
        if not any(char.isalnum() for char in text):
            if any(value.strip() for value in row.values()):
                yield EmptyDocument(f"{path}, row {number}: no text in column {body!r}")
            continue
        seen.add(name)
        metadata = {key: one_line(row[key]) for key in rest if row[key].strip()}
        if columns["id"] and columns["id"].lower() == "pmid":
            metadata["pmid"] = values["id"]
        yield Document(
            id=name,
            text=text,
            source=values["source"] or absolute(path),
            title=values["title"] or (path.stem if is_labelled else ""),
            date=iso_date(values["date"]),
            authors=people(values["authors"]),
            metadata={**metadata, "row": number, "path": absolute(path), "table": dict(read_as)},
        )


def _whole_table(path: Path, table: _Table, read_as: Mapping[str, Any]) -> Document:
    """Return the table as one document, with a line for each row."""
    names = [list(table.columns)] if table.has_header else []
    grid = [*names, *([row[column] for column in table.columns] for row in table.rows)]
    if sections := _sections(table.grid):
        lines = sections
    else:
        lines = table_lines(grid, caption=table.caption, header_rows=len(names), headings=False)
    below = ["", *table.notes] if table.notes else []
    text = tidy("\n".join([*table.above, *lines, *below]))
    return file_document(path, text, title=table.caption, metadata={"rows": len(table.rows), "table": dict(read_as)})


def _sections(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a file with several tables, separated by blank rows and own headers; none for one table.

    A row is a new header if the table above has figures in its place, or another number of columns.
    """
    blocks = [
        list(rows) for is_blank, rows in groupby(grid, key=lambda row: not any(map(str.strip, row))) if not is_blank
    ]
    if len(blocks) < 2:
        return []
    width = max(map(_filled, blocks[0]))
    figures = [place for place, cells in enumerate(zip(*_padded(blocks[0])[1:], strict=True)) if _are_figures(cells)]
    for block in blocks[1:]:
        names = next((row for row in block if _filled(row) > 1), [])
        rows = block[block.index(names) :] if names else []
        is_other = max(map(_filled, block)) != width or any(
            place < len(names) and names[place].strip() and not is_figure(names[place].strip()) for place in figures
        )
        if len(rows) > 1 and is_other and header_rows(_padded(rows)):
            parts = Parts()
            add_grid(parts, [[cell.strip() for cell in row] for row in grid])
            return parts.joined().split("\n")
    return []


def _padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows of equal length, filled up with empty cells."""
    width = max(map(len, rows), default=0)
    return [[*row, *[""] * (width - len(row))] for row in rows]


def _are_figures(cells: Sequence[str]) -> bool:
    """Return whether all filled cells are figures, and at least one is filled."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(map(is_figure, filled))


def _read_as(encoding: str, dialect: type[csv.Dialect], table: _Table) -> dict[str, Any]:
    """Return the detected encoding and separators of the file, for the document's metadata."""
    return {
        "separator": "tab" if dialect.delimiter == "\t" else dialect.delimiter,
        "quote": dialect.quotechar,
        "decimal": _decimal_mark(table.rows[:_SAMPLE_ROWS]),
        "encoding": encoding,
        "header": table.has_header,
    }


def _decimal_mark(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the decimal mark that more cells use; "" if none has decimals."""
    cells = [cell.strip() for row in rows for cell in row.values()]
    counts = {}
    for mark, pattern in _DECIMAL.items():
        counts[mark] = sum(1 for cell in cells if pattern.fullmatch(cell))
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ""

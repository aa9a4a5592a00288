"""CSV and TSV files: a document for each row of a table of texts; any other table is one document.

The separator and the quotation mark are those that divide most rows into equally many columns; among equals, the one
that the standard library's sniffer found. The document's metadata has the decision under "table".
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
"""Number of characters given to the sniffer, which takes quadratic time. This number and those above are guesses."""
_MOST_ABOVE = 25
"""Number of first rows in which the header is looked for; a guess at what a bank writes above its list."""
_PAIR = 2
"""Number of filled cells of a row that is a name and its value."""
_MAX_FIELD = 2**31 - 1
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""A first line that tells Excel the separator: "sep=;"."""
_NUMBER = re.compile(r"[-+(]?[$€£]?\s?\d[\d.,'\s]*\s?[%€$£)]?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DECIMAL = {",": re.compile(r"[-+]?\d{1,3}(?:(?:\.\d{3})*|\d*),\d+"), ".": re.compile(r"[-+]?\d[\d,]*\.\d+")}


@dataclass(frozen=True)
class _Table:
    """A parsed table.

    Attributes:
        caption: The first row above the header that has a single cell; "" if there is none.
        above: The rows above the header as lines.
        columns: The unique names of the columns; "column 3" if the header has none for the third one.
        rows: The cells of each row by column name.
        has_header: Whether the first row names the columns.
        notes: The rows below the table as lines.
        grid: The cells of the header and the rows, including blank rows.
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

    A column contains texts if its name says so and its cells are longer than labels, or if it is the longest of a table
    with ids and contains sentences. The other columns are written above the text. Lines around such a table are a
    document of their own. Any other table is one document with a line `column: value | …` for each row.

    Raises:
        UnreadableDocument: It cannot be parsed.
    """
    data = read_bytes(path, max_bytes)
    text = decode(data, path)
    if separator_line := _SEPARATOR_LINE.match(text):
        text = text[separator_line.end() :]
    dialect = _detect_dialect(path, text, separator_line[1] if separator_line else "")
    csv.field_size_limit(_MAX_FIELD)
    try:
        table = _parse_table(text, dialect)
    except csv.Error as error:
        raise UnreadableDocument(f"{path} is no readable table: {error}") from error
    column_of = {column.lower(): column for column in table.columns}
    text_column = _text_column(table.rows, column_of) if table.has_header else None
    file_format = _file_format(encoding_of(data, path), dialect, table)
    if text_column is None:
        yield _whole_table(path, table, file_format)
    else:
        if lines := [*table.above, *table.notes]:
            yield file_document(path, "\n".join(lines), title=table.caption)
        yield from _row_documents(path, table.rows, column_of, text_column, file_format)


def _detect_dialect(path: Path, text: str, separator: str) -> type[csv.Dialect]:
    """Return the separator and quotation mark of a table.

    Args:
        path: The file, whose extension ".tsv" says that tabs are the separators.
        text: The table.
        separator: The separator that the file declares; "" if it declares none.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if separator:
        separators: tuple[str, ...] = (separator,)
    else:
        separators = ("\t",) if path.suffix.lower() == ".tsv" else _SEPARATORS
    try:
        sniffed = csv.Sniffer().sniff(text[:_SNIFFED_CHARACTERS], delimiters="".join(_SEPARATORS))
    except csv.Error:
        sniffed = csv.excel
    # The sniffer takes an apostrophe in a cell for a quotation mark: it has to open cells.
    quotes = ('"', "'") if sniffed.quotechar == "'" and re.search(r"(?:^|[,;\t|])\s?'", sample) else ('"',)
    candidates = [(delimiter, quote) for delimiter in separators for quote in quotes]

    def quality(candidate: tuple[str, str]) -> tuple[tuple[int, int], bool]:
        """Return how well a separator and a quotation mark divide the sample; among equals, the sniffed one is best."""
        delimiter, quote = candidate
        return _count_even_rows(sample, delimiter, quote), delimiter == sniffed.delimiter

    chosen, quotation = max(candidates, key=quality)
    is_spaced = sample.count(f"{chosen} ") * 2 > sample.count(chosen) > 0

    class Dialect(csv.excel):
        """The dialect that was recognised."""

        delimiter = chosen
        quotechar = quotation
        skipinitialspace = is_spaced

    return Dialect


def _count_even_rows(text: str, separator: str, quotation_mark: str) -> tuple[int, int]:
    """Return how many of the first rows a separator divides into equally many columns, and the number of columns.

    Return (0, 0) if it divides no row. In a table with semicolons, decimal commas such as 1,5 are in some rows only.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quotation_mark)
    try:
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS))
    except csv.Error:
        return 0, 0
    return max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))


def _parse_table(text: str, dialect: type[csv.Dialect]) -> _Table:
    """Return the table with its header, the lines above it and the notes below it.

    Without a header, all rows are data, and the columns are numbered.

    Raises:
        csv.Error: It cannot be parsed.
    """
    all_rows = list(csv.reader(io.StringIO(text, newline=""), dialect=dialect))
    is_blank = [not any(map(str.strip, row)) for row in all_rows]
    header, notes = _header_index(all_rows, is_blank), _notes_index(all_rows, is_blank)
    if header and not is_blank[header - 1]:
        # A first header row with names over several columns fills fewer of them than the one below it.
        _, stacked_rows = stacked_names(_pad(all_rows[header - 1 : header + _SAMPLE_ROWS]))
        header -= 1 if stacked_rows else 0
    rows = [row for row in all_rows[header:notes] if row]
    has_header = bool(rows) and not _is_first_row_data(rows[:_SAMPLE_ROWS])
    stacked, stacked_rows = stacked_names(_pad(rows[:_SAMPLE_ROWS])) if has_header else ([], 0)
    names = stacked or (rows[0] if has_header else [])
    columns = _unique_names(names, max(map(len, rows), default=0))
    padding = [""] * len(columns)
    first_data_row = stacked_rows or int(has_header)
    records = [dict(zip(columns, [*row, *padding], strict=False)) for row in rows[first_data_row:]]
    captions = (one_line("".join(row)).lstrip("# ") for row in all_rows[:header] if _count_filled(row) == 1)
    return _Table(
        caption=next(captions, ""),
        above=_lines_outside(all_rows[:header]),
        columns=columns,
        rows=records,
        has_header=has_header,
        notes=_lines_outside(all_rows[notes:]),
        grid=all_rows[header:notes],
    )


def _unique_names(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return a name for each of `width` columns: "column 2" for a missing name, "Price 3" for a repeated one."""
    unique: dict[str, None] = {}
    for number, cell in enumerate([*names, *[""] * (width - len(names))], 1):
        name = one_line(cell) or f"column {number}"
        unique[name if name not in unique else f"{name} {number}"] = None
    return tuple(unique)


def _header_index(rows: Sequence[Sequence[str]], is_blank: Sequence[bool]) -> int:
    """Return the index of the header: the first row that fills at least half of the columns; 0 if there is none.

    Names and values before a blank row are not the table but describe it, as in a bank's exports.
    """
    first_rows = list(zip(rows[:_MOST_ABOVE], is_blank, strict=False))
    width = max((len(row) for row, blank in first_rows if not blank), default=0)
    if width < 2:
        return 0
    wide_rows = [
        index for index, (row, blank) in enumerate(first_rows) if not blank and 2 * _count_filled(row) >= width
    ]
    for index in wide_rows:
        blank_index = next((below for below in range(index, min(len(rows), _MOST_ABOVE)) if is_blank[below]), None)
        if blank_index is None:
            return index
        widest_before = max(map(_count_filled, rows[index:blank_index]))
        widest_after = max(map(_count_filled, rows[blank_index + 1 : _MOST_ABOVE]), default=0)
        are_names_and_values = widest_before <= _PAIR < widest_after
        if not are_names_and_values:
            return index
    return wide_rows[0] if wide_rows else 0


def _count_filled(row: Sequence[str]) -> int:
    """Return the number of cells of a row that are not blank."""
    return sum(1 for cell in row if cell.strip())


def _notes_index(rows: Sequence[Sequence[str]], is_blank: Sequence[bool]) -> int:
    """Return the index of the row at which notes begin: the blank row above rows of a single cell at the end.

    Return the number of rows if there are no such notes.
    """
    end = len(rows)
    while end and (is_blank[end - 1] or _count_filled(rows[end - 1]) == 1):
        end -= 1
    if not end or _count_filled(rows[end - 1]) <= 1:
        return len(rows)
    return next((index for index in range(end, len(rows)) if is_blank[index]), len(rows))


def _lines_outside(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows above or below a table as lines: "Account: 123" for two cells, else the filled cells with commas."""
    lines = []
    for row in rows:
        cells = [one_line(cell) for cell in row if cell.strip()]
        if cells:
            cells[0] = cells[0].removeprefix("# ")  # files of measuring instruments mark comments so
        if len(cells) == _PAIR:
            name, value = cells
            lines.append(f"{name.rstrip(' :')}: {value}")
        elif cells:
            lines.append(", ".join(cells))
    return lines


def _is_first_row_data(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is data and no header: it has a number in a column in which all rows have numbers.

    A year does not count, since it may name a column. Fewer than three rows are too few to tell.
    """
    if len(rows) < 3:
        return False
    for index, cell in enumerate(rows[0]):
        is_number = _NUMBER.fullmatch(cell.strip()) and not _YEAR.fullmatch(cell.strip())
        below = [row[index].strip() for row in rows[1:] if index < len(row) and row[index].strip()]
        if is_number and len(below) > 1 and all(map(_NUMBER.fullmatch, below)):
            return True
    return False


def _text_column(rows: Sequence[Mapping[str, str]], column_of: Mapping[str, str]) -> str | None:
    """Return the column that contains the documents' texts; None if there is none.

    It is the longest of those named like a text ("abstract"), unless its cells are only labels; or, in a table with
    ids, the longest column if it contains sentences.

    Args:
        rows: The rows of the table.
        column_of: The columns by their names in lower case.
    """
    sample = rows[:_SAMPLE_ROWS]
    if not sample:
        return None
    lengths = {column: mean_length(sample, column) for column in column_of.values()}
    has_ids = any(name in column_of for name in ID_FIELDS)
    texts = [column_of[name] for name in TEXT_FIELDS if name in column_of]
    if texts:
        longest = max(texts, key=lambda column: lengths[column])
        others = [name for name, column in column_of.items() if column != longest]
        min_length = SHORTEST_TEXT if has_ids else SHORT_TEXT
        if lengths[longest] >= min_length or all(name in RECORD_FIELDS for name in others):
            return longest
    if not has_ids:
        return None
    longest = max(lengths, key=lambda column: lengths[column])
    return longest if lengths[longest] >= LONG_TEXT else None


def _row_documents(
    path: Path,
    rows: Sequence[Mapping[str, str]],
    column_of: Mapping[str, str],
    text_column: str,
    file_format: Mapping[str, Any],
) -> Iterator[Document | DocumentError]:
    """Yield each row as a document, and an error for a row that has values but no text.

    Args:
        path: The file.
        rows: The rows of the table.
        column_of: The columns by their names in lower case.
        text_column: The column with the documents' texts.
        file_format: The detected format, for the metadata.
    """
    columns: dict[str, str | None] = {}
    for field, names in _FIELDS.items():
        usable = (column_of[name] for name in names if name in column_of and column_of[name] != text_column)
        columns[field] = next(usable, None)
    id_column = columns["id"]
    other_columns = [column for column in column_of.values() if column != text_column]
    metadata_columns = [column for column in other_columns if column not in (id_column, columns["title"])]
    # The file's name is the title of an untitled row only if the table has columns that a record file does not have.
    is_wide_table = any(name not in RECORD_FIELDS for name, column in column_of.items() if column != text_column)
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        values = {field: one_line(row[column]) if column else "" for field, column in columns.items()}
        # An id that several rows share identifies none of them, such as the number of an order with several lines.
        is_unique = values["id"] and values["id"] not in seen
        document_id = values["id"] if is_unique else f"{absolute(path)}#{number}"
        text = above_text(tidy(row[text_column]), {column: row[column] for column in other_columns})
        if not any(char.isalnum() for char in text):
            if any(value.strip() for value in row.values()):
                yield EmptyDocument(f"{path}, row {number}: no text in column {text_column!r}")
            continue
        seen.add(document_id)
        metadata = {column: one_line(row[column]) for column in metadata_columns if row[column].strip()}
        if id_column and id_column.lower() == "pmid":
            metadata["pmid"] = values["id"]
        yield Document(
            id=document_id,
            text=text,
            source=values["source"] or absolute(path),
            title=values["title"] or (path.stem if is_wide_table else ""),
            date=iso_date(values["date"]),
            authors=people(values["authors"]),
            metadata={**metadata, "row": number, "path": absolute(path), "table": dict(file_format)},
        )


def _whole_table(path: Path, table: _Table, file_format: Mapping[str, Any]) -> Document:
    """Return the table as one document, with a line for each row, between the lines above and below the table."""
    names = [list(table.columns)] if table.has_header else []
    cells = [[row[column] for column in table.columns] for row in table.rows]
    lines = _lines_of_several_tables(table.grid)
    if not lines:
        lines = table_lines([*names, *cells], caption=table.caption, header_rows=len(names), headings=False)
    below = ["", *table.notes] if table.notes else []
    text = tidy("\n".join([*table.above, *lines, *below]))
    metadata = {"rows": len(table.rows), "table": dict(file_format)}
    return file_document(path, text, title=table.caption, metadata=metadata)


def _lines_of_several_tables(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a file with several tables, which are separated by blank rows; [] for a single table.

    Rows below a blank one are another table if they have their own header, and either another number of columns than
    the first table, or words where that has figures.
    """
    runs = groupby(grid, key=lambda row: not any(map(str.strip, row)))
    blocks = [list(rows) for is_blank, rows in runs if not is_blank]
    if len(blocks) < 2:
        return []
    width = max(map(_count_filled, blocks[0]))
    first_columns = zip(*_pad(blocks[0])[1:], strict=True)
    figure_columns = [column for column, cells in enumerate(first_columns) if _are_figures(cells)]
    for block in blocks[1:]:
        names = next((row for row in block if _count_filled(row) > 1), [])
        rows = block[block.index(names) :] if names else []
        above_figures = [names[column].strip() for column in figure_columns if column < len(names)]
        has_words_for_figures = any(name and not is_figure(name) for name in above_figures)
        is_other_table = max(map(_count_filled, block)) != width or has_words_for_figures
        if len(rows) > 1 and is_other_table and header_rows(_pad(rows)):
            parts = Parts()
            add_grid(parts, [[cell.strip() for cell in row] for row in grid])
            return parts.joined().split("\n")
    return []


def _pad(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows of equal length, filled up with empty cells."""
    width = max(map(len, rows), default=0)
    return [[*row, *[""] * (width - len(row))] for row in rows]


def _are_figures(cells: Sequence[str]) -> bool:
    """Return whether all filled cells are figures, and at least one is filled."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(map(is_figure, filled))


def _file_format(encoding: str, dialect: type[csv.Dialect], table: _Table) -> dict[str, Any]:
    """Return the detected encoding, separators, decimal mark and header of the file, for the document's metadata."""
    return {
        "separator": "tab" if dialect.delimiter == "\t" else dialect.delimiter,
        "quote": dialect.quotechar,
        "decimal": _decimal_mark(table.rows[:_SAMPLE_ROWS]),
        "encoding": encoding,
        "header": table.has_header,
    }


def _decimal_mark(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the decimal mark ("," or ".") that most cells with decimals use; "" if no cell has decimals."""
    cells = [cell.strip() for row in rows for cell in row.values()]
    counts = {}
    for mark, pattern in _DECIMAL.items():
        counts[mark] = sum(1 for cell in cells if pattern.fullmatch(cell))
    most_frequent = max(counts, key=lambda mark: counts[mark])
    return most_frequent if counts[most_frequent] else ""

"""Write rows and records as text: each row is one unit with all its columns and their names, from any kind of file.

A row that contains a text (a ticket, an abstract) is a document: the text below a line of the other columns. Other rows
are lines of one document. Columns that describe a publication (its date, its authors, its URL) are only metadata, as
they are in record files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from preflight_rag.ingest.loaders.fields import AUTHOR_FIELDS, DATE_FIELDS, SOURCE_FIELDS, one_line
from preflight_rag.text.tables import header_rows, table_lines

TEXT_FIELDS = ("text", "content", "contents", "body", "abstract", "passage", "document", "full_text", "fulltext")
ID_FIELDS = ("id", "_id", "doc_id", "docid", "document_id", "documentid", "pmid", "uid", "record_id")
TITLE_FIELDS = ("title", "name", "headline", "subject")
RECORD_FIELDS = frozenset(
    (
        *(*ID_FIELDS, *TITLE_FIELDS, *DATE_FIELDS, *AUTHOR_FIELDS, *SOURCE_FIELDS, "pmcid", "doi", "journal", "mesh"),
        *("keywords", "language", "lang", "bibliography", "volume", "issue", "pages", "publisher", "origin", "split"),
    )
)
"""Names of columns of a record file, beside its texts, that are metadata of a document."""
LONG_TEXT = 80
"""Minimum mean number of characters of a column of sentences; this number and the next three are guesses."""
SHORT_TEXT, SHORTEST_TEXT = 40, 16
"""The same for a column named like a text, in a table without and with ids: labels and amounts are shorter."""
ARTICLE = 400
"""Minimum mean number of characters of the texts of a record file, if they are articles with metadata."""
_LABELS = ("name", "title", "label", "id", "_id", "key", "code", "tag", "number", "sku")
"""Fields that identify a record, the likeliest first."""
_NAMES = ("name", "title", "label", "key")
"""Those of them that name it in words."""
_COLUMN_FIELDS = ("columns", "column_names", "columnnames", "fields", "header", "headers", "heads", "names", "keys")
"""Fields that name the columns of the rows in another field, as pandas and databases write them."""
_LEAST_ROWS = 3
"""Minimum number of values of a column; two lists of two values may have the same length by chance. A guess."""
_PARENT_FIELDS = 4
"""Inner records repeat the fields of their parent if it has fewer than these, and else only its label. A guess."""
_DEEPEST = 30
"""Maximum depth of nested objects; deeper ones are written as JSON. A guess."""
_Path = tuple[str, ...]
"""The names of the fields that lead to a value inside a JSON file."""


def above_text(text: str, cells: Mapping[str, str]) -> str:
    """Return a row's text below a line with its other columns; only the text if these are empty or only metadata."""
    filled = {name: value for name, value in cells.items() if value.strip()}
    if all(name.lower() in RECORD_FIELDS for name in filled):
        return text
    lines = row_lines(filled.items())
    return "\n".join([*lines, "", text]).strip()


def row_lines(cells: Iterable[tuple[str, str]], *, caption: str = "") -> list[str]:
    """Return a row of `(column, cell)` as one or more lines, each with the caption and the first cell."""
    pairs = list(cells)
    grid = [[name for name, _ in pairs], [text for _, text in pairs]]
    return table_lines(grid, caption=caption, header_rows=1, headings=False)


def mean_length(rows: Sequence[Mapping[str, str]], column: str) -> float:
    """Return the mean number of characters in the filled cells of a column; 0 if all are blank."""
    lengths = [len(cell) for row in rows if (cell := row.get(column, "").strip())]
    return sum(lengths) / len(lengths) if lengths else 0.0


def scalar(value: Any) -> str:
    """Return a JSON value that is neither list nor object as text; "" for null."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else one_line(value)


def flat_fields(value: Mapping[str, Any], names: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the fields of an object and of objects inside it, by their path: {"limits, pressure": "5"}.

    Lists that contain lists or objects, and objects nested too deeply, are written as JSON.
    """
    found: dict[str, str] = {}
    for name, inner in value.items():
        path = (*names, one_line(name))
        if isinstance(inner, dict) and inner and len(path) < _DEEPEST:
            found |= flat_fields(inner, path)
        elif isinstance(inner, list) and not any(isinstance(each, dict | list) for each in inner):
            found[", ".join(path)] = ", ".join(map(scalar, inner))
        elif isinstance(inner, dict | list):
            found[", ".join(path)] = one_line(json.dumps(inner, ensure_ascii=False)) if inner else ""
        else:
            found[", ".join(path)] = scalar(inner)
    return found


def json_lines(value: Any) -> Iterator[str]:
    """Yield a JSON value as lines: records as rows, lists of flat records as tables, other values alone."""
    yield from _value_lines(value, (), [])


def record_rows(record: Mapping[str, Any]) -> list[str]:
    """Return an object as a row, followed by the rows of the objects inside it."""
    return list(_record_lines([record], (), []))


def _value_lines(value: Any, names: _Path, parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a value inside a JSON file.

    Args:
        value: The value.
        names: Its path.
        parents: The name and value of the fields that identify the records around it.
    """
    if len(names) > _DEEPEST:
        yield f"{', '.join(names)}: {one_line(json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, dict):
        yield from _object_lines(value, names, parents)
    elif isinstance(value, list) and len(value) > 1 and len(names) < 2 and all(map(_is_flat, value)):
        columns = list(dict.fromkeys(name for record in value for name in record))
        grid = [columns, *([scalar(record.get(name)) for name in columns] for record in value)]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1, headings=False)
    elif isinstance(value, list) and _is_grid(value) and header_rows(_as_text(value)):
        yield from table_lines(_as_text(value), caption=", ".join(names), headings=False)
    elif isinstance(value, list):
        yield from _mixed_list_lines(value, names, parents)
    elif (text := scalar(value)) != "":
        yield f"{', '.join(names)}: {text}" if names else text


def _is_grid(value: object) -> bool:
    """Return whether a value is a list of rows: lists of scalars, of equal length, with at least two columns."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return False
    return len(value[0]) > 1 and all(len(row) == len(value[0]) and _is_plain(row) for row in value)


def _as_text(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Return the cells of rows as text."""
    return [[scalar(cell) for cell in row] for row in rows]


def _fields_of_table(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the names of the fields with a table's column names and with its rows: ("columns", "data").

    Return None if there are no such fields, or several fields with rows.
    """
    grids = [name for name, inner in value.items() if _is_grid(inner)]
    if len(grids) != 1:
        return None
    width = len(value[grids[0]][0])
    for name, inner in value.items():
        if name.lower() not in _COLUMN_FIELDS or not isinstance(inner, list) or len(inner) != width:
            continue
        if all(isinstance(column, str) and column.strip() for column in inner):
            return name, grids[0]
    return None


def _mixed_list_lines(value: list[Any], names: _Path, parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a list that is no table: its scalars on one line, its records as rows, its lists by number."""
    scalars = [inner for inner in value if not isinstance(inner, dict | list)]
    if scalars:
        yield f"{', '.join(names)}: {', '.join(map(scalar, scalars))}".removeprefix(": ")
    yield from _record_lines([inner for inner in value if isinstance(inner, dict)], names, parents)
    for number, inner in enumerate(value, 1):
        if isinstance(inner, list):
            yield from _value_lines(inner, (*names, str(number)), parents)


def _record_lines(records: Sequence[Mapping[str, Any]], names: _Path, parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield each record as a row that also identifies the records around it, then the records inside it.

    A record with a single field and inner records has no row: these repeat the field.
    """
    for record in records:
        own, inner = _split_record(record)
        if not inner or sum(map(bool, own.values())) > 1:
            yield from _record_row(own, names, parents)
        inner_parents = [*_identifying_cells(own, names[-1] if names else ""), *parents]
        for path, part in inner:
            yield from _value_lines(part, (*names, *path), inner_parents)


def _record_row(own: Mapping[str, str], names: _Path, parents: Sequence[tuple[str, str]]) -> list[str]:
    """Return the own fields of a record as a row: its label, the fields of the records around it, its other fields."""
    filled = {name: text for name, text in own.items() if text}
    if not filled:
        return []
    label = next((name for name in _LABELS if name in filled), next(iter(filled)))
    cells = [(label, filled.pop(label)), *parents, *filled.items()]
    return row_lines(cells, caption=", ".join(names))


def _identifying_cells(own: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    """Return the `(name, text)` by which inner records identify their parent: its label and, if few, its other fields.

    Args:
        own: The parent's own fields.
        kind: The name of the field in which the parent is, such as "servers"; "" if there is none.
    """
    filled = {name: text for name, text in own.items() if text}
    if not filled:
        return []
    label = next((name for name in _LABELS if name in filled), next(iter(filled)))
    label_name = kind if label in _NAMES and kind else label
    others = [(f"{kind}, {name}" if kind else name, text) for name, text in filled.items() if name != label]
    return [(label_name, filled[label]), *(others if len(others) < _PARENT_FIELDS else [])]


def _split_record(record: Mapping[str, Any]) -> tuple[dict[str, str], list[tuple[_Path, Any]]]:
    """Return a record's own fields as text, by their joined path, and `(path, value)` of lists and records in it."""
    own: dict[str, str] = {}
    inner: list[tuple[_Path, Any]] = []
    stack: list[tuple[_Path, Any]] = [((one_line(name),), value) for name, value in record.items()]
    while stack:
        path, value = stack.pop(0)
        if isinstance(value, dict) and value and len(path) < _DEEPEST and not _keyed_records(value):
            stack = [((*path, one_line(name)), part) for name, part in value.items()] + stack
        elif isinstance(value, dict | list) and not _is_plain(value):
            inner.append((path, value))
        elif isinstance(value, list):
            own[", ".join(path)] = ", ".join(map(scalar, value))
        elif not isinstance(value, dict):
            own[", ".join(path)] = scalar(value)
    return own, inner


def _is_plain(value: dict[str, Any] | list[Any]) -> bool:
    """Return whether a value is empty, or a list without lists and objects in it."""
    return not value or (isinstance(value, list) and not any(isinstance(inner, dict | list) for inner in value))


def _object_lines(value: Mapping[str, Any], names: _Path, parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of an object: as a table or as records if its fields are alike, else those of each field."""
    if columns := _columns(value):
        others = {name: inner for name, inner in value.items() if name not in columns}
        yield from _value_lines(others, names, parents)
        grid = [list(columns), *(list(map(scalar, row)) for row in zip(*columns.values(), strict=True))]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1, headings=False)
    elif records := _keyed_records(value):
        yield from _record_lines(records, names, parents)
    elif table_fields := _fields_of_table(value):
        others = {name: inner for name, inner in value.items() if name not in table_fields}
        yield from _value_lines(others, names, parents)
        column_field, row_field = table_fields
        grid = [value[column_field], *_as_text(value[row_field])]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1)
    else:
        own, inner = _split_record(value)
        yield from (f"{', '.join((*names, name))}: {text}" for name, text in own.items() if text)
        # Fields of another part do not identify inner records: a scanner's port is none of the servers beside it.
        direct = {name: text for name, text in own.items() if ", " not in name}
        inner_parents = [*parents, *_identifying_cells(direct, names[-1] if names else "")]
        for path, part in inner:
            yield from _value_lines(part, (*names, *path), inner_parents)


def _columns(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the fields of an object that are the columns of one table, as plots and pandas write them; {} if none are.

    They are lists of equal length, or objects whose keys count the rows ("0", "1"). One has to consist of numbers, and
    one of words that are all different: lists of words, such as tags and authors, may have equal lengths by chance.
    """
    columns: dict[str, list[Any]] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and len(inner) > 1 and list(inner) == list(map(str, range(len(inner)))):
            columns[name] = list(inner.values())
        elif isinstance(inner, list):
            columns[name] = inner
        elif isinstance(inner, dict):
            return {}
    if len(columns) < 2 or any(isinstance(cell, dict | list) for column in columns.values() for cell in column):
        return {}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1 or min(lengths) < _LEAST_ROWS:
        return {}
    numbers = [all(isinstance(cell, int | float) for cell in column) for column in columns.values()]
    words = [all(isinstance(cell, str) for cell in column) for column in columns.values()]
    labels = [column for column, is_word in zip(columns.values(), words, strict=True) if is_word]
    return columns if any(numbers) and any(len({*column}) == len(column) for column in labels) else {}


def _keyed_records(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values of an object as records, each with its key under "key", if they are alike; [] if they are not.

    Alike are two or more objects that share at least half of their fields; the sections of settings are not.
    """
    parts = list(value.values())
    if len(parts) < 2 or not all(isinstance(part, dict) and part for part in parts):
        return []
    shared = set(parts[0]).intersection(*parts[1:])
    if 2 * len(shared) < max(len(part) for part in parts):
        return []
    return [{"key": name, **part} for name, part in value.items()]


def _is_flat(value: Any) -> bool:
    """Return whether a value is an object without lists and objects in it."""
    return isinstance(value, dict) and not any(isinstance(inner, dict | list) for inner in value.values())

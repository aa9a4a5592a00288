"""Rows and records as text: a row is a unit with all its columns, under their names, whatever file it stood in.

A row that holds a text of its own (a ticket, an abstract) is a document: the text under a line of the other columns.
Other rows are lines of one document. Columns that say what a publication is (its date, its authors, its address) are
metadata alone, as they are in record files.
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
"""Columns that a record file has beside its texts, and that say what a document is, not what it says."""
LONG_TEXT = 80
"""Mean characters of a column that holds sentences; this number and the next three are guesses."""
SHORT_TEXT, SHORTEST_TEXT = 40, 16
"""The same of a column that is called a text, without and with a column of ids: a label or an amount is none."""
ARTICLE = 400
"""Mean characters of the texts of a record file from which on they are articles, whose other fields are metadata."""
_LABELS = ("name", "title", "label", "id", "_id", "key", "code", "tag", "number", "sku")
"""Fields by which a record is called, the likeliest first."""
_NAMES = ("name", "title", "label", "key")
_COLUMN_FIELDS = ("columns", "column_names", "columnnames", "fields", "header", "headers", "heads", "names", "keys")
"""Fields that name the columns of the rows in another field, as pandas and databases write them."""
_LEAST_ROWS = 3
"""Values of a list that may be a column; two lists of two may go with each other by chance. A guess."""
_PARENT_FIELDS = 4
"""Fields of the record around a record that stand beside its own; of one with more, its name alone. A guess."""
_DEEPEST = 30
"""Objects within each other that are followed; deeper ones stand as JSON. A guess."""


def above_text(text: str, cells: Mapping[str, str]) -> str:
    """Return a row's text after a line with its other columns; only the text if these are empty."""
    filled = {name: value for name, value in cells.items() if value.strip()}
    if not any(name.lower() not in RECORD_FIELDS for name in filled):
        return text
    lines = row_lines(filled.items())
    return "\n".join([*lines, "", text]).strip()


def row_lines(cells: Iterable[tuple[str, str]], *, caption: str = "") -> list[str]:
    """Return a row of `(column, cell)` as lines; each of several repeats the caption and the first cell."""
    pairs = list(cells)
    grid = [[name for name, _ in pairs], [text for _, text in pairs]]
    return table_lines(grid, caption=caption, header_rows=1, headings=False)


def mean_length(rows: Sequence[Mapping[str, str]], column: str) -> float:
    """Return the mean number of characters in the filled cells of a column."""
    lengths = [len(cell) for row in rows if (cell := row.get(column, "").strip())]
    return sum(lengths) / len(lengths) if lengths else 0.0


def scalar(value: Any) -> str:
    """Return a JSON value that is neither list nor object as text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else one_line(value)


def flat_fields(value: Mapping[str, Any], names: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the fields of an object and of those inside it, by their path: `limits, pressure`.

    Lists of objects as JSON.
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
    return list(_record_list([record], (), []))


def _value_lines(value: Any, names: tuple[str, ...], parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a value inside a JSON file; `names` is its path, `parents` the records around it."""
    if len(names) > _DEEPEST:
        yield f"{', '.join(names)}: {one_line(json.dumps(value, ensure_ascii=False))}"
    elif isinstance(value, dict):
        yield from _object_lines(value, names, parents)
    elif isinstance(value, list) and len(value) > 1 and len(names) < 2 and all(map(_is_flat, value)):
        columns = list(dict.fromkeys(name for each in value for name in each))
        grid = [columns, *([scalar(each.get(name)) for name in columns] for each in value)]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1, headings=False)
    elif isinstance(value, list) and _is_grid(value) and header_rows(_grid(value)):
        yield from table_lines(_grid(value), caption=", ".join(names), headings=False)
    elif isinstance(value, list):
        yield from _mixed_lines(value, names, parents)
    elif (text := scalar(value)) != "":
        yield f"{', '.join(names)}: {text}" if names else text


def _is_grid(value: object) -> bool:
    """Return whether a value is a list of rows of equal length, at least two."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return False
    return len(value[0]) > 1 and all(len(row) == len(value[0]) and _is_plain(row) for row in value)


def _grid(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Return the cells of rows as text."""
    return [[scalar(cell) for cell in row] for row in rows]


def _named_grid(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the names of the fields with a table's column names and its rows; None without such fields."""
    grids = [name for name, inner in value.items() if _is_grid(inner)]
    if len(grids) != 1:
        return None
    width = len(value[grids[0]][0])
    for name, inner in value.items():
        if name.lower() not in _COLUMN_FIELDS or not isinstance(inner, list) or len(inner) != width:
            continue
        if all(isinstance(each, str) and each.strip() for each in inner):
            return name, grids[0]
    return None


def _mixed_lines(value: list[Any], names: tuple[str, ...], parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a list that is no table: its values, its records as rows, and its lists by number."""
    flat = [each for each in value if not isinstance(each, dict | list)]
    if flat:
        yield f"{', '.join(names)}: {', '.join(map(scalar, flat))}".removeprefix(": ")
    yield from _record_list([each for each in value if isinstance(each, dict)], names, parents)
    for number, inner in enumerate(value, 1):
        if isinstance(inner, list):
            yield from _value_lines(inner, (*names, str(number)), parents)


def _record_list(
    records: Sequence[Mapping[str, Any]], names: tuple[str, ...], parents: list[tuple[str, str]]
) -> Iterator[str]:
    """Yield each record as a row with the labels of those around it, then the records inside it."""
    for record in records:
        own, inner = _parts(record)
        if not inner or sum(map(bool, own.values())) > 1:  # else those inside it say its name
            yield from _record_row(own, names, parents)
        below = [*_named(own, names[-1] if names else ""), *parents]
        for path, part in inner:
            yield from _value_lines(part, (*names, *path), below)


def _record_row(own: Mapping[str, str], names: tuple[str, ...], parents: Sequence[tuple[str, str]]) -> list[str]:
    """Return a record's own fields as a row, with the labels of the records around it."""
    filled = {name: text for name, text in own.items() if text}
    if not filled:
        return []
    label = next((name for name in _LABELS if name in filled), next(iter(filled)))
    cells = [(label, filled.pop(label)), *parents, *filled.items()]
    return row_lines(cells, caption=", ".join(names))


def _named(own: Mapping[str, str], called: str) -> list[tuple[str, str]]:
    """Return the cells by which inner records name their record: its name and, if they are few, other fields."""
    filled = {name: text for name, text in own.items() if text}
    if not filled:
        return []
    label = next((name for name in _LABELS if name in filled), next(iter(filled)))
    by_name = label in _NAMES and bool(called)
    rest = [(f"{called}, {name}" if called else name, text) for name, text in filled.items() if name != label]
    return [(called if by_name else label, filled[label]), *(rest if len(rest) < _PARENT_FIELDS else [])]


def _parts(record: Mapping[str, Any]) -> tuple[dict[str, str], list[tuple[tuple[str, ...], Any]]]:
    """Return a record's own fields by their path, and the lists of records inside it with theirs."""
    own: dict[str, str] = {}
    inner: list[tuple[tuple[str, ...], Any]] = []
    stack: list[tuple[tuple[str, ...], Any]] = [((one_line(name),), value) for name, value in record.items()]
    while stack:
        path, value = stack.pop(0)
        if isinstance(value, dict) and value and len(path) < _DEEPEST and not _keyed_records(value):
            stack = [((*path, one_line(name)), each) for name, each in value.items()] + stack
        elif isinstance(value, dict | list) and not _is_plain(value):
            inner.append((path, value))
        elif isinstance(value, list):
            own[", ".join(path)] = ", ".join(map(scalar, value))
        elif not isinstance(value, dict):
            own[", ".join(path)] = scalar(value)
    return own, inner


def _is_plain(value: dict[str, Any] | list[Any]) -> bool:
    """Return whether a value is empty, or a list without lists and objects in it."""
    return not value or (isinstance(value, list) and not any(isinstance(each, dict | list) for each in value))


def _object_lines(value: Mapping[str, Any], names: tuple[str, ...], parents: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of an object: as columns or records where its fields are alike, else those of each field."""
    if columns := _columns(value):
        rest = {name: inner for name, inner in value.items() if name not in columns}
        yield from _value_lines(rest, names, parents)
        grid = [list(columns), *(list(map(scalar, row)) for row in zip(*columns.values(), strict=True))]
        yield from table_lines(grid, caption=", ".join(names), header_rows=1, headings=False)
    elif records := _keyed_records(value):
        yield from _record_list(records, names, parents)
    elif named := _named_grid(value):
        rest = {name: inner for name, inner in value.items() if name not in named}
        yield from _value_lines(rest, names, parents)
        yield from table_lines([value[named[0]], *_grid(value[named[1]])], caption=", ".join(names), header_rows=1)
    else:
        own, inner = _parts(value)
        yield from (f"{', '.join((*names, name))}: {text}" for name, text in own.items() if text)
        # What stands in a part beside it is none of a record's: servers are not called by the scanner's port.
        direct = {name: text for name, text in own.items() if ", " not in name}
        below = [*parents, *_named(direct, names[-1] if names else "")]
        for path, part in inner:
            yield from _value_lines(part, (*names, *path), below)


def _columns(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the fields of an object that are the columns of one table, as plots and pandas write them; else none.

    They are lists of one length, or objects whose keys count the rows. Some are numbers and some words, which are all
    different: lists of words alone, such as tags and authors, may have one length by chance.
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
    """Return the values of an object as records, each with its key, if they are alike; else none.

    Alike are two or more objects that share half of their fields: settings by section are not.
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

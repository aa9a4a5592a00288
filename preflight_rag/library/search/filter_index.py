"""The rows of a collection that pass a metadata filter, and how a folder's database finds them.

In the database each condition is one query whose text is constant: names and values are bound parameters, and values
are compared by the condition itself, which SQLite calls as a function.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from difflib import get_close_matches
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.library.search.filters import (
    DATE_FIELDS,
    AnyOf,
    Condition,
    Filter,
    Predicate,
    path_ends,
    path_folders,
)
from preflight_rag.state.errors import UsageError
from preflight_rag.text.dates import known_date

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.storage.store import Store

CACHED_FILTERS = 16
"""Filters whose rows are kept in memory; a guess."""

_ROWS = "SELECT row FROM passages"
_OF_DOCUMENT = "SELECT row FROM passages WHERE document_id IN ({documents})"
_KEY = "FROM {table} t, json_each(t.metadata) m WHERE m.key = ? COLLATE NOCASE"
_DOCUMENT_KEY = _OF_DOCUMENT.format(documents=f"SELECT t.id {_KEY.format(table='documents')} AND fits(m.type, m.value)")
_PASSAGE_KEY = f"SELECT t.row {_KEY.format(table='passages')} AND t.metadata != '{{}}' AND fits(m.type, m.value)"
_UNDATED_KEY = _OF_DOCUMENT.format(
    documents=f"SELECT t.id {_KEY.format(table='documents')} AND t.date IS NULL AND fits(m.type, m.value)"
)
_COLUMNS = {
    "id": "SELECT row FROM passages WHERE fits('text', id) OR fits('text', document_id)",
    "title": _OF_DOCUMENT.format(documents="SELECT id FROM documents WHERE fits('text', title)"),
    "source": _OF_DOCUMENT.format(documents="SELECT id FROM documents WHERE fits('text', source)"),
    "date": _OF_DOCUMENT.format(documents="SELECT id FROM documents WHERE fits('text', date)"),
    "authors": _OF_DOCUMENT.format(documents="SELECT id FROM documents WHERE fits('array', authors)"),
    "page": "SELECT row FROM passages WHERE fits('integer', page)",
    "folder": _OF_DOCUMENT.format(documents="SELECT id FROM documents WHERE origin != '' AND fits('text', origin)"),
}
COLUMNS = tuple(_COLUMNS)
"""Fields that are not keys of metadata."""
_KEYS = """
SELECT DISTINCT m.key FROM documents d, json_each(d.metadata) m WHERE d.retired IS NULL
UNION SELECT DISTINCT m.key FROM passages p, json_each(p.metadata) m WHERE p.retired IS NULL AND p.metadata != '{}'
"""
_DATES = """
SELECT coalesce(d.date, (SELECT m.value FROM json_each(d.metadata) m WHERE m.key = 'year' COLLATE NOCASE)), count(*)
FROM documents d WHERE d.retired IS NULL GROUP BY 1
"""
_HIDDEN_KEYS = ("sections", "tagged", READ_REPORT)
Fits: TypeAlias = Callable[[str, Any], bool]
"""A test of a stored value, given by its JSON type (in SQLite's names) and the value; a list is given as JSON."""


class FilterValues(Protocol):
    """The values of a collection's metadata, for filters. A row is a passage's number in the collection."""

    def state(self) -> tuple[int, int]:
        """Return numbers that grow when documents, or their tags, change."""

    def rows(self) -> set[int]:
        """Return all rows."""

    def rows_by_column(self, name: str, fits: Fits) -> set[int]:
        """Return the rows whose value in one of `COLUMNS`, their own or their document's, passes the test."""

    def rows_by_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows whose value under a key of their metadata, or their document's, passes the test.

        The key's case is ignored.
        """

    def rows_by_undated_key(self, key: str, fits: Fits) -> set[int]:
        """Return the passing rows by a key of documents' metadata, only for documents without a date."""

    def keys(self) -> set[str]:
        """Return all keys of metadata."""

    def dates(self) -> list[tuple[object, int]]:
        """Return each date, or year in the metadata, with its number of documents."""


class SqliteValues:
    """The metadata values in a folder's database; implements `FilterValues`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def state(self) -> tuple[int, int]:
        """Return the numbers of the last write of a document, and of tags."""
        return self._store.generation(), self._store.tags_generation()

    def rows(self) -> set[int]:
        """Return all rows, including retired ones, which an index may still contain."""
        return {row[0] for row in self._store.select(_ROWS)}

    def rows_by_column(self, name: str, fits: Fits) -> set[int]:
        """Return the rows whose value in a column passes the test."""
        return {row[0] for row in self._store.select(_COLUMNS[name], (), fits=fits)}

    def rows_by_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows whose value under a metadata key passes the test."""
        rows = set()
        for sql in (_DOCUMENT_KEY, _PASSAGE_KEY):
            for row in self._store.select(sql, (key,), fits=fits):
                rows.add(row[0])
        return rows

    def rows_by_undated_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows of documents without a date whose value under a metadata key passes the test."""
        return {row[0] for row in self._store.select(_UNDATED_KEY, (key,), fits=fits)}

    def keys(self) -> set[str]:
        """Return all keys of metadata."""
        return {row[0] for row in self._store.select(_KEYS)}

    def dates(self) -> list[tuple[object, int]]:
        """Return each date with its number of documents."""
        return [(row[0], row[1]) for row in self._store.select(_DATES)]


class FilterIndex:
    """The rows of a collection that pass a filter; the last few results are cached until a document is written."""

    def __init__(self, values: FilterValues) -> None:
        self._values = values
        self._lock = Lock()
        self._known: OrderedDict[tuple[Filter, tuple[int, int]], np.ndarray] = OrderedDict()

    def rows(self, where: Filter) -> np.ndarray:
        """Return the rows (n,) int64 of the passages that pass, ascending, including retired ones.

        Raises:
            UsageError: No document has one of the fields.
        """
        # The state is read first: rows that are found while somebody writes are cached under the state before.
        key = (where, self._values.state())
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        # Without the lock: filters over many documents take long, and other threads have others.
        rows = self._find_rows(where)
        with self._lock:
            self._known[key] = rows
            while len(self._known) > CACHED_FILTERS:
                self._known.popitem(last=False)
        return rows

    def undated(self) -> int:
        """Return the number of documents without a date in a known form."""
        return sum(count for date, count in self._values.dates() if known_date(date) is None)

    def fields(self) -> list[str]:
        """Return the names of the fields that a condition may name, in alphabetical order.

        Names are case-insensitive.
        """
        keys = self._values.keys() - set(_HIDDEN_KEYS)
        folded = {name.casefold(): name for name in sorted({*COLUMNS, "year", *keys})}
        return [folded[name] for name in sorted(folded)]

    def _find_rows(self, where: Filter) -> np.ndarray:
        """Return the rows that pass a filter, ascending, without the cache."""
        import numpy as np

        included = [self._rows_with(condition) for condition in where.conditions if not condition.is_negative]
        excluded = [self._rows_with(condition) for condition in where.conditions if condition.is_negative]
        rows = set.intersection(*included) if included else self._values.rows()
        return np.array(sorted(rows.difference(*excluded)), dtype=np.int64)

    def _rows_with(self, condition: Condition | AnyOf) -> set[int]:
        """Return the rows with a value that passes the condition's predicate; of a negative one, those to exclude.

        Raises:
            UsageError: No document has the field.
        """
        if isinstance(condition, AnyOf):
            return set().union(*map(self._rows_of_alternative, condition.conditions))
        fits, name = _json_predicate(_path_predicate(condition)), condition.name.lower()
        if name in DATE_FIELDS:
            return self._values.rows_by_column("date", fits) | self._values.rows_by_undated_key("year", fits)
        if name in COLUMNS:
            return self._values.rows_by_column(name, fits)
        rows = self._values.rows_by_key(condition.field, fits)
        # Only if nothing is found, because reading the names of all fields takes reading the metadata of all documents.
        if not rows:
            self._check_field(condition.field)
        return rows

    def _rows_of_alternative(self, condition: Condition) -> set[int]:
        """Return the rows of the passages that fulfil one of several alternatives; this one may be negative."""
        rows = self._rows_with(condition)
        return self._values.rows() - rows if condition.is_negative else rows

    def _check_field(self, name: str) -> None:
        """Raise an error unless a document has the field; the error suggests similar names.

        Raises:
            UsageError: No document has it.
        """
        fields = self.fields()
        folded = {field.casefold(): field for field in fields}
        if name.casefold() in folded:
            return
        close = [folded[match] for match in get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
        others = [field for field in fields if field not in close]
        guess = f"Did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(
            f"No document has the field {name!r}",
            help=f"{guess}Fields here, for --where: {', '.join([*close, *others])}",
        )


def _path_predicate(condition: Condition) -> Predicate:
    """Return the predicate of a condition; for `id` and `folder`, one that knows paths.

    A condition on an id also matches its short names, one on a folder all files below it.
    """
    fits, name = condition.predicate(), condition.name.lower()
    if name == "id":
        return lambda value: fits(value) or any(map(fits, path_ends(value)))
    if name == "folder":
        return lambda value: any(map(fits, path_folders(value)))
    return fits


def _json_predicate(predicate: Predicate) -> Fits:
    """Return the predicate as a test of a JSON type and value; a list passes if one entry does."""
    results: dict[tuple[str, Any], bool] = {}

    def fits(kind: str, value: Any) -> bool:
        """Return whether a JSON value, or an entry of it, passes."""
        # Many documents share a value, and comparing dates and texts takes longer than a look-up.
        if (kind, value) not in results:
            results[kind, value] = any(predicate(entry) for entry in _json_entries(kind, value))
        return results[kind, value]

    return fits


def _json_entries(kind: str, value: Any) -> list[Any]:
    """Return the values of a JSON field that a filter compares: of a list its entries; nested values are left out."""
    if kind == "array":
        return [entry for entry in json.loads(value) if not isinstance(entry, dict | list)]
    if kind == "object":
        return []
    # SQLite gives truth values as 1 and 0.
    return [kind == "true"] if kind in ("true", "false") else [value]

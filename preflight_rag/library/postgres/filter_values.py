"""The values of a PostgreSQL library's metadata, for filters: each distinct value of a field once, and its passages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from preflight_rag.databases.postgres import storable_text
from preflight_rag.library.postgres.schema import sees
from preflight_rag.library.postgres.store import PostgresStore
from preflight_rag.library.search.filter_index import Fits

_OF_DOCUMENTS = f"""
    select {{value}} as value, array_agg(d.key) from library_documents d where {sees("d")} {{also}} group by 1
"""
_KEY_OF_DOCUMENTS = f"""
    select e.value::text as value, array_agg(d.key) from library_documents d, json_each(d.metadata) e
    where {sees("d")} and lower(e.key) = lower(%s) {{also}} group by 1
"""
# The text is formatted twice, here and where it is used, so an empty object has eight brackets.
_KEY_OF_PASSAGES = f"""
    select e.value::text as value, array_agg(p.row) from library_passages p, json_each(p.metadata) e
    where {sees("p")} and p.metadata::text <> '{{{{}}}}' and lower(e.key) = lower(%s) group by 1
"""
_OF_PASSAGES = f"select {{value}} as value, array_agg(row) from library_passages where {sees()} group by 1"
_KEYS = f"""
    select distinct e.key from library_documents d, json_each(d.metadata) e where {sees("d")}
    union select distinct e.key from library_passages p, json_each(p.metadata) e
    where {sees("p")} and p.metadata::text <> '{{}}'
"""
_DATES = f"""
    select coalesce(d.date, (
        select e.value #>> '{{}}' from json_each(d.metadata) e where lower(e.key) = 'year' limit 1
    )), count(*) from library_documents d where {sees("d")} group by 1
"""
_JSON_TYPE_NAMES = {
    bool: "",
    str: "text",
    int: "integer",
    float: "real",
    list: "array",
    dict: "object",
    type(None): "null",
}


class PostgresValues:
    """The metadata values of a library in PostgreSQL; implements `FilterValues`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def state(self) -> tuple[int, int]:
        """Return the numbers of the last publication and of the last change of tags."""
        return self._store.state()

    def rows(self) -> set[int]:
        """Return all published rows."""
        return {row for (row,) in self._store.read_rows(f"select row from library_passages where {sees()}")}

    def rows_by_column(self, name: str, fits: Fits) -> set[int]:
        """Return the rows whose value in a column passes the test `fits`."""
        if name == "page":
            return _numbers_passing(self._store.read_rows(_OF_PASSAGES.format(value="page")), fits, "integer")
        # Everywhere else the value is one of the document: its expression, a further condition, and its JSON type.
        value, condition, kind = f"d.{name}", "", "text"
        if name == "authors":
            value, kind = "d.authors::text", "array"
        elif name == "folder":
            value, condition = "d.origin", "and d.origin <> ''"
        by_value = self._store.read_rows(_OF_DOCUMENTS.format(value=value, also=condition))
        rows = self._rows_of_documents(_numbers_passing(by_value, fits, kind))
        if name == "id":
            rows |= _numbers_passing(self._store.read_rows(_OF_PASSAGES.format(value="id")), fits, "text")
        return rows

    def rows_by_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows whose value under a metadata key passes the test."""
        parameters = [storable_text(key)]
        of_passages = self._store.read_rows(_KEY_OF_PASSAGES.format(), parameters)
        of_documents = self._store.read_rows(_KEY_OF_DOCUMENTS.format(also=""), parameters)
        rows = self._rows_of_documents(_numbers_passing_json(of_documents, fits))
        return rows | _numbers_passing_json(of_passages, fits)

    def rows_by_undated_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows of documents without a date whose value under a metadata key passes the test."""
        statement = _KEY_OF_DOCUMENTS.format(also="and d.date is null")
        return self._rows_of_documents(
            _numbers_passing_json(self._store.read_rows(statement, [storable_text(key)]), fits)
        )

    def keys(self) -> set[str]:
        """Return all keys of metadata."""
        return {key for (key,) in self._store.read_rows(_KEYS)}

    def dates(self) -> list[tuple[object, int]]:
        """Return the dates of documents, and how many have each."""
        return [(date, count) for date, count in self._store.read_rows(_DATES)]

    def _rows_of_documents(self, documents: Iterable[int]) -> set[int]:
        """Return the rows of the passages of documents, given by their keys."""
        keys = list(documents)
        if not keys:
            return set()
        statement = f"select row from library_passages where document = any(%s) and {sees()}"
        return {row for (row,) in self._store.read_rows(statement, [keys])}


def _numbers_passing(by_value: Iterable[tuple[Any, ...]], fits: Fits, kind: str) -> set[int]:
    """Return the rows, or the keys of documents, whose value passes the test.

    Args:
        by_value: Each value with the rows or keys that have it.
        fits: The test.
        kind: The JSON type of all values but null.
    """
    passing: set[int] = set()
    for value, numbers in by_value:
        if fits("null" if value is None else kind, value):
            passing.update(numbers)
    return passing


def _numbers_passing_json(by_value: Iterable[tuple[Any, ...]], fits: Fits) -> set[int]:
    """Return the rows, or the keys of documents, whose value passes the test; values are given as JSON texts."""
    passing: set[int] = set()
    for json_text, numbers in by_value:
        if fits(*_as_sqlite_json(json_text)):
            passing.update(numbers)
    return passing


def _as_sqlite_json(text: str) -> tuple[str, Any]:
    """Return a JSON value in the form of SQLite's JSON functions: its type's name, and lists and objects as text."""
    value = json.loads(text)
    if isinstance(value, bool):
        return ("true" if value else "false"), int(value)
    return _JSON_TYPE_NAMES[type(value)], text if isinstance(value, list | dict) else value

"""The values of a PostgreSQL library's metadata, for filters: each distinct value of a field once, and its passages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
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
_KINDS = {bool: "", str: "text", int: "integer", float: "real", list: "array", dict: "object", type(None): "null"}


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
        select = self._store.read_rows
        if name == "id":
            own = _fitting(select(_OF_PASSAGES.format(value="id")), fits, "text")
            return own | self._passages(_fitting(select(_OF_DOCUMENTS.format(value="d.id", also="")), fits, "text"))
        if name == "page":
            return _fitting(select(_OF_PASSAGES.format(value="page")), fits, "integer")
        if name == "authors":
            found = select(_OF_DOCUMENTS.format(value="d.authors::text", also=""))
            return self._passages(_fitting(found, fits, "array"))
        if name == "folder":
            found = select(_OF_DOCUMENTS.format(value="d.origin", also="and d.origin <> ''"))
            return self._passages(_fitting(found, fits, "text"))
        found = select(_OF_DOCUMENTS.format(value=f"d.{name}", also=""))
        return self._passages(_fitting(found, fits, "text"))

    def rows_by_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows whose value under a metadata key passes the test."""
        values, select = [storable_text(key)], self._store.read_rows
        own = _fitting_json(select(_KEY_OF_PASSAGES.format(), values), fits)
        return own | self._passages(_fitting_json(select(_KEY_OF_DOCUMENTS.format(also=""), values), fits))

    def rows_by_undated_key(self, key: str, fits: Fits) -> set[int]:
        """Return the rows of documents without a date whose value under a metadata key passes the test."""
        found = self._store.read_rows(_KEY_OF_DOCUMENTS.format(also="and d.date is null"), [storable_text(key)])
        return self._passages(_fitting_json(found, fits))

    def keys(self) -> set[str]:
        """Return all keys of metadata."""
        return {key for (key,) in self._store.read_rows(_KEYS)}

    def dates(self) -> list[tuple[object, int]]:
        """Return the dates of documents, and how many have each."""
        return [(date, count) for date, count in self._store.read_rows(_DATES)]

    def _passages(self, documents: Iterable[int]) -> set[int]:
        """Return the rows of documents' passages."""
        statement = f"select row from library_passages where document = any(%s) and {sees()}"
        keys = list(documents)
        return {row for (row,) in self._store.read_rows(statement, [keys])} if keys else set()


def _fitting(found: Iterable[tuple[Any, ...]], fits: Fits, kind: str) -> set[int]:
    """Return the rows or documents whose value passes the test, from pairs of a value and the numbers that have it."""
    passing: set[int] = set()
    for value, numbers in found:
        if fits("null" if value is None else kind, value):
            passing.update(numbers)
    return passing


def _fitting_json(found: Iterable[tuple[Any, ...]], fits: Fits) -> set[int]:
    """Return the rows or documents whose value, stored as JSON, passes the test."""
    return set(chain.from_iterable(numbers for text, numbers in found if fits(*_typed(text))))


def _typed(text: str) -> tuple[str, Any]:
    """Return a JSON value in the form of SQLite's JSON functions: its type's name, and lists and objects as text."""
    value = json.loads(text)
    if isinstance(value, bool):
        return ("true" if value else "false"), int(value)
    return _KINDS[type(value)], text if isinstance(value, list | dict) else value

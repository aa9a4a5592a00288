"""The passages of a library that fit a metadata filter, found in its database.

Each condition is one query whose text is constant: names and values are bound parameters, and how a value compares is
decided by the condition itself, which SQLite calls as a function.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from difflib import get_close_matches
from threading import Lock
from typing import TYPE_CHECKING, Any

from preflight_rag.library.search.filters import DATE_FIELDS, Condition, Filter, Predicate
from preflight_rag.state.errors import UsageError
from preflight_rag.text.dates import known_date

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.storage.store import Store

REMEMBERED = 16

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
}
_KEYS = """
SELECT DISTINCT m.key FROM documents d, json_each(d.metadata) m WHERE d.retired IS NULL
UNION SELECT DISTINCT m.key FROM passages p, json_each(p.metadata) m WHERE p.retired IS NULL AND p.metadata != '{}'
"""
_DATES = """
SELECT coalesce(d.date, (SELECT m.value FROM json_each(d.metadata) m WHERE m.key = 'year' COLLATE NOCASE)), count(*)
FROM documents d WHERE d.retired IS NULL GROUP BY 1
"""
_NOT_FIELDS = ("sections",)


class Fitting:
    """Which rows of a store fit a filter; the last few answers are remembered until a document is written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._known: OrderedDict[tuple[Filter, int], np.ndarray] = OrderedDict()

    def rows(self, where: Filter) -> np.ndarray:
        """Rows (n,) int64 of the passages that fit, ascending, retired ones included.

        Raises:
            UsageError: No document has one of the fields.
        """
        key = (where, self._store.generation())
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        rows = self._find(where)
        with self._lock:
            self._known[key] = rows
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return rows

    def undated(self) -> int:
        """Number of documents without a date in a known form."""
        return sum(row[1] for row in self._store.select(_DATES) if known_date(row[0]) is None)

    def fields(self) -> list[str]:
        """Names of the fields that a condition may name, in the order of the alphabet; case makes no difference."""
        keys = {row[0] for row in self._store.select(_KEYS)} - set(_NOT_FIELDS)
        folded = {name.casefold(): name for name in sorted({*_COLUMNS, "year", *keys})}
        return [folded[name] for name in sorted(folded)]

    def _find(self, where: Filter) -> np.ndarray:
        import numpy as np

        wanted = [self._rows_with(condition) for condition in where.conditions if not condition.is_negative]
        unwanted = [self._rows_with(condition) for condition in where.conditions if condition.is_negative]
        rows = set.intersection(*wanted) if wanted else {row[0] for row in self._store.select(_ROWS)}
        return np.array(sorted(rows.difference(*unwanted)), dtype=np.int64)

    def _rows_with(self, condition: Condition) -> set[int]:
        """Rows of the passages that have a value which the condition's predicate fits."""
        fits, name = _of_json(condition.predicate()), condition.name.lower()
        if name in DATE_FIELDS:
            queries: list[tuple[str, tuple[str, ...]]] = [(_COLUMNS["date"], ()), (_UNDATED_KEY, ("year",))]
        elif name in _COLUMNS:
            queries = [(_COLUMNS[name], ())]
        else:
            queries = [(_DOCUMENT_KEY, (condition.field,)), (_PASSAGE_KEY, (condition.field,))]
        found = {row[0] for sql, names in queries for row in self._store.select(sql, names, fits=fits)}
        if not found and name not in (*DATE_FIELDS, *_COLUMNS):
            self._check_field(condition.field)
        return found

    def _check_field(self, name: str) -> None:
        fields = self.fields()
        folded = {field.casefold(): field for field in fields}
        if name.casefold() in folded:
            return
        close = [folded[match] for match in get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
        others = [field for field in fields if field not in close]
        guess = f"Did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(
            f"No document has the field {name!r}", help=f"{guess}Fields here: {', '.join([*close, *others])}"
        )


def _of_json(predicate: Predicate) -> Callable[[str, Any], bool]:
    """The predicate over a JSON type and value as SQLite passes them; of a list, whether it fits any entry."""
    known: dict[tuple[str, Any], bool] = {}

    def fits(kind: str, value: Any) -> bool:
        if (kind, value) not in known:
            known[kind, value] = any(predicate(entry) for entry in _entries(kind, value))
        return known[kind, value]

    return fits


def _entries(kind: str, value: Any) -> list[Any]:
    if kind == "array":
        return [entry for entry in json.loads(value) if not isinstance(entry, dict | list)]
    return [] if kind == "object" else [kind == "true"] if kind in ("true", "false") else [value]

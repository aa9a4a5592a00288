"""Metadata filters: which passages may be found, how a filter is written, and how it is evaluated in a database.

A filter is a list of conditions that must all hold. A field is `id`, `title`, `source`, `author`, `date` or `year` of
the document, `id` or `page` of the passage, or any key of the metadata of either; of a list (authors, keywords, MeSH
headings, tags) one matching entry is enough. If the `id` is a file's path, the path's end matches too, such as
`2021/paper.pdf`, and `folder` matches any part of the path of folders that lead to the file. Text is compared without
regard to case, numbers as numbers, dates as intervals of days.

In the database each condition is one query whose text is constant: names and values are bound parameters, and values
are compared by the condition itself, which SQLite calls as a function.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from preflight_rag.ingest.loaders.read_report import READ_REPORT
from preflight_rag.state.errors import UsageError
from preflight_rag.text.dates import PartialDate, known_date, parse_date

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.library.storage.store import Store

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "~", "in", "exists", "missing"]
Predicate: TypeAlias = Callable[[object], bool]

ALIASES = {"author": "authors", "document_id": "id", "document": "id"}
DATE_FIELDS = ("date", "year")
NUMBERS = ("page",)

OR = " || "
"""Separates conditions of which one must hold."""

_EXAMPLE = "Write FIELD OP VALUE with one of = != < <= > >= ~ in, such as year>=2020; repeat --where for more"
_IN = re.compile(r"([^<>=!~()]+?)(?<!\s)\s++in\s*+\((.*)\)", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"([^<>=!~()]+?)(?>(?:(?<!\s)\s++)?)(<=|>=|!=|==|=|<|>|~)\s*+(.*)", re.DOTALL)
_PRESENT = re.compile(r"(!?)\s*+([^<>=!~()\s][^<>=!~()]*+)")
_PATH = re.compile(r"/|~/|[A-Za-z]:[\\/]|\\\\")
_BETWEEN = re.compile(r"[/\\]+")
_QUOTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]*))\s*(?:,|$)""")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a field.

    `!=` and `missing` also hold for passages without the field; every other operator requires it. An imprecise date
    passes `=`, `<=` and `>=` if it possibly fulfils them, but `<` and `>` only if it certainly does: a document of 2020
    passes `date >= 2020-06`, but not `date > 2020-06`. For "in", `value` is a frozenset.

    Raises:
        UsageError: The operator is unknown, or the value is of the wrong kind for the field or the operator.
    """

    field: str
    op: Operator
    value: Any = None

    def __post_init__(self) -> None:
        if self.op not in get_args(Operator):
            raise UsageError(f"{self.op!r} is not an operator of a filter", help=_EXAMPLE)
        if self.op == "in" and (not isinstance(self.value, frozenset) or not self.value):
            raise UsageError(f"{f'{self.field} in'!r} takes a set of values, not {self.value!r}", help=_EXAMPLE)
        if self.op not in ("exists", "missing", "in") and str(self.value).strip() == "":
            raise UsageError(f"{f'{self.field} {self.op}'!r} has no value", help=_EXAMPLE)
        self.predicate()

    def __str__(self) -> str:
        if self.op in ("exists", "missing"):
            return self.field if self.op == "exists" else f"!{self.field}"
        if self.op == "in":
            names = sorted(map(str, self.value))
            shown = ", ".join(names[:3]) + (f", ... {len(names)} in all" if len(names) > 3 else "")
            return f"{self.field} in ({shown})"
        return f"{self.field} {self.op} {self.value}"

    @property
    def name(self) -> str:
        """The field's name in the library's database."""
        lower = self.field.lower()
        return "date" if lower == "year" else ALIASES.get(lower, self.field)

    @property
    def is_negative(self) -> bool:
        """Whether the condition holds if no value passes `predicate`."""
        return self.op in ("!=", "missing")

    def predicate(self) -> Predicate:
        """Return a predicate of one stored value; for a negative condition, of a value that must not occur."""
        if self.op in ("exists", "missing"):
            return lambda value: value is not None and value != ""
        lower = self.field.lower()
        if lower in DATE_FIELDS and self.op != "~":
            values = self.value if self.op == "in" else (self.value,)
            return _any_of([_dated(self.op, parse_date(value)) for value in values])
        if self.op == "~":
            part = str(self.value).casefold()
            return lambda value: value is not None and part in _text(value)
        if self.op in ("=", "!=", "in"):
            values = self.value if self.op == "in" else (self.value,)
            if lower in NUMBERS:
                self._check_numbers(values)
            return _equal_to(values)
        return _ordered(self.op, *self._kinds())

    def _kinds(self) -> tuple[float | None, PartialDate | None]:
        """Return the value as a number and as a date, one of which an order comparison needs."""
        number, day = _number(self.value), known_date(self.value)
        if number is None and (day is None or self.field.lower() in NUMBERS):
            raise UsageError(
                f"{str(self)!r} compares with {self.value!r}, which is neither a number nor a date in a known form",
                help="Give a number, 2021, 2021-03, 2021-03-12 or March 2021 to --where, or use = or ~",
            )
        return number, day

    def _check_numbers(self, values: Iterable[object]) -> None:
        """Raise an error unless all values are numbers."""
        for value in values:
            if _number(value) is None:
                raise UsageError(
                    f"{self.field!r} is a number, not {value!r}", help="Give --where a number, such as page=3"
                )


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which at least one must hold."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return OR.join(map(str, self.conditions))

    @property
    def name(self) -> str:
        """The field that all conditions are about, or ""."""
        names = {condition.name for condition in self.conditions}
        return names.pop() if len(names) == 1 else ""

    @property
    def is_negative(self) -> bool:
        """Always False: alternatives require a value, even if one of their conditions does not."""
        return False


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; hashable, so that matching rows can be cached."""

    conditions: tuple[Condition | AnyOf, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))

    def __and__(self, other: Filter | None) -> Filter:
        return self if other is None else Filter((*self.conditions, *other.conditions))

    @classmethod
    def parse(cls, where: Sequence[str], *, since: object = None, until: object = None) -> Filter | None:
        """Return the filter for conditions as written on the command line; None if there is none.

        Args:
            where: Each `FIELD OP VALUE` with one of = != < <= > >= ~ (contains), `FIELD in (A, B)`, `FIELD` (present)
                or `!FIELD` (absent), or several of these with ` || ` between them, of which one must hold. Values with
                commas or spaces at their ends go into quotes.
            since: Only documents that may be of this day, month or year or later; undated ones are left out.
            until: Only documents that may be of this day, month or year or earlier.

        Raises:
            UsageError: A condition cannot be read, a date is in no known form, or a value of the wrong kind.
        """
        conditions = [_any_parsed(text) for text in ([where] if isinstance(where, str) else where)]
        if since is not None:
            conditions.append(Condition("date", ">=", str(parse_date(since))))
        if until is not None:
            conditions.append(Condition("date", "<=", str(parse_date(until))))
        return cls(tuple(conditions)) if conditions else None

    @property
    def needs_date(self) -> bool:
        """Whether undated documents cannot pass the filter."""
        return any(item.name == "date" and not item.is_negative for item in self.conditions)

    def fits(self, metadata: Mapping[str, object]) -> bool:
        """Return whether the metadata of a LangChain document pass, including `date`, `title` and `page`."""
        return all(_any_holds(condition, metadata) for condition in self.conditions)


def _any_parsed(text: str) -> Condition | AnyOf:
    """Return the condition that a text states, or several joined by OR."""
    parts = text.split(OR)
    return _parsed(text) if len(parts) == 1 else AnyOf(tuple(map(_parsed, parts)))


def _parsed(text: str) -> Condition:
    """Return the condition that a text states, e.g. `date >= 2020` or `kind in (pdf, html)`."""
    stripped = text.strip()
    if match := _IN.fullmatch(stripped):
        values = []
        for found in _QUOTED.findall(match[2]):
            values.append(next((part for part in found if part), "").strip())
        return Condition(match[1], "in", frozenset(value for value in values if value))
    if match := _COMPARED.fullmatch(stripped):
        value = re.sub(r"""^(["'])(.*)\1$""", r"\2", match[3], flags=re.DOTALL)
        operator: Any = "=" if match[2] == "==" else match[2]
        return Condition(match[1], operator, value)
    if match := _PRESENT.fullmatch(stripped):
        return Condition(match[2], "missing" if match[1] else "exists")
    raise UsageError(f"The filter {text!r} cannot be read", help=_EXAMPLE)


def _any_holds(condition: Condition | AnyOf, metadata: Mapping[str, object]) -> bool:
    """Return whether metadata fit a condition or one of several."""
    if isinstance(condition, AnyOf):
        return any(_holds(each, metadata) for each in condition.conditions)
    return _holds(condition, metadata)


def _holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Return whether metadata fit a condition."""
    folded = {key.lower(): value for key, value in metadata.items()}
    name = condition.name.lower()
    values = _entries(folded.get(name, folded.get(condition.field.lower())))
    if name == "id":
        values += [folded[key] for key in ("document_id", "passage_id") if key in folded]
        values += list(chain.from_iterable(map(_tails, values)))
    elif name == "folder" and values == [None]:
        values = list(_folders(folded.get("source"))) or values
    elif name == "date" and values == [None]:
        values = _entries(folded.get("year"))
    fits = condition.predicate()
    return any(fits(value) for value in values) is not condition.is_negative


def _tails(value: object) -> list[str]:
    """Return the possible short names of a document whose id is a file's path: the path's ends."""
    if not isinstance(value, str) or not _PATH.match(value):
        return []
    parts = [part for part in _BETWEEN.split(value) if part]
    return ["/".join(parts[-length:]) for length in range(1, len(parts))]


def _folders(value: object) -> list[str]:
    """Return the values of `folder` for a file: every run of consecutive folders in its path, and the whole path."""
    if not isinstance(value, str) or not _PATH.match(value):
        return []
    parts = [part for part in _BETWEEN.split(value) if part][:-1]
    runs = []
    for end in range(1, len(parts) + 1):
        for start in range(end):
            runs.append("/".join(parts[start:end]))
    return [*runs, *(value[: value.find(part) + len(part)] for part in parts)]


def _entries(value: object) -> list[object]:
    """Return the values of a field: the entries of a list, without nested ones, or the value itself."""
    entries = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return [entry for entry in entries if not isinstance(entry, Mapping | list | tuple | set | frozenset)]


def _any_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return a predicate that holds if one of several does."""
    return lambda value: any(fits(value) for fits in predicates)


def _dated(op: Operator, day: PartialDate) -> Predicate:
    """Return a predicate that compares a date with a day."""

    def fits(value: object) -> bool:
        """Return whether a stored date fulfils the comparison."""
        found = known_date(value)
        return found is not None and _compare_dates(op, found, day)

    return fits


def _compare_dates(op: Operator, found: PartialDate, day: PartialDate) -> bool:
    """Return whether a date fits a comparison; partial dates fit if one of their days may."""
    match op:
        case ">=":
            return found.latest >= day.earliest
        case "<=":
            return found.earliest <= day.latest
        case ">":
            return found.earliest > day.latest
        case "<":
            return found.latest < day.earliest
    return found.overlaps(day)


def _equal_to(values: Iterable[object]) -> Predicate:
    """Return a predicate that holds for values equal to one of these as text, number or date."""
    texts = {_text(value) for value in values}
    numbers = {number for value in values if (number := _number(value)) is not None}
    days = [day for value in values if (day := known_date(value)) is not None]

    def fits(value: object) -> bool:
        """Return whether a stored value equals one of the values."""
        if value is None:
            return False
        if (number := _number(value)) is not None:
            return number in numbers or _text(value) in texts
        if _text(value) in texts:
            return True
        found = known_date(value) if days else None
        return found is not None and any(found.overlaps(day) for day in days)

    return fits


def _ordered(op: Operator, number: float | None, day: PartialDate | None) -> Predicate:
    """Return a predicate that compares a value as a number, else as a date."""

    def fits(value: object) -> bool:
        """Return whether a stored value fulfils the comparison."""
        given = _number(value)
        if given is not None and number is not None:
            return {"<": given < number, "<=": given <= number, ">": given > number, ">=": given >= number}[op]
        found = known_date(value) if day else None
        return found is not None and day is not None and _compare_dates(op, found, day)

    return fits


def _text(value: object) -> str:
    """Return the value as compared: without case, white space collapsed, `true` and `false` as words."""
    return " ".join(str(value).casefold().split())


@lru_cache(maxsize=4096)
def _of_text(text: str) -> float | None:
    """Return the number that a text states; None if it states none, or an infinite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0 else None


def _number(value: object) -> float | None:
    """Return the value as a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return _of_text(value) if isinstance(value, str) else _of_text(repr(value))


REMEMBERED = 16
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
_NOT_FIELDS = ("sections", "tagged", READ_REPORT)
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
        """Return the same for documents' metadata only, and only for documents without a date."""

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
        return self._store.generation(), self._store.tagged()

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
        key = (where, self._values.state())
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
        """Return the number of documents without a date in a known form."""
        return sum(count for date, count in self._values.dates() if known_date(date) is None)

    def fields(self) -> list[str]:
        """Return the names of the fields that a condition may name, in alphabetical order.

        Names are case-insensitive.
        """
        keys = self._values.keys() - set(_NOT_FIELDS)
        folded = {name.casefold(): name for name in sorted({*COLUMNS, "year", *keys})}
        return [folded[name] for name in sorted(folded)]

    def _find(self, where: Filter) -> np.ndarray:
        """Return the rows that pass, without the cache."""
        import numpy as np

        wanted = [self._rows_with(condition) for condition in where.conditions if not condition.is_negative]
        unwanted = [self._rows_with(condition) for condition in where.conditions if condition.is_negative]
        rows = set.intersection(*wanted) if wanted else self._values.rows()
        return np.array(sorted(rows.difference(*unwanted)), dtype=np.int64)

    def _rows_with(self, condition: Condition | AnyOf) -> set[int]:
        """Return the rows of the passages with a value that passes the condition's predicate."""
        if isinstance(condition, AnyOf):
            return set().union(*map(self._rows_of_any, condition.conditions))
        fits, name = _of_json(_of_path(condition)), condition.name.lower()
        if name in DATE_FIELDS:
            return self._values.rows_by_column("date", fits) | self._values.rows_by_undated_key("year", fits)
        if name in COLUMNS:
            return self._values.rows_by_column(name, fits)
        found = self._values.rows_by_key(condition.field, fits)
        if not found:
            self._check_field(condition.field)
        return found

    def _rows_of_any(self, condition: Condition) -> set[int]:
        """Return the rows of the passages for which one of several alternatives holds."""
        rows = self._rows_with(condition)
        return self._values.rows() - rows if condition.is_negative else rows

    def _check_field(self, name: str) -> None:
        """Raise an error unless a document has the field."""
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


def _of_path(condition: Condition) -> Predicate:
    """Return the predicate of a condition on a path.

    A condition on an id also matches its short names, one on a folder all files below it.
    """
    fits, name = condition.predicate(), condition.name.lower()
    if name == "id":
        return lambda value: fits(value) or any(map(fits, _tails(value)))
    return (lambda value: any(map(fits, _folders(value)))) if name == "folder" else fits


def _of_json(predicate: Predicate) -> Fits:
    """Return the predicate as a test of a JSON type and value; a list passes if one entry does."""
    known: dict[tuple[str, Any], bool] = {}

    def fits(kind: str, value: Any) -> bool:
        """Return whether a JSON value, or an entry of it, passes."""
        if (kind, value) not in known:
            known[kind, value] = any(predicate(entry) for entry in _json_entries(kind, value))
        return known[kind, value]

    return fits


def _json_entries(kind: str, value: Any) -> list[Any]:
    """Return the values of a JSON field that a filter compares; nested ones are left out."""
    if kind == "array":
        return [entry for entry in json.loads(value) if not isinstance(entry, dict | list)]
    return [] if kind == "object" else [kind == "true"] if kind in ("true", "false") else [value]

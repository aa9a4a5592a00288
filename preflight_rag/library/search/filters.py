"""Metadata filters: which passages may be found, and how a filter is written; `filter_index.py` finds the rows.

A filter is a list of conditions that must all hold. A field is `id`, `title`, `source`, `author`, `date` or `year` of
the document, `id` or `page` of the passage, or any key of the metadata of either; of a list (authors, keywords, MeSH
headings, tags) one matching entry is enough. If the `id` is a file's path, the path's end matches too, such as
`2021/paper.pdf`, and `folder` matches any part of the path of folders that lead to the file. Text is compared without
regard to case, numbers as numbers, dates as intervals of days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from preflight_rag.state.errors import UsageError
from preflight_rag.text.dates import PartialDate, known_date, parse_date

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "~", "in", "exists", "missing"]
Predicate: TypeAlias = Callable[[object], bool]

ALIASES = {"author": "authors", "document_id": "id", "document": "id"}
DATE_FIELDS = ("date", "year")
NUMBERS = ("page",)

OR = " || "
"""Separates conditions of which one must hold."""

_EXAMPLE = "Write FIELD OP VALUE with one of = != < <= > >= ~ in, such as year>=2020; repeat --where for more"
_IN_CONDITION = re.compile(r"([^<>=!~()]+?)(?<!\s)\s++in\s*+\((.*)\)", re.IGNORECASE | re.DOTALL)
# An atomic group, since Python 3.11.0 to 3.11.4 matches a possessive quantifier over a group wrongly.
_COMPARISON = re.compile(r"([^<>=!~()]+?)(?>(?:(?<!\s)\s++)?)(<=|>=|!=|==|=|<|>|~)\s*+(.*)", re.DOTALL)
_PRESENCE = re.compile(r"(!?)\s*+([^<>=!~()\s][^<>=!~()]*+)")
_ABSOLUTE_PATH = re.compile(r"/|~/|[A-Za-z]:[\\/]|\\\\")
_SEPARATORS = re.compile(r"[/\\]+")
_LIST_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]*))\s*(?:,|$)""")


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
        # A value of the wrong kind is refused when a filter is written, not when it is used.
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
            return _any_predicate([_date_predicate(self.op, parse_date(value)) for value in values])
        if self.op == "~":
            part = str(self.value).casefold()
            return lambda value: value is not None and part in _comparable_text(value)
        if self.op in ("=", "!=", "in"):
            values = self.value if self.op == "in" else (self.value,)
            if lower in NUMBERS:
                self._check_numbers(values)
            return _equality_predicate(values)
        return _order_predicate(self.op, *self._number_or_date())

    def _number_or_date(self) -> tuple[float | None, PartialDate | None]:
        """Return the value as a number and as a date, each None if it is none.

        Raises:
            UsageError: The value is neither, or is no number for a field of numbers.
        """
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
        # A text is a sequence, too, whose letters would be conditions.
        conditions = [_parse_alternatives(text) for text in ([where] if isinstance(where, str) else where)]
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
        return all(_alternative_holds(condition, metadata) for condition in self.conditions)


def _parse_alternatives(text: str) -> Condition | AnyOf:
    """Return the condition that a text states, or the alternatives that it joins by `OR`."""
    parts = text.split(OR)
    return _parse_condition(text) if len(parts) == 1 else AnyOf(tuple(map(_parse_condition, parts)))


def _parse_condition(text: str) -> Condition:
    """Return the condition that a text states, e.g. `date >= 2020` or `kind in (pdf, html)`.

    Raises:
        UsageError: It states none.
    """
    stripped = text.strip()
    if match := _IN_CONDITION.fullmatch(stripped):
        values = []
        for alternatives in _LIST_VALUE.findall(match[2]):
            # In double quotes, in single quotes, or without: only one of the groups is not empty.
            values.append("".join(alternatives).strip())
        return Condition(match[1], "in", frozenset(value for value in values if value))
    if match := _COMPARISON.fullmatch(stripped):
        value = re.sub(r"""^(["'])(.*)\1$""", r"\2", match[3], flags=re.DOTALL)
        operator: Any = "=" if match[2] == "==" else match[2]
        return Condition(match[1], operator, value)
    if match := _PRESENCE.fullmatch(stripped):
        return Condition(match[2], "missing" if match[1] else "exists")
    raise UsageError(f"The filter {text!r} cannot be read", help=_EXAMPLE)


def _alternative_holds(condition: Condition | AnyOf, metadata: Mapping[str, object]) -> bool:
    """Return whether metadata fulfil a condition, or one of several alternatives."""
    if isinstance(condition, AnyOf):
        return any(_holds(alternative, metadata) for alternative in condition.conditions)
    return _holds(condition, metadata)


def _holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Return whether metadata fulfil a condition; the case of their keys is ignored."""
    folded = {key.lower(): value for key, value in metadata.items()}
    name = condition.name.lower()
    values = _entries(folded.get(name, folded.get(condition.field.lower())))
    if name == "id":
        values += [folded[key] for key in ("document_id", "passage_id") if key in folded]
        values += list(chain.from_iterable(map(path_ends, values)))
    elif name == "folder" and values == [None]:
        values = list(path_folders(folded.get("source"))) or values
    elif name == "date" and values == [None]:
        values = _entries(folded.get("year"))
    fits = condition.predicate()
    has_fitting_value = any(fits(value) for value in values)
    return has_fitting_value is not condition.is_negative


def path_ends(value: object) -> list[str]:
    """Return all ends of a file's path, the document's possible short names; none if the value is no absolute path.

    Of "/home/me/a.pdf" they are "a.pdf" and "me/a.pdf".
    """
    if not isinstance(value, str) or not _ABSOLUTE_PATH.match(value):
        return []
    parts = [part for part in _SEPARATORS.split(value) if part]
    return ["/".join(parts[-length:]) for length in range(1, len(parts))]


def path_folders(value: object) -> list[str]:
    """Return the values of `folder` for a file: every run of consecutive folders in its path, and each folder's path.

    Of "/home/me/a.pdf" they are "home", "home/me", "me", "/home" and "/home/me". None if the value is no absolute path.
    """
    if not isinstance(value, str) or not _ABSOLUTE_PATH.match(value):
        return []
    parts = [part for part in _SEPARATORS.split(value) if part][:-1]
    runs = []
    for end in range(1, len(parts) + 1):
        for start in range(end):
            runs.append("/".join(parts[start:end]))
    return [*runs, *(value[: value.find(part) + len(part)] for part in parts)]


def _entries(value: object) -> list[object]:
    """Return the values of a field: the entries of a list, without nested ones, or the value itself."""
    entries = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return [entry for entry in entries if not isinstance(entry, Mapping | list | tuple | set | frozenset)]


def _any_predicate(predicates: Sequence[Predicate]) -> Predicate:
    """Return a predicate that holds if one of several does."""
    return lambda value: any(fits(value) for fits in predicates)


def _date_predicate(op: Operator, day: PartialDate) -> Predicate:
    """Return a predicate that compares a value as a date with a day, month or year."""

    def fits(value: object) -> bool:
        """Return whether a stored value is a date that fulfils the comparison."""
        date = known_date(value)
        return date is not None and _compare_dates(op, date, day)

    return fits


def _compare_dates(op: Operator, date: PartialDate, day: PartialDate) -> bool:
    """Return whether a date fulfils a comparison with a day, month or year.

    `=`, `<=` and `>=` are fulfilled if one of the days of a partial date may fulfil them, `<` and `>` if all do.
    """
    match op:
        case ">=":
            return date.latest >= day.earliest
        case "<=":
            return date.earliest <= day.latest
        case ">":
            return date.earliest > day.latest
        case "<":
            return date.latest < day.earliest
    return date.overlaps(day)


def _equality_predicate(values: Iterable[object]) -> Predicate:
    """Return a predicate that holds for values equal to one of these as text, number or date."""
    texts = {_comparable_text(value) for value in values}
    numbers = {number for value in values if (number := _number(value)) is not None}
    days = [day for value in values if (day := known_date(value)) is not None]

    def fits(value: object) -> bool:
        """Return whether a stored value equals one of the values."""
        if value is None:
            return False
        if (number := _number(value)) is not None:
            return number in numbers or _comparable_text(value) in texts
        if _comparable_text(value) in texts:
            return True
        date = known_date(value) if days else None
        return date is not None and any(date.overlaps(day) for day in days)

    return fits


def _order_predicate(op: Operator, number: float | None, day: PartialDate | None) -> Predicate:
    """Return a predicate that compares a value with `number` if both are numbers, else as a date with `day`."""

    def fits(value: object) -> bool:
        """Return whether a stored value fulfils the comparison."""
        stored = _number(value)
        if stored is not None and number is not None:
            return {"<": stored < number, "<=": stored <= number, ">": stored > number, ">=": stored >= number}[op]
        date = known_date(value) if day else None
        return date is not None and day is not None and _compare_dates(op, date, day)

    return fits


def _comparable_text(value: object) -> str:
    """Return a value as the text by which it is compared: without case, with single spaces."""
    return " ".join(str(value).casefold().split())


@lru_cache(maxsize=4096)
def _number_in_text(text: str) -> float | None:
    """Return the number that a text states; None if it states none, or one that is not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    # The difference is NaN for infinity and for NaN.
    return number if number - number == 0 else None


def _number(value: object) -> float | None:
    """Return the number that a value is or states as text; None if it is none, infinite, or a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    # A number by its text, too: `float` raises for an integer beyond its range, whose text is infinite.
    return _number_in_text(value) if isinstance(value, str) else _number_in_text(repr(value))

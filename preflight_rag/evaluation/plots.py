"""Plots as values: what an experiment asks to be drawn, and the same in words.

`Bars` compares arms under conditions, `Lines` follows arms over positions, budgets, context lengths or α, `Curves`
holds traces with an x of their own: risk and coverage, reliability. Every figure may be an `Estimate`, whose interval
is drawn. Nothing here needs matplotlib; `plot_svg` draws.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite, nan
from typing import Any, TypeAlias

from preflight_rag.evaluation.intervals import Estimate

Value: TypeAlias = Estimate | float
"""A figure with its interval, or without one; NaN is a gap."""
MOST_POINTS_IN_WORDS = 12
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Axis:
    """What is measured along one side of a plot.

    Attributes:
        label: Its name with the unit, as "budget (tokens)"; a percent axis says so itself.
        percent: The values are shares in [0, 1], drawn times 100.
        low: Where the axis starts, in the values' own unit; None is where the values need it.
        high: Where it ends.
        digits: Decimals of a value that is written out; None is 1 for percent, else as many as its size asks for.
    """

    label: str
    percent: bool = False
    low: float | None = None
    high: float | None = None
    digits: int | None = None

    @property
    def scale(self) -> float:
        """What the values are multiplied by to be drawn."""
        return 100.0 if self.percent else 1.0

    @property
    def name(self) -> str:
        """The label with the unit."""
        return f"{self.label} (%)" if self.percent else self.label

    def shown(self, value: float) -> str:
        """A value as read off this axis: 84.2, 0.842, 1,024; – where it is undefined."""
        scaled = value * self.scale
        if not isfinite(scaled):
            return "–"
        size = abs(scaled)
        usual = 1 if self.percent or 10 <= size < 1000 else 3 if size < 10 else 0
        return f"{scaled:,.{usual if self.digits is None else self.digits}f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Series:
    """An arm: one value a category or position. `published` ones are a paper's, and are drawn hollow."""

    name: str
    values: tuple[Value, ...]
    published: bool = False


@dataclass(frozen=True)
class Reference:
    """A line across the plot at one value of the measure: closed book, oracle."""

    name: str
    value: Value


@dataclass(frozen=True)
class Trace:
    """Points with an x of their own, joined by a line or not."""

    name: str
    points: tuple[tuple[float, Value], ...]
    joined: bool = True


@dataclass(frozen=True)
class Bars:
    """One group of bars a category, one bar a series; the measure starts at 0.

    Attributes:
        title: What is compared.
        measure: The axis of the values.
        categories: Names of the groups; every series has one value for each.
        series: The arms. With one series the categories name the bars.
        references: Lines across all bars.
        note: For the caption: what the intervals are, and what else a reader must know.
    """

    title: str
    measure: Axis
    categories: tuple[str, ...]
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        _check(self.title, self.categories, self.series)


@dataclass(frozen=True)
class Lines:
    """One line a series over a numeric or an ordered axis.

    Attributes:
        title: What is followed.
        x: The label of the axis with its unit.
        at: Where the values stand: numbers stand in proportion, strings evenly spaced.
        measure: The axis of the values.
        series: The arms, one value for each place in `at`.
        references: Lines across the plot.
        note: For the caption, as in `Bars`.
    """

    title: str
    x: str
    at: tuple[float, ...] | tuple[str, ...]
    measure: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        _check(self.title, self.at, self.series)


@dataclass(frozen=True)
class Curves:
    """Traces over two numeric axes; `identity` names the line y = x, and is empty where there is none."""

    title: str
    x: Axis
    measure: Axis
    traces: tuple[Trace, ...]
    references: tuple[Reference, ...] = ()
    identity: str = ""
    note: str = ""


Plot: TypeAlias = Bars | Lines | Curves


def estimate(value: Value) -> Estimate:
    """The value as an estimate; a bare number has no interval."""
    return value if isinstance(value, Estimate) else Estimate(float(value), nan, nan)


def recorded(figure: Mapping[str, float | None]) -> Estimate:
    """An estimate as `Report.figures` holds it: value, low and high, None where it is undefined."""
    value, low, high = (figure[part] for part in ("value", "low", "high"))
    return Estimate(*(nan if part is None else part for part in (value, low, high)))


def over_budgets(
    title: str, label: str, numbers: Mapping[str, Any], names: Iterable[str], budgets: Iterable[int]
) -> Lines:
    """Means of a share within token budgets: `numbers` has the recorded figures by name and by the budget as text."""
    at = tuple(budgets)
    return Lines(
        title,
        "budget (tokens)",
        tuple(f"{budget:,}" for budget in at),
        Axis(label, percent=True),
        tuple(Series(name, tuple(recorded(numbers[name][str(budget)]) for budget in at)) for name in names),
        note="Mean over questions. Intervals: 95 % bootstrap over questions.",
    )


def bounds(values: Iterable[Value]) -> Iterator[float]:
    """All that the values reach: figures and ends of intervals, without those that are undefined."""
    for value in map(estimate, values):
        yield from (part for part in (value.value, value.low, value.high) if isfinite(part))


def in_words(plot: Plot) -> str:
    """The plot for somebody who cannot see it: what is drawn over what, and every series with its values."""
    match plot:
        case Bars():
            told = [_told(series.name, plot.categories, series.values, plot.measure) for series in plot.series]
            over = "Bars"
        case Lines():
            told = [_told(series.name, plot.at, series.values, plot.measure) for series in plot.series]
            over = f"Lines over {plot.x}"
        case Curves():
            told = [_trace_told(trace, plot.x, plot.measure) for trace in plot.traces]
            over = f"Curves over {plot.x.name}"
    told += [f"{line.name}: {_with_interval(line.value, plot.measure)}" for line in plot.references]
    return " ".join(f"{sentence}." for sentence in (f"{over} of {plot.measure.name}", *told))


def _told(name: str, places: Iterable[str | float], values: Iterable[Value], measure: Axis) -> str:
    pairs = zip(places, values, strict=True)
    return f"{name}: " + ", ".join(f"{_place(place)} {_with_interval(value, measure)}" for place, value in pairs)


def _trace_told(trace: Trace, x: Axis, measure: Axis) -> str:
    """Each point of a short trace, of a long one a few of them, with the first and the last."""
    points = trace.points
    if len(points) > MOST_POINTS_IN_WORDS:
        last = len(points) - 1
        points = tuple(points[round(step * last / (MOST_POINTS_IN_WORDS - 1))] for step in range(MOST_POINTS_IN_WORDS))
    return _told(trace.name, [x.shown(place) for place, _ in points], [value for _, value in points], measure)


def _with_interval(value: Value, measure: Axis) -> str:
    known = estimate(value)
    shown = measure.shown(known.value)
    return f"{shown} [{measure.shown(known.low)}, {measure.shown(known.high)}]" if isfinite(known.low) else shown


def _place(place: str | float) -> str:
    return place if isinstance(place, str) else f"{place:g}"


def _check(title: str, places: Iterable[str | float], series: Iterable[Series]) -> None:
    count = len(tuple(places))
    for one in series:
        if len(one.values) != count:
            raise ValueError(f"{title!r}: {one.name!r} has {len(one.values)} values for {count} places")


def legible(part: Any) -> Any:
    """A plot, or a part of one, with every text on one line and without characters that no page may hold."""
    if isinstance(part, str):
        return " ".join(readable(part).split())
    if isinstance(part, tuple):
        return tuple(map(legible, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{field.name: legible(getattr(part, field.name)) for field in fields(part)})
    return part


def readable(text: str) -> str:
    """The text without characters that no page may hold: control characters, lone surrogates."""
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)

"""Plots as values: what an experiment wants drawn, and the same in words.

`BarPlot` compares arms under conditions, `LinePlot` follows arms over positions, budgets, context lengths or α,
`Curves` holds traces with an x of their own: risk and coverage, reliability. Every figure may be an `Estimate`, whose
interval is drawn. `draw` makes SVG from them with matplotlib: text stays text in the page's font, colours are CSS
variables with the light theme's values as a fallback, so that one drawing serves light and dark pages.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite, nan
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.intervals import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value: TypeAlias = Estimate | float
"""A figure with its interval, or without one; NaN is a gap."""
MOST_POINTS_IN_WORDS = 12
WIDE, NARROW = 880, 344
"""Widths in CSS pixels: of a page on a desktop or in a talk, and on a telephone."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6a00", "#6f6f6f")
"""Okabe and Ito's colours, which readers with any colour vision can distinguish; olive and grey replace yellow and
black."""
DARK_PALETTE = ("#56b4e9", "#ff8a4c", "#2fc79b", "#e3a1c6", "#f0b93a", "#8f9df5", "#d8cd5a", "#a9a9a9")
"""The same colours for a dark page."""
INK, MUTED, RULE, PAPER = "#010101", "#5c5c5c", "#dcdcdc", "#fefefe"
"""Colours of text, secondary text, the grid and the page; matplotlib omits pure black, as SVG's default."""
MARKERS = "os^DvPX*"
TEXT, CHARACTER = 13, 7.6
"""In pixels: size of the text, and mean width of a character."""
BAR, HEIGHT = 24, 330
"""In pixels: height of a bar with its distance to the next, and of a plot with two axes."""
MOST_MARKERS = 30
"""Traces with more points are drawn without markers: a guess at when they would touch."""
VARIABLES = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    RULE: f"var(--rule, {RULE})",
    PAPER: f"var(--page, {PAPER})",
    **{colour: f"var(--series-{at}, {colour})" for at, colour in enumerate(PALETTE, 1)},
}
"""CSS variables of the page's style sheet for the colours of a drawing."""
LOOKS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plot",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.spines.bottom": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
}
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class PlotAxis:
    """The quantity along one side of a plot.

    Attributes:
        label: Its name with the unit, such as "budget (tokens)"; a percent sign is added for `percent`.
        percent: The values are shares in [0, 1], drawn times 100.
        low: Where the axis starts, in the values' own unit; None: chosen by the values.
        high: Where it ends.
        digits: Decimals of a printed value; None is 1 for percent, else chosen by the size.
    """

    label: str
    percent: bool = False
    low: float | None = None
    high: float | None = None
    digits: int | None = None

    @property
    def scale(self) -> float:
        """The factor by which values are multiplied for drawing."""
        return 100.0 if self.percent else 1.0

    @property
    def name(self) -> str:
        """The label with the unit."""
        return f"{self.label} (%)" if self.percent else self.label

    def shown(self, value: float) -> str:
        """Return a value as read off this axis: 84.2, 0.842, 1,024; – if it is undefined."""
        scaled = value * self.scale
        if not isfinite(scaled):
            return "–"
        size = abs(scaled)
        usual = 1 if self.percent or 10 <= size < 1000 else 3 if size < 10 else 0
        return f"{scaled:,.{usual if self.digits is None else self.digits}f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class PlotSeries:
    """An arm: one value for each category or position."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Reference:
    """A line across the plot at one value of the measure, e.g. of the closed book or the oracle."""

    name: str
    value: Value


@dataclass(frozen=True)
class Trace:
    """Points with an x of their own, joined by a line or not."""

    name: str
    points: tuple[tuple[float, Value], ...]
    joined: bool = True


@dataclass(frozen=True)
class BarPlot:
    """One group of bars for each category, one bar for each series; the measure starts at 0.

    Attributes:
        title: What is compared.
        measure: The axis of the values.
        categories: Names of the groups; every series has one value for each.
        series: The arms. With one series the categories name the bars.
        references: Lines across all bars.
        note: Text of the caption: what the intervals are, and what else a reader must know.
    """

    title: str
    measure: PlotAxis
    categories: tuple[str, ...]
    series: tuple[PlotSeries, ...]
    references: tuple[Reference, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        _check(self.title, self.categories, self.series)


@dataclass(frozen=True)
class LinePlot:
    """One line for each series over a numeric or an ordered axis.

    Attributes:
        title: What is followed.
        x: The label of the axis with its unit.
        at: Positions of the values: numbers are drawn to scale, strings evenly spaced.
        measure: The axis of the values.
        series: The arms, one value for each position in `at`.
        references: Lines across the plot.
        note: Text of the caption, as in `BarPlot`.
    """

    title: str
    x: str
    at: tuple[float, ...] | tuple[str, ...]
    measure: PlotAxis
    series: tuple[PlotSeries, ...]
    references: tuple[Reference, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        _check(self.title, self.at, self.series)


@dataclass(frozen=True)
class Curves:
    """Traces over two numeric axes."""

    title: str
    x: PlotAxis
    measure: PlotAxis
    traces: tuple[Trace, ...]
    references: tuple[Reference, ...] = ()
    note: str = ""


Plot: TypeAlias = BarPlot | LinePlot | Curves


def estimate(value: Value) -> Estimate:
    """Return the value as an estimate; a bare number has no interval."""
    return value if isinstance(value, Estimate) else Estimate(float(value), nan, nan)


def recorded(figure: Mapping[str, float | None]) -> Estimate:
    """Return an estimate from its form in `Report.figures`: value, low and high, None if undefined."""
    value, low, high = (figure[part] for part in ("value", "low", "high"))
    return Estimate(*(nan if part is None else part for part in (value, low, high)))


def in_words(plot: Plot) -> str:
    """Return a description of the plot for readers who cannot see it: its axes, and every series with its values."""
    match plot:
        case BarPlot():
            sentences = [_listed(series.name, plot.categories, series.values, plot.measure) for series in plot.series]
            over = "Bars"
        case LinePlot():
            sentences = [_listed(series.name, plot.at, series.values, plot.measure) for series in plot.series]
            over = f"Lines over {plot.x}"
        case Curves():
            sentences = [_trace_in_words(trace, plot.x, plot.measure) for trace in plot.traces]
            over = f"Curves over {plot.x.name}"
    sentences += [f"{line.name}: {_with_interval(line.value, plot.measure)}" for line in plot.references]
    return " ".join(f"{sentence}." for sentence in (f"{over} of {plot.measure.name}", *sentences))


def _listed(name: str, places: Iterable[str | float], values: Iterable[Value], measure: PlotAxis) -> str:
    """Return a series of values in words, for readers who do not see the plot."""
    pairs = zip(places, values, strict=True)
    return f"{name}: " + ", ".join(f"{_place(place)} {_with_interval(value, measure)}" for place, value in pairs)


def _trace_in_words(trace: Trace, x: PlotAxis, measure: PlotAxis) -> str:
    """Return each point of a short trace; of a long one a few, with the first and the last."""
    points = trace.points
    if len(points) > MOST_POINTS_IN_WORDS:
        last = len(points) - 1
        points = tuple(points[round(step * last / (MOST_POINTS_IN_WORDS - 1))] for step in range(MOST_POINTS_IN_WORDS))
    return _listed(trace.name, [x.shown(place) for place, _ in points], [value for _, value in points], measure)


def _with_interval(value: Value, measure: PlotAxis) -> str:
    """Return a value with its interval in brackets, if it has one."""
    known = estimate(value)
    shown = measure.shown(known.value)
    return f"{shown} [{measure.shown(known.low)}, {measure.shown(known.high)}]" if isfinite(known.low) else shown


def _place(place: str | float) -> str:
    """Return a place on the x axis as text."""
    return place if isinstance(place, str) else f"{place:g}"


def _check(title: str, places: Iterable[str | float], series: Iterable[PlotSeries]) -> None:
    """Raise an error unless each series has one value for each place."""
    count = len(tuple(places))
    for one in series:
        if len(one.values) != count:
            raise ValueError(f"{title!r}: {one.name!r} has {len(one.values)} values for {count} places")


def draw(plot: Plot, name: str, width: int = WIDE) -> str:
    """Return the plot as an SVG element for a page of HTML; the same plot gives the same text.

    Args:
        plot: What to draw.
        name: Put before every id; no two drawings of a page may share it.
        width: Pixels: `WIDE` or `NARROW`.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    plot, written = legible(plot), io.StringIO()
    with rc_context(LOOKS), warnings.catch_warnings():
        # A page's font has letters that matplotlib's lacks; they are measured as boxes and drawn by the browser.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(dpi=72, layout="constrained")
        figure.set_size_inches(width / 72, _height(plot) / 72)
        axes = figure.subplots()
        if isinstance(plot, BarPlot):
            _draw_bars(axes, plot, width)
        else:
            _draw_traces(axes, plot, width)
        handles, labels = axes.get_legend_handles_labels()
        if labels and not (isinstance(plot, BarPlot) and len(plot.series) == 1 and not plot.references):
            longest = max(map(len, labels)) * CHARACTER + 50
            figure.legend(handles, labels, loc="outside upper left", ncols=max(1, int(width / longest)))
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return _for_page(written.getvalue(), plot, name)


def _height(plot: Plot) -> int:
    """Return the height in pixels, with room for the legend."""
    if isinstance(plot, BarPlot):
        bars = len(plot.categories) * (len(plot.series) + (len(plot.series) > 1))
        return 70 + BAR * (bars + len(plot.series) + len(plot.references))
    return HEIGHT + BAR * (len(plot.traces) if isinstance(plot, Curves) else len(plot.series))


def _draw_bars(axes: Axes, plot: BarPlot, width: int) -> None:
    """Draw horizontal bars, so that names have room, each with its interval and its figure."""
    scale, count = plot.measure.scale, len(plot.series)
    thick = 0.62 if count == 1 else 1 / (count + 1)
    for at, series in enumerate(plot.series):
        colour = PALETTE[at % len(PALETTE)]
        for group, value in enumerate(series.values):
            known, y = estimate(value), group + (at - (count - 1) / 2) / (count + 1)
            label, value = series.name if group == 0 else "_", known.value * scale if isfinite(known.value) else 0.0
            axes.barh(y, value, height=thick * 0.8, label=label, color=colour)
            if isfinite(known.low):
                for ink, thickness in ((PAPER, 4.5), (INK, 1.5)):
                    axes.hlines(y, known.low * scale, known.high * scale, color=ink, linewidth=thickness)
            end = max((part for part in (0.0, known.value, known.high) if isfinite(part)), default=0.0) * scale
            shown = plot.measure.shown(known.value)
            axes.annotate(shown, (end, y), (6, 0), textcoords="offset pixels", va="center", annotation_clip=False)
    for line in plot.references:
        known = estimate(line.value)
        if isfinite(known.value):
            shown = f"{line.name} {plot.measure.shown(known.value)}"
            axes.axvline(known.value * scale, color=MUTED, linewidth=1.4, linestyle="--", label=shown)
    names = [fill(name, max(12, int(width * 0.3 / CHARACTER))) for name in plot.categories]
    axes.set_yticks(range(len(names)), labels=names)
    axes.invert_yaxis()
    axes.axvline(0, color=MUTED, linewidth=1)
    axes.grid(axis="x")
    axes.margins(x=0.12)
    axes.set_xlabel(fill(plot.measure.name, int(width * 0.7 / CHARACTER)))
    if plot.measure.low is not None or plot.measure.high is not None:
        axes.set_xlim(_scaled(plot.measure.low, scale), _scaled(plot.measure.high, scale))


def _draw_traces(axes: Axes, plot: LinePlot | Curves, width: int) -> None:
    """Draw traces with their intervals over two axes; references and y = x are dashed."""
    scale = plot.measure.scale
    if isinstance(plot, Curves):
        traces, x_scale, x_name = plot.traces, plot.x.scale, plot.x.name
    else:
        ordered = any(isinstance(place, str) for place in plot.at)
        places = [float(at) if ordered else float(str(place)) for at, place in enumerate(plot.at)]
        traces = tuple(Trace(one.name, tuple(zip(places, one.values, strict=True))) for one in plot.series)
        x_scale, x_name = 1.0, plot.x
        labels = [fill(str(place), max(6, int(width / len(plot.at) / CHARACTER))) for place in plot.at]
        axes.set_xticks(places, labels=labels if ordered else [f"{place:,g}" for place in places])
    for at, trace in enumerate(traces):
        colour = PALETTE[at % len(PALETTE)]
        known = [(x * x_scale, estimate(value)) for x, value in trace.points]
        spans = [(x, one.low * scale, one.high * scale) for x, one in known if isfinite(one.low)]
        if spans and isinstance(plot, Curves) and trace.joined:
            xs, lows, highs = zip(*spans, strict=True)
            axes.fill_between(xs, lows, highs, color=colour, alpha=0.14, linewidth=0)
        elif spans:
            axes.vlines(*zip(*spans, strict=True), color=colour, alpha=0.6, linewidth=1.6)
        axes.plot(
            [x for x, _ in known],
            [one.value * scale for _, one in known],
            label=trace.name,
            color=colour,
            linewidth=2 if trace.joined else 0,
            marker=MARKERS[at % len(MARKERS)] if len(known) <= MOST_MARKERS else "",
        )
    for line in plot.references:
        one = estimate(line.value)
        if isfinite(one.value):
            axes.axhline(one.value * scale, color=MUTED, linewidth=1.4, linestyle="--", label=line.name)
    if isinstance(plot, Curves):
        axes.set_xlim(_scaled(plot.x.low, x_scale), _scaled(plot.x.high, x_scale))
    axes.set_ylim(_scaled(plot.measure.low, scale), _scaled(plot.measure.high, scale))
    axes.grid(axis="both" if isinstance(plot, Curves) else "y")
    axes.set_xlabel(fill(x_name, int(width * 0.7 / CHARACTER)))
    axes.set_ylabel(plot.measure.name)


def _scaled(end: float | None, scale: float) -> float | None:
    """Return the scaled end of an interval; None stays None."""
    return None if end is None else end * scale


def _for_page(written: str, plot: Plot, name: str) -> str:
    """Return matplotlib's SVG for an HTML page, with theme colours, the page's font, unique ids and a description."""
    from markupsafe import escape

    svg = written[written.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(?<=\.\d\d)\d+", "", svg)  # a hundredth of a pixel is enough
    svg = re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: VARIABLES.get(found[0].lower(), found[0]), svg)
    svg = re.sub(r"font: (?:(?:bold|\d{3}) )?([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"font-family:[^;\"]*;? ?", "", svg).replace("xlink:href", "href")
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    end = svg.index(">") + 1
    _, _, width, height = re.findall(r"[\d.]+", re.findall(r'viewBox="([^"]*)"', svg[:end])[0])
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    named = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    title = f'<title id="{name}-title">{escape(plot.title)}</title>'
    described = f'<desc id="{name}-desc">{escape(in_words(plot))}</desc>'
    return f"<svg {box} {named}>{title}{described}{svg[end:].strip()}"


def legible(part: Any) -> Any:
    """Return a plot, or a part of one, with every text on one line and without characters that HTML forbids."""
    if isinstance(part, str):
        return " ".join(readable(part).split())
    if isinstance(part, tuple):
        return tuple(map(legible, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{field.name: legible(getattr(part, field.name)) for field in fields(part)})
    return part


def readable(text: str) -> str:
    """Return the text without characters that HTML forbids: control characters, lone surrogates."""
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)

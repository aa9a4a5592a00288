"""Draws a `Plot` with matplotlib as an inline SVG element.

Text stays text and takes the page's font; colours are CSS variables with the light theme's values to fall back on, so
that one drawing serves light and dark pages; ids are unique to the drawing. The same plot gives the same element.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.drawing import open_figure
from preflight_rag.evaluation.intervals import Estimate
from preflight_rag.evaluation.plot_layout import (
    INK,
    LINE,
    MARKERS,
    MUTED,
    PALETTE,
    PAPER,
    RULE,
    TEXT,
    WIDE,
    Sheet,
    Ticks,
    clear_ticks,
    limits,
    plain,
    put_ticks,
    round_ticks,
    spread,
    text_width,
    widest,
    wrapped,
)
from preflight_rag.evaluation.plots import (
    Axis,
    Bars,
    Curves,
    Lines,
    Plot,
    Reference,
    Trace,
    Value,
    bounds,
    estimate,
    in_words,
    legible,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW, BAR, GAP = 24, 15, 14
"""Of bars, in pixels: distance, thickness, and what stands between groups."""
HEIGHT = 300
MOST_MARKERS = 30
FARTHEST_MOVED, FARTHEST_LED = 40, 90
"""Pixels down and across that the leader to a name may go."""
DODGE = 0.011
"""Share of the axis by which intervals at one place stand apart."""
DASHES = (0, (4, 3))
VARIABLES = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    RULE: f"var(--rule, {RULE})",
    PAPER: f"var(--page, {PAPER})",
    **{colour: f"var(--series-{at}, {colour})" for at, colour in enumerate(PALETTE, 1)},
}
RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plot",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT,
}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_FAMILY = re.compile(r"font-family:[^;]*;? ?")
_SHORTHAND = re.compile(r"font: (?:(bold|\d{3}) )?([\d.]+px) [^;]*")
_TARGET = re.compile(r"#([^)\s\"']+)")
_DECIMALS = re.compile(r"(\.\d\d)\d+")


def draw(plot: Plot, name: str, width: int = WIDE) -> Any:
    """The plot as an lxml element `svg`, without a namespace, as HTML takes it.

    Args:
        plot: What to draw.
        name: Put before every id; no two drawings of a page may share it.
        width: `WIDE`, with names beside the lines, or `NARROW`, with a key over them.

    Raises:
        UsageError: matplotlib is not installed.
    """
    figure = open_figure()
    from matplotlib import rc_context

    plot = legible(plot)
    written = io.BytesIO()
    with rc_context(RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        if isinstance(plot, Bars):
            _bars(plot, figure, width)
        else:
            _over_axes(plot, figure, width)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return _element(written.getvalue(), plot, name)


def _bars(plot: Bars, figure: Figure, width: int) -> None:
    """Horizontal bars, so that names have room; a head over each group where there are several series."""
    grouped = len(plot.series) > 1
    names = [series.name for series in plot.series] if grouped else list(plot.categories)
    left = min(widest(names), width * 0.36) + 12
    labels = [wrapped(name, left - 12) for name in names]
    values = [value for series in plot.series for value in series.values]
    right = width - widest(plot.measure.shown(estimate(value).value) for value in values) - 12
    top = LINE * len(plot.references) + 8
    rows, bottom = _rows(plot, labels, top)
    sheet = Sheet(figure, width, bottom + 48)
    axes = sheet.axes(left, top, right, bottom)
    low, high = limits(plot.measure, [0.0, *values, *(line.value for line in plot.references)])
    axes.set(xlim=(low, high), ylim=(bottom, top), yticks=[])
    put_ticks(axes.xaxis, round_ticks(low, high, (right - left) / 60))
    axes.grid(axis="x", color=RULE, linewidth=1)
    axes.axvline(0, color=MUTED, linewidth=1)
    for category, at, y in rows:
        if at is None:
            sheet.text(0, y, [plot.categories[category]], weight="bold")
            continue
        sheet.text(left - 10, y, labels[at if grouped else category], ha="right")
        _bar(axes, y, plot.series[at].values[category], plot.measure, at, hollow=plot.series[at].published)
    for at, line in enumerate(plot.references):
        _upright(sheet, axes, line, plot.measure, LINE * (at + 0.5))
    sheet.text((left + right) / 2, bottom + 38, [plot.measure.name], ha="center", color=MUTED)


def _rows(plot: Bars, labels: Sequence[Sequence[str]], top: float) -> tuple[list[tuple[int, int | None, float]], float]:
    """Category, series (None for the category's head) and height of each row, and where the last one ends."""
    rows: list[tuple[int, int | None, float]] = []
    grouped = len(plot.series) > 1
    y = top
    for category in range(len(plot.categories)):
        if grouped:
            y += GAP if category else 0
            rows.append((category, None, y + LINE / 2 + 2))
            y += LINE + 4
        for at in range(len(plot.series)):
            height = max(ROW, LINE * len(labels[at if grouped else category]) + 6)
            rows.append((category, at, y + height / 2))
            y += height
    return rows, y + 4


def _bar(axes: Any, y: float, value: Value, measure: Axis, at: int, *, hollow: bool) -> None:
    """A bar with its interval and its figure."""
    known, scale, colour = estimate(value), measure.scale, PALETTE[at % len(PALETTE)]
    if isfinite(known.value):
        face = "none" if hollow else colour
        axes.barh(y, known.value * scale, height=BAR, facecolor=face, edgecolor=colour, linewidth=1.5)
    if isfinite(known.low):
        for colour, thickness in ((PAPER, 4.5), (INK, 1.5)):
            axes.hlines(y, known.low * scale, known.high * scale, color=colour, linewidth=thickness)
    end = max([0.0, *bounds([value])]) * scale
    axes.annotate(
        measure.shown(known.value), (end, y), (6, 0), textcoords="offset pixels", va="center_baseline", color=INK
    )


def _upright(sheet: Sheet, axes: Any, line: Reference, measure: Axis, y: float) -> None:
    """A reference line across bars, named at its upper end."""
    known = estimate(line.value).value
    if not isfinite(known):
        return
    x, bottom = sheet.place(axes, known * measure.scale, axes.get_ylim()[0])
    sheet.line([x, x], [y - LINE / 2, bottom], color=MUTED, linewidth=1.4, linestyle=DASHES)
    label = f"{line.name} {measure.shown(known)}"
    after = x + 6 + text_width(label) < sheet.width
    sheet.text(x + (6 if after else -6), y, [label], ha="left" if after else "right", color=MUTED)


@dataclass(frozen=True)
class Track:
    """A trace or a reference as it is drawn: points scaled, with the style of its line, and the way of its intervals.

    `spans` is "band" or "whiskers": how intervals are shown. `across` is a reference's level line.
    """

    name: str
    points: tuple[tuple[float, Estimate], ...]
    style: dict[str, Any]
    spans: str = "whiskers"
    across: bool = False

    @property
    def end(self) -> tuple[float, float] | None:
        """The last point that is defined."""
        return next(((x, known.value) for x, known in reversed(self.points) if isfinite(known.value)), None)


def _over_axes(plot: Lines | Curves, figure: Figure, width: int) -> None:
    """Traces over two axes, named at their ends where there is room, else in a key over the plot."""
    direct = width == WIDE
    traces, x_low, x_high = _traces(plot)
    low, high = limits(plot.measure, [*_values(traces), *(line.value for line in plot.references)])
    tracks = list(_tracks(plot, traces, (x_low, x_high), (low, high)))
    keyed = [track for track in tracks if direct or not track.across]
    names = [wrapped(track.name, width * 0.24 if direct else width - 34) for track in keyed]
    y_ticks = round_ticks(low, high, 5)
    left = widest(y_ticks[1]) + 14
    right = width - (widest(line for lines in names for line in lines) + 36 if direct else 12)
    measure = wrapped(plot.measure.name, width)
    x_name = wrapped(plot.x.name if isinstance(plot, Curves) else plot.x, right - left)
    key = LINE * sum(map(len, names)) + 8
    top = (0 if direct else key) + LINE * len(measure) + 14
    bottom = top + (max(HEIGHT, key) if direct else HEIGHT * 0.75)
    x_ticks = clear_ticks(_x_ticks(plot, x_low, x_high, right - left), (right - left) / (x_high - x_low))
    under = bottom + 18 + LINE * max((label.count("\n") + 1 for label in x_ticks[1]), default=1)
    sheet = Sheet(figure, width, under + LINE * len(x_name))
    axes = sheet.axes(left, top, right, bottom)
    axes.set(xlim=(x_low, x_high), ylim=(low, high))
    put_ticks(axes.xaxis, x_ticks)
    put_ticks(axes.yaxis, y_ticks)
    axes.grid(axis="both" if isinstance(plot, Curves) else "y", color=RULE, linewidth=1)
    for track in tracks:
        _draw_track(axes, track)
    sheet.text(0, top - 14 - LINE * len(measure) / 2, measure, color=MUTED)
    sheet.text((left + right) / 2, under + LINE * len(x_name) / 2 - 4, x_name, ha="center", color=MUTED)
    if direct:
        _name_ends(sheet, axes, keyed, names)
        return
    _name_above(sheet, keyed, names)
    for track in tracks:
        if track.across and track.end:
            sheet.text(right, sheet.place(axes, *track.end)[1] - 9, [track.name], ha="right", color=MUTED)


def _traces(plot: Lines | Curves) -> tuple[Sequence[Trace], float, float]:
    """The traces with x scaled, and both ends of the x axis."""
    if isinstance(plot, Curves):
        low, high = limits(plot.x, [x for trace in plot.traces for x, _ in trace.points])
        scale = plot.x.scale
        return (
            [Trace(t.name, tuple((x * scale, value) for x, value in t.points), t.joined) for t in plot.traces],
            low,
            high,
        )
    ordered = any(isinstance(place, str) for place in plot.at)
    xs = [float(at) if ordered else float(str(place)) for at, place in enumerate(plot.at)]
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    pad = 0.3 if ordered else (high - low) * 0.04 or 0.5
    shift = (high - low + 2 * pad) * DODGE
    middle = (len(plot.series) - 1) / 2
    return (
        [
            Trace(series.name, tuple((x + (at - middle) * shift, v) for x, v in zip(xs, series.values, strict=True)))
            for at, series in enumerate(plot.series)
        ],
        low - pad,
        high + pad,
    )


def _values(traces: Sequence[Trace]) -> list[Value]:
    return [value for trace in traces for _, value in trace.points]


def _tracks(
    plot: Lines | Curves, traces: Sequence[Trace], xs: tuple[float, float], ys: tuple[float, float]
) -> Iterator[Track]:
    """The traces with a colour and a marker each, then the references and y = x, dashed."""
    scale = plot.measure.scale
    for at, trace in enumerate(traces):
        colour = PALETTE[at % len(PALETTE)]
        hollow = isinstance(plot, Lines) and plot.series[at].published
        style = {
            "color": colour,
            "linewidth": 2 if trace.joined else 0,
            "linestyle": DASHES if hollow else "-",
            "marker": MARKERS[at % len(MARKERS)] if len(trace.points) <= MOST_MARKERS else "",
            "markersize": 7,
            "markerfacecolor": "none" if hollow else colour,
        }
        spans = "band" if trace.joined and isinstance(plot, Curves) else "whiskers"
        yield Track(trace.name, tuple((x, _scaled(value, scale)) for x, value in trace.points), style, spans)
    dashed = {"color": MUTED, "linewidth": 1.4, "linestyle": DASHES}
    for line in plot.references:
        known = _scaled(line.value, scale)
        if isfinite(known.value):
            yield Track(line.name, ((xs[0], known), (xs[1], known)), dashed, "band", across=True)
    if isinstance(plot, Curves) and plot.identity:
        ends = (max(xs[0] / plot.x.scale, ys[0] / scale), min(xs[1] / plot.x.scale, ys[1] / scale))
        points = tuple((end * plot.x.scale, Estimate(end * scale, nan, nan)) for end in ends)
        yield Track(plot.identity, points, dashed)


def _scaled(value: Value, scale: float) -> Estimate:
    known = estimate(value)
    return Estimate(known.value * scale, known.low * scale, known.high * scale)


def _draw_track(axes: Any, track: Track) -> None:
    """A line with its intervals, a gap where a value is undefined."""
    spanned = [(x, known) for x, known in track.points if isfinite(known.low)]
    colour = track.style["color"]
    lows, highs = [known.low for _, known in spanned], [known.high for _, known in spanned]
    if spanned and track.spans == "band":
        axes.fill_between([x for x, _ in spanned], lows, highs, color=colour, alpha=0.14, linewidth=0)
    elif spanned:
        axes.vlines([x for x, _ in spanned], lows, highs, color=colour, alpha=0.6, linewidth=1.6, clip_on=False)
    axes.plot([x for x, _ in track.points], [known.value for _, known in track.points], clip_on=False, **track.style)


def _x_ticks(plot: Lines | Curves, low: float, high: float, width: float) -> Ticks:
    """Under each place of `Lines` its name or number; round numbers under `Curves`."""
    if isinstance(plot, Curves):
        return round_ticks(low, high, width / 60)
    if any(isinstance(place, str) for place in plot.at):
        room = width / len(plot.at) - 6
        return [float(at) for at in range(len(plot.at))], ["\n".join(wrapped(str(p), room)) for p in plot.at]
    return [float(place) for place in plot.at], [plain(float(place)) for place in plot.at]


def _name_ends(sheet: Sheet, axes: Any, tracks: Sequence[Track], names: Sequence[Sequence[str]]) -> None:
    """Each name to the right of where its line ends, with a leader, or with a piece of the line where one would cross.

    That is where lines end together, and where one ends far from the right side.
    """
    ended = [
        (track, lines, sheet.place(axes, *track.end)) for track, lines in zip(tracks, names, strict=True) if track.end
    ]
    right, bottom = sheet.place(axes, axes.get_xlim()[1], axes.get_ylim()[0])
    top = sheet.place(axes, 0, axes.get_ylim()[1])[1]
    middles = spread(
        [y for _, _, (_, y) in ended], [len(lines) * LINE + 2 for _, lines, _ in ended], top - LINE, bottom + LINE
    )
    moved = max((abs(middle - y) for (_, _, (_, y)), middle in zip(ended, middles, strict=True)), default=0.0)
    for (track, lines, (x, y)), middle in zip(ended, middles, strict=True):
        if moved > FARTHEST_MOVED or right - x > FARTHEST_LED:
            sheet.line([right + 4, right + 13, right + 22], [middle] * 3, **track.style, markevery=[1])
        else:
            sheet.line([x + 7, right + 22], [y, middle], color=track.style["color"], alpha=0.7, linewidth=1)
        sheet.text(right + 28, middle, lines)


def _name_above(sheet: Sheet, tracks: Sequence[Track], names: Sequence[Sequence[str]]) -> None:
    """A key: a piece of each line with its marker, and its name."""
    y = 0.0
    for track, lines in zip(tracks, names, strict=True):
        sheet.line([2, 13, 24], [y + LINE / 2] * 3, **track.style, markevery=[1])
        sheet.text(32, y + LINE * len(lines) / 2, lines)
        y += LINE * len(lines)


def _element(written: bytes, plot: Plot, name: str) -> Any:
    """The written file as an element for a page: theme colours, the page's font, own ids, title and description."""
    from lxml import etree

    root: Any = etree.fromstring(
        written, etree.XMLParser(remove_comments=True, remove_blank_text=True, no_network=True)
    )
    for unused in [*root.iter("{*}metadata"), *root.iter("{*}style")]:
        unused.getparent().remove(unused)
    values = [str(value) for node in root.iter() for value in node.attrib.values()]
    wanted = {target for value in values for target in _TARGET.findall(value)}
    for node in root.iter():
        node.tag = etree.QName(node).localname
        for key, value in list(node.attrib.items()):
            del node.attrib[key]
            if changed := _attribute(etree.QName(key).localname, value, wanted, name):
                node.set(etree.QName(key).localname, changed)
    etree.cleanup_namespaces(root)
    box = root.get("viewBox")
    root.attrib.clear()
    _, _, width, height = box.split()
    told = {"title": plot.title, "desc": in_words(plot)}
    for key, value in {"viewBox": box, "width": width, "height": height, "role": "img"}.items():
        root.set(key, value)
    root.set("aria-labelledby", " ".join(f"{name}-{tag}" for tag in told))
    for at, (tag, text) in enumerate(told.items()):
        node = etree.Element(tag, id=f"{name}-{tag}")
        node.text = text
        root.insert(at, node)
    return root


def _attribute(key: str, value: str, wanted: set[str], name: str) -> str:
    """An attribute as the page needs it; empty where it can go."""
    if key == "id":
        return f"{name}-{value}" if value in wanted else ""
    if key == "transform" and value.startswith("rotate(-0 "):
        return ""
    if key == "style":
        coloured = _COLOUR.sub(lambda found: VARIABLES.get(found[0].lower(), found[0]), value)
        sized = _SHORTHAND.sub(lambda f: f"font-size: {f[2]}" + (f"; font-weight: {f[1]}" if f[1] else ""), coloured)
        return _FAMILY.sub("", sized)
    if key in ("href", "clip-path"):
        return value.replace("#", f"#{name}-")
    return _DECIMALS.sub(r"\1", value.replace("\n", "")) if key != "viewBox" else value

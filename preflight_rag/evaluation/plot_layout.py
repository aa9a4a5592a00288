"""Where the parts of a plot stand, in pixels: a figure from the top left, text, limits, ticks, names side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.plots import Axis, Value, bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE, NARROW = 880, 344
"""Widths in CSS pixels: of a page for a desk or a talk, and of a telephone."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6a00", "#6f6f6f")
"""Okabe and Ito's colours, which readers with any colour vision tell apart; olive and grey for yellow and black."""
DARK_PALETTE = ("#56b4e9", "#ff8a4c", "#2fc79b", "#e3a1c6", "#f0b93a", "#8f9df5", "#d8cd5a", "#a9a9a9")
"""The same for a dark page."""
INK, MUTED, RULE, PAPER = "#010101", "#5c5c5c", "#dcdcdc", "#fefefe"
"""Of text, of what stands back, of the grid, of the page; the file would leave pure black out, as the default."""
MARKERS = "os^DvPX*"
TEXT, LINE, CHARACTER = 13, 17, 7.6
"""In pixels: size of the text, distance of its lines, mean width of a character."""
PAD = 0.06

Ticks = tuple[list[float], list[str]]
"""Places and labels."""


class Sheet:
    """A figure that is laid out in pixels from the top left corner."""

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self.figure, self.width, self.height = figure, width, height
        figure.set_layout_engine("none")
        figure.set_dpi(72)
        figure.set_size_inches(width / 72, height / 72)

    def axes(self, left: float, top: float, right: float, bottom: float) -> Any:
        """Axes with their sides there, without frame and tick marks."""
        axes = self.figure.add_axes(
            (left / self.width, 1 - bottom / self.height, (right - left) / self.width, (bottom - top) / self.height)
        )
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, pad=7, labelcolor=MUTED)
        axes.set_axisbelow(True)
        return axes

    def place(self, axes: Any, x: float, y: float) -> tuple[float, float]:
        """Where a point of the axes stands on the sheet."""
        across, up = axes.transData.transform((x, y))
        return float(across), self.height - float(up)

    def text(self, x: float, y: float, lines: Sequence[str], **style: Any) -> None:
        """Lines of text, their block's middle at y."""
        first = y - (len(lines) - 1) * LINE / 2
        for at, line in enumerate(lines):
            place = (x / self.width, 1 - (first + at * LINE) / self.height)
            self.figure.text(*place, line, **{"va": "center_baseline", "color": INK, **style})

    def line(self, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
        """A line through these points."""
        from matplotlib.lines import Line2D

        places = [x / self.width for x in xs], [1 - y / self.height for y in ys]
        self.figure.add_artist(Line2D(*places, transform=self.figure.transFigure, **style))


def text_width(text: str) -> float:
    """Pixels of a line in the widest font that pages take."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=TEXT), ismath=False)[0])


def widest(texts: Iterable[str]) -> float:
    """Pixels of the widest line; 0 without one."""
    return max(map(text_width, texts), default=0.0)


def wrapped(text: str, width: float) -> list[str]:
    """The text in lines of about that many pixels, at least one."""
    return [text] if text_width(text) <= width else wrap(text, max(6, int(width / CHARACTER)))


def limits(axis: Axis, values: Iterable[Value]) -> tuple[float, float]:
    """Both ends of an axis, scaled: around the values, and not below 0 nor above 100 % where no value is."""
    reached = [part * axis.scale for part in bounds(values)] or [0.0, axis.scale]
    least, most = min(reached), max(reached)
    pad = (most - least) * PAD or abs(most) * PAD or 1.0
    low = max(0.0, least - pad) if least >= 0 else least - pad
    high = min(100.0, most + pad) if axis.percent and most <= 100 else most + pad
    fixed_low = low if axis.low is None else axis.low * axis.scale
    fixed_high = high if axis.high is None else axis.high * axis.scale
    return fixed_low, max(fixed_high, fixed_low + 1e-9)


def round_ticks(low: float, high: float, most: float) -> Ticks:
    """At most about that many ticks at round numbers."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(nbins=max(2, int(most)), steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    slack = (high - low) * 1e-6
    places = [float(place) for place in found if low - slack <= place <= high + slack]
    return places, [plain(place) for place in places]


def plain(value: float) -> str:
    """A tick's number without zeros at its end: 0.25, 1,024."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "\N{MINUS SIGN}")


def clear_ticks(ticks: Ticks, per_unit: float) -> Ticks:
    """Those ticks whose labels do not touch the one before, at that many pixels a unit."""
    kept: list[tuple[float, str]] = []
    for place, label in zip(*ticks, strict=True):
        if kept:
            room = (widest(label.split("\n")) + widest(kept[-1][1].split("\n"))) / 2 + 8
            if (place - kept[-1][0]) * per_unit < room:
                continue
        kept.append((place, label))
    return [place for place, _ in kept], [label for _, label in kept]


def put_ticks(axis: Any, ticks: Ticks) -> None:
    """Just these ticks on a matplotlib axis."""
    axis.set_ticks(ticks[0], labels=ticks[1])


def spread(middles: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Middles of blocks beside what they name, moved as little as keeps them apart and, where they fit, inside."""
    order = sorted(range(len(middles)), key=lambda at: middles[at])
    placed = list(middles)
    edge = top
    for at in order:
        placed[at] = max(middles[at], edge + heights[at] / 2)
        edge = placed[at] + heights[at] / 2
    edge = max(bottom, top + sum(heights))
    for at in reversed(order):
        placed[at] = min(placed[at], edge - heights[at] / 2)
        edge = placed[at] - heights[at] / 2
    return placed

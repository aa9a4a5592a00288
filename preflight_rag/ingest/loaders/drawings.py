"""Read what Office documents draw beside their text: the figures of charts and the words of diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.fields import one_line, whole_number
from preflight_rag.ingest.loaders.xml import local
from preflight_rag.text.tables import table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MAXIMUM_POINTS = 10_000
"""Maximum number of points that are read of a series; a guess at what no chart has."""


def chart_lines(chart: _Element) -> list[str]:
    """Return the stored figures of a chart as the lines of a table: a row for each category, a column for each series.

    Return an empty list if the chart stores no figures.
    """
    title = chart.find(f"{_CHART}chart/{_CHART}title")
    caption = one_line(" ".join(text.text or "" for text in title.iter(f"{_MAIN}t"))) if title is not None else ""
    names: list[str] = []
    rows: dict[str, dict[int, str]] = {}  # the value of each series, by category
    for column, series in enumerate(chart.iter(f"{_CHART}ser")):
        series_names = [name for _, name in _stored_points(series.find(f"{_CHART}tx"))]
        names.append(series_names[0] if series_names else "")
        categories = dict(_stored_points(_first_child(series, "cat", "xVal")))
        for index, value in _stored_points(_first_child(series, "val", "yVal")):
            rows.setdefault(categories.get(index, str(index + 1)), {})[column] = value
    if not rows:
        return []
    grid = [["", *(name or caption or "value" for name in names)]]
    for category, row in rows.items():
        grid.append([category, *(row.get(column, "") for column in range(len(names)))])
    return table_lines(grid, caption=caption, header_rows=1, headings=False)


def chart_titles(chart: _Element) -> list[str]:
    """Return the titles of a chart and of its axes that are not empty."""
    titles = (_text_of(title) for title in chart.iter(f"{_CHART}title"))
    return [title for title in titles if title]


def _text_of(element: _Element) -> str:
    """Return the text of a drawn element on one line."""
    return one_line("".join(text.text or "" for text in element.iter(f"{_MAIN}t")))


def _first_child(series: _Element, *names: str) -> _Element | None:
    """Return the child element of a series with the first name that occurs; None if none does."""
    return next((child for name in names if (child := series.find(f"{_CHART}{name}")) is not None), None)


def _stored_points(element: _Element | None) -> list[tuple[int, str]]:
    """Return `(index, text)` of the stored points inside an element; an empty list for None."""
    points: list[tuple[int, str]] = []
    for point in element.iter(f"{_CHART}pt") if element is not None else ():
        index, value = whole_number(str(point.get("idx", "")), -1), point.find(f"{_CHART}v")
        if index >= 0 and value is not None and value.text and len(points) < _MAXIMUM_POINTS:
            points.append((index, _round_figure(one_line(value.text))))
    return points


def _round_figure(text: str) -> str:
    """Return a figure with at most ten digits, "0.3" for "0.30000000000000004"; other texts unchanged."""
    try:
        return f"{float(text):.10g}" if "." in text else text
    except ValueError:
        return text


def diagram_text(diagram: _Element) -> str:
    """Return the texts of a diagram (SmartArt), in the order of its points, separated by semicolons."""
    texts = (_text_of(point) for point in diagram.iter() if local(point) == "pt")
    return "; ".join(text for text in texts if text)

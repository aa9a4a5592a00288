"""What Office documents draw beside their text: the figures of charts and the words of diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.ingest.loaders.fields import one_line, whole_number
from preflight_rag.ingest.loaders.xml import local
from preflight_rag.text.tables import table_lines

if TYPE_CHECKING:
    from lxml.etree import _Element

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MOST_POINTS = 10_000
"""Of a chart; a guess at what no chart has."""


def chart_lines(chart: _Element) -> list[str]:
    """Return the stored figures of a chart as a table, with a row for each category."""
    title = chart.find(f"{_CHART}chart/{_CHART}title")
    caption = one_line(" ".join(each.text or "" for each in title.iter(f"{_MAIN}t"))) if title is not None else ""
    names: list[str] = []
    rows: dict[str, dict[int, str]] = {}
    for number, series in enumerate(chart.iter(f"{_CHART}ser")):
        names.append(next(iter(_points(series.find(f"{_CHART}tx"))), (0, ""))[1])
        kinds = dict(_points(_first(series, "cat", "xVal")))
        for place, value in _points(_first(series, "val", "yVal")):
            rows.setdefault(kinds.get(place, str(place + 1)), {})[number] = value
    if not rows:
        return []
    named = [name or caption or "value" for name in names]
    grid = [["", *named]]
    for kind, row in rows.items():
        grid.append([kind, *(row.get(number, "") for number in range(len(names)))])
    return table_lines(grid, caption=caption, header_rows=1, headings=False)


def chart_titles(chart: _Element) -> list[str]:
    """Return the title of a chart and of its axes, of one whose figures stand in cells."""
    titles = (
        one_line("".join(each.text or "" for each in title.iter(f"{_MAIN}t"))) for title in chart.iter(f"{_CHART}title")
    )
    return [title for title in titles if title]


def _first(series: _Element, *names: str) -> _Element | None:
    """Return a series' first child element with one of some names."""
    return next((found for name in names if (found := series.find(f"{_CHART}{name}")) is not None), None)


def _points(element: _Element | None) -> list[tuple[int, str]]:
    """Return `(place, text)` of the stored points inside an element."""
    found: list[tuple[int, str]] = []
    for point in element.iter(f"{_CHART}pt") if element is not None else ():
        place, value = whole_number(str(point.get("idx", "")), -1), point.find(f"{_CHART}v")
        if place >= 0 and value is not None and value.text and len(found) < _MOST_POINTS:
            found.append((place, _figure(one_line(value.text))))
    return found


def _figure(text: str) -> str:
    """Return a stored figure without the digits that binary fractions add."""
    try:
        return f"{float(text):.10g}" if "." in text else text
    except ValueError:
        return text


def diagram_text(diagram: _Element) -> str:
    """Return the words of a diagram (SmartArt), in the order of its points."""
    points = []
    for point in diagram.iter():
        if local(point) == "pt":
            words = one_line("".join(each.text or "" for each in point.iter(f"{_MAIN}t")))
            points += [words] if words else []
    return "; ".join(points)

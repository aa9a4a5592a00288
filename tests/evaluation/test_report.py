"""The page of a run: its plots, that it stands on its own, and that nothing from data becomes markup."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from math import nan
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from typer.testing import CliRunner

from evaluation.intervals import Estimate
from evaluation.plots import (
    NARROW,
    WIDE,
    BarPlot,
    Curves,
    LinePlot,
    Plot,
    PlotAxis,
    PlotSeries,
    Reference,
    Trace,
    draw,
    in_words,
    recorded,
)
from evaluation.report import Report, Table, manifest, page, write
from evaluation.runs import ExperimentRun
from preflight_rag.cli import app

HOSTILE = '<script>alert("x")</script><img src=http://example.org/x.png> $\\frac{1$ \x00 \ud800 问'
SHARE = PlotAxis("accuracy", percent=True)
ARMS = (
    PlotSeries("RAG", (Estimate(0.8, 0.75, 0.85), Estimate(0.5, 0.45, 0.55))),
    PlotSeries("paper", (0.7, nan)),
)
PLOTS: dict[str, Plot] = {
    "bars": BarPlot(
        "By arm", SHARE, ("8 passages", "16 passages"), ARMS, (Reference("oracle", 0.9),), "95 %, Wilson's."
    ),
    "one series": BarPlot("By arm", PlotAxis("points"), ("a", "b"), (PlotSeries("gain", (-1.5, 2.0)),)),
    "numeric": LinePlot("By position", "position", (0.0, 100.0), SHARE, ARMS, (Reference("closed book", 0.4),)),
    "ordered": LinePlot("By budget", "budget (tokens)", ("256", "512"), SHARE, ARMS),
    "curve": Curves(
        "Risk", PlotAxis("coverage"), SHARE, (Trace("reader", tuple((x / 99, x / 200) for x in range(100))),)
    ),
    "scatter": Curves("Bins", SHARE, SHARE, (Trace("rule", ((0.1, 0.2), (0.9, 0.7)), joined=False),)),
    "hostile": BarPlot(
        HOSTILE, PlotAxis(HOSTILE), (HOSTILE,), (PlotSeries(HOSTILE, (1.0,)), PlotSeries("b", (nan,))), note=HOSTILE
    ),
    "nothing defined": LinePlot("None", "x", (1.0,), SHARE, (PlotSeries("a", (nan,)),), (Reference("r", nan),)),
    "empty": Curves("None", SHARE, SHARE, ()),
}


class Seen(HTMLParser):
    """Tags, attributes, ids and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[Any]:
        return [value for key, value in self.attributes if key == name]


def a_report(*plots: Plot, dataset: str = "Small", cell: str = "0.5 [0.4, 0.6]", note: str = "") -> Report:
    table = Table("Accuracy", ("arm", "accuracy", "reason"), (("RAG", cell, "words"),), note)
    return Report("retrieval", dataset, "4 questions.", (table,), ({"id": "q"},), {}, {"sha256": {"f": "ab"}}, plots)


def page_of(*reports: Report) -> str:
    return page(reports, manifest(reports, ExperimentRun(limit=5), ["preflight", "eval", "retrieval"]))


def parsed(svg: str) -> etree._Element:
    return etree.fromstring(svg)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_each_kind_is_drawn_with_text_as_text(plot: Plot, width: int) -> None:
    svg = parsed(draw(plot, "p", width))
    assert (svg.tag, svg.get("role"), float(svg.get("width"))) == ("svg", "img", width)
    assert svg.get("aria-labelledby") == "p-title p-desc"
    assert svg.find("desc").text == " ".join(svg.find("desc").text.split())
    styles = " ".join(node.get("style", "") for node in svg.iter())
    assert "var(--" in styles
    assert "font-family" not in styles
    assert svg.findall(".//text")


def test_a_plot_names_its_series_axes_and_references() -> None:
    shown = {node.text for node in parsed(draw(PLOTS["numeric"], "p")).iter("text")}
    assert {"RAG", "paper", "closed book", "position", "accuracy (%)", "0", "100"} <= shown


def test_a_plot_in_words() -> None:
    assert in_words(PLOTS["bars"]) == (
        "Bars of accuracy (%). RAG: 8 passages 80.0 [75.0, 85.0], 16 passages 50.0 [45.0, 55.0]. "
        "paper: 8 passages 70.0, 16 passages –. oracle: 90.0."
    )
    assert in_words(PLOTS["curve"]).count(",") == 11


def test_a_page_stands_on_its_own() -> None:
    text = page_of(a_report(*PLOTS.values()))
    seen = Seen(text)
    assert not {"script", "link", "img", "iframe", "object", "metadata"} & set(seen.tags)
    assert seen.tags.count("svg") == 2 * len(PLOTS)
    assert seen.tags.count("style") == 1
    assert not [value for _, value in seen.attributes if value and "://" in value]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in seen.values("content")
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


def test_ids_are_unique_and_every_link_has_its_target() -> None:
    text = page_of(a_report(PLOTS["numeric"]), a_report(PLOTS["numeric"], PLOTS["scatter"], dataset="Other"))
    seen = Seen(text)
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    targets = {value.removeprefix("url(").removeprefix("#").removesuffix(")") for value in seen.values("href")}
    targets |= {value[5:-1] for value in seen.values("clip-path")}
    assert targets <= set(ids)
    assert {"report-1", "report-2"} <= targets


def test_what_comes_from_data_is_text() -> None:
    seen = Seen(page_of(a_report(PLOTS["hostile"], dataset=HOSTILE, cell=HOSTILE, note=HOSTILE)))
    assert not {"script", "img"} & set(seen.tags)
    assert seen.text.count('<script>alert("x")</script>') >= 4
    assert "\x00" not in seen.text


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write([a_report(PLOTS["bars"], PLOTS["scatter"])], tmp_path / name, ExperimentRun(), ["preflight", "eval"])
    pages = [(tmp_path / name / "report.html").read_bytes() for name in ("a", "b")]
    assert pages[0] == pages[1]


def test_figures_and_intervals_of_a_table_stand_apart() -> None:
    text = page_of(a_report())
    assert '<td>0.5<span class="interval"> [0.4, 0.6]</span></td>' in text
    assert '<td class="words">words</td>' in text


def test_several_reports_get_contents() -> None:
    assert "nav" not in Seen(page_of(a_report())).tags
    assert "nav" in Seen(page_of(a_report(), a_report(dataset="Other"))).tags


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib", "statsmodels"])
def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    result = CliRunner().invoke(app, ["eval", "retrieval", "--data", "nowhere"])
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert f"packages that are not installed: {missing}. pip install 'preflight-rag[eval]'" in line
    assert CliRunner().invoke(app, ["eval", "list"]).exit_code == 0


def test_values_must_fit_their_places() -> None:
    with pytest.raises(ValueError, match="'a' has 1 values for 2 places"):
        BarPlot("t", SHARE, ("x", "y"), (PlotSeries("a", (0.5,)),))


def test_recorded_figures_are_estimates_again() -> None:
    assert recorded(Estimate(0.5, 0.4, 0.6).as_json()) == Estimate(0.5, 0.4, 0.6)
    assert recorded(Estimate(nan, nan, nan).as_json()).value != 0

"""The page of a run: plots and tables that stand on their own, without script, network or other files.

The page is a tree of lxml elements, so that whatever comes from data is text and never markup. It shows what the
manifest holds but for the date and the figures: the same reports with the same command, settings, versions and counts
of replies give the same bytes, whenever they are written. Colours follow the reader's light or dark theme; print is
light.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.plot_layout import DARK_PALETTE, NARROW, PALETTE, WIDE
from preflight_rag.evaluation.plots import Plot, readable
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.evaluation.report import Report, Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
NOT_SHOWN = frozenset({"date", "reports", "command"})
FACTS = {"part": "Part", "limit": "Limit", "seed": "Seed", "model": "Model"}
INTERVAL = re.compile(r"^(.+?)( \[[^\[\]]+\])$")
NUMBER = re.compile(r"^[-+−–]?[\d.,]*( ?%)?( \[[^\[\]]+\])?$")
STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #16191d; --muted: #5c6370; --rule: #dfe3e8;
  --raised: #f6f7f9; --accent: #0072b2; LIGHT }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e8eaed; --muted: #a3abb6;
  --rule: #31373f; --raised: #1d2127; --accent: #7cc4f0; DARK } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.page { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
.eyebrow { margin: 0; color: var(--muted); font-size: .8125rem; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: .25rem 0 .5rem; font-size: 2.25rem; line-height: 1.15; letter-spacing: -.02em; }
h2 { margin: 0 0 .25rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; }
a { color: var(--accent); }
.lead { margin: 0; max-width: 42rem; color: var(--muted); font-size: 1.0625rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1.25rem 0 0; }
.facts div { min-width: 4rem; }
.facts dt { color: var(--muted); font-size: .8125rem; }
.facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
nav { margin-top: 2rem; padding: 1rem 1.25rem; border-radius: .5rem; background: var(--raised); }
nav p { margin: 0 0 .25rem; font-weight: 600; }
nav ol { margin: 0; padding-left: 1.25rem; }
section { margin-top: 3rem; padding-top: 1.5rem; border-top: 1px solid var(--rule); }
figure { margin: 2rem 0 0; }
figcaption, .note { max-width: 46rem; color: var(--muted); font-size: .875rem; }
figcaption { margin-bottom: .75rem; }
figcaption b, caption b { color: var(--ink); font-size: 1rem; font-weight: 600; }
.note { margin: .5rem 0 0; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; stroke-linejoin: round; }
.narrow { display: none; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { padding-bottom: .5rem; text-align: left; }
caption b { position: sticky; left: 0; display: inline-block; max-width: calc(100vw - 2.5rem); }
th, td { padding: .375rem .75rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .words { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; padding-left: 0; background: var(--page);
  white-space: normal; min-width: 11rem; max-width: 18rem; font-weight: inherit; }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; white-space: normal; }
tbody tr:hover > * { background: var(--raised); }
.interval { color: var(--muted); font-size: .8125rem; }
pre { margin: .5rem 0 0; padding: .75rem 1rem; border-radius: .5rem; background: var(--raised);
  font: .8125rem/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
details { margin-top: 1rem; }
summary { cursor: pointer; font-weight: 600; }
details table { margin-top: .5rem; width: 100%; }
details th, details td { text-align: left; white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
details td { font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; font-size: .8125rem; }
@media screen and (max-width: 50rem) {
  .page { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.75rem; }
  h2 { font-size: 1.25rem; }
  .wide { display: none; }
  .narrow { display: block; max-width: 30rem; width: 100%; }
  th:first-child, td:first-child { min-width: 7rem; max-width: 9rem; }
}
@page { margin: 15mm; }
@media print {
  .page { max-width: none; padding: 0; }
  body { font-size: 10pt; }
  figure, tr, pre { break-inside: avoid; }
  h2, figcaption, caption { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: 2pt 4pt; }
  thead { display: table-header-group; }
  th:first-child, td:first-child { position: static; }
}
"""


def page(reports: Sequence[Report], manifest: Mapping[str, Any]) -> str:
    """The whole page.

    Args:
        reports: What was found, in the order of the page.
        manifest: As `report.manifest` gives it, for how the run was made.
    """
    from lxml import html
    from lxml.builder import E

    title = _title(reports)
    head = E.head(
        E.meta(charset="utf-8"),
        E.meta({"http-equiv": "Content-Security-Policy", "content": POLICY}),
        E.meta(name="viewport", content="width=device-width, initial-scale=1"),
        E.meta(name="color-scheme", content="light dark"),
        E.title(f"{title} – Preflight RAG"),
        E.style(_style()),
    )
    body = E.div(
        {"class": "page"},
        E.header(E.p("Preflight RAG evaluation", {"class": "eyebrow"}), E.h1(title), *_lead(reports), _facts(manifest)),
        *_contents(reports),
        E.main(*_sections(reports)),
        _again(manifest, reports),
    )
    document = E.html({"lang": "en"}, head, E.body(body))
    return f"{html.tostring(document, doctype='<!DOCTYPE html>', encoding='unicode')}\n"


def _style() -> str:
    light = " ".join(f"--series-{at}: {colour};" for at, colour in enumerate(PALETTE, 1))
    dark = " ".join(f"--series-{at}: {colour};" for at, colour in enumerate(DARK_PALETTE, 1))
    return STYLE.replace("LIGHT", light).replace("DARK", dark)


def _title(reports: Sequence[Report]) -> str:
    return readable(", ".join(dict.fromkeys(report.experiment for report in reports)))


def _lead(reports: Sequence[Report]) -> Iterator[Any]:
    """What the experiments measure, as the command line's help has it."""
    from lxml.builder import E

    from preflight_rag.evaluation.experiments import EXPERIMENTS

    for name in dict.fromkeys(report.experiment for report in reports):
        if name in EXPERIMENTS:
            summary = EXPERIMENTS[name].summary
            yield E.p(f"{summary[0].upper()}{summary[1:]}.", {"class": "lead"})


def _facts(manifest: Mapping[str, Any]) -> Any:
    """Which questions were asked, of which model."""
    from lxml.builder import E

    shown = {name: manifest[key] for key, name in FACTS.items() if key in manifest}
    return E.dl(
        {"class": "facts"},
        *(E.div(E.dt(name), E.dd("none" if value is None else _line(value))) for name, value in shown.items()),
    )


def _contents(reports: Sequence[Report]) -> Iterator[Any]:
    """Links to the reports, where there are several."""
    from lxml.builder import E

    if len(reports) > 1:
        links = (E.li(E.a(_heading(report, reports), href=f"#report-{at}")) for at, report in enumerate(reports, 1))
        yield E.nav({"aria-label": "Contents"}, E.p("Contents"), E.ol(*links))


def _heading(report: Report, reports: Sequence[Report]) -> str:
    """The data set, with the experiment where there are several."""
    several = len({other.experiment for other in reports}) > 1
    return readable(f"{report.experiment}: {report.dataset}" if several else report.dataset)


def _sections(reports: Sequence[Report]) -> Iterator[Any]:
    """Each report's plots, then its tables, numbered through the page."""
    from lxml.builder import E

    figures = tables = 0
    for at, report in enumerate(reports, 1):
        section = E.section(
            {"id": f"report-{at}"}, E.h2(_heading(report, reports)), E.p(readable(report.about), {"class": "lead"})
        )
        section.extend(_figures(report.plots, figures))
        for number, table in enumerate(report.tables, tables + 1):
            section.append(_table(table, number))
        figures, tables = figures + len(report.plots), tables + len(report.tables)
        yield section


def _figures(plots: Sequence[Plot], before: int) -> list[Any]:
    """Each plot for wide and for narrow pages under its caption, or one line on how to get them."""
    from lxml.builder import E

    from preflight_rag.evaluation.plot_svg import draw

    drawn = []
    for number, plot in enumerate(plots, before + 1):
        try:
            wide, narrow = (draw(plot, f"figure-{number}-{width}", width) for width in (WIDE, NARROW))
        except UsageError as error:
            what = "1 plot is" if len(plots) == 1 else f"{len(plots)} plots are"
            return [E.p(f"{what} left out: {error.message}. {error.help}", {"class": "note"})]
        wide.set("class", "wide")
        narrow.set("class", "narrow")
        caption = E.figcaption(E.b(f"Figure {number}. {readable(plot.title)}"))
        if plot.note:
            caption.append(E.br())
            caption[-1].tail = readable(plot.note)
        drawn.append(E.figure({"id": f"figure-{number}"}, caption, wide, narrow))
    return drawn


def _table(table: Table, number: int) -> Any:
    """A table that scrolls sideways in itself where the page is too narrow, and its note."""
    from lxml.builder import E

    of_words = {
        at for at in range(len(table.columns)) if not all(NUMBER.match(row[at]) for row in table.rows if at < len(row))
    }
    kinds = [{"class": "words"} if at in of_words else {} for at in range(len(table.columns))]
    head = E.tr(*(E.th({"scope": "col", **kind}, readable(c)) for c, kind in zip(table.columns, kinds, strict=True)))
    rows = [
        E.tr(
            E.th({"scope": "row"}, readable(row[0])),
            *(_cell(cell, kind) for cell, kind in zip(row[1:], kinds[1:], strict=False)),
        )
        for row in table.rows
    ]
    caption = E.caption(E.b(f"Table {number}. {readable(table.title)}"))
    label = {"role": "region", "tabindex": "0", "aria-label": f"Table {number}", "class": "scroll"}
    figure = E.figure({"id": f"table-{number}"}, E.div(label, E.table(caption, E.thead(head), E.tbody(*rows))))
    if table.note:
        figure.append(E.p(readable(table.note), {"class": "note"}))
    return figure


def _cell(text: str, kind: dict[str, str]) -> Any:
    """A cell, its interval less loud than its figure."""
    from lxml.builder import E

    split = INTERVAL.match(text) if not kind else None
    if split is None:
        return E.td(kind, readable(text))
    return E.td(readable(split[1]), E.span({"class": "interval"}, readable(split[2])))


def _again(manifest: Mapping[str, Any], reports: Sequence[Report]) -> Any:
    """The command, and folded away what the numbers depend on."""
    from lxml.builder import E

    rows = sum(len(report.rows) for report in reports)
    files = f"results.jsonl holds {rows:,} rows, one a case; manifest.json holds the date and all figures unrounded."
    section = E.section(
        {"id": "run"},
        E.h2("Run it again"),
        E.pre(readable(str(manifest["command"]))),
        E.p(files, {"class": "note"}),
    )
    general = {key: value for key, value in manifest.items() if key not in NOT_SHOWN}
    section.append(_folded("Versions and settings", general))
    for report, given in zip(reports, manifest["reports"], strict=True):
        inputs = {key: value for key, value in given.items() if key not in ("experiment", "dataset", "figures")}
        if inputs:
            section.append(_folded(f"Data, checksums and settings: {_heading(report, reports)}", inputs))
    return section


def _folded(summary: str, values: Mapping[str, Any]) -> Any:
    """Named values behind a summary."""
    from lxml.builder import E

    rows = (E.tr(E.th({"scope": "row"}, name), E.td(value)) for name, value in _flat(values))
    return E.details(E.summary(summary), E.table(E.tbody(*rows)))


def _flat(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as rows: "library: documents", "24,837"."""
    for key, value in values.items():
        name = f"{under}: {key}" if under else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            yield readable(name.replace("_", " ")), "none" if value is None else _line(value)


def _line(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_line, value))
    return readable(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))

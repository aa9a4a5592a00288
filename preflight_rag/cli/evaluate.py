"""`eval`: the experiments."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..evaluation.experiments import EXPERIMENTS, Progress
from .main import EmbedderOption, app, command

if TYPE_CHECKING:
    from ..evaluation.report import Report

EXPERIMENT_HELP = "; ".join(f"{name}: {entry.summary}" for name, entry in EXPERIMENTS.items())


@app.command("eval", epilog="Example: preflight eval retrieval --data data --dataset scifact --out results")
@command
def evaluate(
    experiment: Annotated[str, typer.Argument(help=f"What to measure. {EXPERIMENT_HELP}.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PREFLIGHT_DATA", help="The folder that holds a folder of each data set."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            help="bioasq, scifact, biomix-bioasq, biomix-scifact, nfcorpus, cranfield, cisi, medquad, or the name of a "
            "folder in BEIR's form; for splitting, diversity and summaries also covidqa, evidence_inference, qmsum, "
            "financebench, mediqa2021_mas; for reading nq_open_oracle, xquad_en, covidqa, ramdocs, clapnq, bioasq, "
            "pubmedqa, scifact; for answering biomix-bioasq, ramdocs. Repeat. Without it: bioasq, or for the last two "
            "all that are named here.",
        ),
    ] = None,
    part: Annotated[str, typer.Option("--part", help="Which questions: test, development or all.")] = "test",
    limit: Annotated[int | None, typer.Option("--limit", help="Take this many questions, a fixed sample.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write table.md, results.jsonl and manifest.json here.")
    ] = None,
    library_cache: Annotated[
        Path | None,
        typer.Option(
            "--library-cache", help="Where the collections' libraries are kept. Without it: the user's cache."
        ),
    ] = None,
    embedder: EmbedderOption = None,
    extractive_reader: Annotated[
        str,
        typer.Option(
            "--extractive-reader",
            help="What reading and answering measure: default, a SQuAD-v2 model of the Hub, or an .onnx file.",
        ),
    ] = "default",
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 0,
) -> None:
    """Run an experiment over data sets with known answers and report the numbers."""
    from ..evaluation.experiments import Run, run

    with _progress() as progress:
        settings = Run(
            part=part,
            limit=limit,
            seed=seed,
            embedder=embedder,
            library_cache=library_cache,
            extractive_reader=extractive_reader,
            progress=progress,
        )
        reports = run(experiment, data, dataset or [], settings)
    if out is not None:
        from ..evaluation.report import write

        write(reports, out, settings, command=["preflight", *sys.argv[1:]])
        typer.echo(f"table.md, results.jsonl and manifest.json are in {out}", err=True)
    _show(reports)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr for each stage, shown only where stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done)

        yield advance


def _show(reports: list[Report]) -> None:
    """The tables: drawn in a terminal, Markdown elsewhere."""
    from rich.console import Console

    from ..evaluation.report import drawn, markdown

    console = Console()
    if not console.is_terminal:
        typer.echo(markdown(reports))
        return
    for item in drawn(reports):
        console.print(item)

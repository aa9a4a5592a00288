"""`eval`: the experiments; `eval list`: which there are; `eval show`: one case of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from preflight_rag.cli.experiments import list_experiments
from preflight_rag.cli.main import EmbedderOption, app, command
from preflight_rag.cli.show_case import show_case
from preflight_rag.evaluation.experiments import EXPERIMENTS
from preflight_rag.evaluation.harness.budget import Budget, Price
from preflight_rag.evaluation.runs import Progress
from preflight_rag.state.errors import BudgetUsedUp

if TYPE_CHECKING:
    from preflight_rag.evaluation.report import Report
    from preflight_rag.evaluation.runs import Run

FILES = "table.md, results.jsonl, report.html and manifest.json"


class Experiments(TyperGroup):
    """`eval EXPERIMENT` runs the group itself, unless the experiment's place holds the name of a command."""

    allow_interspersed_args = True

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Hand a command's arguments to it before an experiment is read from them."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


evaluation = typer.Typer(cls=Experiments, invoke_without_command=True, subcommand_metavar="")
app.add_typer(evaluation, name="eval")
evaluation.command("show", epilog="Example: preflight eval show results 54c12fd1f693c3b16b000001")(command(show_case))
evaluation.command("list", epilog="Example: preflight eval list")(command(list_experiments))

ExperimentArgument = Annotated[
    str | None, typer.Argument(help="What to measure, as `preflight eval list` names it. Without it: that list.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", envvar="PREFLIGHT_DATA", help="The folder that holds a folder of each data set."),
]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        help="A data set of the list, or one's own; repeat. Without it, the experiment's usual ones.",
    ),
]
PartOption = Annotated[str, typer.Option("--part", help="Which questions: test, development or all.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Take this many questions, a fixed sample.")]
DocumentsOption = Annotated[
    int | None,
    typer.Option(
        "--documents",
        min=1,
        help="Search only this many documents of a collection: those that answer, and a sample of the others.",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", help=f"Write {FILES} here.")]
LibraryCacheOption = Annotated[
    Path | None,
    typer.Option("--library-cache", help="Where the collections' libraries are kept. Without it: the user's cache."),
]
ExtractiveOption = Annotated[
    str,
    typer.Option(
        "--extractive-reader",
        help="What reads without a language model: default, a SQuAD-v2 model of the Hub, or an .onnx file.",
    ),
]
RerankerOption = Annotated[
    list[str] | None,
    typer.Option("--reranker", help="For pairs: a reranker, as ask takes it; repeat. Without it: those built in."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of every random number.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="provider:name, as in openai:gpt-4.1-mini, or offline (or PREFLIGHT_MODEL); simulated is a stand-in with "
        "a known positional bias, to try an experiment out.",
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", min=1, help="Most cases put to the model at a time.", show_default=True)
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", help="Most USD to spend on the model; needs --price.")
]
MaxCallsOption = Annotated[int | None, typer.Option("--max-calls", help="Most calls of the model.")]
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN/OUT", help="The model's price, USD per million tokens read and written, as in 0.15/0.60."
    ),
]
ReplyCacheOption = Annotated[
    Path | None,
    typer.Option(
        "--reply-cache", help="The file that keeps the model's replies: none is paid for twice. Without it: the user's."
    ),
]


@evaluation.callback(epilog="Example: preflight eval retrieval --data data --dataset scifact --out results")
@command
def evaluate(
    experiment: ExperimentArgument = None,
    data: DataOption = None,
    dataset: DatasetOption = None,
    part: PartOption = "test",
    limit: LimitOption = None,
    documents: DocumentsOption = None,
    out: OutOption = None,
    library_cache: LibraryCacheOption = None,
    embedder: EmbedderOption = None,
    reranker: RerankerOption = None,
    extractive_reader: ExtractiveOption = "default",
    seed: SeedOption = 0,
    model: ModelOption = None,
    concurrency: ConcurrencyOption = 16,
    max_cost: MaxCostOption = None,
    max_calls: MaxCallsOption = None,
    price: PriceOption = None,
    reply_cache: ReplyCacheOption = None,
) -> None:
    """Run an experiment over data sets with known answers and report the numbers."""
    from preflight_rag.evaluation.runs import Run

    if experiment is None:
        list_experiments()
        return
    budget = Budget(max_cost, max_calls, Price.parse(price) if price else None)
    with _progress(budget) as (progress, warn):
        settings = Run(
            part=part,
            limit=limit,
            documents=documents,
            seed=seed,
            embedder=embedder,
            rerankers=tuple(reranker or ()),
            library_cache=library_cache,
            extractive_reader=extractive_reader,
            progress=progress,
            model=_model(experiment, model),
            concurrency=concurrency,
            budget=budget,
            reply_cache=reply_cache,
            warn=warn,
        )
        reports = _run(experiment, data, dataset or [], settings)
    _deliver(reports, settings, out)


def _model(experiment: str, name: str | None) -> str:
    """The model of an experiment that asks one, told on stderr; others run offline."""
    if experiment not in EXPERIMENTS or not EXPERIMENTS[experiment].asks:
        return "offline"
    from preflight_rag.cli.show import model_line
    from preflight_rag.evaluation.harness.asking import chosen_model

    chosen = chosen_model(name)
    model_line(chosen)
    return chosen


def _run(experiment: str, data: Path | None, datasets: list[str], settings: Run) -> list[Report]:
    from preflight_rag.evaluation.experiments import run

    try:
        return run(experiment, data, datasets, settings)
    except BudgetUsedUp:
        raise _unfinished(settings.budget) from None


def _deliver(reports: list[Report], settings: Run, out: Path | None) -> None:
    """Write and show what there is, then say what is missing.

    Raises:
        BudgetUsedUp: Cases are missing because the budget is used up.
    """
    budget = settings.budget
    if out is not None:
        from preflight_rag.evaluation.report import write

        write(reports, out, settings, command=["preflight", *sys.argv[1:]])
        typer.echo(f"{FILES} are in {out}", err=True)
    _show(reports)
    if budget.calls or budget.replayed:
        typer.echo(f"{budget.spent}; {budget.replayed:,} replies were cached", err=True)
    if budget.used_up:
        raise _unfinished(budget)
    if failed := budget.cases - budget.answered:
        line = f"warning: {failed} of {budget.cases} cases failed; results.jsonl says why. Run the same command again:"
        typer.echo(f"{line} only what is missing is asked.", err=True)


def _unfinished(budget: Budget) -> BudgetUsedUp:
    return budget.refusal(f"{budget.answered} of {budget.cases} cases answered; the budget is used up")


@contextmanager
def _progress(budget: Budget) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """A bar on stderr for each stage, with what was spent, where stderr is a terminal; and a way to say something."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    spent = TextColumn("{task.fields[spent]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), spent)
    bars = Bars(*columns, console=Console(stderr=True))
    tasks: dict[str, Any] = {}

    def advance(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            bars.start()
            tasks[stage] = bars.add_task(stage, total=total, spent="")
        bars.update(tasks[stage], completed=done, spent=budget.spent if budget.calls else "")

    def warn(line: str) -> None:
        bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

    try:
        yield advance, warn
    finally:
        if tasks:
            bars.stop()


def _show(reports: list[Report]) -> None:
    """The tables: drawn in a terminal, Markdown elsewhere."""
    from rich.console import Console

    from preflight_rag.evaluation.report import drawn, markdown

    console = Console()
    if not console.is_terminal:
        typer.echo(markdown(reports))
        return
    for item in drawn(reports):
        console.print(item)

"""The command `eval`: run experiments; `eval list` lists them, `eval show` shows one case of a run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps as to_json
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from evaluation.datasets.files import json_lines
from evaluation.experiments import EXPERIMENTS, OWN, dataset_names
from evaluation.harness.budget import Budget, Price
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun, Order, Progress
from preflight_rag.cli import show
from preflight_rag.cli.main import EmbedderOption, JsonOption, app, command
from preflight_rag.state.errors import BudgetUsedUp, UsageError

if TYPE_CHECKING:
    from evaluation.report import Report

FILES = "table.md, results.jsonl, report.html and manifest.json"
RESULTS = "results.jsonl"
SHOWN = (
    "question", "kind", "options", "right", "answers", "passages", "route", "choice", "fallback", "error", "prompts",
    "reply", "quotes",
)  # fmt: skip
"""Details of a row that are shown in a fixed place; all others are shown below them."""
PAPERS = ("BriefContext", "COrg", "CPQA", "Diversity", OWN)
"""Papers, in the order of the list."""
ASKS = "*"
WIDEST = 110
MANY = 10
"""Data sets that more experiments than this share are listed last, under one heading: they are those of questions."""


_SEARCHING = ("positions", "conflicts", "integration", "context-length", "distractors", "cost", "open-ended")
_PIPELINE = ("cpqa", "cpqa-sources", "cpqa-splitters")
USED_BY = {
    "--order": _SEARCHING,
    "--repeats": ("positions", "integration", "context-length", "distractors"),
    "--fill": ("diversity", "pooled-levels", "summaries"),
    "--document-embedder": ("sources", *_PIPELINE),
    "--passage-embedder": _PIPELINE,
}
"""The experiments to which an option applies."""


class Experiments(TyperGroup):
    """`eval EXPERIMENT` runs the group itself, unless the first argument is the name of a command."""

    allow_interspersed_args = True

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Pass the arguments to a command if the first one names it, before an experiment is read from them."""
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


def list_experiments(json: JsonOption = False) -> None:
    """List the experiments by paper, and the data sets that each can be run on."""
    if json:
        show.as_json([_experiment(name) for names in by_paper().values() for name in names])
        return
    typer.echo("\n".join(lines(min(WIDEST, shutil.get_terminal_size().columns))))


def by_paper() -> dict[str, list[str]]:
    """Return every experiment's name, by paper; those without a paper last."""
    return {paper: [name for name, entry in EXPERIMENTS.items() if entry.paper == paper] for paper in PAPERS}


def _experiment(name: str) -> dict[str, Any]:
    """Return an experiment as JSON."""
    entry = EXPERIMENTS[name]
    return {
        "name": name,
        "paper": entry.paper,
        "measures": entry.summary,
        "usual_datasets": list(entry.usual),
        "asks_model": entry.asks,
    }


def lines(width: int) -> Iterator[str]:
    """Yield the list, at most `width` characters wide."""
    column = max(map(len, EXPERIMENTS)) + 4
    for paper, names in by_paper().items():
        yield typer.style(paper, bold=True)
        for name in names:
            entry = EXPERIMENTS[name]
            head = f"  {name}{ASKS if entry.asks else ''}".ljust(column + 1)
            yield _wrapped(f"{entry.summary} ({', '.join(entry.usual)})", head, width)
        yield ""
    yield _wrapped("asks the model of --model; the others need none. In brackets: the usual data sets.", "* ", width)
    yield "\nData sets that --dataset takes:"
    for users, sets in sorted(dataset_names().items(), key=lambda item: len(item[0]) > MANY):
        others = len(users) > MANY
        yield "  all others; besides, one's own questions (docs/evaluation.md):" if others else f"  {', '.join(users)}:"
        yield _wrapped(", ".join(sets), "    ", width)


def _wrapped(text: str, head: str, width: int) -> str:
    """Return a paragraph with a hanging indent of the head's width."""
    hang = " " * len(head)
    return fill(
        text, width, initial_indent=head, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False
    )


def show_case(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that --out of a run named.")],
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case's id.")],
    arm: Annotated[str | None, typer.Option("--arm", help="Only this arm.")] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Only of this data set.")] = None,
    json: JsonOption = False,
) -> None:
    """Show one case of a run: the prompts, the passages, the route, the reply, and the score with its reason."""
    lines = [line for line in _lines_of(run, case) if dataset in (None, line.get("dataset"))]
    if not lines:
        raise UsageError(f"the case {case!r} is not in the data set {dataset!r}", help="Leave --dataset out.")
    if arm is not None:
        arms = list(dict.fromkeys(line.get("arm", "") for line in lines))
        if arm not in arms:
            raise UsageError(f"the case has no arm {arm!r}", help=f"Choose {' or '.join(arms) or 'none'}.")
        lines = [line for line in lines if line.get("arm") == arm]
    if json:
        show.as_json(lines)
        return
    groups: dict[tuple[str, ...], list[ScoreRow]] = {}
    for line in lines:
        heads = (line.get("experiment", ""), line.get("dataset", ""), line.get("condition", ""))
        groups.setdefault(heads, []).append(ScoreRow.from_json(line))
    for (experiment, name, condition), rows in groups.items():
        head = f"{experiment}: {name}, case {case}" + (f", {condition}" if condition else "")
        typer.echo("\n".join([head, *_described(rows)]))


def _lines_of(run: Path, case: str) -> list[dict[str, Any]]:
    """Return the lines of `results.jsonl` about a case, from all experiments and data sets in the folder."""
    path = run / RESULTS if run.is_dir() else run
    if not path.is_file():
        raise UsageError(f"there is no {RESULTS} in {str(run)!r}", help="Give the folder that --out named.")
    lines = [line for _, line in json_lines(path)]
    found = [line for line in lines if str(line.get("sample", line.get("id"))) == case]
    if not found:
        samples = list(dict.fromkeys(str(line.get("sample", line.get("id"))) for line in lines))
        raise UsageError(
            f"there is no case {case!r} in {str(path)!r}", help=f"It has {len(samples)}, as {', '.join(samples[:3])}."
        )
    return found


def _described(rows: Sequence[ScoreRow]) -> Iterator[str]:
    """Yield lines that show the rows of a case under one condition."""
    asked = rows[0].details
    yield f"\nQuestion ({asked.get('kind', 'question')}): {asked.get('question', '')}"
    for place, option in enumerate(asked.get("options", [])):
        yield f"  {chr(ord('A') + place)}. {option}{'   <- right' if option == asked.get('right') else ''}"
    for names in asked.get("answers", []):
        yield f"  right: {' | '.join(names)}"
    shared = asked.get("passages")
    yield from _passages("Passages", shared)
    for row in rows:
        measure = f", {row.measure}" if row.measure else ""
        yield f"\n=== {row.arm or 'case'}{measure}: score {row.score}" + (f": {row.reason}" if row.reason else "")
        for name in ("route", "choice", "fallback", "error"):
            if row.details.get(name) not in (None, ""):
                yield f"{name}: {row.details[name]}"
        if row.details.get("passages") != shared:
            yield from _passages("Passages of this arm", row.details.get("passages"))
        yield from _exchange(row.details)
        for name, value in row.details.items():
            if name not in SHOWN:
                yield f"{name}: {value if isinstance(value, str) else to_json(value, ensure_ascii=False)}"


def _passages(title: str, passages: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """Yield the lines that print passages under a title; none if there are no passages."""
    if passages:
        yield f"\n{title}:"
    for n, passage in enumerate(passages or (), 1):
        role = f" ({passage['role']})" if passage.get("role") else ""
        yield f"  [{n}] {passage['id']}{role} {passage.get('title', '')}".rstrip()
        yield indent(str(passage.get("text", "")), "      ")


def _exchange(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield prompts with their replies, and the answer parsed from them."""
    for number, call in enumerate(details.get("prompts", []), 1):
        yield f"\n--- prompt {number}"
        for message in call["messages"]:
            yield f"{message['role']}:\n{indent(message['content'], '  ')}"
        tokens = f"{call.get('input_tokens', 0)} + {call.get('output_tokens', 0)} tokens"
        yield f"--- reply {number} ({call.get('finish_reason') or call.get('error')}, {tokens})"
        yield indent(str(call.get("text", "")), "  ")
    if "reply" in details:
        yield f"\nAnswer:\n{indent(str(details['reply']), '  ')}"
    for n, quote in details.get("quotes", []):
        yield f'  [{n}] "{quote}"'


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
    typer.Option(
        "--reranker",
        help="For pairs (repeat it), sources and cpqa…: a reranker, as ask takes it. Without it: those built in.",
    ),
]
DocumentEmbedderOption = Annotated[
    str | None,
    typer.Option("--document-embedder", help="For sources and cpqa…: embeds whole documents. Without it: --embedder."),
]
PassageEmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--passage-embedder",
        help="For cpqa…: embeds passages; cpqa-splitters takes two, with a comma between. Without it: --embedder.",
    ),
]
OrderOption = Annotated[
    Order,
    typer.Option(
        "--order",
        help="For BriefContext's experiments: the passages as a turn ranks them, or by the dense ranking alone.",
    ),
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        "--repeats",
        min=1,
        help="For positions, integration, context-length and distractors: runs of a language model over the questions.",
    ),
]
FillOption = Annotated[
    bool,
    typer.Option(
        "--fill",
        help="For diversity, pooled-levels and summaries: fill a budget with what still fits, behind what does not.",
    ),
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
    document_embedder: DocumentEmbedderOption = None,
    passage_embedder: PassageEmbedderOption = None,
    reranker: RerankerOption = None,
    extractive_reader: ExtractiveOption = "default",
    order: OrderOption = "turn",
    repeats: RepeatsOption = 1,
    fill: FillOption = False,
    seed: SeedOption = 0,
    model: ModelOption = None,
    concurrency: ConcurrencyOption = 16,
    max_cost: MaxCostOption = None,
    max_calls: MaxCallsOption = None,
    price: PriceOption = None,
    reply_cache: ReplyCacheOption = None,
) -> None:
    """Run an experiment over data sets with known answers and report the numbers."""
    if experiment is None:
        list_experiments()
        return
    given = {
        "--order": order != "turn",
        "--repeats": repeats > 1,
        "--fill": fill,
        "--document-embedder": document_embedder is not None,
        "--passage-embedder": passage_embedder is not None,
    }
    _check_use(experiment, [name for name, is_given in given.items() if is_given])
    budget = Budget(max_cost, max_calls, Price.parse(price) if price else None)
    with _progress(budget) as (progress, warn):
        settings = ExperimentRun(
            part=part,
            limit=limit,
            documents=documents,
            seed=seed,
            embedder=embedder,
            document_embedder=document_embedder,
            passage_embedder=passage_embedder,
            order=order,
            repeats=repeats,
            fill=fill,
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


def _check_use(experiment: str, options: Sequence[str]) -> None:
    """Raise an error for an option that would have no effect in this experiment.

    Raises:
        UsageError: There is one.
    """
    for option in options:
        users = USED_BY[option]
        if experiment in EXPERIMENTS and experiment not in users:
            raise UsageError(f"{option} changes nothing in {experiment}", help=f"It is for {', '.join(users)}.")


def _model(experiment: str, name: str | None) -> str:
    """Return the model of an experiment that uses one, and print its name on stderr; others run offline."""
    if experiment not in EXPERIMENTS or not EXPERIMENTS[experiment].asks:
        return "offline"
    from evaluation.harness.asking import chosen_model
    from preflight_rag.cli.show import model_line

    chosen = chosen_model(name)
    model_line(chosen)
    return chosen


def _run(experiment: str, data: Path | None, datasets: list[str], settings: ExperimentRun) -> list[Report]:
    """Run an experiment; if its budget is used up, say how many cases were answered."""
    from evaluation.experiments import run

    try:
        return run(experiment, data, datasets, settings)
    except BudgetUsedUp:
        raise _unfinished(settings.budget) from None


def _deliver(reports: list[Report], settings: ExperimentRun, out: Path | None) -> None:
    """Write and show the reports, then report what is missing.

    Raises:
        BudgetUsedUp: Cases are missing because the budget is used up.
    """
    budget = settings.budget
    if out is not None:
        from evaluation.report import write

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
    """Return the error for a run that its budget stopped, with the number of answered cases."""
    return budget.refusal(f"{budget.answered} of {budget.cases} cases answered; the budget is used up")


@contextmanager
def _progress(budget: Budget) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Yield a function that reports progress and one for warnings; in a terminal, a bar shows progress and spending."""
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
    """Print the tables: drawn in a terminal, as Markdown elsewhere."""
    from rich.console import Console

    from evaluation.report import drawn, markdown

    console = Console()
    if not console.is_terminal:
        typer.echo(markdown(reports))
        return
    for item in drawn(reports):
        console.print(item)

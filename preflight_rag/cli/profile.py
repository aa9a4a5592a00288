"""`profile`: measure what a model loses of what it reads at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, ModelOption, app, command
from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.routing.model_profile import ModelProfile

QUESTIONS = 6
BAR = 30


@app.command(epilog="Example: preflight profile --model ollama:llama3.2 --library my-library")
@command
def profile(
    library: LibraryOption = DEFAULT_LIBRARY,
    model: ModelOption = None,
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=100, help="Number of questions; each takes about ten model calls.")
    ] = QUESTIONS,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for making the questions.")] = 0,
    json: JsonOption = False,
) -> None:
    """Measure how often a model answers correctly by the passage's place in the prompt, for the choice of routes."""
    from preflight_rag.app import Preflight
    from preflight_rag.routing.model_profile import keep_profile

    with Preflight.open(library, model) as preflight:
        if preflight.reader.by_rule:
            raise UsageError(
                "there is no language model to measure: the answers are the documents' own words",
                help="Name one: --model provider:name.",
            )
        if not json:
            show.model_line(preflight.reader.name)
        found = _measured(preflight, questions, seed)
    path = keep_profile(found)
    if json:
        show.as_json({**found.to_json(), "written": str(path)})
        return
    for line in lines(found):
        typer.echo(line)
    typer.echo(f"written to {path}; delete it to go back to the papers' figures")


def _measured(preflight: Preflight, questions: int, seed: int) -> ModelProfile:
    """Measure the model on questions that are made of the library, while a bar shows the progress."""
    from rich.console import Console
    from rich.progress import Progress

    from preflight_rag.routing.profiling import make_gap_questions, profile_model

    made = make_gap_questions(preflight.library, questions, seed=seed)
    grounds = f"{len(made)} questions made of {preflight.library.path.name}"
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions")

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return asyncio.run(profile_model(preflight.reader, made, grounds=grounds, progress=progress))


def lines(found: ModelProfile) -> list[str]:
    """Return the profile as a small table with bars."""
    from preflight_rag.routing.profiling import PLACES

    rows = [f"{found.grounds}; {found.tokens:,} tokens in {found.seconds:.0f} s", "where the passage stands   right"]
    for place, share in zip(PLACES, found.plain.values(), strict=True):
        rows.append(f"{f'{place} of 16':>24}   {_bar(share)}")
    rows.append(f"{'read in parts':>24}   {_bar(found.map_reduce)}")
    itself = "show it themselves: nothing found, or nothing cited that supports them"
    rows.append(f"Of lost answers {found.noticed:.0%} {itself}.")
    return rows


def _bar(share: float) -> str:
    return f"{'█' * round(BAR * share):<{BAR}} {share:4.0%}"

"""`profile`: measure what a model loses of what it reads at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, ModelOption, app, command
from preflight_rag.state.errors import ModelError, UsageError

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.routing.profiling import Profiling

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
    made = found.profile()
    path = keep_profile(made) if made is not None else None
    if json:
        show.as_json(
            {
                **(made.to_json() if made else _as_json(found)),
                "readings": _readings(found),
                "written": path and str(path),
            }
        )
    else:
        for line in lines(found):
            typer.echo(line)
    if path is None:
        raise _incomplete(found)
    if not json:
        typer.echo(f"written to {path}; delete it to go back to the papers' figures")


def _incomplete(found: Profiling) -> ModelError:
    """Return the error for a profile without the answers for some place in the prompt; such a profile is not stored."""
    ended = f"{found.replied} of {found.wanted} readings ended with a reply"
    return ModelError(
        f"no profile was written, since each place needs an answer: {ended}",
        help="Raise PREFLIGHT_DEADLINE, take a smaller model, or try when the machine has less to do.",
    )


def _readings(found: Profiling) -> dict[str, Any]:
    """Return how many readings ended with a reply, and the reasons of the others."""
    return {"wanted": found.wanted, "replied": found.replied, "cut": found.cut, "failures": dict(found.failures)}


def _as_json(found: Profiling) -> dict[str, Any]:
    """Return an incomplete profile as JSON: the shares of right answers at the places that have answers."""
    shares = {rank: score.share if score.asked else None for rank, score in found.places.items()}
    parts = found.parts.share if found.parts.asked else None
    return {
        "model": found.model,
        "grounds": found.grounds,
        "places": shares,
        "map_reduce": parts,
        "seconds": found.seconds,
    }


def _measured(preflight: Preflight, questions: int, seed: int) -> Profiling:
    """Measure the model on questions that are made of the library, while a bar shows the progress."""
    from rich.console import Console
    from rich.progress import Progress

    from preflight_rag.routing.profiling import make_gap_questions, profile_model

    made = make_gap_questions(preflight.library, questions, seed=seed)
    grounds = f"{len(made)} questions made of {preflight.library.path.name}"
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions")

        def progress(done: int, total: int) -> None:
            """Advance the progress bar."""
            bar.update(task, completed=done, total=total)

        return asyncio.run(profile_model(preflight.reader, made, grounds=grounds, progress=progress))


def lines(found: Profiling) -> list[str]:
    """Return the measured profile as a small table with bars, and how many readings ended with a reply."""
    spent = found.spent
    tokens = spent.input_tokens + spent.output_tokens
    rows = [f"{found.grounds}; {tokens:,} tokens in {found.seconds:.0f} s", "where the passage stands   right"]
    named = [(f"{rank} of 16", score) for rank, score in found.places.items()]
    for place, score in [*named, ("read in parts", found.parts)]:
        rows.append(f"{place:>24}   {_bar(score.share) if score.asked else 'no reply'}")
    if found.lost:
        noticed = found.noticed / found.lost
        itself = "show it themselves: nothing found, or nothing cited that supports them"
        rows.append(f"Of lost answers {noticed:.0%} {itself}.")
    if found.cut or found.failures:
        rows.append(f"{found.replied} of {found.wanted} readings ended with a reply; {found.cut} of these have no end.")
        rows += [f"  {count} × {why}" for why, count in found.failures.most_common()]
    return rows


def _bar(share: float) -> str:
    """Return a bar whose length is a share of the width."""
    return f"{'█' * round(BAR * share):<{BAR}} {share:4.0%}"

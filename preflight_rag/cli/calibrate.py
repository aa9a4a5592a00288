"""`calibrate`: fit the preflight to a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, app, can_ask, command, confirmed
from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from preflight_rag.library.collection import OwnCollection
    from preflight_rag.routing.calibration import Calibration, Operation
    from preflight_rag.routing.known_questions import KnownQuestion

MADE = 300  # from this many on all weights are fitted, not only offset and slope
RECALL = 0.926  # BriefContext's preflight finds this share of the lost key passages (its section 2.5)


@app.command(epilog="Example: preflight calibrate --library my-library --questions questions.jsonl")
@command
def calibrate(
    library: LibraryOption = DEFAULT_LIBRARY,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help='Lines of {"question": "...", "documents": ["id"]}, or question, tab, ids. Without it, questions are '
            "made of the library's own passages; they are easier than real ones.",
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of questions to make.")] = MADE,
    recall: Annotated[
        float, typer.Option("--recall", min=0.01, max=1, help="Share of lost key passages that must be predicted.")
    ] = RECALL,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for making the questions.")] = 0,
    try_only: Annotated[bool, typer.Option("--try", help="Only report what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    json: JsonOption = False,
) -> None:
    """Fit the preflight's risk of a lost key passage to the library, from questions with known documents."""
    require_extra("eval", "preflight calibrate", ["scipy"])
    from preflight_rag.library.opening import open_library
    from preflight_rag.routing.known_questions import make_questions, read_questions
    from preflight_rag.routing.library_risk import write_model

    asked = (f"Use what is found for {library} from now on?", "--yes, or give --try to write nothing")
    if not (yes or try_only):
        can_ask(*asked)
    with open_library(library) as collection:
        known = read_questions(questions) if questions else make_questions(collection, count, seed=seed)
        found = _with_progress(collection, known, made=questions is None, recall=recall)
    if not json:
        _print_result(found, recall)
    path = None
    if not try_only and (yes or confirmed(*asked)):
        path = write_model(library.folder, found.model)
    if json:
        show.as_json({**found.to_json(), "written": str(path) if path else None})
        return
    typer.echo(f"written to {path}; delete it to go back" if path else "nothing was written")


def _with_progress(collection: OwnCollection, known: list[KnownQuestion], *, made: bool, recall: float) -> Calibration:
    """Fit the calibration while a bar shows how many questions are done."""
    from rich.console import Console
    from rich.progress import Progress

    from preflight_rag.routing.calibration import calibrate as fit

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions")
        return fit(
            collection,
            known,
            made=made,
            recall=recall,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def _print_result(found: Calibration, recall: float) -> None:
    """Print what was learned from the questions, and the measures of the router's rule before and after calibration."""
    typer.echo(
        f"{found.questions} questions {'made of' if found.made else 'asked of'} the library; in {found.issues} of them "
        "the first known passage stands below the first three"
    )
    typer.echo(f"before: {_line(found.before) if found.before else 'the IoU rule, nothing was calibrated'}")
    typer.echo(f"after:  {_line(found.after)}")
    if found.made:
        typer.echo(
            "Questions made of passages are easier than real ones. They are weighted as if they were lost as often, "
            "and they fit the risk only, not its threshold. Real questions (--questions FILE) are much better."
        )
    else:
        typer.echo(
            f"The threshold is set to find {recall:.1%} of the lost; "
            "for the line above, each question is judged by a model that was fitted to the others."
        )


def _line(operation: Operation) -> str:
    """Return a sentence on how the preflight decides and how often it is right."""

    def percent(value: float | None) -> str:
        """Return a share as a percentage."""
        return "–" if value is None else f"{value:.1%}"

    return (
        f"map/reduce from a risk of {operation.threshold:.2f}, {percent(operation.flagged)} of the questions, "
        f"finds {percent(operation.recall)} of the lost, right in {percent(operation.precision)}"
    )

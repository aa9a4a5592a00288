"""`demo`: a first look at documents that come with the package; it needs no key and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import ModelOption, app, command
from preflight_rag.state.context import GivenSettings

DOCUMENTS = Path(__file__).parent.parent / "demo"
THOROUGH: GivenSettings = {"thoroughness": 1.0}
"""Reads in parts wherever that is possible."""
QUESTIONS: tuple[tuple[str, GivenSettings], ...] = (
    ("Which planet is the hottest?", {}),
    ("Which discovery was made by chance?", THOROUGH),
    ("Who wrote Hamlet?", {}),
    ("How many people live in Broken Bow?", {}),
)


@app.command(epilog="Example: preflight demo")
@command
def demo(
    library: Annotated[Path, typer.Option("--library", "-l", help="Folder for the demo's library.")] = Path(
        "demo-library"
    ),
    model: ModelOption = "offline",
) -> None:
    """Build a small library from documents in the package, and answer four questions that take all routes."""
    from uuid import uuid4

    from preflight_rag.app import Preflight

    with Preflight.open(library, model, create=True) as preflight:
        report = preflight.ingest([DOCUMENTS])
        show.model_line(preflight.reader.name)
        typer.echo(f"{library}: {report.added} documents added, {report.skipped} there already\n")
        for question, settings in QUESTIONS:
            options = "".join(f"   (--{name} {value})" for name, value in settings.items())
            typer.secho(f"> {question}{options}", bold=True)
            found = preflight.ask(question, thread_id=f"demo-{uuid4().hex[:8]}", **settings)
            show.answer(found, with_way=True)
            typer.echo("\n" + "-" * 78 + "\n")
    typer.echo(f'Now ask it yourself:  preflight ask "..." --library {library} --explain')
    typer.echo("Or your own files:    preflight ingest PATH... --library my-library")

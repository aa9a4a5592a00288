"""`ingest` and `library stats|verify|rebuild|delete-document`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, EmbedderOption, JsonOption, LibraryOption, app, command
from preflight_rag.state.errors import LibraryError, UsageError

if TYPE_CHECKING:
    from preflight_rag.library import Library
    from preflight_rag.library.index.dense import IndexKind
    from preflight_rag.library.ingest import IngestEvent, IngestReport
    from preflight_rag.library.splitting import SplitterName

library_commands = typer.Typer(help="The collection itself.", no_args_is_help=True)
app.add_typer(library_commands, name="library")


@app.command(epilog="Example: preflight ingest papers/ notes.md records.jsonl.gz --library my-library")
@command
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, or .jsonl(.gz) records.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents of these paths that are gone.")] = False,
    json: JsonOption = False,
    embedder: EmbedderOption = None,
    splitter: Annotated[
        str | None,
        typer.Option(
            "--splitter",
            help="sentence packs sentences; semantic breaks where the subject changes. Without it: the library's own.",
        ),
    ] = None,
    max_mb: Annotated[int, typer.Option("--max-mb", min=1, help="Largest file that is read, in megabytes.")] = 200,
) -> None:
    """Add or update documents; unchanged ones are skipped, and one bad file stops nothing."""
    from preflight_rag.library import Library

    named = cast("SplitterName | None", splitter)
    with Library.open(library, embedder=embedder, create=True, splitter=named) as collection:
        report = _with_progress(collection, paths, prune=prune, max_bytes=max_mb * 1024 * 1024)
        passages = collection.stats()["passages"]
    if json:
        show.as_json(report.to_json())
    else:
        _summary(report, library, passages)
    if report.failed and not (report.added or report.updated or report.skipped):
        raise typer.Exit(1)


def _with_progress(collection: Library, paths: list[Path], *, prune: bool, max_bytes: int) -> IngestReport:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading")

        def show_event(event: IngestEvent) -> None:
            name = Path(event.name).name[-40:]
            bar.update(task, completed=event.done, total=event.total, description=f"{event.stage} {name}")

        return collection.ingest(paths, prune=prune, progress=show_event, max_bytes=max_bytes)


def _summary(report: IngestReport, library: Path, passages: int) -> None:
    typer.echo(
        f"added {report.added}, updated {report.updated}, skipped {report.skipped} unchanged, "
        f"removed {report.removed}, failed {len(report.failed)}"
    )
    for source, reason in report.failed:
        typer.echo(f"failed: {reason}" if source in reason else f"failed: {source}: {reason}")
    typer.echo(f"{library} now holds {passages:,} passages.")
    if passages:
        typer.echo(f'Ask: preflight ask "..." --library {library}')


@library_commands.command("stats", epilog="Example: preflight library stats --library my-library")
@command
def stats(library: LibraryOption = DEFAULT_LIBRARY, json: JsonOption = False) -> None:
    """Show what the library holds."""
    from preflight_rag.library import Library

    with Library.open(library) as collection:
        numbers = collection.stats()
    if json:
        show.as_json(numbers)
        return
    for name, value in numbers.items():
        rows = {f"{name} {part}": inner for part, inner in value.items()} if isinstance(value, dict) else {name: value}
        for label, number in rows.items():
            typer.echo(f"{label}: {number:,}" if isinstance(number, int) else f"{label}: {number}")


@library_commands.command("verify", epilog="Example: preflight library verify --library my-library")
@command
def verify(library: LibraryOption = DEFAULT_LIBRARY) -> None:
    """Check the database and the indices against each other."""
    from preflight_rag.library import Library

    with Library.open(library) as collection:
        problems = collection.verify()
    for problem in problems:
        typer.echo(f"problem: {problem}")
    if problems:
        raise LibraryError(
            f"{len(problems)} problems in {library}", help="`preflight library rebuild` makes new indices."
        )
    typer.echo("the library is whole")


@library_commands.command("rebuild", epilog="Example: preflight library rebuild --library my-library")
@command
def rebuild(
    library: LibraryOption = DEFAULT_LIBRARY,
    index: Annotated[
        str | None,
        typer.Option(
            "--index",
            help="Kind of dense index, which the library keeps: auto, flat, compressed, pca, clusters, pca+clusters.",
        ),
    ] = None,
) -> None:
    """Make the indices anew from the database, of another kind if you say so."""
    from preflight_rag.library import Library

    with Library.open(library) as collection:
        if index is not None and index != collection.index_kind:
            collection.set_index_kind(cast("IndexKind", index))
        else:
            collection.rebuild()
    typer.echo("the indices are new")


@library_commands.command(
    "delete-document", epilog="Example: preflight library delete-document notes.md --library my-library"
)
@command
def delete_document(
    document: Annotated[str, typer.Argument(metavar="ID", help="The document's id: a record's own id, else the path.")],
    library: LibraryOption = DEFAULT_LIBRARY,
) -> None:
    """Remove a document and its passages."""
    from preflight_rag.library import Library

    with Library.open(library) as collection:
        if not (collection.delete_document(document) or collection.delete_document(str(Path(document).absolute()))):
            raise UsageError(f"there is no document {document!r}", help="See `preflight library stats`.")
    typer.echo(f"deleted {document}")

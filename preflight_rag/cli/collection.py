"""`ingest` and `library list|show|remove|stats|verify|rebuild|delete-document`."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import (
    DEFAULT_LIBRARY,
    EmbedderOption,
    JsonOption,
    LibraryOption,
    app,
    command,
    confirmed,
    nothing_left_behind,
)
from preflight_rag.state.errors import DatabaseCorrupt, LibraryError, UsageError
from preflight_rag.state.extras import require_extra
from preflight_rag.text.words import on_one_line

if TYPE_CHECKING:
    from preflight_rag.ingest.report import IngestEvent, IngestReport
    from preflight_rag.ingest.splitting import SplitterName
    from preflight_rag.library.collection import OwnCollection
    from preflight_rag.library.index.dense import IndexKind
    from preflight_rag.library.opening import LibraryPlace
    from preflight_rag.library.storage.catalogue import CatalogueEntry

NAME_CHARACTERS = 36
"""Characters of a file's name beside the progress bar, whose line stays below 100."""
MOST_NAMED = 100_000
"""Documents whose names are compared with a given one; a guess."""
library_commands = typer.Typer(help="Manage the collection of documents.", no_args_is_help=True)
app.add_typer(library_commands, name="library")


@app.command(epilog="Example: preflight ingest papers/ notes.md records.jsonl.gz --library my-library")
@command
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders; docs/documents.md has the kinds that are read.")
    ],
    library: LibraryOption = DEFAULT_LIBRARY,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose files under these paths no longer exist.")
    ] = False,
    json: JsonOption = False,
    embedder: EmbedderOption = None,
    splitter: Annotated[
        str | None,
        typer.Option(
            "--splitter",
            help="sentence: whole sentences; semantic: splits where the subject changes. Default: the library's own.",
        ),
    ] = None,
    max_mb: Annotated[int, typer.Option("--max-mb", min=1, help="Largest file that is read, in megabytes.")] = 200,
    names: Annotated[
        bool, typer.Option("--names", help="List every file that cannot be read, not only the kinds.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Report for every document what was read and what was left out.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            help="ray: for very many files; many workers, on here or on the cluster of RAY_ADDRESS. See --workers.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Workers of --engine ray. Default: one for each GPU, or without a GPU for each core.",
        ),
    ] = None,
) -> None:
    """Add or update documents; unchanged ones are skipped, and one bad file stops nothing.

    Exit status 1: nothing was read, or a file or record was not, and the others are stored.
    Ctrl-C ends it after what is in hand: what was done is kept, and the same command goes on.
    """
    from preflight_rag.library.opening import open_library

    named = cast("SplitterName | None", splitter)
    _check_engine(engine, workers, prune)
    _check_paths(paths, library)
    with nothing_left_behind(library), open_library(library, embedder=embedder, create=True, splitter=named) as opened:
        take_in = partial(_with_ray, opened, workers) if engine else partial(opened.ingest, prune=prune)
        report = _watched(take_in, paths, max_bytes=max_mb * 1024 * 1024)
        passages = opened.stats()["passages"]
    if json:
        show.as_json(report.to_json())
    else:
        show.ingested(report, library, passages, names=names, details=details)
    if not library.is_there():
        show.echo(f"nothing could be read: no library was made at {library}", err=True)
    if report.stopped:
        raise typer.Exit(130)
    if report.failed:
        show.refused(report, library)
    if report.failed or not library.is_there():
        raise typer.Exit(1)


def _with_ray(opened: OwnCollection, workers: int | None, paths: list[Path], **options: Any) -> IngestReport:
    """Ingest with Ray, without its messages about workers on standard output; the report has them, too."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        return opened.ingest_with_ray(paths, workers=workers, **options)


def _check_engine(engine: str | None, workers: int | None, prune: bool) -> None:
    """Refuse options that do not go together, before anything is opened."""
    if engine is None and workers is not None:
        raise UsageError("--workers is an option of --engine ray", help="Give both, or neither.")
    if engine is None:
        return
    if engine != "ray":
        raise UsageError(f"--engine is {engine!r}", help="The only engine is: --engine ray")
    if prune:
        raise UsageError("--engine ray cannot remove documents", help="Leave out --prune or --engine ray.")
    require_extra("ray", "--engine ray")


def _check_paths(paths: list[Path], library: LibraryPlace) -> None:
    """Refuse a call none of whose paths exists, before a library is made for it."""
    missing = [path for path in paths if not os.path.lexists(path.expanduser())]
    if len(missing) == len(paths):
        named = ", ".join(repr(str(path)) for path in missing[:5])
        there = "" if library.is_there() else f"; no library was made at {library}"
        raise LibraryError(f"{named} {'does' if len(missing) == 1 else 'do'} not exist{there}", help="Check the path.")


def _watched(take_in: Callable[..., IngestReport], paths: list[Path], *, max_bytes: int) -> IngestReport:
    """Ingest with a progress bar on a terminal; the first Ctrl-C stops after the current step, the second at once."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    note = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    columns = (TaskProgressColumn(), BarColumn(bar_width=24), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar, _stops() as stopped:
        task = bar.add_task("looking for files", total=None)

        def show_event(event: IngestEvent) -> None:
            """Show a progress event in the bar."""
            if stopped.is_set() and not bar.tasks[task].fields.get("stopping"):
                bar.update(task, stopping=True)
                note("stopping after what is in hand; Ctrl-C again stops at once")
            if event.stage == "waiting":
                note(f"another process writes {event.name}; waiting for it")
            done, total = (event.done, event.total) if event.stage == "index" else (event.bytes_done, event.bytes_total)
            bar.update(task, completed=done, total=total or None, description=_in_hand(event))

        return take_in(
            [path.expanduser() for path in paths],
            progress=show_event,
            max_bytes=max_bytes,
            stop=stopped.is_set,
        )


def _in_hand(event: IngestEvent) -> str:
    """Return the words of the progress bar for the current step."""
    from rich.markup import escape

    if event.stage == "index":
        return "making the index"
    if event.stage == "waiting":
        return "waiting"
    name = Path(event.name).name
    name = escape(name if len(name) <= NAME_CHARACTERS else f"…{name[1 - NAME_CHARACTERS :]}")
    if event.stage == "embedding":
        return f"{name}: {event.done:,} of {event.total:,} passages embedded"
    if event.stage == "reading":
        return f"{name}: page {event.done} of {event.total}" if event.total else f"{name}: reading"
    if event.stage == "splitting":
        return f"{name}: splitting into passages"
    of = f" of {event.total:,}" if event.total else ""
    return f"{name} ({event.done:,}{of} documents)"


@contextmanager
def _stops() -> Iterator[Event]:
    """Yield an event that the first Ctrl-C sets; the second Ctrl-C interrupts.

    Outside the main thread, Ctrl-C is not handled.
    """
    stopped = Event()

    def stop(_number: int, _frame: Any) -> None:
        """Set the event, and restore Python's own handler for the next Ctrl-C."""
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


@library_commands.command("list", epilog="Example: preflight library list --find malaria --library my-library")
@command
def list_documents(
    library: LibraryOption = DEFAULT_LIBRARY,
    find: Annotated[
        str, typer.Option("--find", help="List only documents whose title, id or source contains this text.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most documents to list.")] = 100,
    json: JsonOption = False,
) -> None:
    """List the documents, the latest first."""
    from preflight_rag.library.names import names_of
    from preflight_rag.library.opening import open_library

    with open_library(library) as collection:
        found, total = collection.catalogue.documents(find, limit=limit)
        shown = set()
        for each in found:
            for name in (each.id, each.copy_of):
                if name:
                    shown.add(name)
        called = {name: names_of(collection).name(name) for name in shown}
    if json:
        rows = [_entry_json(each) for each in found]
        show.as_json({"documents": rows, "total": total})
        return
    show.documents(found, called, total, find)


@library_commands.command("show", epilog="Example: preflight library show report.pdf --library my-library")
@command
def show_document(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Id, path, file name or title.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    json: JsonOption = False,
) -> None:
    """Show what was read of a document and what was left out; for a file of several documents, show each one."""
    from preflight_rag.library.opening import open_library

    with open_library(library) as collection:
        found = _with_attachments(collection, _named(collection, document))
        ids = {entry.id for entry in found}
        metadata = {row["id"]: row["metadata"] for row in collection.documents() if row["id"] in ids}
    if json:
        show.as_json({"documents": [_entry_json(each) | {"metadata": metadata[each.id]} for each in found]})
        return
    for entry in found:
        show.document(entry, metadata[entry.id])


def _with_attachments(collection: OwnCollection, found: list[CatalogueEntry]) -> list[CatalogueEntry]:
    """Return documents with the attachments that lie inside the file of one of them."""
    entries = {entry.id: entry for entry in found}
    for entry in found:
        inside, _ = collection.catalogue.documents(f"{entry.id}/", limit=MOST_NAMED)
        entries |= {each.id: each for each in inside if each.id.startswith(f"{entry.id}/")}
    return list(entries.values())


def _entry_json(entry: CatalogueEntry) -> dict[str, Any]:
    """Return a document's catalogue entry as a JSON object."""
    read = entry.read.to_json() if entry.read else None
    return {**asdict(entry), "file": str(entry.file) if entry.file else None, "read": read}


@library_commands.command("remove", epilog="Example: preflight library remove notes.md --library my-library")
@command
def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="Ids, paths, file names or titles.")],
    library: LibraryOption = DEFAULT_LIBRARY,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove documents with their passages; the files themselves stay."""
    from preflight_rag.library.opening import open_library

    with open_library(library) as collection:
        found = {}
        for name in documents:
            found.update({entry.id: entry for entry in _named(collection, name)})
        for entry in found.values():
            passages = f"{entry.passages:,} passage{'s' if entry.passages != 1 else ''}"
            show.echo("  ".join(dict.fromkeys(part for part in (entry.title, entry.id, passages) if part)))
        counted = f"{len(found)} documents" if len(found) > 1 else "this document"
        if not yes and not confirmed(f"Remove {counted} from {library}?", "--yes"):
            raise typer.Exit(1)
        collection.delete_documents(list(found))
    typer.echo(f"removed {len(found)} document{'s' if len(found) != 1 else ''} from {library}")


def _named(collection: OwnCollection, name: str) -> list[CatalogueEntry]:
    """Return the documents that a name means: an id or a path, else a file name, else a title; all records of a file.

    Raises:
        UsageError: There is none, or several that are not of one file.
    """
    from preflight_rag.library.names import names_of

    catalogue, path = collection.catalogue, str(Path(name).expanduser().absolute())
    for exact in (path, names_of(collection).document_id(name)):
        if entry := catalogue.document(exact):
            return [entry]
    near, _ = catalogue.documents(Path(name).name, limit=MOST_NAMED)
    called = [entry for entry in near if path == entry.origin or Path(entry.origin).name == name]
    found = called or [entry for entry in near if entry.title.casefold() == name.casefold()]
    if len({entry.origin or entry.id for entry in found}) > 1:
        listed = ", ".join(repr(entry.id) for entry in found[:5])
        raise UsageError(f"{len(found)} documents have the name {name!r}: {listed}", help="Give the id of one.")
    if found:
        return found
    from preflight_rag.summarize import close_matches

    close = close_matches(name, collection.documents())
    hint = f"Did you mean {' or '.join(close)}?" if close else "See `preflight library list`."
    raise UsageError(f"there is no document {name!r}", help=hint)


@library_commands.command("stats", epilog="Example: preflight library stats --library my-library")
@command
def stats(library: LibraryOption = DEFAULT_LIBRARY, json: JsonOption = False) -> None:
    """Show the library's contents: documents, passages, embedder and indices."""
    from preflight_rag.library.opening import open_library

    with open_library(library) as collection:
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
    """Check that the databases and indices are intact and agree with each other."""
    from preflight_rag.library.opening import open_library
    from preflight_rag.server.access import KeyRing
    from preflight_rag.threads.recovery import threads_problems
    from preflight_rag.threads.sqlite_database import THREADS

    with closing(KeyRing(library.folder)) as keys:
        problems = [*_problem(keys.all, "keys"), *threads_problems(library.folder / THREADS)]
    try:
        with open_library(library) as collection:
            problems += collection.verify()
    except DatabaseCorrupt as error:
        problems.append(f"database: {error.message}")
    for problem in problems:
        typer.echo(f"problem: {on_one_line(problem)}")
    if problems:
        many = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
        help = f"`preflight library rebuild --library {library.option}` makes new indices"
        if any(problem.startswith(("database:", "passage ", "document ", "threads:")) for problem in problems):
            help += ", sets damaged databases aside, keeps what is whole, and says which documents to ingest again"
        raise LibraryError(f"{many} in {library}", help=f"{help}.")
    typer.echo("the library is whole")


def _problem(check: Callable[[], object], name: str) -> list[str]:
    """Run a check, and return its error as a list of one line, or no line."""
    try:
        check()
    except LibraryError as error:
        return [f"{name}: {error}"]
    return []


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
    """Rebuild the indices from the database, with --index as another kind; damaged databases are moved aside first."""
    from preflight_rag.library import Library
    from preflight_rag.library.opening import open_library
    from preflight_rag.library.recovery import named, recover_if_damaged
    from preflight_rag.threads.recovery import recover_threads, threads_problems
    from preflight_rag.threads.sqlite_database import THREADS

    folder = library.folder
    if threads_problems(folder / THREADS):
        kept, turns = recover_threads(folder / THREADS)
        typer.echo(f"threads.db was damaged, and is now {kept.name}; turns that could be kept: {turns}")
    if library.url is None and (recovery := recover_if_damaged(folder)):
        typer.echo(
            f"library.db was damaged, and is now {recovery.kept.name}; documents that are whole: {recovery.whole}"
        )
        typer.echo("Restart what has the library open.")
        if recovery.again:
            typer.echo(f"ingest these again, they lost something: {on_one_line(named(recovery.again))}")
    with open_library(library) as collection:
        for lost in collection.lost_documents():
            typer.echo(on_one_line(lost))
        if index is not None and not isinstance(collection, Library):
            raise UsageError(f"{library} has only one kind of index", help="Leave out --index to rebuild it.")
        if isinstance(collection, Library) and index not in (None, collection.index_kind):
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
    from preflight_rag.library.opening import open_library

    with open_library(library) as collection:
        if not (collection.delete_document(document) or collection.delete_document(str(Path(document).absolute()))):
            raise UsageError(f"there is no document {document!r}", help="See `preflight library list`.")
    typer.echo(f"deleted {document}")

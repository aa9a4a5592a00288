"""`threads list|show|resume|feedback|delete|prune`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps as to_json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import DEFAULT_LIBRARY, JsonOption, LibraryOption, ModelOption, ThreadsOption, app, command
from preflight_rag.state.errors import ThreadNotFound, UsageError

if TYPE_CHECKING:
    from preflight_rag.library.opening import LibraryPlace
    from preflight_rag.threads.ledger import Ledger

group = typer.Typer(
    help="Manage conversations, in the library's folder or the database of --threads.", no_args_is_help=True
)
app.add_typer(group, name="threads")

CUT_OFF = "cut off; finish it with `preflight threads resume`"
ThreadArgument = Annotated[str, typer.Argument(metavar="ID", help="The thread.")]


@contextmanager
def _ledger(library: LibraryPlace, url: str | None) -> Iterator[Ledger]:
    """Open the record of a library's turns; the library's own database may be damaged or missing."""
    from preflight_rag.app import Preflight
    from preflight_rag.threads.sqlite_database import THREADS
    from preflight_rag.threads.thread_store import open_ledger

    url = url or library.url
    if url is not None or (library.folder / THREADS).is_file():
        with open_ledger(library.folder, url) as ledger:
            yield ledger
    else:
        with Preflight.open(library, "offline") as preflight:
            yield preflight.ledger


@group.command("list", epilog="Example: preflight threads list --library my-library")
@command
def list_threads(
    library: LibraryOption = DEFAULT_LIBRARY, threads: ThreadsOption = None, json: JsonOption = False
) -> None:
    """List conversations, the latest first."""
    with _ledger(library, threads) as ledger:
        rows = ledger.threads()
    if json:
        show.as_json([asdict(row) for row in rows])
        return
    if not rows:
        typer.echo("There are no conversations yet.")
    for row in rows:
        state = {"running": "cut off, can be resumed", "asking": "waits for a reply"}.get(row.status, row.status)
        show.echo(f"{row.thread_id}  {row.turns} turns  {row.updated}  {state}  {row.title[:70]}")


@group.command("show", epilog="Example: preflight threads show trip --library my-library")
@command
def show_thread(
    thread: ThreadArgument,
    library: LibraryOption = DEFAULT_LIBRARY,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Show a conversation's questions and answers."""
    with _ledger(library, threads) as ledger:
        turns = ledger.turns(thread)
    if not turns:
        raise ThreadNotFound(f"there is no thread {thread!r}", help="See `preflight threads list`.")
    if json:
        show.as_json([asdict(turn) for turn in turns])
        return
    for turn in turns:
        show.echo(f"{turn.turn}. {turn.question}")
        show.echo(f"   {turn.status}, route {turn.route or '-'}, {turn.model}, {turn.started_at}")
        open_end = "waits for a reply; give it in `preflight chat`" if turn.status == "asking" else CUT_OFF
        show.echo(f"   {turn.answer or turn.error or open_end}\n")


@group.command("resume", epilog="Example: preflight threads resume trip --library my-library")
@command
def resume_thread(
    thread: ThreadArgument,
    library: LibraryOption = DEFAULT_LIBRARY,
    threads: ThreadsOption = None,
    model: ModelOption = None,
    json: JsonOption = False,
) -> None:
    """Finish a turn that was interrupted or failed; completed stages are not repeated."""
    from preflight_rag.app import Preflight

    with Preflight.open(library, model, threads=threads) as preflight:
        show.model_line(preflight.reader.name)
        answer = preflight.resume(thread)
    if json:
        show.as_json(answer.model_dump(mode="json"))
    else:
        show.answer(answer)


@group.command("feedback", epilog="Example: preflight threads feedback --out my-questions --library my-library")
@command
def export_feedback(
    library: LibraryOption = DEFAULT_LIBRARY,
    threads: ThreadsOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for questions.jsonl. Default: print the list.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Export the answers that people rated as questions, which `preflight eval EXPERIMENT --dataset OUT` reads."""
    from preflight_rag.app import Preflight
    from preflight_rag.cli.feedback import question_of

    with Preflight.open(library, "offline", threads=threads) as preflight:
        judged = preflight.ledger.feedback()
        found = [question_of(turn, feedback, preflight.library.catalogue) for turn, feedback in judged]
    if json:
        show.as_json([{**asdict(feedback), "question": turn.question} for turn, feedback in judged])
    elif out is None:
        for turn, feedback in judged:
            show.echo(f"{'good' if feedback.good else 'not good'}  {turn.question[:70]}  {feedback.reason}".rstrip())
        if not judged:
            typer.echo("Nobody has judged an answer yet: the page has thumbs under each one.")
    if out is None:
        return
    if not found:
        raise UsageError("nobody has judged an answer yet", help="The page of `preflight serve` has thumbs under each.")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "questions.jsonl"
    path.write_text("".join(to_json(each, ensure_ascii=False) + "\n" for each in found), encoding="utf-8")
    typer.echo(f"{len(found)} questions in {path}; try: preflight eval routes --dataset {out}", err=json)


@group.command("delete", epilog="Example: preflight threads delete trip --library my-library")
@command
def delete_thread(
    thread: ThreadArgument, library: LibraryOption = DEFAULT_LIBRARY, threads: ThreadsOption = None
) -> None:
    """Delete a conversation and shrink the database."""
    from preflight_rag.app import Preflight

    with Preflight.open(library, "offline", threads=threads) as preflight:
        if not preflight.delete_thread(thread):
            raise ThreadNotFound(f"there is no thread {thread!r}", help="See `preflight threads list`.")
    typer.echo(f"deleted thread {thread!r}")


@group.command("prune", epilog="Example: preflight threads prune --library my-library")
@command
def prune_threads(library: LibraryOption = DEFAULT_LIBRARY, threads: ThreadsOption = None) -> None:
    """Remove intermediate checkpoints of finished turns and shrink the database; turns that can be resumed stay."""
    from preflight_rag.app import Preflight

    with Preflight.open(library, "offline", threads=threads) as preflight:
        before, after = preflight.prune_threads()
    typer.echo(f"{before:,} bytes before, {after:,} after")

"""`serve`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preflight_rag.cli import show
from preflight_rag.cli.main import (
    DEFAULT_LIBRARY,
    EmbedderOption,
    LibraryOption,
    ModelOption,
    ThreadsOption,
    app,
    command,
)
from preflight_rag.cli.options import TURN, with_settings
from preflight_rag.models.chat.chat_models import OFFLINE, model_name
from preflight_rag.state.errors import LibraryMissing, LocalModelError, ModelError, ModelTimeout, ModelUnavailable

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.library.opening import LibraryPlace
from preflight_rag.state.extras import require_extra

"""A guess, far above the cores that one machine of this use has."""


@app.command(epilog="Example: preflight serve --library my-library --port 8765")
@command
@with_settings(*TURN)
def serve(
    library: LibraryOption = DEFAULT_LIBRARY,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but this machine's own needs a key.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for a free one.")] = 8765,
    model: ModelOption = None,
    offer: Annotated[
        list[str] | None,
        typer.Option("--offer", help="A further model that users may choose; repeat."),
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the library if there is none.")] = False,
    cors: Annotated[
        list[str] | None, typer.Option("--cors", help="An origin whose pages may call the API; repeat.")
    ] = None,
    rate: Annotated[int, typer.Option("--rate", min=0, help="Requests a minute for each user; 0: no limit.")] = 600,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Most turns that run at once; others wait.")] = 32,
    user_tokens: Annotated[
        int,
        typer.Option("--user-tokens", min=0, help="Tokens a day that each user may spend on the model; 0: no limit."),
    ] = 0,
    server_tokens: Annotated[
        int, typer.Option("--server-tokens", min=0, help="Tokens a day that all users may spend; 0: no limit.")
    ] = 0,
    upload_mb: Annotated[int, typer.Option("--upload-mb", min=1, help="Largest upload, in megabytes.")] = 200,
    kept_mb: Annotated[
        int, typer.Option("--kept-mb", min=1, help="Most space for all uploads together, in megabytes.")
    ] = 20_000,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print a line for each request.")] = False,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Serve the library: a web page, an HTTP API, and OpenAI's API for any client of it."""
    require_extra("serve", "preflight serve")
    from preflight_rag.server import ServerOptions
    from preflight_rag.server.access import is_local
    from preflight_rag.server.app import serve as run
    from preflight_rag.server.connected_model import ModelEntry
    from preflight_rag.server.options import MEGABYTE

    try:
        preflight, problem = _opened(library, model, embedder=embedder, create=create, threads=threads, **settings)
    except LibraryMissing as error:
        help = "Make one with `preflight ingest PATH`, or an empty one with --create."
        raise LibraryMissing(error.message, help=help) from None
    options = ServerOptions(
        require_keys=not is_local(host),
        cors=tuple(cors or ()),
        offered=tuple(offer or ()),
        wanted=model_name(model) if problem else None,
        problem=str(problem) if problem else None,
        rate=rate,
        user_tokens=user_tokens,
        server_tokens=server_tokens,
        turns=turns,
        upload_bytes=upload_mb * MEGABYTE,
        kept_bytes=kept_mb * MEGABYTE,
        entered=model is None and "PREFLIGHT_MODEL" not in os.environ,
    )
    with preflight:
        show.model_line(preflight.reader.name)
        if options.entered and preflight.reader.by_rule and (entry := ModelEntry.read(preflight.folder)):
            typer.echo(f"preflight: the model that was connected on the page is taken: {entry.model}", err=True)
        for note in preflight.notes:
            typer.echo(f"note: {note}", err=True)
        if problem:
            typer.echo(f"preflight: {problem} Until then answers show what the documents say.", err=True)
        run(preflight, host=host, port=port, options=options, access_log=not quiet, started=_tell)
    typer.echo("preflight: the server has ended", err=True)


def _opened(library: LibraryPlace, model: str | None, **how: Any) -> tuple[Preflight, ModelError | None]:
    """Return the application; where its model cannot be reached, without it, and why."""
    from preflight_rag.app import Preflight

    try:
        return Preflight.open(library, model, **how), None
    except (ModelUnavailable, ModelTimeout, LocalModelError) as error:
        return Preflight.open(library, OFFLINE, **how), error


def _tell(url: str) -> None:
    typer.echo(f"{url}  the page; {url}/v1 for OpenAI clients, {url}/api/docs for programs; Ctrl-C ends")

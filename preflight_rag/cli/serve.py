"""`serve`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
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
from preflight_rag.library.opening import LibraryPlace
from preflight_rag.models.chat.chat_models import OFFLINE, model_name
from preflight_rag.state.errors import (
    LibraryMissing,
    LocalModelError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
)
from preflight_rag.state.extras import require_extra

if TYPE_CHECKING:
    from preflight_rag.app import Preflight
    from preflight_rag.server import ServerOptions


@app.command(epilog="Example: preflight serve --library my-library --port 8765")
@command
@with_settings(*TURN)
def serve(
    library: LibraryOption = DEFAULT_LIBRARY,
    libraries: Annotated[
        Path | None,
        typer.Option("--libraries", help="Serve every library in this folder instead; people choose on the page."),
    ] = None,
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
    fetch_from: Annotated[
        list[str] | None,
        typer.Option(
            "--fetch-from", help="Documents may be added by web addresses that begin so: https://example.org/; repeat."
        ),
    ] = None,
    fetch_private: Annotated[
        bool, typer.Option("--fetch-private", help="Such an address may be in a private network.")
    ] = False,
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
    from preflight_rag.server.options import MEGABYTE
    from preflight_rag.server.several import libraries_in
    from preflight_rag.server.web_fetch import checked_prefixes

    allowed = checked_prefixes(fetch_from or ())
    how: dict[str, Any] = {"embedder": embedder, "create": create, "threads": threads, **settings}
    opened = _opened_all({"": library} if libraries is None else libraries_in(libraries), model, **how)
    preflight, problem = next(iter(opened.values()))
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
        fetch_from=allowed,
        fetch_private=fetch_private,
        entered=model is None and "PREFLIGHT_MODEL" not in os.environ,
    )
    with ExitStack() as stack:
        for each, _ in opened.values():
            stack.enter_context(each)
        _announce(opened, options)
        served: Preflight | Mapping[str, Preflight] = (
            preflight if libraries is None else {name: each for name, (each, _) in opened.items()}
        )
        run(served, host=host, port=port, options=options, access_log=not quiet, started=_tell)
    typer.echo("preflight: the server has ended", err=True)


def _opened(library: LibraryPlace, model: str | None, **how: Any) -> tuple[Preflight, ModelError | None]:
    """Return the application and None; if its model cannot be reached, the application without it and the error."""
    from preflight_rag.app import Preflight

    try:
        return Preflight.open(library, model, **how), None
    except LibraryMissing as error:
        help = "Make one with `preflight ingest PATH`, or an empty one with --create."
        raise LibraryMissing(error.message, help=help) from None
    except (ModelUnavailable, ModelTimeout, LocalModelError) as error:
        return Preflight.open(library, OFFLINE, **how), error


def _opened_all(
    places: Mapping[str, LibraryPlace | Path], model: str | None, **how: Any
) -> dict[str, tuple[Preflight, ModelError | None]]:
    """Return the applications over several libraries, all of them or none."""
    with ExitStack() as stack:
        opened = {}
        for name, place in places.items():
            opened[name] = _opened(LibraryPlace.read(place), model, **how)
            stack.enter_context(opened[name][0])
        stack.pop_all()
    return opened


def _announce(opened: Mapping[str, tuple[Preflight, ModelError | None]], options: ServerOptions) -> None:
    """Print which model answers for each library, and any problems."""
    from preflight_rag.server.connected_model import ModelEntry

    preflight, problem = next(iter(opened.values()))
    show.model_line(preflight.reader.name)
    if options.entered and preflight.reader.by_rule and (entry := ModelEntry.read(preflight.folder)):
        typer.echo(f"preflight: the model that was connected on the page is taken: {entry.model}", err=True)
    for each, _ in opened.values():
        for note in each.notes:
            typer.echo(f"note: {note}", err=True)
    if problem:
        typer.echo(f"preflight: {problem} Until then answers show what the documents say.", err=True)


def _tell(url: str) -> None:
    """Print the server's address."""
    typer.echo(f"{url}  the page; {url}/v1 for OpenAI clients, {url}/api/docs for programs; Ctrl-C ends")

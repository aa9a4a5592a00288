"""`mcp`: the library for assistants that speak the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from preflight_rag.cli.main import (
    DEFAULT_LIBRARY,
    EmbedderOption,
    LibraryOption,
    ModelOption,
    ThreadsOption,
    app,
    command,
)
from preflight_rag.cli.options import with_settings
from preflight_rag.state.extras import require_extra


@app.command(epilog="Example: preflight mcp --library my-library")
@command
@with_settings("instructions")
def mcp(
    library: LibraryOption = DEFAULT_LIBRARY,
    transport: Annotated[
        Literal["stdio", "http"],
        typer.Option("--transport", help="stdio, for a client that starts the server itself, or http."),
    ] = "stdio",
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but this machine's own needs a key.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for a free one.")] = 8790,
    model: ModelOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Serve a library over MCP: tools that ask, search and read, and its documents as resources."""
    require_extra("mcp", "preflight mcp")
    from preflight_rag.app import Preflight
    from preflight_rag.mcp.serve import serve_http, serve_stdio

    with Preflight.open(library, model, embedder=embedder, threads=threads, **settings) as preflight:
        typer.echo(f"model: {preflight.reader.name}", err=True)
        if transport == "stdio":
            serve_stdio(preflight)
        else:
            serve_http(preflight, host, port, lambda url: typer.echo(f"listening: {url}", err=True))

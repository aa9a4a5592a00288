"""Options of commands that are fields of `Settings`: their types and texts are written once, there."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from preflight_rag.state.context import ABOUT, Panel, Settings

PANELS: dict[str, tuple[str, ...]] = {
    panel: tuple(name for name, about in ABOUT.items() if about.panel == panel) for panel in get_args(Panel)
}
"""The settings that commands have options for, by their headings."""
TURN = tuple(chain.from_iterable(PANELS.values()))
SEARCH = tuple(name for name in TURN if ABOUT[name].search)


def with_settings(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option for each setting; the command receives the options that were used as `settings`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            given = {name: kwargs.pop(name) for name in names}
            settings = {name: value for name, value in given.items() if value not in (None, [])}
            return function(*args, settings=settings, **kwargs)

        signature = inspect.signature(function, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != "settings"]
        run.__signature__ = signature.replace(parameters=[*own, *map(_option, names)])  # type: ignore[attr-defined]
        return run

    return decorate


def _option(name: str) -> inspect.Parameter:
    """Return the option of a setting as a parameter that Typer reads."""
    field = Settings.model_fields[name]
    kind, several = _plain(field.annotation)
    default = "" if field.default in (None, (), "") else f" ({field.default})"
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    text = f"{field.description}{' One of: ' + ', '.join(choices) + '.' if choices else ''}{default}"
    flag = f"--{name.replace('_', '-')}"
    info = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=f"{text} Repeat." if several else text,
        show_default=False,
        rich_help_panel=ABOUT[name].panel,
    )
    annotation = Annotated[(list[str] if several else kind) | None, info]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _plain(annotation: Any) -> tuple[type, bool]:
    """Return the type that the command line reads, and whether the option may be repeated."""
    if get_origin(annotation) is tuple:
        return str, True
    if get_origin(annotation) is Literal:
        return str, False
    inner = [part for part in typing.get_args(annotation) if part is not type(None)]
    return (inner[0] if inner else annotation), False

"""Write the parts of the docs that come from the code.

- docs/cli.md: every command with its own options;
- docs/settings.md: the table of settings, from the fields of `Settings`;
- state/context.py: the same fields as keyword arguments, for type checkers;
- docs/how-it-works.md: the graph's picture, as the compiled graph draws it.

python docs/generate.py           write them
python docs/generate.py --check   fail when they are not what the code says
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main

from preflight_rag.cli import app
from preflight_rag.cli.options import PANELS
from preflight_rag.graph.build import build_graph
from preflight_rag.state.calls import CHOICES
from preflight_rag.state.context import Settings

ROOT = Path(__file__).parent.parent
SHARED = 5
"""An option that so many commands have with the same text is described once, at the top of docs/cli.md."""


def with_part(path: Path, name: str, made: str) -> str:
    """Return a page, or a file of Python, with what stands between the marks of a part replaced."""
    begin, end = f"<!-- {name}: made by docs/generate.py -->", f"<!-- /{name} -->"
    if path.suffix == ".py":
        begin, end = f"# {name}: made by docs/generate.py", f"# /{name}"
    text, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}",
        lambda _: f"{begin}\n{made}\n{end}",
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{path} has no place for the {name}")
    return text


def picture() -> str:
    """Return docs/how-it-works.md with the graph as it is compiled."""
    drawn = build_graph().compile().get_graph().draw_mermaid(with_styles=False).replace("&nbsp;", "").strip()
    return with_part(ROOT / "docs" / "how-it-works.md", "graph", f"```mermaid\n{drawn}\n```")


def settings() -> str:
    """Return docs/settings.md with a table of every field of `Settings`."""
    listed = [name for names in PANELS.values() for name in names]
    unlisted = tuple(name for name in Settings.model_fields if name not in listed)
    parts = []
    for title, names in (*PANELS.items(), ("By variable or in Python alone", unlisted)):
        rows = "\n".join(setting_row(name) for name in names)
        parts.append(f"### {title}\n\n| setting | default | meaning |\n| --- | --- | --- |\n{rows}")
    return with_part(ROOT / "docs" / "settings.md", "settings", "\n\n".join(parts))


def setting_row(name: str) -> str:
    """Return the line of one setting."""
    field = Settings.model_fields[name]
    default = "–" if field.default in (None, (), "") else str(field.default)
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    others = [choice for choice in choices if choice != field.default]
    values = f"{default}; or {', '.join(others)}" if others else default
    return f"| `{name}`{'' if name in CHOICES else '°'} | {values} | {field.description} |"


def keywords() -> str:
    """Return state/context.py with the settings as keyword arguments, their types as `Settings` writes them."""
    path = ROOT / "state" / "context.py"
    classes = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    fields = next(node for node in classes if node.name == Settings.__name__)
    lines = []
    for node in fields.body:
        match node:
            case ast.AnnAssign(ast.Name(name), ast.Subscript(ast.Name("Annotated"), ast.Tuple([kind, *_]))):
                given = "Sequence[str] | str" if name == "where" else ast.unparse(kind).removesuffix(" | None")
                if name != "k":  # which a search takes by place
                    lines.append(f"    {name}: {given} | None")
    head = (
        "class GivenWithoutK(TypedDict, total=False):\n"
        '    """The settings as keyword arguments, but for `k`; None means "not given", as leaving one out does."""\n\n'
    )
    return with_part(path, "given settings", head + "\n".join(lines) + "\n\n")


def cli() -> str:
    """Return docs/cli.md: the options that many commands share, then each command with those of its own."""
    root = typer.main.get_command(app)
    every = list(commands(root, "preflight"))
    seen = Counter(described(parameter) for _, command in every for parameter in options(command))
    shared = {text for text, count in seen.items() if count >= SHARED}
    lines = [
        "# Command line",
        "",
        "`preflight COMMAND --help` says the same. [settings.md](settings.md) describes the settings of a turn, such",
        "as `--route`. Many commands have, as their `--help` says:",
        "",
        *sorted(shared),
    ]
    for name, command in every:
        if getattr(command, "commands", None) and not command.epilog:
            continue  # a group of commands, which does nothing by itself
        lines += ["", f"## `{name}`", "", *entry(name, command, shared)]
    return "\n".join(lines) + "\n"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a command and those below it, with their full names."""
    yield name, command
    for child, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {child}")


def options(command: Any) -> list[Any]:
    """Return a command's options without the settings of a turn."""
    own = (parameter for parameter in command.params if parameter.param_type_name == "option")
    return [parameter for parameter in own if panel_of(parameter) is None]


def panel_of(parameter: Any) -> str | None:
    """Return the panel of settings that an option belongs to, or None for an option of the command's own."""
    panel = getattr(parameter, "rich_help_panel", None)
    return panel if isinstance(panel, str) and parameter.name in PANELS.get(panel, ()) else None


def described(parameter: Any) -> str:
    """Return the line of an option or argument."""
    if parameter.param_type_name == "argument":
        names = parameter.name.upper()
    else:
        names = ", ".join([*sorted(parameter.opts, key=len), *parameter.secondary_opts])
    notes = []
    if parameter.param_type_name == "option" and getattr(parameter, "envvar", None):
        notes.append(f"`{parameter.envvar}`")
    default = parameter.default
    shown = default is not None and not isinstance(default, bool | list | tuple) and default != ""
    if shown and getattr(parameter, "show_default", False):
        notes.append(f"default {default}")
    return f"- `{names}`: {parameter.help or ''}{' (' + ', '.join(notes) + ')' if notes else ''}"


def entry(name: str, command: Any, shared: set[str]) -> Iterator[str]:
    """Yield the lines of one command: what it does, its arguments and options, an example."""
    yield re.sub(r"[\b\f]", "", command.help or "").strip()
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    own = [described(parameter) for parameter in options(command)]
    lines = [described(parameter) for parameter in arguments] + [line for line in own if line not in shared]
    if lines:
        yield ""
        yield from lines
    if given := list(settings_of(command)):
        yield ""
        yield f"Settings: {', '.join(given)}."
    if command.epilog:
        yield ""
        yield re.sub(r"^Example: (.*?)(?: --library my-library)?$", r"Example: `\1`", command.epilog.strip())


def settings_of(command: Any) -> Iterator[str]:
    """Yield the settings of a turn that a command takes: whole panels by name, the rest one by one."""
    given = [parameter for parameter in command.params if panel_of(parameter)]
    counts = Counter(panel_of(parameter) for parameter in given)
    whole = [panel for panel, names in PANELS.items() if counts[panel] == len(names)]
    for parameter in given:
        if panel_of(parameter) not in whole:
            yield f"`{max(parameter.opts, key=len)}`"
    if whole == list(PANELS):
        yield "all of a turn"
    elif whole:
        yield f"those of {' and '.join(panel.lower() for panel in whole)}"


def main() -> int:
    """Write or check."""
    stale = []
    pages = {
        "docs/how-it-works.md": picture,
        "docs/settings.md": settings,
        "docs/cli.md": cli,
        "state/context.py": keywords,
    }
    for name, make in pages.items():
        path, text = ROOT / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"not up to date: {', '.join(stale)}; run `make docs`", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

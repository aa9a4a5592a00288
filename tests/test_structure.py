"""The house is in order: imports point one way, nodes are wired, tested and named alike, docs are complete."""

import ast
import inspect
from pathlib import Path

import pytest
import typer.main

from preflight_rag.cli import app
from preflight_rag.graph.build import build_graph

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "state": set(),
    "prompts": {"state"},
    "models": {"prompts", "state"},
    "library": {"models", "state"},
    "nodes": {"prompts", "library", "models", "state"},
    "graph": {"nodes", "prompts", "library", "models", "state"},
    "evaluation": {"graph", "nodes", "prompts", "library", "models", "state"},
}
NODES = sorted(path.stem for path in (ROOT / "nodes").glob("*.py") if path.stem != "__init__")


def imported_rooms(path, room):
    depth = len(path.relative_to(ROOT / room).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            for name in [node.module] if node.module else [alias.name for alias in node.names]:
                yield name.split(".")[0]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                if name and name.startswith("preflight_rag."):
                    yield name.split(".")[1]


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_one_way(room):
    for path in (ROOT / room).rglob("*.py"):
        back = set(imported_rooms(path, room)) - MAY_IMPORT[room] - {room}
        assert not back, f"{path.relative_to(ROOT)} imports {back}"


@pytest.mark.parametrize("node", NODES)
def test_every_node_is_wired_tested_documented_and_named_alike(node):
    graph = build_graph()
    assert node in graph.nodes
    function = getattr(__import__(f"preflight_rag.nodes.{node}", fromlist=[node]), node)
    assert inspect.iscoroutinefunction(function)
    assert inspect.getdoc(function)
    assert (ROOT / "tests" / "nodes" / f"test_{node}.py").exists()
    assert f"**{node}**" in (ROOT / "README.md").read_text(encoding="utf-8")


def commands(command, name):
    yield name, command
    for child, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, f"{name} {child}")


@pytest.mark.parametrize(("name", "command"), list(commands(typer.main.get_command(app), "preflight")))
def test_every_command_is_in_the_docs_with_an_example(name, command):
    assert f"`{name}" in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert command.help
    if not getattr(command, "commands", None):
        assert command.epilog.startswith("Example: preflight")


def test_the_changelog_knows_the_version():
    from preflight_rag import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")

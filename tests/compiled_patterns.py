"""Every regular expression of the package, found by walking it: none has to be listed to be tried.

Two ways, since neither finds all: what hangs on the modules once they are imported (names, classes, lists, tables), and
what the source hands to `re`, inside functions, too. An expression that needs the variables of a function cannot be
evaluated from outside; whoever collects gives an example of it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from preflight_rag.text.lazy_patterns import LazyPattern

PACKAGE = Path(__file__).resolve().parent.parent / "preflight_rag"
METHODS = {"search", "sub", "subn", "split", "findall", "finditer", "match", "fullmatch"}
LOOP = "(loop)"


@dataclass
class Found:
    """A pattern, where it stands, and by which methods it is used."""

    pattern: re.Pattern[Any]
    places: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)


def collect(
    leave_out: tuple[str, ...], examples: Mapping[tuple[str, str], str]
) -> tuple[dict[str, Found], set[tuple[str, str]]]:
    """All patterns by their first place, and the expressions built from data that have no example.

    Args:
        leave_out: Beginnings of paths, below the package, of files whose patterns are not wanted.
        examples: For `(path, expression in the source)` what it may become.

    Returns:
        The patterns, and each `(path, expression)` that has no example.
    """
    trees = {path: ast.parse((PACKAGE / path).read_text("utf-8")) for path in files(leave_out)}
    methods = _methods_by_name(trees)
    found: dict[Any, Found] = {}
    missing = set()

    def add(pattern: re.Pattern[Any], place: str, used: set[str]) -> None:
        entry = found.setdefault((pattern.pattern, pattern.flags), Found(pattern))
        entry.places.add(place)
        entry.methods |= used

    for path, tree in trees.items():
        module = importlib.import_module(_module_name(path))
        for at, (name, pattern) in enumerate(_on_module(module)):
            # What stands in a list or a table is used by the name of a loop.
            alone = vars(module).get(name) is pattern
            add(pattern, f"{path}:{name}" if alone else f"{path}:{name}:{at}", methods[path, name if alone else LOOP])
        for call, local in calls(tree):
            expression, flags = call.args[0], _flags(call, module)
            source = ast.unparse(expression)
            used = {call.func.attr} & METHODS  # type: ignore[attr-defined]
            if local is None:
                continue
            if not local:
                value = eval(source, vars(module))
                if not isinstance(value, re.Pattern):
                    add(re.compile(value, flags), f"{path}:{call.lineno}:{call.col_offset}", used)
            elif (path, source) in examples:
                add(re.compile(examples[path, source], flags), f"{path}:{source}", used)
            else:
                missing.add((path, source))
    for each in found.values():
        each.methods = each.methods or {"search", "match"}
    named = {min(each.places, key=_by_name): each for each in found.values()}
    assert len(named) == len(found)
    return named, missing


def _by_name(place: str) -> tuple[bool, str]:
    return place.split(":")[1].isdigit(), place


def files(leave_out: tuple[str, ...]) -> Iterator[str]:
    """The package's Python files by their paths in it; its rooms that are links are walked, too."""
    rooms = [PACKAGE, *sorted(each for each in PACKAGE.iterdir() if each.is_dir())]
    for room in rooms:
        for path in sorted(room.glob("*.py") if room is PACKAGE else room.rglob("*.py")):
            inside = str(path.relative_to(PACKAGE))
            if not inside.startswith(leave_out) and path.name != "__main__.py":
                yield inside


def _module_name(path: str) -> str:
    return ".".join(["preflight_rag", *path.removesuffix(".py").removesuffix("__init__").strip("/").split("/")]).strip(
        "."
    )


def _on_module(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """`(name on the module, pattern)`, also those in classes, lists and tables."""
    for name, value in vars(module).items():
        if not name.startswith("__"):
            for pattern in _within(value, module, 0):
                yield name, pattern


def _within(value: Any, module: ModuleType, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LazyPattern):
        yield value.compiled
    elif depth > 4:
        return
    elif isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from _within(each, module, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _within(each, module, depth + 1)
    elif getattr(value if isinstance(value, type) else type(value), "__module__", "") == module.__name__:
        for each in list(getattr(value, "__dict__", {}).values()):
            yield from _within(each, module, depth + 1)


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, bool | None]]:
    """Calls of `re`'s functions, and whether the expression needs variables of the function that it stands in.

    None for one in a loop of the module itself: it is made of the module's own words, and hangs on the module.
    """

    def walk(node: ast.AST, local: frozenset[str], in_loop: bool) -> Iterator[tuple[ast.Call, bool | None]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            local |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
            local |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        elif not local and isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            in_loop = True
        if isinstance(node, ast.Call) and _is_of_re(node.func):
            names_used = {each.id for each in ast.walk(node.args[0]) if isinstance(each, ast.Name)}
            yield node, None if in_loop else bool(names_used & local)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, local, in_loop)

    yield from walk(tree, frozenset(), False)


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in METHODS | {"compile"}
    )


def _flags(call: ast.Call, module: ModuleType) -> int:
    """The flags of a call, by name or in the place where each function of `re` takes them."""
    place = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}
    at = place.get(call.func.attr, 4 if call.func.attr in ("sub", "subn") else 3)  # type: ignore[attr-defined]
    given = [each.value for each in call.keywords if each.arg == "flags"] or call.args[at : at + 1]
    return int(eval(ast.unparse(given[0]), vars(module))) if given else 0


def _methods_by_name(trees: Mapping[str, ast.AST]) -> defaultdict[tuple[str, str], set[str]]:
    """By which methods the pattern of a `(path, name)` is used; `(path, LOOP)` is for those that go by other names."""
    methods: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    everywhere: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        owners = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS | {"pattern"}:
                owner = node.value
                name = (
                    owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
                )
                owners.add(id(owner))
                if name.strip("_").isupper() or (name != "re" and node.attr != "split"):  # strings are split, too
                    methods[path, name if name.strip("_").isupper() else LOOP] |= {node.attr} & METHODS
                    everywhere[name] |= {node.attr} & METHODS
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or id(node) in owners:
                continue
            if node.id.strip("_").isupper():
                methods[path, node.id] |= methods[path, LOOP]
                everywhere[node.id] |= methods[path, LOOP]
    for path, name in list(methods):
        if not name.startswith("_"):  # other rooms may import it
            methods[path, name] |= everywhere[name]
    return methods

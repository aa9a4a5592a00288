"""Long regular expressions: each needs an example that it matches and one that it must not match.

An example is `(module, name of the pattern, text that it matches, text that it must not match)`.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from preflight_rag.text.lazy_patterns import LazyPattern

LONG = 80
"""Characters of a pattern; a longer one needs an example."""
Example = tuple[ModuleType, str, str, str]


def check_example(example: Example, *, at_start: bool = False) -> None:
    """Assert that a pattern is found in its first text and not in the other; `at_start`: only at the text's start."""
    module, name, matching, other = example
    pattern = getattr(module, name)
    find = pattern.match if at_start else pattern.search
    assert find(matching)
    assert not find(other)


def example_id(example: Example) -> str:
    """Return the name of an example's test, e.g. `values-DATE`."""
    module, name, _, _ = example
    return f"{module.__name__.rpartition('.')[2]}-{name}"


def modules_of(package: ModuleType) -> list[ModuleType]:
    """Return the modules of a package and of the packages below it."""
    below = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(info.name) for info in below]


def long_patterns(modules: Iterable[ModuleType]) -> set[tuple[str, str]]:
    """Return `(module's name, pattern's name)` of the long patterns that the modules define, not of imported ones."""
    found = set()
    for module in modules:
        for name in _assigned_names(module):
            value = getattr(module, name, None)
            if isinstance(value, re.Pattern | LazyPattern) and len(value.pattern) > LONG:
                found.add((module.__name__, name))
    return found


def names_of(examples: Sequence[Example]) -> set[tuple[str, str]]:
    """Return `(module's name, pattern's name)` of the examples."""
    return {(module.__name__, name) for module, name, _, _ in examples}


def _assigned_names(module: ModuleType) -> list[str]:
    """Return the names that a module's own source assigns at its top level."""
    names = []
    for statement in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            names += [target.id for target in statement.targets if isinstance(target, ast.Name)]
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.append(statement.target.id)
    return names

"""The tree of errors."""

import re
from pathlib import Path

import pytest

from preflight_rag.state import errors

ROOMS = ("preflight_rag", "graph", "nodes", "prompts", "library", "models", "state", "evaluation")
ROOT = Path(__file__).parents[2]
LEAVES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.PreflightError) and not kind.__subclasses__()
]


def test_an_error_is_one_line_with_the_way_out():
    error = errors.LibraryMissing("no library\nat x", help="Make one.")
    assert str(error) == "no library at x. Make one."


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_is_raised_somewhere_and_drawn_in_the_tree(kind):
    code = "\n".join(path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    assert re.search(rf"\b{kind.__name__}\(\s*f?[\"']|raise {kind.__name__}\b|return {kind.__name__}\(", code)
    assert re.search(rf"── {kind.__name__}\b", errors.__doc__)

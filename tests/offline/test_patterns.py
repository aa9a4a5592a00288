"""Long regular expressions, each with a text that it matches and one that it must not."""

import re

import pytest

from preflight_rag.offline import tables

EXAMPLES = [(tables, "_EXTREME", "Which team has the most cups", "Which team has a cup")]


@pytest.mark.parametrize(("module", "name", "matching", "other"), EXAMPLES)
def test_long_pattern_matches_its_example_alone(module: object, name: str, matching: str, other: str) -> None:
    pattern: re.Pattern[str] = getattr(module, name)
    assert pattern.search(matching)
    assert not pattern.search(other)

"""Which files of tests are slow: `make test` runs the tests without the mark `slow`, `make test-all` every test.

A test is slow where its file says `pytestmark = pytest.mark.slow` (or a list with it), or by a decorator of its own.
"""

from __future__ import annotations

import re

WHOLE = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)
"""Of several marks it is the first."""


def is_slow_as_a_whole(source: str) -> bool:
    """Return whether every test of a file is slow, by its source text."""
    return WHOLE.search(source) is not None


def has_slow_tests(source: str) -> bool:
    """Return whether some test of a file is slow, by its source text."""
    return "pytest.mark.slow" in source

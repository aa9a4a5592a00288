"""How often a test brings a fault about: few times in `make test-all`, as docs/RELIABILITY.md says in `make faults`."""

import os
import sys
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
FULL = os.environ.get("PREFLIGHT_FAULTS") == "full"


def times(short: T, full: T) -> T:
    """The count, or the cases, for this run."""
    return full if FULL else short


def report(figures: str) -> None:
    """A line of figures that are measured and not asserted; `pytest -rP` shows it."""
    sys.stdout.write(f"{figures}\n")


def examples(short: int, full: int) -> settings:
    """So many examples of hypothesis in this run, the same in each; busy machines are no reason to fail."""
    unhurried = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
    return settings(
        max_examples=times(short, full), derandomize=True, database=None, deadline=None, suppress_health_check=unhurried
    )

"""Two systems on the same questions: differences with intervals, exact tests, and Holm's correction for several tests.

The sign test counts the questions on which one system does better than the other; for right and wrong answers it is
McNemar's exact test (McNemar 1947), so one function serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean_difference


@dataclass(frozen=True)
class Paired:
    """A comparison of two systems.

    Attributes:
        difference: Mean of first − second, with its paired bootstrap interval.
        wins: Questions on which only the first is right, or scores higher.
        ties: Questions on which both score the same.
        losses: Questions on which only the second is right, or scores higher.
        p: Of the two-sided exact test; 1 where nothing differs.
        holm: The same, corrected for the family of tests; `p` until it is corrected.
    """

    difference: Estimate
    wins: int
    ties: int
    losses: int
    p: float
    holm: float

    def as_json(self) -> dict[str, Any]:
        """For figures, rounded to 6 places."""
        counts = {"wins": self.wins, "ties": self.ties, "losses": self.losses}
        return {"difference": self.difference.as_json(), **counts, "p": round(self.p, 6), "holm": round(self.holm, 6)}


def paired(first: Sequence[float], second: Sequence[float], *, seed: int) -> Paired:
    """Compare two systems' scores, each of shape (n,), question by question."""
    pairs = list(zip(first, second, strict=True))
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    p = sign_test(wins, losses)
    difference = bootstrap(mean_difference, [float(a) for a in first], [float(b) for b in second], seed=seed)
    return Paired(difference, wins, len(pairs) - wins - losses, losses, p, p)


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p-value that wins and losses are equally likely; ties do not count."""
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979), in the order given.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none becomes less than the one before it, or
    more than 1.
    """
    corrected, reached = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = reached
    return corrected


def corrected(family: Sequence[Paired]) -> list[Paired]:
    """The comparisons of one family, with their corrected p-values."""
    values = holm([comparison.p for comparison in family])
    return [replace(comparison, holm=value) for comparison, value in zip(family, values, strict=True)]

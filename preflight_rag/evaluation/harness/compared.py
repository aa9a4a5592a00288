"""Tables of arms that answered the same questions: accuracy, cost, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from preflight_rag.evaluation.harness.arms import Case, Scored, answered, pairs
from preflight_rag.evaluation.harness.paired import Paired, corrected, paired
from preflight_rag.evaluation.intervals import Estimate, share
from preflight_rag.evaluation.report import Table, figures, number

COUNTS = {"unreadable": "unreadable", "refused": "refused", "abstained": "abstained"}


@dataclass(frozen=True)
class Compared:
    """What came of a comparison.

    Attributes:
        tables: Accuracy and cost; the paired differences, where there are several arms.
        figures: Their numbers.
        estimates: Strict accuracy by arm.
        tests: Paired comparisons, by (arm, compared with).
    """

    tables: tuple[Table, ...]
    figures: dict[str, Any]
    estimates: dict[str, Estimate]
    tests: dict[tuple[str, str], Paired]


def compare(cases: Sequence[Case], *, seed: int, baseline: str | None = None, title: str = "") -> Compared:
    """Compare the arms of cases; those that not every arm has answered are counted and left out.

    Args:
        cases: As `ask_arms` gives them.
        seed: Of the bootstrap.
        baseline: The arm that all others are compared with; without it, each is compared with each. All comparisons of
            one call are one family for Holm's correction.
        title: Of the tables.
    """
    kept = answered(cases)
    arms = list(kept[0].arms) if kept else []
    columns = {arm: [case.arms[arm] for case in kept] for arm in arms}
    scores = {arm: [scored.score.value for scored in column] for arm, column in columns.items()}
    estimates = {arm: share(values, seed=seed) for arm, values in scores.items()}
    chosen = pairs(arms, baseline)
    family = corrected([paired(scores[a], scores[b], seed=seed) for a, b in chosen])
    tests = dict(zip(chosen, family, strict=True))
    choices = any(case.question.options for case in kept)
    failed = len(cases) - len(kept)
    numbers: dict[str, Any] = {"questions": len(kept), "failed": failed}
    numbers["arms"] = {arm: _figures(column, estimates[arm], seed) for arm, column in columns.items()}
    numbers["paired"] = {f"{a} - {b}": test.as_json() for (a, b), test in tests.items()}
    tables = [_accuracy(columns, estimates, numbers["arms"], title or f"{len(kept):,} questions", choices, failed)]
    if tests:
        tables.append(_differences(tests, title))
    return Compared(tuple(tables), numbers, estimates, tests)


def _figures(column: Sequence[Scored], strict: Estimate, seed: int) -> dict[str, Any]:
    usages = [scored.usage for scored in column]
    spent = {name: sum(getattr(usage, name) for usage in usages) / len(usages) for name in _SPENT}
    fallback = share([scored.score.fallback for scored in column], seed=seed)
    return {
        **figures({"strict": strict, "fallback": fallback}),
        **{name: sum(getattr(scored.score, name) for scored in column) for name in COUNTS},
        "no_reply": sum(bool(scored.answer.error) for scored in column),
        "wrong": sum(scored.score.wrong for scored in column),
        **{name: round(value, 4) for name, value in spent.items()},
        "estimated": any(usage.estimated for usage in usages),
    }


_SPENT = ("calls", "input_tokens", "output_tokens")


def _accuracy(
    columns: dict[str, list[Scored]],
    estimates: dict[str, Estimate],
    numbers: dict[str, dict[str, Any]],
    title: str,
    choices: bool,
    failed: int,
) -> Table:
    rows = []
    for arm in columns:
        told = numbers[arm]
        held = told["fallback"]
        loose = (number(Estimate(held["value"], held["low"], held["high"]), percent=True),) if choices else ()
        counts = (*(told[name] for name in COUNTS), told["no_reply"])
        spent = (f"{told['calls']:.2f}", f"{told['input_tokens']:,.0f}", f"{told['output_tokens']:,.0f}")
        rows.append((arm, number(estimates[arm], percent=True), *loose, *map(str, counts), *spent))
    head = ("arm", "right %", *(["MIRAGE's scorer %"] if choices else []), *COUNTS.values(), "no reply")
    note = "Right: strict; what cannot be read, was refused or did not come is wrong. "
    note += "MIRAGE's scorer takes what cannot be read as the first option. " if choices else ""
    note += "Calls and tokens are for one question, as if no reply had been cached. "
    note += f"{failed:,} questions that not every arm has answered are left out. " if failed else ""
    note += "[95 %: Wilson for shares, bootstrap for means.]"
    return Table(title, (*head, "calls", "tokens read", "tokens written"), tuple(rows), note)


def _differences(tests: dict[tuple[str, str], Paired], title: str) -> Table:
    rows = tuple(
        (
            f"{first} − {second}",
            number(test.difference, percent=True, signed=True),
            *map(str, (test.wins, test.ties, test.losses)),
            p_value(test.p),
            p_value(test.holm),
        )
        for (first, second), test in tests.items()
    )
    note = (
        "Difference in points, paired over the questions [95 %: bootstrap]. p: McNemar's exact test (the sign test, "
        f"where scores are shares); p (Holm): corrected for the {len(tests)} comparisons of this table."
    )
    head = ("arms", "difference", "win", "tie", "lose", "p", "p (Holm)")
    return Table(f"{title}, paired" if title else "Paired differences", head, rows, note)


def p_value(p: float) -> str:
    """A cell: three places, or that it is less."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"

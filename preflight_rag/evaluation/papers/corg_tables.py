"""Tables and plots of answers by COrg's measures, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from preflight_rag.evaluation.harness.arms import Case, answered
from preflight_rag.evaluation.harness.compared import p_value
from preflight_rag.evaluation.harness.paired import Paired, corrected, paired
from preflight_rag.evaluation.intervals import Estimate, average, wilson
from preflight_rag.evaluation.papers.corg_measures import MEASURES, Grader
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.report import Table, figures, number

HEADLINE = ("answers", "both", "disambig")
"""The measures that systems are compared in."""
Graded = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Measured:
    """The measures of arms over the same cases.

    Attributes:
        cases: Those that every arm answered.
        grades: For each of them the measures by arm.
        estimates: Mean of each measure by arm, over the cases where it is defined.
        grader: What reads for Disambig-F1.
        ceiling: Disambig-F1 of the right answers written out, by the same reader.
        seed: Of the bootstrap.
    """

    cases: tuple[Case, ...]
    grades: tuple[Graded, ...]
    estimates: dict[str, dict[str, Estimate]]
    grader: str
    ceiling: Estimate
    seed: int

    def columns(self, arm: str, measure: str) -> list[float]:
        """An arm's values, where the measure is defined: that depends on the question, so arms can be paired."""
        values = (grades[arm][measure] for grades in self.grades)
        return [value for value in values if value is not None]

    @property
    def arms(self) -> list[str]:
        """Their names, in order."""
        return list(self.cases[0].arms) if self.cases else []

    @property
    def figures(self) -> dict[str, Any]:
        """The estimates as JSON, and what Disambig-F1 can reach."""
        return {arm: figures(found) for arm, found in self.estimates.items()} | {"ceiling": self.ceiling.as_json()}


def measure(cases: Sequence[Case], grader: Grader, *, seed: int) -> Measured:
    """Grade the answers of all cases that every arm has answered."""
    kept = tuple(answered(cases))
    grades = tuple(grader.case(case) for case in kept)
    estimates = {
        arm: {
            name: average([value for told in grades if (value := told[arm][name]) is not None], seed=seed)
            for name in MEASURES
        }
        for arm in (kept[0].arms if kept else ())
    }
    reached = [value for case in kept if (value := grader.ceiling(case.question)) is not None]
    return Measured(kept, grades, estimates, grader.name, average(reached, seed=seed), seed)


def measure_table(found: Measured, title: str, note: str = "") -> Table:
    """One row an arm: the measures, the share of answers with a wrong one among them, and their length."""
    wrong = [case for case in found.cases if case.question.wrong]
    rows = []
    for arm in found.arms:
        gives = wilson(sum(case.arms[arm].score.wrong for case in wrong), len(wrong))
        words = sum(len(case.arms[arm].answer.text.split()) for case in found.cases) / len(found.cases)
        cells = (number(found.estimates[arm][name], percent=True) for name in MEASURES)
        rows.append((arm, *cells, number(gives, percent=True), f"{words:.0f}"))
    head = ("system", *(f"{name} %" for name in MEASURES.values()), "gives a wrong answer %", "words")
    told = (
        f"Measures of AmbigDocs' scorer; Disambig-F1 by the reader {found.grader}, with which the right answers "
        f"written out get {number(found.ceiling, percent=True)}. "
        f"Wrong answers: of the {len(wrong):,} questions that have some. {note}".rstrip()
    )
    return Table(title, head, tuple(rows), f"{told} [95 %: bootstrap; Wilson for shares.]")


def differences(found: Measured, baseline: str, names: Sequence[str] = HEADLINE) -> dict[tuple[str, str], Paired]:
    """Each arm less the baseline in each measure, paired by question; one family for Holm's correction."""
    pairs = [(arm, name) for arm in found.arms if arm != baseline for name in names]
    tests = [paired(found.columns(arm, name), found.columns(baseline, name), seed=found.seed) for arm, name in pairs]
    return dict(zip(pairs, corrected(tests), strict=True))


def difference_table(tests: dict[tuple[str, str], Paired], baseline: str, title: str) -> Table:
    """One row an arm, for each measure the difference in points and the corrected p."""
    names = list(dict.fromkeys(name for _, name in tests))
    rows = []
    for arm in dict.fromkeys(arm for arm, _ in tests):
        found = [tests[arm, name] for name in names]
        cells = ((number(t.difference, percent=True, signed=True), p_value(t.holm)) for t in found)
        rows.append((f"{arm} − {baseline}", *(cell for pair in cells for cell in pair)))
    head = (column for name in names for column in (MEASURES[name], "p (Holm)"))
    note = f"Points, paired by question [95 %: bootstrap]; sign tests, corrected for the {len(tests)} of this table."
    return Table(title, ("systems", *head), tuple(rows), note)


def paired_figures(tests: dict[tuple[str, str], Paired], baseline: str) -> dict[str, Any]:
    """The differences as JSON."""
    return {f"{arm} - {baseline}, {MEASURES[name]}": test.as_json() for (arm, name), test in tests.items()}


def bars(found: Measured, title: str, names: Sequence[str] = HEADLINE, note: str = "") -> tuple[Bars, ...]:
    """The measures of all arms, to look at; nothing where no case was answered."""
    if not found.arms:
        return ()
    series = tuple(Series(MEASURES[name], tuple(found.estimates[arm][name] for arm in found.arms)) for name in names)
    axis = Axis("mean over the questions", percent=True, low=0.0, high=1.0)
    return (Bars(title, axis, tuple(found.arms), series, note=f"{note} Intervals: 95 %, bootstrap.".strip()),)


def graded_rows(cases: Iterable[Case], found: Measured) -> tuple[dict[str, Any], ...]:
    """The lines of `results.jsonl`, with each arm's measures."""
    grades = {id(case): told for case, told in zip(found.cases, found.grades, strict=True)}
    rows = []
    for case in cases:
        row = case.as_json()
        for arm, told in row["arms"].items():
            values = grades[id(case)][arm] if id(case) in grades else {}
            told["measures"] = {name: None if value is None else round(value, 6) for name, value in values.items()}
        rows.append(row)
    return tuple(rows)

"""Comparisons of rows: means with intervals, paired differences with exact tests, costs; as tables, figures and plots.

    found = compare(rows, by="condition", baseline="RAG", seed=0)
    Report(..., tables=found.tables("16 passages"), figures=found.figures, plots=(found.bars("Right answers"),))

A table has a line for each arm and a column for each condition or measure; `by="arm"` swaps them. A share has Wilson's
interval, any other mean a bootstrap's. The sign test counts the samples on which one side is better than the other; for
right and wrong answers it is McNemar's exact test (McNemar 1947), so one function serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any, Literal, TypeAlias

from evaluation.intervals import Estimate, average, bootstrap, mean_difference, share
from evaluation.plots import BarPlot, LinePlot, PlotAxis, PlotSeries
from evaluation.report import Table, figures, number
from evaluation.rows import ScoreRow, complete, samples_of

Cell: TypeAlias = tuple[str, str]
"""A line and a column of a table."""
Scores: TypeAlias = dict[str, float]
"""Score by sample."""

FALLBACK = "MIRAGE's scorer takes an answer that names no option, an abstention too, as the first one."
INTERVALS = "[95 %: Wilson for shares, bootstrap for means and paired differences.]"
COUNTS = {"unreadable": "unreadable", "refused": "refused", "abstained": "abstained", "error": "no reply"}
"""Counted properties of answers: the row's detail and the column's heading."""


@dataclass(frozen=True)
class PairedScores:
    """A comparison of two sides on the same samples.

    Attributes:
        difference: Mean of first − second, with its paired bootstrap interval.
        wins: Samples on which only the first is right, or scores higher.
        ties: Samples on which both score the same.
        losses: Samples on which only the second is right, or scores higher.
        p: P-value of the two-sided exact test; 1 if nothing differs.
        holm: The same, corrected for the family of tests; `p` until it is corrected.
    """

    difference: Estimate
    wins: int
    ties: int
    losses: int
    p: float
    holm: float

    def as_json(self) -> dict[str, Any]:
        """Return the numbers for figures, rounded to 6 places."""
        counts = {"wins": self.wins, "ties": self.ties, "losses": self.losses}
        return {"difference": self.difference.as_json(), **counts, "p": round(self.p, 6), "holm": round(self.holm, 6)}


def paired(first: Sequence[float], second: Sequence[float], *, seed: int) -> PairedScores:
    """Compare two sides' scores, each of shape (n,), sample by sample."""
    pairs = list(zip(first, second, strict=True))
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    p = sign_test(wins, losses)
    difference = bootstrap(mean_difference, [float(a) for a in first], [float(b) for b in second], seed=seed)
    return PairedScores(difference, wins, len(pairs) - wins - losses, losses, p, p)


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided exact p-value that wins and losses are equally likely; ties do not count."""
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0


def corrected(family: Sequence[PairedScores]) -> list[PairedScores]:
    """Return the comparisons of one family in the order given, with p-values corrected for its size (Holm 1979)."""
    from statsmodels.stats.multitest import multipletests

    values = multipletests([one.p for one in family], method="holm")[1] if family else []
    return [replace(one, holm=float(value)) for one, value in zip(family, values, strict=True)]


@dataclass(frozen=True)
class Comparison:
    """The results of `compare`.

    Attributes:
        rows: The rows of the samples that have a score in all of their rows.
        failed: How many samples lack a score.
        scores: The score of each sample, in one order, by line and column.
        estimates: The mean by line and column.
        pairs: The two cells of each comparison, by its name.
        tests: The result of each comparison, by its name.
        seed: Seed of the bootstrap.
        by: What the columns are.
        samples: How many are compared.
    """

    rows: tuple[ScoreRow, ...]
    failed: int
    scores: dict[str, dict[str, Scores]]
    estimates: dict[str, dict[str, Estimate]]
    pairs: dict[str, tuple[Cell, Cell]]
    tests: dict[str, PairedScores]
    seed: int
    by: str
    samples: int

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(dict.fromkeys(name for row in self.estimates.values() for name in row))

    @property
    def left_out(self) -> str:
        """Return a sentence about the samples that are left out; "" if there are none."""
        failed = f"{self.failed:,} questions that not every arm has answered are left out. "
        return failed if self.failed else ""

    @property
    def figures(self) -> dict[str, Any]:
        """Return all numbers as JSON."""
        return {
            "questions": self.samples,
            "failed": self.failed,
            "means": {line: figures(row) for line, row in self.estimates.items()},
            "paired": {name: test.as_json() for name, test in self.tests.items()},
            "spent": self.spent(),
        }

    def tables(self, title: str = "", note: str = "") -> tuple[Table, ...]:
        """Return the tables of means, costs and paired differences; with one column, means and costs share a table."""
        named = title or f"{self.samples:,} questions"
        differences = (self.differences(f"{title}, paired" if title else "Paired differences"),) if self.tests else ()
        if len(self.columns) == 1:
            return (self.costs(named, note, right=True), *differences)
        return (self.means(named, note), *differences, self.costs("Beside the answers"))

    def means(
        self,
        title: str,
        note: str = "",
        *,
        head: str = "right %",
        percent: bool = True,
        intervals: str = INTERVALS,
        differences: bool = False,
    ) -> Table:
        """Return a table of means, with one line and one column each; below them the differences, if requested.

        Args:
            title: Title of the table.
            note: How to read it.
            head: Heading of the first column.
            percent: The scores are shares, shown times 100.
            intervals: The note's text about intervals.
            differences: Whether paired differences have lines of their own, without tests.
        """
        nothing = Estimate(float("nan"), float("nan"), float("nan"))
        lines = []
        for line, row in self.estimates.items():
            lines.append((line, *(number(row.get(name, nothing), percent=percent) for name in self.columns)))
        if differences:
            for label, tests in self._by_lines().items():
                shown = {name: number(t.difference, percent=percent, signed=True) for name, t in tests.items()}
                lines.append((label, *(shown.get(name, "") for name in self.columns)))
        return Table(title, (head, *self.columns), tuple(lines), f"{note} {intervals}".strip())

    def differences(self, title: str, note: str = "") -> Table:
        """Return a table of paired differences in points, one line each, with wins and losses."""
        lines = []
        for name, test in self.tests.items():
            counts = map(str, (test.wins, test.ties, test.losses))
            points = number(test.difference, percent=True, signed=True)
            lines.append((name, points, *counts, p_value(test.p), p_value(test.holm)))
        note = (
            f"{note} Difference in points, paired over the questions [95 %: bootstrap]; p: the exact sign test, of "
            f"right and wrong answers McNemar's; p (Holm): corrected for the {len(lines)} comparisons of this table."
        )
        return Table(title, ("", "difference", "win", "tie", "lose", "p", "p (Holm)"), tuple(lines), note.strip())

    def difference_grid(self, title: str) -> Table:
        """Return a table with one line for each two compared lines.

        Each column has the difference in points and the corrected p-value.
        """
        grid = self._by_lines()
        names = list(dict.fromkeys(name for tests in grid.values() for name in tests))
        lines = []
        for label, tests in grid.items():
            cells: list[str] = [label]
            for name in names:
                cells += [number(tests[name].difference, percent=True, signed=True), p_value(tests[name].holm)]
            lines.append(tuple(cells))
        heads = ["systems"]
        for name in names:
            heads += [name, "p (Holm)"]
        note = f"Points, paired by question [95 %: bootstrap]; sign tests, corrected for the {len(self.tests)} of this "
        return Table(title, tuple(heads), tuple(lines), f"{note}table.")

    def beside_baseline(self, title: str, note: str = "", *, head: str = "", percent: Collection[str] = ()) -> Table:
        """Return one line each: its means, then for each compared column the difference and the corrected p-value.

        Args:
            title: Title of the table.
            note: How to read it.
            head: Heading of the first column.
            percent: Columns of shares, shown times 100.
        """
        tests = {cells[0]: self.tests[name] for name, cells in self.pairs.items()}
        tested = {column for _, column in tests}
        compared = [column for column in self.columns if column in tested]
        lines = []
        for line, row in self.estimates.items():
            cells = [number(row[name], percent=name in percent) for name in self.columns]
            for column in compared:
                test = tests.get((line, column))
                share = column in percent
                cells += ["–", "–"] if test is None else [
                    number(test.difference, percent=share, signed=True), p_value(test.holm)
                ]  # fmt: skip
            lines.append((line, *cells))
        heads = [name for _ in compared for name in ("difference", "p (Holm)")]
        return Table(title, (head, *self.columns, *heads), tuple(lines), note)

    def costs(
        self, title: str, note: str = "", *, label: Callable[[ScoreRow], str] | None = None, right: bool = False
    ) -> Table:
        """Return a table of replies without an answer, MIRAGE's score if there are options, and the cost of an answer.

        Args:
            title: Title of the table.
            note: How to read it.
            label: Returns the line's name for a row; without it, its arm.
            right: Whether the share of right answers is the first column.
        """
        groups = _answers(self.rows, label)
        choices = _choices(groups)
        lines = []
        for name, answers in groups.items():
            counted = spent_by(answers, seed=self.seed, choices=choices)
            cells = (
                [number(share([row.score or 0.0 for row in answers], seed=self.seed), percent=True)] if right else []
            )
            if choices:
                cells.append(number(_loose(answers, self.seed), percent=True))
            cells += [str(counted[key]) for key in COUNTS]
            cells += [f"{counted['calls']:,.2f}", f"{counted['input_tokens']:,.0f}", f"{counted['output_tokens']:,.0f}"]
            lines.append((name, *cells))
        head = ["arm", "right %"] if right else [""]
        head += ["MIRAGE's scorer %"] if choices else []
        head += [*COUNTS.values(), "calls", "tokens read", "tokens written"]
        if right:
            shown = "Right: strict; what cannot be read, was refused or did not come is wrong. "
            shown += "MIRAGE's scorer takes what cannot be read as the first option. " if choices else ""
            shown += "Calls and tokens are for one question, as if no reply had been cached. "
            shown += f"{self.left_out}[95 %: Wilson for shares, bootstrap for means.]"
        else:
            shown = "Answers that could not be read, were refused or did not come are never right. "
            shown += f"{FALLBACK} " if choices else ""
            shown += "Calls and tokens are for one answer, as if no reply had been cached."
        return Table(title, tuple(head), tuple(lines), f"{note} {shown}".strip())

    def spent(self, *, label: Callable[[ScoreRow], str] | None = None) -> dict[str, Any]:
        """Return the numbers of the table of costs, by the names of its lines."""
        groups = _answers(self.rows, label)
        choices = _choices(groups)
        return {name: spent_by(answers, seed=self.seed, choices=choices) for name, answers in groups.items()}

    def bars(
        self, title: str, label: str = "right answers", note: str = "", *, turned: bool = False, percent: bool = True
    ) -> BarPlot:
        """Return a bar plot of the means: a group of bars for each column, or, if `turned`, each line."""
        estimates, axis = self.estimates, PlotAxis(label, percent=percent)
        series = []
        if turned:
            for name in self.columns:
                series.append(PlotSeries(name, tuple(row[name] for row in estimates.values())))
            return BarPlot(title, axis, tuple(estimates), tuple(series), note=note)
        for line, row in estimates.items():
            series.append(PlotSeries(line, tuple(row[name] for name in self.columns)))
        return BarPlot(title, axis, tuple(self.columns), tuple(series), note=note)

    def lines(
        self,
        title: str,
        x: str,
        at: Mapping[str, float] | Sequence[str],
        label: str = "right answers",
        note: str = "",
    ) -> LinePlot:
        """Return a line plot of the means over the columns in `at`, given in order or with their positions."""
        places: tuple[float, ...] | tuple[str, ...] = tuple(at.values()) if isinstance(at, Mapping) else tuple(at)
        series = tuple(PlotSeries(line, tuple(row[name] for name in at)) for line, row in self.estimates.items())
        return LinePlot(title, x, places, PlotAxis(label, percent=True, low=0.0, high=1.0), series, note=note)

    def _by_lines(self) -> dict[str, dict[str, PairedScores]]:
        """Return the comparisons of two lines: their result by column, by the name "a − b"."""
        grid: dict[str, dict[str, PairedScores]] = {}
        for name, (first, second) in self.pairs.items():
            if first[1] == second[1]:
                grid.setdefault(f"{first[0]} − {second[0]}", {})[first[1]] = self.tests[name]
        return grid


def compare(
    rows: Iterable[ScoreRow],
    *,
    by: Literal["condition", "measure", "arm"] = "condition",
    columns: Mapping[str, Iterable[str]] | Sequence[str] | None = None,
    lines: Sequence[str] | None = None,
    pairs: Mapping[str, tuple[Cell, Cell]] | Sequence[tuple[str, str]] | None = None,
    baseline: str | None = None,
    seed: int = 0,
    wilson: bool | Collection[str] = True,
) -> Comparison:
    """Compare the scores of rows; samples that lack one anywhere are counted and left out.

    Args:
        rows: Rows of one run over one data set.
        by: What the columns are; the lines are the arms, or the conditions if the columns are the arms.
        columns: Which columns, or for each the values of `by` that it includes: a sample's score in a column is the
            mean of its rows there, so that "all" can be a sample's mean over its conditions, or all samples if each has
            one condition. Without it, each value is a column.
        lines: Which lines, in order; without it all.
        pairs: The two cells, by name, that are compared over the samples that both have; or pairs of lines, which are
            compared in every column. Without it, in each column every line is compared with the baseline, or with each
            other.
        baseline: A line. All comparisons of one call are one family for Holm's correction.
        seed: Seed of the bootstrap.
        wilson: Whether shares have Wilson's interval, or the columns in which they have; otherwise they have the
            bootstrap's.
    """
    rows = list(rows)
    kept = complete(rows)
    line_field = "condition" if by == "arm" else "arm"
    values = list(dict.fromkeys(str(getattr(row, by)) for row in kept))
    if columns is None:
        taken = {value: {value} for value in values}
    elif isinstance(columns, Mapping):
        taken = {name: set(wanted) for name, wanted in columns.items()}
    else:
        taken = {name: {name} for name in columns}
    names = lines if lines is not None else list(dict.fromkeys(str(getattr(row, line_field)) for row in kept))
    shares = set(taken) if wilson is True else set(wilson or ())
    scores: dict[str, dict[str, dict[str, float]]] = {}
    estimates: dict[str, dict[str, Estimate]] = {}
    for line in names:
        scores[line], estimates[line] = {}, {}
        for name, wanted in taken.items():
            found = scores[line][name] = _scores(kept, line_field, line, by, wanted)
            estimates[line][name] = (share if name in shares else average)(list(found.values()), seed=seed)
    if pairs is None:
        pairs = [(a, b) for b, a in combinations(names, 2)]
        if baseline is not None:
            pairs = [(line, baseline) for line in names if line != baseline]
    cells = dict(pairs) if isinstance(pairs, Mapping) else _pairs(pairs, list(taken))
    tests = corrected([_test(scores[a][c], scores[b][d], seed) for (a, c), (b, d) in cells.values()])
    return Comparison(
        rows=tuple(kept),
        failed=len(samples_of(rows)) - len(samples_of(kept)),
        scores=scores,
        estimates=estimates,
        pairs=cells,
        tests=dict(zip(cells, tests, strict=True)),
        seed=seed,
        by=by,
        samples=len(samples_of(kept)),
    )


def spent_by(answers: Sequence[ScoreRow], *, seed: int, choices: bool) -> dict[str, Any]:
    """Return counts and mean costs of answers, and their score by MIRAGE's scorer if there were options."""
    counts: dict[str, Any] = {key: sum(bool(row.details.get(key)) for row in answers) for key in COUNTS}
    means = {
        "calls": fmean(row.calls for row in answers),
        "input_tokens": fmean(row.tokens[0] for row in answers),
        "output_tokens": fmean(row.tokens[1] for row in answers),
    }
    counts |= {name: round(value, 4) for name, value in means.items()}
    counts["wrong"] = sum(bool(row.details.get("wrong")) for row in answers)
    counts["estimated"] = any(row.details.get("estimated") for row in answers)
    return counts | ({"fallback": _loose(answers, seed).as_json()} if choices else {})


def p_value(p: float) -> str:
    """Return a p-value with three decimals, or "<" the least of these."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def _scores(rows: Iterable[ScoreRow], line_field: str, line: str, by: str, wanted: set[str]) -> Scores:
    """Return each sample's mean score in a cell."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if getattr(row, line_field) == line and getattr(row, by) in wanted and row.score is not None:
            found.setdefault(row.sample, []).append(row.score)
    return {sample: sum(scores) / len(scores) for sample, scores in found.items()}


def _pairs(chosen: Sequence[tuple[str, str]], columns: Sequence[str]) -> dict[str, tuple[Cell, Cell]]:
    """Return the two cells of each pair of lines in every column; the second is the reference."""
    return {
        f"{first} − {second}" if len(columns) == 1 else f"{column}: {first} − {second}": (
            (first, column),
            (second, column),
        )
        for column in columns
        for first, second in chosen
    }


def _test(first: Scores, second: Scores, seed: int) -> PairedScores:
    """Return the paired comparison of two score lists over the samples that both have."""
    both = [sample for sample in first if sample in second]
    return paired([first[sample] for sample in both], [second[sample] for sample in both], seed=seed)


def _answers(rows: Iterable[ScoreRow], label: Callable[[ScoreRow], str] | None) -> dict[str, list[ScoreRow]]:
    """Return the answers by the name of their line, each once however many measures it has rows for."""
    once: dict[tuple[str, str, str], ScoreRow] = {}
    for row in rows:
        once.setdefault((row.sample, row.condition, row.arm), row)
    groups: dict[str, list[ScoreRow]] = {}
    for row in once.values():
        groups.setdefault(row.arm if label is None else label(row), []).append(row)
    return groups


def _choices(groups: Mapping[str, Sequence[ScoreRow]]) -> bool:
    """Return whether there were options to choose from."""
    return any(row.details.get("options") for answers in groups.values() for row in answers)


def _loose(answers: Iterable[ScoreRow], seed: int) -> Estimate:
    """Return the score by MIRAGE's scorer, with its interval over samples."""
    by_sample: dict[str, list[float]] = {}
    for row in answers:
        by_sample.setdefault(row.sample, []).append(row.details.get("fallback", row.score or 0.0))
    return share([fmean(values) for values in by_sample.values()], seed=seed)

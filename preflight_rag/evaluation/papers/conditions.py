"""Questions asked under several conditions by the same arms, and the tables that set conditions beside each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from preflight_rag.evaluation.harness.arms import Arm, Case, Scored, ask_arms
from preflight_rag.evaluation.harness.asking import Asking, open_asking
from preflight_rag.evaluation.harness.compared import COUNTS, p_value
from preflight_rag.evaluation.harness.paired import Paired, corrected, paired
from preflight_rag.evaluation.intervals import Estimate, share
from preflight_rag.evaluation.papers.briefcontext import map_reduce, plain
from preflight_rag.evaluation.papers.searched import Searched, open_searched, shown
from preflight_rag.evaluation.report import Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.state.reading import Source

FALLBACK = "MIRAGE's scorer takes an answer that names no option, an abstention too, as the first one."
INTERVALS = "[95 %: Wilson for shares, bootstrap for means and paired differences.]"


@dataclass(frozen=True)
class Placed:
    """A question with the passages of each condition."""

    question: Sample
    conditions: Mapping[str, tuple[Source, ...]]


@dataclass(frozen=True)
class Asked:
    """What came of asking under conditions.

    Attributes:
        cases: All of them, one for each question and condition; the condition ends the id.
        kept: Condition to the cases of the questions that were answered under every condition, in one order.
        failed: Questions that were not.
    """

    cases: tuple[Case, ...]
    kept: dict[str, list[Case]]
    failed: int

    @property
    def questions(self) -> int:
        """How many can be compared."""
        return len(next(iter(self.kept.values())))

    def column(self, condition: str, arm: str) -> list[Scored]:
        """An arm's answers under a condition."""
        return [case.arms[arm] for case in self.kept[condition]]

    def scores(self, condition: str, arm: str) -> list[float]:
        """An arm's strict scores under a condition."""
        return values(self.column(condition, arm))

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The lines of `results.jsonl`."""
        return tuple(case.as_json() for case in self.cases)

    @property
    def left_out(self) -> str:
        """A sentence about the questions that are missing; empty when none is."""
        if not self.failed:
            return ""
        return f"{self.failed:,} questions that were not answered under every condition are left out. "


async def ask_under(arms: Sequence[Arm], placed: Sequence[Placed], asking: Asking, stage: str) -> Asked:
    """Put each question to every arm under each condition, question by question.

    Args:
        arms: All of them see the same passages under a condition.
        placed: The questions; they have the same conditions.
        asking: The model, with its concurrency and budget.
        stage: What the progress bar says.
    """
    names = list(placed[0].conditions)
    cells = [
        (replace(one.question, id=f"{one.question.id}:{name}"), one.conditions[name])
        for one in placed
        for name in names
    ]
    sources = {question.id: passages for question, passages in cells}
    cases = await ask_arms(arms, [question for question, _ in cells], lambda q: sources[q.id], asking, stage)
    groups = [cases[start : start + len(names)] for start in range(0, len(cases), len(names))]
    whole = [group for group in groups if not any(case.error for case in group)]
    kept = {name: [group[place] for group in whole] for place, name in enumerate(names)}
    return Asked(tuple(cases), kept, len(groups) - len(whole))


def ask_around_key(
    found: DataSet, run: Run, place: Callable[[Searched, Sample], Placed], experiment: str
) -> tuple[Asked, str, dict[str, Any]]:
    """RAG and map/reduce under conditions that set a question's key passage among others.

    Args:
        found: The questions and their corpus.
        run: What is asked of the experiment.
        place: The passages of a question under each condition.
        experiment: Its name, for the progress bar.

    Returns:
        What came of it; what the passages are from, for the tables; what the manifest keeps, the model among it.
    """
    with open_searched(found, run) as searched:
        questions = searched.with_key(found, run)
        placed = [place(searched, question) for question in shown(questions, found.name, run)]
        with open_asking(run, questions, searched.gold_texts(questions)) as asking:
            reader = asking.reader(searched.library.embedder)
            arms = [plain(reader), map_reduce(reader)]
            asked = asyncio.run(ask_under(arms, placed, asking, f"{found.name}: {experiment}"))
        return asked, searched.where, {**searched.inputs, "model": asking.name}


def values(column: Iterable[Scored]) -> list[float]:
    """Strict scores."""
    return [scored.score.value for scored in column]


def family(pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], seed: int) -> dict[str, Paired]:
    """Paired comparisons of scores by name, corrected as one family."""
    tests = [paired(first, second, seed=seed) for first, second in pairs.values()]
    return dict(zip(pairs, corrected(tests), strict=True))


def accuracy_table(
    title: str, columns: Mapping[str, Mapping[str, Sequence[float]]], note: str, seed: int
) -> tuple[Table, dict[str, dict[str, Estimate]]]:
    """Shares of right answers, one row an arm, one column a condition, and the same as estimates.

    Args:
        title: Of the table.
        columns: Arm to condition to scores; every arm has the same conditions.
        note: How to read it.
        seed: Of the bootstrap.
    """
    found = {arm: {name: share(held, seed=seed) for name, held in row.items()} for arm, row in columns.items()}
    heads = list(next(iter(columns.values())))
    rows = tuple((arm, *(number(row[name], percent=True) for name in heads)) for arm, row in found.items())
    return Table(title, ("right %", *heads), rows, f"{note} {INTERVALS}".strip()), found


def difference_table(title: str, tests: Mapping[str, Paired], note: str = "") -> Table:
    """Paired differences, with what was won and lost."""
    rows = tuple(
        (
            name,
            number(test.difference, percent=True, signed=True),
            *map(str, (test.wins, test.ties, test.losses)),
            p_value(test.p),
            p_value(test.holm),
        )
        for name, test in tests.items()
    )
    told = (
        f"{note} Difference in points, paired over the questions [95 %: bootstrap]; p: the exact sign test, of right "
        f"and wrong answers McNemar's; p (Holm): corrected for the {len(tests)} comparisons of this table."
    )
    return Table(title, ("", "difference", "win", "tie", "lose", "p", "p (Holm)"), rows, told.strip())


def spent_table(
    title: str, columns: Mapping[str, Sequence[Scored]], seed: int, each: int = 1
) -> tuple[Table, dict[str, Any]]:
    """What could not be counted as an answer, MIRAGE's score where there are options, and what an answer cost.

    Args:
        title: Of the table.
        columns: Answers by the name of their row.
        seed: Of the bootstrap.
        each: How many answers in a row belong to one question; MIRAGE's score has its interval over questions.
    """
    choices = any(scored.score.value != scored.score.fallback for column in columns.values() for scored in column)
    choices = choices or any(scored.choice is not None for column in columns.values() for scored in column)
    rows, numbers = [], {}
    for name, column in columns.items():
        counts = {key: sum(getattr(scored.score, key) for scored in column) for key in COUNTS}
        counts["no_reply"] = sum(bool(scored.answer.error) for scored in column)
        usages = [scored.usage for scored in column]
        spent = {key: fmean(getattr(usage, key) for usage in usages) for key in _SPENT} if usages else {}
        loose_scores = [scored.score.fallback for scored in column]
        fallback = share([fmean(loose_scores[i : i + each]) for i in range(0, len(column), each)], seed=seed)
        loose = (number(fallback, percent=True),) if choices else ()
        cells = (f"{spent.get(key, 0.0):,.{2 if key == 'calls' else 0}f}" for key in _SPENT)
        rows.append((name, *loose, *map(str, counts.values()), *cells))
        numbers[name] = {**counts, **{key: round(value, 4) for key, value in spent.items()}} | (
            figures({"fallback": fallback}) if choices else {}
        )
    head = ("", *(["MIRAGE's scorer %"] if choices else []), *COUNTS.values(), "no reply", *_SPENT.values())
    note = "Answers that could not be read, were refused or did not come are never right. "
    note += f"{FALLBACK} " if choices else ""
    note += "Calls and tokens are for one answer, as if no reply had been cached."
    return Table(title, head, tuple(rows), note), numbers


_SPENT = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written"}

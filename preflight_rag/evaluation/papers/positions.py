"""Experiment `positions`: does an answer get lost where the key passage stands in the middle?

BriefContext, Fig. 2 and Supplementary Table 1: the key passage is put at the 0th, 25th, 50th, 75th and 100th percentile
of 8 and of 16 passages; plain RAG and BriefContext's map/reduce read identical passages. The others are those that the
corpus' search ranks highest for the question and that do not answer it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from preflight_rag.evaluation.papers.briefcontext import MAP_REDUCE, RAG
from preflight_rag.evaluation.papers.conditions import (
    Asked,
    Placed,
    accuracy_table,
    ask_around_key,
    difference_table,
    family,
    spent_table,
)
from preflight_rag.evaluation.papers.searched import Searched, among
from preflight_rag.evaluation.plots import Axis, Lines, Series
from preflight_rag.evaluation.report import Report, Table, figures
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample

if TYPE_CHECKING:
    from preflight_rag.evaluation.harness.arms import Scored
    from preflight_rag.evaluation.intervals import Estimate

PERCENTILES = (0, 25, 50, 75, 100)
SIZES = (8, 16)
ARMS = (RAG, MAP_REDUCE)
Estimates: TypeAlias = "dict[int, dict[str, dict[str, Estimate]]]"


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with its key passage at every place."""
    asked, where, given = ask_around_key(found, run, _placed, "positions")
    tables, numbers, estimates = measured(asked, where, run.seed)
    return Report(
        experiment="positions",
        dataset=found.title,
        about=f"{asked.questions:,} questions ({run.part} part), {given['model']}.",
        tables=tables,
        rows=asked.rows,
        figures=numbers,
        inputs={**given, "sizes": SIZES, "percentiles": PERCENTILES},
        plots=tuple(_plot(size, estimates[size], given["model"]) for size in SIZES),
    )


def place_of(percentile: int, count: int) -> int:
    """Where a percentile is among `count` passages, from 0; halves are rounded up."""
    return int(percentile * (count - 1) / 100 + 0.5)


def condition(size: int, percentile: int) -> str:
    """Names a condition, in a case's id too."""
    return f"k={size},{percentile}%"


def _placed(searched: Searched, question: Sample) -> Placed:
    key = searched.key(question)
    distractors = searched.nearest(question, key, max(SIZES) - 1)
    return Placed(
        question,
        {
            condition(size, percentile): among(key, distractors[: size - 1], place_of(percentile, size))
            for size in SIZES
            for percentile in PERCENTILES
        },
    )


def measured(asked: Asked, where: str, seed: int) -> tuple[tuple[Table, ...], dict[str, Any], Estimates]:
    """The tables, their numbers, and accuracy by size, arm and percentile; `where` says what the passages are from."""
    tables, estimates = [], {}
    for size in SIZES:
        columns = {
            arm: {f"{at} %": _scores(asked, size, at, arm) for at in PERCENTILES}
            | {"all": _mean(asked, size, arm, PERCENTILES)}
            for arm in ARMS
        }
        note = f"{asked.left_out}By the key passage's percentile; all: mean of a question's five. {where}"
        table, estimates[size] = accuracy_table(f"{size} passages (top_k = {size})", columns, note, seed)
        tables.append(table)
    dips = family({f"{arm}, k = {size}": _ends_and_middle(asked, size, arm) for size in SIZES for arm in ARMS}, seed)
    pairs = {
        f"k = {size}, {at} %": (_scores(asked, size, at, MAP_REDUCE), _scores(asked, size, at, RAG))
        for size in SIZES
        for at in PERCENTILES
    }
    tests = family(pairs, seed)
    answers = {f"{arm}, k = {size}": _answers(asked, size, arm) for size in SIZES for arm in ARMS}
    spent, counts = spent_table("Beside the answers, all positions", answers, seed, each=len(PERCENTILES))
    numbers = {
        "questions": asked.questions,
        "failed": asked.failed,
        "accuracy": {f"k={k}": {arm: figures(row) for arm, row in rows.items()} for k, rows in estimates.items()},
        "dip": {name: test.as_json() for name, test in dips.items()},
        "paired": {name: test.as_json() for name, test in tests.items()},
        "spent": counts,
    }
    dip = difference_table("The dip: key at the ends − in the middle", dips, "Ends: mean of 0 and 100 %.")
    paired = difference_table(f"{MAP_REDUCE} − {RAG} on identical passages", tests)
    return (*tables, dip, paired, spent), numbers, estimates


def _answers(asked: Asked, size: int, arm: str) -> list[Scored]:
    """An arm's answers among `size` passages, the five of a question in a row."""
    columns = [asked.column(condition(size, percentile), arm) for percentile in PERCENTILES]
    return [scored for row in zip(*columns, strict=True) for scored in row]


def _scores(asked: Asked, size: int, percentile: int, arm: str) -> list[float]:
    return asked.scores(condition(size, percentile), arm)


def _mean(asked: Asked, size: int, arm: str, percentiles: Sequence[int]) -> list[float]:
    """Each question's mean score over percentiles."""
    columns = [_scores(asked, size, percentile, arm) for percentile in percentiles]
    return [sum(row) / len(row) for row in zip(*columns, strict=True)]


def _ends_and_middle(asked: Asked, size: int, arm: str) -> tuple[list[float], list[float]]:
    middle = PERCENTILES[len(PERCENTILES) // 2]
    return _mean(asked, size, arm, (PERCENTILES[0], PERCENTILES[-1])), _scores(asked, size, middle, arm)


def _plot(size: int, estimates: dict[str, dict[str, Estimate]], model: str) -> Lines:
    return Lines(
        f"Where the key passage stands among {size} passages",
        "percentile of the key passage",
        tuple(float(at) for at in PERCENTILES),
        Axis("right answers", percent=True, low=0.0, high=1.0),
        tuple(Series(arm, tuple(row[f"{at} %"] for at in PERCENTILES)) for arm, row in estimates.items()),
        note=f"{model}. Intervals: 95 %, Wilson's.",
    )

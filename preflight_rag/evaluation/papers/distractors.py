"""Experiment `distractors`: passages that search finds against random ones beside the same key passage.

BriefContext, Fig. 6. The key passage stands at the same place, drawn by the seed and the question's id, in both; RAG
and map/reduce read identical passages.
"""

from __future__ import annotations

import random
from typing import Any

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
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.report import Report, Table, figures
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample

SIZE = 16
RETRIEVED, RANDOM = "retrieved", "random"
CONDITIONS = (RETRIEVED, RANDOM)
ARMS = (RAG, MAP_REDUCE)


def run(found: DataSet, run: Run) -> Report:
    """Ask each question among retrieved and among random passages."""
    asked, where, given = ask_around_key(found, run, _placed, "distractors")
    tables, numbers, plot = measured(asked, where, given["model"], run.seed)
    return Report(
        experiment="distractors",
        dataset=found.title,
        about=f"{asked.questions:,} questions ({run.part} part), {given['model']}.",
        tables=tables,
        rows=asked.rows,
        figures=numbers,
        inputs={**given, "passages": SIZE},
        plots=(plot,),
    )


def measured(asked: Asked, where: str, model: str, seed: int) -> tuple[tuple[Table, ...], dict[str, Any], Bars]:
    """The tables, their numbers and the plot; `where` says what the passages are from."""
    columns = {arm: {name: asked.scores(name, arm) for name in CONDITIONS} for arm in ARMS}
    note = f"{asked.left_out}One key passage among {SIZE - 1} others, at the same place in both. {where}"
    table, estimates = accuracy_table(f"{SIZE} passages", columns, note, seed)
    pairs = {f"{arm}: {RANDOM} − {RETRIEVED}": (columns[arm][RANDOM], columns[arm][RETRIEVED]) for arm in ARMS}
    pairs |= {f"{name}: {MAP_REDUCE} − {RAG}": (columns[MAP_REDUCE][name], columns[RAG][name]) for name in CONDITIONS}
    tests = family(pairs, seed)
    answers = {f"{arm}, {name}": asked.column(name, arm) for arm in ARMS for name in CONDITIONS}
    spent, counts = spent_table("Beside the answers", answers, seed)
    numbers = {
        "questions": asked.questions,
        "failed": asked.failed,
        "accuracy": {arm: figures(row) for arm, row in estimates.items()},
        "paired": {name: test.as_json() for name, test in tests.items()},
        "spent": counts,
    }
    plot = Bars(
        "Retrieved and random distractors",
        Axis("right answers", percent=True),
        CONDITIONS,
        tuple(Series(arm, tuple(row[name] for name in CONDITIONS)) for arm, row in estimates.items()),
        note=f"{model}. Intervals: 95 %, Wilson's.",
    )
    return (table, difference_table("Paired", tests), spent), numbers, plot


def _placed(searched: Searched, question: Sample) -> Placed:
    key = searched.key(question)
    place = random.Random(f"{searched.seed}|{question.id}|place").randrange(SIZE)  # noqa: S311
    return Placed(
        question,
        {
            RETRIEVED: among(key, searched.nearest(question, key, SIZE - 1), place),
            RANDOM: among(key, searched.random(question, key, SIZE - 1), place),
        },
    )

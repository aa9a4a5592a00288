"""Experiment `corg-cost`: calls, tokens and seconds of COrg and its baselines (Table 12 and Fig. 4).

A model's seconds are those that its replies took when they were asked for, so a run from the cache tells the same.
Without a language model every arm reads anew what it reads, one case at a time: the seconds are this machine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import Estimate, average
from preflight_rag.evaluation.papers.corg import about, inputs
from preflight_rag.evaluation.papers.corg_arms import (
    SYSTEMS,
    SystemArms,
    given_sources,
    open_readers,
    ordered,
    with_passages,
)
from preflight_rag.evaluation.papers.corg_measures import Grader
from preflight_rag.evaluation.papers.corg_tables import Measured, graded_rows, measure
from preflight_rag.evaluation.plots import Axis, Curves, Trace
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.models.chat.chat_models import OFFLINE

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run

SPENT = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written", "seconds": "seconds"}
DEAREST = "Separate"


def run(collection: DataSet, run: Run) -> Report:
    """Ask every system, and count what it took."""
    questions = with_passages(collection.select(run.part, run.limit))
    grader = Grader(run.extractive_reader)
    offline = run.model == OFFLINE
    with open_asking(replace(run, concurrency=1) if offline else run, questions) as asking:
        reader, sentences = open_readers(asking, run)
        arms = SystemArms(reader, sentences, seed=run.seed, forgetful=True).arms()
        cases = ordered(asyncio.run(ask_arms(arms, questions, given_sources, asking, collection.name)), SYSTEMS)
        name = f"{asking.name}: {reader.name}" if offline else asking.name
    found = measure(cases, grader, seed=run.seed)
    spent = {arm: expenses(found, arm) for arm in found.arms}
    title = f"{len(found.cases):,} questions, {name}"
    return Report(
        experiment="corg-cost",
        dataset=collection.title,
        about=about(questions, run, name),
        tables=(cost_table(found, spent, title),) if spent else (),
        rows=graded_rows(cases, found),
        figures={
            "questions": len(found.cases),
            "spent": {arm: figures(values) for arm, values in spent.items()},
            "measures": found.figures,
        },
        inputs=inputs(collection, name, grader),
        plots=plots(found, spent, title),
    )


def expenses(found: Measured, arm: str) -> dict[str, Estimate]:
    """What a question takes, in the mean."""
    usages = [case.arms[arm].usage for case in found.cases]
    return {name: average([getattr(usage, name) for usage in usages], seed=found.seed) for name in SPENT}


def cost_table(found: Measured, spent: dict[str, dict[str, Estimate]], title: str) -> Table:
    """One row a system: what it took, as a share of Separate's, and what it was right with."""
    form: dict[str, Any] = {"calls": ".2f", "input_tokens": ",.0f", "output_tokens": ",.0f", "seconds": ".3f"}
    estimated = any(scored.usage.estimated for case in found.cases for scored in case.arms.values())

    def row(arm: str) -> tuple[str, ...]:
        taken = spent[arm]
        cells = (f"{taken[name].value:{form[name]}}" for name in SPENT)
        shares = (_share(taken[name], spent[DEAREST][name]) for name in ("calls", "input_tokens"))
        measures = (number(found.estimates[arm][name], percent=True) for name in ("answers", "both"))
        return (arm, *cells, *shares, *measures)

    head = (*SPENT.values(), f"calls, % of {DEAREST}'s", f"tokens read, % of {DEAREST}'s", "answer recall %", "EAR %")
    note = "For one question, as if no reply had been cached; COrg's calls relate contexts and answer. "
    note += "Tokens are estimated: those of the texts given and written, without instructions. " if estimated else ""
    return Table(title, ("system", *head), tuple(map(row, spent)), f"{note}[95 %: bootstrap.]")


def _share(some: Estimate, of: Estimate) -> str:
    return f"{100 * some.value / of.value:.0f}" if of.value else "–"


def plots(found: Measured, spent: dict[str, dict[str, Estimate]], title: str) -> tuple[Curves, ...]:
    """Answer recall over the tokens that it took, a point for each system."""
    if not spent:
        return ()
    traces: Sequence[Trace] = [
        Trace(arm, ((taken["input_tokens"].value, found.estimates[arm]["answers"]),), joined=False)
        for arm, taken in spent.items()
    ]
    measure_axis = Axis("answer recall", percent=True, low=0.0, high=1.0)
    note = "Up and to the left is better. Intervals: 95 %, bootstrap."
    return (Curves(f"Right answers by cost, {title}", Axis("tokens read for a question"), measure_axis,
                   tuple(traces), note=note),)  # fmt: skip

"""Experiment `corg`: COrg beside the baselines of its paper, on identical contexts (Tables 5, 6 and 10).

Contexts are those that come with a question, so nothing depends on a search. The systems are told in
`preflight_rag/evaluation/corg_systems.py`; without a language model they run over the offline reader.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.harness.compared import compare
from preflight_rag.evaluation.papers.corg_arms import (
    CORG,
    SYSTEMS,
    SystemArms,
    given_sources,
    open_readers,
    ordered,
    with_passages,
)
from preflight_rag.evaluation.papers.corg_measures import Grader
from preflight_rag.evaluation.papers.corg_tables import (
    bars,
    difference_table,
    differences,
    graded_rows,
    measure,
    measure_table,
    paired_figures,
)
from preflight_rag.evaluation.report import Report, checksums
from preflight_rag.evaluation.samples import DataSet

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run


def run(collection: DataSet, run: Run) -> Report:
    """Ask every system, and compare each with COrg."""
    questions = with_passages(collection.select(run.part, run.limit))
    grader = Grader(run.extractive_reader)
    with open_asking(run, questions) as asking:
        reader, sentences = open_readers(asking, run)
        arms = SystemArms(reader, sentences, seed=run.seed).arms()
        cases = ordered(asyncio.run(ask_arms(arms, questions, given_sources, asking, collection.name)), SYSTEMS)
        name = asking.name if asking.chat_model is not None else f"{asking.name}: {reader.name}"
    found = measure(cases, grader, seed=run.seed)
    title = f"{len(found.cases):,} questions, {name}"
    cost = compare(cases, seed=run.seed, baseline=CORG, title=f"{title}: whole answers and what they take")
    tests = differences(found, CORG)
    note = "Every system is shown the same contexts; Retrieve keeps as many of them as COrg."
    tables = (
        measure_table(found, title, note),
        *((difference_table(tests, CORG, f"{title}: compared with COrg"),) if tests else ()),
        cost.tables[0],
    )
    return Report(
        experiment="corg",
        dataset=collection.title,
        about=about(questions, run, name),
        tables=tables,
        rows=graded_rows(cases, found),
        figures={**cost.figures, "measures": found.figures, "compared": paired_figures(tests, CORG)},
        inputs=inputs(collection, name, grader, sentences=sentences.embedder.name),
        plots=bars(found, title, note=f"Disambig-F1 by {grader.name}."),
    )


def about(questions: tuple[Any, ...], run: Run, model: str) -> str:
    """What was measured, in one line."""
    contexts = sum(len(question.given) for question in questions)
    return f"{len(questions):,} questions ({run.part} part) with {contexts:,} contexts given; model: {model}."


def inputs(collection: DataSet, model: str, grader: Grader | None = None, **settings: Any) -> dict[str, Any]:
    """What the numbers depend on, for the manifest."""
    return {
        "source": collection.source,
        "licence": collection.licence,
        "sha256": checksums(collection.files),
        "model": model,
        **({"disambig_reader": grader.name} if grader else {}),
        "settings": settings,
    }

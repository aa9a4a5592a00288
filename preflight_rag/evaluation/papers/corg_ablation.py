"""Experiment `corg-ablation`: COrg without each of its parts, on identical contexts (Table 11)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from preflight_rag.evaluation.corg_systems import Variant
from preflight_rag.evaluation.harness.arms import ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.harness.compared import compare
from preflight_rag.evaluation.papers.corg import about, inputs
from preflight_rag.evaluation.papers.corg_arms import CORG, SystemArms, given_sources, open_readers, with_passages
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
from preflight_rag.evaluation.report import Report
from preflight_rag.evaluation.samples import DataSet

if TYPE_CHECKING:
    from preflight_rag.evaluation.runs import Run

NOTE = (
    "Duplicates kept: no context stands for others of the same answer. Undescribed kept: neither does one that says "
    "what it is about for one that does not. No grouping: all contexts that are kept in one group. No reformulation: "
    "the question stays in the singular. Algorithm 1 as printed: relations are mirrored without care, and of "
    "duplicates a random one is kept, as in the paper."
)


def variants(seed: int) -> dict[str, Variant]:
    """COrg, and COrg without each of its parts."""
    return {
        CORG: Variant(),
        "duplicates kept": Variant(keep_duplicates=True),
        "undescribed kept": Variant(keep_undescribed=True),
        "no grouping": Variant(no_grouping=True),
        "no reformulation": Variant(reformulation=False),
        "Algorithm 1 as printed": Variant(mode="faithful", random_duplicate=seed),
    }


def run(collection: DataSet, run: Run) -> Report:
    """Ask every variant, and compare each with the whole of COrg."""
    questions = with_passages(collection.select(run.part, run.limit))
    grader = Grader(run.extractive_reader)
    with open_asking(run, questions) as asking:
        reader, sentences = open_readers(asking, run)
        systems = SystemArms(reader, sentences, seed=run.seed)
        arms = [systems.variant(name, variant) for name, variant in variants(run.seed).items()]
        cases = asyncio.run(ask_arms(arms, questions, given_sources, asking, collection.name))
        name = asking.name if asking.chat_model is not None else f"{asking.name}: {reader.name}"
    found = measure(cases, grader, seed=run.seed)
    title = f"{len(found.cases):,} questions, {name}"
    cost = compare(cases, seed=run.seed, baseline=CORG, title=f"{title}: whole answers and what they take")
    tests = differences(found, CORG)
    return Report(
        experiment="corg-ablation",
        dataset=collection.title,
        about=about(questions, run, name),
        tables=(
            measure_table(found, title, NOTE),
            *((difference_table(tests, CORG, f"{title}: compared with COrg"),) if tests else ()),
            cost.tables[0],
        ),
        rows=graded_rows(cases, found),
        figures={**cost.figures, "measures": found.figures, "compared": paired_figures(tests, CORG)},
        inputs=inputs(collection, name, grader, sentences=sentences.embedder.name),
        plots=bars(found, f"COrg without each of its parts, {title}"),
    )

"""Experiment `context-length`: right answers as more retrieved passages are read, beside an oracle and a closed book.

BriefContext, Fig. 5: the first 2, 4, 8, 16 and 32 passages that a turn retrieves, read by plain RAG and by map/reduce.
The oracle reads a passage of a document that answers, alone; the closed book is the model without passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from preflight_rag.evaluation.harness.arms import Arm, ArmAnswer, Case, answered, ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import Estimate, share, wilson
from preflight_rag.evaluation.papers.briefcontext import (
    CLOSED_BOOK,
    MAP_REDUCE,
    NO_CLOSED_BOOK,
    ORACLE,
    RAG,
    closed_book,
    map_reduce,
    oracle,
    plain,
)
from preflight_rag.evaluation.papers.conditions import INTERVALS, difference_table, family, spent_table, values
from preflight_rag.evaluation.papers.searched import open_searched, shown
from preflight_rag.evaluation.plots import Axis, Lines, Reference, Series
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.state.reading import Source

LENGTHS = (2, 4, 8, 16, 32)
ARMS = (RAG, MAP_REDUCE)


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with ever more of its retrieved passages."""
    with open_searched(found, run) as searched:
        questions = searched.with_key(found, run)
        retrieved = {q.id: searched.retrieved(q, LENGTHS[-1]) for q in shown(questions, found.name, run)}
        keys = {question.id: Source.of(searched.key(question), 1) for question in questions}
        answering = {question.id: searched.answering(question) for question in questions}
        with open_asking(run, questions, searched.gold_texts(questions)) as asking:
            reader = asking.reader(searched.library.embedder)
            arms = [first(arm, k) for k in LENGTHS for arm in (plain(reader), map_reduce(reader))]
            arms.append(oracle(reader, lambda question: keys[question.id]))
            arms += [closed_book(asking)] if asking.chat_model is not None else []
            stage = f"{found.name}: context lengths"
            cases = asyncio.run(ask_arms(arms, questions, lambda q: retrieved[q.id], asking, stage))
        given = {**searched.inputs, "model": asking.name, "lengths": LENGTHS}
    kept = answered(cases)
    held = {
        k: [any(source.passage_id in answering[case.question.id] for source in case.sources[:k]) for case in kept]
        for k in LENGTHS
    }
    table, estimates = _accuracy(kept, held, f"{searched.where} {_left_out(len(cases) - len(kept))}", run.seed)
    tables, numbers = _tables(kept, run.seed)
    return Report(
        experiment="context-length",
        dataset=found.title,
        about=f"{len(kept):,} questions ({run.part} part), {asking.name}.",
        tables=(table, *tables),
        rows=tuple(case.as_json() for case in cases),
        figures={"accuracy": figures(estimates), **numbers},
        inputs=given,
        plots=(_plot(estimates, asking.name),),
    )


def named(arm: str, k: int) -> str:
    """Names an arm on the first k passages."""
    return f"{arm}, k = {k}"


def first(arm: Arm, k: int) -> Arm:
    """The arm on the first k of the passages."""

    async def answer(question: Sample, sources: Sequence[Source]) -> ArmAnswer:
        return replace(await arm.answer(question, sources[:k]), passages=tuple(sources[:k]))

    return Arm(named(arm.name, k), answer)


def _plot(estimates: dict[str, Estimate], model: str) -> Lines:
    return Lines(
        "Right answers by the number of passages",
        "retrieved passages",
        tuple(map(str, LENGTHS)),
        Axis("right answers", percent=True, low=0.0, high=1.0),
        tuple(Series(arm, tuple(estimates[named(arm, k)] for k in LENGTHS)) for arm in ARMS),
        tuple(Reference(name, estimates[name]) for name in (ORACLE, CLOSED_BOOK) if name in estimates),
        note=f"{model}. Intervals: 95 %, Wilson's.",
    )


def _accuracy(
    kept: Sequence[Case], held: dict[int, list[bool]], where: str, seed: int
) -> tuple[Table, dict[str, Estimate]]:
    """One column a length; the oracle and the closed book have the same value in each."""
    names = list(kept[0].arms)
    estimates = {name: share(values(case.arms[name] for case in kept), seed=seed) for name in names}
    rows = [(arm, *(number(estimates[named(arm, k)], percent=True) for k in LENGTHS)) for arm in ARMS]
    rows += [(name, *([number(estimates[name], percent=True)] * len(LENGTHS))) for name in names[2 * len(LENGTHS) :]]
    found = {f"a document that answers is among them, k = {k}": wilson(sum(held[k]), len(kept)) for k in LENGTHS}
    rows.append(("a document that answers is among them", *(number(e, percent=True) for e in found.values())))
    note = f"{where}Oracle: one passage of a document that answers, alone. "
    note += "" if CLOSED_BOOK in names else f"{NO_CLOSED_BOOK} "
    head = ("right %", *(f"k = {k}" for k in LENGTHS))
    table = Table("By the number of retrieved passages", head, tuple(rows), f"{note}{INTERVALS}")
    return table, {**estimates, **found}


def _left_out(failed: int) -> str:
    return f"{failed:,} questions that not every arm has answered are left out. " if failed else ""


def _tables(kept: Sequence[Case], seed: int) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """Paired differences, and what stands beside the answers."""
    columns = {name: [case.arms[name] for case in kept] for name in kept[0].arms}
    scores = {name: values(column) for name, column in columns.items()}
    pairs = {f"k = {k}: {MAP_REDUCE} − {RAG}": (scores[named(MAP_REDUCE, k)], scores[named(RAG, k)]) for k in LENGTHS}
    last = LENGTHS[-1]
    pairs |= {f"{ORACLE} − {named(arm, last)}": (scores[ORACLE], scores[named(arm, last)]) for arm in ARMS}
    tests = family(pairs, seed)
    spent, counts = spent_table("Beside the answers", columns, seed)
    numbers = {
        "questions": len(kept),
        "paired": {name: test.as_json() for name, test in tests.items()},
        "spent": counts,
    }
    return (difference_table("Paired", tests), spent), numbers

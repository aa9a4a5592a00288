"""Experiment `integration`: closed-book CoT, RAG, BriefContext, and the auto route, on each subset of MIRAGE.

BriefContext, Fig. 3 and Supplementary Table 3. All arms but the closed book read the passages that a turn retrieves;
`auto route` is a whole turn, whose preflight chooses the way of reading. Where a set has several subsets, the limit is
spread over them evenly.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight_rag.evaluation.harness.arms import Case, answered, ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import Estimate, share, wilson
from preflight_rag.evaluation.papers.briefcontext import (
    AUTO,
    CLOSED_BOOK,
    MAP_REDUCE,
    NO_CLOSED_BOOK,
    RAG,
    auto,
    closed_book,
    map_reduce,
    plain,
)
from preflight_rag.evaluation.papers.conditions import (
    FALLBACK,
    accuracy_table,
    difference_table,
    family,
    spent_table,
    values,
)
from preflight_rag.evaluation.papers.searched import KEYED, SETTINGS, open_searched, shown
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.question_sets import MIRAGE_PARTS
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample

ALL = "all"
SHOWN = {"map_reduce": "map/reduce", "corg": "COrg"}


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with every arm."""
    questions = spread(found, run)
    with open_searched(found, run) as searched:
        retrieved = {q.id: searched.retrieved(q, SETTINGS.k) for q in shown(questions, found.name, run)}
        evidence = {question.id: bool(searched.documents(question)) for question in questions}
        with open_asking(run, questions, searched.gold_texts(questions)) as asking:
            reader = asking.reader(searched.library.embedder)
            arms = [plain(reader), map_reduce(reader), auto(reader, searched.library, SETTINGS, run.extractive_reader)]
            arms = [closed_book(asking), *arms] if asking.chat_model is not None else arms
            stage = f"{found.name}: questions"
            cases = asyncio.run(ask_arms(arms, questions, lambda q: retrieved[q.id], asking, stage))
        given = {**searched.inputs, "model": asking.name, "k": SETTINGS.k}
    kept = answered(cases)
    note = f"{searched.where} {_evidence(kept, evidence)}"
    tables, numbers, estimates = _measured(kept, len(cases) - len(kept), note, run.seed)
    subsets = list(next(iter(estimates.values())))
    plot = Bars(
        "Right answers by subset",
        Axis("right answers", percent=True),
        tuple(subsets),
        tuple(Series(arm, tuple(row.values())) for arm, row in estimates.items()),
        note=f"{asking.name}. Intervals: 95 %, Wilson's.",
    )
    return Report(
        experiment="integration",
        dataset=found.title,
        about=f"{len(kept):,} questions ({run.part} part), {asking.name}, {SETTINGS.k} passages.",
        tables=tables,
        rows=tuple(case.as_json() for case in cases),
        figures=numbers,
        inputs=given,
        plots=(plot,),
    )


def spread(found: DataSet, run: Run) -> tuple[Sample, ...]:
    """The part's questions that a rule can score, of each label as many as the limit divided by the labels.

    What a small label leaves of its share, and what does not divide, goes to the labels that are first by name.
    """
    found = replace(found, samples=tuple(question for question in found.samples if question.kind in KEYED))
    chosen = found.select(run.part)
    found.select(run.part, run.limit)
    if run.limit is None or run.limit >= len(chosen):
        return chosen
    queues = {label: [q for q in chosen if q.label == label] for label in sorted({q.label for q in chosen})}
    turns = [
        question for turn in range(len(chosen)) for queue in queues.values() for question in queue[turn : turn + 1]
    ]
    return tuple(turns[: run.limit])


def subset_name(question: Sample) -> str:
    """A subset as MIRAGE's tables name it."""
    return MIRAGE_PARTS.get(question.label, question.label or ALL)


def _measured(
    kept: Sequence[Case], failed: int, where: str, seed: int
) -> tuple[tuple[Table, ...], dict[str, Any], dict[str, dict[str, Estimate]]]:
    """The tables, their numbers, and accuracy by arm and subset."""
    parts, arms = _parts(kept), list(kept[0].arms)
    columns = {arm: {name: values(c.arms[arm] for c in held) for name, held in parts.items()} for arm in arms}
    note = f"{failed:,} questions that not every arm has answered are left out. " if failed else ""
    note += where + ("" if CLOSED_BOOK in arms else f" {NO_CLOSED_BOOK}")
    strict, estimates = accuracy_table("Strict: what cannot be read is wrong", columns, note, seed)
    loose_columns = {
        arm: {name: [c.arms[arm].score.fallback for c in held] for name, held in parts.items()} for arm in arms
    }
    loose, fallback = accuracy_table("As MIRAGE's scorer counts", loose_columns, FALLBACK, seed)
    pairs = {
        f"{name}: {arm} − {RAG}": (columns[arm][name], columns[RAG][name])
        for name in parts
        for arm in arms
        if arm != RAG
    }
    pairs |= {f"{ALL}: {AUTO} − {MAP_REDUCE}": (columns[AUTO][ALL], columns[MAP_REDUCE][ALL])}
    tests = family(pairs, seed)
    spent, counts = spent_table("Beside the answers", {arm: [c.arms[arm] for c in kept] for arm in arms}, seed)
    routes, taken = _routes(kept, seed)
    numbers = {
        "questions": len(kept),
        "failed": failed,
        "accuracy": {arm: figures(row) for arm, row in estimates.items()},
        "fallback": {arm: figures(row) for arm, row in fallback.items()},
        "paired": {name: test.as_json() for name, test in tests.items()},
        "spent": counts,
        "routes": taken,
    }
    choices = any(case.question.options for case in kept)
    tables = (strict, *([loose] if choices else []), difference_table("Paired", tests), spent, routes)
    return tables, numbers, estimates


def _parts(kept: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each subset, in MIRAGE's order, then by name, and all of them; of one subset only all."""
    order = list(MIRAGE_PARTS.values())
    names = sorted(
        {subset_name(case.question) for case in kept},
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    parts = {name: [case for case in kept if subset_name(case.question) == name] for name in names}
    return {**parts, ALL: list(kept)} if len(parts) > 1 else {ALL: list(kept)}


def _evidence(kept: Sequence[Case], evidence: Mapping[str, bool]) -> str:
    """For how many questions a document that answers is in the corpus."""
    told = (
        f"{name} {sum(evidence[case.question.id] for case in held):,} of {len(held):,}"
        for name, held in _parts(kept).items()
    )
    return f"Questions with a document that answers them in the corpus: {', '.join(told)}."


def _routes(kept: Sequence[Case], seed: int) -> tuple[Table, dict[str, Any]]:
    """Which routes `auto` ended on, and how every arm does on those questions."""
    arms = list(kept[0].arms)
    taken = Counter(case.arms[AUTO].answer.route or "no answer" for case in kept)
    rows, numbers = [], {}
    for route, count in sorted(taken.items(), key=lambda item: (-item[1], item[0])):
        here = [case for case in kept if (case.arms[AUTO].answer.route or "no answer") == route]
        found = {arm: share(values(case.arms[arm] for case in here), seed=seed) for arm in arms}
        rows.append((SHOWN.get(route, route), str(count), *(number(e, percent=True) for e in found.values())))
        numbers[route] = {"questions": count, "share": wilson(count, len(kept)).as_json(), **figures(found)}
    head = ("route", "questions", *(f"{arm} %" for arm in arms))
    return Table(f"By the route on which {AUTO} ended", head, tuple(rows), "[95 %: Wilson.]"), numbers

"""Experiment `cost`: tokens and calls of each way to read, and the share that the preflight's router saves.

BriefContext, section 5.2. The router chooses between plain RAG and map/reduce as in the paper; the auto route may also
go on to COrg and to a dearer route. Saved is what always taking map/reduce would have cost more. By the cost model
(equations 4 and 5) that is known before anything is asked, so it is there without a language model too.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import Case, answered, ask_arms
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import Estimate, average, bootstrap
from preflight_rag.evaluation.papers.briefcontext import AUTO, MAP_REDUCE, PARTITION, RAG, auto, map_reduce, plain
from preflight_rag.evaluation.papers.conditions import accuracy_table, difference_table, family, values
from preflight_rag.evaluation.papers.integration import spread
from preflight_rag.evaluation.papers.searched import SETTINGS, Searched, open_searched, shown
from preflight_rag.evaluation.plots import Axis, Bars, Series
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.routing.decision import decide
from preflight_rag.routing.library_risk import risk_model_of

if TYPE_CHECKING:
    import numpy as np

    from preflight_rag.models.protocol import Reader
    from preflight_rag.models.reading.extractive_reader import ExtractiveReader

ROUTER = "router: RAG or BriefContext"
TWO_WAYS = SETTINGS.model_copy(update={"corg_threshold": 2.0})
"""A score of COrg's signals is at most 1, so the preflight never sends a question there."""
MEASURES = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written"}


@dataclass(frozen=True)
class Planned:
    """Calls and tokens read that the cost model gives a question, by arm, and the router's route."""

    route: str
    costs: dict[str, tuple[int, int]]


def run(found: DataSet, run: Run) -> Report:
    """Ask each question in every way, and plan what each way costs."""
    from preflight_rag.graph.readers import extractive_for

    questions = spread(found, run)
    with open_searched(found, run) as searched:
        retrieved = {q.id: searched.retrieved(q, SETTINGS.k) for q in shown(questions, found.name, run)}
        with open_asking(run, questions, searched.gold_texts(questions)) as asking:
            reader = asking.reader(searched.library.embedder)
            extractive = extractive_for(reader, run.extractive_reader)
            planned = {question.id: plan(question, searched, reader, extractive) for question in questions}
            library = searched.library
            arms = [
                plain(reader),
                map_reduce(reader),
                auto(reader, library, TWO_WAYS, run.extractive_reader, ROUTER),
                auto(reader, library, SETTINGS, run.extractive_reader),
            ]
            cases = asyncio.run(
                ask_arms(arms, questions, lambda q: retrieved[q.id], asking, f"{found.name}: questions")
            )
        given = {**searched.inputs, "model": asking.name, "k": SETTINGS.k, "partition_size": PARTITION}
    kept = answered(cases)
    tables, numbers, plot = _measured(kept, planned, asking.chat_model is not None, searched.where, run)
    return Report(
        experiment="cost",
        dataset=found.title,
        about=f"{len(kept):,} questions ({run.part} part), {asking.name}, {SETTINGS.k} passages.",
        tables=tables,
        rows=tuple({**case.as_json(), "planned": _planned_row(planned[case.question.id])} for case in cases),
        figures={**numbers, "failed": len(cases) - len(kept)},
        inputs=given,
        plots=(plot,),
    )


def plan(question: Sample, searched: Searched, reader: Reader, extractive: ExtractiveReader | None) -> Planned:
    """The router's choice for the retrieved passages, and the cost model's figures for each way to read them."""
    from preflight_rag.conversation.questions import normalised
    from preflight_rag.library.search.retrieval import retrieve_passages
    from preflight_rag.routing.costs import cost, overheads

    asked = normalised(question.question)
    retrieval = retrieve_passages(searched.library, [asked], TWO_WAYS)
    refs, sources = retrieval.references(), retrieval.sources()
    decision = decide(asked, refs, sources, TWO_WAYS, risk_model_of(searched.library), extractive)
    overhead, tokens = overheads(reader, asked), [ref["tokens"] for ref in refs]
    costs = {
        RAG: cost("plain", overhead, tokens, PARTITION),
        MAP_REDUCE: cost("map_reduce", overhead, tokens, PARTITION),
    }
    return Planned(decision.name, {**costs, ROUTER: costs[RAG if decision.name == "plain" else MAP_REDUCE]})


def _planned_row(planned: Planned) -> dict[str, Any]:
    return {"route": planned.route, "costs": {arm: list(spent) for arm, spent in planned.costs.items()}}


def saved(spent: Sequence[float], instead: Sequence[float], seed: int) -> Estimate:
    """Share of `instead`, summed over the questions, that was not spent; undefined where nothing would have been."""

    def statistic(own: np.ndarray, other: np.ndarray) -> np.ndarray:
        import numpy as np

        totals = other.sum(axis=-1)
        shares: np.ndarray = np.where(totals > 0, 1 - own.sum(axis=-1) / np.where(totals > 0, totals, 1), np.nan)
        return shares

    return bootstrap(statistic, list(map(float, spent)), list(map(float, instead)), seed=seed)


def _measured(
    kept: Sequence[Case], planned: Mapping[str, Planned], asked: bool, where: str, run: Run
) -> tuple[tuple[Table, ...], dict[str, Any], Bars]:
    """The tables, their numbers, and the plot of tokens read: measured where a model was asked, else planned."""
    arms = list(kept[0].arms)
    plans = [planned[case.question.id] for case in kept]
    by_model = {
        arm: {m: [p.costs[arm][i] for p in plans] for i, m in enumerate(list(MEASURES)[:2])} for arm in arms[:3]
    }
    table, by_model_figures = _costs(
        "By the cost model (section 5.2, equations 4 and 5)", by_model, _routes(plans), run, priced=False
    )
    tables, numbers = [table], {"questions": len(kept), "planned": by_model_figures}
    shown = by_model
    if asked:
        shown = {arm: {m: [getattr(case.arms[arm].usage, m) for case in kept] for m in MEASURES} for arm in arms}
        note = "As if no reply had been cached."
        table, numbers["measured"] = _costs("As asked", shown, note, run, priced=True)
        tables.append(table)
    columns = {arm: {"all": values(case.arms[arm] for case in kept)} for arm in arms}
    accuracy, estimates = accuracy_table("Right answers", columns, where, run.seed)
    pairs = {f"{arm} − {RAG}": (columns[arm]["all"], columns[RAG]["all"]) for arm in arms if arm != RAG}
    pairs |= {f"{arm} − {MAP_REDUCE}": (columns[arm]["all"], columns[MAP_REDUCE]["all"]) for arm in (ROUTER, AUTO)}
    tests = family(pairs, run.seed)
    numbers |= {
        "accuracy": {arm: figures(row) for arm, row in estimates.items()},
        "paired": {name: test.as_json() for name, test in tests.items()},
    }
    plot = Bars(
        "Tokens read for a question" + ("" if asked else ", by the cost model"),
        Axis("tokens"),
        tuple(shown),
        (Series("mean", tuple(_mean(row["input_tokens"], run.seed) for row in shown.values())),),
        note="Intervals: 95 %, bootstrap.",
    )
    return (*tables, accuracy, difference_table("Paired", tests)), numbers, plot


def _costs(
    title: str, columns: Mapping[str, Mapping[str, Sequence[float]]], note: str, run: Run, *, priced: bool
) -> tuple[Table, dict[str, Any]]:
    """Means for a question, and what is saved against always taking map/reduce."""
    price = run.budget.price if priced else None
    rows, numbers = [], {}
    for arm, row in columns.items():
        means = {name: _mean(held, run.seed) for name, held in row.items()}
        shares = {
            f"saved_{name}": saved(row[name], columns[MAP_REDUCE][name], run.seed) for name in ("calls", "input_tokens")
        }
        dollars = (
            price.cost(int(sum(row["input_tokens"])), int(sum(row["output_tokens"]))) / len(row["calls"])
            if price
            else None
        )
        cells = [amount(mean, 2 if name == "calls" else 0) for name, mean in means.items()]
        cells += [f"{dollars:.6f}"] if dollars is not None else []
        rows.append((arm, *cells, *(number(e, percent=True, signed=True) for e in shares.values())))
        numbers[arm] = figures({**means, **shares}) | ({"usd": dollars} if dollars is not None else {})
    head = [MEASURES[name] for name in next(iter(columns.values()))] + (["USD"] if price else [])
    told = f"{note} Mean for a question; saved: share of what {MAP_REDUCE} takes for all of them. [95 %: bootstrap.]"
    return Table(title, ("", *head, "calls saved %", "tokens read saved %"), tuple(rows), told.strip()), numbers


def amount(estimate: Estimate, digits: int) -> str:
    """A cell: a mean amount with its interval."""
    value, low, high = (f"{part:,.{digits}f}" for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _mean(values: Sequence[float], seed: int) -> Estimate:
    return average(values, seed=seed)


def _routes(plans: Sequence[Planned]) -> str:
    counts = Counter(plan.route.replace("_", "/") for plan in plans)
    return "The router chose " + ", ".join(f"{route} {count:,} times" for route, count in counts.most_common()) + "."

"""Experiment `routes`: every route for each question, and the router's choice beside the best and cheapest right one.

A question goes through the whole graph once with the router's choice and once with each route forced, over identical
passages. Best is the route with the highest score; of several, and of those that are right, the cheapest is the one
with the least cost: USD if a price is given, else tokens read and written, then calls. Without a language model no
route costs anything, and the order plain, map/reduce, COrg decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from evaluation.bench import of_kinds, open_bench, turn_settings
from evaluation.compare import compare
from evaluation.harness.budget import Price
from evaluation.intervals import share, wilson
from evaluation.plots import BarPlot, Reference
from evaluation.report import Report, Table, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from preflight_rag.state.context import Route

AUTO = "router"
ROUTES: dict[str, Route] = {"plain": "plain", "map/reduce": "map-reduce", "COrg": "corg"}
"""The setting for each forced route, by its name."""
SHOWN = {"plain": "plain", "map_reduce": "map/reduce", "corg": "COrg", "abstain": "abstain"}
RIGHT = 1.0


@dataclass(frozen=True)
class RoutedQuestion:
    """A question with the results of its routes.

    Attributes:
        turns: The router's turn, and that of each forced route.
        chosen: The route on which the router's turn ended.
        best: The cheapest of the routes with the highest score.
        right: The cheapest of the routes that are right; None if none is.
    """

    turns: Mapping[str, ScoreRow]
    chosen: str
    best: str
    right: str | None

    @property
    def as_good(self) -> bool:
        """Whether no route has a better score than the router's turn."""
        return _score(self.turns[AUTO]) >= _score(self.turns[self.best])

    @property
    def is_right(self) -> bool:
        """Whether the router's turn is right."""
        return _score(self.turns[AUTO]) >= RIGHT

    def as_json(self) -> dict[str, Any]:
        """Return the choices for `results.jsonl`."""
        return {"chosen": self.chosen, "best": self.best, "cheapest_right": self.right, "as_good": self.as_good}


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Run each question through all routes."""
    settings = turn_settings(run)
    with open_bench(found, run, lambda _: of_kinds(found, run)) as bench:
        retrieved, turns = bench.retrieved(), bench.turns
        arms = [turns.arm(AUTO, settings)]
        arms += [turns.arm(name, settings.model_copy(update={"route": route})) for name, route in ROUTES.items()]
        rows = bench.ask(arms, lambda question: retrieved[question.id])
    compared = compare(rows, baseline=AUTO, seed=run.seed)
    by_sample: dict[str, dict[str, ScoreRow]] = {}
    for row in compared.rows:
        by_sample.setdefault(row.sample, {})[row.arm] = row
    judged = {name: judge(routes, run.budget.price) for name, routes in by_sample.items()}
    rows = [
        replace(row, details={**row.details, "router": judged[row.sample].as_json()})
        if row.arm == AUTO and row.sample in judged
        else row
        for row in rows
    ]
    items = list(judged.values())
    costs, cost_figures = _costs(items, run)
    choices, choice_figures = _choices(items)
    tables = (*compared.tables(f"Every route, {bench.model}"), costs, choices)
    plots: tuple[BarPlot, ...] = ()
    if items:
        bars = compared.bars("Right answers by route", "right", "Strict scores, identical passages. Intervals: 95 %.",
                             turned=True)  # fmt: skip
        bound = fmean(_score(item.turns[item.best]) for item in items)
        plots = (replace(bars, references=(Reference("best route for each question", bound),)),)
    numbers = {**compared.figures, "costs": cost_figures, "choices": choice_figures}
    documents = bench.inputs["library"]["documents"]
    about = f"{len(bench.questions):,} questions ({run.part} part), {documents:,} documents, model {bench.model}."
    return bench.report(
        "routes", tables, rows, numbers, plots, about=about, k=settings.k, extractive_reader=settings.extractive_reader
    )


def judge(turns: Mapping[str, ScoreRow], price: Price | None = None) -> RoutedQuestion:
    """Return the router's route, the best one, and the cheapest right one."""
    order = list(ROUTES)
    top = max(_score(turns[name]) for name in order)
    equals = [name for name in order if _score(turns[name]) == top]
    best = min(equals, key=lambda name: (_expense(turns[name], price), turns[name].calls, order.index(name)))
    route = turns[AUTO].details["route"]
    return RoutedQuestion(turns, SHOWN.get(route, route), best, best if top >= RIGHT else None)


def _score(row: ScoreRow) -> float:
    """Return a row's score; 0 if the arm failed."""
    return row.score or 0.0


def _expense(row: ScoreRow, price: Price | None) -> float:
    """Return a turn's cost: USD, or tokens if no price is known."""
    return price.cost(*row.tokens) if price else float(sum(row.tokens))


def _costs(judged: Sequence[RoutedQuestion], run: ExperimentRun) -> tuple[Table, dict[str, Any]]:
    """Return score, cost and time of the router, of each route, and of an ideal router."""
    picks = {AUTO: [item.turns[AUTO] for item in judged]}
    picks |= {f"always {name}": [item.turns[name] for item in judged] for name in ROUTES}
    picks["best route, the cheapest of equals"] = [item.turns[item.best] for item in judged]
    price = run.budget.price
    lines, numbers = [], {}
    for name, turns in picks.items():
        count = max(1, len(turns))
        right = share([_score(turn) for turn in turns], seed=run.seed)
        calls, tokens = sum(turn.calls for turn in turns) / count, sum(sum(turn.tokens) for turn in turns) / count
        usd = sum(_expense(turn, price) for turn in turns) / count if price else None
        timed = any(turn.details["prompts"] for turn in turns)
        seconds = sum(turn.seconds for turn in turns) / count if timed else None
        spent = {"calls": calls, "tokens": tokens, "seconds": seconds}
        numbers[name] = {"right": right.as_json(), "usd": usd} | {
            key: None if value is None else round(value, 4) for key, value in spent.items()
        }
        cells = (f"{calls:.2f}", f"{tokens:,.0f}", "–" if usd is None else f"{usd:.6f}")
        lines.append((name, number(right, percent=True), *cells, "–" if seconds is None else f"{seconds:.2f}"))
    note = (
        "For one question, as if no reply had been cached. Seconds are those that the model took, one call after the "
        "other; where no model is asked they are not shown, since a passage that one route has read is read for all. "
        "The last row knows the answers: a bound, no system. [95 %: Wilson for shares, bootstrap for means.]"
    )
    head = ("turns", "right %", "calls", "tokens", "USD", "seconds")
    return Table("Cost and time", head, tuple(lines), note), numbers


def _choices(judged: Sequence[RoutedQuestion]) -> tuple[Table, dict[str, Any]]:
    """Return, by the router's route, how often it was as good as the best, and the cheapest right one."""
    groups = {"all": list(judged)}
    for item in judged:
        groups.setdefault(item.chosen, []).append(item)
    lines, numbers = [], {}
    for name, items in groups.items():
        known = [item for item in items if item.right is not None]
        shares = {
            "as_good": wilson(sum(item.as_good for item in items), len(items)),
            "right": wilson(sum(item.is_right for item in items), len(items)),
            "some_right": wilson(len(known), len(items)),
            "cheapest": wilson(sum(item.chosen == item.right for item in known), len(known)),
        }
        lines.append((name, str(len(items)), *(number(estimate, percent=True) for estimate in shares.values())))
        numbers[name] = {"questions": len(items), **{key: value.as_json() for key, value in shares.items()}}
    head = ("route chosen", "questions", "as good as the best %", "right %", "some route right %")
    note = (
        "Last column: of the questions that some route answers right, the share for which the router chose the "
        "cheapest such route. [95 %: Wilson.]"
    )
    return Table("What the router chose", (*head, "chose the cheapest right %"), tuple(lines), note), numbers

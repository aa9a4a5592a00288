"""Experiment `routes`: every route for each question, and what the router chose beside the best and the cheapest right.

A question goes through the whole graph once with the router's choice and once with each route forced, over identical
passages. Best is the route with the highest score; of several, and of those that are right, the cheapest is the one
with the least cost: USD where a price is given, else tokens read and written, then calls. Without a language model no
route costs anything, and the order plain, map/reduce, COrg decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from preflight_rag.evaluation.harness.arms import Case, Scored, answered, ask_arms
from preflight_rag.evaluation.harness.compared import compare
from preflight_rag.evaluation.intervals import Estimate, share, wilson
from preflight_rag.evaluation.papers.turns import asked, open_turns
from preflight_rag.evaluation.plots import Axis, Bars, Reference, Series
from preflight_rag.evaluation.report import Report, Table, number
from preflight_rag.evaluation.samples import DataSet

if TYPE_CHECKING:
    from preflight_rag.evaluation.harness.budget import Price
    from preflight_rag.evaluation.runs import Run

AUTO = "router"
ROUTES = {"plain": "plain", "map/reduce": "map-reduce", "COrg": "corg"}
"""Name of a forced route to the setting."""
SHOWN = {"plain": "plain", "map_reduce": "map/reduce", "corg": "COrg", "abstain": "abstain"}
RIGHT = 1.0


@dataclass(frozen=True)
class Judged:
    """A question with what its routes gave.

    Attributes:
        case: The answered case.
        chosen: The route that the router's turn ended on.
        best: The cheapest of the routes with the highest score.
        right: The cheapest of the routes that are right; None where none is.
    """

    case: Case
    chosen: str
    best: str
    right: str | None

    @property
    def turn(self) -> Scored:
        """The router's own turn."""
        return self.case.arms[AUTO]

    @property
    def as_good(self) -> bool:
        """Whether no route does better than the router's turn."""
        return self.turn.score.value >= self.case.arms[self.best].score.value


def run(found: DataSet, run: Run) -> Report:
    """Take each question through all routes."""
    questions = asked(found, run)
    with open_turns(found, questions, run) as turns:
        arms = [turns.arm(AUTO, "auto"), *(turns.arm(name, route) for name, route in ROUTES.items())]
        cases = asyncio.run(ask_arms(arms, questions, turns.sources, turns.asking))
        given = turns.given
    judged = [judge(case, run.budget.price) for case in answered(cases)]
    compared = compare(cases, seed=run.seed, baseline=AUTO, title=f"Every route, {given['model']}")
    costs, cost_figures = _costs(judged, run)
    choices, choice_figures = _choices(judged)
    by_id = {item.case.question.id: item for item in judged}
    return Report(
        experiment="routes",
        dataset=found.title,
        about=f"{len(questions):,} questions ({run.part} part), {given['library']['documents']:,} documents, "
        f"model {given['model']}.",
        tables=(*compared.tables, costs, choices),
        rows=tuple(_row(case, by_id.get(case.question.id)) for case in cases),
        figures={**compared.figures, "costs": cost_figures, "choices": choice_figures},
        inputs=given,
        plots=_plots(compared.estimates, judged),
    )


def judge(case: Case, price: Price | None = None) -> Judged:
    """Which route the router took, which is best, and which is the cheapest that is right."""
    order = list(ROUTES)

    def rank(name: str) -> tuple[float, int, int]:
        return *_expense(case.arms[name], price), order.index(name)

    top = max(case.arms[name].score.value for name in order)
    best = min((name for name in order if case.arms[name].score.value == top), key=rank)
    told = case.arms[AUTO].answer.route
    return Judged(case, SHOWN.get(told, told), best, best if top >= RIGHT else None)


def _expense(scored: Scored, price: Price | None) -> tuple[float, int]:
    """What a turn cost: USD or tokens, and calls."""
    usage = scored.usage
    tokens = usage.input_tokens + usage.output_tokens
    return (price.cost(usage.input_tokens, usage.output_tokens) if price else float(tokens)), usage.calls


def _costs(judged: Sequence[Judged], run: Run) -> tuple[Table, dict[str, Any]]:
    """Score, cost and time of the router, of each route, and of who always knew the best one."""
    picks = {AUTO: [item.turn for item in judged]}
    picks |= {f"always {name}": [item.case.arms[name] for item in judged] for name in ROUTES}
    picks["best route, the cheapest of equals"] = [item.case.arms[item.best] for item in judged]
    price = run.budget.price
    rows, figures = [], {}
    for name, turns in picks.items():
        count = max(1, len(turns))
        right = share([turn.score.value for turn in turns], seed=run.seed)
        spent = {
            "calls": sum(turn.usage.calls for turn in turns) / count,
            "tokens": sum(turn.usage.input_tokens + turn.usage.output_tokens for turn in turns) / count,
            "seconds": sum(turn.usage.seconds for turn in turns) / count,
        }
        usd = sum(_expense(turn, price)[0] for turn in turns) / count if price else None
        timed = any(turn.calls for turn in turns)
        figures[name] = {"right": right.as_json(), **{key: round(value, 4) for key, value in spent.items()}, "usd": usd}
        figures[name] |= {} if timed else {"seconds": None}
        cells = (f"{spent['calls']:.2f}", f"{spent['tokens']:,.0f}", "–" if usd is None else f"{usd:.6f}")
        rows.append((name, number(right, percent=True), *cells, f"{spent['seconds']:.2f}" if timed else "–"))
    note = (
        "For one question, as if no reply had been cached. Seconds are those that the model took, one call after the "
        "other; where no model is asked they are not told, since a passage that one route has read is read for all. "
        "The last row knows the answers: a bound, no system. [95 %: Wilson for shares, bootstrap for means.]"
    )
    return Table("Cost and time", ("turns", "right %", "calls", "tokens", "USD", "seconds"), tuple(rows), note), figures


def _choices(judged: Sequence[Judged]) -> tuple[Table, dict[str, Any]]:
    """By the route that the router chose: how often it was as good as the best, and the cheapest right one."""
    groups = {"all": list(judged)}
    for item in judged:
        groups.setdefault(item.chosen, []).append(item)
    rows, figures = [], {}
    for name, items in groups.items():
        known = [item for item in items if item.right is not None]
        shares = {
            "as_good": wilson(sum(item.as_good for item in items), len(items)),
            "right": wilson(sum(item.turn.score.value >= RIGHT for item in items), len(items)),
            "some_right": wilson(len(known), len(items)),
            "cheapest": wilson(sum(item.chosen == item.right for item in known), len(known)),
        }
        rows.append((name, str(len(items)), *(number(estimate, percent=True) for estimate in shares.values())))
        figures[name] = {"questions": len(items), **{key: value.as_json() for key, value in shares.items()}}
    head = ("route chosen", "questions", "as good as the best %", "right %", "some route right %")
    note = (
        "Last column: of the questions that some route answers right, the share for which the router chose the "
        "cheapest such route. [95 %: Wilson.]"
    )
    return Table("What the router chose", (*head, "chose the cheapest right %"), tuple(rows), note), figures


def _plots(estimates: dict[str, Estimate], judged: Sequence[Judged]) -> tuple[Bars, ...]:
    if not judged:
        return ()
    bound = sum(item.case.arms[item.best].score.value for item in judged) / len(judged)
    return (
        Bars(
            "Right answers by route",
            Axis("right", percent=True, low=0, high=1),
            tuple(estimates),
            (Series("turns", tuple(estimates.values())),),
            (Reference("best route for each question", bound),),
            note="Strict scores, identical passages. Intervals: 95 %.",
        ),
    )


def _row(case: Case, judged: Judged | None) -> dict[str, Any]:
    if judged is None:
        return case.as_json()
    router = {"chosen": judged.chosen, "best": judged.best, "cheapest_right": judged.right, "as_good": judged.as_good}
    return {**case.as_json(), "router": router}

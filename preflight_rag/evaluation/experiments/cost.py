"""Experiment `cost`: tokens and calls of each way to read, and the share that the preflight's router saves.

BriefContext, section 5.2. The router chooses between plain RAG and map/reduce as in the paper; the auto route may also
go on to COrg and to a dearer route. Saved is what always taking map/reduce would have cost more. By the cost model
(equations 4 and 5) that is known before anything is asked, so it is there without a language model too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from preflight_rag.conversation.questions import normalised
from preflight_rag.evaluation.bench import SearchBench, open_bench
from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.experiments.integration import spread
from preflight_rag.evaluation.intervals import Estimate, average, ratio
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet, Sample
from preflight_rag.evaluation.searched import SETTINGS
from preflight_rag.evaluation.stages import AUTO, MAP_REDUCE, PARTITION, RAG, map_reduce, plain
from preflight_rag.graph.readers import extractive_for
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.routing.costs import cost, overheads
from preflight_rag.routing.decision import decide
from preflight_rag.routing.library_risk import risk_model_of

ROUTER = "router: RAG or BriefContext"
TWO_WAYS = SETTINGS.model_copy(update={"corg_threshold": 2.0})
"""A score of COrg's signals is at most 1, so the preflight never sends a question there."""
MEASURES = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written"}
Columns = Mapping[str, Mapping[str, Sequence[float]]]
"""Arm to measure to what each question took."""


@dataclass(frozen=True)
class Planned:
    """Calls and tokens read that the cost model gives a question, by arm, and the router's route."""

    route: str
    costs: dict[str, tuple[int, int]]


def run(found: DataSet, run: Run) -> Report:
    """Ask each question in every way, and plan what each way costs."""
    with open_bench(found, run, lambda _: spread(found, run)) as bench:
        retrieved = bench.retrieved()
        extractive = extractive_for(bench.reader, run.extractive_reader)
        planned = {question.id: plan(question, bench, extractive) for question in bench.questions}
        turns = bench.turns
        arms = [plain(bench.reader), map_reduce(bench.reader)]
        arms += [turns.arm(ROUTER, TWO_WAYS, short=True), turns.arm(short=True)]
        rows = bench.ask(arms, lambda question: retrieved[question.id])
    rows = [replace(row, details={**row.details, "planned": planned[row.sample].__dict__}) for row in rows]
    pairs = {f"{arm.name} − {RAG}": ((arm.name, "all"), (RAG, "all")) for arm in arms if arm.name != RAG}
    pairs |= {f"{arm} − {MAP_REDUCE}": ((arm, "all"), (MAP_REDUCE, "all")) for arm in (ROUTER, AUTO)}
    compared = compare(rows, columns={"all": [""]}, pairs=pairs, seed=run.seed)
    plans = [planned[name] for name in compared.scores[RAG]["all"]]
    spent: Columns = {
        arm: {name: [one.costs[arm][place] for one in plans] for place, name in enumerate(list(MEASURES)[:2])}
        for arm in (RAG, MAP_REDUCE, ROUTER)
    }
    title = "By the cost model (section 5.2, equations 4 and 5)"
    table, by_model = _costs(title, spent, _routes(plans), run, priced=False)
    tables, numbers = [table], {**compared.figures, "planned": by_model}
    if not bench.offline:
        spent = {
            arm.name: {
                "calls": [row.calls for row in compared.rows if row.arm == arm.name],
                "input_tokens": [row.tokens[0] for row in compared.rows if row.arm == arm.name],
                "output_tokens": [row.tokens[1] for row in compared.rows if row.arm == arm.name],
            }
            for arm in arms
        }
        table, numbers["measured"] = _costs("As asked", spent, "As if no reply had been cached.", run, priced=True)
        tables.append(table)
    tables += [compared.means("Right answers", bench.searched.where), compared.differences("Paired")]
    about = f"{compared.samples:,} questions ({run.part} part), {bench.model}, {SETTINGS.k} passages."
    return bench.report("cost", tables, rows, numbers, about=about, k=SETTINGS.k, partition_size=PARTITION)


def plan(question: Sample, bench: SearchBench, extractive: ExtractiveReader | None) -> Planned:
    """The router's choice for the retrieved passages, and the cost model's figures for each way to read them."""
    asked, library = normalised(question.question), bench.searched.library
    retrieval = retrieve_passages(library, [asked], TWO_WAYS)
    refs, sources = retrieval.references(), retrieval.sources()
    decision = decide(asked, refs, sources, TWO_WAYS, risk_model_of(library), extractive)
    overhead, tokens = overheads(bench.reader, asked), [ref["tokens"] for ref in refs]
    costs = {
        RAG: cost("plain", overhead, tokens, PARTITION),
        MAP_REDUCE: cost("map_reduce", overhead, tokens, PARTITION),
    }
    return Planned(decision.name, {**costs, ROUTER: costs[RAG if decision.name == "plain" else MAP_REDUCE]})


def saved(spent: Sequence[float], instead: Sequence[float], seed: int) -> Estimate:
    """Share of `instead`, summed over the questions, that was not spent; undefined where nothing would have been."""
    taken = ratio(spent, instead, seed=seed)
    return Estimate(1 - taken.value, 1 - taken.high, 1 - taken.low)


def _costs(title: str, columns: Columns, note: str, run: Run, *, priced: bool) -> tuple[Table, dict[str, Any]]:
    """Means for a question, and what is saved against always taking map/reduce."""
    price = run.budget.price if priced else None
    lines, numbers = [], {}
    for arm, row in columns.items():
        means = {name: average(values, seed=run.seed) for name, values in row.items()}
        shares = {
            f"saved_{name}": saved(row[name], columns[MAP_REDUCE][name], run.seed) for name in ("calls", "input_tokens")
        }
        numbers[arm] = figures({**means, **shares})
        cells = [_amount(mean, 2 if name == "calls" else 0) for name, mean in means.items()]
        if price is not None:
            dollars = price.cost(int(sum(row["input_tokens"])), int(sum(row["output_tokens"]))) / len(row["calls"])
            numbers[arm]["usd"] = dollars
            cells.append(f"{dollars:.6f}")
        lines.append((arm, *cells, *(number(share, percent=True, signed=True) for share in shares.values())))
    head = [MEASURES[name] for name in next(iter(columns.values()))] + (["USD"] if price else [])
    note = f"{note} Mean for a question; saved: share of what {MAP_REDUCE} takes for all of them. [95 %: bootstrap.]"
    return Table(title, ("", *head, "calls saved %", "tokens read saved %"), tuple(lines), note.strip()), numbers


def _amount(estimate: Estimate, digits: int) -> str:
    """A cell: a mean amount with its interval."""
    value, low, high = (f"{part:,.{digits}f}" for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _routes(plans: Sequence[Planned]) -> str:
    counts = Counter(plan.route.replace("_", "/") for plan in plans)
    return "The router chose " + ", ".join(f"{route} {count:,} times" for route, count in counts.most_common()) + "."

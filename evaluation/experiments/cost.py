"""Experiment `cost`: tokens and calls of each way to read, and the share that the preflight's router saves.

BriefContext, section 5.2. The router chooses between plain RAG and map/reduce as in the paper, with COrg switched off;
the auto route may also escalate to COrg. The saving is relative to always using map/reduce. The cost model (equations 4
and 5) uses the lengths of extracts and answers that were measured here, of the keyless reader without a language model.
The paper's figures are for 8 passages, so the model's costs for the first 8 are given, too.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from evaluation.bench import SearchBench, open_bench
from evaluation.compare import compare
from evaluation.experiments.integration import spread
from evaluation.intervals import Estimate, average, ratio
from evaluation.published import beside
from evaluation.report import Report, Table, figures, number
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import SETTINGS
from evaluation.stages import (
    AUTO,
    MAP_REDUCE,
    PARTITION,
    RAG,
    MeteredReader,
    TurnStages,
    map_reduce,
    plain,
    written_text,
)
from preflight_rag.conversation.questions import normalised
from preflight_rag.graph.readers import extractive_for
from preflight_rag.library.search.retrieval import retrieve_passages
from preflight_rag.models.reading.extractive_reader import ExtractiveReader
from preflight_rag.routing.costs import Cost, WrittenTokens, cost, overheads, written_by
from preflight_rag.routing.decision import decide, partition
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Source

RECORDS = 8
"""Passages of a question in the paper's figures."""
MEASURED = 50
"""Most questions whose extracts and answers are measured; enough for a mean of lengths (a guess)."""
ROUTER = "router: RAG or BriefContext"
EQUATION = "BriefContext by equation 5, without the reduce prompt"
TWO_WAYS = SETTINGS.model_copy(update={"corg": False})
MEASURES = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written"}
Columns = Mapping[str, Mapping[str, Sequence[float]]]
"""The values of each question by measure, by arm."""


@dataclass(frozen=True)
class PlannedCost:
    """The cost model's result for a question, by arm, and the router's route; `of_few` is for the first `RECORDS`."""

    route: str
    costs: dict[str, Cost]
    of_few: dict[str, Cost]


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question in every way, and estimate the cost of each way."""
    with open_bench(found, run, lambda _: spread(found, run)) as bench:
        retrieved = bench.retrieved()
        extractive = extractive_for(bench.reader, run.extractive_reader)
        written = measured(bench, retrieved)
        planned = {question.id: plan(question, bench, extractive, written) for question in bench.questions}
        turns = bench.turns
        arms = [plain(bench.reader), map_reduce(bench.reader)]
        arms += [turns.arm(ROUTER, TWO_WAYS, short=True), turns.arm(short=True)]
        rows = bench.ask(arms, lambda question: retrieved[question.id])
    rows = [replace(row, details={**row.details, "planned": asdict(planned[row.sample])}) for row in rows]
    pairs = {f"{arm.name} − {RAG}": ((arm.name, "all"), (RAG, "all")) for arm in arms if arm.name != RAG}
    pairs |= {f"{arm} − {MAP_REDUCE}": ((arm, "all"), (MAP_REDUCE, "all")) for arm in (ROUTER, AUTO)}
    compared = compare(rows, columns={"all": [""]}, pairs=pairs, seed=run.seed)
    plans = [planned[name] for name in compared.scores[RAG]["all"]]
    spent = _planned([one.costs for one in plans], (RAG, MAP_REDUCE, EQUATION, ROUTER))
    title = "By the cost model (section 5.2, equations 4 and 5)"
    lengths = f"Measured: {written.extract:.0f} tokens an extract, {written.answer:.0f} an answer. {_routes(plans)}"
    table, by_model, _ = _costs(title, spent, lengths, run)
    tables, numbers = [table], {**compared.figures, "planned": by_model, "written": asdict(written)}
    if not bench.offline:
        spent = {}
        for arm in arms:
            of_arm = [row for row in compared.rows if row.arm == arm.name]
            spent[arm.name] = {
                "calls": [row.calls for row in of_arm],
                "input_tokens": [row.tokens[0] for row in of_arm],
                "output_tokens": [row.tokens[1] for row in of_arm],
            }
        table, numbers["measured"], _ = _costs("As asked", spent, "As if no reply had been cached.", run)
        tables.append(table)
    title = f"By the cost model, of the first {RECORDS} passages as in the paper"
    few = _planned([one.of_few for one in plans], (RAG, MAP_REDUCE, EQUATION))
    table, numbers["of_few"], means = _costs(title, few, lengths, run)
    tables.append(table)
    tables += beside("cost", means, here=f"{found.title}, {compared.samples:,} questions, {RECORDS} passages by the "
                     f"cost model, {bench.model}")  # fmt: skip
    tables += [compared.means("Right answers", bench.searched.where), compared.differences("Paired")]
    about = f"{compared.samples:,} questions ({run.part} part), {bench.model}, {SETTINGS.k} passages."
    return bench.report("cost", tables, rows, numbers, about=about, k=SETTINGS.k, partition_size=PARTITION)


def measured(bench: SearchBench, retrieved: Mapping[str, Sequence[Source]]) -> WrittenTokens:
    """Return mean tokens of the extracts and answers that the run's reader writes for the first questions."""
    some = bench.questions[:MEASURED]
    extracts, answers = asyncio.run(_write(bench, [(question, retrieved[question.id]) for question in some]))
    tokens = bench.reader.count_tokens
    return written_by([tokens(text) for text in extracts], round(fmean([tokens(text) for text in answers] or [0])))


async def _write(bench: SearchBench, asked: Sequence[tuple[Sample, Sequence[Source]]]) -> tuple[list[str], list[str]]:
    """Return the extracts of each question's partitions and its plain answers; failed ones are left out."""
    extracts, answers = list[str](), list[str]()
    for question, sources in asked:
        with suppress(ModelError):
            stages = TurnStages(MeteredReader(bench.reader), question.question, sources, options=question.options)
            found = await stages.extracts(partition(len(sources), PARTITION))
            extracts += [written_text(extract) for extract in found]
            reply = await bench.reader.answer(question=question.question, sources=sources, options=question.options)
            answers.append(written_text(reply.value))
    return extracts, answers


def plan(
    question: Sample, bench: SearchBench, extractive: ExtractiveReader | None, written: WrittenTokens
) -> PlannedCost:
    """Return the router's choice for the retrieved passages, and the cost model's figures for each way to read them."""
    asked, library = normalised(question.question), bench.searched.library
    settings = TWO_WAYS.model_copy(update={"reranker": bench.searched.reranker})
    retrieval = retrieve_passages(library, [asked], settings)
    refs, sources = retrieval.references(), retrieval.sources()
    decision = decide(asked, refs, sources, settings, risk_model_of(library), extractive)
    overhead, tokens = overheads(bench.reader, asked), [ref["tokens"] for ref in refs]

    def costs(lengths: Sequence[int]) -> dict[str, Cost]:
        return {
            RAG: cost("plain", overhead, lengths, PARTITION, written),
            MAP_REDUCE: cost("map_reduce", overhead, lengths, PARTITION, written),
            EQUATION: cost("map_reduce", overhead, lengths, PARTITION, written, reduce_prompt=False),
        }

    whole = costs(tokens)
    routed = {ROUTER: whole[RAG if decision.name == "plain" else MAP_REDUCE]}
    return PlannedCost(decision.name, whole | routed, costs(tokens[:RECORDS]))


def _planned(costs: Sequence[Mapping[str, Cost]], arms: Sequence[str]) -> Columns:
    """Return the cost model's values for each question, by arm and measure."""
    found: dict[str, dict[str, list[float]]] = {}
    for arm in arms:
        of_arm = [one[arm] for one in costs]
        found[arm] = {name: [getattr(cost, name) for cost in of_arm] for name in MEASURES}
    return found


def saved(spent: Sequence[float], instead: Sequence[float], seed: int) -> Estimate:
    """Return the saved share of `instead`, summed over the questions; undefined if that is 0."""
    taken = ratio(spent, instead, seed=seed)
    return Estimate(1 - taken.value, 1 - taken.high, 1 - taken.low)


def _costs(
    title: str, columns: Columns, note: str, run: ExperimentRun
) -> tuple[Table, dict[str, Any], dict[str, dict[str, Estimate]]]:
    """Return means for a question, and the savings against always using map/reduce."""
    price = run.budget.price
    lines, numbers, shown = [], {}, {}
    for arm, row in columns.items():
        means = {name: average(values, seed=run.seed) for name, values in row.items()}
        shares = {
            f"saved_{name}": saved(row[name], columns[MAP_REDUCE][name], run.seed) for name in ("calls", "input_tokens")
        }
        numbers[arm] = figures({**means, **shares})
        shown[arm] = {MEASURES[name]: mean for name, mean in means.items()}
        cells = [_amount(mean, 2 if name == "calls" else 0) for name, mean in means.items()]
        if price is not None:
            dollars = price.cost(int(sum(row["input_tokens"])), int(sum(row["output_tokens"]))) / len(row["calls"])
            numbers[arm]["usd"] = dollars
            cells.append(f"{dollars:.6f}")
        lines.append((arm, *cells, *(number(share, percent=True, signed=True) for share in shares.values())))
    head = [MEASURES[name] for name in next(iter(columns.values()))] + (["USD"] if price else [])
    note = f"{note} Mean for a question; saved: share of what {MAP_REDUCE} takes for all of them. [95 %: bootstrap.]"
    return Table(title, ("", *head, "calls saved %", "tokens read saved %"), tuple(lines), note.strip()), numbers, shown


def _amount(estimate: Estimate, digits: int) -> str:
    """Return a cell: a mean amount with its interval."""
    value, low, high = (f"{part:,.{digits}f}" for part in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _routes(plans: Sequence[PlannedCost]) -> str:
    """Return a sentence with the routes that the router chose, and how often."""
    counts = Counter(plan.route.replace("_", "/") for plan in plans)
    return "The router chose " + ", ".join(f"{route} {count:,} times" for route, count in counts.most_common()) + "."

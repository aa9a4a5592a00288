"""Experiment `integration`: closed-book CoT, RAG, BriefContext, and the auto route, on each subset of MIRAGE.

BriefContext, Fig. 3 and Supplementary Table 3. All arms but the closed book read the passages that a turn retrieves;
`auto route` is a whole turn, whose preflight chooses the way of reading. With `--order dense` the others read the first
passages of the dense ranking, in its order, as in the paper; a turn's own are unchanged. If a set has several subsets,
the limit is spread over them evenly. The paper uses three of MIRAGE's and the mean of their accuracies, which is in a
table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from evaluation.bench import open_bench
from evaluation.compare import FALLBACK, Comparison, compare
from evaluation.datasets import MIRAGE_PARTS
from evaluation.intervals import Estimate, mean_of_groups, wilson
from evaluation.published import beside
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import KEYED, SETTINGS
from evaluation.stages import (
    AUTO,
    CLOSED_BOOK,
    MAP_REDUCE,
    NO_CLOSED_BOOK,
    RAG,
    closed_book,
    map_reduce,
    plain,
)

ALL = "all"
OF_THE_PAPER = ("MedMCQA", "PubMedQA*", "BioASQ-Y/N")
"""The subsets of Supplementary Table 3."""
MEAN = "mean of three"
SHOWN = {"map_reduce": "map/reduce", "corg": "COrg"}


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with every arm."""
    with open_bench(found, run, lambda _: spread(found, run)) as bench:
        retrieved = bench.retrieved()
        evidence = {question.id: bool(bench.searched.documents(question)) for question in bench.questions}
        arms = [] if bench.offline else [closed_book(bench.asking)]
        arms += [plain(bench.reader), map_reduce(bench.reader), bench.turns.arm(short=True)]
        rows = bench.ask(arms, lambda question: {subset_name(question): retrieved[question.id]})
    names = [arm.name for arm in arms]
    parts = _parts(bench.questions)
    others = [arm for arm in names if arm != RAG]
    pairs = {f"{part}: {arm} − {RAG}": ((arm, part), (RAG, part)) for part in parts for arm in others}
    pairs |= {f"{ALL}: {AUTO} − {MAP_REDUCE}": ((AUTO, ALL), (MAP_REDUCE, ALL))}
    strict = compare(rows, columns=parts, pairs=pairs, seed=run.seed)
    loose = compare([replace(row, score=row.details.get("fallback")) for row in rows], columns=parts, pairs={},
                    seed=run.seed)  # fmt: skip
    note = f"{strict.left_out}{bench.searched.where} {_evidence(strict, parts, evidence)}"
    note += "" if CLOSED_BOOK in names else f" {NO_CLOSED_BOOK}"
    routes, taken = _routes(strict, names, run.seed)
    tables = [strict.means("Strict: what cannot be read is wrong", note)]
    if any(question.options for question in bench.questions):
        tables.append(loose.means("As MIRAGE's scorer counts", FALLBACK))
    mean = mean_of_sets(strict, run.seed)
    tables += [*_mean_table(mean), strict.differences("Paired"), strict.costs("Beside the answers"), routes]
    repeated, of_repeats = bench.over_repeats(rows, lambda row: row.arm)
    tables += repeated
    plot = strict.bars("Right answers by subset", note=f"{bench.model}. Intervals: 95 %, Wilson's.")
    fallback = {arm: figures(row) for arm, row in loose.estimates.items()}
    three = {arm: estimate.as_json() for arm, estimate in mean.items()}
    numbers = {**strict.figures, MEAN: three, "fallback": fallback, "routes": taken, "repeats": of_repeats}
    about = f"{strict.samples:,} questions ({run.part} part), {bench.model}, {SETTINGS.k} passages."
    ours = {arm: {**row, **({MEAN: mean[arm]} if mean else {})} for arm, row in strict.estimates.items()}
    tables += beside("integration", ours, here=f"{found.title}, {about.removesuffix('.')}")
    return bench.report("integration", tables, rows, numbers, (plot,), about=about, k=SETTINGS.k)


def mean_of_sets(strict: Comparison, seed: int) -> dict[str, Estimate]:
    """Return the mean of each arm's accuracies on the paper's three sets; empty if one of these was not asked."""
    if not set(OF_THE_PAPER) <= set(strict.columns):
        return {}
    means = {}
    for arm, row in strict.scores.items():
        means[arm] = mean_of_groups([list(row[name].values()) for name in OF_THE_PAPER], seed=seed)
    return means


def _mean_table(mean: dict[str, Estimate]) -> tuple[Table, ...]:
    """Return a table of each arm's mean over the paper's three sets; none if there is no mean."""
    lines = tuple((arm, number(estimate, percent=True)) for arm, estimate in mean.items())
    note = f"Of {', '.join(OF_THE_PAPER)}, each set counting the same. [95 %: bootstrap within each set.]"
    return (Table("The mean of the paper's three sets", ("right %", MEAN), lines, note),) if mean else ()


def spread(found: DataSet, run: ExperimentRun) -> tuple[Sample, ...]:
    """Return the part's questions that a rule can score, with equal shares of the limit for each label.

    The unused part of a small label's share, and any remainder, go to the first labels by name.
    """
    found = replace(found, samples=tuple(question for question in found.samples if question.kind in KEYED))
    chosen = found.select(run.part)
    found.select(run.part, run.limit)
    if run.limit is None or run.limit >= len(chosen):
        return chosen
    queues: dict[str, list[Sample]] = {label: [] for label in sorted({question.label for question in chosen})}
    for question in chosen:
        queues[question.label].append(question)
    in_turn = chain.from_iterable(zip_longest(*queues.values()))
    return tuple([question for question in in_turn if question is not None][: run.limit])


def subset_name(question: Sample) -> str:
    """Return a subset's name in MIRAGE's tables."""
    return MIRAGE_PARTS.get(question.label, question.label or ALL)


def _parts(questions: Sequence[Sample]) -> dict[str, list[str]]:
    """Return the columns: each subset in MIRAGE's order, then by name, and "all"; with a single subset only "all"."""
    order = list(MIRAGE_PARTS.values())
    names = sorted(
        {subset_name(question) for question in questions},
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    return {**({name: [name] for name in names} if len(names) > 1 else {}), ALL: names}


def _evidence(strict: Comparison, parts: dict[str, list[str]], evidence: dict[str, bool]) -> str:
    """Return a sentence on how many questions have an answering document in the corpus."""
    counts = []
    for part in parts:
        samples = list(strict.scores[RAG][part])
        counts.append(f"{part} {sum(evidence[name] for name in samples):,} of {len(samples):,}")
    return f"Questions with a document that answers them in the corpus: {', '.join(counts)}."


def _routes(strict: Comparison, arms: Sequence[str], seed: int) -> tuple[Table, dict[str, Any]]:
    """Return the routes on which `auto` ended, with every arm's result on those questions."""
    taken = {row.sample: row.details["route"] or "no answer" for row in strict.rows if row.arm == AUTO}
    by_route: list[ScoreRow] = [replace(row, condition=taken[row.sample]) for row in strict.rows]
    found = compare(by_route, by="arm", columns=arms, pairs={}, seed=seed)
    ended = Counter(taken.values())
    counts = {route: ended[route] for route in found.estimates}
    lines, numbers = [], {}
    for route in sorted(counts, key=lambda name: (-counts[name], name)):
        estimates = found.estimates[route]
        cells = (number(estimate, percent=True) for estimate in estimates.values())
        lines.append((SHOWN.get(route, route), str(counts[route]), *cells))
        share = wilson(counts[route], len(taken)).as_json()
        numbers[route] = {"questions": counts[route], "share": share, **figures(estimates)}
    head = ("route", "questions", *(f"{arm} %" for arm in arms))
    return Table(f"By the route on which {AUTO} ended", head, tuple(lines), "[95 %: Wilson.]"), numbers

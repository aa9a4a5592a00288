"""Experiment `context-length`: right answers with more and more passages around the one that answers, and an oracle.

BriefContext, Fig. 5 and section 5.3: the same key passage for every number of passages, put at the 0th, 25th, 50th,
75th and 100th percentile of 2, 4, 8, 16 and 32 of them; a question's five places are averaged. Plain RAG and map/reduce
read identical passages. The oracle reads the key passage alone; the closed book is the model without passages. With
`--repeats` every question is asked repeatedly, which gives the standard deviation, as in the journal's figure.
"""

from __future__ import annotations

from dataclasses import replace

from evaluation.bench import open_bench
from evaluation.compare import compare
from evaluation.experiments.positions import PERCENTILES, condition, placed
from evaluation.plots import Reference
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet
from evaluation.stages import (
    MAP_REDUCE,
    NO_CLOSED_BOOK,
    ORACLE,
    RAG,
    closed_book,
    map_reduce,
    on_passages,
    plain,
)
from preflight_rag.state.reading import Source

LENGTHS = (2, 4, 8, 16, 32)
ARMS = (RAG, MAP_REDUCE)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with its key passage among more and more others."""
    with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
        passages, where = placed(bench, LENGTHS), bench.searched.where
        keys = {question.id: Source.of(bench.searched.key(question), 1) for question in bench.questions}
        read = bench.ask([plain(bench.reader), map_reduce(bench.reader)], lambda question: passages[question.id])
        alone = [on_passages(plain(bench.reader, ORACLE), lambda question, _: [keys[question.id]])]
        alone += [] if bench.offline else [closed_book(bench.asking)]
        once = bench.ask(alone, lambda question: ())
    everywhere = [replace(row, condition=condition(k, PERCENTILES[0])) for row in once for k in LENGTHS]
    columns = {named(k): [condition(k, at) for at in PERCENTILES] for k in LENGTHS}
    last, lines = named(LENGTHS[-1]), [*ARMS, *(arm.name for arm in alone)]
    pairs = {f"{named(k)}: {MAP_REDUCE} − {RAG}": ((MAP_REDUCE, named(k)), (RAG, named(k))) for k in LENGTHS}
    pairs |= {f"{ORACLE} − {arm}, {last}": ((ORACLE, last), (arm, last)) for arm in ARMS}
    pairs |= {f"{arm}: {named(LENGTHS[0])} − {last}": ((arm, named(LENGTHS[0])), (arm, last)) for arm in ARMS}
    compared = compare([*read, *everywhere], columns=columns, lines=lines, pairs=pairs, seed=run.seed)
    asked = replace(compared, rows=tuple(row for row in (*read, *once) if row.sample in compared.scores[RAG][last]))
    note = f"{where} {compared.left_out}Mean of the key passage's five places. Oracle: the key passage alone. "
    note += NO_CLOSED_BOOK if bench.offline else ""
    repeated, of_repeats = bench.over_repeats([*read, *once], _line)
    tables = (
        compared.means("By the number of passages", note.strip()),
        compared.differences("Paired"),
        asked.costs("Beside the answers", label=_line),
        *repeated,
    )
    title, place = "Right answers by the number of passages", {named(k): float(k) for k in LENGTHS}
    plot = compared.lines(title, "passages", list(place), note=f"{bench.model}. Intervals: 95 %, Wilson's.")
    plot = replace(
        plot,
        at=tuple(map(str, LENGTHS)),
        series=plot.series[: len(ARMS)],
        references=tuple(Reference(arm.name, compared.estimates[arm.name][last]) for arm in alone),
    )
    numbers = {**compared.figures, "spent": asked.spent(label=_line), "repeats": of_repeats}
    return bench.report("context-length", tables, [*read, *once], numbers, (plot,), lengths=LENGTHS)


def named(k: int) -> str:
    """Return the name of the column of k passages."""
    return f"k = {k}"


def _line(row: ScoreRow) -> str:
    """Return the name of a row's line in the tables: its arm and number of passages."""
    return f"{row.arm}, {named(int(row.condition.removeprefix('k=').split(',')[0]))}" if row.condition else row.arm

"""Experiment `context-length`: right answers as more retrieved passages are read, beside an oracle and a closed book.

BriefContext, Fig. 5: the first 2, 4, 8, 16 and 32 passages that a turn retrieves, read by plain RAG and by map/reduce.
The oracle reads a passage of a document that answers, alone; the closed book is the model without passages.
"""

from __future__ import annotations

from dataclasses import replace

from preflight_rag.evaluation.bench import open_bench
from preflight_rag.evaluation.compare import compare
from preflight_rag.evaluation.plots import Reference
from preflight_rag.evaluation.report import Report
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.evaluation.stages import (
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
HELD = "a document that answers is among them"


def run(found: DataSet, run: Run) -> Report:
    """Ask each question with ever more of its retrieved passages."""
    with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
        searched, retrieved = bench.searched, bench.retrieved(LENGTHS[-1])
        keys = {question.id: Source.of(searched.key(question), 1) for question in bench.questions}
        answering = {question.id: searched.answering(question) for question in bench.questions}
        read = bench.ask(
            [plain(bench.reader), map_reduce(bench.reader)],
            lambda question: {condition(k): retrieved[question.id][:k] for k in LENGTHS},
        )
        alone = [on_passages(plain(bench.reader, ORACLE), lambda question, _: [keys[question.id]])]
        alone += [] if bench.offline else [closed_book(bench.asking)]
        once = bench.ask(alone, lambda question: ())
    among = [replace(row, arm=HELD, score=_holds(row, answering[row.sample])) for row in read if row.arm == RAG]
    everywhere = [replace(row, condition=condition(k)) for row in once for k in LENGTHS]
    last, lines = condition(LENGTHS[-1]), [*ARMS, *(arm.name for arm in alone), HELD]
    pairs = {f"{condition(k)}: {MAP_REDUCE} − {RAG}": ((MAP_REDUCE, condition(k)), (RAG, condition(k)))
             for k in LENGTHS}  # fmt: skip
    pairs |= {f"{ORACLE} − {arm}, {last}": ((ORACLE, last), (arm, last)) for arm in ARMS}
    compared = compare([*read, *everywhere, *among], lines=lines, pairs=pairs, seed=run.seed)
    answers = tuple(row for row in (*read, *once) if row.sample in compared.scores[RAG][last])
    asked = replace(compared, rows=answers)
    note = f"{searched.where} {compared.left_out}Oracle: one passage of a document that answers, alone. "
    note += NO_CLOSED_BOOK if bench.offline else ""
    tables = (
        compared.means("By the number of retrieved passages", note.strip()),
        compared.differences("Paired"),
        asked.costs("Beside the answers", label=_named),
    )
    title, place = "Right answers by the number of passages", {condition(k): float(k) for k in LENGTHS}
    plot = compared.lines(title, "retrieved passages", list(place), note=f"{bench.model}. Intervals: 95 %, Wilson's.")
    plot = replace(
        plot,
        at=tuple(map(str, LENGTHS)),
        series=plot.series[: len(ARMS)],
        references=tuple(Reference(arm.name, compared.estimates[arm.name][last]) for arm in alone),
    )
    numbers = {**compared.figures, "spent": asked.spent(label=_named)}
    return bench.report("context-length", tables, [*read, *once], numbers, (plot,), lengths=LENGTHS)


def condition(k: int) -> str:
    """Names the condition of the first k passages."""
    return f"k = {k}"


def _holds(row: Row, answering: frozenset[str]) -> float | None:
    return row.score if row.score is None else float(any(p["id"] in answering for p in row.details["passages"]))


def _named(row: Row) -> str:
    return f"{row.arm}, {row.condition}" if row.condition else row.arm

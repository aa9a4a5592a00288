"""Experiment `distractors`: passages that a search finds against random ones beside the same key passage.

BriefContext, Fig. 6 and section 2.6: the key passage is in the middle in both, where it is lost most often, so that
only the other passages differ. RAG and map/reduce read identical passages. With `--repeats` every question is asked
repeatedly, which gives the standard deviation, as in the journal's figure.
"""

from __future__ import annotations

from evaluation.bench import open_bench
from evaluation.compare import compare
from evaluation.experiments.positions import place_of
from evaluation.report import Report
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import SearchedLibrary, among
from evaluation.stages import MAP_REDUCE, RAG, map_reduce, plain
from preflight_rag.state.reading import Source

SIZE = 16
"""Passages, as many as a turn retrieves (BriefContext's top_k)."""
RETRIEVED, RANDOM = "retrieved", "random"
CONDITIONS = (RETRIEVED, RANDOM)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question among retrieved and among random passages."""
    with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
        passages = {question.id: _passages(bench.searched, question) for question in bench.in_turn()}
        rows = bench.ask([plain(bench.reader), map_reduce(bench.reader)], lambda q: passages[q.id])
    pairs = {f"{arm}: {RANDOM} − {RETRIEVED}": ((arm, RANDOM), (arm, RETRIEVED)) for arm in (RAG, MAP_REDUCE)}
    pairs |= {f"{name}: {MAP_REDUCE} − {RAG}": ((MAP_REDUCE, name), (RAG, name)) for name in CONDITIONS}
    compared = compare(rows, pairs=pairs, seed=run.seed)
    note = f"{compared.left_out}One key passage in the middle of {SIZE - 1} others. "
    repeated, of_repeats = bench.over_repeats(rows, _named)
    tables = (
        compared.means(f"{SIZE} passages", note + bench.searched.where),
        compared.differences("Paired"),
        compared.costs("Beside the answers", label=_named),
        *repeated,
    )
    plot = compared.bars("Retrieved and random distractors", note=f"{bench.model}. Intervals: 95 %, Wilson's.")
    numbers = {**compared.figures, "spent": compared.spent(label=_named), "repeats": of_repeats}
    return bench.report("distractors", tables, rows, numbers, (plot,), passages=SIZE)


def _passages(searched: SearchedLibrary, question: Sample) -> dict[str, tuple[Source, ...]]:
    """Return the key passage among retrieved and among random passages, by condition."""
    key = searched.key(question)
    place = place_of(50, SIZE)
    return {
        RETRIEVED: among(key, searched.nearest(question, key, SIZE - 1), place),
        RANDOM: among(key, searched.random(question, key, SIZE - 1), place),
    }


def _named(row: ScoreRow) -> str:
    """Return the name of a row's line in the tables: its arm and condition."""
    return f"{row.arm}, {row.condition}"

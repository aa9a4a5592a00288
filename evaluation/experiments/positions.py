"""Experiment `positions`: does an answer get lost if the key passage is in the middle?

BriefContext, Fig. 2 and Supplementary Table 1: the key passage is put at the 0th, 25th, 50th, 75th and 100th percentile
of 8 and of 16 passages; plain RAG and BriefContext's map/reduce read identical passages. The others are those that the
corpus' search ranks highest for the question and that do not answer it; by the dense ranking alone, as in the paper,
with `--order dense`. With `--repeats` every question is asked repeatedly, which gives the standard deviation. The two
arms are compared at each place and, as for the journal's p-values, by the mean of a question's five.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.bench import SearchBench, open_bench
from evaluation.compare import compare
from evaluation.intervals import Estimate
from evaluation.published import beside
from evaluation.report import Report, figures
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searched import among
from evaluation.stages import MAP_REDUCE, RAG, map_reduce, plain
from preflight_rag.state.reading import Source

PERCENTILES = (0, 25, 50, 75, 100)
SIZES = (8, 16)
ARMS = (RAG, MAP_REDUCE)
ENDS, MIDDLE = "ends", "middle"
MEAN = "mean of the places"


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask each question with its key passage at every place."""
    with open_bench(found, run, lambda searched: searched.with_key(found, run)) as bench:
        passages = placed(bench, SIZES)
        rows = bench.ask([plain(bench.reader), map_reduce(bench.reader)], lambda q: passages[q.id])
    where, seed = bench.searched.where, run.seed
    tables, plots, accuracy = [], [], {}
    measured: dict[str, dict[str, Estimate]] = {f"{at} %": {} for at in PERCENTILES}
    by_arm: dict[str, dict[str, Estimate]] = {}
    for size in SIZES:
        columns = {f"{at} %": [condition(size, at)] for at in PERCENTILES}
        found_at = compare(rows, columns={**columns, "all": [condition(size, at) for at in PERCENTILES]}, seed=seed)
        note = f"{found_at.left_out}By the key passage's percentile; all: mean of a question's five. {where}"
        tables.append(found_at.means(f"{size} passages (top_k = {size})", note))
        accuracy[f"k={size}"] = {arm: figures(row) for arm, row in found_at.estimates.items()}
        for arm, row in found_at.estimates.items():
            by_arm.setdefault(arm, {})[f"{size}, {MEAN}"] = row["all"]
            for name, here in measured.items():
                here[f"{size}, {arm}"] = row[name]
        at = {f"{at} %": float(at) for at in PERCENTILES}
        title = f"Where the key passage stands among {size} passages"
        note = f"{bench.model}. Intervals: 95 %, Wilson's."
        plots.append(found_at.lines(title, "percentile of the key passage", at, note=note))
    ends_and_middle: dict[str, list[str]] = {}
    for size in SIZES:
        ends_and_middle[f"{size} {ENDS}"] = [condition(size, 0), condition(size, 100)]
        ends_and_middle[f"{size} {MIDDLE}"] = [condition(size, 50)]
    dips = compare(
        rows,
        columns=ends_and_middle,
        pairs={f"{arm}, k = {size}": ((arm, f"{size} {ENDS}"), (arm, f"{size} {MIDDLE}"))
               for size in SIZES for arm in ARMS},
        seed=seed,
    )  # fmt: skip
    places = {f"k = {size}, {at} %": [condition(size, at)] for size in SIZES for at in PERCENTILES}
    places |= {f"k = {size}, {MEAN}": [condition(size, at) for at in PERCENTILES] for size in SIZES}
    arms = compare(rows, columns=places, pairs={name: ((MAP_REDUCE, name), (RAG, name)) for name in places}, seed=seed)
    repeated, of_repeats = bench.over_repeats(rows, _named)
    by_place, of_places = bench.over_repeats(
        rows, lambda row: f"{row.arm}, {row.condition}", title="Over repeated runs, by place"
    )
    tables += [
        dips.differences("The dip: key at the ends − in the middle", "Ends: mean of 0 and 100 %."),
        arms.differences(f"{MAP_REDUCE} − {RAG} on identical passages"),
        arms.costs("Beside the answers, all positions", label=_named),
        *repeated,
        *by_place,
        *beside("positions", {**measured, **by_arm}, here=f"{found.title}, {arms.samples:,} questions, {bench.model}"),
    ]
    numbers = {
        "repeats": of_repeats,
        "repeats by place": of_places,
        "questions": arms.samples,
        "failed": arms.failed,
        "accuracy": accuracy,
        "dip": dips.figures["paired"],
        "paired": arms.figures["paired"],
        "spent": arms.spent(label=_named),
    }
    return bench.report("positions", tables, rows, numbers, plots, sizes=SIZES, percentiles=PERCENTILES)


def place_of(percentile: int, count: int) -> int:
    """Return the index of a percentile among `count` passages; halves are rounded up."""
    return int(percentile * (count - 1) / 100 + 0.5)


def condition(size: int, percentile: int) -> str:
    """Return the name of a condition."""
    return f"k={size},{percentile}%"


def placed(bench: SearchBench, sizes: Sequence[int]) -> dict[str, dict[str, tuple[Source, ...]]]:
    """Return passages by sample id and condition: the same key passage at each percentile, best others first."""
    return {question.id: _placed(bench, question, sizes) for question in bench.in_turn()}


def _placed(bench: SearchBench, question: Sample, sizes: Sequence[int]) -> dict[str, tuple[Source, ...]]:
    """Return the key passage at each percentile of each number of passages, by condition."""
    key = bench.searched.key(question)
    distractors = bench.searched.nearest(question, key, max(sizes) - 1)
    return {
        condition(size, percentile): among(key, distractors[: size - 1], place_of(percentile, size))
        for size in sizes
        for percentile in PERCENTILES
    }


def _named(row: ScoreRow) -> str:
    """Return the name of a row's line in the tables: its arm and number of passages."""
    return f"{row.arm}, k = {row.condition.removeprefix('k=').split(',')[0]}"

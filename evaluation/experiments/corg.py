"""Experiments `corg`, `corg-ablation` and `corg-cost`: COrg beside its paper's baselines, without its parts, its cost.

COrg's Tables 5, 6 and 10; Table 11; Table 12 and Fig. 4. Contexts are those that come with a question, so nothing
depends on a search; the systems are in `evaluation/corg_systems.py`. Without a language model they use the offline
reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from evaluation.bench import Bench, data_inputs, given_sources
from evaluation.compare import Comparison, compare
from evaluation.corg_measures import MEASURES, GradedAnswers, Grader, graded
from evaluation.corg_systems import (
    CORG,
    SEPARATE,
    SYSTEMS,
    OrganisedContexts,
    SystemArms,
    open_readers,
    with_passages,
)
from evaluation.harness.arms import Arm
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, wilson
from evaluation.plots import Curves, PlotAxis, Trace
from evaluation.published import beside
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow, complete, samples_of
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.state.values import Usage

PARTS = (
    "Duplicates kept: no context stands for others of the same answer. Undescribed kept: neither does one that says "
    "what it is about for one that does not. No grouping: all contexts that are kept in one group. No reformulation: "
    "the question stays in the singular. Without all: none of the four, which leaves one prompt with all contexts that "
    "answer; the paper's has all. "
    "Algorithm 1 as printed: in its order and mirrored without care, the edges of its lines 10 and 15 as the text has "
    "them; of duplicates a random one is kept, as in the paper."
)
WITHOUT = ("keep_duplicates", "keep_undescribed", "no_grouping", "no_reformulation")
SPENT = {"calls": "calls", "input_tokens": "tokens read", "output_tokens": "tokens written", "seconds": "seconds"}
ALONE = {"calls": "calls, without relating", "input_tokens": "read, without relating",
         "output_tokens": "written, without relating"}  # fmt: skip
"""The cost of COrg's answers without relating, as the paper counts it (Table 12), and that of the others."""
GROUPS = ("1 group", "2 groups", "3 groups", "4 groups or more")
ANSWERS, EAR, DISAMBIG = MEASURES["answers"], MEASURES["both"], MEASURES["disambig"]


@dataclass(frozen=True, kw_only=True)
class CorgBench(Bench):
    """A bench over contexts that come with questions; `sentences` is the reader whose vectors the baselines use."""

    sentences: OfflineReader

    @property
    def model(self) -> str:
        """The model, or "offline" with the name of the reader."""
        return f"{self.asking.name}: {self.reader.name}" if self.offline else self.asking.name

    @property
    def about(self) -> str:
        """What is measured, in one line."""
        contexts = sum(len(question.given) for question in self.questions)
        counted = f"{len(self.questions):,} questions ({self.run.part} part) with {contexts:,} contexts given"
        return f"{counted}; model: {self.model}."

    def systems(self, *, forgetful: bool = False) -> SystemArms:
        """Return the systems over the run's reader."""
        return SystemArms(self.reader, self.sentences, seed=self.run.seed, forgetful=forgetful)


@contextmanager
def open_corg(
    found: DataSet, run: ExperimentRun, questions: Sequence[Sample], known: Sequence[Sample] | None = None
) -> Iterator[CorgBench]:
    """Yield a bench over questions with contexts; `known` are the questions that a simulated model knows, if more."""
    with open_asking(run, questions if known is None else known) as asking:
        reader, sentences = open_readers(asking, run)
        yield CorgBench(found, run, tuple(questions), asking, reader, data_inputs(found), sentences=sentences)


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Ask every system, and compare each with COrg."""
    return _report("corg", found, run, lambda bench: bench.systems().arms(), SYSTEMS,
                   "All systems are given the same contexts and the same prompt; Retrieve keeps five.")  # fmt: skip


def ablation(found: DataSet, run: ExperimentRun) -> Report:
    """Ask every variant of COrg, and compare each with the complete one."""

    def arms(bench: CorgBench) -> list[Arm]:
        systems = bench.systems()
        return [systems.variant(name, **settings) for name, settings in variants(run.seed).items()]

    return _report("corg-ablation", found, run, arms, tuple(variants(run.seed)), PARTS)


def variants(seed: int) -> dict[str, dict[str, object]]:
    """Return the settings of COrg, and of COrg without each of its parts."""
    return {
        CORG: {},
        "duplicates kept": {"keep_duplicates": True},
        "undescribed kept": {"keep_undescribed": True},
        "no grouping": {"no_grouping": True},
        "no reformulation": {"no_reformulation": True},
        "without all": dict.fromkeys(WITHOUT, True),
        "Algorithm 1 as printed": {"corg_mode": "faithful", "random_duplicate": seed},
    }


def cost(found: DataSet, run: ExperimentRun) -> Report:
    """Ask every system, and measure its cost.

    A model's seconds are those of its original replies, so a run from the cache gives the same figures. Without a
    language model every arm reads its texts anew, one case at a time: the seconds are this machine's.
    """
    one_at_a_time = replace(run, concurrency=1) if run.model == OFFLINE else run
    grader = Grader(run.extractive_reader)
    with open_corg(found, one_at_a_time, with_passages(found.select(run.part, run.limit))) as bench:
        systems = bench.systems(forgetful=True)
        rows = in_order(bench.ask(systems.arms(), given_sources), SYSTEMS)
    measured = graded(rows, bench.questions, grader, baseline=CORG, seed=run.seed)
    spent = compare(_spent(rows, systems.organised), by="measure", pairs={}, seed=run.seed, wilson=False)
    title = f"{spent.samples:,} questions, {bench.model}"
    groups = group_shares([systems.organised[name] for name in samples_of(complete(rows)) if name in systems.organised])
    numbers = {**spent.figures, "measures": measured.figures, "groups": figures(groups)}
    tables: list[Table] = []
    plots: tuple[Curves, ...] = ()
    if spent.samples:
        tables += [*_cost_table(spent, measured, title), _group_table(groups, title)]
        ours: dict[str, dict[str, Estimate]] = {
            arm: {**row, **measured.by_system.estimates[arm]} for arm, row in spent.estimates.items()
        }
        ours |= {name: {"share of the questions": share} for name, share in groups.items()}
        tables += beside("corg-cost", ours, here=f"{found.title}, {title}, read by {grader.name}")
        plots = _cost_plot(spent, measured, title)
    return bench.report(
        "corg-cost", tables, measured.rows, numbers, plots, about=bench.about, disambig_reader=grader.name
    )


def in_order(rows: Sequence[ScoreRow], names: Sequence[str]) -> list[ScoreRow]:
    """Return the rows of each sample with its arms in the order of the tables."""
    samples = dict.fromkeys(row.sample for row in rows)
    places = {sample: place for place, sample in enumerate(samples)}
    return sorted(rows, key=lambda row: (places[row.sample], names.index(row.arm)))


def _report(
    name: str,
    found: DataSet,
    run: ExperimentRun,
    arms: Callable[[CorgBench], Sequence[Arm]],
    order: Sequence[str],
    note: str,
) -> Report:
    """Return the report on arms that are compared with COrg; `note` describes them."""
    grader = Grader(run.extractive_reader)
    with open_corg(found, run, with_passages(found.select(run.part, run.limit))) as bench:
        rows = in_order(bench.ask(arms(bench), given_sources), order)
    measured = graded(rows, bench.questions, grader, baseline=CORG, seed=run.seed)
    whole = compare(rows, baseline=CORG, seed=run.seed)
    title = f"{whole.samples:,} questions, {bench.model}"
    tables = [measured.table(title, note)]
    if measured.by_system.tests:
        tables.append(measured.by_system.difference_grid(f"{title}: compared with COrg"))
    tables.append(whole.costs(f"{title}: whole answers and what they take", right=True))
    tables += beside(name, measured.by_system.estimates, here=f"{found.title}, {title}, read by {grader.name}")
    numbers: dict[str, Any] = {**whole.figures, "measures": measured.figures}
    numbers["compared"] = measured.by_system.figures["paired"]
    plots = measured.plots(title, f"Disambig-F1 by {grader.name}.")
    settings = {"sentences": bench.sentences.embedder.name}
    return bench.report(
        name, tables, measured.rows, numbers, plots, about=bench.about, disambig_reader=grader.name, settings=settings
    )


def _spent(rows: Sequence[ScoreRow], organised: Mapping[str, OrganisedContexts]) -> Iterator[ScoreRow]:
    """Yield a row for each kind of cost of an answer, with the calls that relate contexts and without them."""
    for row in complete(rows):
        read, written = row.tokens
        for name, value in zip(SPENT.values(), (row.calls, read, written, row.seconds), strict=True):
            yield replace(row, measure=name, score=value)
        relating = organised[row.sample].relating if row.arm == CORG and row.sample in organised else Usage()
        alone = row.calls - relating.calls, read - relating.input_tokens, written - relating.output_tokens
        for name, value in zip(ALONE.values(), alone, strict=True):
            yield replace(row, measure=name, score=value)


def group_shares(made: Sequence[OrganisedContexts]) -> dict[str, Estimate]:
    """Return, for each number of groups, the share of the questions with so many groups (COrg, appendix D.4)."""
    counts = Counter(min(len(one.groups), len(GROUPS)) for one in made)
    return {name: wilson(counts[count], len(made)) for count, name in enumerate(GROUPS, 1)}


def _group_table(groups: Mapping[str, Estimate], title: str) -> Table:
    """Return a table of the numbers of groups."""
    rows = tuple((name, number(share, percent=True)) for name, share in groups.items())
    return Table(f"COrg's groups, {title}", ("groups", "questions %"), rows, "[95 %: Wilson.]")


def _cost_table(spent: Comparison, measured: GradedAnswers, title: str) -> tuple[Table]:
    """Return a table with one line for each system: its cost, as a share of Separate's, and its accuracy."""
    names = []
    for key, name in SPENT.items():
        names += [name, ALONE[key]] if ALONE.get(key) else [name]
    forms = {name: ".3f" if name == SPENT["seconds"] else ".2f" if "calls" in name else ",.0f" for name in names}
    shared = (SPENT["calls"], SPENT["input_tokens"])
    dearest = spent.estimates[SEPARATE]
    lines = []
    right = (ANSWERS, EAR, DISAMBIG)
    for arm, row in spent.estimates.items():
        own = measured.by_system.estimates[arm]
        cells = [f"{row[name].value:{form}}" for name, form in forms.items()]
        cells += [
            f"{100 * row[name].value / dearest[name].value:.0f}" if dearest[name].value else "–" for name in shared
        ]
        cells += [number(own[name], percent=True) if name in own else "–" for name in right]
        lines.append((arm, *cells))
    note = "For one question, as if no reply had been cached; COrg's calls relate contexts and answer; without "
    note += "relating, as the paper counts them: the answers alone. "
    if any(row.details["estimated"] for row in measured.rows if row.score is not None):
        note += "Tokens are estimated: those of the texts given and written, without instructions. "
    head = ("system", *forms, *(f"{name}, % of {SEPARATE}'s" for name in shared), *(f"{name} %" for name in right))
    return (Table(title, head, tuple(lines), f"{note}[95 %: bootstrap.]"),)


def _cost_plot(spent: Comparison, measured: GradedAnswers, title: str) -> tuple[Curves]:
    """Return a plot of answer recall over tokens, with a point for each system."""
    traces = tuple(
        Trace(arm, ((row[SPENT["input_tokens"]].value, measured.by_system.estimates[arm][ANSWERS]),), joined=False)
        for arm, row in spent.estimates.items()
    )
    axis = PlotAxis(ANSWERS, percent=True, low=0.0, high=1.0)
    note = "Up and to the left is better. Intervals: 95 %, bootstrap."
    return (Curves(f"Right answers by cost, {title}", PlotAxis("tokens read for a question"), axis, traces, note=note),)

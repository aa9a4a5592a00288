"""Experiment `diversity`: does selecting passages that differ bring more relevant ones into a token budget?

Diversity, sections 2 to 3.2: recall of relevant units among the selected ones, before any model reads them, by
similarity alone, by MMR, by farthest point sampling and by the modified one; α and w are searched coarse to fine on the
development half, and the paper's own best are reported, too. The reported part is the requested one, by default the
test half. Sentences of one document are selected up to the paper's compression ratios c_r, passages of many up to its
T_max, as far as the model's context window allows. A selection ends at the first unit that does not fit, which the
paper leaves open; `--fill` continues with those that fit. If the answers are known in words, it is also measured
whether one is in the selection (Table 1), and with a language model in its reply to each selection in each order (Table
2); there α and w are those with the highest recall of answers at the reported limits, one pair for the shares of one
document and one pair each for T_max up to 10,000 and from 20,000. For chunks of many documents see `pooled-levels`
(Tables 3 to 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from evaluation.after_reading import NOT_READ, RECALL, read_selections
from evaluation.coarse_to_fine import COARSE_ALPHAS, BestSetting
from evaluation.compare import Comparison, compare
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, average
from evaluation.metrics import measure_rankings
from evaluation.plots import Curves, Plot, PlotAxis, Trace
from evaluation.published import beside
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample
from evaluation.selection_cases import Pick, SelectionCase, SelectionLimit, candidates, limits_of
from evaluation.selections import (
    FPS,
    FUSED,
    MMR,
    SIMILARITY,
    TUNED_AT,
    Lengths,
    as_reported,
    lengths_of,
    presets_of,
    selections,
    setting,
    systems_of,
    tuned_for_answers,
    tuned_on,
)
from preflight_rag.library.search.selection import PAPER_PRESETS, arrange, distance_to_end
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.state.reading import Source

BUDGETS = (256, 512, 1024, 2048)
PASSAGES = 16
TUNED_ON = 100
ORDERINGS = ("score", "index", "1:1", "2:1", "3:1")
PRESENT = "answer present"
ENDS = {
    False: "A selection ends at the first unit that does not fit into what is left of the budget.",
    True: "A unit that does not fit into what is left of the budget is passed over (--fill).",
}
SORTS = {"index": "index sort", "score": "sort"}
"""The paper's names of these orders."""


def run(found: DataSet, run: ExperimentRun) -> Report:
    """Tune on the development half, then compare the selections on the run's part."""
    samples = found.select(run.part, run.limit)
    tuning = found.select("development", min(TUNED_ON, run.limit or TUNED_ON))
    with candidates(found, run) as (cases_of, given):
        tuning_cases = cases_of(tuning)
        tuned = tuned_on(tuning_cases)
        cases = cases_of(samples)
    one_document = bool(samples[0].document)
    presets = presets_of(found.name, one_document)
    systems = systems_of(cases, tuned, presets)
    rows = [
        ScoreRow(case.query.id, str(budget), name, case.recall(pick(case, None, budget)), details=case.details)
        for case in cases
        for name, pick in systems.items()
        for budget in BUDGETS
    ]
    pairs = [(name, base) for name in systems if (base := _base(name)) != name]
    budgets = compare(rows, pairs=pairs, seed=run.seed, wilson=False)
    passage_rows = _passages(found, cases, systems)
    passages = compare(passage_rows, by="measure", pairs=pairs, seed=run.seed, wilson=False)
    orderings, ordering_figures = _orderings(cases, systems, run.seed)
    papers = as_in_the_paper(cases, tuning_cases, one_document, run, presets=presets)
    unit = "turns or sentences" if one_document else "documents"
    evaluations = sum(len(best.trace) for best in tuned.values())
    note = (
        f"Mean over questions [95 % bootstrap interval, differences paired]. {ENDS[run.fill]} The searches tried "
        f"{evaluations} settings."
    )
    recall = budgets.means(
        "Recall within a token budget", note, head="selection", percent=False, intervals="", differences=True
    )
    here = f"{found.title}, {len(samples):,} questions, {papers.model or 'no language model'}"
    shown_limits = " and ".join(f"{limit.tokens:,}" for limit in TUNED_AT)
    relevant_at = f"questions of the development half and over budgets of {shown_limits} tokens"
    about = (
        f"{len(samples):,} questions ({run.part} part), relevant {unit}; "
        f"α and w searched on {len(tuning)} questions of the development half."
    )
    return Report(
        experiment="diversity",
        dataset=found.title,
        about=about + ("" if papers.model else f" {NOT_READ}"),
        tables=(
            replace(recall, columns=("selection", *(f"{budget} tokens" for budget in BUDGETS))),
            _passage_table(passages),
            orderings,
            *papers.tables,
            *(beside("diversity", papers.estimates, here=here) if papers.tables and one_document else ()),
        ),
        rows=(*rows, *passage_rows, *papers.rows),
        figures={
            "recall": budgets.figures,
            "passages": passages.figures,
            "distance_to_end": ordering_figures,
            "tuned": {
                name: {"alpha": best.alpha, "window": best.window, "value": round(best.value, 6), "trace": best.trace}
                for name, best in tuned.items()
            },
            **papers.figures,
        },
        inputs={**given, "model": papers.model or OFFLINE},
        plots=(
            budgets.lines(
                "Recall within a token budget",
                "budget (tokens)",
                [str(budget) for budget in BUDGETS],
                "recall of what is relevant",
                "Mean over questions. Intervals: 95 % bootstrap over questions.",
            ),
            *(_over_alpha(name, best, "recall of what is relevant", relevant_at) for name, best in tuned.items()),
            *papers.curves,
        ),
    )


def _shown_preset(name: str) -> str:
    """Return a preset of the paper in words, e.g. `α 0.5, w 10 (name)`."""
    preset = PAPER_PRESETS[name]
    return f"α {preset.alpha:g}, w {preset.window} ({name})"


def _shown_settings(tuned: Lengths) -> str:
    """Return a sentence with the tuned α and w of each selector, by the limits that share them."""
    by_setting: dict[str, list[str]] = {}
    for limit, best in tuned.items():
        settings = ", ".join(f"{name} {setting(one)}" for name, one in best.items())
        by_setting.setdefault(settings, []).append(limit)
    return "; ".join(f"{', '.join(limits)}: {settings}" for settings, limits in by_setting.items())


def _base(name: str) -> str:
    """Return the name of the ranking from which a selection starts."""
    return FUSED if "fused" in name else SIMILARITY


def _over_alpha(name: str, best: BestSetting, measure: str, note: str) -> Plot:
    """Return a plot of the search's results (Diversity, Fig. 2): a trace for each window over the whole of α."""
    at_one = [(alpha, value) for alpha, _, value in best.trace if alpha == 1]
    traces = []
    for window in dict.fromkeys(window for _, window, _ in best.trace):
        points = [(alpha, value) for alpha, tried, value in best.trace if tried == window and alpha != 1]
        if len(points) >= len(COARSE_ALPHAS) - 1:
            traces.append(Trace(f"w {window or '∞'}", tuple(sorted([*points, *at_one]))))
    if len(traces) == 1:
        traces = [replace(traces[0], name=name)]
    return Curves(
        f"Recall over α: {name}",
        PlotAxis("α, the weight of relevance", low=0, high=1),
        PlotAxis(measure, percent=True),
        tuple(traces),
        note=f"Mean over {note}; w is how many of the last picks count.",
    )


def _answers_over_alpha(tuned: Lengths, limits: Sequence[SelectionLimit], of: str) -> tuple[Plot, ...]:
    """Return plots of the search for answers, as in the paper's figure: one for each selector and length."""
    plots = []
    for group in lengths_of(limits):
        shown = ", ".join(limit.name for limit in group)
        note = f"the questions that α and w were searched on and over {shown}"
        for name, best in tuned[group[0].name].items():
            plots.append(_over_alpha(f"{name}, {of}{shown}", best, "answer in what is selected", note))
    return tuple(plots)


def _passages(found: DataSet, cases: Sequence[SelectionCase], systems: Mapping[str, Pick]) -> list[ScoreRow]:
    """Return recall, nDCG@10 and tokens of the first passages that each selection picks, in the order of picking."""
    rows = []
    for name, pick in systems.items():
        picked = {case.query.id: pick(case, PASSAGES, None) for case in cases}
        ranked = {}
        for case in cases:
            documents = [case.documents[index] for index in picked[case.query.id]]
            ranked[case.query.id] = list(dict.fromkeys(documents))
        measured = measure_rankings(found.relevance or {}, ranked, ("nDCG@10",))["nDCG@10"]
        for case in cases:
            picks = picked[case.query.id]
            scores = {f"recall@{PASSAGES}": case.recall(picks), "nDCG@10": measured[case.query.id]}
            scores["tokens"] = float(sum(case.tokens[index] for index in picks))
            rows += [
                ScoreRow(case.query.id, f"{PASSAGES} passages", name, score, measure=key)
                for key, score in scores.items()
            ]
    return rows


def _passage_table(found: Comparison) -> Table:
    """Return a table of means with their differences to the ranking from which the selection starts."""
    measures = (f"recall@{PASSAGES}", "nDCG@10")
    rows = []
    for name, estimates in found.estimates.items():
        cells = []
        for measure in measures:
            test = found.tests.get(f"{measure}: {name} − {_base(name)}")
            cells += [number(estimates[measure]), number(test.difference, signed=True) if test else "–"]
        rows.append((name, *cells, f"{estimates['tokens'].value:.0f}"))
    columns = ("selection", measures[0], "difference", measures[1], "difference", "tokens")
    note = (
        f"{PASSAGES} passages without a budget, the settings as above; differences are paired, to the ranking that the "
        "selection departs from."
    )
    return Table(f"{PASSAGES} passages", columns, tuple(rows), note)


def _orderings(cases: Sequence[SelectionCase], systems: Mapping[str, Pick], seed: int) -> tuple[Table, dict[str, Any]]:
    """Return how far relevant passages are from the nearer end of the prompt."""
    pick = systems.get(FUSED, systems[SIMILARITY])
    estimates = {}
    for ordering in ORDERINGS:
        distances = [_distance(case, pick, ordering) for case in cases]
        estimates[ordering] = average([distance for distance in distances if distance is not None], seed=seed)
    note = (
        f"Passages between a relevant one and the nearer end, mean over the relevant ones among the first {PASSAGES} "
        "of the ranking, then over questions with one. What it does to answers takes a language model to judge."
    )
    rows = tuple((ordering, number(estimate)) for ordering, estimate in estimates.items())
    return Table("Orderings", ("ordering", "distance to the nearer end"), rows, note), figures(estimates)


def _distance(case: SelectionCase, pick: Pick, ordering: str) -> float | None:
    """Return the mean distance of the relevant passages in the selection from the nearer end; None without one."""
    picks = pick(case, PASSAGES, None)
    first = _first_places([case.texts[index] for index in picks])
    order = arrange(picks, ordering, place=lambda index: (first[case.texts[index]], case.places[index]))
    found = [
        distance_to_end(at, len(order))
        for at, place in enumerate(order)
        if case.documents[picks[place]] in case.relevant
    ]
    return sum(found) / len(found) if found else None


@dataclass(frozen=True)
class AsInThePaper:
    """Whether an answer is in the selections under the paper's limits, and in a model's replies.

    Attributes:
        tables: The tables.
        rows: The rows of both measures.
        figures: The tables' numbers.
        estimates: By the paper's names of selections (and orders), then of limits.
        model: The model that read; "" without one.
        curves: Recall of answers over α and w, from the search for these.
    """

    tables: tuple[Table, ...] = ()
    rows: tuple[ScoreRow, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    estimates: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    model: str = ""
    curves: tuple[Plot, ...] = ()


def as_in_the_paper(
    cases: Sequence[SelectionCase],
    tuning: Sequence[SelectionCase],
    one_document: bool,
    run: ExperimentRun,
    *,
    of: str = "",
    selectors: Sequence[str] = (MMR, FPS),
    presets: Sequence[str] = (),
) -> AsInThePaper:
    """Measure the paper's selections under its limits, and have the model read each of them in each order.

    Before reading, selections with the paper's α and w are measured, too.

    Args:
        cases: The questions with their candidates; those without an answer in words are left out.
        tuning: The questions for the search of α and w, by recall of answers at the reported limits.
        one_document: Whether the limits are shares of one document's tokens.
        run: The run, whose model reads.
        of: The kind of units, put before the names of the limits; "" if there is only one.
        selectors: The selectors that are tuned, beside similarity alone.
        presets: The paper's settings for these units.
    """
    asked = [case for case in cases if case.query.answers]
    if not asked:
        return AsInThePaper()
    questions = [_question(case) for case in asked]
    with open_asking(run, questions) as asking:
        window = None if asking.chat_model is None else asking.prompts.context_window()
        limits = limits_of(one_document, window)
        tuned = tuned_for_answers([case for case in tuning if case.query.answers] or asked, limits, selectors)
        names = selections(tuned)
        reported = as_reported(presets)
        picks: dict[tuple[str, str], dict[str, list[int]]] = {}
        for paper, made in (names | reported).items():
            for limit in limits:
                pick = made(limit)
                picks[paper, limit.name] = {case.query.id: pick(case, None, limit.budget(case)) for case in asked}
        rows = [
            ScoreRow(case.query.id, f"{of}{limit}", paper, case.present(chosen[case.query.id]), measure=PRESENT,
                details=case.details)
            for (paper, limit), chosen in picks.items()
            for case in asked
        ]  # fmt: skip
        base, *others = [*names, *reported]
        before = compare(rows, pairs=[(other, base) for other in others], seed=run.seed, wilson=False)
        note = (
            "Share of questions with an answer, word for word, in what is selected [95 %: bootstrap, paired]. "
            f"{ENDS[run.fill]} α and w by recall of answers at these limits: {_shown_settings(tuned)}."
            + (f" The paper's: {', '.join(map(_shown_preset, presets))}." if presets else "")
        )
        title = f"Answer present before reading{f': {of[:-2]}' if of else ''}"
        tables = [before.means(title, note, head="selection", intervals="", differences=True)]
        figures: dict[str, Any] = {f"{of}{PRESENT}": before.figures}
        settings: dict[str, dict[str, Any]] = {limit: {} for limit in tuned}
        for group, best in tuned.items():
            for name, one in best.items():
                settings[group][name] = {"alpha": one.alpha, "window": one.window, "value": one.value}
        figures[f"{of}tuned for answers"] = settings
        estimates: dict[str, dict[str, Estimate]] = {name: dict(row) for name, row in before.estimates.items()}
        model = ""
        for limit in limits if asking.chat_model is not None else ():
            shown: dict[str, dict[str, tuple[Source, ...]]] = {}
            for paper, ordering in product(names, ORDERINGS):
                picked = picks[paper, limit.name]
                shown[f"{paper} ({SORTS.get(ordering, ordering)})"] = {
                    case.query.id: _sources(case, _arranged(case, picked[case.query.id], ordering)) for case in asked
                }
            read = read_selections(
                shown, questions, asking, baseline=f"{base} (sort)", title=f"After reading, {of}{limit.name}",
                condition=f"{of}{limit.name}",
            )  # fmt: skip
            model = read.model
            tables += read.tables
            rows += read.rows
            figures[f"after reading, {of}{limit.name}"] = read.figures
            for name, row in read.compared.estimates.items():
                estimates.setdefault(name, {})[f"{of}{limit.name}"] = row[RECALL]
    curves = _answers_over_alpha(tuned, limits, of)
    return AsInThePaper(tuple(tables), tuple(rows), figures, estimates, model, curves)


def _question(case: SelectionCase) -> Sample:
    """Return the question with its answers in words, and the relevant units as the passages that give them."""
    of_names = dict(zip(case.documents, case.shown, strict=True))
    given = tuple(Context(name, "", of_names[name], role="gold") for name in sorted(case.relevant) if name in of_names)
    return Sample(case.query.id, case.query.question, "long", answers=case.query.answers, given=given)


def _first_places(texts: Sequence[str]) -> dict[str, int]:
    """Return the index at which each text stands for the first time."""
    places: dict[str, int] = {}
    for at, text in enumerate(texts):
        places.setdefault(text, at)
    return places


def _arranged(case: SelectionCase, picks: Sequence[int], ordering: str) -> list[int]:
    """Return the picks in another order; all places in one text count as one document's."""
    first = _first_places([case.texts[index] for index in picks])
    order = arrange(list(picks), ordering, place=lambda index: (first[case.texts[index]], case.places[index]))
    return [picks[at] for at in order]


def _sources(case: SelectionCase, picks: Sequence[int]) -> tuple[Source, ...]:
    """Return the selected units as numbered sources."""
    return tuple(Source(n, case.documents[index], "", case.shown[index]) for n, index in enumerate(picks, 1))

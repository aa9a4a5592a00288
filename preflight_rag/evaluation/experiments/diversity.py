"""Experiment `diversity`: does choosing passages that differ bring more of the relevant ones into a token budget?

Diversity, sections 2 to 3.1: recall of what is relevant among the selected, before any model reads it, by similarity
alone, by MMR, by farthest point sampling and by the modified one. α and w are searched coarse to fine on the
development half; what is reported is the part asked for, by default the test half. With a language model, recall after
reading is measured too, where the answers are known in words (`papers.diversity_reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight_rag.evaluation.coarse_to_fine import COARSE_ALPHAS, Best, search
from preflight_rag.evaluation.diversity_cases import Case, candidates
from preflight_rag.evaluation.intervals import Estimate, bootstrap, mean, mean_difference
from preflight_rag.evaluation.metrics import measure_rankings
from preflight_rag.evaluation.papers.after_reading import NOT_READ
from preflight_rag.evaluation.papers.diversity_reading import after_reading
from preflight_rag.evaluation.plots import Axis, Curves, Plot, Trace, over_budgets
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import DataSet
from preflight_rag.library.search.diversity import fps, mmr, unit_scaled, within_budget
from preflight_rag.library.search.selection import arrange, distance_to_end
from preflight_rag.models.chat.chat_models import OFFLINE

BUDGETS = (256, 512, 1024, 2048)
PASSAGES = 16
TUNED_ON = 100
TUNED_AT = (512, 2048)
ORDERINGS = ("score", "index", "1:1", "2:1", "3:1")
SIMILARITY, FUSED = "similarity", "fused ranking"

Pick = Callable[[Case, "int | None", "int | None"], list[int]]
"""Picks of a case, given k and a budget."""
Recalls = Mapping[str, Mapping[int, Sequence[float]]]


def run(collection: DataSet, run: Run) -> Report:
    """Tune on the development half, then compare the selections on the run's part."""
    queries = collection.select(run.part, run.limit)
    tuning = collection.select("development", min(TUNED_ON, run.limit or TUNED_ON))
    with candidates(collection, run) as (cases_of, given):
        tuned = _tuned(cases_of(tuning))
        cases = cases_of(queries)
    systems = _systems(cases[0].fused is not None, tuned)
    recalls = {
        name: {budget: [case.recall(pick(case, None, budget)) for case in cases] for budget in BUDGETS}
        for name, pick in systems.items()
    }
    budgets, budget_figures = _budgets(recalls, tuned, run.seed)
    passages, passage_figures = _passages(collection, cases, systems, run.seed)
    orderings, ordering_figures = _orderings(cases, systems, run.seed)
    read = after_reading(collection, cases, systems, ORDERINGS, run)
    unit = "turns or sentences" if queries[0].document else "documents"
    return Report(
        experiment="diversity",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), relevant {unit}; "
        f"α and w searched on {len(tuning)} questions of the development half." + ("" if read else f" {NOT_READ}"),
        tables=(budgets, passages, orderings, *(read.tables if read else ())),
        rows=tuple(
            {
                "id": case.query.id,
                "question": case.query.question,
                "recall": {name: {str(b): round(v[at], 6) for b, v in row.items()} for name, row in recalls.items()},
            }
            | (read.rows.get(case.query.id, {}) if read else {})
            for at, case in enumerate(cases)
        ),
        figures={
            "recall": budget_figures,
            "passages": passage_figures,
            "distance_to_end": ordering_figures,
            "tuned": {
                name: {"alpha": best.alpha, "window": best.window, "value": round(best.value, 6), "trace": best.trace}
                for name, best in tuned.items()
            },
        }
        | ({"after reading": read.figures} if read else {}),
        inputs={**given, "model": read.model if read else OFFLINE},
        plots=(
            over_budgets(
                "Recall within a token budget", "recall of what is relevant", budget_figures, list(systems), BUDGETS
            ),
            *(_over_alpha(name, best) for name, best in tuned.items()),
        ),
    )


def _by_similarity(case: Case, k: int | None, budget: int | None) -> list[int]:
    import numpy as np

    order = np.argsort(-_cosines(case), kind="stable")
    picks = within_budget([case.tokens[index] for index in order], budget, k=k)
    return [int(order[pick]) for pick in picks]


def _by_fusion(case: Case, k: int | None, budget: int | None) -> list[int]:
    return within_budget(case.tokens, budget, k=k)


def _by_mmr(alpha: float, window: int | None, *, fused: bool = False) -> Pick:
    def pick(case: Case, k: int | None, budget: int | None) -> list[int]:
        relevance = unit_scaled(case.fused) if fused else None
        return mmr(
            case.vectors,
            case.asked,
            alpha=alpha,
            window=window,
            k=k,
            tokens=case.tokens,
            budget=budget,
            relevance=relevance,
        )

    return pick


def _by_fps(alpha: float) -> Pick:
    return lambda case, k, budget: fps(case.vectors, case.asked, alpha=alpha, k=k, tokens=case.tokens, budget=budget)


def _cosines(case: Case) -> Any:
    import numpy as np

    scales = np.linalg.norm(case.vectors, axis=1) * np.linalg.norm(case.asked)
    return case.vectors @ case.asked / np.where(scales > 0, scales, 1)


def _tuned(cases: Sequence[Case]) -> dict[str, Best]:
    """The best settings by mean recall over two of the budgets."""

    def value(pick: Pick) -> float:
        found = [case.recall(pick(case, None, budget)) for case in cases for budget in TUNED_AT]
        return sum(found) / len(found)

    tuned = {
        "MMR": search(lambda alpha, window: value(_by_mmr(alpha, window))),
        "modified FPS": search(lambda alpha, _: value(_by_fps(alpha)), windows=(None,)),
    }
    if cases[0].fused is not None:
        tuned["MMR, fused"] = search(lambda alpha, window: value(_by_mmr(alpha, window, fused=True)))
    return tuned


def _systems(searched: bool, tuned: Mapping[str, Best]) -> dict[str, Pick]:
    """The selections by name; those over the fused ranking only where candidates come from a search."""
    best = tuned["MMR"]
    systems: dict[str, Pick] = {
        SIMILARITY: _by_similarity,
        "MMR α 0.5, w ∞": _by_mmr(0.5, None),
        f"MMR {_setting(best)}": _by_mmr(best.alpha, best.window),
        "FPS": _by_fps(0.0),
        f"modified FPS, α {tuned['modified FPS'].alpha:g}": _by_fps(tuned["modified FPS"].alpha),
    }
    if searched:
        best = tuned["MMR, fused"]
        systems[FUSED] = _by_fusion
        systems[f"MMR of the fused score, {_setting(best)}"] = _by_mmr(best.alpha, best.window, fused=True)
    return systems


def _setting(best: Best) -> str:
    return f"α {best.alpha:g}, w {best.window or '∞'}"


def _base(name: str) -> str:
    return FUSED if "fused" in name else SIMILARITY


def _budgets(recalls: Recalls, tuned: Mapping[str, Best], seed: int) -> tuple[Table, dict[str, Any]]:
    """Recall at each budget, and paired differences to the ranking that a selection departs from."""
    rows, numbers = [], {}
    for name, row in recalls.items():
        estimates = {str(budget): bootstrap(mean, values, seed=seed) for budget, values in row.items()}
        rows.append((name, *map(number, estimates.values())))
        numbers[name] = figures(estimates)
    for name, row in recalls.items():
        if (base := _base(name)) != name:
            paired = {str(b): bootstrap(mean_difference, v, recalls[base][b], seed=seed) for b, v in row.items()}
            rows.append((f"{name} − {base}", *(number(e, signed=True) for e in paired.values())))
            numbers[f"{name} - {base}"] = figures(paired)
    evaluations = sum(len(best.trace) for best in tuned.values())
    note = (
        f"Mean over questions [95 % bootstrap interval, differences paired]. A candidate that does not fit into "
        f"what is left of the budget is passed over. The searches tried {evaluations} settings."
    )
    columns = ("selection", *(f"{budget} tokens" for budget in BUDGETS))
    return Table("Recall within a token budget", columns, tuple(rows), note), numbers


def _over_alpha(name: str, best: Best) -> Plot:
    """What the search saw: a trace for each window that it tried over the whole of α."""
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
        Axis("α, the weight of relevance", low=0, high=1),
        Axis("recall of what is relevant", percent=True),
        tuple(traces),
        note=f"Mean over questions of the development half and over budgets of "
        f"{' and '.join(f'{budget:,}' for budget in TUNED_AT)} tokens; w is how many of the last picks count.",
    )


def _passages(
    collection: DataSet, cases: Sequence[Case], systems: Mapping[str, Pick], seed: int
) -> tuple[Table, dict[str, Any]]:
    """Recall and nDCG@10 of the first passages that each selection picks, in the order of picking."""
    values: dict[str, dict[str, list[float]]] = {}
    for name, pick in systems.items():
        picked = {case.query.id: pick(case, PASSAGES, None) for case in cases}
        ranked = {
            case.query.id: list(dict.fromkeys(case.documents[index] for index in picked[case.query.id]))
            for case in cases
        }
        measured = measure_rankings(collection.relevance, ranked, ("nDCG@10",))["nDCG@10"]
        values[name] = {
            "recall": [case.recall(picked[case.query.id]) for case in cases],
            "nDCG@10": [measured[case.query.id] for case in cases],
            "tokens": [float(sum(case.tokens[index] for index in picked[case.query.id])) for case in cases],
        }
    rows, numbers = [], {}
    for name, row in values.items():
        estimates = {measure: bootstrap(mean, v, seed=seed) for measure, v in row.items()}
        paired: dict[str, Estimate] = {}
        if (base := _base(name)) != name:
            paired = {m: bootstrap(mean_difference, row[m], values[base][m], seed=seed) for m in ("recall", "nDCG@10")}
        shown = [number(paired[m], signed=True) if paired else "–" for m in ("recall", "nDCG@10")]
        tokens = f"{estimates['tokens'].value:.0f}"
        rows.append((name, number(estimates["recall"]), shown[0], number(estimates["nDCG@10"]), shown[1], tokens))
        numbers[name] = {**figures(estimates), **{f"{m}_difference": e.as_json() for m, e in paired.items()}}
    columns = ("selection", f"recall@{PASSAGES}", "difference", "nDCG@10", "difference", "tokens")
    note = (
        f"{PASSAGES} passages without a budget, the settings as above; differences are paired, to the ranking that the "
        "selection departs from."
    )
    return Table(f"{PASSAGES} passages", columns, tuple(rows), note), numbers


def _orderings(cases: Sequence[Case], systems: Mapping[str, Pick], seed: int) -> tuple[Table, dict[str, Any]]:
    """How far from the nearer end of the prompt relevant passages stand."""
    pick = systems.get(FUSED, systems[SIMILARITY])
    estimates = {
        ordering: bootstrap(
            mean, [d for case in cases if (d := _distance(case, pick, ordering)) is not None], seed=seed
        )
        for ordering in ORDERINGS
    }
    note = (
        f"Passages between a relevant one and the nearer end, mean over the relevant ones among the first {PASSAGES} "
        "of the ranking, then over questions with one. What it does to answers takes a language model to judge."
    )
    rows = tuple((ordering, number(estimate)) for ordering, estimate in estimates.items())
    return Table("Orderings", ("ordering", "distance to the nearer end"), rows, note), figures(estimates)


def _distance(case: Case, pick: Pick, ordering: str) -> float | None:
    """Mean over the relevant passages of the selection; None without one."""
    picks = pick(case, PASSAGES, None)
    first = {text: at for at, text in reversed(list(enumerate(case.texts[index] for index in picks)))}
    order = arrange(picks, ordering, place=lambda index: (first[case.texts[index]], case.places[index]))
    found = [
        distance_to_end(at, len(order))
        for at, place in enumerate(order)
        if case.documents[picks[place]] in case.relevant
    ]
    return sum(found) / len(found) if found else None

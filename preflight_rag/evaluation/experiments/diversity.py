"""Experiment `diversity`: does choosing passages that differ bring more of the relevant ones into a token budget?

Diversity, sections 2 to 3.1: recall of what is relevant among the selected, before any model reads it, by similarity
alone, by MMR, by farthest point sampling and by the modified one. α and w are searched coarse to fine on the
development half; what is reported is the part asked for, by default the test half. With a language model, recall after
reading is measured too, where the answers are known in words (`papers.diversity_reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from preflight_rag.conversation.questions import normalised
from preflight_rag.evaluation.after_reading import BUDGET as READ_BUDGET
from preflight_rag.evaluation.after_reading import NOT_READ, Read, read_selections
from preflight_rag.evaluation.coarse_to_fine import COARSE_ALPHAS, Best, search
from preflight_rag.evaluation.compare import Comparison, compare
from preflight_rag.evaluation.harness.asking import open_asking
from preflight_rag.evaluation.intervals import average
from preflight_rag.evaluation.metrics import measure_rankings
from preflight_rag.evaluation.plots import Axis, Curves, Plot, Trace
from preflight_rag.evaluation.report import Report, Table, figures, number
from preflight_rag.evaluation.rows import Row
from preflight_rag.evaluation.runs import Run
from preflight_rag.evaluation.samples import Context, DataSet, Sample
from preflight_rag.evaluation.searching import collection_library, described, inputs
from preflight_rag.evaluation.vector_cache import cached_embedder
from preflight_rag.library.search.diversity import fps, mmr, unit_scaled, within_budget
from preflight_rag.library.search.selection import arrange, distance_to_end
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

DEPTH = 100
BUDGETS = (256, 512, 1024, 2048)
PASSAGES = 16
TUNED_ON = 100
TUNED_AT = (512, 2048)
ORDERINGS = ("score", "index", "1:1", "2:1", "3:1")
SIMILARITY, FUSED = "similarity", "fused ranking"


@dataclass(frozen=True)
class Case:
    """One question with its candidates.

    Attributes:
        query: The question.
        relevant: Ids of what should be found, among the candidates or not.
        documents: Id of each candidate's document or unit.
        texts: Id of the text in which each candidate stands.
        places: Where in that text.
        tokens: Length of each.
        vectors: Shape (n, d).
        asked: The question's vector, (d,).
        fused: Fused score of each, where they come from a search; they are then in its order.
    """

    query: Sample
    relevant: frozenset[str]
    documents: Sequence[str]
    texts: Sequence[str]
    places: Sequence[int]
    tokens: Sequence[int]
    vectors: np.ndarray
    asked: np.ndarray
    fused: Sequence[float] | None = None

    @property
    def details(self) -> dict[str, str]:
        """What a row says of the question."""
        return {"question": self.query.question}

    def recall(self, picks: Sequence[int]) -> float:
        """Share of what is relevant that the picks hold."""
        return len(self.relevant.intersection(self.documents[pick] for pick in picks)) / len(self.relevant)


Pick = Callable[[Case, "int | None", "int | None"], list[int]]
"""Picks of a case, given k and a budget."""
CasesOf = Callable[[Sequence[Sample]], list[Case]]


@contextmanager
def candidates(collection: DataSet, run: Run) -> Iterator[tuple[CasesOf, dict[str, Any]]]:
    """What makes cases of a collection's queries, and what they depend on, for the manifest."""
    if collection.samples and collection.samples[0].document:
        with cached_embedder(run) as embedder:
            yield _units(collection, embedder, run)
        return
    with collection_library(collection, run) as library:

        def cases_of(queries: Sequence[Sample]) -> list[Case]:
            cases = []
            for query in run.each(queries, f"{collection.name}: queries"):
                text = normalised(query.question)
                found = library.candidates(text, depth=DEPTH)
                passages = [candidate.passage for candidate in found]
                cases.append(
                    Case(
                        query=Sample(query.id, text),
                        relevant=collection.relevant(query.id),
                        documents=[passage.document_id for passage in passages],
                        texts=[passage.document_id for passage in passages],
                        places=[passage.start for passage in passages],
                        tokens=[passage.tokens for passage in passages],
                        vectors=library.vectors([passage.id for passage in passages]),
                        asked=library.embedder.encode_query(text),
                        fused=[candidate.score for candidate in found],
                    )
                )
            return cases

        yield cases_of, inputs(collection, library, candidates=DEPTH)


def _units(collection: DataSet, embedder: Embedder, run: Run) -> tuple[CasesOf, dict[str, Any]]:
    units: dict[str, list[Document]] = {}
    for unit in collection.documents():
        units.setdefault(unit.source, []).append(unit)

    @cache
    def measured(name: str) -> tuple[list[int], np.ndarray]:
        texts = [unit.text for unit in units[name]]
        return [embedder.count_tokens(text) for text in texts], embedder.encode_passages(texts)

    def cases_of(queries: Sequence[Sample]) -> list[Case]:
        cases = []
        for query in run.each(queries, f"{collection.name}: queries"):
            name = query.document
            tokens, vectors = measured(name)
            cases.append(
                Case(
                    query=query,
                    relevant=collection.relevant(query.id),
                    documents=[unit.id for unit in units[name]],
                    texts=[name] * len(tokens),
                    places=range(len(tokens)),
                    tokens=tokens,
                    vectors=vectors,
                    asked=embedder.encode_query(query.question),
                )
            )
        return cases

    return cases_of, described(collection, embedder, units=sum(map(len, units.values())))


def run(found: DataSet, run: Run) -> Report:
    """Tune on the development half, then compare the selections on the run's part."""
    samples = found.select(run.part, run.limit)
    tuning = found.select("development", min(TUNED_ON, run.limit or TUNED_ON))
    with candidates(found, run) as (cases_of, given):
        tuned = _tuned(cases_of(tuning))
        cases = cases_of(samples)
    systems = _systems(cases[0].fused is not None, tuned)
    rows = [
        Row(
            case.query.id,
            str(budget),
            name,
            case.recall(pick(case, None, budget)),
            details={"question": case.query.question},
        )
        for case in cases
        for name, pick in systems.items()
        for budget in BUDGETS
    ]
    pairs = [(name, base) for name in systems if (base := _base(name)) != name]
    budgets = compare(rows, pairs=pairs, seed=run.seed, wilson=False)
    passage_rows = _passages(found, cases, systems)
    passages = compare(passage_rows, by="measure", pairs=pairs, seed=run.seed, wilson=False)
    orderings, ordering_figures = _orderings(cases, systems, run.seed)
    read = read_picks(found, cases, systems, ORDERINGS, run)
    unit = "turns or sentences" if samples[0].document else "documents"
    evaluations = sum(len(best.trace) for best in tuned.values())
    note = (
        "Mean over questions [95 % bootstrap interval, differences paired]. A candidate that does not fit into what "
        f"is left of the budget is passed over. The searches tried {evaluations} settings."
    )
    recall = budgets.means(
        "Recall within a token budget", note, head="selection", percent=False, intervals="", differences=True
    )
    read_rows = list(read.rows) if read else []
    return Report(
        experiment="diversity",
        dataset=found.title,
        about=f"{len(samples):,} questions ({run.part} part), relevant {unit}; "
        f"α and w searched on {len(tuning)} questions of the development half." + ("" if read else f" {NOT_READ}"),
        tables=(
            replace(recall, columns=("selection", *(f"{budget} tokens" for budget in BUDGETS))),
            _passage_table(passages),
            orderings,
            *(read.tables if read else ()),
        ),
        rows=(*rows, *passage_rows, *read_rows),
        figures={
            "recall": budgets.figures,
            "passages": passages.figures,
            "distance_to_end": ordering_figures,
            "tuned": {
                name: {"alpha": best.alpha, "window": best.window, "value": round(best.value, 6), "trace": best.trace}
                for name, best in tuned.items()
            },
        }
        | ({"after reading": read.figures} if read else {}),
        inputs={**given, "model": read.model if read else OFFLINE},
        plots=(
            budgets.lines(
                "Recall within a token budget",
                "budget (tokens)",
                [str(budget) for budget in BUDGETS],
                "recall of what is relevant",
                "Mean over questions. Intervals: 95 % bootstrap over questions.",
            ),
            *(_over_alpha(name, best) for name, best in tuned.items()),
        ),
    )


def _by_similarity(case: Case, k: int | None, budget: int | None) -> list[int]:
    order = np.argsort(-_cosines(case), kind="stable")
    picks = within_budget([case.tokens[index] for index in order], budget, k=k)
    return [int(order[pick]) for pick in picks]


def _by_fusion(case: Case, k: int | None, budget: int | None) -> list[int]:
    return within_budget(case.tokens, budget, k=k)


def _by_mmr(alpha: float, window: int | None, *, fused: bool = False) -> Pick:
    def pick(case: Case, k: int | None, budget: int | None) -> list[int]:
        relevance = unit_scaled(case.fused) if fused and case.fused is not None else None
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


def _passages(found: DataSet, cases: Sequence[Case], systems: Mapping[str, Pick]) -> list[Row]:
    """Recall, nDCG@10 and tokens of the first passages that each selection picks, in the order of picking."""
    rows = []
    for name, pick in systems.items():
        picked = {case.query.id: pick(case, PASSAGES, None) for case in cases}
        ranked = {
            case.query.id: list(dict.fromkeys(case.documents[index] for index in picked[case.query.id]))
            for case in cases
        }
        measured = measure_rankings(found.relevance or {}, ranked, ("nDCG@10",))["nDCG@10"]
        for case in cases:
            picks = picked[case.query.id]
            scores = {f"recall@{PASSAGES}": case.recall(picks), "nDCG@10": measured[case.query.id]}
            scores["tokens"] = float(sum(case.tokens[index] for index in picks))
            rows += [
                Row(case.query.id, f"{PASSAGES} passages", name, score, measure=key) for key, score in scores.items()
            ]
    return rows


def _passage_table(found: Comparison) -> Table:
    """Each mean with its difference to the ranking that the selection departs from."""
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


def _orderings(cases: Sequence[Case], systems: Mapping[str, Pick], seed: int) -> tuple[Table, dict[str, Any]]:
    """How far from the nearer end of the prompt relevant passages stand."""
    pick = systems.get(FUSED, systems[SIMILARITY])
    estimates = {
        ordering: average([d for case in cases if (d := _distance(case, pick, ordering)) is not None], seed=seed)
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


def read_picks(
    collection: DataSet,
    cases: Sequence[Case],
    systems: Mapping[str, Callable[[Case, int | None, int | None], list[int]]],
    orderings: Sequence[str],
    run: Run,
) -> Read | None:
    """Have the model read each selection in its own order, and the first one in every other ordering.

    Args:
        collection: Its documents' texts are what is read.
        cases: The questions with their candidates; those without an answer in words are left out.
        systems: Selections by name, given a case, k and a budget; the first is what the others are compared with.
        orderings: As `arrange` takes them; the first is the selections' own.
        run: Its model reads.

    Returns:
        Recall after reading; None without a language model, or where no answer is known in words.
    """
    asked = [case for case in cases if case.query.document and case.query.answers]
    texts = {document.id: document.text for document in collection.documents()} if asked else {}
    questions = [_question(case, texts) for case in asked]
    with open_asking(run, questions) as asking:
        if asking.chat_model is None or not questions:
            return None
        base = next(iter(systems))
        picks = {
            name: {case.query.id: pick(case, None, READ_BUDGET) for case in asked} for name, pick in systems.items()
        }
        shown = {
            name: {case.query.id: _sources(case, picked[case.query.id], texts) for case in asked}
            for name, picked in picks.items()
        }
        for ordering in orderings[1:]:
            shown[f"{base}, ordering {ordering}"] = {
                case.query.id: _sources(case, _arranged(case, picks[base][case.query.id], ordering), texts)
                for case in asked
            }
        title = f"After reading {READ_BUDGET:,} tokens"
        return read_selections(shown, questions, asking, baseline=base, title=title)


def _question(case: Case, texts: Mapping[str, str]) -> Sample:
    """The question with its answers in words, and what is relevant as the passages that give them."""
    given = tuple(Context(name, "", texts[name], role="gold") for name in sorted(case.relevant) if name in texts)
    return Sample(case.query.id, case.query.question, "long", answers=case.query.answers, given=given)


def _arranged(case: Case, picks: Sequence[int], ordering: str) -> list[int]:
    """The picks in another order; of one text, all its places count as one document's."""
    first = {text: at for at, text in reversed(list(enumerate(case.texts[index] for index in picks)))}
    order = arrange(list(picks), ordering, place=lambda index: (first[case.texts[index]], case.places[index]))
    return [picks[at] for at in order]


def _sources(case: Case, picks: Sequence[int], texts: Mapping[str, str]) -> tuple[Source, ...]:
    return tuple(Source(n, case.documents[index], "", texts[case.documents[index]]) for n, index in enumerate(picks, 1))

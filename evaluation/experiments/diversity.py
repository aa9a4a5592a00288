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

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from evaluation.after_reading import NOT_READ, RECALL, read_selections
from evaluation.coarse_to_fine import COARSE_ALPHAS, WINDOWS, BestSetting, search
from evaluation.compare import Comparison, compare
from evaluation.harness.asking import open_asking
from evaluation.intervals import Estimate, average
from evaluation.metrics import measure_rankings
from evaluation.plots import Curves, Plot, PlotAxis, Trace
from evaluation.published import beside
from evaluation.reading_metrics import holds
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import Context, DataSet, Sample
from evaluation.searching import collection_library, described, inputs
from evaluation.vector_cache import cached_embedder
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.search.diversity import fps, in_order, mmr, token_budget, within_budget
from preflight_rag.library.search.query import SearchQuery
from preflight_rag.library.search.selection import PAPER_PRESETS, arrange, distance_to_end
from preflight_rag.models.chat.chat_models import OFFLINE
from preflight_rag.models.embedding.embedder import Embedder
from preflight_rag.state.reading import Source
from preflight_rag.state.values import Document

DEPTH = 100
BUDGETS = (256, 512, 1024, 2048)
PASSAGES = 16
TUNED_ON = 100
ORDERINGS = ("score", "index", "1:1", "2:1", "3:1")
SIMILARITY, FUSED = "similarity", "fused ranking"
RATIOS = (0.05, 0.1, 0.2)
"""c_r of the paper's Tables 1 and 2."""
T_MAX = (2_000, 5_000, 10_000, 20_000, 50_000, 120_000)
"""T_max of Tables 3 to 8."""
UNKNOWN_WINDOW = 16_385
"""Assumed context window of a model whose server does not report one: that of the paper's GPT-3.5."""
PROMPT_SHARE = 0.85
"""Share of a context window for the passages; the rest is for the prompt, the reply and differences in token counts."""
PRESENT = "answer present"
APART = "\u01c1"
"""Separates units that are not adjacent: a letter, so that it is a word, and one that is in no answer."""
MMR, FPS = "MMR", "modified FPS"
OWN_PRESETS = {"natural_questions": "nq", "triviaqa": "triviaqa", "narrativeqa": "narrativeqa"}
REPORTED = "the paper's α and w"
SHORT_LIMIT = 10_000
"""T_max up to which the paper has one pair of α and w (GPT-3.5); beyond it another (GPT-4)."""
ENDS = {
    False: "A selection ends at the first unit that does not fit into what is left of the budget.",
    True: "A unit that does not fit into what is left of the budget is passed over (--fill).",
}
SORTS = {"index": "index sort", "score": "sort"}
"""The paper's names of these orders."""


@dataclass(frozen=True)
class SelectionCase:
    """One question with its candidates.

    Attributes:
        query: The question.
        relevant: Ids of the relevant units, whether they are candidates or not.
        documents: Id of each candidate's document or unit.
        texts: Id of the text that contains each candidate.
        places: Each candidate's place in that text: units by their number, passages and chunks by their first
            character.
        tokens: Length of each.
        vectors: Shape (n, d).
        asked: The question's vector, (d,).
        shown: Text of each, as a model reads it.
        fused: Fused score of each, if they come from a search; they are then in its order.
        fill: Whether a budget is filled with units that fit, after one that does not.
    """

    query: Sample
    relevant: frozenset[str]
    documents: Sequence[str]
    texts: Sequence[str]
    places: Sequence[int]
    tokens: Sequence[int]
    vectors: np.ndarray
    asked: np.ndarray
    shown: Sequence[str]
    fused: Sequence[float] | None = None
    fill: bool = False

    @property
    def details(self) -> dict[str, str]:
        """Return the question's details for a row."""
        return {"question": self.query.question}

    def present(self, picks: Sequence[int]) -> float:
        """Return whether the picks contain an answer, word for word (the paper's recall before reading).

        An answer may cross the end of a unit if the next unit is picked too; the last words of a unit and the first of
        any other do not count. Places in a pool of documents are offsets: no unit follows another.
        """
        selected: list[str] = []
        after: tuple[str, int] | None = None
        for text, place, pick in sorted((self.texts[pick], self.places[pick], pick) for pick in picks):
            selected += [self.shown[pick]] if (text, place) == after else [APART, self.shown[pick]]
            after = text, place + 1
        return float(holds("\n".join(selected), self.query.names))

    def recall(self, picks: Sequence[int]) -> float:
        """Return the share of the relevant units among the picks."""
        return len(self.relevant.intersection(self.documents[pick] for pick in picks)) / len(self.relevant)


@dataclass(frozen=True)
class SelectionLimit:
    """A limit of a selection: a share of a document's tokens (c_r), or a number of tokens (T_max)."""

    ratio: float | None = None
    tokens: int | None = None

    @property
    def name(self) -> str:
        """The limit's name in tables."""
        return f"c_r {self.ratio:g}" if self.ratio is not None else f"T_max {self.tokens:,}"

    def budget(self, case: SelectionCase) -> int:
        """Return the number of tokens that may be selected from a case's candidates."""
        return token_budget(case.tokens, budget=self.tokens, compression=self.ratio) or 1


TUNED_AT = (SelectionLimit(tokens=512), SelectionLimit(tokens=2048))


def limits_of(one_document: bool, window: int | None = None) -> tuple[SelectionLimit, ...]:
    """Return the paper's limits: shares of one document, else T_max as far as a model's context window allows."""
    if one_document:
        return tuple(SelectionLimit(ratio=ratio) for ratio in RATIOS)
    room = PROMPT_SHARE * (window or UNKNOWN_WINDOW)
    return tuple(SelectionLimit(tokens=tokens) for tokens in T_MAX if tokens <= max(room, T_MAX[0]))


Pick = Callable[[SelectionCase, "int | None", "int | None"], list[int]]
"""A selection: returns the indices of a case's picks, given k and a budget."""
CasesOf = Callable[[Sequence[Sample]], list[SelectionCase]]


@contextmanager
def candidates(collection: DataSet, run: ExperimentRun) -> Iterator[tuple[CasesOf, dict[str, Any]]]:
    """Yield a function that makes cases from a collection's queries, and their settings for the manifest."""
    if collection.samples and collection.samples[0].document:
        with cached_embedder(run) as embedder:
            yield _units(collection, embedder, run)
        return
    with collection_library(collection, run) as library:

        def cases_of(queries: Sequence[Sample]) -> list[SelectionCase]:
            cases = []
            for query in run.each(queries, f"{collection.name}: queries"):
                text = normalised(query.question)
                found = library.candidates(SearchQuery(text, candidates=DEPTH))
                passages = [candidate.passage for candidate in found]
                cases.append(
                    SelectionCase(
                        query=replace(query, question=text),
                        relevant=collection.relevant(query.id),
                        documents=[passage.document_id for passage in passages],
                        texts=[passage.document_id for passage in passages],
                        places=[passage.start for passage in passages],
                        tokens=[passage.tokens for passage in passages],
                        vectors=library.vectors([passage.id for passage in passages]),
                        asked=library.embedder.encode_query(text),
                        shown=[passage.text for passage in passages],
                        fused=[candidate.score for candidate in found],
                        fill=run.fill,
                    )
                )
            return cases

        yield cases_of, inputs(collection, library, candidates=DEPTH)


def _units(collection: DataSet, embedder: Embedder, run: ExperimentRun) -> tuple[CasesOf, dict[str, Any]]:
    """Return the cases over the units (e.g. the sentences) of single documents, and how they were made."""
    units: dict[str, list[Document]] = {}
    for unit in collection.documents():
        units.setdefault(unit.source, []).append(unit)

    @cache
    def measured(name: str) -> tuple[list[int], np.ndarray]:
        texts = [unit.text for unit in units[name]]
        return [embedder.count_tokens(text) for text in texts], embedder.encode_passages(texts)

    def cases_of(queries: Sequence[Sample]) -> list[SelectionCase]:
        cases = []
        for query in run.each(queries, f"{collection.name}: queries"):
            name = query.document
            tokens, vectors = measured(name)
            cases.append(
                SelectionCase(
                    query=query,
                    relevant=collection.relevant(query.id),
                    documents=[unit.id for unit in units[name]],
                    texts=[name] * len(tokens),
                    places=range(len(tokens)),
                    tokens=tokens,
                    vectors=vectors,
                    asked=embedder.encode_query(query.question),
                    shown=[unit.text for unit in units[name]],
                    fill=run.fill,
                )
            )
        return cases

    return cases_of, described(collection, embedder, units=sum(map(len, units.values())))


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


def _by_similarity(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
    """Select the candidates most similar to the query, in that order."""
    order = np.argsort(-_cosines(case), kind="stable")
    picks = within_budget([case.tokens[index] for index in order], budget, k=k, fill=case.fill)
    return [int(order[pick]) for pick in picks]


def _by_fusion(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
    """Select from the fused ranking in its order."""
    return within_budget(case.tokens, budget, k=k, fill=case.fill)


def _by_mmr(alpha: float, window: int | None, *, fused: bool = False) -> Pick:
    """Return a selection by MMR; for the fused ranking as in a turn: with cosines in the order of the ranking."""

    def pick(case: SelectionCase, k: int | None, budget: int | None) -> list[int]:
        relevance = in_order(_cosines(case)) if fused else None
        return mmr(
            case.vectors,
            case.asked,
            alpha=alpha,
            window=window,
            k=k,
            tokens=case.tokens,
            budget=budget,
            relevance=relevance,
            fill=case.fill,
        )

    return pick


def _by_fps(alpha: float, window: int | None = None) -> Pick:
    """Return the selector by farthest points (FPS) with the given α and window."""
    return lambda case, k, budget: fps(
        case.vectors, case.asked, alpha=alpha, window=window, k=k, tokens=case.tokens, budget=budget, fill=case.fill
    )


def _cosines(case: SelectionCase) -> Any:
    """Return the cosines of the candidates with the query."""
    scales = np.linalg.norm(case.vectors, axis=1) * np.linalg.norm(case.asked)
    return case.vectors @ case.asked / np.where(scales > 0, scales, 1)


def tuned_on(
    cases: Sequence[SelectionCase], limits: Sequence[SelectionLimit] = TUNED_AT, selectors: Sequence[str] = (MMR, FPS)
) -> dict[str, BestSetting]:
    """Return the best settings of these selectors by mean recall over these limits."""
    most = max(len(case.tokens) for case in cases)
    windows = [window for window in WINDOWS if window is None or window < most]

    def value(pick: Pick) -> float:
        found = [case.recall(pick(case, None, limit.budget(case))) for case in cases for limit in limits]
        return sum(found) / len(found)

    makers: dict[str, Callable[[float, int | None], Pick]] = {MMR: _by_mmr, FPS: _by_fps}
    tuned = {
        name: search(lambda alpha, window, make=makers[name]: value(make(alpha, window)), windows=windows)  # type: ignore[misc]
        for name in selectors
    }
    if cases[0].fused is not None:
        tuned["MMR, fused"] = search(lambda alpha, window: value(_by_mmr(alpha, window, fused=True)), windows=windows)
    return tuned


def presets_of(name: str, one_document: bool) -> tuple[str, ...]:
    """Return the paper's presets for a data set, or else for Natural Questions; for sentences or chunks."""
    own = next((short for known, short in OWN_PRESETS.items() if name.startswith(known)), "nq")
    ends = ("sentences", "sentences-fps") if one_document else ("chunks-to-10k", "chunks-from-20k")
    return tuple(f"paper-{own}-{end}" for end in ends)


def systems_of(
    cases: Sequence[SelectionCase], tuned: Mapping[str, BestSetting], presets: Sequence[str]
) -> dict[str, Pick]:
    """Return the selections by name; those over the fused ranking only where candidates come from a search."""
    best = tuned[MMR]
    systems: dict[str, Pick] = {
        SIMILARITY: _by_similarity,
        "MMR α 0.5, w ∞": _by_mmr(0.5, None),
        f"MMR {_setting(best)}": _by_mmr(best.alpha, best.window),
        "FPS": _by_fps(0.0),
    }
    if FPS in tuned:
        systems[f"modified FPS, {_setting(tuned[FPS])}"] = _by_fps(tuned[FPS].alpha, tuned[FPS].window)
    for name in presets:
        preset = PAPER_PRESETS[name]
        pick = (_by_mmr if preset.diversity == "mmr" else _by_fps)(preset.alpha, preset.window)
        kind = "MMR" if preset.diversity == "mmr" else "modified FPS"
        systems[f"{kind} α {preset.alpha:g}, w {preset.window} ({name})"] = pick
    if cases[0].fused is not None:
        best = tuned["MMR, fused"]
        systems[FUSED] = _by_fusion
        systems[f"MMR in the fused order, {_setting(best)}"] = _by_mmr(best.alpha, best.window, fused=True)
    return systems


Lengths = dict[str, dict[str, BestSetting]]
"""The best setting for all limits of a length by selector, by the name of a limit."""


def lengths_of(limits: Sequence[SelectionLimit]) -> list[tuple[SelectionLimit, ...]]:
    """Return the limits by groups that share α and w: shares of a document, T_max up to 10,000, and T_max beyond."""
    groups = (
        tuple(limit for limit in limits if limit.tokens is None),
        tuple(limit for limit in limits if limit.tokens is not None and limit.tokens <= SHORT_LIMIT),
        tuple(limit for limit in limits if limit.tokens is not None and limit.tokens > SHORT_LIMIT),
    )
    return [group for group in groups if group]


def tuned_for_answers(
    cases: Sequence[SelectionCase], limits: Sequence[SelectionLimit], selectors: Sequence[str] = (MMR, FPS)
) -> Lengths:
    """Return, by length, the settings that select an answer most often over its limits (Diversity, section 3.1)."""
    most = max(len(case.tokens) for case in cases)
    windows = [window for window in WINDOWS if window is None or window < most]
    makers: dict[str, Callable[[float, int | None], Pick]] = {MMR: _by_mmr, FPS: _by_fps}
    found: Lengths = {}
    for group in lengths_of(limits):

        def value(pick: Pick, group: tuple[SelectionLimit, ...] = group) -> float:
            shares = [case.present(cut) for case in cases for cut in _cuts(case, pick, group)]
            return sum(shares) / len(shares)

        best = {
            name: search(lambda alpha, window, make=makers[name]: value(make(alpha, window)), windows=windows)  # type: ignore[misc]
            for name in selectors
        }
        found |= {limit.name: best for limit in group}
    return found


def _cuts(case: SelectionCase, pick: Pick, limits: Sequence[SelectionLimit]) -> list[list[int]]:
    """Return the picks for each limit; without filling, a smaller limit's picks are the first of a larger one's."""
    budgets = [limit.budget(case) for limit in limits]
    shortest = min(budgets)
    if case.fill or any(length > shortest for length in case.tokens):
        return [pick(case, None, budget) for budget in budgets]
    longest = pick(case, None, max(budgets))
    lengths = np.cumsum([case.tokens[index] for index in longest])
    return [longest[: int(np.searchsorted(lengths, budget, side="right"))] for budget in budgets]


def selections(tuned: Lengths) -> dict[str, Callable[[SelectionLimit], Pick]]:
    """Return the selections that the paper's tables compare, by name, for a limit: similarity, and the tuned ones."""
    found: dict[str, Callable[[SelectionLimit], Pick]] = {"SB": lambda _: _by_similarity}
    makers: dict[str, tuple[str, Callable[[float, int | None], Pick]]] = {
        "SB+MMR": (MMR, _by_mmr), "SB+FPS": (FPS, _by_fps),
    }  # fmt: skip
    for paper, (selector, make) in makers.items():
        if all(selector in best for best in tuned.values()):

            def of(limit: SelectionLimit, selector: str = selector, make: Callable[..., Pick] = make) -> Pick:
                best = tuned[limit.name][selector]
                return make(best.alpha, best.window)

            found[paper] = of
    return found


def as_reported(presets: Sequence[str]) -> dict[str, Callable[[SelectionLimit], Pick]]:
    """Return the selections with the α and w that the paper reports, by name and for a limit.

    Args:
        presets: Names of `PAPER_PRESETS`, for one kind of units: one for each selector, or one up to 10,000 tokens and
            another from 20,000.
    """
    found: dict[str, Callable[[SelectionLimit], Pick]] = {}
    makers: dict[str, tuple[str, Callable[[float, int | None], Pick]]] = {
        "mmr": ("SB+MMR", _by_mmr), "modified-fps": ("SB+FPS", _by_fps),
    }  # fmt: skip
    for selector, (paper, make) in makers.items():
        own = [name for name in presets if PAPER_PRESETS[name].diversity == selector]
        if own:

            def of(limit: SelectionLimit, own: Sequence[str] = own, make: Callable[..., Pick] = make) -> Pick:
                preset = PAPER_PRESETS[_preset_at(own, limit)]
                return make(preset.alpha, preset.window)

            found[f"{paper}, {REPORTED}"] = of
    return found


def _preset_at(presets: Sequence[str], limit: SelectionLimit) -> str:
    """Return the preset of one selector that applies to limits of this length."""
    is_long = limit.tokens is not None and limit.tokens > SHORT_LIMIT
    return next((name for name in presets if name.endswith("from-20k") == is_long), presets[0])


def _shown_preset(name: str) -> str:
    """Return a preset of the paper in words, e.g. `α 0.5, w 10 (name)`."""
    preset = PAPER_PRESETS[name]
    return f"α {preset.alpha:g}, w {preset.window} ({name})"


def _shown_settings(tuned: Lengths) -> str:
    """Return a sentence on the settings for each length."""
    by_setting: dict[str, list[str]] = {}
    for limit, best in tuned.items():
        settings = ", ".join(f"{name} {_setting(one)}" for name, one in best.items())
        by_setting.setdefault(settings, []).append(limit)
    return "; ".join(f"{', '.join(limits)}: {settings}" for settings, limits in by_setting.items())


def _setting(best: BestSetting) -> str:
    """Return a setting in words, e.g. `α 0.7, w ∞`."""
    return f"α {best.alpha:g}, w {best.window or '∞'}"


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

"""Experiment `preflight`: does disagreement of the rankings predict that the key passage is where it gets lost?

BriefContext, section 5.3 and Supplementary Table 4: an issue is a question without a gold document's passage in the
dense top 3; a question is flagged if the IoU of the dense and the BM25 top 3 of the retrieved passages is at most 0.2.
The router predicts another event, which has a table of its own: whether the first gold passage was retrieved but is not
among the first three in the order that the reader gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.experiments.calibration import reader_order
from evaluation.intervals import Estimate, wilson
from evaluation.metrics import by_document, gold_ranks, prediction, roc_area
from evaluation.published import beside
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import collection_library, inputs, search_all
from preflight_rag.library.library import Library
from preflight_rag.library.search.hybrid import Rankings
from preflight_rag.library.search.retrieval import reference
from preflight_rag.routing.calibration import Retrieved, is_absent, is_issue, turn_passages
from preflight_rag.routing.decision import ALWAYS_PLAIN_PASSAGES, decide, dense_order
from preflight_rag.state.context import Settings
from preflight_rag.state.reading import Source
from preflight_rag.state.retrieval import Candidate
from preflight_rag.state.schema import PassageRef
from preflight_rag.state.values import Hit, Passage, RouteDecision

IOU = "IoU rule"
PRODUCT, DENSE_ONLY, READER = "fused passages", "dense passages", "the reader's passages"
"""The passages to which the rule is applied: the product's, the paper's, and the product's in the second stage's order.
"""
COLUMNS = ("setting", "TP", "FP", "FN", "TN", "precision %", "recall %", "F1 %", "issues %", "flagged %", "ROC area")
ROUTES = {
    "abstain": "abstain: nothing found",
    "corg": "COrg: one name for several things, or answers that differ",
    "few": "plain: 3 passages or fewer",
    "short": "plain: the context fits one map prompt",
    "agree": "plain: the rankings agree",
    "disagree": "map/reduce: the rankings disagree",
}


@dataclass(frozen=True)
class PreflightOutcome:
    """The preflight's verdict on one question's passages, and the truth.

    Attributes:
        iou: IoU of the dense and the BM25 top n of the passages; 0 without passages.
        flagged: IoU at most the threshold.
        issue: No gold document's passage is in the dense top n.
        lost: The first of them is below the third of the passages.
        absent: None of them is among the passages.
        gold: Places of gold documents' passages in the dense order of the passages.
        branch: Which rule decided the route: a key of `ROUTES`.
    """

    iou: float
    flagged: bool
    issue: bool
    lost: bool
    absent: bool
    gold: tuple[int, ...]
    branch: str
    sent_if_longer: bool


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Run retrieval and preflight for each query, with the product's passages and with the paper's."""
    settings = Settings(preflight="iou")
    queries = collection.select(run.part, run.limit)
    with collection_library(collection, run) as library:
        sizes = {"k": settings.k, "candidates": settings.candidates, "rrf_k": settings.rrf_k}
        product, paper, reader = [], [], []
        order = turn_passages(library, reader_order(collection.name))
        rows: list[ScoreRow] = []
        for query, found in search_all(library, queries, run.progress, name=collection.name, **sizes):
            relevant = collection.relevant(query.id)
            fused = _referenced(library, found.fused, found.dense_scores)
            product.append(_outcome(query, *fused, relevant, settings))
            dense_scores = {hit.passage_id: hit.score for hit in found.dense}
            paper.append(_outcome(query, *_referenced(library, found.dense, dense_scores), relevant, settings))
            reader.append(_outcome(query, *order(query.question), relevant, settings))
            outcomes = {PRODUCT: product[-1], DENSE_ONLY: paper[-1], READER: reader[-1]}
            rows += _rows(query, found, relevant, outcomes)
        rule = {
            "top_n": settings.top_n,
            "threshold": settings.threshold,
            "map_prompt_tokens": settings.map_prompt_tokens,
        }
        given = inputs(collection, library, **sizes, **rule)
    tables, numbers, estimates = _tables(product, paper, settings.k, run.seed)
    asked, numbers["reader"] = _router(reader, run.seed)
    here = f"{collection.title}, {len(queries):,} questions, {given['embedder']['name']}, {DENSE_ONLY}"
    return Report(
        experiment="preflight",
        dataset=collection.title,
        about=f"{len(queries):,} questions ({run.part} part), {given['library']['documents']:,} documents.",
        tables=(*tables, asked, *beside("preflight", {IOU: estimates}, here=here)),
        rows=tuple(rows),
        figures=numbers,
        inputs=given,
    )


def _referenced(library: Library, hits: Sequence[Hit], cosines: Mapping[str, float]) -> Retrieved:
    """Return a ranking's passages in the form that a turn has."""
    passages: list[Passage] = library.passages([hit.passage_id for hit in hits])
    refs = [
        reference(Candidate(passage, hit.rank, hit.score, cosines[passage.id]), hit.rank)
        for hit, passage in zip(hits, passages, strict=True)
    ]
    return refs, [Source.of(passage, ref["rank"]) for passage, ref in zip(passages, refs, strict=True)]


def _outcome(
    query: Sample,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    relevant: frozenset[str],
    settings: Settings,
) -> PreflightOutcome:
    """Return the verdict of the product's own rule on these passages."""
    decision = decide(query.question, refs, sources, settings)
    any_length = settings.model_copy(update={"map_prompt_tokens": 0})
    documents = {ref["rank"]: ref["document_id"] for ref in refs}
    gold = tuple(gold_ranks([documents[rank] for rank in dense_order(refs)], relevant))
    iou = decision.iou or 0.0
    return PreflightOutcome(
        iou=iou,
        flagged=iou <= settings.threshold,
        issue=not any(place <= settings.top_n for place in gold),
        lost=is_issue(refs, relevant),
        absent=is_absent(refs, relevant),
        gold=gold,
        branch=branch(decision, settings),
        sent_if_longer=decide(query.question, refs, sources, any_length).name == "map_reduce",
    )


def branch(decision: RouteDecision, settings: Settings) -> str:
    """Return which rule of the router decided: a key of `ROUTES`."""
    if decision.name in ("abstain", "corg"):
        return decision.name
    if decision.signals["passages"] <= ALWAYS_PLAIN_PASSAGES:
        return "few"
    if decision.signals["context_tokens"] < settings.map_prompt_tokens:
        return "short"
    return "disagree" if decision.name == "map_reduce" else "agree"


def _rows(
    query: Sample, found: Rankings, relevant: frozenset[str], outcomes: Mapping[str, PreflightOutcome]
) -> Iterator[ScoreRow]:
    """Yield whether the rule was right about the question, with each setting's passages."""
    rankings = {"dense": found.dense, "BM25": found.lexical, "fused": found.fused}
    ranks = {name: gold_ranks(by_document(ranking), relevant) for name, ranking in rankings.items()}
    for setting, outcome in outcomes.items():
        details = {"question": query.question, "gold_ranks": ranks, **asdict(outcome)}
        yield ScoreRow(query.id, setting, IOU, float(outcome.flagged == outcome.issue), details=details)


def _tables(
    product: Sequence[PreflightOutcome], paper: Sequence[PreflightOutcome], k: int, seed: int
) -> tuple[tuple[Table, ...], dict[str, Any], dict[str, Estimate]]:
    """Return the tables of the product's and the paper's predictions, their figures, and their estimates."""
    ours, ours_figures = _prediction(f"product: {k} fused passages", product, lambda o: o.flagged, seed)
    routed, routed_figures = _prediction("product, as it routes", product, lambda o: o.branch == "disagree", seed)
    at_any, at_any_figures = _prediction("product, short contexts too", product, lambda o: o.sent_if_longer, seed)
    dense, dense_figures = _prediction(f"paper's setting: {k} dense passages", paper, lambda o: o.flagged, seed)
    areas = []
    for outcomes in (product, paper):
        risks, issues = [1 - outcome.iou for outcome in outcomes], [outcome.issue for outcome in outcomes]
        areas.append(roc_area(risks, issues, seed=seed))
    confusion = Table(
        "Issues predicted",
        COLUMNS,
        ((*ours, number(areas[0])), (*routed, "–"), (*at_any, "–"), (*dense, number(areas[1]))),
        "Issue: no gold document's passage in the dense top 3. Flagged: IoU of the dense and BM25 top 3 at most 0.2; "
        "in the second row: sent to map/reduce; in the third: were there no rule for short contexts. "
        "[95 % intervals: Wilson; F1 and ROC area of 1 − IoU bootstrap.]",
    )
    by_iou: dict[str, list[PreflightOutcome]] = {}
    for outcome in sorted(product, key=lambda each: each.iou):
        by_iou.setdefault(f"{outcome.iou:.2g}", []).append(outcome)
    levels, level_figures = _groups(by_iou, len(product), further=True)
    by_branch = {name: [o for o in product if o.branch == key] for key, name in ROUTES.items()}
    routes, route_figures = _groups(by_branch, len(product))
    short, short_figures = _short(product)
    further = "Further down: in the fused passages, below the dense top 3; the other issues have no gold passage there."
    heads = ("questions", "share %", "issues %")
    tables = (
        confusion,
        Table("By IoU, fused passages", ("IoU", *heads, "of issues: gold further down %"), levels, further),
        Table("Routes taken", ("route", *heads), routes),
        short,
    )
    numbers = {
        "product": {**ours_figures, **figures({"roc_area": areas[0]})},
        "as_routed": routed_figures,
        "at_any_length": at_any_figures,
        "short": short_figures,
        "dense_only": {**dense_figures, **figures({"roc_area": areas[1]})},
        "levels": level_figures,
        "routes": route_figures,
    }
    return tables, numbers, prediction([o.flagged for o in paper], [o.issue for o in paper], seed=seed)


def _short(product: Sequence[PreflightOutcome]) -> tuple[Table, dict[str, Any]]:
    """Return the cost of the rule that a context which fits one map prompt goes plain (BriefContext, journal)."""
    plain = [o for o in product if o.branch == "short"]
    kept = [o for o in plain if o.sent_if_longer]
    issues = [o for o in kept if o.issue]
    shares = {
        "plain": wilson(len(plain), len(product)),
        "kept_from_parts": wilson(len(kept), len(product)),
        "issues": wilson(len(issues), len(kept)),
        "gold_further_down": wilson(sum(bool(o.gold) for o in issues), len(kept)),
    }
    table = Table(
        "The rule that short contexts go plain",
        ("plain by it %", "else to map/reduce %", "of these issues %", "of these issues with gold further down %"),
        (tuple(number(share, percent=True) for share in shares.values()),),
        "Of the product's passages. What it costs in answers takes a language model to say: a short context may well "
        "be read whole.",
    )
    return table, {**figures(shares), "questions": len(plain), "else_to_parts": len(kept), "issues_kept": len(issues)}


def _router(reader: Sequence[PreflightOutcome], seed: int) -> tuple[Table, dict[str, Any]]:
    """Return the IoU rule measured against the router's event: a gold passage ranked below the reader's first three."""
    rule, numbers = _prediction(
        "IoU rule, as the reader gets them", reader, lambda o: o.flagged, seed, lambda o: o.lost
    )
    area = roc_area([1 - o.iou for o in reader], [o.lost for o in reader], seed=seed)
    absent = wilson(sum(o.absent for o in reader), len(reader))
    table = Table(
        "What the router asks",
        (*COLUMNS[:8], "gold below the first three %", *COLUMNS[9:], "no gold passage retrieved %"),
        ((*rule, number(area), number(absent, percent=True)),),
        "The product's passages, ordered by its second stage with weights that never saw the collection. Where no gold "
        "passage was retrieved there is nothing to lose, and reading in parts finds nothing either.",
    )
    return table, {**numbers, **figures({"roc_area": area, "absent": absent})}


def _prediction(
    name: str,
    outcomes: Sequence[PreflightOutcome],
    predicted: Callable[[PreflightOutcome], bool],
    seed: int,
    truth: Callable[[PreflightOutcome], bool] = lambda outcome: outcome.issue,
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return a row of the first table, and its numbers."""
    flagged, issue = [predicted(o) for o in outcomes], [truth(o) for o in outcomes]
    counts, shares = Counter(zip(flagged, issue, strict=True)), prediction(flagged, issue, seed=seed)
    cells = [counts[pair] for pair in ((True, True), (True, False), (False, True), (False, False))]
    row = (name, *map(str, cells), *(number(e, percent=True) for e in shares.values()))
    return row, {**dict(zip(("tp", "fp", "fn", "tn"), cells, strict=True)), **figures(shares)}


def _groups(
    groups: Mapping[str, Sequence[PreflightOutcome]], total: int, *, further: bool = False
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Any]]:
    """Return share and issue rate of groups of questions, and how many issues have a gold passage further down."""
    rows, numbers = [], {}
    for name, here in groups.items():
        issues = [o for o in here if o.issue]
        rates = {"share": wilson(len(here), total), "issue_rate": wilson(len(issues), len(here))}
        if further:
            rates["gold_further_down"] = wilson(sum(bool(o.gold) for o in issues), len(issues))
        rows.append((name, str(len(here)), *(number(e, percent=True) for e in rates.values())))
        numbers[name] = {"questions": len(here), **figures(rates)}
    return tuple(rows), numbers

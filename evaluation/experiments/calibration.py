"""Experiment `calibration`: how well the calibrated preflight predicts a lost key passage, beside the IoU rule.

An issue is a question whose first gold passage was retrieved but is not among the first three in the order that the
reader gets: the router's question. If no gold passage was retrieved, that is another event, counted separately. The
weights are those that were trained without the collection and those that share its questions. They are also adjusted to
the collection as `preflight calibrate` does, on its development questions and on questions made from its own passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evaluation.intervals import bootstrap, mean, wilson
from evaluation.metrics import prediction, roc_area, roc_area_gain
from evaluation.report import Report, Table, figures, number
from evaluation.rows import ScoreRow
from evaluation.runs import ExperimentRun
from evaluation.samples import DataSet, Sample
from evaluation.searching import GROUPS, collection_library, inputs, left_out
from preflight_rag.conversation.questions import normalised
from preflight_rag.library.library import Library
from preflight_rag.offline.reader import OfflineReader
from preflight_rag.routing.calibration import CalibrationCase, calibrate, is_absent, is_issue, turn_passages
from preflight_rag.routing.costs import Cost, cost, overheads
from preflight_rag.routing.decision import ALWAYS_PLAIN_PASSAGES, predict_loss
from preflight_rag.routing.known_questions import KnownQuestion, make_questions
from preflight_rag.routing.risk import RiskModel, fold, shipped_model
from preflight_rag.routing.risk_features import risk_features
from preflight_rag.state.context import Settings
from preflight_rag.state.errors import UsageError

FUSED = Settings(preflight="iou", reranker="none")
"""Settings for the fused passages in their own order."""
SAMPLE = 600
"""Most development questions of a collection with which weights are fitted."""
DEADLINE = 600.0
"""Seconds for the second stage, which is never cut short here."""
BINS = 10
MADE = 300
IOU = "IoU rule (BriefContext)"
SHIPPED = "calibrated elsewhere"
OWN = "… and on its development questions"
SELF_MADE = "… and on questions made of its passages"
PAPER = ("paper: IoU, MedCPT over PubMed", "50.2", "92.6", "65.1", *["–"] * 7)
COLUMNS = (
    "rule", "precision %", "recall %", "F1 %", "issues %", "flagged %", "flagged % at IoU's recall", "ROC area",
    "above IoU's by", "Brier", "ECE",
)  # fmt: skip
WORK_COLUMNS = ("routing", "map/reduce %", "of issues %", "calls", "input tokens", "tokens saved %")
RULE_NOTE = (
    "Issue: the first gold passage stands below the first three of the order that the reader gets. Flagged: IoU at "
    "most 0.2, or a risk from the model's own threshold on, set for 92.6 % of the issues it was calibrated on. At "
    "IoU's recall: the least share that finds as many of these issues as the IoU rule. The IoU rule's risk is "
    "1 − IoU. Brier: mean squared error of the risk. ECE: expected calibration error over 10 bins of equal width."
)


@dataclass(frozen=True)
class CalibrationQuestion:
    """A question of the part, with the data that the rules need.

    Attributes:
        query: The question.
        case: Its features and whether it is an issue.
        iou: IoU of the dense and BM25 top 3.
        plain: Cost of plain RAG over its passages.
        mapped: Cost of map/reduce.
        eligible: Whether the rule decides: more than 3 passages that do not fit one map prompt.
    """

    query: Sample
    case: CalibrationCase
    iou: float
    plain: Cost
    mapped: Cost
    eligible: bool


@dataclass(frozen=True)
class RuleVerdicts:
    """A rule's risks and verdicts, in the order of the questions."""

    name: str
    risks: Sequence[float]
    flagged: Sequence[bool]


def run(collection: DataSet, run: ExperimentRun) -> Report:
    """Judge the questions of a part by the IoU rule and by the calibrated one."""
    settings = reader_order(collection.name)
    queries = collection.select(run.part, run.limit)
    asked, fused = [], []
    with collection_library(collection, run) as library:
        for query in run.each(queries, f"{collection.name}: {run.part} questions"):
            asked.append(_asked(library, query, collection.relevant(query.id), settings))
            fused.append(_asked(library, query, collection.relevant(query.id), FUSED))
        models = _models(collection, library)
        given = inputs(collection, library, k=settings.k, candidates=settings.candidates)
    judged = [_by_iou(asked, settings.threshold), *(_by_model(asked, name, model) for name, model in models.items())]
    rules, rule_figures = _rules(asked, judged, run.seed)
    reliable, bins = _reliability(asked, judged)
    work, work_figures = _work(asked, judged)
    events, event_figures = _events(asked, judged)
    second, second_figures = _not_reranked(fused, models[SHIPPED], settings.threshold, run.seed)
    return Report(
        experiment="calibration",
        dataset=collection.title,
        about=(
            f"{len(asked):,} questions ({run.part} part), {given['library']['documents']:,} documents; weights trained "
            f"without {' and '.join(name for name, group in GROUPS.items() if group == _group(collection))}."
        ),
        tables=(rules, events, reliable, work, second),
        rows=tuple(row for place, item in enumerate(asked) for row in _rows(place, item, judged)),
        figures={
            "rules": rule_figures,
            "events": event_figures,
            "reliability": bins,
            "work": work_figures,
            "not_reranked": second_figures,
        },
        inputs=given | {"models": {name: model.to_json() for name, model in models.items()}},
    )


def _group(collection: DataSet) -> str:
    """Return the group of collections to which a collection belongs."""
    return GROUPS.get(collection.name, collection.name)


def reader_order(collection: str) -> Settings:
    """Return settings for passages in the reader's order, by a second stage that was not trained on the collection."""
    return FUSED.model_copy(update={"reranker": left_out(collection), "rerank_deadline": DEADLINE})


def _asked(library: Library, query: Sample, relevant: frozenset[str], settings: Settings) -> CalibrationQuestion:
    """Return a question's features and whether it is an issue, measured on the passages that a turn would read."""
    question = normalised(query.question)
    refs, sources = turn_passages(library, settings)(question)
    tokens = [ref["tokens"] for ref in refs]
    overhead = overheads(OfflineReader(library.embedder), question)
    return CalibrationQuestion(
        query=Sample(query.id, question),
        case=CalibrationCase(
            risk_features(question, refs, sources), is_issue(refs, relevant), is_absent(refs, relevant)
        ),
        iou=predict_loss(question, refs, sources, settings, None).iou,
        plain=cost("plain", overhead, tokens, settings.partition_size),
        mapped=cost("map_reduce", overhead, tokens, settings.partition_size),
        eligible=len(refs) > ALWAYS_PLAIN_PASSAGES and sum(tokens) >= settings.map_prompt_tokens,
    )


def _models(collection: DataSet, library: Library) -> dict[str, RiskModel]:
    """Return the model that never saw the collection, and its adjustment by `preflight calibrate`.

    The adjustment is left out if there are too few development questions, or too few issues among them.
    """
    start = fold(_group(collection)) or shipped_model()
    models = {SHIPPED: start}
    for name, made in ((OWN, False), (SELF_MADE, True)):
        try:
            questions = make_questions(library, MADE) if made else _development(collection)
            models[name] = calibrate(
                library,
                questions,
                made=made,
                start=start,
                retrieve=turn_passages(library, reader_order(collection.name)),
            ).model
        except UsageError:
            continue
    return models


def _development(collection: DataSet) -> list[KnownQuestion]:
    """Return questions of the development part with their relevant documents."""
    return [
        KnownQuestion(normalised(query.question), collection.relevant(query.id))
        for query in collection.select("development", SAMPLE)
    ]


def _by_iou(asked: Sequence[CalibrationQuestion], threshold: float) -> RuleVerdicts:
    """Return the verdicts of the paper's rule: at risk is a question with an IoU of at most the threshold."""
    return RuleVerdicts(IOU, [1 - item.iou for item in asked], [item.iou <= threshold for item in asked])


def _by_model(asked: Sequence[CalibrationQuestion], name: str, model: RiskModel) -> RuleVerdicts:
    """Return for each question the risk that a risk model predicts, and whether it reaches the threshold."""
    risks = [model.risk(item.case.values) for item in asked]
    return RuleVerdicts(name, risks, [risk >= model.threshold for risk in risks])


def _rules(
    asked: Sequence[CalibrationQuestion], judged: Sequence[RuleVerdicts], seed: int
) -> tuple[Table, dict[str, Any]]:
    """Return a table with precision, recall and ROC area of each rule, the first compared with the others."""
    issue = [item.case.issue for item in asked]
    rows, numbers = [], {}
    for rule in judged:
        shares = prediction(rule.flagged, issue, seed=seed)
        areas = {"roc_area": roc_area(rule.risks, issue, seed=seed)}
        if rule is not judged[0]:
            areas["above_iou"] = roc_area_gain(rule.risks, judged[0].risks, issue, seed=seed)
        errors = [(risk - truth) ** 2 for risk, truth in zip(rule.risks, issue, strict=True)]
        brier = bootstrap(mean, errors, seed=seed)
        calibration_error = expected_calibration_error(rule.risks, issue)
        level = flagged_at(rule.risks, issue, judged[0].flagged)
        gain = number(areas["above_iou"], signed=True) if "above_iou" in areas else "–"
        cells = (*(number(e, percent=True) for e in shares.values()), f"{level * 100:.1f}", number(areas["roc_area"]))
        rows.append((rule.name, *cells, gain, number(brier), f"{calibration_error:.3f}"))
        single = {"ece": round(calibration_error, 6), "flagged_at_iou_recall": round(level, 6)}
        numbers[rule.name] = figures({**shares, **areas, "brier": brier}) | single
    return Table("Issues predicted", COLUMNS, (*rows, PAPER), RULE_NOTE), numbers


def flagged_at(risks: Sequence[float], issue: Sequence[bool], other: Sequence[bool]) -> float:
    """Return the least share of questions, by risk, that contains as many issues as another rule's flagged ones."""
    wanted = sum(flag and truth for flag, truth in zip(other, issue, strict=True))
    ordered = sorted((risk for risk, truth in zip(risks, issue, strict=True) if truth), reverse=True)
    least = ordered[wanted - 1] if wanted else 2.0
    return fmean(risk >= least for risk in risks)


def expected_calibration_error(risks: Sequence[float], issue: Sequence[bool]) -> float:
    """Return the mean distance of the mean risk from the share of issues, over bins weighted by their questions.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
    """
    return sum(count * abs(risk - share) for count, risk, share in reliability(risks, issue)) / len(risks)


def reliability(risks: Sequence[float], issue: Sequence[bool]) -> list[tuple[int, float, float]]:
    """Return number of questions, mean risk and share of issues for each non-empty bin of 10 of equal width."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for risk, truth in zip(risks, issue, strict=True):
        bins.setdefault(min(BINS - 1, int(risk * BINS)), []).append((risk, truth))
    found = []
    for _, pairs in sorted(bins.items()):
        risks_in_bin, issues_in_bin = zip(*pairs, strict=True)
        found.append((len(pairs), fmean(risks_in_bin), fmean(issues_in_bin)))
    return found


def _reliability(asked: Sequence[CalibrationQuestion], judged: Sequence[RuleVerdicts]) -> tuple[Table, dict[str, Any]]:
    """Return a table of mean risk and share of issues by bin, for each rule."""
    issue = [item.case.issue for item in asked]
    rows, numbers = [], {}
    for rule in judged:
        bins = reliability(rule.risks, issue)
        rows += [(rule.name, str(count), f"{risk * 100:.1f}", f"{share * 100:.1f}") for count, risk, share in bins]
        numbers[rule.name] = [[count, round(risk, 6), round(share, 6)] for count, risk, share in bins]
    return Table("Reliability", ("rule", "questions", "mean risk %", "issues %"), tuple(rows)), numbers


def _work(asked: Sequence[CalibrationQuestion], judged: Sequence[RuleVerdicts]) -> tuple[Table, dict[str, Any]]:
    """Return the share that each rule sends to map/reduce, and the cost, for questions on which the rule decides."""
    eligible = [place for place, item in enumerate(asked) if item.eligible]
    issues = sum(asked[place].case.issue for place in eligible)
    routings = {"all map/reduce": [True] * len(asked), "all plain": [False] * len(asked)}
    routings |= {rule.name: list(rule.flagged) for rule in judged}
    dearest = sum(asked[place].mapped.input_tokens for place in eligible)
    rows, numbers = [], {}
    for name, flags in routings.items():
        sent = [place for place in eligible if flags[place]]
        spent = [asked[place].mapped if flags[place] else asked[place].plain for place in eligible]
        row = {
            "sent": len(sent) / len(eligible) if eligible else None,
            "of_issues": sum(asked[place].case.issue for place in sent) / issues if issues else None,
            "calls": fmean(one.calls for one in spent) if spent else None,
            "tokens": fmean(one.input_tokens for one in spent) if spent else None,
            "saved": 1 - sum(one.input_tokens for one in spent) / dearest if dearest else None,
        }
        forms = (("sent", 100, ".1f"), ("of_issues", 100, ".1f"), ("calls", 1, ".2f"), ("tokens", 1, ",.0f"))
        cells = [_cell(row[key], scale, form) for key, scale, form in (*forms, ("saved", 100, ".1f"))]
        rows.append((name, *cells))
        numbers[name] = {key: None if value is None else round(value, 6) for key, value in row.items()}
    note = (
        f"The {len(eligible)} questions whose passages are more than {ALWAYS_PLAIN_PASSAGES} and do not fit one map "
        "prompt. Means a question, by the cost model of BriefContext, section 5.2; saved: against map/reduce for all."
    )
    return Table("Model work", WORK_COLUMNS, tuple(rows), note), numbers


def _events(asked: Sequence[CalibrationQuestion], judged: Sequence[RuleVerdicts]) -> tuple[Table, dict[str, Any]]:
    """Return a table of how many questions each rule flags, by the place of the first gold passage."""
    kinds = {
        "among the first three": [not (item.case.issue or item.case.absent) for item in asked],
        "below them: may get lost": [item.case.issue for item in asked],
        "not retrieved: nothing to find": [item.case.absent for item in asked],
    }
    rows, numbers = [], {}
    for name, here in kinds.items():
        places = [place for place, flag in enumerate(here) if flag]
        share = wilson(len(places), len(asked))
        flagged = {}
        for rule in judged:
            flagged[rule.name] = wilson(sum(rule.flagged[place] for place in places), len(places))
        cells = (number(one, percent=True) if places else "–" for one in flagged.values())
        rows.append((name, str(len(places)), number(share, percent=True), *cells))
        numbers[name] = {"questions": len(places), "share": share.as_json(), "flagged": figures(flagged)}
    note = "The risk is that of the second line. Flagged: sent to map/reduce. [95 %: Wilson.]"
    head = ("first gold passage", "questions", "share %", *(f"flagged %: {rule.name}" for rule in judged))
    return Table("What there is to lose", head, tuple(rows), note), numbers


def _not_reranked(
    asked: Sequence[CalibrationQuestion], model: RiskModel, threshold: float, seed: int
) -> tuple[Table, dict[str, Any]]:
    """Return how well both rules predict the issues of passages in the fused order, without a second stage."""
    issue = [item.case.issue for item in asked]
    rows, numbers = [], {}
    for rule in (_by_iou(asked, threshold), _by_model(asked, SHIPPED, model)):
        shares = prediction(rule.flagged, issue, seed=seed)
        shares = {name: shares[name] for name in ("precision", "recall", "flagged_share")}
        areas = {"roc_area": roc_area(rule.risks, issue, seed=seed)}
        cells = (*(number(share, percent=True) for share in shares.values()), number(areas["roc_area"]))
        rows.append((rule.name, *cells))
        numbers[rule.name] = figures({**shares, **areas})
    note = "The first passages of the fused ranking (--reranker none); an issue as above, in this order."
    columns = ("rule", "precision %", "recall %", "flagged %", "ROC area")
    return Table("Without the second stage", columns, tuple(rows), note), numbers


def _cell(value: float | None, scale: int, form: str) -> str:
    """Return a table's cell: the value times `scale` in a format, or a dash."""
    return "–" if value is None else f"{value * scale:{form}}"


def _rows(place: int, item: CalibrationQuestion, judged: Sequence[RuleVerdicts]) -> Iterator[ScoreRow]:
    """Yield whether each rule was right about a question, and the risk that it gave."""
    for number_of, rule in enumerate(judged):
        details: dict[str, Any] = {"risk": rule.risks[place], "flagged": rule.flagged[place], "issue": item.case.issue}
        if not number_of:
            details |= {"question": item.query.question, "iou": item.iou, "features": dict(item.case.values)}
        yield ScoreRow(
            item.query.id, arm=rule.name, score=float(rule.flagged[place] == item.case.issue), details=details
        )

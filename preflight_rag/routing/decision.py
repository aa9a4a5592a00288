"""Decisions on a turn's route: the preflight's before anything is read, and the escalation after a draft.

Passages that are about several things of one name, or that contradict each other, go to COrg (`corg.signals`), where
that is worth its calls (`routing.expected_value`). Of the others it is predicted whether the key passage would be lost,
that is whether it stands below the first three of the order that the reader gets. Two rules do that. The calibrated one
gives the probability of it (`routing.risk`) and sends the question to map/reduce where that is worth its calls for the
model that reads. The paper's compares the dense ranking of the retrieved passages with a BM25 ranking of the same
passages: where their first n agree (IoU > threshold), plain RAG serves; else map/reduce (BriefContext, section 5.2,
equation 1). It also serves where nothing was calibrated for the library's embedder.

Where no passage is relevant to the question (`routing.off_topic`), plain reading is chosen, whatever the signals say:
there is nothing to compare, and no passage to lose. The paper's rule has no such case.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

from preflight_rag.corg.agreement import same_answer
from preflight_rag.corg.signals import CorgSignals, read_signals
from preflight_rag.models.reading.extractive_reader import NO_READER, ExtractiveReader
from preflight_rag.routing.expected_value import PartsValue, compare_value, parts_value
from preflight_rag.routing.model_profile import UNMEASURED, ModelProfile
from preflight_rag.routing.off_topic import NEAR, bearing_of
from preflight_rag.routing.risk import EVENTS, RiskModel, shipped_model
from preflight_rag.routing.risk_features import FEATURES, has_places, risk_features
from preflight_rag.state.context import Settings
from preflight_rag.state.reading import Draft, Lookup, Source, Talk
from preflight_rag.state.retrieval import PassageTerms
from preflight_rag.state.values import RouteDecision, RouteName
from preflight_rag.text.bm25 import bm25_of_numbers, pool_bm25
from preflight_rag.text.exact import exact_strings, holds, is_definite, is_doi
from preflight_rag.text.words import words

if TYPE_CHECKING:
    from preflight_rag.state.schema import Escalation, PassageRef

ALWAYS_PLAIN_PASSAGES = 3
"""Number of passages up to which nothing can be lost in the middle: they are the first three."""
LOST = "lost"
"""The signal that is 1 where the rule predicts a lost key passage, and 0 where it does not."""
OFF_TOPIC = "off_topic"
"""The signal that is 1 where no passage is relevant to the question; else it is not among the signals."""
FORCED: dict[str, RouteName] = {"plain": "plain", "map-reduce": "map_reduce", "corg": "corg"}
"""The route by the value of the setting `route` that forces it."""

TALK_REASONS = {
    "source": "the message asks to see a source of the last answer",
    "sources": "the message asks for the sources of the last answer",
    "asked": "the message asks what was asked before",
    "questions": "the message asks what was asked before",
    "repeat": "the message asks for the last answer again",
    "summary": "the message asks what was said so far",
    "shorter": "the message asks for the last answer in short",
    "restyle": "the message asks for the last answer in other words",
    "other": "the message asks nothing of the documents",
}


@dataclass(frozen=True)
class LossPrediction:
    """Whether the key passage would be lost, with the reason and the numbers.

    The calibrated rule compares `risk` with `threshold`, the paper's rule `iou`.
    """

    lost: bool
    reason: str
    iou: float
    risk: float
    threshold: float
    signals: Mapping[str, float]


def decide(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    settings: Settings,
    risk_model: RiskModel | None = None,
    extractive: ExtractiveReader | None = None,
    terms: Sequence[PassageTerms] | None = None,
    profile: ModelProfile = UNMEASURED,
) -> RouteDecision:
    """Return the route for these passages, with the numbers behind it.

    Args:
        question: The standalone question.
        refs: The retrieved passages.
        sources: Their texts, in the same order.
        settings: `preflight` names the rule, `threshold` and `top_n` are the IoU rule's.
        risk_model: The collection's risk model, from `risk_model_of`; without one the IoU rule decides.
        extractive: The reader for COrg's signal `answers`; without one the other signals decide.
        terms: The passages' terms, in the same order, if an index has them; else they are read from the texts.
        profile: The profile of the model that reads.
    """
    tokens = sum(ref["tokens"] for ref in refs)
    signals = {"passages": float(len(refs)), "context_tokens": float(tokens)}
    # A turn that is forced to COrg shows its numbers even if comparing is switched off.
    corg = read_signals(question, refs, sources, extractive) if settings.corg or settings.route == "corg" else None
    signals |= corg.as_numbers() if corg else {}
    if not refs:
        reason = "nothing was found in the library"
        return RouteDecision(
            name="abstain", reason=reason, top_n=settings.top_n, threshold=settings.threshold, signals=signals
        )
    # Before the route is known, because every decision keeps these numbers.
    prediction = predict_loss(question, refs, sources, settings, risk_model, terms, profile)

    def decision(name: RouteName, reason: str, *, forced: bool = False) -> RouteDecision:
        """Return a decision with the numbers computed so far."""
        return RouteDecision(
            name=name,
            reason=reason,
            forced=forced,
            iou=prediction.iou,
            top_n=settings.top_n,
            threshold=prediction.threshold,
            risk=prediction.risk,
            signals={**signals, **prediction.signals, LOST: float(prediction.lost)},
        )

    if settings.route != "auto":
        return decision(FORCED[settings.route], f"the route was forced to {settings.route}", forced=True)
    if settings.preflight != "iou":
        # The limits of nearness were set on the cosines of the default embedder.
        measured = risk_model is not None and risk_model.embedder == shipped_model().embedder and has_places(refs)
        bearing = bearing_of(question, refs, sources, extractive, measured=measured)
        signals["nearness"] = round(bearing.nearness, 4)
        if bearing.is_none:
            signals[OFF_TOPIC] = 1.0
            reason = f"no passage found is near the question (nearness {bearing.nearness:.2g} of 1)"
            return decision("plain", f"{reason}: what can be said of it takes one reading at most")
    # Before the length counts: two short passages can contradict each other, too.
    if corg is not None and (reason := comparing(corg, settings)):
        return decision("corg", reason)
    if len(refs) <= ALWAYS_PLAIN_PASSAGES:
        return decision("plain", f"only {len(refs)} passage{'s' * (len(refs) > 1)}: nothing can be lost between them")
    if tokens < settings.map_prompt_tokens and (settings.preflight == "iou" or settings.thoroughness < 1):
        # Together they are no longer than one part may be, so that reading in parts gains nothing.
        return decision("plain", f"the passages are short ({tokens} tokens): they fit one map prompt")
    return decision("map_reduce" if prediction.lost else "plain", prediction.reason)


def decide_early(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    settings: Settings,
    risk_model: RiskModel | None,
    extractive: ExtractiveReader | None,
    terms: Sequence[PassageTerms] | None = None,
    profile: ModelProfile = UNMEASURED,
) -> tuple[RouteDecision, bool]:
    """Return the route of a turn with a language model, and whether COrg's signal `answers` is still to be computed.

    Reading the passages for that signal takes longer than all else before the model's first call, so for plain reading
    it runs beside that call. If the route is forced, they are not read. See `decide` for the arguments.
    """
    early = decide(question, refs, sources, settings, risk_model, terms=terms, profile=profile)
    if extractive is None or early.forced or not refs or not settings.corg:
        return early, False
    # Only plain reading starts at once, beside the comparison of the answers; another route waits for all signals.
    if early.name == "plain":
        return early, True
    return decide(question, refs, sources, settings, risk_model, extractive, terms, profile), False


def predict_loss(
    question: str,
    refs: Sequence[PassageRef],
    sources: Sequence[Source],
    settings: Settings,
    risk_model: RiskModel | None,
    terms: Sequence[PassageTerms] | None = None,
    profile: ModelProfile = UNMEASURED,
) -> LossPrediction:
    """Return whether the key passage is likely lost, by the calibrated rule if it can be used, else by IoU."""
    top_n, threshold = settings.top_n, settings.threshold
    iou = rank_agreement(dense_order(refs), lexical_order(question, sources, terms), top_n)
    if settings.preflight == "calibrated" and risk_model is not None and has_places(refs):
        return _predict_by_risk(
            risk_model, risk_features(question, refs, sources, terms), iou, len(refs), settings, profile
        )
    # The paper's rule is plain RAG above the threshold, so an IoU at it counts as disagreement.
    lost = iou <= threshold
    relation = (
        f"disagree (IoU {iou:.2g}, at most {threshold:g})" if lost else f"agree (IoU {iou:.2g}, above {threshold:g})"
    )
    fallback = "" if settings.preflight == "iou" else _fallback_reason(risk_model)
    reason = f"{fallback}on the first {top_n} passages search by meaning and search by words {relation}"
    return LossPrediction(lost, reason, iou, 1 - iou, threshold, {})


def comparing(corg: CorgSignals, settings: Settings) -> str:
    """Return the reason for comparing the passages by COrg; "" if its calls are not worth it.

    Under the paper's rule (`iou`) only the score decides; the expected value of the calls is ignored.
    """
    reasons = "; ".join(corg.fired) or "passages may contradict each other"
    if settings.preflight == "iou":
        limit, benefit = settings.corg_threshold, ""
        is_worth = corg.score >= limit
    else:
        usual, thoroughness = settings.corg_threshold, settings.thoroughness
        value = compare_value(corg.score, usual_limit=usual, thoroughness=thoroughness)
        # A score may be rounded to 1, which is also the limit that means never.
        limit, is_worth = value.limit, thoroughness > 0 and corg.score >= value.limit
        benefit = f": expected to answer {value.gain * 100:.1f} more of 100 questions for {value.calls:.2g} calls each"
        benefit = benefit if value.gain > 0 else ""
    return f"{reasons} (score {corg.score:.2g}, compared from {limit:.2g} on{benefit})" if is_worth else ""


def _fallback_reason(risk_model: RiskModel | None) -> str:
    """Return the beginning of a reason: why the IoU rule decides although the calibrated one is set."""
    if risk_model is None:
        return "nothing is calibrated for the library's embedder, so the rankings are compared: "
    return "the passages come without their places in the collection's rankings, so these are compared: "


def _predict_by_risk(
    model: RiskModel,
    values: Mapping[str, float],
    iou: float,
    passages: int,
    settings: Settings,
    profile: ModelProfile,
) -> LossPrediction:
    """Return the prediction by the risk model: a loss is predicted where reading in parts is worth its calls."""
    risk = model.risk(values)
    parts = len(partition(passages, settings.partition_size, settings.max_partitions))
    value = parts_value(
        profile,
        risk,
        passages=passages,
        partitions=parts,
        thoroughness=settings.thoroughness,
        looks=settings.extractive_reader != NO_READER,
    )
    # One part would be the same reading once more.
    lost = parts > 1 and settings.thoroughness > 0 and risk >= value.limit
    signals = {f"risk_{name}": round(values[name], 4) for name in model.terms}
    signals |= {"parts_gain": round(value.gain, 4), "parts_calls": round(value.calls, 2)}
    return LossPrediction(
        lost, _reason_in_words(model, values, risk, value, profile, lost), iou, risk, value.limit, signals
    )


def _reason_in_words(
    model: RiskModel, values: Mapping[str, float], risk: float, value: PartsValue, profile: ModelProfile, lost: bool
) -> str:
    """Return the reason of a prediction: the gain and cost of parts, the risk, the model's losses, and the features."""
    names = model.strongest_signals(values, risky=lost)
    strongest = [FEATURES[name].risky if lost else FEATURES[name].safe for name in names]
    who_loses = f"{profile.model} loses" if profile.model else f"{profile.grounds} lost"
    losses = f"{who_loses} {value.lost:.0%} of answers below the third place"
    event = f"risk {risk:.2g} that {EVENTS[model.event]}, {model.grounds}"
    benefit = (
        f"parts are expected to answer {value.gain * 100:.1f} more of 100 questions for {value.calls:.2g} calls each"
    )
    return "; ".join([f"{benefit} ({event}; {losses})", *strongest])


def dense_order(refs: Sequence[PassageRef]) -> list[int]:
    """Return the passages' ranks in dense order (R_LLM of equation 1); by cosine if some have no dense rank."""
    dense_ranks = [ref.get("dense_rank") for ref in refs]
    # A passage without a rank, as of a user's own retriever, cannot be sorted among those that have one.
    ranked = [(dense_rank, ref) for dense_rank, ref in zip(dense_ranks, refs, strict=True) if dense_rank is not None]
    if len(ranked) == len(refs):
        return [ref["rank"] for _, ref in sorted(ranked, key=lambda pair: (pair[0], pair[1]["rank"]))]
    return [ref["rank"] for ref in sorted(refs, key=lambda ref: (-ref["cosine"], ref["rank"]))]


def lexical_order(question: str, sources: Sequence[Source], terms: Sequence[PassageTerms] | None = None) -> list[int]:
    """Return the ranks of passages that share a word with the question, ordered by BM25 (R_BM25 of equation 1)."""
    question_terms = words(question)
    if terms:
        scores = bm25_of_numbers(
            terms[0].vocabulary.numbers(question_terms), [passage_terms.words for passage_terms in terms]
        )
    else:
        scores = pool_bm25(question_terms, [f"{source.title} {source.text}" for source in sources])
    ranked = [(-score, source.n) for score, source in zip(scores, sources, strict=True) if score is not None]
    return [n for _, n in sorted(ranked)]


def rank_agreement(a: Sequence[Hashable], b: Sequence[Hashable], top_n: int) -> float:
    """Return the intersection over union of the first `top_n` of two rankings, in [0, 1]; 0 if both are empty."""
    first, second = set(a[:top_n]), set(b[:top_n])
    union = first | second
    # Two empty rankings agree on nothing: with 0 the question counts as one whose key passage may be lost.
    return len(first & second) / len(union) if union else 0.0


def partition(count: int, size: int, most: int | None = None) -> list[list[int]]:
    """Return the ranks 1 to `count` in consecutive parts of nearly equal length, at most `size` ranks each.

    If that takes more than `most` parts, there are `most`, which are longer.
    """
    parts = min(ceil(count / size), most or count)
    bounds = [round(i * count / parts) for i in range(parts + 1)] if parts else []
    return [list(range(bounds[i] + 1, bounds[i + 1] + 1)) for i in range(parts)]


def conversation_route(talk: Talk, settings: Settings) -> RouteDecision:
    """Return the route of a message that needs no retrieval, with the reason."""
    reason = TALK_REASONS.get(talk.kind, f"the message is small talk ({talk.kind})")
    reason = f"{reason}: nothing is searched for"
    return RouteDecision(name="conversation", reason=reason, top_n=settings.top_n, threshold=settings.threshold)


def lookup_route(lookup: Lookup, settings: Settings) -> RouteDecision:
    """Return the route of a question about the documents themselves, with the reason."""
    subject = "which documents there are" if lookup.kind == "listing" else "what is known of a document"
    if lookup.kind == "listing" and lookup.topic:
        subject = f"which documents mention “{lookup.topic}”"
    reason = f"the question asks {subject}"
    return RouteDecision(name=lookup.kind, reason=reason, top_n=settings.top_n, threshold=settings.threshold)


def unread_note(extracts: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about the partitions that could not be read, given their states; "" if all were read."""
    failed = sum(extract["failed"] for extract in extracts)
    if not failed:
        return ""
    parts = f"{failed} of {len(extracts)} parts of the passages"
    return f"\n\nNote: {parts} could not be read; the answer may lack what they say."


def current_route(decision: Mapping[str, Any], escalations: Sequence[Escalation]) -> str:
    """Return the current route of a turn: the one decided, or the one to which it escalated since."""
    return escalations[-1]["to"] if escalations else str(decision.get("name"))


def is_off_topic(decision: Mapping[str, Any]) -> bool:
    """Return whether the preflight found that no retrieved passage is relevant to the question."""
    return bool(decision.get("signals", {}).get(OFF_TOPIC))


def is_near(decision: Mapping[str, Any]) -> bool:
    """Return whether a retrieved passage is near the question, or how near they are was not measured."""
    return bool(decision.get("signals", {}).get("nearness", 1.0) >= NEAR)


def lacks_code(question: str, sources: Sequence[Source]) -> bool:
    """Return whether no passage has any code or number that a question names.

    False for a question without any. Codes that identify a single thing are handled before reading (`unmentioned`).
    """
    strings = exact_strings(question)
    texts = [f"{source.title} {source.source} {source.text}" for source in sources]
    return bool(strings) and not any(holds(text, string) for text in texts for string in strings)


def may_escalate(decision: Mapping[str, Any], escalations: Sequence[Escalation], route: str) -> bool:
    """Return whether the preflight chose this route without being forced, and the turn has not escalated yet."""
    return decision.get("name") == route and not decision.get("forced") and not escalations


def back_to_plain(route: str, refs: Sequence[PassageRef], first: Sequence[int]) -> Escalation:
    """Return the escalation from a route without a result to reading the first passages in one call."""
    failed = "no part of the passages could be read" if route == "map_reduce" else "no group could be answered"
    few = f"the first {len(first)} of {len(refs)}" if len(first) < len(refs) else f"all {len(refs)}"
    return {"from": route, "to": "plain", "reason": f"{failed}; {few} passages were read at once instead"}


def plain_stands(route: str, kept: str) -> Escalation:
    """Return the escalation from a route without a result back to the earlier answer, which is of the route `kept`."""
    failed = "no part of the passages could be read" if route == "map_reduce" else "no group could be answered"
    return {"from": route, "to": kept, "reason": f"{failed}; the answer of before stands"}


def nearest_passages(to: str) -> Escalation:
    """Return the silent escalation from groups whose answers are too uncertain to the passages nearest in meaning."""
    reason = "no answer of a group is sure enough for a claim; the sentences nearest to the question are shown"
    return {"from": "corg", "to": to, "reason": reason, "silent": True}


def fallback_note(escalations: Sequence[Escalation]) -> str:
    """Return a sentence about a route that gave no result; "" if the turn ended on its chosen route."""
    last = escalations[-1] if escalations else None
    return f"\n\nNote: {last['reason']}." if last and is_fallback(last) and not last.get("silent") else ""


def is_fallback(step: Escalation) -> bool:
    """Return whether an escalation led back to a cheaper route."""
    order = ("plain", "map_reduce", "corg")
    return order.index(step["to"]) < order.index(step["from"])


def contradicted_answers(answers: Sequence[str], options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the distinct answers of partitions that differ from another partition's answer.

    BriefContext, section 5.3: conflict information is that a model returns inconsistent answers given different
    partitions. Empty answers are left out; answers out of given options are compared word for word.
    """
    distinct = list(dict.fromkeys(answer for answer in answers if answer))
    contradicted: set[str] = set()
    for a, b in combinations(distinct, 2):
        # An option is chosen by its exact words; a free answer may be spelled in several ways.
        if options or not same_answer(a, b):
            contradicted.update((a, b))
    return tuple(answer for answer in distinct if answer in contradicted)


def contradiction(draft: Draft, answers: Sequence[str]) -> Escalation | None:
    """Return the escalation to COrg if partitions answered differently about the same thing; else None.

    Their answers are compared here; that they are about the same thing is the reader's judgement (`draft.disputed`).
    Answers for several things, years or groups are left to `reduce`.
    """
    contradicted = contradicted_answers(answers)
    if not (draft.found and draft.disputed and contradicted):
        return None
    sides = " and ".join(f"“{answer}”" for answer in contradicted[:2])
    return {"from": "map_reduce", "to": "corg", "reason": f"parts of the passages say {sides} of the same thing"}


def unmentioned(question: str, sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the question's exact strings if no passage contains any of them; else ().

    () as well if none of them identifies a single thing, such as a part number. A collection with a phrase index puts
    passages with such a string first, so no document has the strings then.
    """
    strings = exact_strings(question)
    texts = [f"{source.title} {source.source} {source.text}" for source in sources]
    if not strings or any(holds(text, string) for text in texts for string in strings):
        return ()
    # A paper's text often lacks its own DOI, so that a missing one does not show that the document is missing.
    return strings if any(is_definite(string, texts) and not is_doi(string) for string in strings) else ()


def unmentioned_decision(strings: Sequence[str], settings: Settings) -> RouteDecision:
    """Return the decision to abstain from a question that names something no document mentions."""
    reason = f"no document that was searched mentions {' or '.join(strings)}"
    return RouteDecision(name="abstain", reason=reason, top_n=settings.top_n, threshold=settings.threshold)

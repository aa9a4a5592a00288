"""Stage `preflight`: predict, without a language model, how the retrieved passages have to be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from preflight_rag.corg.signals import read_signals
from preflight_rag.library.collection import PhraseSearch, indexed_terms
from preflight_rag.models.planning import expected_seconds, speed_of, takes_too_long
from preflight_rag.models.protocol import TAG_TOKENS, GoesOffline
from preflight_rag.routing.decision import (
    comparing,
    decide,
    decide_early,
    partition,
    unmentioned,
    unmentioned_decision,
)
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import profile_of_reader
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ReadsTooSlowly
from preflight_rag.state.reading import Source
from preflight_rag.state.schema import PassageRef, State
from preflight_rag.state.values import RouteDecision, Usage
from preflight_rag.state.views import Retrieved


async def preflight(state: Retrieved, runtime: Runtime[Context]) -> State:
    """Choose the route and its reason; `unchecked` tells the answering stage to compare the passages' answers."""
    context = runtime.context
    refs, note = await _select_both_sides(state, context)
    sources = await context.sources(refs)
    decision, unchecked = await asyncio.to_thread(_decide, state["standalone_question"], refs, sources, context)
    decision = _avoid_slow_route(decision, refs, context)
    unchecked = unchecked and not context.is_planned()
    settings = context.settings
    partitions: list[list[int]] = []
    if decision.name == "map_reduce":
        partitions = partition(len(refs), settings.partition_size, settings.max_partitions)
    update: State = {"decision": decision.model_dump(), "unchecked": unchecked, "partitions": partitions}
    if note:
        update["passage_refs"], update["gaps"] = refs, [{"stage": "preflight", "item": "time", "error": note}]
    return update


async def _select_both_sides(state: Retrieved, context: Context) -> tuple[list[PassageRef], str]:
    """Return the passages to pass on, and a note that says why they are others than planned; "" if they are not.

    A slow model is given few passages. If the requested passages contradict each other, one passage of each side is
    among the few. If there is no time for both, the turn goes on without the model, over all passages; an error is
    raised if the reader cannot do that.
    """
    planned, unread, settings = state["passage_refs"], state.get("unread_refs") or [], context.settings
    if not unread or settings.route != "auto" or not settings.corg:
        return planned, ""
    requested = [*planned, *unread]
    sources = await context.sources(requested)
    question = state["standalone_question"]
    sides = await asyncio.to_thread(_contradicting_sides, question, requested, sources, context)
    if sides is None:
        return planned, ""
    first, second, reason = sides
    if speed_of(context.reader) is not None and not _has_time([first, second], context):
        error = ReadsTooSlowly(
            f"the documents may give different answers ({reason}), and {context.reader.name} has no time to read both",
            help="Raise PREFLIGHT_ANSWER_SECONDS, or take a smaller model.",
        )
        error.spent = Usage().model_dump()
        if not isinstance(context.reader, GoesOffline):
            raise error
        context.reader.go_offline(error)
        return requested, f"{error} All passages are compared without it."
    selected = [first, second]
    for ref in [ref for ref in planned if ref not in selected]:
        if not _has_time([*selected, ref], context):
            break
        selected.append(ref)
    ordered = sorted(selected, key=lambda ref: ref["rank"])
    note = f"the documents may give different answers ({reason}): the model reads a passage of each side"
    return [{**ref, "rank": rank} for rank, ref in enumerate(ordered, 1)], note


def _contradicting_sides(
    question: str, refs: Sequence[PassageRef], sources: Sequence[Source], context: Context
) -> tuple[PassageRef, PassageRef, str] | None:
    """Return the first passage, the passage of another document that contradicts it most clearly, and the reason.

    None if the passages give no reason to compare their answers, or are all of one document.
    """
    reason = comparing(read_signals(question, refs, sources, context.extractive), context.settings)
    best_ref, best_score = None, 0.0
    for ref, source in zip(refs[1:], sources[1:], strict=True):
        if ref["document_id"] == refs[0]["document_id"]:
            continue
        score = read_signals(question, [refs[0], ref], [sources[0], source], context.extractive).score
        # Of equal scores, that of the lower rank number counts.
        if best_ref is None or (score, -ref["rank"]) > (best_score, -best_ref["rank"]):
            best_ref, best_score = ref, score
    if not reason or best_ref is None:
        return None
    return refs[0], best_ref, reason


def _has_time(refs: Sequence[PassageRef], context: Context) -> bool:
    """Return whether the model is expected to read the passages in one call, and answer, within its time.

    True if its speed is unknown.
    """
    speed, tokens = speed_of(context.reader), sum(ref["tokens"] + TAG_TOKENS for ref in refs)
    if speed is None:
        return True
    return expected_seconds("plain", tokens, len(refs), context.settings, speed) <= context.settings.turn_seconds


def _avoid_slow_route(decision: RouteDecision, refs: Sequence[PassageRef], context: Context) -> RouteDecision:
    """Return the decision; if its route is expected to take too long, for the plain route instead, with the reason.

    A route that the user has forced stays.
    """
    speed, tokens = speed_of(context.reader), sum(ref["tokens"] for ref in refs)
    if speed is None or decision.forced or decision.name not in ("map_reduce", "corg"):
        return decision
    if not takes_too_long(decision.name, tokens, len(refs), context.settings, speed):
        return decision
    seconds = expected_seconds(decision.name, tokens, len(refs), context.settings, speed)
    slowness = f"it would take about {seconds:,.0f} s with this model, so the passages are read at once"
    return decision.model_copy(update={"name": "plain", "reason": f"{decision.reason}; {slowness}"})


def _decide(
    question: str, refs: Sequence[PassageRef], sources: Sequence[Source], context: Context
) -> tuple[RouteDecision, bool]:
    """Decide on the route; also return whether the passages' answers are still to be compared."""
    # Only a library that can search for exact strings has looked for all of the question's.
    finds_exact_strings = context.settings.route == "auto" and isinstance(context.library, PhraseSearch)
    if finds_exact_strings and refs and (strings := unmentioned(question, sources)):
        return unmentioned_decision(strings, context.settings), False
    model = risk_model_of(context.library)
    terms = indexed_terms(context.library, [ref["id"] for ref in refs])
    profile = profile_of_reader(context.reader)
    arguments = question, refs, sources, context.settings, model, context.extractive, terms, profile
    if context.calls_ahead and context.reader is not None and not context.reader.by_rule:
        return decide_early(*arguments)
    return decide(*arguments), False  # a reader by rule reads the same passages next

"""Stage `preflight`: predict, without a language model, how the retrieved passages have to be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langgraph.runtime import Runtime

from preflight_rag.library.collection import PhraseSearch, indexed_terms
from preflight_rag.models.planning import expected_seconds, speed_of, takes_too_long
from preflight_rag.routing.decision import decide, decide_early, partition, unmentioned, unmentioned_decision
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import profile_of_reader
from preflight_rag.state.context import Context
from preflight_rag.state.reading import Source
from preflight_rag.state.schema import PassageRef, State
from preflight_rag.state.values import RouteDecision
from preflight_rag.state.views import Retrieved


async def preflight(state: Retrieved, runtime: Runtime[Context]) -> State:
    """Choose the route and say why; `unchecked` tells the answering stage to compare the passages' answers as well."""
    refs, context = state["passage_refs"], runtime.context
    sources = await context.sources(refs)
    decision, unchecked = await asyncio.to_thread(_decided, state["standalone_question"], refs, sources, context)
    decision = _in_time(decision, refs, context)
    unchecked = unchecked and not context.is_planned()
    size, most = context.settings.partition_size, context.settings.max_partitions
    partitions = partition(len(refs), size, most) if decision.name == "map_reduce" else []
    return {"decision": decision.model_dump(), "unchecked": unchecked, "partitions": partitions}


def _in_time(decision: RouteDecision, refs: Sequence[PassageRef], context: Context) -> RouteDecision:
    """Return the decision, with plain in place of a dearer route that is too slow here and was not forced."""
    speed, tokens = speed_of(context.reader), sum(ref["tokens"] for ref in refs)
    if speed is None or decision.forced or decision.name not in ("map_reduce", "corg"):
        return decision
    if not takes_too_long(decision.name, tokens, len(refs), context.settings, speed):
        return decision
    seconds = expected_seconds(decision.name, tokens, len(refs), context.settings, speed)
    why = f"it would take about {seconds:,.0f} s with this model, so the passages are read at once"
    return decision.model_copy(update={"name": "plain", "reason": f"{decision.reason}; {why}"})


def _decided(
    question: str, refs: Sequence[PassageRef], sources: Sequence[Source], context: Context
) -> tuple[RouteDecision, bool]:
    is_sure = context.settings.route == "auto" and isinstance(context.library, PhraseSearch)
    if is_sure and refs and (strings := unmentioned(question, sources)):
        return unmentioned_decision(strings, context.settings), False
    model = risk_model_of(context.library)
    terms = indexed_terms(context.library, [ref["id"] for ref in refs])
    profile = profile_of_reader(context.reader)
    asked = question, refs, sources, context.settings, model, context.extractive, terms, profile
    if context.calls_ahead and context.reader is not None and not context.reader.by_rule:
        return decide_early(*asked)
    return decide(*asked), False  # a reader by rule reads the same passages next

"""Stage `preflight`: predict, without a language model, how the retrieved passages have to be read."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from preflight_rag.library.collection import indexed_terms
from preflight_rag.routing.decision import decide, decide_early, partition
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.state.context import Context
from preflight_rag.state.schema import State
from preflight_rag.state.views import Retrieved


async def preflight(state: Retrieved, runtime: Runtime[Context]) -> State:
    """Choose the route and say why; what answers may still compare the passages' answers (`unchecked`)."""
    refs, context = state["passages"], runtime.context
    sources = await context.sources(refs)
    model = await asyncio.to_thread(risk_model_of, context.library)
    terms = await asyncio.to_thread(indexed_terms, context.library, [ref["id"] for ref in refs])
    asked = state["standalone_question"], refs, sources, context.settings, model, context.extractive, terms
    if context.calls_ahead and context.reader is not None and not context.reader.by_rule:
        decision, unchecked = await asyncio.to_thread(decide_early, *asked)
    else:  # one by rule reads the same passages next
        decision, unchecked = await asyncio.to_thread(decide, *asked), False
    size, most = context.settings.partition_size, context.settings.max_partitions
    partitions = partition(len(refs), size, most) if decision.name == "map_reduce" else []
    return {"decision": decision.model_dump(), "unchecked": unchecked, "partitions": partitions}

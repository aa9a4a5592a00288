"""Stage `preflight`: predict, without a language model, how the retrieved passages have to be read."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from preflight_rag.routing.decision import decide, partition
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.state.context import Context
from preflight_rag.state.schema import State
from preflight_rag.state.views import Retrieved


async def preflight(state: Retrieved, runtime: Runtime[Context]) -> State:
    """Choose the route and say why."""
    refs, context = state["passages"], runtime.context
    sources = await context.sources(refs)
    model = await asyncio.to_thread(risk_model_of, context.library)
    decision = await asyncio.to_thread(
        decide, state["standalone_question"], refs, sources, context.settings, model, context.extractive
    )
    partitions = partition(len(refs), context.settings.partition_size) if decision.name == "map_reduce" else []
    return {"decision": decision.model_dump(), "partitions": partitions}

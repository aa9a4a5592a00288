"""Stage `map_context`: what one partition of the passages says (BriefContext, map). Partitions run in parallel."""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from preflight_rag.models.unfinished import may_be_spared
from preflight_rag.state.context import Context
from preflight_rag.state.errors import ModelError
from preflight_rag.state.reading import Extract
from preflight_rag.state.schema import State
from preflight_rag.state.values import Usage
from preflight_rag.state.views import Partition


async def map_context(state: Partition, runtime: Runtime[Context]) -> State:
    """Extract the evidence in one partition; a failure is a gap of this partition only."""
    number = state["partition"]
    sources = await runtime.context.sources(state["passage_refs"])
    try:
        reply = await runtime.context.reader.extract(
            question=state["standalone_question"], sources=sources, options=state.get("options") or []
        )
    except ModelError as error:
        return {
            "extracts": [Extract("", partition=number, failed=True, spared=may_be_spared(error)).dump()],
            "gaps": [{"stage": "map_context", "item": str(number), "error": str(error)}],
            "spent": [{"stage": "map_context", **Usage.of_failed(error.spent).model_dump()}],
        }
    return {
        "extracts": [replace(reply.value, partition=number).dump()],
        "gaps": [{"stage": "map_context", "item": str(number), "error": note} for note in reply.notes],
        "spent": [{"stage": "map_context", **reply.usage.model_dump()}],
    }

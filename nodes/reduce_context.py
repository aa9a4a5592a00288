"""Stage `reduce_context`: one answer out of the partitions' extracts (BriefContext, reduce)."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..state.context import Context
from ..state.errors import AllPartitionsFailed
from ..state.reading import Draft, Extract
from ..state.schema import Mapped, State
from .answer_plain import drafted


async def reduce_context(state: Mapped, runtime: Runtime[Context]) -> State:
    """Drop empty extracts and have the reader make one answer of the rest; nothing is asked when none is left.

    Raises:
        AllPartitionsFailed: No partition could be read.
    """
    extracts = sorted(state["extracts"], key=lambda extract: extract["partition"])
    if all(extract["failed"] for extract in extracts):
        raise AllPartitionsFailed(
            f"none of the {len(extracts)} partitions could be read: {first_error(state)}", help="Ask again."
        )
    told = [Extract(e["text"], tuple((n, quote) for n, quote in e["quotes"])) for e in extracts if e["text"]]
    if not told:
        return {"draft": drafted(Draft("", found=False))}
    reply = await runtime.context.reader.reduce(
        question=state["standalone_question"], extracts=told, options=state.get("options") or []
    )
    return {
        "draft": drafted(reply.value),
        "gaps": [{"stage": "reduce_context", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "reduce_context", **reply.usage.model_dump()}],
    }


def first_error(state: Mapped) -> str:
    """What the first failed partition reported."""
    return next((gap["error"] for gap in state["gaps"] if gap["stage"] == "map_context"), "no reason recorded")

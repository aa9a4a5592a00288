"""Stage `answer_plain`: one answer from all passages at once."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..state.context import Context
from ..state.reading import Draft
from ..state.schema import Chosen, DraftState, State


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from the passages in fused order."""
    sources = await runtime.context.sources(state["passages"])
    reply = await runtime.context.reader.answer(
        question=state["standalone_question"], sources=sources, options=state.get("options") or []
    )
    return {
        "draft": drafted(reply.value),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
    }


def drafted(draft: Draft) -> DraftState:
    """A draft as plain values."""
    return {"text": draft.text, "quotes": list(draft.quotes), "found": draft.found, "choice": draft.choice}

"""Stage `retrieve`: what the library, and PubMed where it is asked, hold for the question; references go on."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from ..library.gather import gather
from ..state.context import Context
from ..state.schema import PassageRef, Rewritten, State


async def retrieve(state: Rewritten, runtime: Runtime[Context]) -> State:
    """Find the passages that go on, and keep both rankings that they were fused from."""
    context = runtime.context
    gathered = await asyncio.to_thread(
        gather,
        context.library,
        state["queries"],
        context.settings,
        expressions=state["rewrite"]["expressions"] if "rewrite" in state else (),
        pubmed=context.pubmed if context.settings.pubmed else None,
    )
    k = context.settings.k
    return {
        "passages": gathered.references(),
        "rankings": {
            "dense": [hit.passage_id for hit in gathered.found.dense[:k]],
            "lexical": [hit.passage_id for hit in gathered.found.lexical[:k]],
        },
        "rungs": gathered.rungs,
        "gaps": [{"stage": "retrieve", "item": item, "error": error} for item, error in gathered.problems],
    }


def score_of(ref: PassageRef) -> float:
    """What a passage was chosen by: the second stage's score, or else the fused one."""
    relevance = ref.get("relevance")
    return ref["score"] if relevance is None else relevance

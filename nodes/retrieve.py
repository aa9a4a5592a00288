"""Stage `retrieve`: dense and lexical search over the collection, fused; references go into the state."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from ..state.context import Context
from ..state.schema import PassageRef, Rewritten, State
from ..state.values import Hit, Passage

PREVIEW_CHARS = 120


async def retrieve(state: Rewritten, runtime: Runtime[Context]) -> State:
    """Find the k passages that go on, and keep both rankings that they were fused from."""
    library, settings = runtime.context.library, runtime.context.settings
    found = await asyncio.to_thread(
        library.search, state["queries"][0], k=settings.k, candidates=settings.candidates, rrf_k=settings.rrf_k
    )
    passages = await asyncio.to_thread(library.passages, [hit.passage_id for hit in found.fused])
    return {
        "passages": [
            reference(hit, passage, found.dense_scores[hit.passage_id])
            for hit, passage in zip(found.fused, passages, strict=True)
        ],
        "rankings": {
            "dense": [hit.passage_id for hit in found.dense],
            "lexical": [hit.passage_id for hit in found.lexical],
        },
    }


def reference(hit: Hit, passage: Passage, cosine: float) -> PassageRef:
    """What the state holds of a passage."""
    return {
        "id": passage.id,
        "document_id": passage.document_id,
        "title": passage.title,
        "source": passage.source,
        "rank": hit.rank,
        "score": hit.score,
        "cosine": cosine,
        "tokens": passage.tokens,
        "preview": passage.text[:PREVIEW_CHARS],
    }

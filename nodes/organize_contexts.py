"""Stage `organize_contexts`: drop contexts that others stand for, and put those that contradict each other apart.

With `clarify` on, the person is asked first which of the answers are wanted where there are more than `clarify_above`.
"""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from preflight_rag.corg.choices import choices_of
from preflight_rag.corg.grouping import organise
from preflight_rag.state.context import Context
from preflight_rag.state.reading import ContextNote
from preflight_rag.state.schema import State
from preflight_rag.state.values import Relation
from preflight_rag.state.views import Unorganised


async def organize_contexts(state: Unorganised, runtime: Runtime[Context]) -> State:
    """Group the contexts by their relations (COrg, section 4), without calling the reader."""
    contexts, settings = [ContextNote.load(note) for note in state["contexts"]], runtime.context.settings
    organisation = await asyncio.to_thread(
        organise,
        [context.rank for context in contexts],
        [Relation[int].model_validate(row) for row in state["relations"]],
        relevant={context.rank for context in contexts if context.relevant},
        described={context.rank for context in contexts if context.descriptor is not None},
        keep_duplicates=settings.keep_duplicates,
        keep_undescribed=settings.keep_undescribed,
        no_grouping=settings.no_grouping,
        seed=settings.random_duplicate,
    )
    choices = choices_of(organisation, contexts) if settings.clarify and not state.get("options") else []
    offered = choices if len(choices) > settings.clarify_above else []
    return {"organisation": organisation, "choices": [choice.model_dump() for choice in offered]}

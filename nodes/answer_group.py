"""Stage `answer_group`: the answers of one group of contexts, in which none contradicts another.

Groups run in parallel.
"""

from __future__ import annotations

from langgraph.runtime import Runtime

from preflight_rag.corg.contexts import contexts_of
from preflight_rag.corg.group_answers import answered_or_nothing, asked_in_plural, group_draft, unusable
from preflight_rag.models.protocol import instructed
from preflight_rag.models.unfinished import may_be_spared
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply, ModelError
from preflight_rag.state.schema import GroupStatus, State
from preflight_rag.state.views import GroupView


async def answer_group(state: GroupView, runtime: Runtime[Context]) -> State:
    """Answer from one group, in the plural if it has several contexts; a failure is a gap of this group only.

    If the question has options, each group chooses one by itself.
    """
    context, number = runtime.context, state["group"]
    sources = contexts_of(await context.sources(state["passage_refs"]))
    plural = asked_in_plural(sources, context.settings)
    reader = instructed(context.reader, state.get("instructions") or "")
    status: GroupStatus
    spared = False
    question, options = state["standalone_question"], state.get("options") or []
    try:
        if options:
            reply = await reader.answer(question=question, sources=sources, options=options)
        else:
            reply = await reader.answer_group(question=question, sources=sources, plural=plural)
        status = answered_or_nothing(reply.value)
    except ModelError as error:
        reply, status = unusable(error), "unreadable" if isinstance(error, BadReply) else "failed"
        spared = may_be_spared(error)
    return {
        "group_drafts": [group_draft(number, sources, reply.value, status, spared=spared)],
        "gaps": [{"stage": "answer_group", "item": str(number), "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_group", **reply.usage.model_dump()}],
    }

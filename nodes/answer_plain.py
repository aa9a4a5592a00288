"""Stage `answer_plain`: one answer from all the passages that it is given at once, and where the turn goes from there.

An answer that found nothing, or of which no citation can be found in its passage, goes on to map/reduce over all
passages. That happens once a turn, and not on a forced route. Where nothing was found, the risk of a lost passage is
low and the extractive reader sees no answer either, the turn abstains at once.
On the route COrg the passages are the only group that was made of them: its answer goes on to be composed with what was
noted of the contexts, which also stands in for a reply that cannot be used.
"""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from preflight_rag.corg.contexts import contexts_of
from preflight_rag.corg.group_answers import answered_or_nothing, asked_in_plural, group_draft, unusable
from preflight_rag.models.protocol import instructed
from preflight_rag.routing.decision import current_route, escalation, may_escalate, nothing_to_find, partition
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply
from preflight_rag.state.reading import Draft, Reply
from preflight_rag.state.schema import GroupStatus, State
from preflight_rag.state.views import Chosen


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from the passages in fused order, and decide where the turn goes."""
    if current_route(state["decision"], state["escalations"]) == "corg":
        return await answer_only_group(state, runtime.context)
    return await answer_all_passages(state, runtime.context)


async def answer_all_passages(state: Chosen, context: Context) -> State:
    """The answer of the route plain, which may call for a dearer route."""
    sources = await context.sources(state["passages"])
    reply = await instructed(context.reader, state.get("instructions") or "").answer(
        question=state["standalone_question"], sources=sources, options=state["options"]
    )
    draft: Draft = reply.value
    update = _drafted(reply)
    update["onward"] = "cite" if draft.found else "abstain"
    size = context.settings.partition_size
    free = may_escalate(state["decision"], state["escalations"], "plain")
    step = escalation(draft, sources, size) if free else None
    if step is not None and not draft.found:
        asked = state["standalone_question"], sources, state["decision"], context.extractive
        step = None if await asyncio.to_thread(nothing_to_find, *asked) else step
    if step is not None:
        update["escalations"] = [step]
        update["onward"], update["partitions"] = "map_context", partition(len(sources), size)
    return update


async def answer_only_group(state: Chosen, context: Context) -> State:
    """The answer of the only group, whose contexts do not contradict each other; options are answered from it too."""
    sources = contexts_of(await context.sources(state["passages"]))
    question, options = state["standalone_question"], state["options"]
    reader = instructed(context.reader, state.get("instructions") or "")
    status: GroupStatus
    try:
        if asked_in_plural(sources, context.settings) and not options:
            reply = await reader.answer_group(question=question, sources=sources, plural=True)
        else:
            reply = await reader.answer(question=question, sources=sources, options=options)
        status = answered_or_nothing(reply.value)
    except BadReply as error:
        reply, status = unusable(error), "unreadable"
    update = _drafted(reply)
    update["onward"], update["group_drafts"] = "aggregate_groups", [group_draft(1, sources, reply.value, status)]
    return update


def _drafted(reply: Reply[Draft]) -> State:
    return {
        "draft": reply.value.dump(),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
    }

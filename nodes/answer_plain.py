"""Stage `answer_plain`: one answer from all passages at once, or from the one group that COrg made of them.

An answer that found nothing, or of which no citation can be found in its passage, goes on to map/reduce over all
passages; one whose quotes contradict each other goes on to COrg. That happens once a turn, and not on a forced route.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from preflight_rag.corg.agreement import contradiction
from preflight_rag.nodes.answer_group import group_draft, status_of, unusable
from preflight_rag.nodes.cite import cited, verifiable
from preflight_rag.nodes.preflight import partition
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply
from preflight_rag.state.reading import Draft, Source
from preflight_rag.state.schema import DraftState, Escalation, State
from preflight_rag.state.views import Chosen


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from the passages in fused order, and decide where the turn goes."""
    context = runtime.context
    sources = await context.sources(state["passages"])
    if "group" in state:
        return await _one_group(state, context, sources)
    reply = await context.reader.answer(
        question=state["standalone_question"], sources=sources, options=state.get("options") or []
    )
    draft: Draft = reply.value
    update: State = {
        "draft": drafted(draft),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
        "onward": "cite" if draft.found else "abstain",
    }
    if may_escalate(state, "plain") and (step := escalation(draft, sources, context.settings.partition_size)):
        update["escalations"] = [step]
        if step["to"] == "corg":
            update["onward"], update["to_relate"] = "relate_contexts", cited(draft.text, draft.quotes)
        else:
            update["onward"] = "map_context"
            update["partitions"] = partition(len(sources), context.settings.partition_size)
    return update


async def _one_group(state: Chosen, context: Context, sources: Sequence[Source]) -> State:
    """Answer the only group; after an unusable reply it is left to what was noted of the contexts."""
    question, options = state["standalone_question"], state.get("options") or []
    plural = len(sources) > 1 and not context.settings.no_reformulation
    reader = context.reader
    try:
        if options or not plural:
            reply = await reader.answer(question=question, sources=sources, options=options)
        else:
            reply = await reader.answer_group(question=question, sources=sources, plural=plural)
        status = status_of(reply)
    except BadReply as error:
        reply, status = unusable(error), "unreadable"
    return {
        "draft": drafted(reply.value),
        "group_drafts": [group_draft(state["group"], sources, reply.value, status)],
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
        "onward": "aggregate_groups",
    }


def may_escalate(state: Mapping[str, Any], route: str) -> bool:
    """Whether this is the route that preflight chose freely, and the turn has not escalated yet."""
    decision = state.get("decision") or {}
    return decision.get("name") == route and not decision.get("forced") and not state.get("escalations")


def escalation(draft: Draft, sources: Sequence[Source], partition_size: int) -> Escalation | None:
    """The step that a plain answer calls for, if any; map/reduce of one partition would read the same again."""
    quotes: dict[int, str] = {}
    for n, quote in draft.quotes:
        quotes[n] = f"{quotes.get(n, '')}\n{quote}".strip()
    if draft.found and len(quotes) > 1 and (sides := contradiction(list(quotes.values()))):
        return {"from": "plain", "to": "corg", "reason": contradict(sides)}
    if len(sources) <= partition_size:
        return None
    if not draft.found:
        return {"from": "plain", "to": "map_reduce", "reason": "the plain answer found nothing"}
    if not verifiable(draft, {source.n: source.text for source in sources}):
        return {"from": "plain", "to": "map_reduce", "reason": "no citation of the plain answer could be verified"}
    return None


def contradict(sides: tuple[str, str]) -> str:
    """The reason for going on to COrg."""
    first, second = (" ".join(side.split())[:80] for side in sides)
    return f'passages contradict each other: "{first}" / "{second}"'


def drafted(draft: Draft) -> DraftState:
    """A draft as plain values."""
    return {
        "text": draft.text,
        "quotes": list(draft.quotes),
        "found": draft.found,
        "choice": draft.choice,
        "short": draft.short,
        "confidence": draft.confidence,
    }

"""Stage `answer_plain`: one answer from all the passages that it is given at once, and where the turn goes from there.

An answer that found nothing, or of which no citation can be found in its passage, goes on to map/reduce over all
passages. That happens once a turn, and not on a forced route. Where nothing was found, the risk of a lost passage is
low and the extractive reader sees no answer either, the turn abstains at once.
Where the extractive reader has still to compare what the passages answer (`unchecked`), it does while the model writes.
What that writes is shown once the route is certain; where the passages answer differently, the call is given up and the
turn goes on to COrg.
On the route COrg the passages are the only group that was made of them: its answer goes on to be composed with what was
noted of the contexts, which also stands in for a reply that cannot be used.
The beginning of a reply that did not come to its end is an answer marked as incomplete; it calls for no dearer route.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial

from langgraph.runtime import Runtime

from preflight_rag.corg.contexts import contexts_of
from preflight_rag.corg.group_answers import answered_or_nothing, asked_in_plural, group_draft, unusable
from preflight_rag.models.protocol import instructed
from preflight_rag.models.unfinished import may_be_spared, unfinished
from preflight_rag.routing.decision import (
    current_route,
    decide,
    escalation,
    may_escalate,
    nothing_to_find,
    partition,
)
from preflight_rag.routing.library_risk import risk_model_of
from preflight_rag.routing.model_profile import profile_of_reader
from preflight_rag.state.answer_text import answer_text
from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply, ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.schema import GroupStatus, PassageRef, State
from preflight_rag.state.values import RouteDecision, Usage
from preflight_rag.state.views import Chosen


async def answer_plain(state: Chosen, runtime: Runtime[Context]) -> State:
    """Have the reader answer from the passages in fused order, and decide where the turn goes."""
    if current_route(state["decision"], state["escalations"]) == "corg":
        return await answer_only_group(state, runtime.context)
    return await answer_all_passages(state, runtime.context)


async def answer_all_passages(state: Chosen, context: Context) -> State:
    """Answer by the route plain, which may find that a dearer route is needed."""
    sources, decision = await context.sources(state["passages"]), state["decision"]
    writing: Awaitable[Reply[Draft]] = instructed(context.reader, state.get("instructions") or "").answer(
        question=state["standalone_question"], sources=sources, options=state["options"]
    )
    checked: State = {}
    if state.get("unchecked"):
        writing = call = asyncio.ensure_future(writing)
        decision = (await _checked_meanwhile(state, context, sources, call)).model_dump()
        checked = {"decision": decision, "unchecked": False}
        if decision["name"] == "corg":
            spent = _spent_in_vain(call, state["passages"]).model_dump()
            return {**checked, "onward": "relate_contexts", "spent": [{"stage": "answer_plain", **spent}]}
    try:
        reply = await writing
    except ModelError as error:
        reply = unfinished(error, state["options"])
    draft: Draft = reply.value
    update: State = {**checked, **_drafted(reply)}
    update["onward"] = "cite" if draft.found else "abstain"
    size = context.settings.partition_size
    free = not draft.incomplete and may_escalate(decision, state["escalations"], "plain")
    step = escalation(draft, sources, size) if free else None
    if step is not None and not draft.found:
        asked = state["standalone_question"], sources, decision, context.extractive
        step = None if await asyncio.to_thread(nothing_to_find, *asked) else step
    if step is not None:
        update["escalations"] = [step]
        update["onward"], update["partitions"] = (
            "map_context",
            partition(len(sources), size, context.settings.max_partitions),
        )
    return update


async def _checked_meanwhile(
    state: Chosen, context: Context, sources: Sequence[Source], call: asyncio.Future[Reply[Draft]]
) -> RouteDecision:
    """Return the decision after the extractive reader's check, made while the model writes.

    On COrg's route, the model's call is cancelled.
    """
    text, certain = answer_text.get(), False
    text.keep_back()
    try:
        model = await asyncio.to_thread(risk_model_of, context.library)
        asked = state["standalone_question"], state["passages"], sources, context.settings, model, context.extractive
        profile = await asyncio.to_thread(profile_of_reader, context.reader)
        decision = await asyncio.to_thread(partial(decide, *asked, profile=profile))
        certain = decision.name != "corg"
    finally:
        if certain:
            text.show()
        else:  # also where the reader fails, or the turn is stopped
            text.drop()
            call.cancel()
            await asyncio.wait([call])
    return decision


def _spent_in_vain(call: asyncio.Future[Reply[Draft]], refs: Sequence[PassageRef]) -> Usage:
    """Return what a cancelled or unused call has cost; an estimate for one without a reply.

    Raises:
        Exception: It ended with an error that is no model's.
    """
    if call.cancelled():
        return Usage(calls=1, input_tokens=sum(ref["tokens"] for ref in refs), estimated=True)
    error = call.exception()
    if error is None:
        return call.result().usage
    if isinstance(error, ModelError):
        return Usage.model_validate(error.spent or {"calls": 1})
    raise error


async def answer_only_group(state: Chosen, context: Context) -> State:
    """Answer from the only group, whose contexts do not contradict each other.

    A multiple-choice question is answered from it too.
    """
    sources = contexts_of(await context.sources(state["passages"]))
    question, options = state["standalone_question"], state["options"]
    reader = instructed(context.reader, state.get("instructions") or "")
    status: GroupStatus
    spared = False
    try:
        if asked_in_plural(sources, context.settings) and not options:
            reply = await reader.answer_group(question=question, sources=sources, plural=True)
        else:
            reply = await reader.answer(question=question, sources=sources, options=options)
        status = answered_or_nothing(reply.value)
    except ModelError as error:
        reply, status = _begun(error, options)
        spared = status == "failed"
    update = _drafted(reply)
    update["onward"], update["group_drafts"] = (
        "aggregate_groups",
        [group_draft(1, sources, reply.value, status, spared=spared)],
    )
    return update


def _begun(error: ModelError, options: Sequence[str]) -> tuple[Reply[Draft], GroupStatus]:
    """Return the part of the reply that was written; where there is none, an answer from the contexts' notes.

    Where none came in time the group has failed, and the turn goes back to fewer passages.
    """
    try:
        return unfinished(error, options), "answered"
    except BadReply:
        return unusable(error), "unreadable"
    except ModelError:
        if not may_be_spared(error):
            raise
        return unusable(error), "failed"


def _drafted(reply: Reply[Draft]) -> State:
    return {
        "draft": reply.value.dump(),
        "gaps": [{"stage": "answer_plain", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_plain", **reply.usage.model_dump()}],
    }

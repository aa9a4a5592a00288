"""Stage `answer_group`: the answers of one group of contexts, in which none contradicts another.

Groups run in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from preflight_rag.state.context import Context
from preflight_rag.state.errors import BadReply, ModelError
from preflight_rag.state.reading import Draft, Reply, Source
from preflight_rag.state.schema import GroupDraft, GroupStatus, State
from preflight_rag.state.values import Usage
from preflight_rag.state.views import GroupView


async def answer_group(state: GroupView, runtime: Runtime[Context]) -> State:
    """Answer from the group, in the plural when it has several contexts; a failure is a gap of this group alone."""
    context, number = runtime.context, state["group"]
    sources = await context.sources(state["passages"])
    reply, status = await group_reply(context, state["standalone_question"], sources)
    return {
        "group_drafts": [group_draft(number, sources, reply.value, status)],
        "gaps": [{"stage": "answer_group", "item": str(number), "error": note} for note in reply.notes],
        "spent": [{"stage": "answer_group", **reply.usage.model_dump()}],
    }


async def group_reply(context: Context, question: str, sources: Sequence[Source]) -> tuple[Reply[Draft], GroupStatus]:
    """What the reader makes of a group; an unusable reply is `unreadable`, every other failure `failed`."""
    plural = len(sources) > 1 and not context.settings.no_reformulation
    try:
        reply: Reply[Draft] = await context.reader.answer_group(question=question, sources=sources, plural=plural)
    except ModelError as error:
        return unusable(error), "unreadable" if isinstance(error, BadReply) else "failed"
    return reply, status_of(reply)


def unusable(error: ModelError) -> Reply[Draft]:
    """No answer, with the cost and the message of the call that failed."""
    return Reply(Draft("", found=False), Usage.model_validate(error.spent or {"calls": 1}), (str(error),))


def status_of(reply: Reply[Draft]) -> GroupStatus:
    """Whether the reader found an answer."""
    return "answered" if reply.value.found else "nothing"


def group_draft(number: int, sources: Sequence[Source], draft: Draft, status: GroupStatus) -> GroupDraft:
    """A group's draft as plain values."""
    return {
        "group": number,
        "ranks": [source.n for source in sources],
        "text": draft.text if status == "answered" else "",
        "quotes": list(draft.quotes),
        "status": status,
    }

"""Stage `reduce_context`: one answer out of the partitions' extracts (BriefContext, reduce).

Extracts of different partitions that contradict each other are not put to the reader: the passages that the extracts
cite go on to COrg, once a turn, and not on a forced route.
"""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from preflight_rag.corg.agreement import contradiction
from preflight_rag.nodes.answer_plain import contradict, drafted, may_escalate
from preflight_rag.nodes.cite import cited
from preflight_rag.state.context import Context
from preflight_rag.state.errors import AllPartitionsFailed
from preflight_rag.state.reading import Draft, Extract
from preflight_rag.state.schema import Escalation, ExtractState, State
from preflight_rag.state.views import Mapped


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
    kept = [extract for extract in extracts if extract["text"]]
    if not kept:
        return {"draft": drafted(Draft("", found=False)), "onward": "abstain"}
    if may_escalate(state, "map_reduce") and (sides := contradiction([extract["text"] for extract in kept])):
        step: Escalation = {"from": "map_reduce", "to": "corg", "reason": contradict(sides)}
        ranks = sorted({rank for extract in kept for rank in cited(extract["text"], extract["quotes"])})
        return {"escalations": [step], "onward": "relate_contexts", "to_relate": ranks}
    told = await _read(state, kept, runtime.context)
    reply = await runtime.context.reader.reduce(
        question=state["standalone_question"], extracts=told, options=state.get("options") or []
    )
    return {
        "draft": drafted(reply.value),
        "onward": "cite" if reply.value.found else "abstain",
        "gaps": [{"stage": "reduce_context", "item": "reply", "error": note} for note in reply.notes],
        "spent": [{"stage": "reduce_context", **reply.usage.model_dump()}],
    }


async def _read(state: Mapped, kept: Sequence[ExtractState], context: Context) -> list[Extract]:
    """The extracts with the passages that they were made of: a reader may answer from these."""
    sources = {source.n: source for source in await context.sources(state["passages"])}
    extracts = []
    for extract in kept:
        quotes = tuple((n, quote) for n, quote in extract["quotes"])
        ranks = sorted(state["partitions"][extract["partition"] - 1])
        extracts.append(Extract(extract["text"], quotes, tuple(sources[rank] for rank in ranks)))
    return extracts


def first_error(state: Mapped) -> str:
    """What the first failed partition reported."""
    return next((gap["error"] for gap in state["gaps"] if gap["stage"] == "map_context"), "no reason recorded")

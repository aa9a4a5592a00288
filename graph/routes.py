"""The conditional edges. They read decisions that stages wrote into the state, and decide nothing themselves."""

from __future__ import annotations

from typing import Literal

from langgraph.types import Send

from ..state.schema import Drafted, Partition, Routed


def after_preflight(state: Routed) -> list[Send] | Literal["answer_plain", "abstain"]:
    """The route that preflight chose; for map/reduce, one `Send` for each partition."""
    route = state["decision"]["name"]
    if route == "abstain":
        return "abstain"
    if route == "plain":
        return "answer_plain"
    by_rank = {ref["rank"]: ref for ref in state["passages"]}
    return [
        Send(
            "map_context",
            Partition(
                standalone_question=state["standalone_question"],
                partition=number,
                passages=[by_rank[rank] for rank in ranks],
            ),
        )
        for number, ranks in enumerate(state["partitions"], 1)
    ]


def after_draft(state: Drafted) -> Literal["cite", "abstain"]:
    """Whether the reader found an answer."""
    return "cite" if state["draft"]["found"] else "abstain"

"""The conditional edges. They read decisions that stages wrote into the state, and decide nothing themselves."""

from __future__ import annotations

from typing import Literal

from langgraph.types import Send

from ..state.schema import Chosen, GroupView, Onward, Organised, Partition, PassageRef, Routed


def after_preflight(state: Routed) -> list[Send] | Literal["answer_plain", "relate_contexts", "abstain"]:
    """The route that preflight chose; for map/reduce, one `Send` for each partition."""
    route = state["decision"]["name"]
    if route == "abstain":
        return "abstain"
    if route == "plain":
        return "answer_plain"
    return "relate_contexts" if route == "corg" else _partitions(state)


def after_draft(
    state: Onward,
) -> list[Send] | Literal["cite", "abstain", "relate_contexts", "aggregate_groups"]:
    """Where the node that drafted sent the turn: to its end, to the groups' answer, or to a dearer route."""
    onward = state["onward"]
    return _partitions(state) if onward == "map_context" else onward


def after_organize(state: Organised) -> list[Send] | Literal["abstain"]:
    """One group is answered directly, and so is a question with options; of several, each by a `Send` of its own."""
    groups, options = state["organisation"]["groups"], state["options"]
    question, refs = state["standalone_question"], state["passages"]
    if not groups:
        return "abstain"
    if len(groups) == 1 or options:
        kept = _of([rank for ranks in groups for rank in ranks], refs)
        direct = Chosen(standalone_question=question, options=options, passages=kept, group=1)
        return [Send("answer_plain", direct)]
    return [
        Send("answer_group", GroupView(standalone_question=question, group=number, passages=_of(ranks, refs)))
        for number, ranks in enumerate(groups, 1)
    ]


def _partitions(state: Routed | Onward) -> list[Send]:
    question, refs = state["standalone_question"], state["passages"]
    return [
        Send("map_context", Partition(standalone_question=question, partition=number, passages=_of(ranks, refs)))
        for number, ranks in enumerate(state["partitions"], 1)
    ]


def _of(ranks: list[int], refs: list[PassageRef]) -> list[PassageRef]:
    by_rank = {ref["rank"]: ref for ref in refs}
    return [by_rank[rank] for rank in sorted(ranks)]

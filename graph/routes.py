"""The conditional edges. They read decisions that stages wrote to the state, and decide nothing themselves.

Each returns a branch's name as shown in the graph's picture; the tables map it to the branch's node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import update_wrapper
from itertools import chain
from typing import Any, Literal

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END
from langgraph.types import Send

from preflight_rag.graph.progress import ROUTES
from preflight_rag.state.schema import PassageRef
from preflight_rag.state.views import Chosen, Decided, Found, GroupView, Onward, Organised, Partition, Routed

Branches = dict[Hashable, str]
NOTHING_FOUND = "nothing found"
AFTER_REWRITE: Branches = {
    "question": "retrieve",
    "conversation": "converse",
    "documents": "list_documents",
    "metadata": "read_metadata",
}
AFTER_METADATA: Branches = {"known": END, "not known": "retrieve"}
AFTER_PREFLIGHT: Branches = {
    "plain": "answer_plain",
    "map/reduce": "map_context",
    "COrg": "relate_contexts",
    NOTHING_FOUND: "abstain",
}
AFTER_PLAIN: Branches = {
    "answered": "cite",
    NOTHING_FOUND: "abstain",
    "on to map/reduce": "map_context",
    "on to COrg": "relate_contexts",
    "one group": "aggregate_groups",
}
AFTER_REDUCE: Branches = {
    "answered": "cite",
    NOTHING_FOUND: "abstain",
    "on to COrg": "relate_contexts",
    "back to plain": "answer_plain",
}
AFTER_AGGREGATE: Branches = {"answered": "cite", NOTHING_FOUND: "abstain", "back to plain": "answer_plain"}
AFTER_CLARIFY: Branches = {"one group": "answer_plain", "several groups": "answer_group", NOTHING_FOUND: "abstain"}
AFTER_ORGANIZE: Branches = {"ask first": "clarify", **AFTER_CLARIFY}
_BRANCH_OF_NODE = {node: str(branch) for branch, node in (AFTER_PLAIN | AFTER_REDUCE).items()}


class Edge(Runnable[Any, Any]):
    """A conditional edge that runs in the turn's own thread; LangGraph would call a plain function in another one.

    Args:
        choose: The function; LangGraph copies only those parts of the state that its argument's type names.
    """

    def __init__(self, choose: Callable[[Any], Any]) -> None:
        update_wrapper(self, choose)
        self.name = choose.__name__
        self._choose = choose

    def __call__(self, state: Any) -> Any:
        """Return the branch's name, or the `Send`s to a node."""
        return self._choose(state)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the branch, for synchronous callers of the graph."""
        return self._choose(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Return the branch, for asynchronous callers of the graph."""
        return self._choose(input)


def after_rewrite(state: Decided) -> Literal["question", "conversation", "documents", "metadata"]:
    """Return the node after `rewrite`: that of a question, or of a message that needs no retrieval."""
    name = state["decision"].get("name")
    if name == "listing":
        return "documents"
    return name if name in ("conversation", "metadata") else "question"


def after_metadata(state: Found) -> Literal["known", "not known"]:
    """End the turn if the metadata contain the answer; else look for it in the documents' texts."""
    return "not known" if state["onward"] == "retrieve" else "known"


def after_preflight(state: Routed) -> list[Send] | str:
    """Return the route that the preflight chose; for map/reduce, one `Send` for each partition."""
    route = state["decision"]["name"]
    return _send_partitions(state) if route == "map_reduce" else ROUTES[route]


def after_draft(state: Onward) -> list[Send] | str:
    """Return the node that the drafting node chose: the end, the groups' answer, a more expensive route, or back."""
    onward = state["onward"]
    if onward == "answer_plain":
        return [Send("answer_plain", _first_partition_input(state))]
    return _send_partitions(state) if onward == "map_context" else _BRANCH_OF_NODE[onward]


def after_organize(state: Organised) -> list[Send] | str:
    """Ask the user first if there are choices to make; else answer the groups."""
    return "ask first" if state["choices"] else after_clarify(state)


def after_clarify(state: Organised) -> list[Send] | str:
    """Answer a single group directly; several groups each by their own `Send`."""
    groups, options = state["organisation"]["groups"], state["options"]
    question, refs = state["standalone_question"], state["passage_refs"]
    instructions = state.get("instructions") or ""
    if not groups:
        return NOTHING_FOUND
    if len(groups) == 1:
        direct = Chosen(
            standalone_question=question,
            options=options,
            passage_refs=_references_with_ranks(_passage_ranks(groups[0], state), refs),
            decision=state["decision"],
            escalations=state["escalations"],
            instructions=instructions,
        )
        return [Send("answer_plain", direct)]
    return [
        Send(
            "answer_group",
            GroupView(
                standalone_question=question,
                options=options,
                group=number,
                of=len(groups),
                passage_refs=_references_with_ranks(_passage_ranks(ranks, state), refs),
                instructions=instructions,
            ),
        )
        for number, ranks in enumerate(groups, 1)
    ]


def _first_partition_input(state: Onward) -> Chosen:
    """Return the input of the plain answer for a turn whose more expensive route found nothing."""
    return Chosen(
        standalone_question=state["standalone_question"],
        options=state.get("options") or [],
        passage_refs=_references_with_ranks(state["partitions"][0], state["passage_refs"]),
        decision=state.get("decision") or {},
        escalations=state.get("escalations") or [],
        instructions=state.get("instructions") or "",
    )


def _send_partitions(state: Routed | Onward) -> list[Send]:
    """Return the calls of `map_context`, one for each partition."""
    question, refs, parts = state["standalone_question"], state["passage_refs"], state["partitions"]
    options = state.get("options") or []
    return [
        Send(
            "map_context",
            Partition(
                standalone_question=question,
                options=options,
                partition=number,
                of=len(parts),
                passage_refs=_references_with_ranks(ranks, refs),
            ),
        )
        for number, ranks in enumerate(parts, 1)
    ]


def _passage_ranks(contexts: list[int], state: Organised) -> list[int]:
    """Return the ranks of the passages that the contexts consist of."""
    ranks = {note["rank"]: list(note.get("ranks") or [note["rank"]]) for note in state["contexts"]}
    return list(chain.from_iterable(ranks[context] for context in contexts))


def _references_with_ranks(ranks: list[int], refs: list[PassageRef]) -> list[PassageRef]:
    """Return the references with these ranks, in the order of their ranks."""
    by_rank = {ref["rank"]: ref for ref in refs}
    return [by_rank[rank] for rank in sorted(ranks)]

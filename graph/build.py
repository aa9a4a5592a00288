"""How the stages are wired: the one place with nodes and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.graph import END, START, StateGraph

from ..nodes.abstain import abstain
from ..nodes.aggregate_groups import aggregate_groups
from ..nodes.answer_group import answer_group
from ..nodes.answer_plain import answer_plain
from ..nodes.cite import cite
from ..nodes.map_context import map_context
from ..nodes.organize_contexts import organize_contexts
from ..nodes.preflight import preflight
from ..nodes.reduce_context import reduce_context
from ..nodes.relate_contexts import relate_contexts
from ..nodes.retrieve import retrieve
from ..nodes.rewrite import rewrite
from ..state.context import Context
from ..state.schema import Question, State
from .routes import after_draft, after_organize, after_preflight
from .stage import given, stage

RECURSION_LIMIT = 40
"""Steps that a turn may take; the longest route, map/reduce that goes on to COrg, takes ten."""


def build_graph(
    *, context_schema: type[Any] = Context, resolve: Callable[[Any], Context] = given
) -> StateGraph[State, Any, Question, State]:
    """The graph, not yet compiled: compile it with your own checkpointer, or add it to a graph of yours.

    Args:
        context_schema: What a caller passes as `context`.
        resolve: Makes a `Context` of that; by default it is one already.
    """
    graph: StateGraph[State, Any, Question, State] = StateGraph(State, context_schema, input_schema=Question)
    for node in (
        *(rewrite, retrieve, preflight),
        *(answer_plain, map_context, reduce_context),
        *(relate_contexts, organize_contexts, answer_group, aggregate_groups),
        *(cite, abstain),
    ):
        name, run, view = stage(node, resolve)
        graph.add_node(name, run, input_schema=view)

    graph.add_edge(START, "rewrite")
    graph.add_edge("rewrite", "retrieve")
    graph.add_edge("retrieve", "preflight")
    graph.add_conditional_edges(
        "preflight", after_preflight, ["answer_plain", "map_context", "relate_contexts", "abstain"]
    )
    graph.add_conditional_edges(
        "answer_plain", after_draft, ["cite", "abstain", "map_context", "relate_contexts", "aggregate_groups"]
    )
    graph.add_edge("map_context", "reduce_context")
    graph.add_conditional_edges("reduce_context", after_draft, ["cite", "abstain", "relate_contexts"])
    graph.add_edge("relate_contexts", "organize_contexts")
    graph.add_conditional_edges("organize_contexts", after_organize, ["answer_plain", "answer_group", "abstain"])
    graph.add_edge("answer_group", "aggregate_groups")
    graph.add_conditional_edges("aggregate_groups", after_draft, ["cite", "abstain"])
    graph.add_edge("cite", END)
    graph.add_edge("abstain", END)
    return graph
